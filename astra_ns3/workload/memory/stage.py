"""The memory of an NPU of a stage while its schedule goes on, block by block.

After a block's forward pass its activations are kept until its backward pass has ended, or, where a schedule has the
gradients of weights by themselves, until these are there; what is computed again stays as long. With ZeRO's stage 3 the
weights of a block are gathered while it is used, and those of the next blocks, as many as ``prefetch`` says, ahead of
it. Kept ones stay from a micro-batch's forward to its backward pass, and so does a table that the head uses too: FSDP
has both in one group (PyTorch's pull request 179532), and keeps that of a model's root. With stages 2 and 3 gradients
fill a bucket, and with ``overlap`` the one before it is on its way meanwhile; without, those of a pass go together when
it has ended. The head's part of that table's gradient waits for the embedding's.

An NPU has the block that it works on of each part that lies beyond the device. Besides it has the blocks that are
loaded ahead, or are on their way out, and the table that the head uses too, from its forward to its backward pass.

Model limits: what kernels need while they run, buffers of collectives, and the allocator's losses aren't counted.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from astra_ns3.config.training_plan import Block, Item, Ring, TrainingPlan
from astra_ns3.frozen import dataclass
from astra_ns3.workload.memory.states import ModelStates
from astra_ns3.workload.memory.usage import Usage
from astra_ns3.workload.training.schedules import Position, Work, WorkKind, order_of


@dataclass(frozen=True)
class Moment:
    """A micro-batch's pass through a part of the model, and the most that an NPU has while it goes on; ``work`` None:
    the update. ``block``: in which block of the model that is.
    """

    work: Work | None
    block: str
    usage: Usage


@dataclass(frozen=True)
class StageMemory:
    """Memory of each NPU of a stage (None: of each parameter server) in an iteration, in the order of its schedule."""

    stage: int | None
    moments: tuple[Moment, ...]

    @property
    def name(self) -> str:
        """Name of the stage, or ``servers``."""
        return "servers" if self.stage is None else str(self.stage)

    @property
    def peak(self) -> Moment:
        """The first with most bytes."""
        return max(self.moments, key=lambda moment: moment.usage.total_bytes)


def stage_memory(plan: TrainingPlan, stage: int) -> StageMemory:
    """An NPU of a stage; raises InputError if the schedule doesn't fit."""
    return StageMemory(stage, tuple(_Stage(plan, stage).moments()))


def server_memory(plan: TrainingPlan) -> StageMemory:
    """A parameter server, which has the same all the time."""
    return StageMemory(None, (Moment(None, "", ModelStates(plan).on_server()),))


_FIRST = 0, 0
"""The part and the place of a model's first block on its stage."""


class _Step(NamedTuple):
    """A block that is at work: weights of others and keys and values of others that are there for it."""

    block: str
    gathered: int
    ring: int


class _Stage:
    """The books of a stage while its schedule is gone through."""

    def __init__(self, plan: TrainingPlan, stage: int) -> None:
        self._chunks = plan.stage(stage)
        self._sharding = plan.sharding
        states = ModelStates(plan)
        self._beyond = _Beyond(plan, states)
        self._base = self._beyond.rest(states.kept(block for chunk in self._chunks for block in chunk), self._chunks)
        at = Position(stage, plan.degrees.pipeline, plan.virtual_stages, plan.micro_batches)
        self._order = order_of(plan.schedule, at, plan.source)
        self._gathered = [[states.gathered_bytes(block) for block in chunk] for chunk in self._chunks]
        self._sent = [[states.sent_bytes(block) for block in chunk] for chunk in self._chunks]
        last = self._chunks[-1]
        self._tied = last[-1] if last else None  # a part may have no layers
        self._tied_bytes = states.tied_bytes(self._tied) if self._tied else 0
        self._held = [[0] * len(chunk) for chunk in self._chunks]  # micro-batches for which weights are kept
        self._held_bytes = 0
        self._activations = self._recomputed = 0
        self._gradients = _Gradients(plan)
        self._rings: dict[int, int] = {}

    def moments(self) -> Iterator[Moment]:
        """The work of an iteration, and the update."""
        for work in self._order:
            self._gradients.arrived()
            yield self._fullest(work, self._forward(work) if work.kind is WorkKind.FORWARD else self._backward(work))
        self._gradients.finish()
        yield Moment(None, "", self._beyond.updated(self._usage(self._held_bytes, 0), self._chunks))

    def _fullest(self, work: Work, steps: Iterator[_Step]) -> Moment:
        """The first step of a pass with most bytes."""
        most_bytes, block, usage = -1, "", self._usage(self._held_bytes, 0)
        for step in steps:
            kept_bytes = self._activations + self._recomputed + self._gradients.bytes + self._beyond.weights
            if kept_bytes + step.gathered + step.ring > most_bytes:
                most_bytes = kept_bytes + step.gathered + step.ring
                block, usage = step.block, self._usage(step.gathered, step.ring)
        return Moment(work, block, usage)

    def _forward(self, work: Work) -> Iterator[_Step]:
        blocks = self._chunks[work.chunk]
        for index, block in enumerate(blocks):
            self._activations = self._beyond.forward(self._activations, blocks, index)
            ahead = range(index, min(index + 1 + self._sharding.prefetch, len(blocks)))
            yield _Step(block.name, self._weights(work.chunk, ahead), self._ring(block.forward))
            if self._stays(work.chunk, index):
                self._hold(work.chunk, index, 1)
            if self._is_tied_table(work.chunk, index):
                self._beyond.hold(block, 1)

    def _backward(self, work: Work) -> Iterator[_Step]:
        blocks, only_weights = self._chunks[work.chunk], work.kind is WorkKind.WEIGHT
        for index in reversed(range(len(blocks))):
            block = blocks[index]
            ahead = range(max(0, index - self._sharding.prefetch), index + 1)
            if not only_weights:
                self._recomputed += block.again_bytes
            self._activations = self._beyond.backward(self._activations, blocks, index)
            if work.kind is not WorkKind.INPUT:
                if block is self._tied:
                    self._gradients.tie(self._tied_bytes)
                elif (work.chunk, index) == _FIRST:
                    self._gradients.untie()
                self._gradients.add(self._sent[work.chunk][index])
            # The gradient of weights by itself doesn't need these.
            gathered = self._held_bytes if only_weights else self._weights(work.chunk, ahead)
            ring = 0 if only_weights else max(self._ring(block.again), self._ring(block.input_gradient))
            yield _Step(block.name, gathered, ring)
            if work.kind is not WorkKind.INPUT:
                self._gradients.leave()
                self._recomputed -= block.again_bytes
                self._activations = self._beyond.freed(self._activations, block)
            if not only_weights and self._stays(work.chunk, index):
                self._hold(work.chunk, index, -1)
            if not only_weights and self._is_tied_table(work.chunk, index):
                self._beyond.hold(block, -1)
        self._gradients.leave(full=True)

    def _weights(self, chunk: int, used: Sequence[int]) -> int:
        """Bytes of others' weights for blocks of a part in these places, besides all that are kept."""
        held, gathered = self._held[chunk], self._gathered[chunk]
        return self._held_bytes + sum(gathered[index] for index in used if not held[index])

    def _stays(self, chunk: int, index: int) -> bool:
        """Return whether gathered weights of a block stay until its backward pass."""
        return self._sharding.keeps_gathered or self._is_tied_table(chunk, index)

    def _is_tied_table(self, chunk: int, index: int) -> bool:
        """Return whether the head of this stage uses a block's weights too."""
        return (chunk, index) == _FIRST and self._tied is not None and self._tied.tied_parameters > 0

    def _hold(self, chunk: int, index: int, change: int) -> None:
        """One micro-batch more, or fewer, for which weights are kept."""
        before = self._held[chunk][index]
        self._held[chunk][index] = before + change
        self._held_bytes += ((before + change > 0) - (before > 0)) * self._gathered[chunk][index]

    def _ring(self, items: tuple[Item, ...]) -> int:
        """Bytes that come while what came before is used; layers that are alike share their items."""
        found = self._rings.get(id(items))
        if found is None:
            found = self._rings[id(items)] = max(
                (item.turn_bytes for item in items if isinstance(item, Ring)), default=0
            )
        return found

    def _usage(self, gathered: int, ring: int) -> Usage:
        return self._base._replace(
            weights=self._base.weights + self._beyond.weights,
            activations=self._activations,
            recomputed=self._recomputed,
            gathered=gathered,
            buckets=self._gradients.bytes,
            ring=ring,
        )


class _Beyond:
    """The books of parts that lie beyond the device: what is on it of them. ``weights``: bytes of those at a step."""

    def __init__(self, plan: TrainingPlan, states: ModelStates) -> None:
        self._offload = plan.offload
        self._states = states
        weights = plan.offload.weights
        # Shards are loaded ahead of those that are gathered ahead.
        ahead = plan.sharding.shards_weights * plan.sharding.prefetch
        self._weights_ahead = (weights.prefetch if weights else 0) + ahead
        self._keeps_tables = weights is not None and not plan.sharding.shards_weights  # else gathered ones stay
        self._table: Block | None = None
        self._holders = 0  # micro-batches for which it stays
        activations = plan.offload.activations
        self._leaving = deque[int](maxlen=0 if activations is None else activations.prefetch)
        self.weights = 0

    def rest(self, kept: Usage, chunks: Sequence[Sequence[Block]]) -> Usage:
        """Return what is on the device all the time, of all that is kept."""
        if self._offload.optimizer is not None:
            kept = kept._replace(optimizer=0)
        if self._offload.weights is not None:
            away = sum(self._states.weight_bytes(block) for chunk in chunks for block in chunk)
            kept = kept._replace(weights=kept.weights - away)
        return kept

    def updated(self, usage: Usage, chunks: Sequence[Sequence[Block]]) -> Usage:
        """Return the most during an update, of what is there besides and what is loaded for it."""
        blocks = [block for chunk in chunks for block in chunk]
        if self._offload.optimizer is not None and not self._offload.pooled:
            sizes = [self._states.kept([block]).optimizer for block in blocks]
            usage = usage._replace(optimizer=self._offload.optimizer.most(sizes))
        if self._offload.weights is not None:
            sizes = [self._states.weight_bytes(block) for block in blocks]
            weights = usage.weights - self.weights + self._offload.weights.most(sizes)
            usage = usage._replace(weights=weights)
        return usage

    def forward(self, kept: int, blocks: Sequence[Block], index: int) -> int:
        """Return the activations while a block is computed: with those of the last ones, which are on their way."""
        own = blocks[index].activation_bytes
        if self._offload.weights is not None:
            self.weights = self._weights_of(blocks[index : index + 1 + self._weights_ahead])
        if self._offload.activations is None:
            return kept + own
        found = own + sum(self._leaving)
        self._leaving.append(own)
        return found

    def backward(self, kept: int, blocks: Sequence[Block], index: int) -> int:
        """Return the activations during a block's backward pass: with those that are loaded ahead of it."""
        if self._offload.weights is not None:
            self.weights = self._weights_of(blocks[max(0, index - self._weights_ahead) : index + 1])
        if self._offload.activations is None:
            return kept
        self._leaving.clear()
        ahead = blocks[max(0, index - self._offload.activations.prefetch) : index + 1]
        return sum(block.activation_bytes for block in ahead)

    def freed(self, kept: int, block: Block) -> int:
        """Return the activations after a block's backward pass."""
        return kept - block.activation_bytes

    def hold(self, table: Block, change: int) -> None:
        """One micro-batch more, or fewer, for which a table that the head uses too stays."""
        self._holders += change
        self._table = table if self._keeps_tables and self._holders else None

    def _weights_of(self, blocks: Sequence[Block]) -> int:
        kept = [] if self._table is None or self._table is blocks[0] else [self._table]
        return sum(self._states.weight_bytes(block) for block in (*blocks, *kept))


class _Gradients:
    """Gradients that are still whole where NPUs keep shards of them. ``bytes``: of all of them."""

    def __init__(self, plan: TrainingPlan) -> None:
        self._full_bytes = plan.sharding.bucket_bytes or 1
        self._overlaps = plan.sharding.overlap
        self._filling = self._leaving = self._tied = 0
        self.bytes = 0

    def add(self, size: int) -> None:
        """Add the gradient of a block."""
        self._filling += size
        self.bytes += size

    def tie(self, size: int) -> None:
        """Keep a part of the first block's gradient until the rest comes."""
        if not self._tied:
            self._tied = size
            self.bytes += size

    def untie(self) -> None:
        """The first block's gradient comes, whole."""
        self.bytes -= self._tied
        self._tied = 0

    def leave(self, *, full: bool = False) -> None:
        """Send what has filled, if a pass has ended (``full``) or overlaps and it is as much as a bucket.

        The one before has arrived by then."""
        if self._filling and (full or (self._overlaps and self._filling >= self._full_bytes)):
            self.arrived()
            self._leaving, self._filling = self._filling, 0

    def arrived(self) -> None:
        """Nothing is on its way any more."""
        self.bytes -= self._leaving
        self._leaving = 0

    def finish(self) -> None:
        """All have been sent."""
        self._leaving = self._filling = self.bytes = 0
