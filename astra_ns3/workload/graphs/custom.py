"""Collectives that a user gives as Chakra traces, a graph for each rank (ASTRA-sim 2's ``*-implementation-custom``).

Each rank plays its graph for every collective of that kind, with the sizes in it: those that the workload asks for
count for nothing. All nodes begin when they are ready.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache

from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.config.graph_workload import GraphNode, NodeKind
from astra_ns3.config.system import SystemConfig
from astra_ns3.errors import InputError
from astra_ns3.system.communicator import Communicator
from astra_ns3.workload.files.chakra.trace import ChakraTrace, read_chakra
from astra_ns3.workload.graphs.player import NpuPlayer
from astra_ns3.workload.graphs.ready import ReadyNodes
from astra_ns3.workload.graphs.slots import Slot
from astra_ns3.workload.graphs.window import Window

_WINDOW = 1 << 16

BeginPart = Callable[[NpuPlayer, GraphNode, object], bool | None]
"""Begins a node of a custom collective whose messages' tags are told apart by an object."""


class CustomCollectives:
    """Those of a system, on ``npus``; ``begin`` begins their nodes. Raises InputError if a trace can't be read."""

    def __init__(self, system: SystemConfig, npus: int, begin: BeginPart) -> None:
        self._traces = {kind: read_chakra(path) for kind, path in system.custom_collectives().items()}
        self._begin = begin
        self._npus = npus
        self._issued: Counter[tuple[int, Communicator | None, CollectiveKind]] = Counter()
        self._graph = cache(self._read)

    def __contains__(self, kind: object) -> bool:
        return kind in self._traces

    def player(
        self, npu: int, kind: CollectiveKind, communicator: Communicator | None, done: Callable[[NpuPlayer], None]
    ) -> NpuPlayer:
        """What plays the next collective of a kind on one NPU; ``done`` is told at its end. Raises InputError."""
        ranks: Sequence[int] = range(self._npus) if communicator is None else communicator.ranks
        count = npu, communicator, kind
        apart = communicator, kind, self._issued[count]
        self._issued[count] += 1
        nodes = [_placed(node, ranks) for node in self._graph(kind, ranks.index(npu), len(ranks))]

        def begin(player: NpuPlayer, node: GraphNode) -> bool | None:
            return self._begin(player, node, apart)

        window = Window(nodes, _WINDOW, self._traces[kind].source)
        ready = ReadyNodes(lambda node: Slot.NONE, by_number=True)
        player: NpuPlayer = NpuPlayer(npu, window, ready, begin, lambda: done(player))
        return player

    def _read(self, kind: CollectiveKind, rank: int, ranks: int) -> list[GraphNode]:
        trace: ChakraTrace = self._traces[kind]
        if trace.npus != ranks:
            raise InputError(f"{trace.source}: has graphs for {trace.npus} ranks, and is asked to run on {ranks}")
        return list(trace.nodes(rank))


def _placed(node: GraphNode, ranks: Sequence[int]) -> GraphNode:
    """A node with the NPU of its peer's rank."""
    if node.peer is None or node.kind not in (NodeKind.SEND, NodeKind.RECEIVE) or not 0 <= node.peer < len(ranks):
        return node
    return node._replace(peer=ranks[node.peer])
