"""Nodes that are played as something they may not be: types that nobody knows, collectives without a type or a size."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping

from astra_ns3.config.graph_workload import GraphNode, GraphWorkload, NodeKind
from astra_ns3.workload.graphs.checks.location import location

_MOST_SHOWN = 5


class UnusualNodes:
    """Takes the nodes of all NPUs that are neither computing nor communication."""

    def __init__(self, workload: GraphWorkload) -> None:
        self._workload = workload
        self._types: Counter[str] = Counter()
        self._first: dict[NodeKind, str] = {}
        self._bare = 0

    def takes(self) -> Mapping[NodeKind, Callable[[int, GraphNode], None]]:
        """The checks of nodes of each kind."""
        return {NodeKind.OTHER: self._take_other, NodeKind.MARK: self._take_mark}

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
        return found
