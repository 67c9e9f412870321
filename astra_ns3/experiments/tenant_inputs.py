"""The inputs of all tenants of a request, on one plan of their network."""

from __future__ import annotations

from dataclasses import replace

from astra_ns3.collectives.schedule_files import Tell, silent
from astra_ns3.experiments.inputs import Inputs, load_inputs, scenario_of
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
