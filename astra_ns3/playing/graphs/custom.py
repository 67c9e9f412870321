"""Collectives that a user gives as Chakra traces, a graph for each rank (ASTRA-sim 2's ``*-implementation-custom``).

Each rank plays its graph for every collective of that kind, with the sizes in it: those that the workload asks for
count for nothing. All nodes begin when they are ready. Before anything runs the graphs are checked as a workload's are,
and none may ask for a collective, which would be a collective of a collective.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from functools import cache
from typing import NamedTuple

from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.config.core.compatibility import OURS, Compatibility
from astra_ns3.config.graph_workload import GraphNode, NodeKind
from astra_ns3.config.system import SystemConfig
from astra_ns3.errors import refuse, wrong
from astra_ns3.playing.graphs.npu_player import NpuPlayer, Told
from astra_ns3.playing.graphs.ready import ReadyNodes
from astra_ns3.playing.graphs.slots import Slot
from astra_ns3.playing.graphs.window import Window
from astra_ns3.system.communicator import Communicator
from astra_ns3.units import counted
from astra_ns3.workload.files.chakra.trace import ChakraTrace, read_chakra
from astra_ns3.workload.graphs.checking import check_graphs
from astra_ns3.workload.graphs.checks.location import and_more, location

_WINDOW = 1 << 16

BeginPart = Callable[[NpuPlayer, GraphNode, Hashable], bool | None]
"""Begins a node of a custom collective whose messages' tags are told apart by an object that can be a key."""


def check_custom(system: SystemConfig, compatibility: Compatibility = OURS) -> tuple[str, ...]:
    """Facts that the user of a system's custom collectives should know, each one line; raises InputError as
    :func:`~astra_ns3.workload.graphs.checking.check_graphs`, and for a collective among their nodes."""
    warnings: list[str] = []
    for key, trace in _traces(system).items():
        warnings += (*trace.warnings, *_check(key, trace, compatibility))
    return tuple(dict.fromkeys(warnings))


class CustomMessages(NamedTuple):
    """The traffic of the graphs of a kind of collective each time: ``messages`` between two ranks, and of how many
    bytes."""

    source: str
    ranks: int
    messages: Counter[tuple[int, int, int]]


def custom_messages(system: SystemConfig) -> dict[CollectiveKind, CustomMessages]:
    """The messages of each kind that a system plays as graphs; raises InputError if these can't be read."""
    found = {}
    for kind, trace in _traces(system).items():
        messages = Counter(
            (rank, node.peer, max(node.bytes or 0, 1))
            for rank in range(trace.npus)
            for node in trace.nodes(rank)
            if node.kind is NodeKind.SEND and node.peer is not None and node.peer != rank and node.peer < trace.npus
        )
        found[kind] = CustomMessages(trace.source, trace.npus, messages)
    return found


def _traces(system: SystemConfig) -> dict[CollectiveKind, ChakraTrace]:
    return {kind: read_chakra(path) for kind, path in system.custom_collectives().items()}


def _check(kind: CollectiveKind, trace: ChakraTrace, compatibility: Compatibility) -> tuple[str, ...]:
    inner = [
        location(trace, rank, node)
        for rank in range(trace.npus)
        for node in trace.nodes(rank)
        if node.kind is NodeKind.COLLECTIVE
    ]
    if inner:
        raise wrong(
            f"is a collective, but these graphs are played as {kind.name.lower()} themselves: expected "
            f"sends, receives and computations{and_more(len(inner), 'such node')}",
            inner[0],
        )
    return check_graphs(trace, collectives=False, messages=not compatibility.messages_by_arrival)


class CustomCollectives:
    """Custom collectives on ``npus``; ``begin`` begins their nodes. Raises InputError if a trace can't be played."""

    def __init__(self, system: SystemConfig, npus: int, begin: BeginPart, compatibility: Compatibility = OURS) -> None:
        self._traces = _traces(system)
        for kind, trace in self._traces.items():
            _check(kind, trace, compatibility)
        self._begin = begin
        self._npus = npus
        self._issued: Counter[tuple[int, Communicator | None, CollectiveKind]] = Counter()
        self._graph = cache(self._read)

    def __contains__(self, kind: object) -> bool:
        return kind in self._traces

    def player(
        self,
        npu: int,
        kind: CollectiveKind,
        communicator: Communicator | None,
        done: Callable[[NpuPlayer], None],
        told: Told | None = None,
    ) -> NpuPlayer:
        """The player of the next collective of a kind on one NPU; ``done`` is told at its end, ``told`` of each node.

        Raises InputError.
        """
        ranks: Sequence[int] = range(self._npus) if communicator is None else communicator.ranks
        count = npu, communicator, kind
        apart = communicator, kind, self._issued[count]
        self._issued[count] += 1
        nodes = [_placed(node, ranks) for node in self._graph(kind, ranks.index(npu), len(ranks))]

        def begin(player: NpuPlayer, node: GraphNode) -> bool | None:
            return self._begin(player, node, apart)

        window = Window(nodes, _WINDOW, self._traces[kind].source)
        ready = ReadyNodes(lambda node: Slot.NONE, by_number=True)
        player: NpuPlayer = NpuPlayer([npu], window, ready, begin, lambda _: done(player), told=told)
        return player

    def _read(self, kind: CollectiveKind, rank: int, ranks: int) -> list[GraphNode]:
        trace: ChakraTrace = self._traces[kind]
        refuse(
            trace.npus != ranks,
            f"has graphs for {counted(trace.npus, 'rank')}, and is asked to run on {ranks}",
            trace.source,
        )
        return list(trace.nodes(rank))


def _placed(node: GraphNode, ranks: Sequence[int]) -> GraphNode:
    """A node with the NPU of its peer's rank."""
    if node.peer is None or node.kind not in (NodeKind.SEND, NodeKind.RECEIVE) or not 0 <= node.peer < len(ranks):
        return node
    return node._replace(peer=ranks[node.peer])
