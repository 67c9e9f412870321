"""Whether the runs of a part have what its figures show: said before anything is played."""

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
    """Raise InputError, which begins with ``where``, for a measure that a point, ``(name, run)``, leaves out."""
    shown = [(name, measure) for name, figure in figures.items() for measure in figure.y if measure in MEASURES]
    needed = {record: each for each in shown if (record := MEASURES[each[1]].record)}
    of_programs = next((each for each in shown if not MEASURES[each[1]].of_flows), None)
    if not needed and of_programs is None:
        return
    for point, request in points:
        if of_programs is not None and isinstance(request.workload, FlowList):
            figure, measure = of_programs
            raise wrong(f"figure '{figure}': point {point} plays a list of flows, which has no {measure}", where)
        for record, (figure, measure) in needed.items():
            if record not in request.record and not _has_flows(request):
                raise wrong(
                    f"figure '{figure}': {measure} needs record '{record}', which point {point} hasn't: "
                    f"add 'record: [{record}]' to the part's base",
                    where,
                )
