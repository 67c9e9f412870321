"""The nodes of one NPU that are looked at: read as they are needed, so that a long trace takes little memory.

A node is ready when its parents are finished. A parent that has not been read may come later, so its children wait
until the trace's end tells that it is missing; a missing parent counts as finished. Where nothing can go on otherwise,
more is read than the window's size. *Model limit*: what lies behind the window isn't seen, so a node there doesn't go
first even if the rules would have it so.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import tee

from astra_ns3.config.graph_workload import GraphNode
from astra_ns3.errors import wrong

_SHIFT = 8
_MASK = (1 << _SHIFT) - 1


class Window:
    """``nodes``: in the order of the file, named ``source`` in messages; ``size``: how many are held at once."""

    __slots__ = (
        "_children",
        "_finished",
        "_highest",
        "_low",
        "_nodes",
        "_reading",
        "_several",
        "_since",
        "_size",
        "_unread",
        "chain_ps",
        "ready",
        "source",
    )

    def __init__(self, nodes: Iterable[GraphNode], size: int, source: str) -> None:
        self.ready: list[GraphNode] = []
        """Nodes that have become ready and that nobody has taken yet."""
        self._unread = iter(nodes)
        self._size = size
        self._low = size // 2
        self.source = source
        self._reading = True
        self._nodes: dict[int, GraphNode] = {}  # read and not finished
        self._children: dict[int, list[GraphNode]] = {}  # of each that isn't finished
        self._several: dict[int, int] = {}  # of each that waits for more than one parent, for how many
        self._since: dict[int, int] = {}  # of each whose parents have ended, their longest chain
        self._finished = FinishedNodes()
        self._highest = -1
        self.chain_ps = 0
        """The longest chain of nodes that have ended, each with what it takes without the network."""

    @property
    def empty(self) -> bool:
        """Whether all nodes are finished."""
        return not self._nodes and not self._reading

    @property
    def waiting(self) -> list[GraphNode]:
        """Nodes that were read and aren't ready, in the order of the file."""
        waiting = {child.number for children in self._children.values() for child in children}
        return [node for number, node in self._nodes.items() if number in waiting]

    def unfinished_parents(self, node: GraphNode) -> list[int]:
        """The parents that a node waits for."""
        return [parent for parent in node.parents if parent not in self._finished]

    def split(self, parts: int) -> list[Window]:
        """Return so many windows that go on from here, each by itself; nothing is left of this one."""
        found = []
        for unread in tee(self._unread, parts):
            each = Window(unread, self._size, self.source)
            each.ready, each._reading, each._nodes = list(self.ready), self._reading, dict(self._nodes)
            each._children = {number: list(children) for number, children in self._children.items()}
            each._several, each._since = dict(self._several), dict(self._since)
            each._finished, each._highest = self._finished.copy(), self._highest
            each.chain_ps = self.chain_ps
            found.append(each)
        return found

    def fill(self, *, beyond: bool = False) -> bool:
        """Read until the window is full, with ``beyond`` half a window more; whether there was anything to read."""
        if not self._reading:
            return False
        most = len(self._nodes) + self._low + 1 if beyond else self._size
        for node in self._unread:
            self._take(node)
            if len(self._nodes) >= most:
                return True
        self._reading = False
        self._release_missing()
        return True

    def since_ps(self, number: int) -> int:
        """The longest chain of a node's parents, of those that were in the window with it."""
        return self._since.get(number, 0)

    def finish(self, number: int, took_ps: int = 0, since_ps: int = 0) -> None:
        """A node has ended, which took so long by itself after a chain of other NPUs; its children may be ready now."""
        del self._nodes[number]
        self._finished.add(number)
        chain_ps = max(self._since.pop(number, 0), since_ps) + took_ps
        if chain_ps > self.chain_ps:
            self.chain_ps = chain_ps
        children = self._children.pop(number, None)
        if children is not None:
            self._release(children, chain_ps)
        if self._reading and len(self._nodes) <= self._low:
            self.fill()

    def _take(self, node: GraphNode) -> None:
        number, left = node.number, 0
        if number > self._highest:  # as most are, and then it can't have been there
            self._highest = number
        elif number in self._nodes or number in self._finished:
            raise wrong(f"node {number} ('{node.name}') stands there twice", self.source)
        nodes, children = self._nodes, self._children
        for parent in node.parents:
            # Most stand in the window themselves, so that is looked at first.
            if parent in nodes or parent not in self._finished:
                left += 1
                if parent in children:
                    children[parent].append(node)
                else:
                    children[parent] = [node]
        nodes[number] = node
        if not left:
            self.ready.append(node)
        elif left > 1:
            self._several[number] = left

    def _release(self, children: list[GraphNode], chain_ps: int = 0) -> None:
        for child in children:
            if chain_ps > self._since.get(child.number, 0):
                self._since[child.number] = chain_ps
            left = self._several.pop(child.number, 1) - 1
            if not left:
                self.ready.append(child)
            elif left > 1:
                self._several[child.number] = left

    def _release_missing(self) -> None:
        """All is read: parents that never came count as finished."""
        for parent in [parent for parent in self._children if parent not in self._nodes]:
            self._release(self._children.pop(parent))


class FinishedNodes:
    """A set of whole numbers that are mostly near each other; takes less than a byte for each then."""

    __slots__ = ("_blocks",)

    def __init__(self) -> None:
        self._blocks: dict[int, int] = {}

    def copy(self) -> FinishedNodes:
        """Return another with the same numbers."""
        other = FinishedNodes()
        other._blocks = dict(self._blocks)
        return other

    def add(self, number: int) -> None:
        """Put a number in."""
        block = number >> _SHIFT
        self._blocks[block] = self._blocks.get(block, 0) | 1 << (number & _MASK)

    def __contains__(self, number: int) -> bool:
        return bool(self._blocks.get(number >> _SHIFT, 0) >> (number & _MASK) & 1)
