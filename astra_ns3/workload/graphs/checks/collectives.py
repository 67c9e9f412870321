"""Whether all members of each communicator have the same collectives.

In which order an NPU comes to them isn't known before it runs. So they are compared as heaps: the hashes of each
NPU's collectives in a communicator add up to the same number.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from astra_ns3.config.graph_workload import GraphNode, GraphWorkload, NodeKind
from astra_ns3.errors import ProgramMismatch, nearest, wrong
from astra_ns3.workload.graphs.checks.location import and_more, location, named, only_npus

_MASK = 2**64 - 1


class _Heap(NamedTuple):
    npu: int
    total: int
    """The sum of the hashes of all collectives, modulo 2**64."""


class CollectiveCheck:
    """Takes the collectives of one NPU after the other; ``dimensions``: how many the network has (None: not known)."""

    def __init__(self, workload: GraphWorkload, dimensions: int | None = None) -> None:
        self._workload = workload
        self._dimensions = dimensions
        self._npu = 0
        self._members = {name: frozenset(ranks) for name, ranks in workload.groups.items()}
        self._totals: dict[str, int] = {}
        self._first: dict[str, _Heap] = {}
        self._seen: dict[str, int] = {}
        self._different: list[tuple[str, int, int]] = []
        self._wrong: dict[str, list[str]] = {}

    def takes(self) -> Mapping[NodeKind, Callable[[int, GraphNode], None]]:
        """The checks of nodes of each kind."""
        return {NodeKind.COLLECTIVE: self._take}

    def _take(self, npu: int, node: GraphNode) -> None:
        if npu != self._npu:
            self._end()
            self._npu = npu
        group = node.group
        if group and npu not in self._members.get(group, ()):
            self._outside(npu, node)
            return
        self._totals[group] = self._totals.get(group, 0) + hash(self._key(node))

    def _outside(self, npu: int, node: GraphNode) -> None:
        group, known = node.group, self._workload.groups
        at = location(self._workload, npu, node)
        if not known:
            problem, text = (
                "none",
                (
                    f"{at}: is in communicator '{group}', but no file of communicators was given (--groups FILE, key "
                    "groups of a job, or PREFIX.groups.json beside the trace)"
                ),
            )
        elif group not in known:
            shown = ", ".join(list(known)[:8]) + (", ..." if len(known) > 8 else "")
            problem = "unknown"
            text = f"{at}: communicator '{group}' is not one of {shown}{nearest(group, known)}"
        else:
            problem = "outside"
            text = f"{at}: is in communicator '{group}', whose members are {_listed(known[group])}, not NPU {npu}"
        self._wrong.setdefault(problem, []).append(text)

    def _end(self) -> None:
        """Compare the NPU's heaps with those of the first member of each communicator."""
        for group, total in self._totals.items():
            heap = _Heap(self._npu, total & _MASK)
            first = self._first.setdefault(group, heap)
            if first.total != heap.total:
                self._different.append((group, first.npu, self._npu))
            self._seen[group] = self._seen.get(group, 0) + 1
        self._totals = {}

    def raise_problems(self) -> None:
        """Raise InputError for communicators that don't fit, ProgramMismatch where members differ."""
        self._end()
        for texts in self._wrong.values():
            raise wrong(texts[0] + and_more(len(texts), "such collective"))
        for group in self._seen:
            self._check_members(group)
        if self._different:
            more = and_more(
                len(self._different),
                "NPU that differs from the first of its communicator",
                "NPUs that differ from the first of their communicator",
            )
            raise ProgramMismatch(self._difference(*self._different[0]) + more)

    def _check_members(self, group: str) -> None:
        npus = self._workload.npus
        members = self._workload.groups[group] if group else tuple(range(npus))
        strangers = [member for member in members if member >= npus]
        if strangers:
            raise wrong(
                f"communicator '{group}' has member {strangers[0]}, but there {only_npus(npus)}", self._workload.source
            )
        if self._seen[group] < len(members):
            first = self._first[group].npu
            idle = [member for member in members if not self._list(member, group)]
            node = self._list(first, group)[0]
            raise ProgramMismatch(
                f"{location(self._workload, first, node)}: is a collective of {_group(group)}, but "
                f"{self._workload.file_of(idle[0])} has none of it"
                f"{and_more(len(idle), 'of its members', 'of its members')}"
            )

    def _list(self, npu: int, group: str) -> list[GraphNode]:
        return [node for node in self._workload.nodes(npu) if node.kind is NodeKind.COLLECTIVE and node.group == group]

    def _difference(self, group: str, first: int, other: int) -> str:
        """Where the collectives of two members differ first, in the order of their files."""
        ours, theirs = self._list(first, group), self._list(other, group)
        for number, (one, two) in enumerate(zip(ours, theirs, strict=False), start=1):
            if self._key(one) != self._key(two):
                return (
                    f"{location(self._workload, first, one)}: collective {number} of {_group(group)} is "
                    f"{self._words(one)}, but {self._workload.file_of(other)} has {self._words(two)} there "
                    f"({named(two)})"
                )
        npu, longer = (first, ours) if len(ours) > len(theirs) else (other, theirs)
        shorter = min(len(ours), len(theirs))
        file = self._workload.file_of(other if npu == first else first)
        return (
            f"{location(self._workload, npu, longer[shorter])}: is collective {shorter + 1} of {_group(group)}, "
            f"but {file} has only {shorter}"
        )

    def _key(self, node: GraphNode) -> str:
        """The facts that must be the same for all, as text: its hash, unlike those of numbers, is of every digit."""
        return f"{node.collective} {node.bytes} {self._over(node)}"

    def _words(self, node: GraphNode) -> str:
        kind = str(node.collective.name).lower() if node.collective else "unknown"
        over = self._over(node)
        shown = "" if over is None else f" over dimensions {', '.join(map(str, over)) or 'none'}"
        return f"{kind} of {node.bytes} bytes{shown}"

    def _over(self, node: GraphNode) -> tuple[int, ...] | None:
        """The dimensions that a collective goes over, which is the same for all and none in particular (None).

        A communicator's are where its members are, whatever its nodes say.
        """
        return None if node.group else dimensions_of(node, self._dimensions)


def dimensions_of(node: GraphNode, there: int | None) -> tuple[int, ...] | None:
    """The dimensions, of ``there`` in a network (None: not known), that a node names; None: all."""
    if node.dimensions is None:
        return None
    given = node.dimensions[:there]
    chosen = tuple(number for number, used in enumerate(given) if used)
    return None if len(chosen) == (len(given) if there is None else there) else chosen


def _group(group: str) -> str:
    return f"communicator '{group}'" if group else "all NPUs"


def _listed(members: tuple[int, ...]) -> str:
    shown = ", ".join(map(str, members[:8]))
    return f"{shown}, ... ({len(members)})" if len(members) > 8 else shown
