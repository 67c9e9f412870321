"""Groups of hosts that are equally far from everywhere, and how far each switch is from each group."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from astra_ns3.errors import InputError, wrong
from astra_ns3.frozen import dataclass
from astra_ns3.topology.counts import BYTES_PER_COST, BYTES_PER_ROUTE, check_routes_fit
from astra_ns3.topology.graph import Graph

UNREACHED = 2**30
"""Farther than any path; two of them still fit into 32 bits."""
LINKS = 2**20
"""More links than any path has."""

_Integers = npt.NDArray[np.signedinteger]
_Bits = npt.NDArray[np.uint64]
_WORD_BITS = 64
# How many switches' bits are spread out to bytes at a time.
_ROWS_AT_ONCE = 256


@dataclass(frozen=True, eq=False)
class Groups:
    """``of_host``: the group of each host, shape ``(hosts,)``; ``count``: how many there are."""

    of_host: npt.NDArray[np.int64]
    count: int
    attached: tuple[tuple[tuple[int, int], ...], ...]
    """For each group, the switches (from 0) that its hosts hang on, each with the cost of the way there."""


def host_groups(graph: Graph) -> Groups:
    """Hosts are in one group if they hang on the same switches at the same costs, and on the same hosts."""
    adjacency, hosts = graph.adjacency, graph.hosts
    peers, costs, offsets = adjacency.peers.tolist(), adjacency.costs.tolist(), adjacency.offsets.tolist()
    up = adjacency.up.tolist()
    numbers: dict[object, int] = {}
    attached: list[tuple[tuple[int, int], ...]] = []
    of_host = np.zeros(hosts, dtype=np.int64)
    for host in range(hosts):
        switches: dict[int, int] = {}
        neighbours: dict[int, int] = {}
        for port in range(offsets[host], offsets[host + 1]):
            if not up[port]:
                continue
            found, peer = (neighbours, peers[port]) if peers[port] < hosts else (switches, peers[port] - hosts)
            found[peer] = min(costs[port], found.get(peer, costs[port]))
        near = tuple(sorted(switches.items()))
        key = (near, _neighbourhood(host, neighbours))
        if key not in numbers:
            numbers[key] = len(numbers)
            attached.append(near)
        of_host[host] = numbers[key]
    return Groups(of_host, len(numbers), tuple(attached))


def common_groups(grouped: Sequence[Groups]) -> tuple[Groups, ...]:
    """The same groups for several states of a network: hosts that are in one group in all of them."""
    distinct = list({id(groups): groups for groups in grouped}.values())
    if len(distinct) == 1:
        return tuple(grouped)
    numbers: dict[bytes, int] = {}
    columns = np.ascontiguousarray(np.stack([groups.of_host for groups in distinct], axis=1))
    of_host = np.array([numbers.setdefault(column.tobytes(), len(numbers)) for column in columns], dtype=np.int64)
    _, first = np.unique(of_host, return_index=True)
    return tuple(
        Groups(of_host, len(numbers), tuple(groups.attached[group] for group in groups.of_host[first].tolist()))
        for groups in grouped
    )


def _neighbourhood(host: int, neighbours: dict[int, int]) -> tuple[object, ...]:
    """The same for two hosts only if each third host is as far from one as from the other."""
    if len(set(neighbours.values())) > 1:
        return (host,)
    return tuple(sorted((*neighbours, host))) if neighbours else ()


def distances_to_groups(graph: Graph, groups: Groups) -> npt.NDArray[np.int32]:
    """The cost of the cheapest path from each switch to each group's hosts; shape ``(switches, groups)``."""
    check_routes_fit(graph.nodes - _single(graph), 2 * len(graph.links), groups.count, BYTES_PER_ROUTE)
    found = np.full((graph.switches, groups.count), UNREACHED, dtype=np.int32)
    _spread(found, graph, groups, scale=1, each=0)
    return found


def _single(graph: Graph) -> int:
    """How many hosts have one port, and so no routes of their own."""
    return int((np.diff(graph.adjacency.offsets[: graph.hosts + 1]) == 1).sum())


def costs_and_links(graph: Graph, groups: Groups) -> npt.NDArray[np.int64]:
    """As :func:`distances_to_groups`, but cost x ``LINKS`` + the number of links, the least among cheapest paths."""
    check_routes_fit(graph.switches, 2 * len(graph.links), groups.count, BYTES_PER_COST)
    found = np.full((graph.switches, groups.count), UNREACHED * LINKS, dtype=np.int64)
    _spread(found, graph, groups, scale=LINKS, each=1)
    return found


def _spread(found: _Integers, graph: Graph, groups: Groups, *, scale: int, each: int) -> None:
    """Fill in the distance of every pair that is joined; a link counts for its cost x ``scale`` + ``each``.

    Distances are settled in rising order (Dial, 1969), for all groups at once: a bit for each pair says whether it is
    settled, and a row of bits is passed on over each link.
    """
    reached = np.zeros((graph.switches, -(-groups.count // _WORD_BITS)), dtype=np.uint64)
    waiting: dict[int, _Bits] = {}
    for group, switches in enumerate(groups.attached):
        for switch, cost in switches:
            row = waiting.setdefault(cost * scale + each, np.zeros_like(reached))[switch]
            row.view(np.uint8)[group // 8] |= 1 << group % 8
    here, beyond, costs = _switch_links(graph)
    classes = []
    for cost in sorted(set(costs.tolist())):  # a set: np.unique alone imports numpy.ma, for 10 ms
        ends = here[costs == cost]
        nodes, starts = np.unique(ends, return_index=True)
        classes.append((cost * scale + each, beyond[costs == cost], nodes, starts))
    while waiting:
        distance = min(waiting)
        settled = waiting.pop(distance) & ~reached
        if not settled.any():
            continue
        reached |= settled
        for begin in range(0, graph.switches, _ROWS_AT_ONCE):
            rows = slice(begin, begin + _ROWS_AT_ONCE)
            if settled[rows].any():
                bits = settled[rows].view(np.uint8)
                found[rows][np.unpackbits(bits, axis=1, count=groups.count, bitorder="little").view(np.bool_)] = (
                    distance
                )
        for cost, peers, nodes, starts in classes:
            onward = waiting.setdefault(distance + cost, np.zeros_like(reached))
            onward[nodes] |= np.bitwise_or.reduceat(settled[peers], starts, axis=0)


def _switch_links(graph: Graph) -> tuple[_Integers, _Integers, _Integers]:
    """Links between switches, each in both directions, sorted by where they begin: there, the other end, the cost.

    Of parallel links only the cheapest is kept: as far as distances go, the others are superfluous.
    """
    adjacency = graph.adjacency
    node = np.repeat(np.arange(graph.nodes), np.diff(adjacency.offsets))
    between = (node >= graph.hosts) & (adjacency.peers >= graph.hosts) & adjacency.up
    here, beyond = node[between] - graph.hosts, adjacency.peers[between].astype(np.int64) - graph.hosts
    costs = adjacency.costs[between]
    order = np.lexsort((costs, beyond, here))
    here, beyond, costs = here[order], beyond[order], costs[order]
    first = np.ones(len(here), dtype=np.bool_)
    first[1:] = (here[1:] != here[:-1]) | (beyond[1:] != beyond[:-1])
    return here[first], beyond[first], costs[first]


def unreachable_pair(graph: Graph, groups: Groups, distances: npt.NDArray[np.int32]) -> tuple[int, int] | None:
    """Two hosts with NPUs of which the first can't reach the second, or None."""
    for sources, lost in unreachable_hosts(graph, groups, distances):
        return sources[0], next(host for host in lost if host != sources[0])
    return None


def no_way(graph: Graph, source: int, destination: int) -> InputError:
    """The error that one host can't reach another, and what lets it, if anything does."""
    lost = f"topology: host {destination} cannot be reached from host {source}"
    adjacency, reached, edge = graph.adjacency, {source}, [source]
    while edge:
        own = adjacency.of(edge.pop())
        beyond = set(adjacency.peers[own][adjacency.up[own]].tolist()) - reached
        reached |= beyond
        edge.extend(beyond)
    if destination not in reached:
        return wrong("no links lead there", lost)
    return wrong(
        "no way over switches alone, and hosts do not forward unless the topology says 'forwarding: hosts'", lost
    )


def unreachable_hosts(
    graph: Graph, groups: Groups, distances: npt.NDArray[np.int32]
) -> Iterator[tuple[list[int], list[int]]]:
    """For each group of hosts with NPUs, those hosts and the hosts with NPUs that they can't reach, if there are any.

    A group that can't reach its own hosts stands among what it can't reach.
    """
    hosts = np.array(sorted(set(graph.npu_host)), dtype=np.int64)
    of_host = groups.of_host[hosts]
    wanted, first, crowd = np.unique(of_host, return_index=True, return_counts=True)
    adjacency = graph.adjacency
    for group, host, members in zip(wanted.tolist(), hosts[first].tolist(), crowd.tolist(), strict=True):
        own = adjacency.of(host)
        peers = adjacency.peers[own][adjacency.up[own]]
        reached = distances[peers[peers >= graph.hosts] - graph.hosts].min(axis=0, initial=UNREACHED) < UNREACHED
        reached[groups.of_host[peers[peers < graph.hosts]]] = True
        reached[group] |= members == 1
        if not reached[wanted].all():
            yield hosts[of_host == group].tolist(), hosts[~reached[of_host]].tolist()
