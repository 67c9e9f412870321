"""The inputs of all tenants of a request, on one plan of their network."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from astra_ns3.collectives.schedule import Tell, silent
from astra_ns3.experiments.inputs import Inputs, Parts, load_inputs, scenario_of
from astra_ns3.experiments.request import RunRequest


def load_tenants(request: RunRequest, *, tell: Tell = silent) -> tuple[Inputs, ...]:
    """Read and check what each tenant plays; raises InputError, also if two tenants have an NPU in common."""
    found: list[Inputs] = []
    for tenant, part in request.parts:
        first = found[0] if found else None
        if first is not None:
            part = replace(part, network=first.network, compat=first.compat)
        found.append(
            load_inputs(part.workload, part.system, part.network, part, tell=tell, tenant=tenant, beside=first)
        )
    scenario_of(found)
    return tuple(found)


def parts_of(request: RunRequest, tenants: Sequence[Inputs]) -> Parts:
    """Return the inputs of each tenant with how many passes the tenant plays."""
    return [(inputs, part.passes) for inputs, (_, part) in zip(tenants, request.parts, strict=True)]
