"""SimAI's own rules for a workload, for ``--compat simai``, and what a user should know of one of its files.

Source: aliyun/SimAI's workload layer. A BROADCAST is no communication, and forward collectives of 1 to 4095 bytes count
as 4096. Stages don't talk to each other, and layers that initiate a second forward pass are forgotten while reading.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.config.core.compatibility import OURS, Compatibility
from astra_ns3.config.workload import Pass, Workload
from astra_ns3.workload.loops.loop_kinds import SIMAI_LOOPS
from astra_ns3.workload.loops.parallel_groups import ParallelGroups, parallel_groups
from astra_ns3.workload.loops.pass_dimensions import USUAL_GROUPS

LEAST_FORWARD_BYTES = 4096
_OURS = {theirs: ours for ours, theirs in SIMAI_LOOPS.items()}


def as_simai_plays(workload: Workload) -> Workload:
    """The workload as SimAI plays it; one of ASTRA-sim's transformers becomes one of SimAI's."""
    workload = replace(workload, loop=_OURS.get(workload.loop, workload.loop))
    layers = tuple(layer.changed(_without_broadcast) for layer in workload.layers)
    if workload.loop not in SIMAI_LOOPS:
        return replace(workload, layers=layers)
    layers = tuple(replace(layer, forward=_raised(layer.forward)) for layer in layers)
    return replace(workload, layers=layers, stage_bytes=None, checkpoints=(), checkpoint_initiates=())


def simai_warnings(workload: Workload, dimensions: Sequence[int], compatibility: Compatibility = OURS) -> list[str]:
    """Things that aren't played as one might expect on a network of ``dimensions``; raises InputError if groups don't
    fit."""
    if workload.loop not in SIMAI_LOOPS:
        return []
    groups = parallel_groups(workload, dimensions)
    told = [*_of_the_pipeline(workload, groups, compatibility), *_of_single_npus(workload, groups)]
    if compatibility.truncate_messages:
        told.append(
            "ASTRA-sim reads none of SimAI's workloads: groups of NPUs, sizes and pipelines are as without the preset, "
            "only what happens inside a collective is ASTRA-sim's; --compat simai plays the file as SimAI does"
        )
    return [f"{workload.source}: {words}" for words in told]


def _of_the_pipeline(workload: Workload, groups: ParallelGroups, compatibility: Compatibility) -> Iterator[str]:
    if groups.stages > 1 and compatibility.simai_workloads:
        yield (
            f"pp is {groups.stages}, and --compat simai plays no pipeline, as SimAI: each stage computes and sends "
            "what the file says without waiting for the others; without the preset activations (pp_comm) go from stage "
            "to stage"
        )
    elif groups.stages > 1 and groups.batches is None:
        yield (
            f"pp is {groups.stages}, but no bytes go from stage to stage (pp_comm): the stages play side by side and "
            "wait for nothing of each other"
        )
    if groups.batches is not None and groups.batches.uncut:
        yield (
            f"vpp is {workload.virtual_stages}, but the pipeline isn't interleaved, for {groups.batches.uncut}: plain "
            "1F1B instead"
        )


def _of_single_npus(workload: Workload, groups: ParallelGroups) -> Iterator[str]:
    """Collectives that have something to send, and nobody to send it to."""
    parts = [
        (part.group or USUAL_GROUPS[kind], part) for layer in workload.layers for kind, part in layer.passes.items()
    ]
    alone = Counter(group.value for group, part in parts if part.collective and part.bytes and groups.sizes[group] == 1)
    if alone:
        counted = ", ".join(f"{count} of {name}" for name, count in alone.items())
        sizes = ", ".join(f"{group.value} {size}" for group, size in groups.sizes.items())
        yield f"collectives among a single NPU, which move no bytes: {counted} (NPUs of a group: {sizes})"


def _without_broadcast(part: Pass) -> Pass:
    return Pass(part.compute_ns) if part.collective is CollectiveKind.BROADCAST else part


def _raised(part: Pass) -> Pass:
    return replace(part, bytes=LEAST_FORWARD_BYTES) if 0 < part.bytes < LEAST_FORWARD_BYTES else part
