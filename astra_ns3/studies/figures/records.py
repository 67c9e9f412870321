"""Whether the runs of a part have what its figures show: said before anything is played."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from astra_ns3.config.flow_list import FlowList
from astra_ns3.errors import wrong
from astra_ns3.experiments.request import RunRequest
from astra_ns3.experiments.scenario_request import ScenarioRequest
from astra_ns3.studies.figures.config import FigureConfig
from astra_ns3.studies.measures import ALONE, FLOWS, MEASURES, SCENARIO


def _kind_of(request: RunRequest) -> str:
    """Return what a run plays."""
    if isinstance(request, ScenarioRequest):
        return SCENARIO
    return FLOWS if isinstance(request.workload, FlowList) else ALONE


def check_records(figures: Mapping[str, FigureConfig], points: Iterable[tuple[str, RunRequest]], where: str) -> None:
    """Raise InputError, which begins with ``where``, for a measure that a point, ``(name, run)``, can't have."""
    shown = [(name, measure) for name, figure in figures.items() for measure in figure.y if measure in MEASURES]
    for point, request in points if shown else ():
        for figure, measure in shown:
            why = _why_not(measure, point, request)
            if why is not None:
                raise wrong(f"figure '{figure}': {why}", where)


def _why_not(measure: str, point: str, request: RunRequest) -> str | None:
    """Return why a point can't have a measure, and what to do; None: it can."""
    kind, record = _kind_of(request), MEASURES[measure].record
    if kind not in MEASURES[measure].of:
        return f"point {point} plays {kind}, which has no {measure}"
    if not record or kind == FLOWS:
        return None
    if isinstance(request, ScenarioRequest):
        traffic = any(each.traffic is not None for each in request.tenants)
        return None if traffic else f"{measure} of a scenario is that of its traffic, which point {point} hasn't"
    if record in request.record:
        return None
    return f"{measure} needs record '{record}', which point {point} hasn't: add 'record: [{record}]' to the part's base"
