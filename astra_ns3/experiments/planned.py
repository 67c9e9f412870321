"""Which collectives a workload will issue, and which schedules their chunks will go through: no network needed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from astra_ns3.collectives.registry import lookup, variants
from astra_ns3.collectives.schedule import Schedule
from astra_ns3.config.collective_kind import CollectiveKind
from astra_ns3.config.system import SystemConfig
from astra_ns3.config.workload import Workload
from astra_ns3.system.chunking import chunk_sizes
from astra_ns3.system.planner import plan
from astra_ns3.workload.dry_run import collective_requests


def planned_collectives(workload: Workload, passes: int) -> Mapping[tuple[CollectiveKind, int], int]:
    """How often each NPU issues a collective of each (kind, bytes per NPU)."""
    return Counter((request.kind, request.bytes) for request in collective_requests(workload, passes))


def planned_phases(
    kind: CollectiveKind, bytes_per_npu: int, dimensions: Sequence[int], system: SystemConfig
) -> Mapping[tuple[Schedule, int], int]:
    """How many phases of the chunks of one collective play each (schedule, bytes per rank).

    Raises InputError for what the system's algorithm can't do.
    """
    found: Counter[tuple[Schedule, int]] = Counter()
    for chunk, size in enumerate(chunk_sizes(bytes_per_npu, system.preferred_dataset_splits)):
        for phase in plan(kind, size, dimensions, system):
            variant = chunk % variants(phase.kind, phase.algorithm)
            schedule = lookup(phase.kind, phase.algorithm, dimensions[phase.dimension], variant)
            found[schedule, phase.bytes] += 1
    return found
