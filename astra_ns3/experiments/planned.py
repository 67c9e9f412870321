"""Which collectives a workload will issue, and which schedules their chunks will go through: no network needed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from astra_ns3.collectives.schedule import Schedule
from astra_ns3.config.compatibility import Compatibility
from astra_ns3.config.system import SystemConfig
from astra_ns3.config.workload import Workload
from astra_ns3.system.groups import Grid
from astra_ns3.system.launches import schedule_of
from astra_ns3.system.plan import CollectivePlanner
from astra_ns3.system.request import CollectiveRequest
from astra_ns3.workload.dry_run import collective_requests
from astra_ns3.workload.parallelism import parallelism_of


@dataclass(frozen=True)
class PlannedPlay:
    """A schedule that every group over some dimensions plays ``count`` times on ``bytes`` per rank."""

    schedule: Schedule
    bytes: int
    groups: tuple[tuple[int, ...], ...]
    count: int


@dataclass(frozen=True)
class PlannedRun:
    """What a run will play; ``collectives`` counts those with something to do."""

    collectives: int
    plays: tuple[PlannedPlay, ...]


def planned_run(
    workload: Workload,
    system: SystemConfig,
    dimensions: Sequence[int],
    bandwidths: Sequence[float] | None,
    compatibility: Compatibility,
    passes: int,
) -> PlannedRun:
    """Everything that ``passes`` passes play; raises InputError for what the system's algorithms can't do.

    Where trees or queues take turns, the turn of a collective's first appearance stands for all.
    """
    parallelism = parallelism_of(workload, dimensions)
    config = system if parallelism.cut is None else system.for_dimensions(parallelism.cut)
    grid = Grid(parallelism.dimensions, None if bandwidths is None else parallelism.of_each(bandwidths))
    planner = CollectivePlanner(config, grid, compatibility)
    collectives = 0
    plays: Counter[tuple[Schedule, int, tuple[int, ...]]] = Counter()
    for request, count in _alike(collective_requests(workload, passes, dimensions=parallelism.dimensions)):
        chunks = planner.chunks(request, time_ps=0)
        collectives += count if chunks else 0
        for planned in (planned for chunk in chunks for planned in chunk):
            phase = planned.phase
            ranks = grid.ranks_in(phase.dimensions)
            schedule = schedule_of(phase, ranks, planned.turn, anticlockwise=planned.anticlockwise)
            plays[schedule, phase.bytes, tuple(phase.dimensions)] += count
    groups = {dims: tuple(map(tuple, grid.cosets(dims))) for _, _, dims in plays}
    return PlannedRun(
        collectives,
        tuple(PlannedPlay(schedule, size, groups[dims], count) for (schedule, size, dims), count in plays.items()),
    )


def _alike(requests: Sequence[CollectiveRequest]) -> Iterator[tuple[CollectiveRequest, int]]:
    """Each kind of request once, with how often it is made."""
    counts: Counter[tuple[object, ...]] = Counter()
    first: dict[tuple[object, ...], CollectiveRequest] = {}
    for request in requests:
        key = request.kind, request.bytes, request.dimensions
        counts[key] += 1
        first.setdefault(key, request)
    return ((request, counts[key]) for key, request in first.items())
