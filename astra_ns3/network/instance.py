"""The number that names a phase on every NPU: whose it is, which collective, which of its chunks, which phase of it.

The tenant in the highest bits, as many as the number of tenants needs (none for one), then the collective, 24 bits of
chunk and 8 of phase; it stays below 2**63.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from astra_ns3.errors import refuse, wrong
from astra_ns3.frozen import dataclass

BITS = 63
PHASE_BITS = 8
CHUNK_BITS = 24
MOST_PHASES = 1 << PHASE_BITS
MOST_CHUNKS = 1 << CHUNK_BITS
MOST_TENANT_BITS = 16


def pack_instance(collective: int, chunk: int, phase: int) -> int:
    """The instance number of one phase; chunk below ``MOST_CHUNKS``, phase below ``MOST_PHASES``."""
    return (collective << (CHUNK_BITS + PHASE_BITS)) | (chunk << PHASE_BITS) | phase


def unpack_instance(instance: int) -> tuple[int, int, int]:
    """Collective, chunk and phase of an instance number."""
    chunk = (instance >> PHASE_BITS) & (MOST_CHUNKS - 1)
    return instance >> (CHUNK_BITS + PHASE_BITS), chunk, instance & (MOST_PHASES - 1)


def collectives_of(instances: npt.NDArray[np.int64]) -> npt.NDArray[np.int32]:
    """The collective of each instance, -1 where that is below 0; shape ``(rows,)``."""
    return (instances >> (CHUNK_BITS + PHASE_BITS)).astype(np.int32)


def chunks_of(instances: npt.NDArray[np.int64]) -> npt.NDArray[np.int32]:
    """The chunk of each instance, -1 where that is below 0; shape ``(rows,)``."""
    return np.where(instances < 0, -1, (instances >> PHASE_BITS) & (MOST_CHUNKS - 1)).astype(np.int32)


def phases_of(instances: npt.NDArray[np.int64]) -> npt.NDArray[np.int32]:
    """The phase of each instance, -1 where that is below 0; shape ``(rows,)``."""
    return np.where(instances < 0, -1, instances & (MOST_PHASES - 1)).astype(np.int32)


@dataclass(frozen=True)
class TenantBits:
    """The bits that name the tenant in the instance numbers of a run with so many ``tenants``. Raises InputError."""

    tenants: int

    def __post_init__(self) -> None:
        refuse(
            not 1 <= self.tenants <= 1 << MOST_TENANT_BITS,
            f"found {self.tenants} tenants, expected 1 to {1 << MOST_TENANT_BITS}",
        )

    @property
    def shift(self) -> int:
        """How many bits are left to the tenant's own number."""
        return BITS - (self.tenants - 1).bit_length()

    def of(self, tenant: int, own: int) -> int:
        """Return the network's number of a tenant's ``own`` instance; raises InputError if that has too many bits."""
        if own >> self.shift:
            collective = unpack_instance(own)[0]
            raise wrong(f"collective {collective} has too large a number beside {self.tenants} tenants")
        return tenant << self.shift | own

    def own(self, instance: int) -> int:
        """Return a tenant's own number of a network's ``instance``."""
        return instance & ((1 << self.shift) - 1)

    def tenant(self, instance: int) -> int:
        """Return whose a network's ``instance`` is."""
        return instance >> self.shift
