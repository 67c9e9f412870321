"""The ready nodes of one NPU, by the place that they wait for, and which goes first."""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush

from astra_ns3.config.graph_workload import GraphNode
from astra_ns3.playing.graphs.slots import Slot

_SLOTS = tuple(range(len(Slot)))
_NONE = int(Slot.NONE)


class ReadyNodes:
    """``slot_of``: the place that a node needs. ``by_number``: priorities count for nothing."""

    __slots__ = ("_busy", "_by_number", "_heaps", "_slot_of", "_waiting")

    def __init__(self, slot_of: Callable[[GraphNode], Slot], *, by_number: bool) -> None:
        self._slot_of = slot_of
        self._by_number = by_number
        self._heaps: list[list[tuple[int, int, GraphNode]]] = [[] for _ in _SLOTS]
        self._busy = [False] * len(_SLOTS)
        self._waiting = 0

    def copy(self) -> ReadyNodes:
        """Return another with the same nodes."""
        other = ReadyNodes(self._slot_of, by_number=self._by_number)
        other._heaps = [list(heap) for heap in self._heaps]
        other._busy, other._waiting = list(self._busy), self._waiting
        return other

    def add(self, nodes: list[GraphNode]) -> None:
        """Nodes have become ready."""
        for node in nodes:
            priority = 0 if self._by_number else -node.priority
            heappush(self._heaps[self._slot_of(node)], (priority, node.number, node))
        self._waiting += len(nodes)

    def take(self) -> tuple[GraphNode, int] | None:
        """The next node that may begin, and its place, which it has from now on; None if there is none."""
        if not self._waiting:
            return None
        best = -1
        first: tuple[int, int, GraphNode] | None = None
        for slot in _SLOTS:
            heap = self._heaps[slot]
            if heap and not self._busy[slot] and (first is None or heap[0] < first):
                best, first = slot, heap[0]
        if first is None:
            return None
        heappop(self._heaps[best])
        self._busy[best] = best != _NONE
        self._waiting -= 1
        return first[2], best

    def free(self, slot: int) -> None:
        """A node that was taken has ended."""
        self._busy[slot] = False

    def waiting(self) -> list[GraphNode]:
        """Nodes that are ready and wait for their place, those that go first before the others."""
        return [entry[2] for heap in self._heaps for entry in sorted(heap)]
