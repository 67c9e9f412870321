"""Which NPUs tensor, expert, data and pipeline parallelism put together: the groups of SimAI's workloads.

The order is Megatron-LM's, and SimAI's in the groups that it has: ranks that differ by one share a tensor-parallel
group. Then come the NPUs that share the experts, then those with the same experts, which together are the
data-parallel group; the stages of the pipeline are whole blocks of NPUs.

A group is a range of dimensions of the system. The network's dimensions are cut where a group ends inside one. A
data-parallel collective isn't cut at the end of an expert group, which means nothing to it: experts' collectives go
over a grid of their own, which is finer there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from math import prod

from astra_ns3.config.workload import ParallelGroup, Workload
from astra_ns3.errors import refuse, wrong
from astra_ns3.frozen import dataclass
from astra_ns3.units import counted
from astra_ns3.workload.loops.micro_batches import MicroBatches, find_micro_batches

TENSOR, DATA = ParallelGroup.TENSOR, ParallelGroup.DATA
EXPERT, EXPERT_DATA = ParallelGroup.EXPERT, ParallelGroup.EXPERT_DATA


@dataclass(frozen=True)
class ParallelGroups:
    """``dimensions``: of the system; ``fine``: where data-parallel groups are cut at experts', as many of them.

    ``parts``: how many of them each of the network's makes; ``ranges``: those of each group; ``sizes``: NPUs in each.
    ``batches``: where stages of a pipeline send each other something, which rows each micro-batch has; else None.
    """

    dimensions: tuple[int, ...]
    fine: tuple[int, ...]
    parts: tuple[int, ...]
    ranges: Mapping[ParallelGroup, tuple[int, ...]]
    sizes: Mapping[ParallelGroup, int]
    stages: int
    batches: MicroBatches | None = None

    @property
    def stage_npus(self) -> int:
        """NPUs of each stage."""
        return self.sizes[TENSOR] * self.sizes[DATA]

    def stage(self, number: int) -> range:
        """The NPUs of a stage."""
        return range(number * self.stage_npus, (number + 1) * self.stage_npus)


def parallel_groups(workload: Workload, dimensions: Sequence[int]) -> ParallelGroups:
    """The groups of a workload on a network of ``dimensions`` (sizes, lowest first); raises InputError."""
    npus = prod(dimensions)
    tensor, stages = workload.model_parallel_npus or 1, workload.pipeline_stages or 1
    experts = workload.expert_parallel_npus or 1
    refuse(
        workload.npus is not None and workload.npus != npus,
        f"all_gpus is {workload.npus}, but the network has {counted(npus, 'NPU')}: edit all_gpus, or add --set "
        f"workload.npus={npus}",
        workload.source,
    )
    refuse(
        bool(npus % (tensor * stages)),
        f"model_parallel_NPU_group {tensor} times pp {stages} is {tensor * stages}, expected a "
        f"divisor of the {npus} NPUs",
        workload.source,
    )
    data = npus // (tensor * stages)
    refuse(
        bool(data % experts),
        f"ep is {experts}, expected a divisor of the {data} NPUs of a data-parallel group "
        f"({npus} / model_parallel_NPU_group {tensor} / pp {stages})",
        workload.source,
    )
    ends = (tensor, tensor * experts, tensor * data)
    pieces = [_pieces(workload, dimensions, index, ends) for index in range(len(dimensions))]
    fine = tuple(upper // lower for found in pieces for lower, upper in found)
    lowers = [lower for found in pieces for lower, _ in found]
    ranges = {
        TENSOR: _between(lowers, fine, 1, ends[0]),
        EXPERT: _between(lowers, fine, ends[0], ends[1]),
        EXPERT_DATA: _between(lowers, fine, ends[1], ends[2]),
        DATA: _between(lowers, fine, ends[0], ends[2]),
    }
    sizes = {TENSOR: tensor, EXPERT: experts, EXPERT_DATA: data // experts, DATA: data}
    inner = ends[1] if ends[0] < ends[1] < ends[2] else None
    coarse = tuple(size for found in pieces for size in _merged(found, inner))
    batches = micro_batches_of(workload)
    return ParallelGroups(coarse, fine, tuple(len(found) for found in pieces), ranges, sizes, stages, batches)


def micro_batches_of(workload: Workload) -> MicroBatches | None:
    """Which rows each micro-batch has, where stages of a pipeline send each other something; raises InputError."""
    played = (workload.pipeline_stages or 1) > 1 and workload.stage_bytes
    return find_micro_batches(workload) if played else None


def _pieces(
    workload: Workload, dimensions: Sequence[int], dimension: int, ends: tuple[int, int, int]
) -> list[tuple[int, int]]:
    """A dimension of the network cut where groups end inside it: ranks' strides at begin and end of each piece."""
    lower = prod(dimensions[:dimension])
    upper = lower * dimensions[dimension]
    cuts = [lower, *sorted({end for end in ends if lower < end < upper}), upper]
    for before, after in pairwise(cuts):
        if after % before:
            shape = "x".join(map(str, dimensions))
            raise wrong(
                f"groups of {', '.join(map(str, ends))} NPUs (model_parallel_NPU_group; times ep; "
                f"a stage) don't fit dimensions of {shape}: {before} doesn't divide {after}",
                workload.source,
            )
    return list(pairwise(cuts))


def _between(lowers: Sequence[int], sizes: Sequence[int], begin: int, end: int) -> tuple[int, ...]:
    """The numbers of the pieces from one stride to another."""
    return tuple(
        number
        for number, (lower, size) in enumerate(zip(lowers, sizes, strict=True))
        if begin <= lower < end and lower * size <= end
    )


def _merged(pieces: Sequence[tuple[int, int]], cut: int | None) -> list[int]:
    """The sizes of the pieces; of those on both sides of ``cut`` the lower one has all, and the upper one 1."""
    sizes = [upper // lower for lower, upper in pieces]
    for index in range(1, len(pieces)):
        if pieces[index][0] == cut:
            sizes[index - 1 : index + 1] = [sizes[index - 1] * sizes[index], 1]
    return sizes
