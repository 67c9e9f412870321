"""Whether the nodes of each NPU can come one after the other: no node twice, none that waits for itself.

Most traces have parents before their children: then there is no circle, and nothing is kept but the numbers of the
nodes of one NPU. Other files are read once more and their nodes are taken away, those without parents first.
"""

from __future__ import annotations

from astra_ns3.config.graph_workload import GraphNode, GraphWorkload
from astra_ns3.errors import ProgramsDeadlock, wrong
from astra_ns3.units import counted
from astra_ns3.workload.graphs.checks.location import and_more, location

_MOST_SHOWN = 6


class OrderCheck:
    """Takes the nodes of one NPU after the other."""

    def __init__(self, workload: GraphWorkload) -> None:
        self._workload = workload
        self._npu = 0
        self._seen: set[int] = set()
        self._early: list[tuple[int, tuple[int, ...]]] = []  # children before a parent: the node, and its parents
        self._twice: list[str] = []
        self._circles: list[str] = []
        self._missing: list[str] = []
        self._missing_count = 0
        self._empty: list[int] = []

    def begin(self, npu: int) -> None:
        """The nodes of an NPU come next."""
        self._npu, self._seen, self._early = npu, set(), []

    def take(self, node: GraphNode) -> None:
        """The next node."""
        number, parents, seen = node.number, node.parents, self._seen
        if number in seen:
            self._twice.append(location(self._workload, self._npu, node))
        if parents and not seen.issuperset(parents):
            self._early.append((number, tuple(parent for parent in parents if parent not in seen)))
        seen.add(number)

    def end(self) -> None:
        """Check the parents that were still open when the last node of this NPU was read."""
        if not self._seen:
            self._empty.append(self._npu)
        seen = self._seen
        missing = {parent for _, parents in self._early for parent in parents if parent not in seen}
        if missing:
            child, parents = next(pair for pair in self._early if not missing.isdisjoint(pair[1]))
            parent = next(parent for parent in parents if parent in missing)
            self._missing.append(f"{self._workload.file_of(self._npu)}: node {child} waits for node {parent}")
            self._missing_count += len(missing)
        if any(not missing.issuperset(parents) for _, parents in self._early):
            self._look_for_circles()
        self._seen, self._early = set(), []

    def raise_problems(self) -> None:
        """Raise InputError for a node that stands there twice, ProgramsDeadlock for nodes that wait in a circle."""
        if self._twice:
            more = and_more(len(self._twice), "such node")
            raise wrong(f"another node of this file has the same number{more}", self._twice[0])
        if self._circles:
            more = and_more(len(self._circles), "file with circles", "files with circles")
            raise ProgramsDeadlock(self._circles[0] + more)

    def warnings(self) -> list[str]:
        """Oddities that are played nevertheless."""
        found = []
        if self._missing:
            count = self._missing_count
            more = (
                f" (and {counted(count - 1, 'more such parent')}, in {len(self._missing)} files)" if count > 1 else ""
            )
            found.append(f"{self._missing[0]}, which isn't in the file and counts as done{more}")
        if self._empty:
            files = "1 file has" if len(self._empty) == 1 else f"{len(self._empty)} files have"
            found.append(f"{self._workload.file_of(self._empty[0])}: {files} no nodes, so their NPUs do nothing")
        return found

    def _look_for_circles(self) -> None:
        parents = {node.number: node.parents for node in self._workload.nodes(self._npu)}
        left = set(parents).difference(_by_readiness(parents))
        if left:
            self._circles.append(_about_circle(self._workload, self._npu, parents, left))


def in_order(nodes: list[GraphNode], workload: GraphWorkload, npu: int) -> list[GraphNode]:
    """The nodes of an NPU, parents before children; raises ProgramsDeadlock if they wait in a circle."""
    seen: set[int] = set()
    numbers = {node.number for node in nodes}
    for node in nodes:
        if not seen.issuperset(parent for parent in node.parents if parent in numbers):
            break
        seen.add(node.number)
    else:
        return nodes
    by_number = {node.number: node for node in nodes}
    parents = {node.number: node.parents for node in nodes}
    order = _by_readiness(parents)
    if len(order) < len(parents):
        raise ProgramsDeadlock(_about_circle(workload, npu, parents, set(parents).difference(order)))
    return [by_number[number] for number in order]


def _about_circle(workload: GraphWorkload, npu: int, parents: dict[int, tuple[int, ...]], left: set[int]) -> str:
    circle = _circle(parents, left)
    wanted = circle[:_MOST_SHOWN]
    names = {node.number: node.name[:60] for node in workload.nodes(npu) if node.number in wanted}
    shown = " waits for ".join(f"node {number} '{names[number]}'" for number in wanted)
    hidden = f", and so on over {len(circle)} nodes," if len(circle) > _MOST_SHOWN else ""
    return (
        f"{workload.file_of(npu)}: {shown}{hidden} waits for node {circle[0]}: "
        f"{len(left)} of {len(parents)} nodes would never run"
    )


def _by_readiness(parents: dict[int, tuple[int, ...]]) -> list[int]:
    """The nodes that can run, parents before children; those that aren't there count as done."""
    children: dict[int, list[int]] = {}
    waits: dict[int, int] = {}
    ready = []
    for number, above in parents.items():
        there = [parent for parent in above if parent in parents]
        waits[number] = len(there)
        for parent in there:
            children.setdefault(parent, []).append(number)
        if not there:
            ready.append(number)
    order = []
    while ready:
        number = ready.pop()
        order.append(number)
        for child in children.get(number, ()):
            waits[child] -= 1
            if not waits[child]:
                ready.append(child)
    return order


def _circle(parents: dict[int, tuple[int, ...]], left: set[int]) -> list[int]:
    """A circle among nodes of which each waits for another one: each is followed by one that it waits for."""
    path: list[int] = []
    position: dict[int, int] = {}
    number = min(left)
    while number not in position:
        position[number] = len(path)
        path.append(number)
        number = next(parent for parent in parents[number] if parent in left)
    return path[position[number] :]
