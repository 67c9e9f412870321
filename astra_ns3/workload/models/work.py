"""The worth of an iteration of a model's training: its samples, its operations, and what its devices could do.

Model FLOPs are those of the products of a forward and a backward pass, without what is computed again: D. Narayanan et
al., "Efficient Large-Scale Language Model Training on GPU Clusters Using Megatron-LM", SC 2021, section 5.1. Model FLOP
utilisation is A. Chowdhery et al., "PaLM: Scaling Language Modeling with Pathways", 2022, appendix B: three times the
forward pass, also of a first layer, whose input needs no gradient.
"""

from __future__ import annotations

from astra_ns3.config.model.compute import AnyCompute, Given, Systolic
from astra_ns3.config.training_plan import TrainingPlan
from astra_ns3.frozen import dataclass
from astra_ns3.workload.experts.skew import expert_skew
from astra_ns3.workload.models.parts import BACKWARD_TOO
from astra_ns3.workload.models.workload import ModelWorkload

# A multiplication and an addition.
_FLOPS_OF_A_CELL = 2


@dataclass(frozen=True)
class IterationWork:
    """An iteration on all NPUs. ``sample``: what a sample is; ``tokens``: of one sample (1: it has none).

    ``flops``: of all samples, forward and backward, without what is computed again or dropped. ``peak_flops``: of a
    device, per second (None: no device is named, or it has no peak for the datatype). ``dropped_share``: of the tokens'
    choices of experts, those above a capacity (None: experts are chosen alike, or there are none).
    """

    sample: str
    samples: int
    tokens: int
    flops: int
    peak_flops: int | None
    dropped_share: float | None = None


def iteration_work(workload: ModelWorkload, plan: TrainingPlan) -> IterationWork:
    """Return the work of an iteration of ``workload`` as ``plan`` cuts it."""
    file, totals = workload.file, workload.totals()
    samples = plan.micro_batches * file.training.micro_batch * plan.degrees.data
    peak = _peak_flops(file.compute, file.training.datatype)
    layers = expert_skew(plan)
    dropped = sum(layer.dropped_share for layer in layers)
    flops = samples * totals.training_flops - int(samples * BACKWARD_TOO * totals.routed_flops * dropped)
    share = float(dropped / len(layers)) if layers else None
    return IterationWork(totals.sample, samples, totals.tokens, flops, peak, share)


def _peak_flops(compute: AnyCompute, datatype: str) -> int | None:
    """Peak of the device that computes products; arrays of cells have the peak of all their cells."""
    if isinstance(compute, Given):
        return None
    if isinstance(compute, Systolic):
        return _FLOPS_OF_A_CELL * compute.rows * compute.columns * compute.arrays * compute.frequency
    return None if compute.device is None else compute.device.peak.by_datatype.get(datatype)
