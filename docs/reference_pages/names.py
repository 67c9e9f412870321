"""Names that files choose from, such as loops and policies, from the words of what they name."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping

from astra_ns3.playing.loops.loops import PLAYED_LOOPS
from astra_ns3.scenario.placement import PLACEMENTS
from astra_ns3.system.inter_dimension import INTER_DIMENSION
from astra_ns3.system.intra_dimension import INTRA_DIMENSION
from astra_ns3.system.policies import USUAL_POLICIES
from astra_ns3.workload.generators.flow_sizes import DISTRIBUTIONS
from astra_ns3.workload.loops.loop_kinds import LOOPS, SIMAI_LOOPS
from astra_ns3.workload.training.schedules import SCHEDULES
from reference_pages.markdown import cell, code, table

_BEGIN = """# Names that files choose from

Made from the code. Instead of a name, but not of a placement, a file may name a [function of yours](../extending.md).
"""
_LOOPS = """## Training loops

Line 1 of a [workload](../workloads.md). In all loops the forward pass of a layer first waits for that layer's
weight-gradient collective of the pass before; nothing else couples passes. At the end an NPU waits for all that is
outstanding.
"""
_POLICIES: Mapping[str, Mapping[str, Callable[..., object]]] = {
    "scheduling-policy": USUAL_POLICIES,
    "intra-dimension-scheduling": INTRA_DIMENSION,
    "inter-dimension-scheduling": INTER_DIMENSION,
}
"""By the key of a system file."""
_SCHEDULES = """## Orders of a pipeline

`schedule` of a [model](../training.md#pipelines). Idle shares are those of m micro-batches on p stages, without
communication. F, I and W are the times of the forward pass, of the gradients of inputs and of weights.
"""
_SIZES = """## Sizes of flows

`--sizes` of [`generate flows`](../flows.md#generators) and `sizes` of [other traffic](../traffic.md).
The points are those of HPCC's traffic generator (`alibaba-edu/High-Precision-Congestion-Control`,
folder `traffic_gen`).
"""
_FIRST = "; layer 0's all-to-alls over all"


def names_page() -> str:
    """Return the page: loops, policies by the key that names them, placements."""
    parts = [_BEGIN, _LOOPS, _loops()]
    parts += [_SCHEDULES, _named(SCHEDULES)]
    for key, policies in _POLICIES.items():
        parts += [f"## {code(key)}\n\nA key of a [system file](../system-file.md#policies).\n", _named(policies)]
    sizes = [
        (code(each.name), f"{each.mean_bytes / 1000:,.4g} KB", cell(each.source)) for each in DISTRIBUTIONS.values()
    ]
    parts += [_SIZES, table(("Name", "Mean", "Source"), sizes)]
    parts += ["## Placements\n\n`place` of a job in a [scenario](../scenario.md#placements).\n", _named(PLACEMENTS)]
    return "\n".join(parts)


def _loops() -> str:
    rows = []
    for name, loop in PLAYED_LOOPS.items():
        kind = LOOPS[name]
        over = "Each layer says it" if name not in SIMAI_LOOPS else "Collectives name groups"
        over = cell(_words(kind.dimensions).rstrip(".")) if kind.dimensions else over
        options = ", ".join(code(option.value) for option in kind.options)
        over += _FIRST if kind.first_layer_everywhere else ""
        rows.append((code(name), cell(_words(loop.program)), over, options))
    return table(("Name", "What it does", "Over which dimensions", "Options"), rows)


def _named(found: Mapping[str, Callable[..., object]]) -> str:
    return table(("Name", "Meaning"), [(code(name), cell(_words(each))) for name, each in found.items()])


def _words(function: Callable[..., object]) -> str:
    return inspect.getdoc(function) or ""
