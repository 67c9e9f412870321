"""Single paths of a network: the longest, a numbered one, how many there are, and what a packet takes for one."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import pairwise

import numpy as np

from astra_ns3.config.topology.idle_lines import idle_lines_ps
from astra_ns3.topology.distances import LINKS, UNREACHED, costs_and_links, host_groups, no_way
from astra_ns3.topology.graph import Graph, Link
from astra_ns3.topology.pair_delays import pair_delays
from astra_ns3.topology.routes import RouteTables, shortest_paths

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
            raise no_way(graph, source, destination)
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
    return max(
        longest, other, key=lambda links: round_trip_ps(links, _USUAL_PACKET_BYTES, 0, cut_through_of(graph, links))
    )


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

    Every node stores a packet before it forwards it, or cuts through. Sizes as on the wire, preamble and gap included.
    """
    links = longest_path(graph)
    return round_trip_ps(links, packet_wire_bytes, ack_wire_bytes, cut_through_of(graph, links))


def round_trip_ps(
    links: Sequence[Link], packet_wire_bytes: int, ack_wire_bytes: int, cut_through: Sequence[int] = ()
) -> int:
    """The same over the links of one path; ``cut_through``: see :func:`cut_through_of`, empty: all nodes store."""
    rates = [link.rate_bps for link in links]
    there = idle_lines_ps(packet_wire_bytes, rates, cut_through)
    back = idle_lines_ps(ack_wire_bytes, rates[::-1], cut_through[::-1])
    return there + back + 2 * sum(link.delay_ps for link in links)


def cut_through_of(graph: Graph, links: Sequence[Link]) -> tuple[int, ...]:
    """For each node between two links of a path, the bytes of a frame it waits for before it sends on; 0: all."""
    return tuple(_cut_through(graph, before, behind) for before, behind in pairwise(links))


def _cut_through(graph: Graph, before: Link, behind: Link) -> int:
    node = before.a if before.a in (behind.a, behind.b) else before.b
    return graph.switch_configs[node - graph.hosts].cut_through_bytes or 0
