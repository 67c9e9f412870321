"""Collectives of all NPUs whose list of dimensions (``involved_dim``) doesn't fit the network."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from astra_ns3.config.graph_workload import GraphNode, GraphWorkload, NodeKind
from astra_ns3.workload.graphs.checks.collectives import dimensions_of
from astra_ns3.workload.graphs.checks.location import location


class UnfitDimensions:
    """Takes the collectives of all NPUs; ``dimensions``: how many the network has."""

    def __init__(self, workload: GraphWorkload, dimensions: int) -> None:
        self._workload = workload
        self._dimensions = dimensions
        self._first: dict[str, str] = {}
        self._short = self._nowhere = 0

    def takes(self) -> Mapping[NodeKind, Callable[[int, GraphNode], None]]:
        """The checks of nodes of each kind."""
        return {NodeKind.COLLECTIVE: self._take}

    def _take(self, npu: int, node: GraphNode) -> None:
        if node.dimensions is None or node.group:
            return
        if dimensions_of(node, self._dimensions) == ():
            self._nowhere += 1
            self._first.setdefault("nowhere", location(self._workload, npu, node))
        elif len(node.dimensions) < self._dimensions:
            self._short += 1
            self._first.setdefault("short", location(self._workload, npu, node))

    def warnings(self) -> list[str]:
        """A line for each sort."""
        found = []
        if self._nowhere:
            who = "1 collective leaves" if self._nowhere == 1 else f"{self._nowhere} collectives leave"
            whole = "the network's one dimension" if self._dimensions == 1 else f"all {self._dimensions} dimensions"
            found.append(f"{self._first['nowhere']}: {who} out {whole} (involved_dim), so nothing is sent")
        if self._short:
            who = "1 collective names" if self._short == 1 else f"{self._short} collectives name"
            found.append(
                f"{self._first['short']}: {who} fewer dimensions than the network's {self._dimensions} (involved_dim); "
                "those not named are left out"
            )
        return found
