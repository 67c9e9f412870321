"""Plays a workload of graphs on all NPUs: begins nodes, hears of their ends, and keeps the records."""

from __future__ import annotations

from array import array
from collections.abc import Hashable, Sequence
from functools import partial

from astra_ns3.config.compute_slowdown import ComputeSlowdown
from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.config.core.compatibility import OURS, Compatibility
from astra_ns3.config.graph_workload import GraphNode, GraphWorkload, NodeKind
from astra_ns3.config.system import SystemConfig
from astra_ns3.errors import SimulationStalled, of_npus, refuse, wrong
from astra_ns3.frozen import dataclass
from astra_ns3.network.api import NetworkBackend
from astra_ns3.network.recorded import TableSink
from astra_ns3.network.records import Chain, LayerTimes, NpuRecord, RoleTimes
from astra_ns3.playing.drivers.driver import Heartbeat
from astra_ns3.playing.drivers.system_driver import SystemDriver
from astra_ns3.playing.graphs.communication import Requests
from astra_ns3.playing.graphs.custom import CustomCollectives
from astra_ns3.playing.graphs.graph_stall import describe_stall
from astra_ns3.playing.graphs.in_step import InStep
from astra_ns3.playing.graphs.memory_accesses import MemoryAccesses
from astra_ns3.playing.graphs.node_rows import NodeRows
from astra_ns3.playing.graphs.npu_player import NpuPlayer, Told
from astra_ns3.playing.graphs.own_messages import OwnMessages
from astra_ns3.playing.graphs.ready import ReadyNodes
from astra_ns3.playing.graphs.slots import slot_rule
from astra_ns3.playing.graphs.sums import WorkSums, write_post, write_work
from astra_ns3.playing.graphs.window import Window
from astra_ns3.playing.slowdown.computations import SlowedComputations, slowed_by
from astra_ns3.system.heard_in_order import heard_in_order
from astra_ns3.system.journal import Journal
from astra_ns3.system.layer import ChunkWatcher, SystemLayer
from astra_ns3.system.request import CollectiveRequest, Handle
from astra_ns3.units import LARGEST_INTEGER, PS_PER_NS, counted
from astra_ns3.workload.graphs.durations import Durations

ALL_WINDOWS = 1 << 19
"""So many nodes are held at once, on all NPUs together."""
LEAST_WINDOW, LARGEST_WINDOW = 1 << 10, 1 << 16
# 19 minutes: what lasts no longer doesn't bring a run to the end of all time.
_CHECKED_PS = 1 << 50
_MEMORY = (NodeKind.MEMORY_LOAD, NodeKind.MEMORY_STORE)
_MESSAGES = (NodeKind.SEND, NodeKind.RECEIVE)


class GraphDriver(SystemDriver):
    """``workload`` on all NPUs of ``network``; it is the network's listener.

    ``dimensions``: NPUs along each dimension (default: all in one). ``bandwidths``: of each dimension, in any unit, for
    policies that ask (None: not known). ``seed``: of the system's random delays. ``on_heartbeat(time_ps, events)`` is
    called about ten times a second; what it raises ends the run. ``report_npu``: whose kinds of work the records tell
    of. ``journal_to``: takes what every NPU does, ``nodes_to`` every node; ``told`` hears of each node that has
    ended. ``slowdown``: what makes computations of devices longer, not those of hosts nor those inside a collective
    that is itself a graph (None: nothing does). ``alike``: all NPUs have the same graph, without messages. Raises
    InputError.
    """

    def __init__(
        self,
        network: NetworkBackend,
        system: SystemConfig,
        workload: GraphWorkload,
        *,
        dimensions: Sequence[int] | None = None,
        bandwidths: Sequence[float] | None = None,
        compatibility: Compatibility = OURS,
        seed: int = 1,
        on_heartbeat: Heartbeat | None = None,
        report_npu: int = 0,
        journal_to: TableSink | None = None,
        nodes_to: TableSink | None = None,
        told: Told | None = None,
        slowdown: ComputeSlowdown | None = None,
        alike: bool = False,
    ) -> None:
        _check_npus(network, workload, report_npu)
        npus = network.npus
        sizes = tuple(dimensions or (npus,))
        self._network = network
        self._workload = workload
        self._on_heartbeat = on_heartbeat
        self._reported = report_npu
        self._durations = Durations(system, compatibility)
        self._memory = MemoryAccesses(system, compatibility, network)
        self._requests = Requests(workload.groups, npus, len(sizes), compatibility)
        self._replays = system.replay_only
        self._roofline = system.roofline_enabled and not system.replay_only
        self._least_ps = compatibility.least_duration_ns * PS_PER_NS
        self._in_order = compatibility.ends_in_order_of_begins
        self._skips_broadcasts = compatibility.broadcasts_take_their_duration
        self._own_messages = OwnMessages()
        self._custom = CustomCollectives(system, npus, self._begin_part, compatibility)
        self._running: dict[Handle, tuple[NpuPlayer, GraphNode]] = {}
        self._meets = not compatibility.nodes_of_graphs_by_number
        self._chains_ps = array("q")  # of each collective and message by its number, of those who have come to it
        self._journal = None if journal_to is None else Journal(journal_to, [])
        self._node_rows = None if nodes_to is None else NodeRows(nodes_to)
        self._sums = WorkSums(report_npu, len(sizes), self._journal)
        self._computations, watcher = slowed_by(slowdown, network, seed)
        self._system = self._made_system(system, sizes, bandwidths, compatibility, seed, watcher)
        told = told if self._node_rows is None else self._node_rows.ended
        in_step = alike and self._may_play_in_step(system)
        self._players = self._made_players(compatibility, told, in_step=in_step)
        self._in_step = InStep(self._system.launches, self._players, self._computations) if in_step else None
        self._left = npus
        self._started = False

    def _made_system(
        self,
        system: SystemConfig,
        sizes: tuple[int, ...],
        bandwidths: Sequence[float] | None,
        compatibility: Compatibility,
        seed: int,
        watcher: ChunkWatcher | None,
    ) -> SystemLayer:
        return SystemLayer(
            self._network,
            system,
            sizes,
            [],
            self._handle_ended,
            compatibility=compatibility,
            bandwidths=bandwidths,
            seed=seed,
            # Each NPU has a graph of its own, so a collective begins when all of its members have come to it.
            roles=None if compatibility.nodes_of_graphs_by_number else list(range(self._network.npus)),
            observed=[self._reported],
            journal=self._journal,
            watcher=watcher,
        )

    def _may_play_in_step(self, system: SystemConfig) -> bool:
        """Return whether NPUs with the same graph may be played as one."""
        return (
            self._system.plays_alike
            and self._meets
            and not self._in_order
            and not system.custom_collectives()
            and (system.remote_memory is None or not system.remote_memory.there)
            and (self._computations is None or self._computations.alike)
        )

    def _made_players(self, compatibility: Compatibility, told: Told | None, *, in_step: bool) -> list[NpuPlayer]:
        """The player of each NPU; that of the one reported plays by itself, and all do for who asks of each."""
        npus, by_number = self._network.npus, compatibility.nodes_of_graphs_by_number
        size = min(max(ALL_WINDOWS // npus, LEAST_WINDOW), LARGEST_WINDOW)
        slot_of = slot_rule(by_number=by_number)
        others = [npu for npu in range(npus) if npu != self._reported]
        together = [[self._reported], *([others] if others else [])]
        players: dict[int, NpuPlayer] = {}
        by_itself = not in_step or told is not None or self._journal is not None
        for group in [[npu] for npu in range(npus)] if by_itself else together:
            player = NpuPlayer(
                group,
                Window(self._workload.nodes(group[0]), size, self._workload.file_of(group[0])),
                ReadyNodes(slot_of, by_number=by_number),
                self._begin,
                self._npus_done,
                overlooks=compatibility.untimed_nodes_are_overlooked,
                sums=self._sums_of(group[0]),
                told=told,
            )
            players.update(dict.fromkeys(group, player))
        return [players[npu] for npu in range(npus)]

    def start(self) -> None:
        """Put every NPU's start on the network's list of events; once."""
        if self._started:
            return
        self._started = True
        if self._in_step is not None:
            self._in_step.start()
            return
        for player in self._players:
            self._network.call_later(player.npu, 0, player.start)

    def phases_done(self, npus: Sequence[int], instances: Sequence[int], time_ps: int) -> None:
        """From the network: NPUs have finished phases of chunks, at one moment and in this order."""
        if self._in_step is None:
            super().phases_done(npus, instances, time_ps)
        else:
            self._in_step.moments.phases_done(npus, instances, time_ps, self._system.phase_done)

    def phase_done(self, npu: int, instance: int, time_ps: int) -> None:
        """From the network: an NPU finished a phase of a chunk."""
        if self._in_step is None:
            self._system.phase_done(npu, instance, time_ps)
        else:
            self._in_step.moments.phase_done(npu, instance, time_ps, self._system.phase_done)

    def check_finished(self) -> None:
        """Raise SimulationStalled, saying which nodes wait for what, unless every NPU is done."""
        waiting = [(npu, player) for npu, player in enumerate(self._players) if not player.done]
        if waiting:
            handles = [(handle, node) for handle, (_, node) in self._running.items()]
            raise SimulationStalled(describe_stall(self._network, self._system, waiting, handles))

    def hand_over_rows(self) -> None:
        """Hand on all that was recorded so far, so that it is safe if this process dies."""
        super().hand_over_rows()
        if self._node_rows is not None:
            self._node_rows.hand_over()

    def close_journal(self) -> None:
        """Nothing more will happen: write down what goes on, and hand all on."""
        if self._journal is not None:
            now_ps = self._network.now_ps()
            for player in self._players:
                if not player.done and player.sums is not None:
                    player.sums.stopped(player.running.values(), now_ps)
            self._journal.hand_over()
        if self._node_rows is not None:
            self._node_rows.hand_over()

    def _each_npu(self) -> Sequence[Walk]:
        return [Walk(npu, player) for npu, player in enumerate(self._players)]

    def progress(self) -> tuple[int, int, int, int]:
        """Passes done and passes, of which a graph is one; nodes done on the reported NPU, and 0: nobody knows of how
        many."""
        return int(self.finished), 1, self._players[self._reported].ended_nodes, 0

    def computed_ps(self) -> int:
        """For how long the reported NPU has computed until now."""
        return self._reported_record().compute_ps

    @property
    def chain(self) -> Chain:
        """The longest chain of nodes that wait for each other, over all NPUs, or of an NPU's computations."""
        npu, last = max(enumerate(self._players), key=lambda each: each[1].window.chain_ps)
        chain = Chain(last.window.chain_ps, npu)
        return chain if self._computations is None else max(self._computations.longest(), chain)

    def layers(self) -> tuple[LayerTimes, ...]:
        """The times of each kind of work on the reported NPU so far."""
        return self._sums.layers(self._reported_record().finish_ps)

    def roles(self) -> tuple[RoleTimes, ...]:
        """The reported NPU stands for all."""
        finish_ps = self._reported_record().finish_ps
        return (RoleTimes("all", self._reported, self.layers(), self._sums.exposed_by_group(finish_ps)),)

    def _reported_record(self) -> NpuRecord:
        return self._players[self._reported].record(self._reported, self._network.now_ps())

    def _sums_of(self, npu: int) -> WorkSums | None:
        """Where an NPU's time is booked: of the reported one, and of all if a journal wants to know."""
        if npu == self._reported:
            return self._sums
        return None if self._journal is None else WorkSums(npu, self._requests.dimensions, self._journal)

    def _begin(self, player: NpuPlayer, node: GraphNode) -> bool | None:
        """Begin a node; True if it is done at once, None if it isn't run at all."""
        kind = node.kind
        if kind is NodeKind.COMPUTE:  # by far the most
            duration_ps = self._durations.of(node) if self._roofline else node.duration_ps or self._least_ps
            if self._computations is not None and duration_ps and not node.on_host:
                self._compute(self._computations, player, node, duration_ps)
                return False
            return self._last(player, node, duration_ps)
        if self._replays:
            return self._last(player, node, self._durations.said(node))
        if kind is NodeKind.COLLECTIVE:
            if self._skips_broadcasts and node.collective is CollectiveKind.BROADCAST:
                return self._last(player, node, self._durations.said(node))
            return self._begin_collective(player, node)
        if kind in _MESSAGES:
            if node.peer == player.npu:
                return self._begin_own_message(player, node)
            request = self._requests.message(player.npu, node)
            post = self._system.messages.send if kind is NodeKind.SEND else self._system.messages.receive
            return self._wait(post(request), player, node)
        if kind in _MEMORY:
            now_ps = self._network.now_ps()
            return self._last(player, node, self._memory.duration_ps(player.npu, node, now_ps))
        return self._last(player, node, self._durations.of(node))

    def _compute(self, computations: SlowedComputations, player: NpuPlayer, node: GraphNode, duration_ps: int) -> None:
        """A computation that something may slow down."""
        memory_ps = duration_ps if self._roofline and self._durations.memory_bound(node) else 0
        least_ps = int(duration_ps * min(computations.least[npu] for npu in player.npus))
        if self._in_step is not None:
            self._in_step.compute(player, node, duration_ps, memory_ps, least_ps)
            return
        ended = partial(player.ended, node, took_ps=least_ps)
        computations.begin([player.npu], duration_ps, ended, memory_ps=memory_ps, number=node.number)

    def _begin_collective(self, player: NpuPlayer, node: GraphNode) -> bool:
        if node.collective in self._custom:
            return self._begin_custom(player, node)
        request = self._requests.collective(player.npu, node)
        if request is None:
            return True
        if self._in_step is None:
            return self._wait(self._system.issue(player.npu, request), player, node)
        return self._issue_in_step(self._in_step.turns, player, node, request)

    def _issue_in_step(
        self, turns: Sequence[int], player: NpuPlayer, node: GraphNode, request: CollectiveRequest
    ) -> bool:
        """NPUs in step come to a collective."""
        for npu in player.npus[1:]:
            self._requests.collective(npu, node)  # raises if it isn't one of those who take part
        if len(player.npus) > 1:
            handles = self._system.issue_all(player.npus, turns, request)
        else:
            self._system.launches.place = turns[player.npu]
            handles = [self._system.issue(player.npu, request)]
        done = [self._wait(handle, player, node) for handle in handles]
        return all(done)

    def _begin_custom(self, player: NpuPlayer, node: GraphNode) -> bool:
        """A collective that is itself a graph."""
        assert node.collective is not None

        def done(part: NpuPlayer) -> None:
            if node.number in player.running:
                player.ended(node, part.finish_ps)

        communicator = self._requests.communicator(node.group)
        told = None if self._journal is None else self._part_ended
        part = self._custom.player(player.npu, node.collective, communicator, done, told)
        if player.sums is not None:
            player.sums.is_made_of_others(node)
        part.start(self._network.now_ps())
        return part.done

    def _begin_part(self, player: NpuPlayer, node: GraphNode, apart: Hashable) -> bool | None:
        """A node of such a collective."""
        if node.kind not in _MESSAGES:
            return self._last(player, node, self._durations.said(node))
        if node.peer == player.npu:
            return self._begin_own_message(player, node, apart)
        request = self._requests.message(player.npu, node, apart)
        post = self._system.messages.send if node.kind is NodeKind.SEND else self._system.messages.receive
        handle = post(request)
        if self._journal is not None:
            now_ps = self._network.now_ps()
            write_post(self._journal, player.npu, node, handle.collective, now_ps)
        return self._wait(handle, player, node)

    def _part_ended(self, npu: int, node: GraphNode, begin_ps: int, time_ps: int) -> None:
        """A node of a collective that is itself a graph has ended: write it down, unless it is a message."""
        if self._journal is not None and node.kind not in _MESSAGES and begin_ps < time_ps:
            write_work(self._journal, npu, node, begin_ps, time_ps)

    def _begin_own_message(self, player: NpuPlayer, node: GraphNode, apart: Hashable = None) -> bool:
        if node.kind is NodeKind.RECEIVE:
            return self._own_messages.receive(player.npu, node, apart)
        receiver = self._own_messages.send(player.npu, node, apart)
        if receiver is not None:
            self._network.call_later(player.npu, 0, partial(player.ended, receiver))
        return True

    def _wait(self, handle: Handle, player: NpuPlayer, node: GraphNode) -> bool:
        if not handle.done:
            self._running[handle] = player, node
            if self._meets:
                chains_ps, number = self._chains_ps, handle.collective
                chains_ps.extend([0] * (number + 1 - len(chains_ps)))
                chains_ps[number] = max(chains_ps[number], player.window.since_ps(node.number))
            if player.sums is not None:
                player.sums.takes_part(node, handle.collective)
        return handle.done

    def _last(self, player: NpuPlayer, node: GraphNode, duration_ps: int | None) -> bool | None:
        """A node that goes on for so long, which is no time at all for None."""
        if duration_ps is None:
            return None
        if duration_ps > _CHECKED_PS:
            self._check_end(player, node, duration_ps)
        if self._in_step is not None:
            self._in_step.begin(player, node, duration_ps)
            return False
        ended = partial(player.ended, node, took_ps=duration_ps)
        if self._in_order:
            heard_in_order(self._network, player.npu, duration_ps, ended)
        else:
            self._network.call_later(player.npu, duration_ps, ended)
        return False

    def _check_end(self, player: NpuPlayer, node: GraphNode, duration_ps: int) -> None:
        now_ps = self._network.now_ps()
        if now_ps + duration_ps > LARGEST_INTEGER:
            raise wrong(
                f"node {node.number} ('{node.name}') begins after {now_ps} ps and would last "
                f"{duration_ps} ps, expected an end before {LARGEST_INTEGER} ps",
                player.window.source,
            )

    def _handle_ended(self, handle: Handle, time_ps: int) -> None:
        """From the system: an NPU has done its part of a collective or a message."""
        handle.done = True
        player, node = self._running.pop(handle)
        waited = self._meets and node.kind is not NodeKind.SEND
        since_ps = self._chains_ps[handle.collective] if waited else 0
        if self._in_step is not None:
            self._in_step.heard(handle.npu, node, since_ps)
        else:
            player.ended(node, time_ps, since_ps=since_ps)


@dataclass(frozen=True)
class Walk:
    """One NPU's walk, for the records."""

    npu: int
    player: NpuPlayer

    def record(self, now_ps: int) -> NpuRecord:
        """Its totals until now."""
        return self.player.record(self.npu, now_ps)


def _check_npus(network: NetworkBackend, workload: GraphWorkload, report_npu: int) -> None:
    npus = network.npus
    refuse(
        workload.npus != npus,
        f"has graphs for {counted(workload.npus, 'NPU')}, the network has {npus}",
        workload.source,
    )
    of_npus("report-npu", report_npu, npus)
