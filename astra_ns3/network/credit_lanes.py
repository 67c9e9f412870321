"""The lanes of a network of credit-based links: the order of its links, and what is wrong with them."""

from __future__ import annotations

from collections.abc import Iterator

from astra_ns3.config.topology.direct import RouterTopology
from astra_ns3.config.topology.routing import VALIANT
from astra_ns3.config.topology.switch import CreditsConfig
from astra_ns3.errors import refuse
from astra_ns3.network.plan import NetworkPlan
from astra_ns3.topology.graph import Graph
from astra_ns3.topology.lanes import Orders, find_circle, lanes_in_words, orders_by_date_line, orders_by_hop
from astra_ns3.topology.reduction_trees import exchanging

MOST_STEPS = 4_000_000
"""Links times groups of hosts; routes of larger networks are not looked at."""
_KEY = "key 'topology.switch.credits"


def credits_of(graph: Graph) -> CreditsConfig | None:
    """Return what the lanes of all switches are like; None where no switch gives credit."""
    found = [config.credits for config in graph.switch_configs if config.credits is not None]
    return found[0] if found else None


def credit_orders(plan: NetworkPlan) -> Orders:
    """Return the number of each link, one for each way, shape ``(links, 2)``."""
    given, topology = credits_of(plan.graph), plan.config.topology
    if given is None or given.change == "hop":
        return orders_by_hop(plan.graph)
    refuse(
        not isinstance(topology, RouterTopology),
        f"{_KEY}.change': date-line is for ring, torus and mesh, not for {topology.kind}; write change: hop",
    )
    assert isinstance(topology, RouterTopology)
    return orders_by_date_line(plan.graph, topology.grid())


def check_lanes(plan: NetworkPlan) -> Iterator[str]:
    """Yield warnings of lanes that may wait for each other; raises InputError for switches that don't go together."""
    given = credits_of(plan.graph)
    if given is None:
        return
    for config in plan.graph.switch_configs:
        like = config.credits is None or (config.credits.lanes, config.credits.change) == (
            given.lanes,
            given.change,
        )
        refuse(not like, f"{_KEY}': lanes and change differ between switches, expected the same at all")
    _check_links(plan.graph)
    orders = credit_orders(plan)
    if len(plan.graph.links) * plan.tables.groups > MOST_STEPS:
        return
    detours = _has_detours(plan)
    sends = exchanging(plan.graph, plan.tables.group_of_host)
    circle = find_circle(plan.graph, plan.tables, orders, given.lanes, sends, detours=detours)
    if circle:
        lanes = "1 lane" if given.lanes == 1 else f"{given.lanes} lanes"
        refuse(
            detours,
            f"{_KEY}.lanes': found {lanes}, too few for routing kind {VALIANT}: its routes close a circle of "
            f"{len(circle)} links that wait for each other, {lanes_in_words(plan.graph, circle)}; expected more",
        )
        yield (
            f"credits with {lanes} may deadlock: routes close a circle of {len(circle)} links that wait for each "
            f"other, {lanes_in_words(plan.graph, circle)}; raise credits.lanes"
        )


def check_detours(plan: NetworkPlan) -> None:
    """Raise InputError for Valiant's routes without credit, whose lanes keep them from deadlock."""
    refuse(
        _has_detours(plan) and any(config.credits is None for config in plan.graph.switch_configs),
        f"key 'topology.routing.kind': {VALIANT} needs credits of all switches, whose lanes keep longer routes from "
        "deadlock; give 'switch' credits",
    )


def _has_detours(plan: NetworkPlan) -> bool:
    return plan.config.topology.routing.kind == VALIANT


def _check_links(graph: Graph) -> None:
    """Raise InputError for a link with PFC at one end and credits at the other."""
    for number, link in enumerate(graph.links):
        ends = [graph.switch_configs[node - graph.hosts] for node in (link.a, link.b) if node >= graph.hosts]
        refuse(
            any(each.pfc is not None for each in ends) and any(each.credits is not None for each in ends),
            f"link {number} has pfc at one end and credits at the other, expected the same at both: give both switches "
            "credits, or both pfc",
        )
