"""The system layer of all NPUs: cuts collectives in chunks and decides what each NPU starts next.

Each NPU goes on by itself: a chunk leaves a phase on an NPU when that NPU has finished it (ASTRA-sim 1.0 waits there
for all NPUs). All NPUs run the same program, so the k-th collective of one is the k-th of all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import prod

from astra_ns3.config.system import SystemConfig
from astra_ns3.errors import InputError
from astra_ns3.network.api import NetworkBackend
from astra_ns3.network.instance import MOST_CHUNKS, pack_instance, unpack_instance
from astra_ns3.network.records import CollectiveRecord, LayerDetail
from astra_ns3.system.collective import Collective
from astra_ns3.system.launch_order import LaunchOrder
from astra_ns3.system.launches import LaunchTable
from astra_ns3.system.npu import DimensionQueue
from astra_ns3.system.observer import NpuObserver
from astra_ns3.system.planner import algorithms_of
from astra_ns3.system.policies import POLICIES
from astra_ns3.system.request import CollectiveRequest, Handle

OBSERVED_RANK = 0


class SystemLayer:
    """``dimensions``: NPUs along each; ``finished(handle, time_ps)`` is called when a rank ends a collective."""

    def __init__(
        self,
        network: NetworkBackend,
        config: SystemConfig,
        dimensions: Sequence[int],
        layer_names: Sequence[str],
        finished: Callable[[Handle, int], None],
    ) -> None:
        config.check_dimensions(len(dimensions))
        if prod(dimensions) != network.ranks:
            raise InputError(
                f"dimensions {tuple(dimensions)} make {prod(dimensions)} NPUs, the network has {network.ranks}"
            )
        splits = config.preferred_dataset_splits
        if splits > MOST_CHUNKS:
            raise InputError(f"key 'preferred-dataset-splits': found {splits}, expected at most {MOST_CHUNKS}")
        self._network = network
        self._config = config
        self._layer_names = list(layer_names)
        self._finished = finished
        self._table = LaunchTable(network, config, dimensions)
        self._counter = 0
        self._issued = [0] * network.ranks
        self._collectives: dict[int, Collective] = {}
        self._records: list[CollectiveRecord | None] = []
        orders = [LaunchOrder() for _ in dimensions]
        slots = config.active_chunks_per_dimension
        self._queues = [[DimensionQueue(order, slots) for order in orders] for _ in range(network.ranks)]
        self._observer = NpuObserver(len(self._layer_names), len(orders))

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

    def layer_name(self, collective: int) -> str:
        """The layer of a collective that some NPU hasn't finished."""
        return self._layer_names[self._collectives[collective].layer]

    def details(self) -> tuple[LayerDetail, ...]:
        """Chunk times of NPU 0, a row per layer."""
        return self._observer.details(self._layer_names)

    def prepare(self, request: CollectiveRequest) -> None:
        """Plan a collective ahead of the run; raises InputError if the system's algorithm can't do it."""
        self._table.chunks(request.kind, request.bytes)

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
            self._observer.created(request.layer, len(collective.chunks))
        for chunk, launches in enumerate(collective.chunks):
            self._enter(rank, pack_instance(index, chunk, 0), launches[0].dimension, collective.priority, now_ps)
        for dimension in range(len(self._queues[rank])):
            self._fill(rank, dimension, now_ps)
        return handle

    def phase_done(self, rank: int, instance: int, time_ps: int) -> None:
        """``rank`` finished a phase of a chunk: on to its next one, and start what waited for the slot."""
        index, chunk, phase = unpack_instance(instance)
        collective = self._collectives[index]
        launches = collective.chunks[chunk]
        launch = launches[phase]
        self._queues[rank][launch.dimension].finish(instance)
        if rank == OBSERVED_RANK:
            self._observer.finished(instance, phase, collective.layer, launch, time_ps)
        if phase + 1 < len(launches):
            following = launches[phase + 1].dimension
            self._enter(rank, instance + 1, following, collective.priority, time_ps)
            self._fill(rank, launch.dimension, time_ps)
            self._fill(rank, following, time_ps)
            return
        self._fill(rank, launch.dimension, time_ps)
        collective.left[rank] -= 1
        if not collective.left[rank]:
            self._end(index, collective, rank, time_ps)

    def running(self, rank: int) -> list[int]:
        """Instances that run on ``rank``, the earliest collective's first."""
        return sorted(instance for queue in self._queues[rank] for instance in queue.running)

    def waiting(self, rank: int) -> list[int]:
        """Instances that wait on ``rank`` for a slot or their turn, the earliest collective's first."""
        return sorted(instance for queue in self._queues[rank] for instance in queue.waiting)

    def next_in_order(self, rank: int) -> list[int]:
        """Instances that ``rank`` has to start before any other, at most one per dimension."""
        return [instance for queue in self._queues[rank] if (instance := queue.awaited()) is not None]

    def _create(self, index: int, request: CollectiveRequest, now_ps: int) -> None:
        """The first NPU to issue a collective makes it for all."""
        policy = request.policy or self._config.scheduling_policy
        priority, self._counter = POLICIES[policy](self._counter)
        chunks = self._table.chunks(request.kind, request.bytes)
        if not chunks:
            self._records.append(None)
            return
        ranks = self._network.ranks
        algorithms = algorithms_of(request.kind, self._config)
        self._records.append(
            CollectiveRecord(
                index=index,
                layer=self._layer_names[request.layer],
                pass_number=request.pass_number,
                phase=request.pass_kind,
                kind=request.kind,
                algorithm="_".join(algorithms[launch.dimension] for launch in chunks[0]),
                bytes=request.bytes,
                ranks=ranks,
                chunks=len(chunks),
                start_ps=now_ps,
            )
        )
        self._collectives[index] = Collective(
            request.layer, priority, chunks, [len(chunks)] * ranks, [None] * ranks, ranks_left=ranks
        )

    def _enter(self, rank: int, instance: int, dimension: int, priority: int, now_ps: int) -> None:
        self._queues[rank][dimension].add(instance, priority)
        if rank == OBSERVED_RANK:
            self._observer.entered(instance, dimension, now_ps)

    def _fill(self, rank: int, dimension: int, now_ps: int) -> None:
        """Start chunks while there are free slots and chunks that may start."""
        queue = self._queues[rank][dimension]
        while (instance := queue.start_next()) is not None:
            index, chunk, phase = unpack_instance(instance)
            launch = self._collectives[index].chunks[chunk][phase]
            if rank == OBSERVED_RANK:
                self._observer.started(instance, now_ps)
            self._network.launch(rank, launch.schedule, self._table.group(rank, dimension), instance, launch.bytes)

    def _end(self, index: int, collective: Collective, rank: int, time_ps: int) -> None:
        """``rank`` has finished all chunks of a collective."""
        collective.ranks_left -= 1
        if not collective.ranks_left:
            record = self._records[index]
            assert record is not None
            self._records[index] = replace(record, end_ps=time_ps)
            del self._collectives[index]
        handle = collective.handles[rank]
        assert handle is not None
        self._finished(handle, time_ps)
