"""The programs of a model's training: a role for each stage of its pipeline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

from astra_ns3.config.training_plan import TrainingPlan
from astra_ns3.config.workload import PassKind
from astra_ns3.frozen import dataclass, replace
from astra_ns3.network.records import PIPELINE, TAIL, Label
from astra_ns3.playing.programs.operations import LOAD, STORE, Program
from astra_ns3.playing.programs.role_programs import RolePrograms
from astra_ns3.playing.programs.roles import Role
from astra_ns3.playing.training.places import Places
from astra_ns3.playing.training.sharding import PooledShards, Shards
from astra_ns3.playing.training.stage_run import ACTIVATION, AGAIN, GRADIENT, UPDATE, WEIGHTS, StageRun
from astra_ns3.playing.training.stage_script import StageScript
from astra_ns3.playing.training.step_maker import StepMaker
from astra_ns3.workload.computing.clock import Clock, KeepingClock
from astra_ns3.workload.grids.grid_cut import GridCut
from astra_ns3.workload.training.scaling import scaled_plan
from astra_ns3.workload.training.schedules import WorkKind


@dataclass(frozen=True, eq=False)
class TrainingPrograms(RolePrograms):
    """``passes`` iterations of a plan whose operations take what ``clock`` says; ``dimensions``: the network's.

    ``first_pass``: how many of the iterations a checkpoint has.

    Raises InputError, when they are made, if the plan doesn't fit.
    """

    plan: TrainingPlan
    clock: Clock
    passes: int
    dimensions: tuple[int, ...]
    first_pass: int = 0

    @classmethod
    def of(cls, plan: TrainingPlan, clock: Clock, passes: int, dimensions: Sequence[int]) -> TrainingPrograms:
        """The programs on a network of so many NPUs along each dimension."""
        programs = cls(plan, clock, passes, tuple(dimensions))
        assert programs.scripts
        return programs

    @property
    def source(self) -> str:
        """The model's file."""
        return self.plan.source

    @cached_property
    def layer_names(self) -> tuple[str, ...]:
        """Names of the model's blocks."""
        return tuple(block.name for chunk in self.plan.chunks for block in chunk)

    @property
    def steps(self) -> int:
        """Each block's passes on the first stage, one for each micro-batch."""
        return sum(len(self.scripts[0].chunks[planned.work.chunk]) for planned in self.scripts[0].order)

    def step_of(self, label: Label) -> int:
        """How many passes of blocks come before; all before the update."""
        return self._steps.get((label.layer, label.part, label.micro_batch), self.steps)

    def stands_with(self, layer: int | str) -> Mapping[str, PassKind]:
        """Messages between stages with the pass that they belong to; what is sent of weights with their gradients."""
        return _MESSAGES if layer == PIPELINE else _OF_BLOCKS

    @property
    def played_passes(self) -> int:
        """The passes until two checkpoints are stored. The second one stands for all others."""
        return min(self.passes, 2 * self._period)

    def times(self, label: Label) -> int:
        """For how many passes a played one stands."""
        number, period = label.iteration, self._period
        return 1 if number < period else -(-(self.passes - number) // period)

    @property
    def _period(self) -> int:
        """Passes from one that ends in a checkpoint to the next."""
        return 1 if self.plan.checkpoint is None else self.plan.checkpoint.every

    def resumed(self, passes: int) -> TrainingPrograms:
        """Return the programs after so many passes, which a checkpoint has."""
        return replace(self, first_pass=passes)

    @property
    def cut(self) -> GridCut:
        """The network's dimensions, cut where groups end inside one."""
        return self.places.cut

    @cached_property
    def places(self) -> Places:
        """Who is who."""
        return Places(self.plan.degrees, self.dimensions, self.plan.source)

    @cached_property
    def roles(self) -> tuple[Role, ...]:
        """The stages."""
        return self.places.roles()

    @cached_property
    def scripts(self) -> tuple[StageScript, ...]:
        """The script of each stage in an iteration."""
        return tuple(self._script(role) for role in self.roles)

    def scaled(self, comm_scale: float, compute_scale: float) -> TrainingPrograms:
        """Sizes of what is exchanged times the one, times of computations times the other."""
        clock = KeepingClock(self.clock, compute_scale)
        return replace(self, plan=scaled_plan(self.plan, comm_scale), clock=clock)

    def program(self, role: Role, passes: int | None = None) -> Program:
        """A new run through the program of a stage, in so many iterations (None: all)."""
        played = self.passes if passes is None else passes
        return StageRun(self.scripts[role.number]).program(played, self.first_pass)

    def _script(self, role: Role) -> StageScript:
        maker = StepMaker(self.places, role.number, self.clock, self.plan.source)
        shards = PooledShards if self.plan.offload.pooled else Shards
        return StageScript(self.plan, role.number, self.roles, shards(self.plan, maker), self.places.ends())

    @cached_property
    def _steps(self) -> dict[tuple[int | str, str, int | None], int]:
        """The number of the pass in which something of a layer is computed for a micro-batch."""
        found: dict[tuple[int | str, str, int | None], int] = {}
        script, number = self.scripts[0], 0
        for kind, chunk, batch in (planned.work for planned in script.order):
            blocks = script.chunks[chunk]
            for block in blocks if kind is WorkKind.FORWARD else reversed(blocks):
                found.update(((block.layer, part, batch), number) for part in _PARTS[kind])
                number += 1
        return found


# Of what is computed, by what a stage does.
_PARTS = {
    WorkKind.FORWARD: (PassKind.FORWARD,),
    WorkKind.BACKWARD: (AGAIN, PassKind.INPUT_GRADIENT, PassKind.WEIGHT_GRADIENT),
    WorkKind.INPUT: (AGAIN, PassKind.INPUT_GRADIENT),
    WorkKind.WEIGHT: (PassKind.WEIGHT_GRADIENT,),
}
_MESSAGES = {ACTIVATION: PassKind.FORWARD, GRADIENT: PassKind.INPUT_GRADIENT}
_OF_BLOCKS = {
    AGAIN: PassKind.FORWARD,
    GRADIENT: PassKind.WEIGHT_GRADIENT,
    WEIGHTS: PassKind.WEIGHT_GRADIENT,
    UPDATE: PassKind.WEIGHT_GRADIENT,
    TAIL: PassKind.WEIGHT_GRADIENT,
    LOAD: PassKind.FORWARD,
    STORE: PassKind.WEIGHT_GRADIENT,
}
