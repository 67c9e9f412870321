"""Over which dimensions each pass of each layer communicates; source: ASTRA-sim 1.0's policies of the same names."""

from __future__ import annotations

from collections.abc import Sequence

from astra_ns3.config.workload import Workload
from astra_ns3.errors import located, nearest, wrong
from astra_ns3.frozen import dataclass
from astra_ns3.workload.grids.grid_cut import GridCut
from astra_ns3.workload.grids.npu_groups import SplitDimensions, split_dimensions
from astra_ns3.workload.loops.loop_kinds import LAYER_POLICIES, LOOPS, SIMAI_LOOPS, LoopOption
from astra_ns3.workload.loops.parallel_groups import ParallelGroups, parallel_groups
from astra_ns3.workload.loops.pass_dimensions import PassDimensions, everywhere, group_dimensions


@dataclass(frozen=True)
class Parallelism(GridCut):
    """``layers``: over which dimensions each of them communicates; ``groups``: those of SimAI's loops, else None."""

    layers: tuple[PassDimensions, ...]
    groups: ParallelGroups | None = None

    @property
    def aligned(self) -> tuple[int, ...] | None:
        """See :class:`GridCut`: of SimAI's groups, where those of experts end, too."""
        if self.groups is None:
            return super().aligned
        return tuple(size for size in self.groups.fine if size > 1) or (1,)


def parallelism_of(workload: Workload, dimensions: Sequence[int]) -> Parallelism:
    """Who communicates with whom in ``workload`` on a grid of ``dimensions`` (sizes, lowest first).

    ``workload.loop`` is one of :data:`~astra_ns3.workload.loops.loop_kinds.LOOPS`, or the user's own, whose layers go
    over all dimensions unless they have a policy. Raises InputError if its groups of NPUs don't fit, or a layer's
    policy isn't known.
    """
    if workload.loop in SIMAI_LOOPS:
        groups = parallel_groups(workload, dimensions)
        rows = tuple(group_dimensions(layer, groups) for layer in workload.layers)
        return Parallelism(groups.dimensions, groups.parts, rows, groups)
    loop, npus = LOOPS.get(workload.loop), workload.model_parallel_npus
    if npus is None or (loop is not None and LoopOption.MODEL_PARALLEL_NPUS not in loop.options):
        grid = SplitDimensions(tuple(dimensions), (), ())
    else:
        grid = _split(workload, dimensions, npus)
    layers = tuple(_layer_dimensions(workload, number, grid) for number in range(len(workload.layers)))
    cut = grid.cut(dimensions)
    return Parallelism(grid.logical_dimensions, tuple(1 + (n == cut) for n in range(len(dimensions))), layers)


def _split(workload: Workload, dimensions: Sequence[int], npus: int) -> SplitDimensions:
    with located(workload.source):
        return split_dimensions(dimensions, npus)


def _layer_dimensions(workload: Workload, number: int, grid: SplitDimensions) -> PassDimensions:
    layer, loop = workload.layers[number], LOOPS.get(workload.loop)
    if number == 0 and loop is not None and loop.first_layer_everywhere:
        return everywhere(grid)
    if loop is not None and loop.dimensions is not None:
        return loop.dimensions(grid)
    if loop is None and layer.policy is None:
        return everywhere(grid)
    policy = LOOPS[layer.policy].dimensions if layer.policy in LAYER_POLICIES else None
    if policy is None:
        name = str(layer.policy)
        raise wrong(
            f"policy '{name}' of layer '{layer.name}' is not one of "
            f"{', '.join(LAYER_POLICIES)}{nearest(name, LAYER_POLICIES)}",
            workload.source,
        )
    return policy(grid)
