"""The number that names a phase on every NPU: which collective, which of its chunks, which phase of the chunk.

Collective in the high bits, then 24 bits of chunk and 8 of phase; it stays below 2**63.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

PHASE_BITS = 8
CHUNK_BITS = 24
MOST_PHASES = 1 << PHASE_BITS
MOST_CHUNKS = 1 << CHUNK_BITS


def pack_instance(collective: int, chunk: int, phase: int) -> int:
    """The instance number of one phase; chunk below ``MOST_CHUNKS``, phase below ``MOST_PHASES``."""
    return (collective << (CHUNK_BITS + PHASE_BITS)) | (chunk << PHASE_BITS) | phase


def unpack_instance(instance: int) -> tuple[int, int, int]:
    """Collective, chunk and phase of an instance number."""
    chunk = (instance >> PHASE_BITS) & (MOST_CHUNKS - 1)
    return instance >> (CHUNK_BITS + PHASE_BITS), chunk, instance & (MOST_PHASES - 1)


def collectives_of(instances: npt.NDArray[np.int64]) -> npt.NDArray[np.int32]:
    """The collective of each instance; shape ``(rows,)``."""
    return (instances >> (CHUNK_BITS + PHASE_BITS)).astype(np.int32)


def chunks_of(instances: npt.NDArray[np.int64]) -> npt.NDArray[np.int32]:
    """The chunk of each instance; shape ``(rows,)``."""
    return ((instances >> PHASE_BITS) & (MOST_CHUNKS - 1)).astype(np.int32)


def phases_of(instances: npt.NDArray[np.int64]) -> npt.NDArray[np.int32]:
    """The phase of each instance; shape ``(rows,)``."""
    return (instances & (MOST_PHASES - 1)).astype(np.int32)
