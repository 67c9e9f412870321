"""Cheapest paths by a search of another kind than ``topology/routes.py``, and random networks to search."""

from __future__ import annotations

import heapq

from hypothesis import strategies as st

from astra_ns3.topology.graph import Graph, Link

UNREACHABLE = 10**6
"""Costs more than any path."""


@st.composite
def connected_graphs(draw: st.DrawFn) -> Graph:
    """A random tree of switches with more links between them; hosts on one to three switches, some joined directly."""
    hosts, switches = draw(st.integers(1, 6)), draw(st.integers(1, 6))
    tree = [(hosts + draw(st.integers(0, s - 1)), hosts + s) for s in range(1, switches)]
    any_switch, any_host = st.integers(hosts, hosts + switches - 1), st.integers(0, hosts - 1)
    apart = st.tuples(any_switch, any_switch).filter(lambda pair: pair[0] != pair[1])
    more = draw(st.lists(apart, max_size=6)) if switches > 1 else []
    homes = [(host, draw(any_switch)) for host in range(hosts) for _ in range(draw(st.integers(1, 3)))]
    beside = st.tuples(any_host, any_host).filter(lambda pair: pair[0] != pair[1])
    direct = draw(st.lists(beside, max_size=4)) if hosts > 1 else []
    pairs = draw(st.permutations([*tree, *more, *homes, *direct]))
    cost = st.integers(1, 3) if draw(st.booleans()) else st.just(1)
    links = tuple(Link(a, b, 10**9, 0, cost=draw(cost)) for a, b in pairs)
    return Graph(hosts, switches, links, tuple(range(hosts)), (1,) * switches)


def ports_on_cheapest_paths(drawn: Graph, far: list[int], node: int, host: int) -> tuple[int, ...]:
    """A link to the host itself if it is as cheap as any way, else every port to a switch on a cheapest way."""
    links = [drawn.links[port.link] for port in drawn.ports[node]]
    ways = [(n, link.b if link.a == node else link.a, link.cost) for n, link in enumerate(links) if link.up]
    direct = tuple(n for n, peer, cost in ways if peer == host and cost == far[node])
    over = tuple(n for n, peer, cost in ways if peer >= drawn.hosts and cost + far[peer] == far[node])
    return direct or over


def costs_to(drawn: Graph, host: int) -> list[int]:
    """The cost of the cheapest path from each node to ``host`` over switches (Dijkstra, from the host outwards)."""
    far = [UNREACHABLE] * drawn.nodes
    waiting = [(0, host)]
    while waiting:
        cost, node = heapq.heappop(waiting)
        if cost >= far[node]:
            continue
        far[node] = cost
        if node == host or node >= drawn.hosts:
            for port in (port for port in drawn.ports[node] if drawn.links[port.link].up):
                heapq.heappush(waiting, (cost + drawn.links[port.link].cost, port.peer))
    return far
