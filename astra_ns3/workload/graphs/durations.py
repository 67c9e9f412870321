"""How long a node takes that doesn't communicate: its duration, or the roofline model.

Roofline (S. Williams, A. Waterman, D. Patterson, "Roofline: an insightful visual performance model for multicore
architectures", CACM 52(4), 2009): a computation of so many operations on so many bytes runs at the lower of the peak
performance and what memory feeds, bandwidth x operations / bytes.
"""

from __future__ import annotations

from astra_ns3.config.core.compatibility import Compatibility
from astra_ns3.config.graph_workload import GraphNode, NodeKind
from astra_ns3.config.system import SystemConfig
from astra_ns3.errors import wrong
from astra_ns3.units import PS_PER_NS

# Of 1 TFLOP/s.
_OPERATIONS_PER_NS = 1000.0


class Durations:
    """Durations of the nodes that a system computes, in picoseconds."""

    def __init__(self, system: SystemConfig, compatibility: Compatibility) -> None:
        self._least_ps = compatibility.least_duration_ns * PS_PER_NS
        self._roofline = system.roofline_enabled
        self._whole_ns = compatibility.whole_roofline_ns
        self._memory_bytes_per_ns = system.local_mem_bw
        self._operations_per_ns = None if system.peak_perf is None else system.peak_perf * _OPERATIONS_PER_NS

    def said(self, node: GraphNode) -> int:
        """The time that the node says of itself, and no less than anything takes."""
        return node.duration_ps or self._least_ps

    def of(self, node: GraphNode) -> int | None:
        """The time of a node; None: nothing, it isn't run at all. Raises InputError."""
        if node.kind is NodeKind.MARK:
            return None
        if self._roofline and node.kind is NodeKind.COMPUTE and not node.on_host:
            return self._by_roofline(node)
        return self.said(node)

    def memory_bound(self, node: GraphNode) -> bool:
        """Whether memory limits a computation, as far as the roofline knows."""
        if node.operations is None or node.tensor_bytes is None:
            return False
        assert self._operations_per_ns is not None
        assert self._memory_bytes_per_ns is not None
        return node.tensor_bytes * self._operations_per_ns > node.operations * self._memory_bytes_per_ns

    def _by_roofline(self, node: GraphNode) -> int | None:
        if not self._whole_ns and (node.operations is None or node.tensor_bytes is None):
            return node.duration_ps
        if node.operations is None or node.tensor_bytes is None:
            lacking = "num_ops" if node.operations is None else "tensor_size"
            raise wrong(
                f"node {node.number} ('{node.name}') gives no {lacking}, which the roofline needs; with "
                "roofline-enabled: 0, or without the compatibility, its duration counts"
            )
        if self._whole_ns and not node.tensor_bytes:
            return None
        ns = self._roofline_ns(node.operations, node.tensor_bytes)
        return int(ns) * PS_PER_NS if self._whole_ns else round(ns * PS_PER_NS)

    def _roofline_ns(self, operations: int, tensor_bytes: int) -> float:
        peak, bandwidth = self._operations_per_ns, self._memory_bytes_per_ns
        assert peak is not None
        assert bandwidth is not None
        if not operations:
            return tensor_bytes / bandwidth
        fed = bandwidth * (operations / tensor_bytes) if tensor_bytes else peak
        return operations / min(fed, peak)
