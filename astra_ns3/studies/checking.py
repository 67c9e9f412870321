"""Builds all of a study's points that can be built without a simulator: finds what is wrong, and how long they take."""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterable, Mapping

from astra_ns3.config.core.placing import names_files
from astra_ns3.config.topology.own import OwnTopology
from astra_ns3.errors import InputError
from astra_ns3.experiments.changes.documents import AnyConfig, given_of
from astra_ns3.experiments.changes.files import FILES
from astra_ns3.experiments.forecasting.forecast import forecast
from astra_ns3.experiments.forecasting.unsure import unsure_of
from astra_ns3.experiments.inputs import Inputs
from astra_ns3.experiments.option import options_of
from astra_ns3.experiments.options import Options
from astra_ns3.experiments.request import RunRequest
from astra_ns3.experiments.scenario_request import ScenarioRequest
from astra_ns3.experiments.tenant_inputs import foreseen_tries, load_tenants, parts_of
from astra_ns3.frozen import dataclass
from astra_ns3.studies.expansion import Point, all_of

# Options that change how much there is to do, but hardly whether it can be done.
_OF_NO_CONSEQUENCE = ("scale", "comm_scale", "compute_scale", "passes")


@dataclass(frozen=True)
class PointForecast:
    """A guess of what a point takes: seconds of one core in a worker that has played before, and bytes."""

    seconds: float
    bytes: int
    leaves_out: bool = False
    """Whether parts of the run aren't counted."""
    may_be_less: bool = False
    """Whether parts that are counted may not come."""


def check_points(points: Iterable[Point]) -> None:
    """Raise InputError for all that is wrong with any of the points, in one line.

    Of points that differ in size alone, one is tried; those with code of the user's are tried where they are played.
    """
    known: set[Hashable] = set()
    wrong: dict[str, None] = {}
    for point in points:
        kind = _kind(point.request)
        if kind in known:
            continue
        known.add(kind)
        try:
            _inputs(point.request)
        except InputError as error:
            wrong[f"point {point.name}: {error}"] = None
    if wrong:
        raise all_of(list(wrong))


def forecasts(points: Iterable[Point]) -> Mapping[str, PointForecast]:
    """Return what points will take, by address; none of those with code of the user's. Raises InputError."""
    found: dict[str, PointForecast] = {}
    alike: dict[Hashable, PointForecast | None] = {}
    for point in points:
        request = point.request
        kind = (_kind(request), *(getattr(request, name) for name in _OF_NO_CONSEQUENCE))
        if kind not in alike:
            inputs = _inputs(request)
            alike[kind] = None if inputs is None else _forecast_of(request, inputs)
        known = alike[kind]
        if known is not None:
            found[point.address] = known
    return found


def _forecast_of(request: RunRequest, inputs: tuple[Inputs, ...]) -> PointForecast:
    passes = [part.passes for _, part in request.parts] if isinstance(request, ScenarioRequest) else [request.passes]
    unsure = unsure_of([*zip(inputs, passes, strict=True)])
    guess = forecast(parts_of(request, inputs), foreseen_tries(request, inputs), unsure)
    sides = bool(guess.not_counted), bool(guess.may_not_come)
    return PointForecast(guess.warm_seconds, guess.memory_bytes, *sides)


def _kind(request: RunRequest) -> tuple[Hashable, ...]:
    """All that decides whether a run can be built, as something to look up; the points keep their files alive."""
    names = [one.name for one in options_of(Options) if one.name not in _OF_NO_CONSEQUENCE]
    configs = [*map(id, _configs(request)), id(getattr(request, "scenario", None))]
    return (*configs, *(getattr(request, name) for name in names))


def _configs(request: RunRequest) -> list[AnyConfig]:
    """All that was read of a run's files."""
    if not isinstance(request, ScenarioRequest):
        return [getattr(request, name) for name in FILES]
    found = [request.network, *(file for tenant in request.tenants for file in tenant.files)]
    return [config for config in found if not isinstance(config, (str, os.PathLike))]  # none is: all was read


def _inputs(request: RunRequest) -> tuple[Inputs, ...] | None:
    """Return the inputs of each tenant of the run; None if code of the user's takes part in that."""
    return None if _names_code(request) else load_tenants(request)


def _names_code(request: RunRequest) -> bool:
    words = [getattr(request, one.name) for one in options_of(Options)]
    configs = _configs(request)
    topology = getattr(request.network, "topology", None)
    own = isinstance(topology, OwnTopology) or any(isinstance(word, str) and ".py:" in word for word in words)
    return own or any(".py:" in str(given_of(config)) for config in configs if names_files(given_of(config)))
