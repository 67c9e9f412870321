"""Changes of a run that can be played: the same request with other files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

from astra_ns3.config.core.model import ConfigModel
from astra_ns3.config.network.analytical_network import AnalyticalNetwork
from astra_ns3.config.network.file import AnyNetwork
from astra_ns3.config.network.packet_network import NetworkConfig
from astra_ns3.config.scenario.file import ScenarioFile
from astra_ns3.config.system import SystemConfig
from astra_ns3.config.topology.base import times
from astra_ns3.config.topology.switched import SingleSwitch
from astra_ns3.config.transports.roce_control import RoceControl
from astra_ns3.errors import refuse, wrong
from astra_ns3.experiments.device import inside_share, network_as_reached
from astra_ns3.experiments.given_files import network_of_run, read_files
from astra_ns3.experiments.options import network_with_options, system_with_options
from astra_ns3.experiments.request import RunRequest
from astra_ns3.experiments.scenario_request import ScenarioRequest
from astra_ns3.experiments.slowdown import checked_slowdown
from astra_ns3.frozen import replace
from astra_ns3.report.explanation.parts import LINE_RATE, LOSSES, NO_ACKNOWLEDGEMENTS, OPEN_WINDOW
from astra_ns3.report.explanation.what_ifs import FASTER_LINES, FASTER_NPUS, NO_DELAYS, NO_SLOW_NPUS
from astra_ns3.workload.models.changes import changed as with_keys
from astra_ns3.workload.models.workload import ModelWorkload

_TWICE = 2
_NO_DELAYS: Mapping[str, int] = {"endpoint_delay_ns": 0, "start_jitter_ns": 0, "reduction_bytes_per_ns": 10**12}
_LARGER = "try a larger one: --set network.transport.window=16MB"
_Config = TypeVar("_Config", bound=ConfigModel)


def with_files_read(request: RunRequest) -> RunRequest:
    """Return the same request with what its files say in place of their names; of a scenario, the network's alone.

    Raises InputError.
    """
    if isinstance(request, ScenarioRequest):
        network = network_of_run(request.network, replace(request, changes=None))
        return replace(request, network=network, congestion_control=None, logical_topology=None)
    files = read_files(request.workload, request.system, request.network, request)
    return replace(
        request,
        workload=files.workload,
        system=system_with_options(files.system, request),
        network=network_with_options(files.network.network, request),
        compat=request.compat if request.compat != "none" else files.network.compat or "none",
        changes=None,
        groups=None,
        congestion_control=None,
        logical_topology=None,
    )


def _faster_lines(request: RunRequest) -> RunRequest:
    network = _network(request)
    if isinstance(network, AnalyticalNetwork):
        grid = (each.model_copy(update={"bytes_per_ns": each.bytes_per_ns * _TWICE}) for each in network.grid)
        return replace(request, network=network.model_copy(update={"grid": tuple(grid)}))
    faster = (
        _with_faster_events(request) if isinstance(request, ScenarioRequest) else _with_same_share(request, network)
    )
    topology = network.topology.faster(_TWICE)
    if isinstance(topology, SingleSwitch):  # its hosts' own lines are outside the network
        topology = topology.model_copy(update={"local": times(topology.local, _TWICE)})
    return replace(faster, network=network.model_copy(update={"topology": topology}))


def _with_same_share(request: RunRequest, network: NetworkConfig) -> RunRequest:
    """Return a request whose model's device reaches the same share of lines inside nodes as on this network."""
    workload, system = request.workload, request.system
    assert isinstance(system, SystemConfig)
    if not isinstance(workload, ModelWorkload) or network_as_reached(network, workload, system) == network:
        return request
    share = {"compute.scale_up_efficiency": inside_share(network, workload, system)}
    return replace(request, workload=with_keys(workload, share))


def _with_faster_events(request: ScenarioRequest) -> ScenarioRequest:
    """Return a scenario whose events give lines twice the rate; a share of a line's rate is one of its faster rate."""
    file = request.scenario
    assert isinstance(file, ScenarioFile)
    events = (
        each.model_copy(update={"rate": each.rate * _TWICE}) if isinstance(each.rate, int) else each
        for each in file.config.events
    )
    changed = replace(file, config=file.config.model_copy(update={"events": tuple(events)}))
    return replace(request, scenario=changed, tenants=request.tenants)


def _faster_npus(request: RunRequest) -> RunRequest:
    return replace(request, compute_scale=request.compute_scale / _TWICE)


def _without_slow_npus(request: RunRequest) -> RunRequest:
    _check_alone(request)
    given = checked_slowdown(request.compute_slowdown, _network(request).npus)
    if given is None:
        raise wrong("no file slows NPUs")
    return replace(request, compute_slowdown=given.model_copy(update={"stragglers": ()}))


def _without_delays(request: RunRequest) -> RunRequest:
    _check_alone(request)
    assert isinstance(request.system, SystemConfig)
    return replace(request, system=request.system.model_copy(update=_NO_DELAYS))


def _without_window(request: RunRequest) -> RunRequest:
    transports = _network(request).each_transport
    refuse(any(each.kind == "tcp" for each in transports), "every window of TCP closes; " + _LARGER)
    controls = {getattr(getattr(each, "congestion_control", None), "kind", None) for each in transports}
    own = _at_line_rate(request) if "static-window" in controls else request
    return _of_transports(own, {"window": "none"})


def _at_line_rate(request: RunRequest) -> RunRequest:
    network = _network(request)
    free = network_with_options(network, replace(request, congestion_control="none"))
    controls = (getattr(each, "congestion_control", None) for each in network.each_transport)
    own_window = any(isinstance(each, RoceControl) and each.owns_window for each in controls)
    changed = replace(request, network=free)
    return _of_transports(changed, {"window": "none"}, "roce") if own_window else changed


def _without_acknowledgements(request: RunRequest) -> RunRequest:
    return _of_transports(request, {"completion": "arrival"})


def _without_losses(request: RunRequest) -> RunRequest:
    network = _of_packets(request)
    return replace(request, network=network.model_copy(update={"topology": _clean(network.topology)}))


CHANGES: Mapping[str, Callable[[RunRequest], RunRequest]] = {
    FASTER_LINES: _faster_lines,
    FASTER_NPUS: _faster_npus,
    NO_SLOW_NPUS: _without_slow_npus,
    NO_DELAYS: _without_delays,
    OPEN_WINDOW: _without_window,
    LINE_RATE: _at_line_rate,
    NO_ACKNOWLEDGEMENTS: _without_acknowledgements,
    LOSSES: _without_losses,
}
"""Functions that change a request whose files were read; each raises InputError where it can't."""


def _check_alone(request: RunRequest) -> None:
    """Raise InputError for jobs, each of which has files of its own, and may be slowed by events."""
    refuse(isinstance(request, ScenarioRequest), "change the scenario's file, or the job's, and run it again")


def _network(request: RunRequest) -> AnyNetwork:
    assert isinstance(request.network, (NetworkConfig, AnalyticalNetwork))
    return request.network


def _of_packets(request: RunRequest) -> NetworkConfig:
    network = _network(request)
    if not isinstance(network, NetworkConfig):
        raise wrong("its network is analytical")
    return network


def _of_transports(request: RunRequest, keys: Mapping[str, str], kind: str | None = None) -> RunRequest:
    """Return the request with other values of keys of all transports that have them; ``kind``: of this kind."""
    from astra_ns3.config.network.packet_network import parse_network

    network = _of_packets(request)
    document = network.document()
    document["topology"] = network.topology  # as it is: a user's own is built once
    for transport in document.get("transports") or [document["transport"]]:
        if kind in (None, transport["kind"]):
            transport |= {key: value for key, value in keys.items() if key in transport}
    return replace(request, network=parse_network(document, "network"))


def _clean(group: _Config) -> _Config:
    """Return a group of keys without error rates of links."""
    changes = {name: _cleaned(value) for name, value in group}
    if "error_rate" in changes:
        changes["error_rate"] = 0.0
    return group.model_copy(update=changes)


def _cleaned(value: object) -> object:
    if isinstance(value, tuple):
        return tuple(map(_cleaned, value))
    return _clean(value) if isinstance(value, ConfigModel) else value
