"""Nodes that are played as something they may not be.

Types that nobody knows, collectives without a type or a size, computations that only the roofline could time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping

from astra_ns3.config.graph_workload import GraphNode, GraphWorkload, NodeKind
from astra_ns3.workload.graphs.checks.location import location

_MOST_SHOWN = 5


class UnusualNodes:
    """Takes the nodes of all NPUs that may be odd; ``roofline``: computations take what the roofline says."""

    def __init__(self, workload: GraphWorkload, *, roofline: bool = True) -> None:
        self._workload = workload
        self._roofline = roofline
        self._types: Counter[str] = Counter()
        self._first: dict[NodeKind, str] = {}
        self._bare = 0
        self._untimed = 0

    def takes(self) -> Mapping[NodeKind, Callable[[int, GraphNode], None]]:
        """The checks of nodes of each kind."""
        takes = {NodeKind.OTHER: self._take_other, NodeKind.MARK: self._take_mark}
        return takes if self._roofline else {**takes, NodeKind.COMPUTE: self._take_compute}

    def _take_compute(self, npu: int, node: GraphNode) -> None:
        if not node.duration_ps and (node.operations or node.tensor_bytes) and not node.on_host:
            self._untimed += 1
            if self._untimed == 1:
                self._first[NodeKind.COMPUTE] = location(self._workload, npu, node)

    def _take_other(self, npu: int, node: GraphNode) -> None:
        self._types[node.type_name] += 1
        self._first.setdefault(NodeKind.OTHER, location(self._workload, npu, node))

    def _take_mark(self, npu: int, node: GraphNode) -> None:
        if not node.on_host and (node.collective is not None or "COLL" in node.type_name):
            self._bare += 1
            self._first.setdefault(NodeKind.MARK, location(self._workload, npu, node))

    def warnings(self) -> list[str]:
        """A line for each sort."""
        found = []
        if self._types:
            most = self._types.most_common(_MOST_SHOWN)
            shown = ", ".join(f"{name} ({count})" for name, count in most) + (", ..." if len(self._types) > 5 else "")
            found.append(
                f"{self._first[NodeKind.OTHER]}: nodes of a type that isn't played, they only last as long as "
                f"they say: {shown}"
            )
        if self._bare:
            nodes = "1 collective has" if self._bare == 1 else f"{self._bare} collectives have"
            found.append(f"{self._first[NodeKind.MARK]}: {nodes} no type or no size, so nothing is sent")
        if self._untimed:
            nodes = "1 computation gives" if self._untimed == 1 else f"{self._untimed} computations give"
            found.append(
                f"{self._first[NodeKind.COMPUTE]}: {nodes} operations or bytes but no duration, which take no time; "
                "with roofline-enabled: 1 in the system file they take what the roofline says"
            )
        return found
