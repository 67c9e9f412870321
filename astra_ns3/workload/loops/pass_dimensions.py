"""Over which dimensions a pass communicates; source: ASTRA-sim 1.0's policies of the names of its loops."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from astra_ns3.config.workload import Layer, ParallelGroup, PassKind
from astra_ns3.workload.grids.npu_groups import SplitDimensions
from astra_ns3.workload.loops.parallel_groups import ParallelGroups

#: Numbers of dimensions; None: all, empty: none, so that a collective has nobody to talk to and is dropped.
Dimensions = tuple[int, ...] | None
#: The dimensions of each pass of a layer.
PassDimensions = Mapping[PassKind, Dimensions]
#: From a grid to the dimensions of each pass.
DimensionsOf = Callable[[SplitDimensions], PassDimensions]

ALL: Dimensions = None
NONE: Dimensions = ()


def model_and_data(model: Dimensions, data: Dimensions) -> PassDimensions:
    """Activations and their gradients go over ``model`` dimensions, gradients of weights over ``data``."""
    return {PassKind.FORWARD: model, PassKind.INPUT_GRADIENT: model, PassKind.WEIGHT_GRADIENT: data}


def everywhere(grid: SplitDimensions) -> PassDimensions:
    """Every pass over all dimensions."""
    return model_and_data(ALL, ALL)


def data_only(grid: SplitDimensions) -> PassDimensions:
    """Weight gradients over all dimensions, nothing else."""
    return model_and_data(NONE, ALL)


def model_only(grid: SplitDimensions) -> PassDimensions:
    """Forward and input gradients over all dimensions, nothing else."""
    return model_and_data(ALL, NONE)


def data_then_model(grid: SplitDimensions) -> PassDimensions:
    """Forward and input gradients over dimension 0, weight gradients over all others."""
    return model_and_data((0,), tuple(range(1, len(grid.logical_dimensions))))


def model_then_data(grid: SplitDimensions) -> PassDimensions:
    """Weight gradients over dimension 0, forward and input gradients over all others."""
    return model_and_data(tuple(range(1, len(grid.logical_dimensions))), (0,))


def by_groups(grid: SplitDimensions) -> PassDimensions:
    """Forward and input gradients inside a group of NPUs, weight gradients across groups."""
    return model_and_data(grid.model_dimensions, grid.data_dimensions)


USUAL_GROUPS: Mapping[PassKind, ParallelGroup] = {
    PassKind.FORWARD: ParallelGroup.TENSOR,
    PassKind.INPUT_GRADIENT: ParallelGroup.TENSOR,
    PassKind.WEIGHT_GRADIENT: ParallelGroup.DATA,
}
"""Among whom a pass communicates in SimAI's loops, unless its collective names a group."""


def group_dimensions(layer: Layer, groups: ParallelGroups) -> PassDimensions:
    """Every pass over the dimensions of its group."""
    return {kind: groups.ranges[part.group or USUAL_GROUPS[kind]] for kind, part in layer.passes.items()}
