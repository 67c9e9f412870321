"""Weights, gradients and states of the optimizer: what an NPU has of them, by ZeRO's stage.

Source: S. Rajbhandari et al., "ZeRO: Memory Optimizations Toward Training Trillion Parameter Models", SC 2020, section
3.1 and figure 1. A shard is of whole parameters, as many on each NPU. Dense weights are shared by all that have the
same of them, those of experts by those that have the same experts. Tables are shared with nobody: the
backward pass reads and writes their rows one by one, so of them there are weights alone, in the weights' datatype.
"""

from __future__ import annotations

from collections.abc import Iterable

from astra_ns3.config.training_plan import Block, Group, TrainingPlan
from astra_ns3.frozen import dataclass
from astra_ns3.workload.memory.usage import Usage

# Stages of ZeRO from which on something is shared.
_OPTIMIZER, _GRADIENTS, _WEIGHTS = 1, 2, 3


@dataclass(frozen=True)
class ModelStates:
    """Bytes of a plan's weights and their states on NPUs."""

    plan: TrainingPlan

    def kept(self, blocks: Iterable[Block]) -> Usage:
        """All the time, of the blocks of a stage. The weights alone of tables: they are updated row by row."""
        whole = own = 0
        each = list(blocks)
        tables = self._tables(each)
        for group, parameters in self._families(each):
            whole += parameters
            own += -(-parameters // self.plan.degrees.size(group))
        stage, elements = self.plan.sharding.stage, self.plan.elements
        return Usage(
            weights=elements.weight * ((own if stage >= _WEIGHTS else whole) + tables),
            gradients=elements.gradient * (own if stage >= _GRADIENTS else whole),
            # Servers have the states, if there are any.
            optimizer=0 if self.plan.servers else elements.optimizer * (own if stage >= _OPTIMIZER else whole),
        )

    def weight_bytes(self, block: Block) -> int:
        """A block's weights on an NPU, but for those of tables, which stay on the device."""
        return self.kept([block]).weights - self.plan.elements.weight * block.table_parameters

    def updated_bytes(self, block: Block) -> int:
        """The weights of a block that an NPU updates: from stage 1 on its shard alone."""
        if not self.plan.sharding.stage:
            return self.weight_bytes(block)
        own = (-(-parameters // self.plan.degrees.size(group)) for group, parameters in self._families([block]))
        return self.plan.elements.weight * sum(own)

    def checkpoint_bytes(self, blocks: Iterable[Block]) -> int:
        """The weights and states that an NPU of a stage stores: what all its copies have is shared out over them.

        What lies on storage hosts is copied there, and isn't stored again.
        """
        each = list(blocks)
        own = sum(-(-parameters // self.plan.degrees.size(group)) for group, parameters in self._families(each))
        elements, offload = self.plan.elements, self.plan.offload
        weight = 0 if offload.pooled or offload.stores(offload.weights) else elements.weight
        states = 0 if offload.stores(offload.optimizer) else elements.optimizer
        return own * (weight + states) + elements.weight * self._tables(each)

    def restored_bytes(self, blocks: Iterable[Block]) -> int:
        """The weights and states that an NPU of a stage loads after a restart: all that it has on the device."""
        each = list(blocks)
        kept, offload = self.kept(each), self.plan.offload
        weights = self.plan.elements.weight * self._tables(each) if offload.stores(offload.weights) else kept.weights
        return weights + (0 if offload.stores(offload.optimizer) else kept.optimizer)

    def on_server(self) -> Usage:
        """The share of each of the plan's servers in all weights but tables: an equal part, with gradients that add
        up."""
        blocks = [block for chunk in self.plan.chunks for block in chunk]
        parameters = sum(count for _, count in self._families(blocks))
        part = -(-parameters // self.plan.servers)
        elements = self.plan.elements
        return Usage(part * elements.weight, part * elements.gradient, part * elements.optimizer)

    def gathered_bytes(self, block: Block) -> int:
        """Bytes of a block's weights while they are used, besides the NPU's own shard."""
        if self.plan.sharding.stage < _WEIGHTS:
            return 0
        return self.plan.elements.weight * self._shared(block)

    def sent_bytes(self, block: Block) -> int:
        """Bytes of a block's gradient before it is summed up and all but a shard is thrown away."""
        if self.plan.sharding.stage < _GRADIENTS:
            return 0
        return self.plan.elements.gradient * self._shared(block)

    def tied_bytes(self, block: Block) -> int:
        """Bytes of a block's gradient of weights of the first block, which wait for the rest of that gradient."""
        return self.sent_bytes(Block(block.name, (), parameters=block.tied_parameters))

    def _shared(self, block: Block) -> int:
        """Parameters that are cut in shards."""
        return sum(parameters for group, parameters in self._families([block]) if self.plan.degrees.size(group) > 1)

    @staticmethod
    def _tables(blocks: Iterable[Block]) -> int:
        """Parameters of tables, which no other NPU has."""
        return sum(block.table_parameters for block in blocks)

    @staticmethod
    def _families(blocks: Iterable[Block]) -> tuple[tuple[Group, int], ...]:
        each = list(blocks)
        return (
            (Group.GRADIENT, sum(block.parameters for block in each)),
            (Group.EXPERT_GRADIENT, sum(block.expert_parameters for block in each)),
        )
