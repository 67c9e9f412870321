"""A scenario looked at before it is played: who is where, what happens when, and how large its run will be."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from astra_ns3.config.core.forever import FOREVER
from astra_ns3.config.core.plain import JsonObject
from astra_ns3.experiments.forecasting.end import check_end
from astra_ns3.experiments.forecasting.forecast import Forecast
from astra_ns3.experiments.inputs import Inputs
from astra_ns3.experiments.network_parts.asked_reducers import check_reducers
from astra_ns3.experiments.scenario_request import ScenarioRequest
from astra_ns3.experiments.tenant_inputs import parts_of
from astra_ns3.experiments.validate import does_not_fit, forecast_tenants, tenants_of
from astra_ns3.frozen import dataclass
from astra_ns3.network.run_document import RowDocument, ScenarioDocument, TenantDocument, chosen
from astra_ns3.scenario.events import event_documents
from astra_ns3.scenario.placement import Places, places_of
from astra_ns3.units import counted

MOST_ROWS = 64
"""More rows than these find no room in a picture."""
_ROW_NPUS = 32


@dataclass(frozen=True)
class ScenarioView:
    """A scenario as plain data, what its run will send, and warnings."""

    scenario: ScenarioDocument
    forecast: Forecast
    warnings: tuple[str, ...]

    def document(self) -> JsonObject:
        """As plain data."""
        size = self.forecast.document()
        return {**chosen(self.scenario, self.scenario), "forecast": chosen(size, size), "warnings": self.warnings}


def view_scenario(request: ScenarioRequest) -> ScenarioView:
    """Read and check everything that a scenario names; plays nothing. Raises InputError."""
    tenants = tenants_of(request)
    parts = parts_of(request, tenants)
    check_reducers(parts)
    check_end(parts)
    warnings = dict.fromkeys(words for inputs in tenants for words in inputs.warnings)
    return ScenarioView(
        _document(request, tenants),
        forecast_tenants(request, tenants),
        (*warnings, *does_not_fit(parts)),
    )


def _document(request: ScenarioRequest, tenants: Sequence[Inputs]) -> ScenarioDocument:
    first, graph = tenants[0], tenants[0].graph
    return {
        "scenario": request.scenario_source,
        "network": os.fspath(request.network) if isinstance(request.network, (str, os.PathLike)) else "network",
        "npus": len(graph.npu_host),
        "hosts": graph.hosts - len(graph.reducers) - len(graph.storage),
        "jobs": [
            _tenant(inputs, part.passes)
            for inputs, (_, part) in zip(tenants, request.parts, strict=True)
            if inputs.tenancy.restart_ps is None
        ],
        "events": event_documents(first.events, graph),
        "recovery": request.course.recovery.document(),
        "rows": [*_rows(places_of(graph))],
    }


def _tenant(inputs: Inputs, passes: int) -> TenantDocument:
    asked = None if passes == FOREVER else passes
    headline = inputs.job.headline()
    traffic = (
        f"{headline.loop}, {counted(headline.layers, 'flow')}"
        if headline.layers
        else f"{headline.loop}, until jobs end"
    )
    workload = traffic if inputs.tenancy.is_traffic else inputs.job.source
    return {**inputs.tenancy.document(), "workload": workload, "passes": asked}


def _rows(places: Places) -> Iterator[RowDocument]:
    """Yield NPUs in rows: those of servers, where these have several and are few, or of racks, or as many as fit."""
    servers, racks = places.servers, places.racks
    if len(servers) <= MOST_ROWS and max(map(len, servers)) > 1:
        yield from (_row(f"server {number}", npus) for number, npus in enumerate(servers))
        return
    if 1 < len(racks) < min(MOST_ROWS + 1, len(servers)):
        yield from (_row(f"rack {number}", places.of_rack(rack)) for number, rack in enumerate(racks))
        return
    npus = list(places.npus)
    width = max(_ROW_NPUS, -(-len(npus) // MOST_ROWS))
    for begin in range(0, len(npus), width):
        own = npus[begin : begin + width]
        yield _row(f"from NPU {own[0]}", own)


def _row(name: str, npus: Sequence[int]) -> RowDocument:
    return {"name": name, "npus": npus}
