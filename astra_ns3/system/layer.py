"""The system layer of all NPUs: cuts collectives in chunks and decides what each NPU starts next.

Each NPU goes on by itself: a chunk leaves a phase on an NPU when that NPU has finished it (with the option
``phase_barrier``, when all members have). NPUs of one role run the same program. A collective that several roles take
part in is held back on every NPU until each role has issued it on one. Until then nobody knows that the others will
come to it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import prod
from typing import Protocol

from astra_ns3.config.core.compatibility import OURS, Compatibility
from astra_ns3.config.system import SystemConfig
from astra_ns3.errors import refuse
from astra_ns3.network.api import NetworkBackend
from astra_ns3.network.records import LayerDetail
from astra_ns3.system.arrival_messages import ArrivalMessages
from astra_ns3.system.barrier import PhaseBarrier
from astra_ns3.system.communicator import Communicator
from astra_ns3.system.dimension_queue import DimensionQueue
from astra_ns3.system.groups import Grid
from astra_ns3.system.history import History
from astra_ns3.system.intra_dimension import join_rule
from astra_ns3.system.issuing import CollectiveMaker
from astra_ns3.system.journal import Journal
from astra_ns3.system.launch_buffer import LaunchBuffer
from astra_ns3.system.launch_order import LaunchOrder
from astra_ns3.system.launches import ScheduleNumbers
from astra_ns3.system.matching import Matching
from astra_ns3.system.messages import Messages
from astra_ns3.system.mismatched_collectives import MismatchedCollectives
from astra_ns3.system.observer import NpuObserver
from astra_ns3.system.request import CollectiveRequest, Handle, MessageRequest
from astra_ns3.system.start_jitter import StartJitter
from astra_ns3.system.storage import StorageAccesses
from astra_ns3.system.task import Collective, Task
from astra_ns3.units import PS_PER_NS


class ChunkWatcher(Protocol):
    """Hears of chunks of collectives, not of messages between two NPUs."""

    def started(self, npu: int, time_ps: int) -> None:
        """An NPU begins a phase of a chunk."""

    def finished(self, npu: int, time_ps: int) -> None:
        """It has done its part of the phase."""


def _messages_of(compatibility: Compatibility) -> Callable[..., Messages | ArrivalMessages]:
    """Return the maker of messages by the rules of a simulator."""
    by_arrival = partial(ArrivalMessages, late_receives_end_last=compatibility.late_receives_end_last)
    return by_arrival if compatibility.messages_by_arrival else Messages


class SystemLayer:
    """``dimensions``: NPUs along each, the one first in which neighbours' ranks differ by one; ``bandwidths``: of
    each, in any unit (None: not known). ``finished(handle, time_ps)`` is called when an NPU ends a collective or
    its end of a message. ``history``: what was issued; ``messages``: those between two NPUs; ``storage``: accesses to
    memory beyond the device; ``maker`` plans collectives, ahead of the run too. ``seed``: of the random delays before
    phases, where the system has any. ``roles``: the number of each NPU's role (None: all have the same). ``observed``:
    the NPUs whose details are kept; the first is the one reported. ``journal``: where chunks' phases on all NPUs are
    written down; ``watcher``: who hears of them (None: nobody)."""

    def __init__(
        self,
        network: NetworkBackend,
        config: SystemConfig,
        dimensions: Sequence[int],
        layer_names: Sequence[str],
        finished: Callable[[Handle, int], None],
        *,
        compatibility: Compatibility = OURS,
        bandwidths: Sequence[float] | None = None,
        seed: int = 1,
        roles: Sequence[int] | None = None,
        observed: Sequence[int] = (0,),
        journal: Journal | None = None,
        watcher: ChunkWatcher | None = None,
    ) -> None:
        refuse(
            prod(dimensions) != network.npus,
            f"dimensions {tuple(dimensions)} make {prod(dimensions)} NPUs, the network has {network.npus}",
        )
        self._network = network
        self._layer_names = list(layer_names)
        self._finished = finished
        self._journal = journal
        self._watcher = watcher
        self._roles = roles
        self._grid = Grid(tuple(dimensions), None if bandwidths is None else tuple(bandwidths))
        schedules = ScheduleNumbers(network)
        self.maker = CollectiveMaker(network, config, self._grid, compatibility, schedules, roles)
        self.history = History(self._layer_names)
        self.launches = LaunchBuffer(network)
        launch, history = self.launches.launch, self.history
        messages = _messages_of(compatibility)
        self.messages = messages(network, schedules, history, self._message_done, journal, launch=launch)
        self.storage = StorageAccesses(network, config, compatibility, schedules, history, finished, launch, journal)
        self._mismatched = MismatchedCollectives(self.maker) if compatibility.collectives_by_number_alone else None
        self._tolerates = None if self._mismatched is None else self._mismatched.tolerates
        self._one_order = not compatibility.every_npu_orders_its_chunks
        self._barrier = PhaseBarrier() if compatibility.phase_barrier else None
        self._matchings: dict[Communicator | None, Matching] = {}
        self._collectives: dict[int, Collective] = {}  # those that some member hasn't finished
        self._tasks: dict[int, Task] = {}  # by instance, of those
        self._slots = -(-config.active_chunks_per_dimension // config.num_queues_per_dimension)
        self._join = join_rule(config.intra_dimension_scheduling)
        self._queues: dict[int, dict[int, DimensionQueue]] = {}  # of each NPU, by the queue's number; made when used
        self._plays_nccl = config.plays_nccl
        self._jitter = StartJitter(config.start_jitter_ns * PS_PER_NS, seed) if config.start_jitter_ns else None
        self._observers = {npu: NpuObserver(npu, len(self._layer_names), len(dimensions)) for npu in observed}
        self._observer = self._observers[observed[0]]

    @property
    def plays_alike(self) -> bool:
        """Whether nothing is decided of each NPU by itself but of those that are observed; a journal only writes."""
        apart = self._mismatched, self._barrier, self._jitter
        return all(reason is None for reason in apart) and isinstance(self.messages, Messages)

    @property
    def sent_bytes(self) -> tuple[int, ...]:
        """Return what the reported NPU sent in each dimension, in phases that it finished."""
        return tuple(self._observer.sent_bytes)

    def busy(self) -> tuple[tuple[tuple[int, int], ...], ...]:
        """Intervals in which the reported NPU's queue of each dimension held a chunk."""
        return self._observer.busy(self._network.now_ps())

    def oldest_collective(self) -> tuple[str, int] | None:
        """Return the first issued collective of those that go on, in words, and its time; None if there is none."""
        for number in self._collectives:
            record = self.history.record(number)
            part = f" {record.label.part}" if record.label.part else ""
            return f"{record.kind.value} {number}, {record.layer}{part}", record.start_ps
        return None

    def busy_changes(self, since: Sequence[int]) -> tuple[tuple[int, tuple[tuple[int, int], ...]], ...]:
        """For each dimension, the intervals of :meth:`busy` from a place on; earlier ones haven't changed.

        ``since``: of each dimension, how many were there at an earlier call (empty: none).
        """
        return self._observer.busy_changes(since, self._network.now_ps())

    def details(self) -> tuple[LayerDetail, ...]:
        """Chunk times of the reported NPU, a row per layer."""
        return self._observer.details(self._layer_names)

    @property
    def hint_at_a_stall(self) -> str:
        """Return what a preset's rule has to do with a stall, to stand behind its description; else nothing."""
        if self._one_order:
            return ""
        return "; by --compat astra-sim-2 each NPU orders its chunks alone, which may deadlock: see --compat none"

    def issue(self, npu: int, request: CollectiveRequest) -> Handle:
        """Start a collective on one NPU; without data or partners its handle is done at once. Raises InputError."""
        now_ps = self._network.now_ps()
        collective = self._issued((npu,), request, now_ps)
        if not collective.first_tasks:
            return Handle(npu, -1, request, now_ps, done=True)
        handle = Handle(npu, collective.index, request, now_ps, done=False)
        collective.handles[npu] = handle
        if npu in self._observers:
            self._observers[npu].created(request.label.layer, len(collective.first_tasks))
        if collective.absent_roles:
            self._hold(collective, npu, now_ps)
        else:
            self._begin(collective, npu, now_ps)
        return handle

    def issue_all(self, npus: Sequence[int], turns: Sequence[int], request: CollectiveRequest) -> list[Handle]:
        """As :meth:`issue` on NPUs that are in step, of which none is observed, if it :attr:`plays_alike`.

        ``turns``: of each NPU, its place among what the network is handed.
        """
        now_ps = self._network.now_ps()
        collective = self._issued(npus, request, now_ps)
        first_tasks = collective.first_tasks
        if not first_tasks:
            return [Handle(npu, -1, request, now_ps, done=True) for npu in npus]
        index, launches, queues, watcher = collective.index, self.launches, self._queues, self._watcher
        made = [Handle(npu, index, request, now_ps, done=False) for npu in npus]
        handles = collective.handles
        for handle in made:
            handles[handle.npu] = handle
        if collective.absent_roles:
            for npu in npus:
                launches.place = turns[npu]
                if collective.absent_roles:
                    self._hold(collective, npu, now_ps)
                else:
                    self._begin(collective, npu, now_ps)
            return made
        for task in first_tasks:
            of_each, launch = queues[task.queue], task.launch
            instance, schedules, groups, bytes = task.instance, launch.schedules, launch.groups, launch.bytes
            for npu in npus:
                launches.place = turns[npu]
                if of_each[npu].starts_at_once(task):
                    if watcher is not None:
                        watcher.started(npu, now_ps)
                    launches.launch(npu, schedules[npu], groups[npu], instance, bytes)
                else:
                    of_each[npu].add(task)
                    self._fill(npu, task.queue, now_ps)
        return made

    def phase_done(self, npu: int, instance: int, time_ps: int) -> None:
        """``npu`` finished a phase of a chunk: on to its next one, and start what waited for the slot."""
        task = self._tasks.get(instance)
        if self._mismatched is not None:
            task = self._mismatched.task(npu, instance) or task
        if task is None:
            if not self.storage.phase_done(npu, instance, time_ps):
                self.messages.phase_done(npu, instance, time_ps)
        elif self._barrier is None:
            self._advance(npu, task, time_ps)
        else:
            for released in self._barrier.arrive(npu, instance, task.collective.members):
                self._advance(released, task, time_ps)

    def not_there_yet(self, handle: Handle) -> list[int]:
        """The NPUs that have not issued a collective, or not posted the other end of a message, that another has."""
        if isinstance(handle.request, MessageRequest):
            ends = {handle.request.source, handle.request.destination}
            return sorted(ends - {handle.npu}) if self.messages.lacks_its_other_end(handle) else []
        collective = self._collectives.get(handle.collective)
        if collective is None:
            return []
        communicator = collective.request.communicator
        members = range(self._network.npus) if communicator is None else communicator.ranks
        return [npu for npu in members if collective.handles[npu] is None]

    def running(self, npu: int) -> list[int]:
        """Instances that run on ``npu``, messages included, the earliest collective's first."""
        chunks = [task.instance for queue in self._queues_of(npu) for task in queue.running]
        return sorted(chunks + self.messages.running(npu) + self.storage.running(npu))

    def waiting(self, npu: int) -> list[int]:
        """Instances that wait on ``npu`` for a slot or their turn, the earliest collective's first."""
        return sorted(task.instance for queue in self._queues_of(npu) for task in queue.waiting)

    def next_in_order(self, npu: int) -> list[int]:
        """Instances that ``npu`` has to start before any other, at most one per queue."""
        return [task.instance for queue in self._queues_of(npu) if (task := queue.awaited()) is not None]

    def _queues_of(self, npu: int) -> list[DimensionQueue]:
        """Return an NPU's queues, in the order of their numbers."""
        return [self._queues[number][npu] for number in sorted(self._queues) if npu in self._queues[number]]

    def _issued(self, npus: Sequence[int], request: CollectiveRequest, now_ps: int) -> Collective:
        """The collective that each of these NPUs issues; without data or partners they have done it."""
        matching = self._matchings.get(request.communicator)
        if matching is None:
            matching = self._matchings[request.communicator] = Matching(request.communicator, self._network.npus)
        collective = matching.issued(npus, request, now_ps, self._create, self._tolerates)
        if not collective.first_tasks:
            collective.members_left -= len(npus)
            if not collective.members_left:
                self._forget(collective)
        return collective

    def _create(self, request: CollectiveRequest, now_ps: int) -> Collective:
        """The first NPU to issue a collective makes it for all."""
        collective = self.maker.make(self.history.next_number, request, now_ps)
        self.history.begin_collective(collective, now_ps)
        self._collectives[collective.index] = collective
        if self._journal is not None:
            self._journal.channels(collective.first_tasks)
        for task in collective.tasks():
            self._tasks[task.instance] = task
            if task.queue not in self._queues:
                order = LaunchOrder() if self._one_order else None
                self._queues[task.queue] = {
                    npu: DimensionQueue(npu, order, self._slots, self._join) for npu in self._queueing(request)
                }
        return collective

    def _queueing(self, request: CollectiveRequest) -> Sequence[int]:
        """Return the NPUs that use the queues of a collective: in NCCL these are its communicator's own."""
        own = None if self._mismatched is not None or not self._plays_nccl else request.communicator
        return range(self._network.npus) if own is None else own.ranks

    def _hold(self, collective: Collective, npu: int, now_ps: int) -> None:
        """Hold a collective back until each role has issued it; then it begins on all who have.

        In the order of their numbers, at the last of their places, so that it makes no difference who plays them.
        """
        assert self._roles is not None
        launches = self.launches
        collective.held.append(npu)
        collective.hold(launches.moment, launches.place)
        collective.absent_roles.discard(self._roles[npu])
        if collective.absent_roles:
            return
        launches.place = collective.place
        for held in sorted(collective.held):
            handle = collective.handles[held]
            assert handle is not None
            if held in self._observers:
                waited_ps = len(collective.first_tasks) * (now_ps - handle.issue_ps)
                self._observers[held].held(handle.request.label.layer, waited_ps)
            self._begin(collective, held, now_ps)
        collective.held.clear()

    def _begin(self, collective: Collective, npu: int, now_ps: int) -> None:
        own = None if self._mismatched is None else self._mismatched.of(npu, collective)
        for task in (own or collective).first_tasks:
            self._enter(npu, task, now_ps)

    def _advance(self, npu: int, task: Task, time_ps: int) -> None:
        """A chunk leaves a phase on ``npu``."""
        others_wait = self._queues[task.queue][npu].finish(task)
        if self._watcher is not None:
            self._watcher.finished(npu, time_ps)
        collective = task.collective
        if npu in self._observers:
            layer = collective.request.label.layer
            self._observers[npu].finished(task.instance, task.phase, layer, task.launch, time_ps)
        if self._journal is not None:
            self._journal.finished(npu, task.instance, task.launch.dimension, time_ps)
        following = task.following
        if following is not None and following.queue == task.queue:
            self._enter(npu, following, time_ps)
            return
        if following is not None:
            self._note_queued(npu, following, time_ps)
            self._queues[following.queue][npu].add(following)
        if others_wait:
            self._fill(npu, task.queue, time_ps)
        if following is not None:
            self._fill(npu, following.queue, time_ps)
            return
        collective.left[npu] -= 1
        if not collective.left[npu]:
            self._end(collective.stands_for or collective, npu, time_ps)

    def _enter(self, npu: int, task: Task, now_ps: int) -> None:
        """A chunk comes to a queue, and starts there if it may."""
        queue = self._queues[task.queue][npu]
        if npu in self._observers or self._journal is not None:
            self._note_queued(npu, task, now_ps)
        if queue.starts_at_once(task):
            self._start(npu, task, now_ps)
        else:
            queue.add(task)
            self._fill(npu, task.queue, now_ps)

    def _note_queued(self, npu: int, task: Task, now_ps: int) -> None:
        if npu in self._observers:
            self._observers[npu].entered(task.instance, task.launch.dimension, now_ps)
        if self._journal is not None:
            self._journal.queued(npu, task.instance, now_ps)

    def _fill(self, npu: int, queue_number: int, now_ps: int) -> None:
        """Start chunks while there are free slots and chunks that may start."""
        queue = self._queues[queue_number][npu]
        while (task := queue.start_next()) is not None:
            self._start(npu, task, now_ps)

    def _start(self, npu: int, task: Task, now_ps: int) -> None:
        if npu in self._observers:
            self._observers[npu].started(task.instance, now_ps)
        if self._journal is not None:
            self._journal.started(npu, task.instance, now_ps)
        if self._watcher is not None:
            self._watcher.started(npu, now_ps)
        launch = task.launch
        what = npu, launch.schedules[npu], launch.groups[npu], task.instance, launch.bytes
        if self._jitter is None:
            self.launches.launch(*what)
        else:
            delay_ps = self._jitter.delay_ps(npu, task.instance)
            self._network.call_later(npu, delay_ps, lambda _: self.launches.launch(*what))

    def _end(self, collective: Collective, npu: int, time_ps: int) -> None:
        """``npu`` has finished all chunks of a collective."""
        handle = collective.handles[npu]
        assert handle is not None
        handle.end_ps = time_ps
        if collective.members_left == 1:
            self.history.end(collective.index, time_ps, collective.groups_ps())
            for task in collective.tasks():
                del self._tasks[task.instance]
            if self._mismatched is not None:
                self._mismatched.forget(collective)
        collective.members_left -= 1
        if not collective.members_left:
            self._forget(collective)
        self._finished(handle, time_ps)

    def _forget(self, collective: Collective) -> None:
        """No member has anything to do with a collective any more."""
        del self._collectives[collective.index]
        collective.first_tasks = []  # which name it in turn: only a search for garbage would find them
        self._matchings[collective.request.communicator].forget(collective)

    def _message_done(self, handle: Handle, time_ps: int) -> None:
        request = handle.request
        if handle.npu in self._observers and isinstance(request, MessageRequest) and handle.npu == request.source:
            dimension = self._grid.highest_difference(request.source, request.destination)
            self._observers[handle.npu].sent_bytes[dimension] += request.bytes
        self._finished(handle, time_ps)
