"""What the time of one NPU went into, by kind of work, and what it did when, for a journal."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping

from astra_ns3.config.graph_workload import GraphNode, NodeKind
from astra_ns3.network.records import Label, LayerTimes, PassTimes
from astra_ns3.system.journal import Journal
from astra_ns3.workload.graphs.names import IDLE, PART, group_of_work, kind_of_work

_COMMUNICATION = frozenset((NodeKind.COLLECTIVE, NodeKind.SEND, NodeKind.RECEIVE))
_NO_COLLECTIVE = -1


class WorkSums:
    """Sums of NPU ``npu``. While its device doesn't compute, time is exposed by what began first of all that goes on.

    ``journal``: where its computing and its waiting are written down.
    """

    def __init__(self, npu: int, journal: Journal | None = None) -> None:
        self._npu = npu
        self._journal = journal
        self._compute_ps: dict[str, int] = defaultdict(int)
        self._exposed_ps: dict[str, int] = defaultdict(int)
        self._comm_ps: dict[str, int] = defaultdict(int)
        self._groups: dict[str, int] = defaultdict(int)
        self._running: dict[int, tuple[str, str]] = {}  # kinds and groups of nodes that go on, as they began
        self._collectives: dict[int, int] = {}  # of those that communicate, the number of what they take part in
        self._computing = 0
        self._since_ps = 0

    def takes_part(self, node: GraphNode, collective: int) -> None:
        """A node that is about to begin takes part in a collective or a message of this number."""
        self._collectives[node.number] = collective

    def begun(self, node: GraphNode, time_ps: int) -> None:
        """A node has begun."""
        self._book(time_ps)
        if node.kind is NodeKind.COMPUTE and not node.on_host:
            self._computing += 1
            return
        kind = kind_of_work(node)
        self._running[node.number] = kind, group_of_work(node.kind, node.group, kind)
        if self._journal is not None and node.number in self._collectives:
            word = {NodeKind.SEND: "send", NodeKind.RECEIVE: "receive"}.get(node.kind, "issue")
            self._write(word, kind, self._collectives[node.number], time_ps, time_ps)

    def ended(self, node: GraphNode, begin_ps: int, time_ps: int) -> None:
        """It has ended."""
        self._book(time_ps)
        kind = kind_of_work(node)
        if node.kind is NodeKind.COMPUTE and not node.on_host:
            self._computing -= 1
            self._compute_ps[kind] += time_ps - begin_ps
            self._write("compute", kind, _NO_COLLECTIVE, begin_ps, time_ps)
            return
        del self._running[node.number]
        self._collectives.pop(node.number, None)
        if node.kind in _COMMUNICATION:
            self._comm_ps[kind] += time_ps - begin_ps

    def layers(self, now_ps: int) -> tuple[LayerTimes, ...]:
        """A row for each kind of work, computing first."""
        self._book(now_ps)
        none = PassTimes()
        return tuple(
            LayerTimes(
                name,
                PassTimes(self._compute_ps.get(name, 0), self._exposed_ps.get(name, 0), self._comm_ps.get(name, 0)),
                none,
                none,
                0,
            )
            for name in dict.fromkeys((*self._compute_ps, *self._comm_ps, *self._exposed_ps))
        )

    def exposed_by_group(self) -> Mapping[str, int]:
        """What was exposed by exchanges in each group, as of the last :meth:`layers`, the longest first."""
        return dict(Counter(self._groups).most_common())

    def _book(self, time_ps: int) -> None:
        """Time passed until now, and if the device didn't compute it was exposed."""
        since_ps = self._since_ps
        if time_ps <= since_ps:
            return
        self._since_ps = time_ps
        if self._computing:
            return
        number, (kind, group) = next(iter(self._running.items()), (_NO_COLLECTIVE, (IDLE, IDLE)))
        self._exposed_ps[kind] += time_ps - since_ps
        self._groups[group] += time_ps - since_ps
        self._write("wait", kind, self._collectives.get(number, _NO_COLLECTIVE), since_ps, time_ps)

    def _write(self, word: str, kind: str, collective: int, begin_ps: int, end_ps: int) -> None:
        if self._journal is not None:
            self._journal.operation(self._npu, word, Label(0, kind, PART), collective, begin_ps, end_ps)
