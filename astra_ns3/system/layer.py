"""The system layer of all NPUs: cuts collectives in chunks and decides what each NPU starts next.

Each NPU goes on by itself: a chunk leaves a phase on an NPU when that NPU has finished it (with the option
``phase_barrier``, when all have). All NPUs run the same program, so the k-th collective of one is the k-th of all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from math import prod

from astra_ns3.config.compatibility import OURS, Compatibility
from astra_ns3.config.system import SystemConfig
from astra_ns3.errors import InputError
from astra_ns3.network.api import NetworkBackend
from astra_ns3.network.instance import MOST_CHUNKS
from astra_ns3.network.records import CollectiveRecord, LayerDetail
from astra_ns3.system.barrier import PhaseBarrier
from astra_ns3.system.groups import Grid
from astra_ns3.system.intra_dimension import join_rule
from astra_ns3.system.issuing import CollectiveMaker
from astra_ns3.system.launch_order import LaunchOrder
from astra_ns3.system.npu import DimensionQueue
from astra_ns3.system.observer import NpuObserver
from astra_ns3.system.request import CollectiveRequest, Handle
from astra_ns3.system.start_jitter import StartJitter
from astra_ns3.system.task import Collective, Task
from astra_ns3.units import PS_PER_NS

OBSERVED_RANK = 0


class SystemLayer:
    """``dimensions``: NPUs along each, the one first in which neighbours' ranks differ by one; ``bandwidths``: of each,
    in any unit (None: not known). ``finished(handle, time_ps)`` is called when a rank ends a collective. ``seed``: of
    the random delays before phases, where the system has any."""

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
    ) -> None:
        _check(network, config, dimensions)
        self._network = network
        self._layer_names = list(layer_names)
        self._finished = finished
        grid = Grid(tuple(dimensions), None if bandwidths is None else tuple(bandwidths))
        self._maker = CollectiveMaker(network, config, grid, compatibility)
        self._barrier = PhaseBarrier(network.ranks) if compatibility.phase_barrier else None
        self._issued = [0] * network.ranks
        self._collectives: dict[int, Collective] = {}
        self._tasks: dict[int, Task] = {}  # by instance, of the collectives that some NPU hasn't finished
        self._records: list[CollectiveRecord | None] = []
        self._changes: list[int] = []  # index of a collective each time its record was made or changed
        self._slots = -(-config.active_chunks_per_dimension // config.num_queues_per_dimension)
        self._join = join_rule(config.intra_dimension_scheduling)
        self._queues: dict[int, list[DimensionQueue]] = {}  # of each NPU, by the queue's number, made when first used
        self._jitter = StartJitter(config.start_jitter_ns * PS_PER_NS, seed) if config.start_jitter_ns else None
        self._observer = NpuObserver(len(self._layer_names), len(dimensions))

    @property
    def sent_bytes(self) -> tuple[int, ...]:
        """What NPU 0 sent in each dimension, in phases that it finished."""
        return tuple(self._observer.sent_bytes)

    def busy(self) -> tuple[tuple[tuple[int, int], ...], ...]:
        """Intervals in which NPU 0's queue of each dimension held a chunk."""
        return self._observer.busy(self._network.now_ps())

    def collectives(self) -> tuple[CollectiveRecord, ...]:
        """Every collective issued so far, in program order; those with nothing to do are left out."""
        return tuple(record for record in self._records if record is not None)

    def collective_changes(self, since: int) -> tuple[int, list[CollectiveRecord]]:
        """Records made or changed since an earlier call returned ``since`` (0: all), and the number to give next."""
        changed = dict.fromkeys(self._changes[since:])
        records = (self._records[index] for index in changed)
        return len(self._changes), [record for record in records if record is not None]

    def busy_changes(self, since: Sequence[int]) -> tuple[tuple[int, tuple[tuple[int, int], ...]], ...]:
        """Of each dimension the intervals of :meth:`busy` from a place on; those before it haven't changed.

        ``since``: of each dimension, how many were there at an earlier call (empty: none).
        """
        return self._observer.busy_changes(since, self._network.now_ps())

    def layer_name(self, collective: int) -> str:
        """The layer of a collective that some NPU hasn't finished."""
        return self._layer_names[self._collectives[collective].request.layer]

    def details(self) -> tuple[LayerDetail, ...]:
        """Chunk times of NPU 0, a row per layer."""
        return self._observer.details(self._layer_names)

    def prepare(self, request: CollectiveRequest) -> None:
        """Plan a collective ahead of the run; raises InputError if the system's algorithm can't do it."""
        self._maker.prepare(request)

    def issue(self, rank: int, request: CollectiveRequest) -> Handle:
        """Start a collective on one NPU; without data or partners its handle is done at once."""
        now_ps = self._network.now_ps()
        index = self._issued[rank]
        self._issued[rank] += 1
        if index == len(self._records):
            self._create(index, request, now_ps)
        collective = self._collectives.get(index)
        if collective is None:
            return Handle(rank, -1, request, now_ps, done=True)
        handle = Handle(rank, index, request, now_ps, done=False)
        collective.handles[rank] = handle
        if rank == OBSERVED_RANK:
            self._observer.created(request.layer, len(collective.first_tasks))
        for task in collective.first_tasks:
            self._enter(rank, task, now_ps)
            self._fill(rank, task.queue, now_ps)
        return handle

    def phase_done(self, rank: int, instance: int, time_ps: int) -> None:
        """``rank`` finished a phase of a chunk: on to its next one, and start what waited for the slot."""
        task = self._tasks[instance]
        if self._barrier is None:
            self._advance(rank, task, time_ps)
            return
        for released in self._barrier.arrive(rank, instance):
            self._advance(released, task, time_ps)

    def running(self, rank: int) -> list[int]:
        """Instances that run on ``rank``, the earliest collective's first."""
        return sorted(task.instance for queues in self._queues.values() for task in queues[rank].running)

    def waiting(self, rank: int) -> list[int]:
        """Instances that wait on ``rank`` for a slot or their turn, the earliest collective's first."""
        return sorted(task.instance for queues in self._queues.values() for task in queues[rank].waiting)

    def next_in_order(self, rank: int) -> list[int]:
        """Instances that ``rank`` has to start before any other, at most one per queue."""
        queues = [self._queues[number][rank] for number in sorted(self._queues)]
        return [task.instance for queue in queues if (task := queue.awaited()) is not None]

    def _create(self, index: int, request: CollectiveRequest, now_ps: int) -> None:
        """The first NPU to issue a collective makes it for all."""
        collective = self._maker.make(index, request, now_ps)
        if collective is None:
            self._records.append(None)
            return
        self._changes.append(index)
        self._records.append(
            CollectiveRecord(
                index=index,
                layer=self._layer_names[request.layer],
                pass_number=request.pass_number,
                phase=request.pass_kind,
                kind=request.kind,
                algorithm=collective.algorithm,
                bytes=request.bytes,
                ranks=collective.group_ranks,
                chunks=len(collective.first_tasks),
                start_ps=now_ps,
            )
        )
        self._collectives[index] = collective
        for task in collective.tasks():
            self._tasks[task.instance] = task
            if task.queue not in self._queues:
                self._queues[task.queue] = self._new_queues()

    def _new_queues(self) -> list[DimensionQueue]:
        """A queue of a dimension as each NPU holds it."""
        order = LaunchOrder(self._network.ranks)
        return [DimensionQueue(order, self._slots, self._join) for _ in range(self._network.ranks)]

    def _advance(self, rank: int, task: Task, time_ps: int) -> None:
        """A chunk leaves a phase on ``rank``."""
        self._queues[task.queue][rank].finish(task)
        collective = task.collective
        if rank == OBSERVED_RANK:
            self._observer.finished(task.instance, task.phase, collective.request.layer, task.launch, time_ps)
        following = task.following
        if following is not None:
            self._enter(rank, following, time_ps)
            self._fill(rank, task.queue, time_ps)
            if following.queue != task.queue:
                self._fill(rank, following.queue, time_ps)
            return
        self._fill(rank, task.queue, time_ps)
        collective.left[rank] -= 1
        if not collective.left[rank]:
            self._end(collective, rank, time_ps)

    def _enter(self, rank: int, task: Task, now_ps: int) -> None:
        self._queues[task.queue][rank].add(task)
        if rank == OBSERVED_RANK:
            self._observer.entered(task.instance, task.launch.dimension, now_ps)

    def _fill(self, rank: int, queue_number: int, now_ps: int) -> None:
        """Start chunks while there are free slots and chunks that may start."""
        queue = self._queues[queue_number][rank]
        while (task := queue.start_next()) is not None:
            if rank == OBSERVED_RANK:
                self._observer.started(task.instance, now_ps)
            if self._jitter is None:
                self._launch(rank, task)
            else:
                delay_ps = self._jitter.delay_ps(rank, task.instance)
                self._network.call_later(rank, delay_ps, partial(self._launch, rank, task))

    def _launch(self, rank: int, task: Task, _time_ps: int | None = None) -> None:
        launch = task.launch
        self._network.launch(rank, launch.schedule, launch.groups[rank], task.instance, launch.bytes)

    def _end(self, collective: Collective, rank: int, time_ps: int) -> None:
        """``rank`` has finished all chunks of a collective."""
        collective.ranks_left -= 1
        if not collective.ranks_left:
            index = collective.index
            record = self._records[index]
            assert record is not None
            self._records[index] = replace(record, end_ps=time_ps)
            self._changes.append(index)
            del self._collectives[index]
            for task in collective.tasks():
                del self._tasks[task.instance]
        handle = collective.handles[rank]
        assert handle is not None
        self._finished(handle, time_ps)


def _check(network: NetworkBackend, config: SystemConfig, dimensions: Sequence[int]) -> None:
    """Raise InputError for what can't be run at all."""
    if prod(dimensions) != network.ranks:
        raise InputError(
            f"dimensions {tuple(dimensions)} make {prod(dimensions)} NPUs, the network has {network.ranks}"
        )
    splits = config.preferred_dataset_splits
    if splits > MOST_CHUNKS:
        raise InputError(f"key 'preferred-dataset-splits': found {splits}, expected at most {MOST_CHUNKS}")
