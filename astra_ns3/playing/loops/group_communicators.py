"""In what the collectives of SimAI's loops are issued: the communicators of each stage's groups of NPUs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import chain

from astra_ns3.config.workload import ParallelGroup
from astra_ns3.system.communicator import Communicator
from astra_ns3.workload.loops.parallel_groups import EXPERT, EXPERT_DATA, ParallelGroups


class GroupCommunicators:
    """The communicators of ``groups``."""

    def __init__(self, groups: ParallelGroups) -> None:
        self.groups = groups

    def of(self, group: ParallelGroup, stage: int) -> Communicator | None:
        """In what a stage's collectives among a group are issued. None: the world.

        As in Megatron, experts that are shared have communicators of their own, even among the members of others.
        """
        if group in (EXPERT, EXPERT_DATA) and self.groups.sizes[EXPERT] > 1:
            return self._experts[stage]
        return self._stages[stage] if self.groups.stages > 1 else None

    @cached_property
    def _stages(self) -> tuple[Communicator, ...]:
        return self._communicators("stage", self.groups.dimensions)

    @cached_property
    def _experts(self) -> tuple[Communicator, ...]:
        return self._communicators("experts", self.groups.fine)

    def _communicators(self, name: str, dimensions: Sequence[int]) -> tuple[Communicator, ...]:
        """The NPUs of each stage on a part of a grid."""
        inside = set(chain.from_iterable(self.groups.ranges.values()))  # the others lead from stage to stage
        sizes = tuple(size if number in inside else 1 for number, size in enumerate(dimensions))
        stages = range(self.groups.stages)
        return tuple(Communicator(self.groups.stage(number), f"{name} {number}", sizes) for number in stages)
