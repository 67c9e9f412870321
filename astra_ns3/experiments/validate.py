"""Checks the three files of a run and builds all that can be built without a simulator."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from astra_ns3.config.core.plain import JsonObject
from astra_ns3.config.core.reading import read_text
from astra_ns3.config.network.file import AnyNetwork
from astra_ns3.config.system import SystemConfig
from astra_ns3.errors import InputError
from astra_ns3.experiments.description import in_force_document
from astra_ns3.experiments.forecasting.capacity import check_run_fits
from astra_ns3.experiments.forecasting.end import check_end
from astra_ns3.experiments.forecasting.forecast import Forecast, forecast
from astra_ns3.experiments.forecasting.foreseen import foreseen_document
from astra_ns3.experiments.forecasting.unsure import unsure_of
from astra_ns3.experiments.inputs import USUAL, FilePath, Inputs, Options, Parts, load_inputs
from astra_ns3.experiments.isolated.trial import try_in_child
from astra_ns3.experiments.network_parts.asked_reducers import check_reducers
from astra_ns3.experiments.tenant_inputs import foreseen_tries, load_tenants, parts_of
from astra_ns3.frozen import asdict, dataclass
from astra_ns3.network.backend_makers import check_own_control
from astra_ns3.network.run_document import ForeseenDocument
from astra_ns3.system.intra_dimension import join_rule
from astra_ns3.system.own_policies import find_policy, is_own
from astra_ns3.system.policies import USUAL_POLICIES
from astra_ns3.workload.files.workload_formats import AnyWorkload

if TYPE_CHECKING:
    from astra_ns3.experiments.scenario_request import ScenarioRequest


@dataclass(frozen=True)
class Validation:
    """The shape of a run, its forecast, and warnings."""

    loop: str
    layers: int
    """Or what ``counted`` says: ``flow``, ``graph``."""
    counted: str
    passes: int
    npus: int
    hosts: int
    switches: int
    links: int
    forecast: Forecast
    in_force: JsonObject | None
    """Every number of the transports and of marking, as run.json has them; None without packets."""
    warnings: tuple[str, ...]
    foreseen: ForeseenDocument
    """Numbers of a model, as run.json has them: memory by stage, how experts are chosen."""

    def document(self) -> JsonObject:
        """As plain data."""
        return {**asdict(self), "forecast": self.forecast.document()}


def validate(
    workload: FilePath | AnyWorkload,
    system: FilePath | SystemConfig,
    network: FilePath | AnyNetwork,
    options: Options = USUAL,
) -> Validation:
    """Read and check everything, build graph, loop and schedules, run nothing; raises InputError."""
    options.check()
    load = partial(load_inputs, workload, system, network, options)
    if any(map(_may_name_code, (workload, system, network, options))):
        try_in_child(load)  # it may call the user's functions
    inputs = load()
    if _has_own_code(inputs):
        try_in_child(partial(check_own_code, inputs))
    check_reducers([(inputs, options.passes)])
    check_end([(inputs, options.passes)])
    foreseen = foreseen_document(inputs.job.foreseen(inputs.platform))
    if foreseen:
        foreseen["compute_scale"] = options.scales[1]
    return Validation(
        loop=inputs.job.headline().loop,
        layers=inputs.job.headline().layers,
        counted=inputs.job.headline().counted,
        passes=options.passes,
        npus=inputs.network.npus,
        hosts=inputs.graph.hosts - len(inputs.graph.reducers) - len(inputs.graph.storage),
        switches=inputs.graph.switches,
        links=len(inputs.graph.links) - len(inputs.graph.reducers),
        forecast=forecast([(inputs, options.passes)], unsure=unsure_of([(inputs, options.passes)])),
        in_force=None if inputs.packets is None else in_force_document(inputs.plan),
        warnings=(*inputs.warnings, *does_not_fit([(inputs, options.passes)])),
        foreseen=foreseen,
    )


def forecast_of(request: ScenarioRequest) -> Forecast:
    """Return what the run of ``request`` will come to; raises InputError."""
    return forecast_tenants(request, tenants_of(request))


def forecast_tenants(request: ScenarioRequest, tenants: Sequence[Inputs]) -> Forecast:
    """Return what the run of ``request`` will come to, whose inputs are read."""
    unsure = unsure_of([(inputs, part.passes) for inputs, (_, part) in zip(tenants, request.parts, strict=True)])
    return forecast(parts_of(request, tenants), foreseen_tries(request, tenants), unsure)


def tenants_of(request: ScenarioRequest) -> tuple[Inputs, ...]:
    """Read and check what each tenant plays, the user's code first in a child; raises InputError."""
    request.check()
    load = partial(load_tenants, request)
    files = (request.network, *(file for tenant in request.tenants for file in tenant.files))
    if any(map(_may_name_code, files)):
        try_in_child(load)  # it may call the user's functions
    found = load()
    for inputs in found:
        if _has_own_code(inputs):
            try_in_child(partial(check_own_code, inputs))
    return found


def does_not_fit(parts: Parts) -> list[str]:
    """Return why ``run`` would refuse sound files on this machine as it is now; empty: it wouldn't."""
    try:
        check_run_fits(parts)
    except InputError as error:
        return [f"run would refuse this here and now: {error}"]
    return []


def check_own_code(inputs: Inputs) -> None:
    """Load the user's policies and congestion control, as a run does; raises InputError if that fails."""
    find_policy(inputs.system.scheduling_policy, USUAL_POLICIES)
    join_rule(inputs.system.intra_dimension_scheduling)
    check_own_control(inputs.plan)


def _may_name_code(given: object) -> bool:
    """Whether a file, or a model, names a file of the user's Python; what can't be read names none."""
    try:
        text = read_text(given) if isinstance(given, (str, os.PathLike)) else repr(given)
    except InputError:
        return False
    return ".py:" in text


def _has_own_code(inputs: Inputs) -> bool:
    policies = inputs.system.scheduling_policy, inputs.system.intra_dimension_scheduling
    return any(map(is_own, policies)) or inputs.network.own_control is not None
