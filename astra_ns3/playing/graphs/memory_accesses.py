"""Times of nodes that load from memory or store there: in an NPU's own memory, or in one beside it."""

from __future__ import annotations

from astra_ns3.config.core.compatibility import Compatibility
from astra_ns3.config.graph_workload import GraphNode
from astra_ns3.config.system import SystemConfig
from astra_ns3.units import PS_PER_NS


class MemoryAccesses:
    """The memory accesses of all NPUs of a system. A node's own duration counts where it gives one."""

    def __init__(self, system: SystemConfig, compatibility: Compatibility) -> None:
        remote = system.remote_memory
        self._remote = remote if remote is not None and remote.there else None
        self._own_bytes_per_ns = system.local_mem_bw
        self._least_ps = compatibility.least_duration_ns * PS_PER_NS
        self._free_ps: dict[int, int] = {}  # when each shared memory is free

    def duration_ps(self, npu: int, node: GraphNode, now_ps: int) -> int:
        """From now until a node's access is over."""
        if node.duration_ps:
            return node.duration_ps
        bytes = node.tensor_bytes or 0
        if self._remote is not None:
            return self._remote_ps(npu, round(self._remote.access_ns(bytes) * PS_PER_NS), now_ps)
        if not bytes or not self._own_bytes_per_ns:
            return self._least_ps
        return round(bytes / self._own_bytes_per_ns * PS_PER_NS)

    def _remote_ps(self, npu: int, access_ps: int, now_ps: int) -> int:
        assert self._remote is not None
        memory = self._remote.memory_of(npu)
        if memory is None:
            return access_ps
        end_ps = max(self._free_ps.get(memory, 0), now_ps) + access_ps
        self._free_ps[memory] = end_ps
        return end_ps - now_ps
