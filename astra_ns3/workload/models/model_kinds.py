"""Kinds of models: what makes blocks and totals of each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from astra_ns3.config.training_plan import Degrees
from astra_ns3.frozen import dataclass
from astra_ns3.workload.models.convolution import convolution_parts, convolution_totals
from astra_ns3.workload.models.gemms import gemms_parts, gemms_totals
from astra_ns3.workload.models.parts import Parts, Totals
from astra_ns3.workload.models.recommendation.build import dlrm_parts, dlrm_totals
from astra_ns3.workload.models.recurrent import recurrent_parts, recurrent_totals
from astra_ns3.workload.models.transformer.build import transformer_parts
from astra_ns3.workload.models.transformer.totals import transformer_totals


@dataclass(frozen=True)
class ModelKind:
    """``parts``: an NPU's blocks for these degrees; ``totals``: the whole model."""

    parts: Callable[[Any, Degrees], Parts]  # takes a model of its kind alone
    totals: Callable[[Any], Totals]  # takes a model of its kind alone


MODEL_KINDS: Mapping[str, ModelKind] = {
    "transformer": ModelKind(transformer_parts, transformer_totals),
    "convolution": ModelKind(convolution_parts, convolution_totals),
    "recurrent": ModelKind(recurrent_parts, recurrent_totals),
    "dlrm": ModelKind(dlrm_parts, dlrm_totals),
    "gemms": ModelKind(gemms_parts, gemms_totals),
}
"""By the word after ``kind`` in a model file."""
