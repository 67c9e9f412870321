"""The time of one NPU by kind of work, and its history for a journal."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping

from astra_ns3.config.graph_workload import GraphNode, NodeKind
from astra_ns3.network.records import Label, LayerTimes, PassTimes
from astra_ns3.system.journal import Journal
from astra_ns3.workload.graphs.checks.collectives import dimensions_of
from astra_ns3.workload.graphs.kinds_of_work import IDLE, PART, group_of_work, kind_of_work

_COMMUNICATION = frozenset((NodeKind.COLLECTIVE, NodeKind.SEND, NodeKind.RECEIVE))
_NO_COLLECTIVE = -1


class _Going:
    """A node that goes on, or did since the device last computed; ``before``: whose end let it begin."""

    __slots__ = ("before", "begin_ps", "collective", "words")

    def __init__(self, words: tuple[str, str], collective: int, begin_ps: int, before: _Going | None) -> None:
        self.words = words  # its kind and group
        self.collective = collective
        self.begin_ps = begin_ps
        self.before = before


_Wait = tuple[tuple[str, str], int, int, int]
"""For which kind and group, the number of the collective, from when to when."""


class WorkSums:
    """Sums of NPU ``npu``.

    While its device doesn't compute, time is exposed by the node whose end lets it go on; before that one's begin by
    the node whose end let that one begin, and so on. Where no end does, and while nobody knows yet, it is exposed by
    what began first of all that goes on.

    ``journal``: where its computing and its waiting are written down.
    """

    def __init__(self, npu: int, dimensions: int, journal: Journal | None = None) -> None:
        """``dimensions``: how many the network has."""
        self._npu = npu
        self._dimensions = dimensions
        self._journal = journal
        self._compute_ps: dict[str, int] = defaultdict(int)
        self._exposed_ps: dict[str, int] = defaultdict(int)
        self._comm_ps: dict[str, int] = defaultdict(int)
        self._groups: dict[str, int] = defaultdict(int)
        self._running: dict[int, _Going] = {}  # as they began
        self._collectives: dict[int, int] = {}  # of those that communicate, the number of what they take part in
        self._computing = 0
        self._since_ps = 0  # when it last stopped to compute
        self._ended: tuple[_Going | None, int] = None, 0  # the last that has, and when

    def takes_part(self, node: GraphNode, collective: int) -> None:
        """A node that is about to begin takes part in a collective or a message of this number."""
        self._collectives[node.number] = collective

    def is_made_of_others(self, node: GraphNode) -> None:
        """A node that is about to begin is a collective played as a graph, whose nodes are written down instead."""
        self._collectives[node.number] = _NO_COLLECTIVE

    def begun(self, node: GraphNode, time_ps: int) -> None:
        """A node has begun."""
        if node.kind is NodeKind.COMPUTE and not node.on_host:
            self._book(time_ps)
            self._computing += 1
            return
        kind = kind_of_work(node)
        words = kind, group_of_work(node.kind, node.group, kind, dimensions_of(node, self._dimensions))
        collective = self._collectives.get(node.number, _NO_COLLECTIVE)
        self._running[node.number] = _Going(words, collective, time_ps, self._ended_at(time_ps))
        if self._journal is not None and collective != _NO_COLLECTIVE:
            write_post(self._journal, self._npu, node, collective, time_ps)

    def ended(self, node: GraphNode, begin_ps: int, time_ps: int) -> None:
        """It has ended."""
        kind = kind_of_work(node)
        self._write_work(node, begin_ps, time_ps)
        if node.kind is NodeKind.COMPUTE and not node.on_host:
            self._computing -= 1
            self._compute_ps[kind] += time_ps - begin_ps
            self._since_ps = time_ps
            return
        self._ended = self._running.pop(node.number), time_ps
        self._collectives.pop(node.number, None)
        if node.kind in _COMMUNICATION:
            self._comm_ps[kind] += time_ps - begin_ps

    def layers(self, now_ps: int) -> tuple[LayerTimes, ...]:
        """A row for each kind of work, computing first; what is exposed just now counts until then.

        Asking changes nothing: who looks at a run, and when, must not show in its records.
        """
        none = PassTimes()
        exposed_ps = dict(self._exposed_ps)
        for (kind, _), _, begin_ps, end_ps in self._waits(now_ps):
            exposed_ps[kind] = exposed_ps.get(kind, 0) + end_ps - begin_ps
        return tuple(
            LayerTimes(
                name,
                PassTimes(self._compute_ps.get(name, 0), exposed_ps.get(name, 0), self._comm_ps.get(name, 0)),
                none,
                none,
                0,
            )
            for name in dict.fromkeys((*self._compute_ps, *self._comm_ps, *exposed_ps))
        )

    def exposed_by_group(self, now_ps: int) -> Mapping[str, int]:
        """The time exposed by exchanges in each group until then, the longest first."""
        groups = Counter(self._groups)
        for (_, group), _, begin_ps, end_ps in self._waits(now_ps):
            groups[group] += end_ps - begin_ps
        return dict(groups.most_common())

    def stopped(self, running: Iterable[tuple[GraphNode, int, int]], time_ps: int) -> None:
        """Nothing more will happen here: what goes on, ``running`` with when each node began, ends in the journal."""
        self._book(time_ps)
        for node, begin_ps, _ in running:
            self._write_work(node, begin_ps, time_ps)

    def _ended_at(self, time_ps: int) -> _Going | None:
        """The node that has ended at this moment, the last if several have."""
        going, ended_ps = self._ended
        return going if ended_ps == time_ps else None

    def _waits(self, now_ps: int) -> list[_Wait]:
        """The waits of the device since it last computed, in order of time; nothing while it computes."""
        if self._computing:
            return []
        found: list[_Wait] = []
        end_ps = now_ps
        going = self._ended_at(now_ps) or next(iter(self._running.values()), None)
        while end_ps > self._since_ps:
            begin_ps = self._since_ps if going is None else max(going.begin_ps, self._since_ps)
            words, collective = ((IDLE, IDLE), _NO_COLLECTIVE) if going is None else (going.words, going.collective)
            if begin_ps < end_ps:
                found.append((words, collective, begin_ps, end_ps))
            end_ps, going = begin_ps, None if going is None else going.before
        return found[::-1]

    def _book(self, time_ps: int) -> None:
        """The device computes again, or nothing more will happen."""
        for (kind, group), collective, begin_ps, end_ps in self._waits(time_ps):
            self._exposed_ps[kind] += end_ps - begin_ps
            self._groups[group] += end_ps - begin_ps
            self._write("wait", kind, collective, begin_ps, end_ps)
        self._since_ps = time_ps
        self._ended = None, 0
        for going in self._running.values():
            going.before = None  # nobody asks any more

    def _write_work(self, node: GraphNode, begin_ps: int, end_ps: int) -> None:
        """Write down a node that took time by itself: no collective, no message."""
        if self._journal is None or node.number in self._collectives:
            return
        if node.kind is NodeKind.COMPUTE and not node.on_host:
            self._write("compute", kind_of_work(node), _NO_COLLECTIVE, begin_ps, end_ps)
        else:
            write_work(self._journal, self._npu, node, begin_ps, end_ps)

    def _write(self, word: str, kind: str, collective: int, begin_ps: int, end_ps: int) -> None:
        if self._journal is not None:
            self._journal.operation(self._npu, word, Label(0, kind, PART), collective, begin_ps, end_ps)


def write_post(journal: Journal, npu: int, node: GraphNode, collective: int, time_ps: int) -> None:
    """Write down that a node has come to a collective, or to an end of a message."""
    word = {NodeKind.SEND: "send", NodeKind.RECEIVE: "receive"}.get(node.kind, "issue")
    journal.operation(npu, word, Label(0, kind_of_work(node), PART), collective, time_ps, time_ps)


def write_work(journal: Journal, npu: int, node: GraphNode, begin_ps: int, end_ps: int) -> None:
    """Write down a node that takes time by itself, which isn't booked as the device's computing."""
    journal.operation(npu, "work", Label(0, kind_of_work(node), PART), _NO_COLLECTIVE, begin_ps, end_ps)
