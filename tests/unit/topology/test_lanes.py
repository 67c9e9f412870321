"""Lanes of credit-based links: the order of links, and circles of lanes that wait for each other.

The oracle follows every route frame by frame, host by host, and looks for a circle by visiting; it shares nothing with
the code but the graph and the tables.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from random import Random
from typing import Any

import pytest

from astra_ns3.config.network.packet_network import NetworkConfig, parse_network
from astra_ns3.topology.builders import build_graph
from astra_ns3.topology.graph import Graph
from astra_ns3.topology.lanes import Orders, find_circle, lanes_in_words, orders_by_date_line, orders_by_hop
from astra_ns3.topology.routes import RouteTables, shortest_paths

LINK = {"rate": "100Gbps", "delay": "500ns"}
SWITCH = {"buffer": "64MB"}


def network(**topology: Any) -> NetworkConfig:
    return parse_network({"topology": {"link": LINK, "switch": SWITCH, **topology}, "transport": {"kind": "tcp"}})


def built(**topology: Any) -> tuple[Graph, RouteTables]:
    graph = build_graph(network(**topology).topology)
    return graph, shortest_paths(graph)


def routes_between(graph: Graph, tables: RouteTables, sender: int, receiver: int) -> Iterator[list[tuple[int, int]]]:
    """Every route from host to host: a link and its first node, one after the other."""

    def onwards(node: int, so_far: list[tuple[int, int]]) -> Iterator[list[tuple[int, int]]]:
        if node == receiver:
            yield so_far
            return
        for port in set(tables.towards(node, receiver)):
            link = graph.ports[node][port].link
            yield from onwards(graph.ports[node][port].peer, [*so_far, (link, node)])

    yield from onwards(sender, [])


def order_of(graph: Graph, orders: Orders, hop: tuple[int, int]) -> int:
    link, node = hop
    return int(orders[link, 0 if graph.links[link].a == node else 1])


def lanes_along(graph: Graph, orders: Orders, route: list[tuple[int, int]], lanes: int) -> list[tuple[int, int, int]]:
    lane, found = 0, []
    for place, hop in enumerate(route):
        if place > 0 and order_of(graph, orders, route[place - 1]) >= order_of(graph, orders, hop):
            lane = min(lane + 1, lanes - 1)
        found.append((*hop, lane))
    return found


def detours_between(graph: Graph, tables: RouteTables, sender: int, receiver: int) -> Iterator[list[tuple[int, int]]]:
    """Every route over the router of any host: there, and from that router on as its own hosts go."""
    for place in range(graph.hosts):
        if sender == place:
            yield from routes_between(graph, tables, sender, receiver)
            continue
        for there in routes_between(graph, tables, sender, place):
            router = there[-1][1]
            neighbours = [host for host in range(graph.hosts) if graph.ports[host][0].peer == router]
            begins = sender if router == graph.ports[sender][0].peer else neighbours[0]
            if begins == receiver:
                yield [*there[:-1], (graph.ports[receiver][0].link, router)]
                continue
            for onwards in routes_between(graph, tables, begins, receiver):
                yield [*there[:-1], *onwards[1:]]


def has_circle(graph: Graph, tables: RouteTables, orders: Orders, lanes: int, routes: Any = routes_between) -> bool:
    waits: dict[tuple[int, int, int], set[tuple[int, int, int]]] = {}
    for sender in range(graph.hosts):
        for receiver in range(graph.hosts):
            for route in routes(graph, tables, sender, receiver) if sender != receiver else ():
                along = lanes_along(graph, orders, route, lanes)
                for one, other in pairwise(along):
                    waits.setdefault(one, set()).add(other)
    return any(start in reached(waits, start) for start in waits)


def reached(
    waits: dict[tuple[int, int, int], set[tuple[int, int, int]]], start: tuple[int, int, int]
) -> set[tuple[int, int, int]]:
    left, seen = [*waits.get(start, ())], set()
    while left:
        at = left.pop()
        if at not in seen:
            seen.add(at)
            left += waits.get(at, ())
    return seen


TOPOLOGIES: list[dict[str, Any]] = [
    {"kind": "ring", "npus": 5},
    {"kind": "ring", "npus": 8},
    {"kind": "torus", "shape": [3, 3]},
    {"kind": "torus", "shape": [4, 3]},
    {"kind": "torus", "shape": [2, 5]},
    {"kind": "mesh", "shape": [3, 3]},
    {"kind": "dragonfly", "a": 3, "p": 1, "h": 1},
    {"kind": "leaf-spine", "leaves": 3, "spines": 2, "hosts_per_leaf": 2},
    {"kind": "fat-tree", "k": 4},
]


@pytest.mark.parametrize("topology", TOPOLOGIES, ids=lambda topology: topology["kind"])
@pytest.mark.parametrize("lanes", [1, 2, 3, 4])
def test_a_circle_is_found_exactly_where_following_each_route_finds_one(topology: dict[str, Any], lanes: int) -> None:
    graph, tables = built(**topology)
    assert bool(find_circle(graph, tables, orders_by_hop(graph), lanes)) == has_circle(
        graph, tables, orders_by_hop(graph), lanes
    )


@pytest.mark.parametrize(
    "topology", [TOPOLOGIES[0], TOPOLOGIES[2], TOPOLOGIES[6]], ids=lambda topology: topology["kind"]
)
@pytest.mark.parametrize("lanes", [1, 2, 4, 6])
def test_with_detours_a_circle_is_found_where_following_each_of_them_finds_one(
    topology: dict[str, Any], lanes: int
) -> None:
    graph, tables = built(**topology)
    orders = orders_by_hop(graph)
    found = find_circle(graph, tables, orders, lanes, detours=True)
    assert bool(found) == has_circle(graph, tables, orders, lanes, detours_between)


def test_with_any_order_of_links_a_circle_is_found_where_there_is_one() -> None:
    found = {True: 0, False: 0}
    for seed in range(120):
        random = Random(seed)
        graph, tables = built(**random.choice(TOPOLOGIES))
        orders = orders_by_hop(graph)
        for number, link in enumerate(graph.links):
            if min(link.a, link.b) >= graph.hosts:
                orders[number] = random.randrange(1, 30), random.randrange(1, 30)
        lanes = random.randrange(1, 5)
        circle = find_circle(graph, tables, orders, lanes)
        assert bool(circle) == has_circle(graph, tables, orders, lanes), seed
        found[bool(circle)] += 1
    assert min(found.values()) > 20


def test_a_circle_that_is_named_closes() -> None:
    graph, tables = built(kind="torus", shape=[4, 4])
    circle = find_circle(graph, tables, orders_by_hop(graph), 2)
    ends = [(graph.links[link].a, graph.links[link].b)[:: -1 if way else 1] for link, way, _ in circle]
    assert all(one[1] == other[0] for one, other in zip(ends, [*ends[1:], ends[0]], strict=True))
    assert lanes_in_words(graph, circle).count(" to ") == len(circle)


@pytest.mark.parametrize("npus", range(3, 10))
def test_two_lanes_and_a_date_line_are_enough_for_a_ring(npus: int) -> None:
    graph, tables = built(kind="ring", npus=npus)
    orders = orders_by_date_line(graph, (npus,))
    assert not find_circle(graph, tables, orders, 2)
    assert bool(find_circle(graph, tables, orders, 1)) == (npus > 3)  # in a ring of three no route has two links


@pytest.mark.parametrize("npus", range(3, 10))
def test_by_hop_a_ring_needs_a_lane_for_each_link_of_its_longest_route(npus: int) -> None:
    graph, tables = built(kind="ring", npus=npus)
    assert not find_circle(graph, tables, orders_by_hop(graph), npus // 2)


def test_a_fat_tree_needs_one_lane_and_a_dragonfly_three_by_hop() -> None:
    graph, tables = built(kind="fat-tree", k=4)
    assert not find_circle(graph, tables, orders_by_hop(graph), 1)
    graph, tables = built(kind="dragonfly", a=4, p=1, h=1)
    assert find_circle(graph, tables, orders_by_hop(graph), 1)
    assert not find_circle(graph, tables, orders_by_hop(graph), 3)
