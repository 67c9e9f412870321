"""The script of a stage in an iteration, worked out once for all of its NPUs and for all iterations."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import accumulate
from typing import NamedTuple

from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.config.training_plan import Block, Exchange, Group, TrainingPlan
from astra_ns3.errors import refuse
from astra_ns3.frozen import dataclass
from astra_ns3.playing.programs.operations import UNNAMED
from astra_ns3.playing.programs.roles import Role
from astra_ns3.playing.training.places import Among
from astra_ns3.playing.training.sharding import Bucket, Shards
from astra_ns3.playing.training.step_maker import Computing, Step
from astra_ns3.system.request import CollectiveRequest
from astra_ns3.workload.memory.states import ModelStates
from astra_ns3.workload.training.schedules import Position, Work, WorkKind, order_of


class Moved(NamedTuple):
    """Bytes of a block that an NPU stores and loads, where they lie beyond the device.

    ``weights``: for a pass, with ZeRO's stage 3 of its shard; ``updated``: those that it updates.
    """

    activations: int
    weights: int
    optimizer: int
    updated: int


@dataclass(frozen=True)
class BlockScript:
    """A block's passes. ``layer``: its number in the model; ``buckets``: what goes when its gradient is there;
    ``gathers``: of its weights, before a use; ``moved``: what may lie beyond the device.

    ``stays``: whether the head uses its weights too, so that they stay until its backward pass.
    """

    layer: int
    forward: tuple[Step, ...]
    again: tuple[Step, ...]
    input_gradient: tuple[Step, ...]
    weight_gradient: tuple[Step, ...]
    buckets: tuple[Bucket, ...]
    gathers: tuple[Exchange, ...]
    moved: Moved
    stays: bool


@dataclass(frozen=True)
class PlannedWork:
    """``gathers``: whether weights are gathered for it; ``reduces``: whether gradients go after it."""

    work: Work
    gathers: bool
    reduces: bool


@dataclass(frozen=True)
class Use:
    """Weights of a layer that are needed for a micro-batch, what brings those of others, and bytes of the own shard."""

    layer: int
    micro_batch: int
    gathers: tuple[Exchange, ...]
    shard_bytes: int


class StageScript:
    """``stage``: its number; ``roles``: of all stages; ``ends``: the first and the last, if there are two.

    ``shards``: who has which weights and how they are sent. Raises InputError if the plan doesn't fit.
    """

    def __init__(
        self, plan: TrainingPlan, stage: int, roles: Sequence[Role], shards: Shards, ends: Among | None = None
    ) -> None:
        refuse(
            len(roles) > 1 and plan.boundary_bytes < 1,
            f"stages send each other {plan.boundary_bytes} bytes, expected at least 1",
            plan.source,
        )
        self._plan = plan
        self.maker = shards.maker
        self._shards = shards
        self.stage = stage
        self.sharding = plan.sharding
        self.offload = plan.offload
        self.checkpoint = plan.checkpoint
        self.boundary_bytes = plan.boundary_bytes
        self.before = roles[stage - 1].communicator if len(roles) > 1 else None
        self.after = roles[(stage + 1) % len(roles)].communicator if len(roles) > 1 else None
        self.is_first, self.is_last = stage == 0, stage == len(roles) - 1
        self.tied = self._tied(ends, is_end=self.is_first or self.is_last)
        at = Position(stage, plan.degrees.pipeline, plan.virtual_stages, plan.micro_batches)
        self._order = order_of(plan.schedule, at, plan.source)

    @cached_property
    def chunks(self) -> tuple[tuple[BlockScript, ...], ...]:
        """The stage's parts of the model."""
        plan = self._plan
        begins = [0, *accumulate(map(len, plan.chunks))]
        numbers = range(self.stage, len(plan.chunks), plan.degrees.pipeline)
        return tuple(self._chunk(plan.chunks[number], begins[number]) for number in numbers)

    @cached_property
    def update(self) -> Computing | None:
        """The update of the stage's weights; None if it has none."""
        update = self._shards.update(self._blocks)
        return self.maker.computing(update) if update.bytes else None

    @cached_property
    def updates(self) -> tuple[tuple[BlockScript, Computing], ...]:
        """The update of each block by itself, where it waits for what lies beyond the device."""
        scripts = [script for chunk in self.chunks for script in chunk]
        found = ((script, self._shards.update([block])) for script, block in zip(scripts, self._blocks, strict=True))
        return tuple((script, self.maker.computing(update)) for script, update in found if update.bytes)

    @cached_property
    def checkpoint_bytes(self) -> int:
        """Bytes that an NPU stores for a checkpoint."""
        return self._plan.sent_bytes(max(1, ModelStates(self._plan).checkpoint_bytes(self._blocks)))

    @cached_property
    def restored_bytes(self) -> int:
        """Bytes that an NPU loads of a checkpoint."""
        return self._plan.sent_bytes(max(1, ModelStates(self._plan).restored_bytes(self._blocks)))

    @property
    def _blocks(self) -> list[Block]:
        return [block for chunk in self._plan.stage(self.stage) for block in chunk]

    @cached_property
    def summed(self) -> Exchange | None:
        """The sum over tensor groups of gradients of what each NPU has for its own tokens; None if nothing is.

        One at the end of the backward pass, of all that the stage has, as Megatron-LM does (``finalize_model_grads``).
        """
        parameters = sum(block.summed_parameters for chunk in self._plan.stage(self.stage) for block in chunk)
        bytes = self._shards.summed_bytes(parameters)
        return self.maker.sent(Exchange(CollectiveKind.ALL_REDUCE, Group.TENSOR, bytes))

    @property
    def loads_shards(self) -> bool:
        """Whether shards of weights are loaded before they are gathered."""
        return self.offload.weights is not None and self.sharding.shards_weights

    @property
    def reduces_early(self) -> bool:
        """Whether gradients go while the backward pass goes on. A storage host updates with what it gets, so all that
        others add to gradients comes before."""
        added = self.offload.pooled and (self.summed is not None or self.tied is not None)
        return self.sharding.overlap and not added

    @cached_property
    def order(self) -> tuple[PlannedWork, ...]:
        """An iteration."""
        ends = {work.chunk: number for number, work in enumerate(self._order) if _makes_gradients(work)}
        held = [0] * len(self.chunks)
        planned = []
        for number, work in enumerate(self._order):
            uses = work.kind is not WorkKind.WEIGHT
            gathers = uses and not (self.sharding.keeps_gathered and held[work.chunk])
            held[work.chunk] += {WorkKind.FORWARD: 1, WorkKind.WEIGHT: 0}.get(work.kind, -1)
            due = self.sharding.shards_gradients or ends[work.chunk] == number
            planned.append(PlannedWork(work, gathers, _makes_gradients(work) and due))
        return tuple(planned)

    @cached_property
    def uses(self) -> tuple[Use, ...]:
        """Uses of weights that have to be gathered, or loaded in shards, in an iteration, in order."""
        found = []
        for planned in self.order:
            kind, chunk, batch = planned.work
            blocks = self.chunks[chunk] if kind is WorkKind.FORWARD else self.chunks[chunk][::-1]
            if planned.gathers:
                found += [
                    Use(block.layer, batch, block.gathers, block.moved.weights)
                    for block in blocks
                    if (block.gathers or self.loads_shards) and not (block.stays and kind is not WorkKind.FORWARD)
                ]
        return tuple(found)

    def _chunk(self, blocks: tuple[Block, ...], begin: int) -> tuple[BlockScript, ...]:
        of, buckets = self.maker.of, self._shards.buckets(blocks)
        return tuple(
            BlockScript(
                begin + number,
                of(block.forward),
                of(block.again),
                of(block.input_gradient),
                of(block.weight_gradient),
                tuple(bucket for bucket in buckets if bucket.block == number),
                self._shards.gathers(block),
                self._moved(block),
                stays=not begin + number and blocks[-1].tied_parameters > 0,
            )
            for number, block in enumerate(blocks)
        )

    def _moved(self, block: Block) -> Moved:
        states, sent = ModelStates(self._plan), self._plan.sent_bytes
        return Moved(
            sent(block.activation_bytes),
            sent(states.weight_bytes(block)),
            sent(states.kept([block]).optimizer),
            sent(states.updated_bytes(block)),
        )

    def _tied(self, ends: Among | None, *, is_end: bool) -> CollectiveRequest | None:
        """Return the request, without a label, for the gradient of the embedding of the first and the last stage."""
        if ends is None or not is_end or not self._plan.tied_parameters:
            return None
        return CollectiveRequest(
            CollectiveKind.ALL_REDUCE,
            self._shards.tied_bytes(self._plan.tied_parameters),
            UNNAMED,
            dimensions=ends.dimensions,
            communicator=ends.communicator,
            group=ends.group,
        )


def _makes_gradients(work: Work) -> bool:
    return work.kind in (WorkKind.BACKWARD, WorkKind.WEIGHT)
