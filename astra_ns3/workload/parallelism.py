"""Over which dimensions each pass of each layer communicates; source: ASTRA-sim 1.0's policies of the same names."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from astra_ns3.config.layers import LAYER_POLICIES, Workload
from astra_ns3.errors import InputError, nearest
from astra_ns3.network.records import PassKind
from astra_ns3.user_code import user_part
from astra_ns3.workload.npu_groups import SplitDimensions, split_dimensions

#: Numbers of dimensions; None: all, empty: none, so that a collective has nobody to talk to and is dropped.
Dimensions = tuple[int, ...] | None
#: The dimensions of each pass of a layer.
PassDimensions = Mapping[PassKind, Dimensions]

ALL: Dimensions = None
NONE: Dimensions = ()


@dataclass(frozen=True)
class Parallelism:
    """``dimensions``: NPUs along each, after a cut; ``cut``: the one that was cut in two; a row per layer."""

    dimensions: tuple[int, ...]
    cut: int | None
    layers: tuple[PassDimensions, ...]

    def of_each(self, values: Sequence[float]) -> tuple[float, ...]:
        """Values of each original dimension, that of the cut one twice."""
        return tuple(value for number, value in enumerate(values) for _ in range(2 if number == self.cut else 1))


def parallelism_of(workload: Workload, dimensions: Sequence[int]) -> Parallelism:
    """Who communicates with whom in ``workload`` on a grid of ``dimensions`` (sizes, lowest first).

    ``workload.loop`` is one of :data:`astra_ns3.workload.loops.LOOPS`, or the user's own, whose layers go over all
    dimensions unless they have a policy. Raises InputError if its groups of NPUs don't fit, or a layer's policy isn't
    known.
    """
    if workload.model_parallel_npus is None:
        grid = SplitDimensions(tuple(dimensions), (), ())
    else:
        grid = _split(workload, dimensions, workload.model_parallel_npus)
    layers = tuple(_layer_dimensions(workload, number, grid) for number in range(len(workload.layers)))
    return Parallelism(grid.logical_dimensions, grid.cut(dimensions), layers)


def _split(workload: Workload, dimensions: Sequence[int], npus: int) -> SplitDimensions:
    try:
        return split_dimensions(dimensions, npus)
    except InputError as error:
        raise InputError(f"{workload.source}: {error}") from error


def _layer_dimensions(workload: Workload, number: int, grid: SplitDimensions) -> PassDimensions:
    layer = workload.layers[number]
    if number == 0 and workload.loop in _FIRST_LAYER_EVERYWHERE:
        return _model_and_data(ALL, ALL)
    is_own = user_part(workload.loop) is not None
    if is_own and layer.policy is None:
        return _model_and_data(ALL, ALL)
    if not is_own and workload.loop != "HYBRID_CUSTOMIZED":
        return _POLICIES[workload.loop](grid)
    if layer.policy not in LAYER_POLICIES:
        name = str(layer.policy)
        raise InputError(
            f"{workload.source}: policy '{name}' of layer '{layer.name}' is not one of "
            f"{', '.join(LAYER_POLICIES)}{nearest(name, LAYER_POLICIES)}"
        )
    return _POLICIES[layer.policy](grid)


def _model_and_data(model: Dimensions, data: Dimensions) -> PassDimensions:
    """Activations and their gradients go over ``model`` dimensions, gradients of weights over ``data``."""
    return {PassKind.FORWARD: model, PassKind.INPUT_GRADIENT: model, PassKind.WEIGHT_GRADIENT: data}


def _data(grid: SplitDimensions) -> PassDimensions:
    return _model_and_data(NONE, ALL)


def _model(grid: SplitDimensions) -> PassDimensions:
    return _model_and_data(ALL, NONE)


def _data_model(grid: SplitDimensions) -> PassDimensions:
    return _model_and_data((0,), tuple(range(1, len(grid.logical_dimensions))))


def _model_data(grid: SplitDimensions) -> PassDimensions:
    return _model_and_data(tuple(range(1, len(grid.logical_dimensions))), (0,))


def _groups(grid: SplitDimensions) -> PassDimensions:
    return _model_and_data(grid.model_dimensions, grid.data_dimensions)


_FIRST_LAYER_EVERYWHERE = ("HYBRID_DLRM", "HYBRID_DLRM_ENHANCED")
_POLICIES: Mapping[str, Callable[[SplitDimensions], PassDimensions]] = {
    "DATA": _data,
    "MICRO": _data,
    "HYBRID_DLRM": _data,
    "HYBRID_DLRM_ENHANCED": _data,
    "MODEL": _model,
    "DISTRIBUTED_INFERENCE": _model,
    "HYBRID_DATA_MODEL": _data_model,
    "HYBRID_MODEL_DATA": _model_data,
    "HYBRID_TRANSFORMER": _groups,
    "HYBRID_TRANSFORMER_FWD_IN_BCKWD": _groups,
}
