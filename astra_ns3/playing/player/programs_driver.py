"""Runs the programs of roles on every NPU, and tells the records of what the NPUs did."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from astra_ns3.config.compute_slowdown import ComputeSlowdown
from astra_ns3.config.core.compatibility import OURS, Compatibility
from astra_ns3.config.system import SystemConfig
from astra_ns3.errors import SimulationStalled, of_npus
from astra_ns3.network.api import NetworkBackend
from astra_ns3.network.recorded import TableSink
from astra_ns3.network.records import Chain, LayerTimes, RoleTimes
from astra_ns3.playing.drivers.driver import Heartbeat
from astra_ns3.playing.drivers.system_driver import SystemDriver
from astra_ns3.playing.dry_run.counting import counted_requests, request_kind
from astra_ns3.playing.dry_run.deadlock import check_programs, peer_of
from astra_ns3.playing.player.account import Account
from astra_ns3.playing.player.checkpoints import Checkpoints
from astra_ns3.playing.player.cohort import Cohort, Member
from astra_ns3.playing.player.cohort_player import CohortPlayer
from astra_ns3.playing.player.passes import PassCounter
from astra_ns3.playing.player.program_stall import describe_stall
from astra_ns3.playing.player.tape import Tape
from astra_ns3.playing.programs.operations import CHECKPOINT, STORE, Access, Load, Posting, Send, Store
from astra_ns3.playing.programs.role_programs import RolePrograms
from astra_ns3.playing.programs.roles import Role
from astra_ns3.playing.slowdown.computations import slowed_by
from astra_ns3.system.journal import Journal
from astra_ns3.system.layer import ChunkWatcher, SystemLayer
from astra_ns3.system.request import CollectiveRequest, Handle, MessageRequest
from astra_ns3.units import PS_PER_NS


class ProgramsDriver(SystemDriver):
    """Plays ``programs`` on all NPUs of ``network``; it is the network's listener.

    ``bandwidths``: of each of the network's dimensions, in any unit, for policies that ask (None: not known).
    ``seed``: of the system's random delays. ``on_heartbeat(time_ps, events)`` is called about ten times a second; what
    it raises ends the run. ``report_npu``: whose layers the records tell of. ``journal_to``: takes what every NPU does.
    ``slowdown``: what makes computations longer (None: nothing does). ``told_passes``: hears how many passes all NPUs
    have done, with each more (None: nobody asks).
    Raises InputError if the system can't do what the programs ask, and ProgramsDeadlock or ProgramMismatch if those of
    the roles don't go together.
    """

    def __init__(
        self,
        network: NetworkBackend,
        system: SystemConfig,
        programs: RolePrograms,
        *,
        bandwidths: Sequence[float] | None = None,
        compatibility: Compatibility = OURS,
        seed: int = 1,
        on_heartbeat: Heartbeat | None = None,
        report_npu: int = 0,
        journal_to: TableSink | None = None,
        slowdown: ComputeSlowdown | None = None,
        told_passes: Callable[[int], None] | None = None,
    ) -> None:
        self._network = network
        self._programs = programs
        self._on_heartbeat = on_heartbeat
        self._names = programs.layer_names
        self._updates_ps = programs.updates_ps
        self._tick_ps = compatibility.step_tick_ns * PS_PER_NS
        self._role_of = programs.role_of
        self._place_of = {npu: place for role in programs.roles for place, npu in enumerate(role.ranks)}
        self._observed = _observed(programs.roles, self._role_of, report_npu)
        self._reported = report_npu
        self._journal = None if journal_to is None else Journal(journal_to, list(self._names))
        self._computations, watcher = slowed_by(slowdown, network, seed)
        self._system = self._system_layer(system, bandwidths, compatibility, seed, watcher)
        self._chain = check_programs(programs, None if self._computations is None else self._computations.least)
        self._prepare(programs)
        self._together = self._may_play_together()
        observed = range(network.npus) if self._journal is not None else sorted({0, *self._observed})
        self._accounts = {
            npu: Account(npu, len(self._names), self._journal, place=self._place_of[npu]) for npu in observed
        }
        counter = None if told_passes is None else PassCounter(network.npus, programs.passes, told_passes)
        self._fine = counter is not None or self._plays_finely()
        self._npus = self._cohorts_of(programs, fine=self._fine)
        self._cohorts = self._cohort_player(counter)
        self._left = len(self._npus)
        self._started = False
        self._checkpoints = Checkpoints(len(self._npus))

    def _system_layer(
        self,
        system: SystemConfig,
        bandwidths: Sequence[float] | None,
        compatibility: Compatibility,
        seed: int,
        watcher: ChunkWatcher | None,
    ) -> SystemLayer:
        cut = self._programs.cut
        return SystemLayer(
            self._network,
            cut.system(system),
            cut.dimensions,
            self._names,
            self._handle_ended if any(self._updates_ps) else self._handle_done,
            compatibility=compatibility,
            bandwidths=None if bandwidths is None else cut.of_each(bandwidths),
            seed=seed,
            roles=_role_numbers(self._programs),
            observed=[self._reported, *(npu for npu in self._observed if npu != self._reported)],
            journal=self._journal,
            watcher=watcher,
        )

    def _cohort_player(self, counter: PassCounter | None) -> CohortPlayer:
        return CohortPlayer(
            self._system.launches,
            self._npus,
            [self._place_of[npu] for npu in range(len(self._npus))],
            self._post_all,
            self._npus_done,
            move_ps=self._tick_ps,
            computations=self._computations,
            together=self._together,
            passes=counter,
        )

    def _may_play_together(self) -> bool:
        """Return whether NPUs that do the same may be played as one."""
        alike = self._programs.written_down and self._system.plays_alike
        if self._computations is not None:
            alike = alike and self._computations.alike
        return alike and not self._tick_ps

    def _plays_finely(self) -> bool:
        """Return whether each operation has to be looked at by itself."""
        return self._computations is not None or self._tick_ps > 0 or not self._programs.written_down

    def _prepare(self, programs: RolePrograms) -> None:
        """Plan each kind of collective before anything runs."""
        kinds = {request_kind(request): request for request, _ in counted_requests(programs)}
        for request in kinds.values():
            self._system.maker.prepare(request)

    def _cohorts_of(self, programs: RolePrograms, *, fine: bool) -> list[Cohort]:
        """Return the cohort of each NPU: those of a role together, but for who has an account, or each by itself.

        ``fine``: how all read, so that who has an account does nothing in another order.
        """
        found: dict[int, Cohort] = {}
        for role in programs.roles:
            for npus in [role.ranks] if programs.written_down else [[npu] for npu in role.ranks]:
                tape = Tape(programs.program(role), live=not programs.written_down)
                others = [npu for npu in npus if self._together and npu not in self._accounts]
                if others:
                    found.update(dict.fromkeys(others, Cohort(others, tape.place(fine=fine))))
                for npu in npus:
                    if npu not in found:
                        found[npu] = Cohort([npu], tape.place(fine=fine), self._accounts.get(npu), apart=True)
                tape.close()
        return [found[npu] for npu in range(len(self._role_of))]

    def start(self) -> None:
        """Put every NPU's start on the network's list of events; once."""
        if not self._started:
            self._started = True
            self._checkpoints.begin(self._network.now_ps())
            self._cohorts.start()

    @property
    def checkpointed(self) -> int:
        """How many passes the last checkpoint has that is stored as a whole."""
        return self._checkpoints.passes

    def resume(self, passes: int) -> None:
        """Begin after so many passes, which a checkpoint has."""
        self._checkpoints.passes = passes
        self._programs = self._programs.resumed(passes)
        self._npus[:] = self._cohorts_of(self._programs, fine=self._fine)

    def check_finished(self) -> None:
        """Raise SimulationStalled, saying who waits for what, unless every NPU is done."""
        waiting = [npu for npu in self._each_npu() if not npu.done]
        if waiting:
            raise SimulationStalled(describe_stall(self._network, self._system, self._names, waiting))

    def phases_done(self, npus: Sequence[int], instances: Sequence[int], time_ps: int) -> None:
        """From the network: NPUs have finished phases of chunks, at one moment and in this order."""
        self._cohorts.phases_done(npus, instances, time_ps, self._system.phase_done)

    def phase_done(self, npu: int, instance: int, time_ps: int) -> None:
        """From the network: an NPU finished a phase of a chunk."""
        self._cohorts.phase_done(npu, instance, time_ps, self._system.phase_done)

    def close_journal(self) -> None:
        """Nothing more will happen: write down what NPUs are busy with, and hand all on."""
        if self._journal is not None:
            for account in self._accounts.values():
                account.write_down(self._network.now_ps())
            self._journal.hand_over()

    def _each_npu(self) -> Sequence[Member]:
        return [Member(npu, cohort) for npu, cohort in enumerate(self._npus)]

    def progress(self) -> tuple[int, int, int, int]:
        """How far NPU 0 is: passes done, passes, steps done in this pass, steps of a pass."""
        programs = self._programs
        done = programs.passes, 0
        passes_done, steps = (
            done if self._npus[0].done else self._accounts[0].position(programs.step_of, self._network.now_ps())
        )
        return passes_done, programs.passes, steps, programs.steps

    def computed_ps(self) -> int:
        """For how long NPU 0 has computed until now."""
        return Member(0, self._npus[0]).record(self._network.now_ps()).compute_ps

    @property
    def chain(self) -> Chain:
        """The longest chain of computations and waits, from the dry run before the first event, or of an NPU."""
        return self._chain if self._computations is None else max(self._computations.longest(), self._chain)

    def layers(self) -> tuple[LayerTimes, ...]:
        """The times of each layer on the reported NPU so far."""
        return self._layers_on(self._reported)

    def roles(self) -> tuple[RoleTimes, ...]:
        """The times of each layer so far, on the NPU that stands for each role."""
        now_ps = self._network.now_ps()
        return tuple(
            RoleTimes(self._role_of[npu].name, npu, self._layers_on(npu), self._accounts[npu].exposed_by_group(now_ps))
            for npu in self._observed
        )

    def _post_operation(self, npu: int, operation: Posting) -> Handle:
        if isinstance(operation, CollectiveRequest):
            return self._system.issue(npu, operation)
        if isinstance(operation, Access):
            request = operation.request(npu)
            if isinstance(operation, Store) and not self._checkpoints.is_due(operation, self._network.now_ps()):
                return Handle(npu, -1, request, self._network.now_ps(), done=True)
            if operation.remote:
                return self._system.storage.access_remotely(request, self._cohorts.handle_done_later)
            return self._system.storage.access(request, loads=isinstance(operation, Load))
        peer = peer_of(self._role_of[npu], operation, self._place_of[npu])
        tensor = operation.bytes, operation.tag, operation.label, operation.rendezvous, operation.group
        if isinstance(operation, Send):
            return self._system.messages.send(MessageRequest(npu, peer, *tensor))
        return self._system.messages.receive(MessageRequest(peer, npu, *tensor))

    def _handle_ended(self, handle: Handle, time_ps: int) -> None:
        """From the system: all chunks are done on an NPU; the layer's update comes before it counts as done."""
        layer = handle.request.label.layer
        is_update = isinstance(handle.request, CollectiveRequest)
        update_ps = self._updates_ps[layer] if is_update and isinstance(layer, int) else 0
        if update_ps:
            self._cohorts.handle_done_later(handle, update_ps)
        else:
            self._handle_done(handle, time_ps)

    def _handle_done(self, handle: Handle, time_ps: int) -> None:
        label = handle.request.label
        if label.layer == CHECKPOINT and label.part == STORE:
            self._checkpoints.stored(label.iteration, time_ps)
        self._cohorts.handle_done(handle, time_ps)

    def _post_all(self, npus: Sequence[int], turns: Sequence[int], operation: Posting) -> list[Handle]:
        if isinstance(operation, CollectiveRequest) and len(npus) > 1:
            return self._system.issue_all(npus, turns, operation)
        launches = self._system.launches
        handles = []
        for npu in npus:
            launches.place = turns[npu]
            handles.append(self._post_operation(npu, operation))
        return handles

    def _layers_on(self, npu: int) -> tuple[LayerTimes, ...]:
        return tuple(
            sums.times(self._names[layer] if isinstance(layer, int) else layer, self._programs.stands_with(layer))
            for layer, sums in self._accounts[npu].sums(self._network.now_ps()).items()
        )


def _observed(roles: Sequence[Role], role_of: Sequence[Role], report_npu: int) -> list[int]:
    """The NPU that stands for each role: the one reported, or the first that has it. Raises InputError."""
    of_npus("report-npu", report_npu, len(role_of))
    return [report_npu if role_of[report_npu] is role else role.ranks[0] for role in roles]


def _role_numbers(programs: RolePrograms) -> list[int] | None:
    """The number of each NPU's role, None for one role. Programs that react to time may differ on each NPU of a
    role."""
    if programs.reactive:
        return list(range(programs.grid.npus))
    return [role.number for role in programs.role_of] if len(programs.roles) > 1 else None
