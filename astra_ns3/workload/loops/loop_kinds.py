"""Training loops as descriptions: over which dimensions their passes go, and what a workload file says of each."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

from astra_ns3.config.workload import Workload
from astra_ns3.errors import refuse
from astra_ns3.frozen import dataclass
from astra_ns3.workload.loops.pass_dimensions import (
    DimensionsOf,
    by_groups,
    data_only,
    data_then_model,
    model_only,
    model_then_data,
)


class LoopOption(str, Enum):
    """The numbers that a loop is given beside its layers: the fields of
    :class:`~astra_ns3.config.workload.Workload`."""

    LAST_BOTTOM_LAYER = "last_bottom_layer"
    MODEL_PARALLEL_NPUS = "model_parallel_npus"
    CHECKPOINTS = "checkpoints"
    CHECKPOINT_INITIATES = "checkpoint_initiates"
    NPUS = "npus"
    EXPERT_PARALLEL_NPUS = "expert_parallel_npus"
    PIPELINE_STAGES = "pipeline_stages"
    MICRO_BATCHES = "micro_batches"
    VIRTUAL_STAGES = "virtual_stages"
    STAGE_BYTES = "stage_bytes"


@dataclass(frozen=True)
class LoopKind:
    """The demands of a loop on its file and on the grid of NPUs.

    ``dimensions``: over which each pass goes, but for the first layer's, which go over all where
    ``first_layer_everywhere`` says so; None: every layer names the loop whose it takes. ``options``: what a workload
    file has to say besides, in this order. ``computes``: whether compute times of its layers have an effect.
    """

    dimensions: DimensionsOf | None = None
    first_layer_everywhere: bool = False
    options: tuple[LoopOption, ...] = ()
    computes: bool = True


_BOTTOM = (LoopOption.LAST_BOTTOM_LAYER,)
_GROUPS = (LoopOption.MODEL_PARALLEL_NPUS,)
_CHECKPOINTS = (*_GROUPS, LoopOption.CHECKPOINTS, LoopOption.CHECKPOINT_INITIATES)
_SIMAI = (
    LoopOption.EXPERT_PARALLEL_NPUS,
    LoopOption.PIPELINE_STAGES,
    LoopOption.VIRTUAL_STAGES,
    LoopOption.MICRO_BATCHES,
    LoopOption.NPUS,
    LoopOption.STAGE_BYTES,
)
LOOPS: Mapping[str, LoopKind] = {
    "MICRO": LoopKind(dimensions=data_only, computes=False),
    "DATA": LoopKind(dimensions=data_only),
    "MODEL": LoopKind(dimensions=model_only),
    "HYBRID_DATA_MODEL": LoopKind(dimensions=data_then_model),
    "HYBRID_MODEL_DATA": LoopKind(dimensions=model_then_data),
    "HYBRID_DLRM": LoopKind(dimensions=data_only, first_layer_everywhere=True, options=_BOTTOM),
    "HYBRID_DLRM_ENHANCED": LoopKind(dimensions=data_only, first_layer_everywhere=True, options=_BOTTOM),
    "HYBRID_TRANSFORMER": LoopKind(dimensions=by_groups, options=_GROUPS),
    "HYBRID_TRANSFORMER_FWD_IN_BCKWD": LoopKind(dimensions=by_groups, options=_CHECKPOINTS),
    "HYBRID_CUSTOMIZED": LoopKind(),
    "DISTRIBUTED_INFERENCE": LoopKind(dimensions=model_only),
    "SIMAI_TRANSFORMER": LoopKind(options=(*_GROUPS, *_SIMAI)),
    "SIMAI_TRANSFORMER_FWD_IN_BCKWD": LoopKind(options=(*_CHECKPOINTS, *_SIMAI)),
}

SIMAI_LOOPS: Mapping[str, str] = {
    "SIMAI_TRANSFORMER": "HYBRID_TRANSFORMER",
    "SIMAI_TRANSFORMER_FWD_IN_BCKWD": "HYBRID_TRANSFORMER_FWD_IN_BCKWD",
}
"""The loops whose collectives go among groups that they name, and what SimAI's files call them."""

TEXT_LOOPS = tuple(name for name in LOOPS if name not in SIMAI_LOOPS)
"""The loops of ASTRA-sim 1.0's text."""

LAYER_POLICIES = tuple(
    name
    for name, loop in LOOPS.items()
    if loop.dimensions is not None and LoopOption.MODEL_PARALLEL_NPUS not in loop.options
)
"""The loops that a layer of HYBRID_CUSTOMIZED may name: it communicates over the dimensions that it would in that
loop."""


def check_loop(workload: Workload) -> None:
    """Raise InputError if a workload doesn't say what its loop, one of :data:`LOOPS`, has to be told."""
    options = LOOPS[workload.loop].options
    refuse(
        LoopOption.LAST_BOTTOM_LAYER in options and workload.last_bottom_layer is None,
        f"{workload.loop} needs the number of its last bottom layer",
        workload.source,
    )
    if LoopOption.MODEL_PARALLEL_NPUS not in options:
        return
    refuse(
        workload.model_parallel_npus is None,
        f"{workload.loop} needs the number of NPUs that share a copy of the model",
        workload.source,
    )
    for layer in workload.checkpoint_initiates:
        refuse(
            not any(kept <= layer for kept in workload.checkpoints),
            f"no checkpoint is at or below initiating layer {layer}",
            workload.source,
        )
