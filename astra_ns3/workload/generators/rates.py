"""Times of a generated layer, in whole nanoseconds: what computing takes, and what an update takes."""

from __future__ import annotations

UPDATE_BYTES_PER_NS = 1000
"""Read off the last column of ASTRA-sim's ``DLRM_HybridParallel.txt``: 524288 bytes, 524 ns; 1064960 bytes, 1065 ns."""
A100_OPERATIONS_PER_NS = 312_000
"""Dense 16-bit matrix products of an NVIDIA A100, 312 TFLOPS (its data sheet), for `inputs/workload/`."""


def rounded_up(amount: int, per_ns: int) -> int:
    """Whole nanoseconds that ``amount`` takes at ``per_ns``, rounded up."""
    return -(-amount // per_ns)


def update_ns(size_bytes: int) -> int:
    """Update time of a collective of ``size_bytes``, rounded to the nearest nanosecond, as the sample is."""
    return (size_bytes + UPDATE_BYTES_PER_NS // 2) // UPDATE_BYTES_PER_NS
