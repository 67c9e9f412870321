"""What no message can be faster than whose packets take different ways: the fastest of each step, all ways together."""

from __future__ import annotations

from typing import NamedTuple

from astra_ns3.network.plan import NetworkPlan
from astra_ns3.topology.graph import Graph, Link
from astra_ns3.topology.paths import cut_through_of, path, path_links
from astra_ns3.topology.routes import RouteTables

_PARTING = ("spray", "adaptive", "flowlet")
"""Kinds of routing that choose again and again while a message is on its way."""


class Way(NamedTuple):
    """A path. ``widths``: by line, how many times its rate all equal ways have there together; empty: one way."""

    delay_ps: int
    rates_bps: tuple[int, ...]
    cut_through: tuple[int, ...]
    """Of each switch between two lines the bytes of a frame that it waits for before it sends it on, 0 for all."""
    widths: tuple[float, ...] = ()


def packets_part(plan: NetworkPlan) -> bool:
    """Return whether packets of a message may take different ways."""
    parts = plan.config.topology.routing.kind in _PARTING
    return any(each.ideal_over_ways and (parts or each.message_parts > 1) for each in plan.transports.values())


def plain_way(graph: Graph, tables: RouteTables, source: int, destination: int) -> Way:
    """Return the first of the shortest paths; raises InputError if nothing leads there."""
    links = path_links(graph, path(graph, tables, source, destination))
    return Way(
        sum(link.delay_ps for link in links), tuple(link.rate_bps for link in links), cut_through_of(graph, links)
    )


def widest_way(graph: Graph, tables: RouteTables, source: int, destination: int) -> Way:
    """Return the path of which each step is the fastest line, the least delay and all rates of the equal ways there.

    It is the plain one where there is one way only. Where equal ways have different numbers of lines it ends with the
    shortest of them: what lies behind is not on every way. Raises InputError if nothing leads there.
    """
    steps = _steps(graph, tables, source, destination)
    if steps is None or all(len(step) == 1 for step in steps):
        return plain_way(graph, tables, source, destination)
    fastest = [max(step, key=lambda link: link.rate_bps) for step in steps]
    return Way(
        sum(min(link.delay_ps for link in step) for step in steps),
        tuple(link.rate_bps for link in fastest),
        cut_through_of(graph, fastest),
        tuple(sum(link.rate_bps for link in step) / one.rate_bps for step, one in zip(steps, fastest, strict=True)),
    )


def _steps(graph: Graph, tables: RouteTables, source: int, destination: int) -> list[list[Link]] | None:
    """The links of each step of all equal ways, as far as all of them go; None if they lead nowhere."""
    nodes: list[int] = [source]
    steps: list[list[Link]] = []
    while not steps or all(node >= graph.hosts for node in nodes):
        taken = [graph.ports[node][port] for node in nodes for port in dict.fromkeys(tables.towards(node, destination))]
        if not taken or len(steps) > graph.nodes:
            return None
        nodes = list(dict.fromkeys(one.peer for one in taken))
        steps.append([graph.links[one.link] for one in taken])
    return steps
