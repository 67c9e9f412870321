"""Times of accesses to ASTRA-sim 2's remote memory, with those that wait for others."""

from __future__ import annotations

from astra_ns3.config.core.compatibility import Compatibility
from astra_ns3.config.formats.remote_memory import PER_NPU, RemoteMemory
from astra_ns3.network.api import NetworkBackend
from astra_ns3.units import PS_PER_NS


class RemoteAccesses:
    """Accesses to a remote memory, which serves one access at a time.

    ``network``: where NPUs have their numbers and their time. All who play there share memories that are described
    alike (None: nobody else does).
    """

    def __init__(
        self, remote: RemoteMemory, compatibility: Compatibility, network: NetworkBackend | None = None
    ) -> None:
        self._remote = remote
        self._all_at_once = compatibility.own_memory_serves_all_at_once and remote.kind == PER_NPU
        self._network = network
        self._free_ps = {} if network is None else network.shared(remote)  # when each memory is free

    def duration_ps(self, npu: int, bytes: int, now_ps: int) -> int:
        """Return the time from now until an access is over."""
        access_ps = round(self._remote.access_ns(bytes) * PS_PER_NS)
        if self._all_at_once:
            return access_ps
        if self._network is not None:
            npu, now_ps = self._network.npu_of(npu), self._network.run_ps()
        memory = self._remote.memory_of(npu)
        end_ps = max(self._free_ps.get(memory, 0), now_ps) + access_ps
        self._free_ps[memory] = end_ps
        return end_ps - now_ps
