"""Collectives of a workload's file that its loop never issues, or issues among a single NPU; times never computed."""

from __future__ import annotations

import math
from collections.abc import Sequence

from astra_ns3.config.workload import PassKind, Workload
from astra_ns3.playing.dry_run.counting import collective_requests, computed_parts
from astra_ns3.playing.loops.loop_programs import Programs
from astra_ns3.workload.loops.loop_kinds import SIMAI_LOOPS

_NAMED_LAYERS = 3


def unissued_collectives(workload: Workload, dimensions: Sequence[int]) -> list[str]:
    """A warning for each kind of collective that the file has and its loop never issues; ASTRA-sim ignores it too.

    And for each that it issues on dimensions of one NPU alone where the network has more; of SimAI's loops their own
    rules tell that.
    """
    programs = Programs.of(workload, 1, dimensions)
    requests = collective_requests(programs)
    issued = {(request.label.layer, request.label.part) for request in requests}
    alone = {
        (request.label.layer, request.label.part)
        for request in requests
        if request.communicator is None
        and math.prod(dimensions) > 1
        and _is_alone(request.dimensions, programs.cut.dimensions)
    }
    unissued: dict[tuple[str, str], list[str]] = {}
    among_one: dict[tuple[str, str], list[str]] = {}
    for index, layer in enumerate(workload.layers):
        for kind, part in layer.passes.items():
            if part.collective is None or not part.bytes:
                continue
            if (index, kind) not in issued:
                unissued.setdefault((kind.value, part.collective.value), []).append(layer.name)
            elif (index, kind) in alone and workload.loop not in SIMAI_LOOPS:
                among_one.setdefault((kind.value, part.collective.value), []).append(layer.name)
    return [
        *(
            f"{workload.source}: loop {workload.loop} never issues the {kind} {collective} of {_layers(names)}"
            for (kind, collective), names in unissued.items()
        ),
        *(
            f"{workload.source}: the {kind} {collective} of {_layers(names)} goes over no dimension of more than "
            "one NPU, so nothing is sent"
            for (kind, collective), names in among_one.items()
        ),
    ]


def uncomputed_passes(workload: Workload, dimensions: Sequence[int]) -> list[str]:
    """A warning for each kind of pass with compute times that the loop never plays; ASTRA-sim ignores them too.

    The input gradient of the first layer, which nobody needs, is left out, and so are SimAI's loops, whose own rules
    tell what isn't played.
    """
    if workload.loop in SIMAI_LOOPS:
        return []
    computed = computed_parts(Programs.of(workload, 1, dimensions))
    left: dict[PassKind, list[str]] = {}
    for index, layer in enumerate(workload.layers):
        for kind, part in layer.passes.items():
            needed = index > 0 or kind is not PassKind.INPUT_GRADIENT
            if part.compute_ns and needed and (index, kind) not in computed:
                left.setdefault(kind, []).append(layer.name)
    return [
        f"{workload.source}: loop {workload.loop} leaves out the compute time of the {kind} of {_layers(names)}"
        for kind, names in left.items()
    ]


def _is_alone(chosen: Sequence[int] | None, dimensions: Sequence[int]) -> bool:
    return math.prod(dimensions if chosen is None else [dimensions[number] for number in chosen]) == 1


def _layers(names: Sequence[str]) -> str:
    """The layers in words: one by its name, of several how many they are and the first."""
    if len(names) == 1:
        return f"layer '{names[0]}'"
    shown = ", ".join(f"'{name}'" for name in names[:_NAMED_LAYERS])
    return f"{len(names)} layers: {shown}{', ...' if len(names) > _NAMED_LAYERS else ''}"
