"""The ready nodes of one NPU, by the place that they wait for, and which goes first."""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush

from astra_ns3.config.graph_workload import GraphNode
from astra_ns3.workload.graphs.slots import Slot


class ReadyNodes:
    """``slot_of``: the place that a node needs. ``by_number``: priorities count for nothing."""

    __slots__ = ("_busy", "_by_number", "_heaps", "_slot_of")

    def __init__(self, slot_of: Callable[[GraphNode], Slot], *, by_number: bool) -> None:
        self._slot_of = slot_of
        self._by_number = by_number
        self._heaps: list[list[tuple[int, int, GraphNode]]] = [[] for _ in Slot]
        self._busy = [False] * len(Slot)

    def add(self, node: GraphNode) -> None:
        """A node has become ready."""
        heap = self._heaps[self._slot_of(node)]
        heappush(heap, (0 if self._by_number else -node.priority, node.number, node))

    def take(self) -> GraphNode | None:
        """The next node that may begin, which has its place from now on; None if there is none."""
        best: Slot | None = None
        first: tuple[int, int, GraphNode] | None = None
        for slot in Slot:
            heap = self._heaps[slot]
            if heap and not self._busy[slot] and (first is None or heap[0] < first):
                best, first = slot, heap[0]
        if best is None:
            return None
        if best is not Slot.NONE:
            self._busy[best] = True
        return heappop(self._heaps[best])[2]

    def free(self, node: GraphNode) -> None:
        """A node that was taken has ended."""
        self._busy[self._slot_of(node)] = False

    def waiting(self) -> list[GraphNode]:
        """Nodes that are ready and wait for their place, those that go first before the others."""
        return [entry[2] for heap in self._heaps for entry in sorted(heap)]
