"""Receives in the graph of one rank that all NPUs play: nobody sends to all of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from astra_ns3.config.graph_workload import GraphNode, GraphWorkload, NodeKind
from astra_ns3.errors import refuse
from astra_ns3.workload.graphs.checks.location import and_more, location


class SharedReceives:
    """Takes the receives of the one graph; ``players``: how many NPUs play it."""

    def __init__(self, workload: GraphWorkload, players: int) -> None:
        self._workload = workload
        self._players = players
        self._first = ""
        self._count = 0

    def takes(self) -> Mapping[NodeKind, Callable[[int, GraphNode], None]]:
        """The checks of nodes of each kind."""
        return {NodeKind.RECEIVE: self._take}

    def _take(self, npu: int, node: GraphNode) -> None:
        self._count += 1
        self._first = self._first or f"{location(self._workload, npu, node)}: waits for a message of NPU {node.peer}"

    def raise_problems(self) -> None:
        """Raise InputError if there is a receive."""
        refuse(
            bool(self._count),
            f"{self._first}, and is played by all {self._players} NPUs, to which that one doesn't send"
            f"{and_more(self._count, 'receive')}; name the traces of all ranks by their prefix",
        )
