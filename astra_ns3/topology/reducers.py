"""Switches that reduce: each gets a host without an NPU, on a line of its own, which combines what it is sent.

Model's limits: a piece is combined when it has come as a whole from everybody. The copies of a sum share the line's
rate, which by default is twice that of all ports of the switch together.
"""

from __future__ import annotations

from dataclasses import replace

from astra_ns3.errors import refuse
from astra_ns3.topology.added_hosts import with_hosts, without_hosts
from astra_ns3.topology.graph import Graph, Link
from astra_ns3.units import LARGEST_INTEGER

_AT_EASE = 2
"""So many times the rates of all ports: the line of a reducer is then no limit of its own."""
REDUCTION = "reduction"
"""Class of the links between reducers and their switches."""


def with_reducers(graph: Graph) -> Graph:
    """Return the graph with the hosts of all switches that reduce; ``graph`` itself if there are none."""
    reducing = tuple(number for number, config in enumerate(graph.switch_configs) if config.reduction is not None)
    if not reducing:
        return graph
    places = [[graph.hosts + switch] for switch in reducing]
    more = len(reducing)

    def line(host: int, node: int) -> Link:
        return _line(graph, node - graph.hosts - more, host, node)

    return replace(with_hosts(graph, places, line), reducers=reducing)


def without_reducers(graph: Graph) -> Graph:
    """Return the graph without these hosts, for people: pictures and measures."""
    return replace(without_hosts(graph, len(graph.reducers), REDUCTION), reducers=()) if graph.reducers else graph


def rooms(graph: Graph) -> list[int]:
    """Return how many players each reducer has, one for each group that it may serve, and then each storage host.

    A storage host has one player for all accesses, and one for each group of a tree that hangs from it.
    """
    configs = [graph.switch_configs[switch].reduction for switch in graph.reducers]
    groups = [config.groups for config in configs if config is not None]
    return [*groups, *[1 + max(groups, default=0)] * len(graph.storage)]


def helper_players(graph: Graph) -> list[int]:
    """Return the host of each player of a reducer or a storage host: all of one, then those of the next."""
    hosts = graph.player_host[len(graph.npu_host) :]
    return [host for host, players in zip(hosts, rooms(graph), strict=True) for _ in range(players)]


def _line(graph: Graph, switch: int, host: int, node: int) -> Link:
    """Return the line between a reducer's host and its switch, the nodes of the graph with reducers."""
    said = graph.switch_configs[switch].reduction
    assert said is not None
    ports = graph.ports[graph.hosts + switch]
    rate_bps = said.rate_bps or _AT_EASE * sum(graph.links[port.link].rate_bps for port in ports)
    refuse(
        not 0 < rate_bps <= LARGEST_INTEGER,
        f"switch.reduction: the ports of switch {switch} ask for {rate_bps} b/s, expected 1 to "
        f"{LARGEST_INTEGER}; give it a rate",
    )
    return Link(host, node, rate_bps, said.latency_ps // 2, kind=REDUCTION)
