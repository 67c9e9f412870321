"""Exchanges of gradients and weights of a stage: one all-reduce, or ZeRO's stages 1 to 3.

Stages 0 and 1 send gradients once an iteration, when the last micro-batch comes back; 2 and 3 those of each. In stages
1 and 2 the weights that an NPU has updated go to the others after the update, in stage 3 before each use. A shard is
of whole elements, alike on all NPUs: a vector that they don't divide is filled up with less than one each.
Source: S. Rajbhandari et al., "ZeRO: Memory Optimizations Toward Training Trillion Parameter Models", SC 2020; stage 3
as PyTorch's FSDP: Y. Zhao et al., "PyTorch FSDP", VLDB 2023; buckets: S. Li et al., "PyTorch Distributed", VLDB 2020.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.config.training_plan import (
    Block,
    Elements,
    Exchange,
    Group,
    Operation,
    OperationKind,
    Sharding,
    TrainingPlan,
)
from astra_ns3.frozen import dataclass
from astra_ns3.playing.training.step_maker import StepMaker


@dataclass(frozen=True, eq=False)
class Bucket:
    """Gradients of blocks in a row that go together. ``block``: the first of them, whose gradient is the last to come.

    ``parameters``: of all of them; ``reduce``: who adds them up (None: servers do); ``gather``: of the weights that
    came of them, after the update (None: everybody has updated all).
    """

    block: int
    parameters: int
    reduce: Exchange | None
    gather: Exchange | None


_FAMILIES: Sequence[tuple[Group, Callable[[Block], int]]] = (
    (Group.GRADIENT, lambda block: block.parameters),
    (Group.EXPERT_GRADIENT, lambda block: block.expert_parameters),
)


class Shards:
    """The exchanges that share the weights of a plan among NPUs."""

    def __init__(self, plan: TrainingPlan, maker: StepMaker) -> None:
        self._sent_bytes = plan.sent_bytes
        self._sharding: Sharding = plan.sharding
        self._elements: Elements = plan.elements
        self.maker = maker
        self._sizes = {group: plan.degrees.size(group) for group, _ in _FAMILIES}

    def buckets(self, blocks: Sequence[Block]) -> tuple[Bucket, ...]:
        """Buckets of a part of the model, in the order in which their gradients are complete."""
        found: list[Bucket] = []
        for group, parameters_of in _FAMILIES:
            for block, parameters in self.cut(blocks, parameters_of):
                bucket = self._bucket(group, block, parameters)
                if bucket is not None:
                    found.append(bucket)
        return tuple(sorted(found, key=lambda bucket: -bucket.block))

    def gathers(self, block: Block) -> tuple[Exchange, ...]:
        """All-gathers of a block's weights before each use: in stage 3 alone."""
        if self._sharding.stage < 3:
            return ()
        found = (self._gather(group, parameters_of(block)) for group, parameters_of in _FAMILIES)
        return tuple(gather for gather in found if gather is not None)

    def update(self, blocks: Sequence[Block]) -> Operation:
        """The update of what an NPU has of the weights of a stage: gradients read, weights and states both ways."""
        each = self._elements.gradient + 2 * (self._elements.weight + self._elements.optimizer)
        count = 0
        for group, parameters_of in _FAMILIES:
            parameters = sum(map(parameters_of, blocks))
            count += self.shard(group, parameters) if self._sharding.stage else parameters
        return Operation("update", OperationKind.OPTIMIZER, bytes=count * each)

    def shard(self, group: Group, parameters: int) -> int:
        """The share of one NPU."""
        return -(-parameters // self._sizes[group])

    def summed_bytes(self, parameters: int) -> int:
        """The gradients of so many that a tensor group adds up: all as in Megatron-LM, from stage 2 on what an NPU has
        of them."""
        own = self.shard(Group.GRADIENT, parameters) if self._sharding.stage >= 2 else parameters
        return self._sent_bytes(own * self._elements.gradient)

    def tied_bytes(self, parameters: int) -> int:
        """Bytes of the gradient of the embedding that two stages have, on one NPU."""
        own = self.shard(Group.GRADIENT, parameters) if self._sharding.stage else parameters
        return self._sent_bytes(own * self._elements.gradient)

    def cut(self, blocks: Sequence[Block], parameters_of: Callable[[Block], int]) -> Iterator[tuple[int, int]]:
        """Blocks backwards, until a bucket is full: the first block of each bucket, and its parameters."""
        full_bytes = self._sharding.bucket_bytes or 1
        first, parameters = 0, 0
        for number in reversed(range(len(blocks))):
            if own := parameters_of(blocks[number]):
                first, parameters = number, parameters + own
            if parameters * self._elements.gradient >= full_bytes:
                yield first, parameters
                parameters = 0
        if parameters:
            yield first, parameters

    def _bucket(self, group: Group, block: int, parameters: int) -> Bucket | None:
        if self._sharding.stage == 0:
            kind, bytes = CollectiveKind.ALL_REDUCE, parameters * self._elements.gradient
        else:
            whole = self.shard(group, parameters) * self._sizes[group]
            kind, bytes = CollectiveKind.REDUCE_SCATTER, whole * self._elements.gradient
        reduce = self.maker.sent(Exchange(kind, group, self._sent_bytes(bytes), waited=False))
        if reduce is None:
            return None
        gathers = self._sharding.stage in (1, 2)
        return Bucket(block, parameters, reduce, self._gather(group, parameters) if gathers else None)

    def _gather(self, group: Group, parameters: int) -> Exchange | None:
        bytes = self._sent_bytes(self.shard(group, parameters) * self._elements.weight)
        return self.maker.sent(Exchange(CollectiveKind.ALL_GATHER, group, bytes, waited=False, content="weights"))


class PooledShards(Shards):
    """Weights that NPUs have whole, and that storage hosts update: gradients go there, and weights come back.

    Switches add up gradients on the way. Source: W. Won et al., "ASTRA-sim2.0", ISPASS 2023, whose abstract has
    collectives in the network and disaggregated memory together. Model's limit: an update takes no time.
    """

    def update(self, blocks: Sequence[Block]) -> Operation:
        """Nothing is left for NPUs."""
        return Operation("update", OperationKind.OPTIMIZER)

    def _bucket(self, group: Group, block: int, parameters: int) -> Bucket | None:
        units = self._elements.gradient, self._elements.weight
        bytes = self._sent_bytes(parameters * max(units))
        reduce = Exchange(CollectiveKind.ALL_REDUCE, group, bytes, waited=False, content="pool", pool=units)
        return Bucket(block, parameters, self.maker.sent(reduce), None)
