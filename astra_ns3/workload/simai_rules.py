"""SimAI's own rules for a workload, for ``--compat simai``, and what a user should know of one of its files.

Source: aliyun/SimAI's workload layer: a BROADCAST is no communication, forward collectives of 1 to 4095 bytes count as
4096, stages don't talk to each other, and layers that initiate a second forward pass are forgotten while reading.
"""

from __future__ import annotations

from dataclasses import replace

from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.config.workload import Layer, Pass, Workload
from astra_ns3.workload.loops import SIMAI_LOOPS

LEAST_FORWARD_BYTES = 4096
_OURS = {theirs: ours for ours, theirs in SIMAI_LOOPS.items()}


def as_simai_plays(workload: Workload) -> Workload:
    """The workload as SimAI plays it; one of ASTRA-sim's transformers becomes one of SimAI's."""
    workload = replace(workload, loop=_OURS.get(workload.loop, workload.loop))
    layers = tuple(_silent(layer) for layer in workload.layers)
    if workload.loop not in SIMAI_LOOPS:
        return replace(workload, layers=layers)
    layers = tuple(replace(layer, forward=_raised(layer.forward)) for layer in layers)
    return replace(workload, layers=layers, stage_bytes=None, checkpoints=(), checkpoint_initiates=())


def simai_warnings(workload: Workload) -> list[str]:
    """What isn't played as one might expect."""
    if workload.loop in SIMAI_LOOPS and (workload.pipeline_stages or 1) > 1 and not workload.stage_bytes:
        return [
            f"{workload.source}: pp is {workload.pipeline_stages}, but no bytes go from stage to stage (pp_comm): the "
            "stages play side by side and wait for nothing of each other"
        ]
    return []


def _silent(layer: Layer) -> Layer:
    return replace(
        layer,
        forward=_without_broadcast(layer.forward),
        input_gradient=_without_broadcast(layer.input_gradient),
        weight_gradient=_without_broadcast(layer.weight_gradient),
    )


def _without_broadcast(part: Pass) -> Pass:
    return Pass(part.compute_ns) if part.collective is CollectiveKind.BROADCAST else part


def _raised(part: Pass) -> Pass:
    return replace(part, bytes=LEAST_FORWARD_BYTES) if 0 < part.bytes < LEAST_FORWARD_BYTES else part
