"""The training of a model that is given by its numbers, as a job."""

from __future__ import annotations

from math import prod

from astra_ns3.config.core.plain import JsonObject
from astra_ns3.config.model.offload import Interval
from astra_ns3.config.training_plan import TrainingPlan
from astra_ns3.experiments.device import left_to_nccl
from astra_ns3.experiments.forecasting.foreseen import Foreseen
from astra_ns3.experiments.jobs.job import Headline, Platform, ProgramsJob
from astra_ns3.experiments.scaling import told_apart
from astra_ns3.frozen import dataclass, field, replace
from astra_ns3.playing.training.making import training_programs
from astra_ns3.playing.training.training_programs import TrainingPrograms
from astra_ns3.workload.experts.skew import expert_skew
from astra_ns3.workload.memory.peaks import memory_of, memory_warnings
from astra_ns3.workload.memory.stage import StageMemory
from astra_ns3.workload.models.work import iteration_work
from astra_ns3.workload.models.workload import ModelWorkload


@dataclass(frozen=True)
class ModelJob(ProgramsJob):
    """See :class:`~astra_ns3.experiments.jobs.job.Job`."""

    workload: ModelWorkload
    first_pass: int = 0
    """The first iteration; a checkpoint has those before."""
    _plans: dict[int, TrainingPlan] = field(default_factory=dict, compare=False, repr=False)
    _memory: dict[int, tuple[StageMemory, ...]] = field(default_factory=dict, compare=False, repr=False)

    def headline(self) -> Headline:
        """The kind of model and how its micro-batches go through it."""
        return Headline(self.workload.loop, self.workload.totals().layers)

    def scaled(self, comm_scale: float, compute_scale: float) -> ModelJob:
        """Sizes of what is exchanged and times of computations multiplied; memory stays."""
        return ModelJob(self.workload.scaled(comm_scale, compute_scale))

    def scaled_apart(self, comm_scale: float, compute_scale: float) -> list[str]:
        """A warning, if one of the two hides the other no more as it did."""
        return told_apart(self.source, comm_scale, compute_scale)

    def warnings(self, platform: Platform) -> list[str]:
        """How the model is cut where that isn't even, and stages that need more memory than NPUs have."""
        return [
            *self.workload.warnings(prod(platform.dimensions)),
            *memory_warnings(self._plan(platform), self._memory_of(platform)),
        ]

    def foreseen(self, platform: Platform) -> Foreseen:
        """The memory of each stage, how experts are chosen, and the work of an iteration."""
        plan = self._plan(platform)
        # Scaled, the model is another: a second of it gets nothing of this one done.
        scaled = (self.workload.comm_scale, self.workload.compute_scale) != (1, 1)
        work = None if scaled else iteration_work(self.workload, plan)
        compute = self.workload.file.compute
        return Foreseen(
            self._memory_of(platform),
            plan.memory_bytes,
            expert_skew(plan),
            work,
            compute.losses._replace(scale_up_efficiency=platform.inside_share),
            left_to_nccl(compute, platform.system),
        )

    def document(self) -> JsonObject:
        """The model's file, and what it amounts to."""
        return self.workload.document()

    def programs(self, platform: Platform, passes: int) -> TrainingPrograms:
        """Return the programs of all stages, on the network's NPUs; raises InputError if the degrees don't fit."""
        programs = training_programs(self._plan(platform), self.workload.clock(), passes, platform.dimensions)
        return programs.resumed(self.first_pass)

    def unsure(self, platform: Platform) -> tuple[list[str], list[str]]:
        """Return that checkpoints after a time aren't counted."""
        checkpoint = self.workload.file.checkpoint
        timed = checkpoint is not None and isinstance(checkpoint.every, Interval)
        return [f"checkpoints of {self.source}, which come after a time"] * timed, []

    def tried_again(self, passes: int) -> tuple[ModelJob, int]:
        """Load a checkpoint and do the iterations since it again; all of them where there is none.

        Of checkpoints after a time nobody knows how many iterations were lost: one counts.
        """
        checkpoint = self.workload.file.checkpoint
        every = 0 if checkpoint is None else checkpoint.every if isinstance(checkpoint.every, int) else 1
        if not 0 < every < passes:
            return self, passes
        return replace(self, first_pass=every), min(passes, 2 * every)

    def _plan(self, platform: Platform) -> TrainingPlan:
        """Worked out once."""
        npus = prod(platform.dimensions)
        if npus not in self._plans:
            self._plans[npus] = self.workload.plan(npus)
        return self._plans[npus]

    def _memory_of(self, platform: Platform) -> tuple[StageMemory, ...]:
        """Worked out once."""
        npus = prod(platform.dimensions)
        if npus not in self._memory:
            self._memory[npus] = memory_of(self._plan(platform))
        return self._memory[npus]
