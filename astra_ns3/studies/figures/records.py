"""Whether the runs of a part record what its figures show: said before anything is played."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from astra_ns3.config.flow_list import FlowList
from astra_ns3.errors import wrong
from astra_ns3.experiments.request import RunRequest
from astra_ns3.experiments.scenario_request import ScenarioRequest
from astra_ns3.studies.figures.config import FigureConfig
from astra_ns3.studies.measures import MEASURES


def _has_flows(request: RunRequest) -> bool:
    """Whether a run tells of each flow anyway."""
    traffic = isinstance(request, ScenarioRequest) and any(each.traffic is not None for each in request.tenants)
    return traffic or isinstance(request.workload, FlowList)


def check_records(figures: Mapping[str, FigureConfig], points: Iterable[tuple[str, RunRequest]], where: str) -> None:
    """Raise InputError, which begins with ``where``, for a measure whose table a point, ``(name, run)``, leaves out."""
    needed = {
        record: (name, measure)
        for name, figure in figures.items()
        for measure in figure.y
        if measure in MEASURES and (record := MEASURES[measure].record)
    }
    if not needed:
        return
    for point, request in points:
        for record, (figure, measure) in needed.items():
            if record not in request.record and not _has_flows(request):
                raise wrong(
                    f"figure '{figure}': {measure} needs record '{record}', which point {point} hasn't: "
                    f"add 'record: [{record}]' to the part's base",
                    where,
                )
