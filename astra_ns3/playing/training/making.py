"""From a plan to the programs of all its NPUs."""

from __future__ import annotations

from collections.abc import Sequence

from astra_ns3.config.training_plan import TrainingPlan
from astra_ns3.playing.training.servers import ServedPrograms
from astra_ns3.playing.training.training_programs import TrainingPrograms
from astra_ns3.workload.computing.clock import Clock


def training_programs(plan: TrainingPlan, clock: Clock, passes: int, dimensions: Sequence[int]) -> TrainingPrograms:
    """The programs of ``passes`` iterations on a network of so many NPUs along each dimension; raises InputError."""
    kind = ServedPrograms if plan.servers else TrainingPrograms
    return kind.of(plan, clock, passes, dimensions)
