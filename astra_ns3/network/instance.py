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


def unpack_instances(
    instances: npt.NDArray[np.int64],
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    """The same for a column of numbers; each of shape ``(rows,)``."""
    collective = instances >> (CHUNK_BITS + PHASE_BITS)
    chunk = (instances >> PHASE_BITS) & (MOST_CHUNKS - 1)
    phase = instances & (MOST_PHASES - 1)
    return collective.astype(np.int32), chunk.astype(np.int32), phase.astype(np.int32)
