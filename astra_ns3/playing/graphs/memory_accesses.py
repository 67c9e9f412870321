"""Times of nodes that load from memory or store there: in an NPU's own memory, or in one beside it."""

from __future__ import annotations

from astra_ns3.config.core.compatibility import Compatibility
from astra_ns3.config.graph_workload import GraphNode
from astra_ns3.config.system import SystemConfig
from astra_ns3.network.api import NetworkBackend
from astra_ns3.system.remote_memory import RemoteAccesses
from astra_ns3.units import PS_PER_NS


class MemoryAccesses:
    """The memory accesses of all NPUs of a system.

    Bytes go to the remote memory, if there is one, as in ASTRA-sim 2; else a node's own duration counts, if it has one.

    ``network``: see :class:`RemoteAccesses`.
    """

    def __init__(
        self, system: SystemConfig, compatibility: Compatibility, network: NetworkBackend | None = None
    ) -> None:
        remote = system.remote_memory
        self._remote = RemoteAccesses(remote, compatibility, network) if remote is not None and remote.there else None
        self._own_bytes_per_ns = system.local_mem_bw
        self._least_ps = compatibility.least_duration_ns * PS_PER_NS

    def duration_ps(self, npu: int, node: GraphNode, now_ps: int) -> int:
        """From now until a node's access is over."""
        bytes = node.tensor_bytes or 0
        if node.duration_ps and not (bytes and self._remote is not None):
            return node.duration_ps
        if self._remote is not None:
            return self._remote.duration_ps(npu, bytes, now_ps)
        if not bytes or not self._own_bytes_per_ns:
            return self._least_ps
        return round(bytes / self._own_bytes_per_ns * PS_PER_NS)
