"""The requests of a workload of graphs, counted ahead of the run, while it is read to be checked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.config.core.compatibility import Compatibility
from astra_ns3.config.graph_workload import GraphNode, GraphWorkload, NodeKind
from astra_ns3.config.system import SystemConfig
from astra_ns3.errors import InputError, wrong
from astra_ns3.frozen import dataclass, field
from astra_ns3.playing.dry_run.counting import Counts, RequestKind, request_kind
from astra_ns3.playing.graphs.communication import Requests
from astra_ns3.playing.graphs.custom import custom_messages
from astra_ns3.playing.graphs.slots import Slot, slot_rule
from astra_ns3.system.communicator import Communicator
from astra_ns3.system.request import CollectiveRequest
from astra_ns3.workload.graphs.checks.location import location
from astra_ns3.workload.graphs.durations import Durations
from astra_ns3.workload.graphs.same_on_all import OfAnother, SameOnAll

MOST_KINDS = 50_000
"""So many different collectives and messages are told apart; a workload with more isn't counted to its end."""


@dataclass
class GraphCounts:
    """``requests``: each kind of collective, with one that stands for all of it, and how often; ``messages``: how often
    each (source, destination, bytes). ``computations`` of all NPUs take time; ``whole``: whether all was counted;
    ``sends``: whether any node sends a message, be it to its own NPU. ``longest_ps``: what computations take that one
    NPU, ``longest_npu``, does one after the other."""

    kinds: Counter[RequestKind] = field(default_factory=Counter)
    messages: Counter[tuple[int, int, int]] = field(default_factory=Counter)
    first: dict[RequestKind, CollectiveRequest] = field(default_factory=dict)
    computations: int = 0
    npu0_compute_ps: int = 0
    longest_ps: int = 0
    longest_npu: int = 0
    nodes: int = 0
    whole: bool = True
    sends: bool = False

    @property
    def requests(self) -> Counts:
        """Each kind of collective, and how often."""
        return [(request, self.kinds[key]) for key, request in self.first.items()]


def counted(
    workload: GraphWorkload, system: SystemConfig, dimensions: int, compatibility: Compatibility
) -> GraphCounts:
    """Count the requests of a workload's NPUs, read for that alone; raises InputError for what can't be asked."""
    counter = NodeCounter(workload, system, dimensions, compatibility)
    for npu in range(counter.watched.npus):
        for _ in counter.watched.nodes(npu):
            pass
    return counter.counts()


@dataclass(frozen=True)
class Watched(OfAnother):
    """The workload ``one`` itself, but ``seen`` hears of an NPU's nodes when they are read for the first time."""

    seen: Callable[[int, Iterator[GraphNode]], Iterator[GraphNode]]
    _begun: set[int] = field(default_factory=set)

    @property
    def npus(self) -> int:
        """Number of NPUs."""
        return self.one.npus

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings for their user."""
        return self.one.warnings

    def file_of(self, npu: int) -> str:
        """The file of an NPU."""
        return self.one.file_of(npu)

    def nodes(self, npu: int) -> Iterator[GraphNode]:
        """The nodes of an NPU."""
        nodes = iter(self.one.nodes(npu))
        if npu in self._begun:
            return nodes
        self._begun.add(npu)
        return self.seen(npu, nodes)

    def scaled(self, comm_scale: float = 1.0, compute_scale: float = 1.0) -> GraphWorkload:
        """Sizes and times multiplied; nobody hears of those."""
        return self.one.scaled(comm_scale, compute_scale)


class NodeCounter:
    """Counts what the NPUs of ``workload`` ask for on a system, in a grid of so many ``dimensions``.

    ``watched``: to be read whole, once, by whoever needs to anyway; then :meth:`counts` knows.
    """

    def __init__(
        self, workload: GraphWorkload, system: SystemConfig, dimensions: int, compatibility: Compatibility
    ) -> None:
        one = workload.one if isinstance(workload, SameOnAll) else workload
        self.watched: GraphWorkload = Watched(one, self._seen)
        self._workload = workload
        self._each = 1 if one is workload else workload.npus
        self._replays = system.replay_only
        self._requests = Requests(workload.groups, workload.npus, dimensions, compatibility)
        self._durations = Durations(system, compatibility)
        self._slot_of = slot_rule(by_number=compatibility.nodes_of_graphs_by_number)
        self._custom = {} if system.replay_only else custom_messages(system)
        self._told_by: dict[Communicator | None, int] = {}
        self._sent: dict[tuple[int, int | None, int], int] = {}
        self._counts = GraphCounts()
        self._problem: InputError | None = None

    @property
    def gathers(self) -> bool:
        """Whether any NPU that was read has asked for an all-gather."""
        return any(request.kind is CollectiveKind.ALL_GATHER for request in self._counts.first.values())

    def counts(self) -> GraphCounts:
        """The counts; raises InputError for what can't be asked."""
        if self._problem is not None:
            raise self._problem
        for (npu, peer, bytes_), times in self._sent.items():
            assert peer is not None
            # Of a trace that all NPUs play, all send to the one that is named.
            for source in (npu,) if self._each == 1 else range(self._each):
                if source != peer:
                    self._counts.messages[source, peer, bytes_] += times
        self._sent.clear()
        return self._counts

    def _seen(self, npu: int, nodes: Iterator[GraphNode]) -> Iterator[GraphNode]:
        """The same nodes; what can't be asked is kept for later, for there may be worse."""
        duration = self._durations.said if self._replays else self._durations.of
        replays, compute, count = self._replays, NodeKind.COMPUTE, 0
        computations, slots_ps = 0, [0] * len(Slot)
        for node in nodes:
            count += 1
            if self._problem is None:
                try:
                    if replays or node.kind is compute:
                        time_ps = duration(node)
                        if time_ps:
                            computations += 1
                            slots_ps[self._slot_of(node)] += time_ps
                    elif node.kind is NodeKind.SEND:
                        self._count_message(npu, node)
                    elif node.kind is NodeKind.COLLECTIVE:
                        self._count_collective(npu, node)
                except InputError as error:
                    self._problem = error
            yield node
        self._counts.nodes += count * self._each
        self._counts.computations += computations * self._each
        if npu == 0:
            self._counts.npu0_compute_ps = sum(slots_ps)
        longest_ps = max(slots_ps[: Slot.NONE])
        if longest_ps > self._counts.longest_ps:
            self._counts.longest_ps, self._counts.longest_npu = longest_ps, npu

    def _count_message(self, npu: int, node: GraphNode) -> None:
        self._counts.sends = True
        sent = npu, node.peer, max(node.bytes or 0, 1)
        if sent in self._sent:
            self._sent[sent] += 1
        elif self._is_told_apart(len(self._sent)):
            self._requests.message(npu, node)  # raises if there is no such NPU
            self._sent[sent] = 1

    def _count_collective(self, npu: int, node: GraphNode) -> None:
        """Each communicator's by the first NPU that has a part in it."""
        request = self._requests.collective(npu, node)
        if node.collective is not None and node.collective in self._custom:
            self._count_custom(npu, node)
        elif request is not None and self._told_by.setdefault(request.communicator, npu) == npu:
            key = request_kind(request)
            if key in self._counts.first or self._is_told_apart(len(self._counts.first)):
                self._counts.kinds[key] += 1
                self._counts.first.setdefault(key, request)

    def _count_custom(self, npu: int, node: GraphNode) -> None:
        """A collective that is itself a graph."""
        communicator = self._requests.communicator(node.group)
        if self._told_by.setdefault(communicator, npu) != npu:
            return
        assert node.collective is not None
        found = self._custom[node.collective]
        ranks = range(self._workload.npus) if communicator is None else communicator.ranks
        if found.ranks != len(ranks):
            raise wrong(
                f"is played by the graphs of {found.source}, which are for "
                f"{found.ranks} ranks, not for the {len(ranks)} here",
                location(self._workload, npu, node),
            )
        for (source, destination, bytes_), times in found.messages.items():
            self._counts.messages[ranks[source], ranks[destination], bytes_] += times

    def _is_told_apart(self, kinds: int) -> bool:
        """Whether there is room for one kind more."""
        self._counts.whole = self._counts.whole and kinds < MOST_KINDS
        return kinds < MOST_KINDS
