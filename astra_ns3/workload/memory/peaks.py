"""Where the memory of each stage is fullest, and whether an NPU has as much."""

from __future__ import annotations

from collections.abc import Sequence

from astra_ns3.config.training_plan import TrainingPlan
from astra_ns3.units import format_bytes
from astra_ns3.workload.memory.stage import Moment, StageMemory, server_memory, stage_memory
from astra_ns3.workload.training.schedules import WorkKind

_WORDS = {
    WorkKind.FORWARD: "forward",
    WorkKind.BACKWARD: "backward",
    WorkKind.INPUT: "input gradient",
    WorkKind.WEIGHT: "weight gradient",
}


def memory_of(plan: TrainingPlan) -> tuple[StageMemory, ...]:
    """The memory of each stage, then of parameter servers; raises InputError if the schedule doesn't fit."""
    stages = tuple(stage_memory(plan, stage) for stage in range(plan.degrees.pipeline))
    return (*stages, server_memory(plan)) if plan.servers else stages


def moment_words(moment: Moment) -> str:
    """When that is, for a person."""
    if moment.work is None:
        return "the update"
    return f"{_WORDS[moment.work.kind]} of micro-batch {moment.work.micro_batch}, {moment.block}"


def memory_warnings(plan: TrainingPlan, memory: Sequence[StageMemory] | None = None) -> list[str]:
    """A line if a stage needs more than an NPU has: of the worst, and how many others do; none if that isn't known.

    ``memory``: of each stage (None: worked out here).
    """
    capacity = plan.memory_bytes
    if capacity is None:
        return []
    over = [stage for stage in memory or memory_of(plan) if stage.peak.usage.total_bytes > capacity]
    if not over:
        return []
    worst = max(over, key=lambda stage: stage.peak.usage.total_bytes)
    usage, others = worst.peak.usage, len(over) - 1
    more = f"; so do{'es' if others == 1 else ''} {others} other stage{'s' if others > 1 else ''}" if others else ""
    where = "each of the servers" if worst.stage is None else f"stage {worst.stage}"
    largest = f"{format_bytes(getattr(usage, usage.largest()))} for {usage.largest()}"
    return [
        f"{plan.source}: {where} needs {format_bytes(usage.total_bytes)} of memory, more than the "
        f"{format_bytes(capacity)} of an NPU, of it {largest} ({moment_words(worst.peak)}){more}"
    ]
