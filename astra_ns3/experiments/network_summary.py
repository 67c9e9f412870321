"""A network file looked at: its graph, and its numbers as plain data."""

from __future__ import annotations

import os
from collections.abc import Mapping
from types import MappingProxyType

from astra_ns3.config.core.plain import Json, JsonObject
from astra_ns3.config.network.analytical_network import AnalyticalNetwork
from astra_ns3.config.network.file import read_network_file
from astra_ns3.errors import located, wrong
from astra_ns3.experiments.changes.setting import changed_network
from astra_ns3.frozen import dataclass
from astra_ns3.network.plan import NetworkPlan, plan_network
from astra_ns3.topology.measures import Measures, measure
from astra_ns3.topology.paths import cut_through_of, round_trip_ps


@dataclass(frozen=True, eq=False)
class LoadedNetwork:
    """A network file and the plan of what it describes."""

    name: str
    plan: NetworkPlan


def load_network(path: str | os.PathLike[str], changes: Mapping[str, Json] = MappingProxyType({})) -> LoadedNetwork:
    """Read a network file and plan its network; raises InputError, which names the file.

    ``changes``: other values of keys, as for a run.
    """
    name = os.fspath(path)
    config = changed_network(read_network_file(path), name, changes).network
    if isinstance(config, AnalyticalNetwork):
        raise wrong(
            f"describes an analytical network, without packets; in a network file, "
            f"'topology: {{kind: file, path: {name}, ...}}' makes it one of packets",
            name,
        )
    with located(name):
        return LoadedNetwork(name, plan_network(config))


def network_summary(network: LoadedNetwork) -> JsonObject:
    """The numbers of a network as plain data."""
    config, graph = network.plan.config, network.plan.graph
    found, slowest = measure(graph, network.plan.tables), network.plan.slowest
    return {
        "file": network.name,
        "kind": config.topology.kind,
        "npus": found.npus,
        "dimensions": list(graph.dimensions),
        "hosts": found.hosts,
        "storage_hosts": found.storage,
        "switches": found.switches,
        "links": _links(found),
        "diameter": found.diameter,
        "paths": found.paths,
        "bisection_bps": found.bisection_bps,
        "round_trip_ps": round_trip_ps(slowest, *network.plan.outermost.wire_sizes, cut_through_of(graph, slowest)),
        "oversubscription": {name: float(ratio) for name, ratio in found.oversubscription},
        "routing": config.topology.routing.kind,
    }


def _links(found: Measures) -> list[JsonObject]:
    return [
        {"class": link.kind, "count": link.count, "rate_bps": link.rate_bps, "delay_ps": link.delay_ps}
        for link in found.links
    ]
