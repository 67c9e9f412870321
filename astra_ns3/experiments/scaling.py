"""The factors that make a run smaller or larger than its workload's file, and what they may take away of it."""

from __future__ import annotations

from math import isfinite

from astra_ns3.config.workload import Workload
from astra_ns3.errors import refuse
from astra_ns3.workload.loops.loop_kinds import LOOPS

MOST_APART = 2.0
"""By how much sizes and compute times may be scaled apart before a run is said to be another workload's."""


def joint_scales(scale: float, comm_scale: float, compute_scale: float) -> tuple[float, float]:
    """Factors of sizes and of compute times, when ``scale`` multiplies both; raises InputError unless it is above 0."""
    number = isinstance(scale, (int, float)) and not isinstance(scale, bool)
    refuse(not number or not (isfinite(scale) and scale > 0), f"scale is {scale!r}, expected a number above 0")
    return (comm_scale, compute_scale) if scale == 1 else (scale * comm_scale, scale * compute_scale)


def scaled_apart(workload: Workload, comm_scale: float, compute_scale: float) -> list[str]:
    """A warning if the factors change which of communication and computation counts in ``workload``."""
    if workload.loop in LOOPS and not LOOPS[workload.loop].computes:
        return []
    passes = [part for layer in workload.layers for part in layer.passes.values()]
    if not any(part.compute_ns for part in passes) or not any(part.bytes for part in passes):
        return []
    return told_apart(workload.source, comm_scale, compute_scale)


def told_apart(source: str, comm_scale: float, compute_scale: float) -> list[str]:
    """A warning if the factors of sizes and of times, both of which there are, are far apart."""
    if max(comm_scale, compute_scale) <= MOST_APART * min(comm_scale, compute_scale):
        return []
    return [
        f"{source}: communication is scaled by {comm_scale:g} and computation by {compute_scale:g}, so how "
        "much of one hides the other is not the workload's any more; --scale scales both"
    ]
