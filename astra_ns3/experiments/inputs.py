"""The three files of a run, read, scaled and checked against each other."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from math import isfinite
from typing import Any

from astra_ns3.config.analytical import AnalyticalNetwork
from astra_ns3.config.compatibility import OURS, Compatibility, preset
from astra_ns3.config.network import NetworkConfig
from astra_ns3.config.network_file import AnyNetwork, read_any_network
from astra_ns3.config.system import SystemConfig, parse_system, read_system
from astra_ns3.config.workload import Workload, read_workload
from astra_ns3.errors import InputError
from astra_ns3.experiments.planned import PlannedRun, planned_run
from astra_ns3.topology.graph import Graph
from astra_ns3.topology.ports import resolve_ports
from astra_ns3.topology.registry import build_graph
from astra_ns3.transport.tcp import check_transport
from astra_ns3.workload.dry_run import unissued_collectives

FilePath = str | os.PathLike[str]


@dataclass(frozen=True)
class Options:
    """What a run's options say of its inputs; :func:`astra_ns3.run` explains them."""

    backend: str = "ns3"
    compat: str = "none"
    num_queues_per_dimension: int | None = None
    injection_scale: float = 1.0
    rendezvous: bool = False
    scheduling_policy: str | None = None
    intra_dimension_scheduling: str | None = None
    inter_dimension_scheduling: str | None = None

    def check(self) -> None:
        """Raise InputError for the first option that is out of range."""
        preset(self.compat)
        queues, scale = self.num_queues_per_dimension, self.injection_scale
        if queues is not None and (isinstance(queues, bool) or not isinstance(queues, int) or queues < 1):
            raise InputError(f"num-queues-per-dim is {queues!r}, expected a whole number, at least 1")
        number = isinstance(scale, (int, float)) and not isinstance(scale, bool)
        if not number or not (isfinite(scale) and scale > 0):
            raise InputError(f"injection-scale is {scale!r}, expected a number above 0")


USUAL = Options()


@dataclass(frozen=True)
class Inputs:
    """What a run is made of; ``workload`` is already scaled."""

    workload: Workload
    system: SystemConfig
    network: AnyNetwork
    graph: Graph
    warnings: tuple[str, ...]
    compatibility: Compatibility = OURS

    @property
    def bandwidths(self) -> tuple[float, ...]:
        """Bandwidth of each dimension, in the network's own unit."""
        return self.network.bandwidths

    def planned(self, passes: int) -> PlannedRun:
        """What the run will play; raises InputError for what the system's algorithms can't do."""
        dimensions = self.network.dimensions
        return planned_run(self.workload, self.system, dimensions, self.bandwidths, self.compatibility, passes)


def load_inputs(
    workload: FilePath | Workload,
    system: FilePath | SystemConfig,
    network: FilePath | AnyNetwork,
    *,
    comm_scale: float = 1.0,
    compute_scale: float = 1.0,
    options: Options = USUAL,
) -> Inputs:
    """Read what is given as a path, take what is given as an object, and check that the three fit together.

    Raises InputError, which names the file where there is one.
    """
    read_in_workload: Workload = _given(workload, (Workload,), read_workload)
    system_config = _with_options(_given(system, (SystemConfig,), read_system), options)
    network_config: AnyNetwork = _given(network, (NetworkConfig, AnalyticalNetwork), read_any_network)
    with _named(network):
        graph, warnings = _network(network_config, options)
    scaled = read_in_workload.scaled(comm_scale, compute_scale)
    inputs = Inputs(
        scaled,
        system_config,
        network_config,
        graph,
        (*warnings, *unissued_collectives(scaled, network_config.dimensions)),
        preset(options.compat),
    )
    with _named(system):
        inputs.planned(passes=1)
    return inputs


def _network(network: AnyNetwork, options: Options) -> tuple[Graph, list[str]]:
    """The graph of a network, and what to warn of."""
    if isinstance(network, AnalyticalNetwork):
        if options.backend == "ns3":
            raise InputError("describes an analytical network, without packets; add --backend analytical")
        return Graph(network.npus, 0, (), tuple(range(network.npus)), ()), []
    graph = build_graph(network.topology)
    if len(graph.rank_host) != network.npus:
        raise InputError(f"the topology places {len(graph.rank_host)} NPUs, expected {network.npus}")
    observe = network.observe
    resolve_ports(graph, (*observe.queues, *observe.pcap))
    return graph, check_transport(network)


def _with_options(system: SystemConfig, options: Options) -> SystemConfig:
    """The system with what the command line says of it."""
    changes: dict[str, object] = {}
    if options.num_queues_per_dimension is not None:
        changes["num_queues_per_dimension"] = options.num_queues_per_dimension
    if options.injection_scale != 1.0:
        changes["injection_scale"] = options.injection_scale
    if options.rendezvous:
        changes["rendezvous"] = True
    for name in ("scheduling_policy", "intra_dimension_scheduling", "inter_dimension_scheduling"):
        if (policy := getattr(options, name)) is not None:
            changes[name] = policy
    if not changes:
        return system
    file_keys = {field.alias or name: name for name, field in SystemConfig.model_fields.items()}
    document = system.document()
    document.update({key: changes[name] for key, name in file_keys.items() if name in changes})
    return parse_system(document, "options")


def _given(value: object, models: tuple[type[Any], ...], read: Callable[[FilePath], Any]) -> Any:
    """``value`` itself if it is one of ``models``, else what the file that it names holds."""
    if isinstance(value, (str, os.PathLike)):
        return read(value)
    if not isinstance(value, models):
        names = " or ".join(model.__name__ for model in models)
        raise InputError(f"found a {type(value).__name__}, expected the path of a file or a {names}")
    return value


@contextmanager
def _named(value: object) -> Iterator[None]:
    """Put the file's name before the message of an InputError, if ``value`` is a path."""
    try:
        yield
    except InputError as error:
        if isinstance(value, (str, os.PathLike)):
            raise InputError(f"{os.fspath(value)}: {error}") from error
        raise
