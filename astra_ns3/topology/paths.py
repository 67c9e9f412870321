"""Single paths of a network: the longest, a numbered one, how many there are, and what a packet takes for one."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np

from astra_ns3.errors import InputError
from astra_ns3.topology.distances import LINKS, UNREACHED, costs_and_links, host_groups
from astra_ns3.topology.graph import Graph, Link
from astra_ns3.topology.pair_delays import pair_delays
from astra_ns3.topology.routes import RouteTables, shortest_paths
from astra_ns3.units import PS_PER_SECOND

_USUAL_PACKET_BYTES = 1000


def farthest_hosts(graph: Graph) -> tuple[int, int, int]:
    """Two hosts with NPUs that are as many links apart as any (on cheapest paths), and how many: the diameter.

    Among such pairs it is one whose path costs most, so one of different nodes rather than one inside a node. Pairs
    that can't reach each other don't count; without any pair it is (host, host, 0).
    """
    groups = host_groups(graph)
    far = costs_and_links(graph, groups)
    hosts = np.array(sorted(set(graph.npu_host)), dtype=np.int64)
    wanted, first, crowd = np.unique(groups.of_host[hosts], return_index=True, return_counts=True)
    adjacency = graph.adjacency
    best, farthest = (int(hosts[0]), int(hosts[0]), 0), 0
    for group, host, members in zip(wanted.tolist(), hosts[first].tolist(), crowd.tolist(), strict=True):
        own = adjacency.of(host)
        peers, costs = adjacency.peers[own], adjacency.costs[own].astype(np.int64) * LINKS + 1
        peers, costs = peers[adjacency.up[own]], costs[adjacency.up[own]]
        above = peers >= graph.hosts
        ways = (far[peers[above] - graph.hosts] + costs[above, None]).min(axis=0, initial=UNREACHED * LINKS)
        np.minimum.at(ways, groups.of_host[peers[~above]], costs[~above])
        if members == 1:
            ways[group] = 0
        reached = np.where(ways < UNREACHED * LINKS, ways % LINKS * UNREACHED + ways // LINKS, 0)[wanted]
        there = int(reached.argmax())
        if reached[there] > farthest:
            farthest = int(reached[there])
            mates = hosts[groups.of_host[hosts] == wanted[there]]
            best = (host, int(mates[mates != host][-1]), farthest // UNREACHED)
    return best


def path(
    graph: Graph, tables: RouteTables, source: int, destination: int, number: int = 0
) -> tuple[tuple[int, int], ...]:
    """Node and port of each step from host ``source`` to host ``destination`` on path ``number``.

    A node with c equal ports takes number ``number mod c`` of them and hands ``number div c`` to the next. Raises
    InputError if nothing leads there.
    """
    steps: list[tuple[int, int]] = []
    node = source
    while node != destination:
        ports = tables.towards(node, destination)
        if not ports or len(steps) > graph.nodes:
            raise InputError(
                f"topology: host {destination} cannot be reached from host {source}: no way over switches alone, and "
                "hosts do not forward"
            )
        number, chosen = divmod(number, len(ports))
        steps.append((node, ports[chosen]))
        node = graph.ports[node][ports[chosen]].peer
    return tuple(steps)


def path_links(graph: Graph, steps: Sequence[tuple[int, int]]) -> tuple[Link, ...]:
    """The links of a path."""
    return tuple(graph.links[graph.ports[node][port].link] for node, port in steps)


def longest_path(graph: Graph, tables: RouteTables | None = None) -> tuple[Link, ...]:
    """The links, in order, of a path between two hosts with NPUs that are as far apart as any."""
    source, destination, _ = farthest_hosts(graph)
    return path_links(graph, path(graph, tables or shortest_paths(graph), source, destination))


def slowest_path(graph: Graph, tables: RouteTables, longest: tuple[Link, ...]) -> tuple[Link, ...]:
    """The links of a path between two hosts that takes longest, ``longest`` if that does.

    Model limits: only the path of most propagation delay is compared with ``longest``, by a packet of 1,000 bytes; of a
    pair's equal paths the quickest counts. With one delay everywhere it is ``longest``, whatever the rates.
    """
    if len({link.delay_ps for link in graph.links}) < 2:
        return longest
    hosts = sorted(set(graph.npu_host))
    source, destination = pair_delays(graph, hosts).slowest_pair()
    other = path_links(graph, path(graph, tables, hosts[source], hosts[destination]))
    return max(longest, other, key=lambda links: round_trip_ps(links, _USUAL_PACKET_BYTES, 0))


def count_paths(graph: Graph, tables: RouteTables, source: int, destination: int) -> int:
    """How many equally short paths there are between two hosts; parallel links make different paths."""

    @cache
    def from_node(node: int) -> int:
        if node == destination:
            return 1
        return sum(from_node(graph.ports[node][port].peer) for port in set(tables.towards(node, destination)))

    return from_node(source)


def base_round_trip_ps(graph: Graph, packet_wire_bytes: int, ack_wire_bytes: int) -> int:
    """From the first bit of a packet sent over a longest path to the last bit of its answer, the network being idle.

    Every node stores a packet before it forwards it. Sizes as on the wire, preamble and gap included.
    """
    return round_trip_ps(longest_path(graph), packet_wire_bytes, ack_wire_bytes)


def round_trip_ps(links: Sequence[Link], packet_wire_bytes: int, ack_wire_bytes: int) -> int:
    """The same over the links of one path."""
    return sum(
        -(-size * 8 * PS_PER_SECOND // link.rate_bps) + link.delay_ps
        for link in links
        for size in (packet_wire_bytes, ack_wire_bytes)
    )
