"""The three files of a run, read, scaled and checked against each other."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

from astra_ns3.config.network import NetworkConfig, read_network
from astra_ns3.config.system import SystemConfig, read_system
from astra_ns3.config.workload import Workload, read_workload
from astra_ns3.errors import InputError
from astra_ns3.experiments.planned import planned_collectives, planned_phases
from astra_ns3.topology.graph import Graph
from astra_ns3.topology.ports import resolve_ports
from astra_ns3.topology.registry import build_graph
from astra_ns3.transport.tcp import check_transport
from astra_ns3.workload.dry_run import unissued_collectives

FilePath = str | os.PathLike[str]

_Model = TypeVar("_Model")


@dataclass(frozen=True)
class Inputs:
    """What a run is made of; ``workload`` is already scaled."""

    workload: Workload
    system: SystemConfig
    network: NetworkConfig
    graph: Graph
    warnings: tuple[str, ...]


def load_inputs(
    workload: FilePath | Workload,
    system: FilePath | SystemConfig,
    network: FilePath | NetworkConfig,
    *,
    comm_scale: float = 1.0,
    compute_scale: float = 1.0,
) -> Inputs:
    """Read what is given as a path, take what is given as an object, and check that the three fit together.

    Raises InputError, which names the file where there is one.
    """
    read_in_workload = _given(workload, Workload, read_workload)
    system_config = _given(system, SystemConfig, read_system)
    network_config = _given(network, NetworkConfig, read_network)
    with _named(network):
        graph = build_graph(network_config.topology)
        if len(graph.rank_host) != network_config.npus:
            raise InputError(f"the topology places {len(graph.rank_host)} NPUs, expected {network_config.npus}")
        observe = network_config.observe
        resolve_ports(graph, (*observe.queues, *observe.pcap))
        warnings = check_transport(network_config)
    with _named(system):
        system_config.check_dimensions(len(network_config.dimensions))
    scaled = read_in_workload.scaled(comm_scale, compute_scale)
    with _named(system):
        for kind, bytes_per_npu in planned_collectives(scaled, passes=1):
            planned_phases(kind, bytes_per_npu, network_config.dimensions, system_config)
    return Inputs(scaled, system_config, network_config, graph, (*warnings, *unissued_collectives(scaled)))


def _given(value: FilePath | _Model, model: type[_Model], read: Callable[[FilePath], _Model]) -> _Model:
    if isinstance(value, model):
        return value
    if not isinstance(value, (str, os.PathLike)):
        raise InputError(f"found a {type(value).__name__}, expected the path of a file or a {model.__name__}")
    return read(value)


@contextmanager
def _named(value: object) -> Iterator[None]:
    """Put the file's name before the message of an InputError, if ``value`` is a path."""
    try:
        yield
    except InputError as error:
        if isinstance(value, (str, os.PathLike)):
            raise InputError(f"{os.fspath(value)}: {error}") from error
        raise
