"""Parts of a network: switches and hosts that stay joined once hosts forward nothing, and servers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from astra_ns3.topology.graph import INJECTION, MOST_COST, PCIE, Graph

_SWITCH, _NPU, _OTHER = 0, 1, 2
_MOST_NODES = 1024
"""In larger servers links count as taken that cost less than two others: all paths would take long to find."""
_FAR = 2**40


class _Shape(NamedTuple):
    """Links inside a server, by their ends, costs and kinds, and which of its nodes are switches and NPUs."""

    links: tuple[tuple[int, int, int, str], ...]
    nodes: tuple[int, ...]


Kind = frozenset[tuple[object, ...]]
"""All that tells ways through a part apart: lines to hosts, lines between switches, how switches cut through."""


def parts_of(graph: Graph) -> Sequence[int]:
    """Return the part of each node. Joined switches are one part; a host is a part of its own."""
    return joined(graph.nodes, graph.ends[(graph.ends >= graph.hosts).all(axis=1)].tolist())


def servers_of(graph: Graph) -> Sequence[int]:
    """Return the server of each host, from 0: its box, or else hosts share one that links inside servers join."""
    if graph.host_boxes:
        return graph.host_boxes
    parts = joined(graph.nodes, [(link.a, link.b) for link in graph.links if not graph.leads_out(link)])
    numbers = {part: number for number, part in enumerate(dict.fromkeys(parts[: graph.hosts]))}
    return [numbers[part] for part in parts[: graph.hosts]]


def lines_inside(graph: Graph) -> list[int]:
    """Return the numbers of links on shortest paths between NPUs of a server; PCIe only where there are no others."""
    servers = servers_of(graph)
    if len({servers[host] for host in graph.npu_host}) == len({*graph.npu_host}):
        return []
    inside = [number for number, link in enumerate(graph.links) if not graph.leads_out(link)]
    parts, of_part = joined(graph.nodes, graph.ends[inside].tolist()), defaultdict[int, list[int]](list)
    for number in inside:
        of_part[parts[graph.links[number].a]].append(number)
    npus, known, found = {*graph.npu_host}, dict[_Shape, Sequence[bool]](), list[int]()
    for numbers in of_part.values():
        shape = _shape_of(graph, numbers, npus)
        if shape not in known:
            known[shape] = _are_taken(shape)
        both = zip(numbers, known[shape], strict=True)
        taken = [number for number, is_taken in both if is_taken and graph.links[number].kind != INJECTION]
        lines = [number for number in taken if graph.links[number].kind != PCIE]
        found += lines or taken
    return sorted(found)


def reaching_inside(graph: Graph, share: float) -> Graph:
    """Return the graph whose links inside servers have a share of their rates, in whole bits per second.

    The line of an NPU to the switch that forwards for it stays as fast as that switch's others, if it is.
    """
    if share == 1:
        return graph
    links = list(graph.links)
    for number in lines_inside(graph):
        links[number] = replace(links[number], rate_bps=max(round(links[number].rate_bps * share), 1))
    rates_bps = {old.rate_bps: new.rate_bps for old, new in zip(graph.links, links, strict=True) if old is not new}
    for number, link in enumerate(graph.links):
        if link.kind == INJECTION:
            others = [port.link for port in graph.ports[max(link.a, link.b)] if port.link != number]
            if link.rate_bps == sum(graph.links[other].rate_bps for other in others):
                links[number] = replace(link, rate_bps=sum(links[other].rate_bps for other in others))
    switches = tuple(switch.marking_also_at(rates_bps) for switch in graph.switch_configs)
    return replace(graph, links=tuple(links), switch_configs=switches)


def joined(count: int, pairs: Iterable[Sequence[int]]) -> list[int]:
    """Return a number for each of ``count`` nodes: the same for nodes that ``pairs`` join."""
    part = list(range(count))
    for a, b in pairs:
        while part[a] != a:
            part[a] = a = part[part[a]]
        while part[b] != b:
            part[b] = b = part[part[b]]
        part[a] = b
    top = np.array(part, dtype=np.int64)
    while (top[top] != top).any():
        top = top[top]
    return list(top.tolist())


def _shape_of(graph: Graph, numbers: Iterable[int], npus: Collection[int]) -> _Shape:
    links, place = list[tuple[int, int, int, str]](), dict[int, int]()
    for link in (graph.links[number] for number in numbers):
        a, b = (place.setdefault(end, len(place)) for end in (link.a, link.b))
        links.append((a, b, link.cost, link.kind))
    kinds = (_SWITCH if node >= graph.hosts else _NPU if node in npus else _OTHER for node in place)
    return _Shape(tuple(links), tuple(kinds))


@lru_cache(maxsize=16)
def _are_taken(shape: _Shape) -> Sequence[bool]:
    """Return of each link whether a shortest path between two NPUs has it; only switches pass on."""
    if len(shape.nodes) > _MOST_NODES:
        near = min((cost for *_, cost, kind in shape.links if kind not in {INJECTION, PCIE}), default=MOST_COST)
        return [cost < 2 * near for *_, cost, _ in shape.links]
    costs, nodes = _least_costs(shape), np.array(shape.nodes)
    npus = np.flatnonzero(nodes == _NPU)

    def to(node: int) -> npt.NDArray[np.int64]:
        """Return the cost from each NPU; a host is the beginning of its own paths alone."""
        return costs[npus, node] if nodes[node] == _SWITCH else np.where(npus == node, 0, _FAR)

    found = []
    for a, b, cost, _ in shape.links:
        begin, end = to(a), to(b)
        rows = np.flatnonzero(begin < _FAR)
        lengths = begin[rows, None] + cost + end[None, :]
        found.append(bool((lengths == costs[np.ix_(npus[rows], npus)]).any()))
    return found


def _least_costs(shape: _Shape) -> npt.NDArray[np.int64]:
    """Return the costs of shortest paths between all nodes of a server over its switches."""
    costs = np.full((len(shape.nodes),) * 2, _FAR, dtype=np.int64)
    np.fill_diagonal(costs, 0)
    for a, b, cost, _ in shape.links:
        costs[a, b] = costs[b, a] = min(costs[a, b], cost)
    for via, kind in enumerate(shape.nodes):
        if kind == _SWITCH:
            np.minimum(costs, costs[:, via, None] + costs[None, via, :], out=costs)
    return costs


def kinds_of_parts(graph: Graph, parts: Sequence[int]) -> dict[int, Kind]:
    """Return the kind of each part that has switches. Two parts of one kind have the same lines and switches."""
    found: dict[int, set[tuple[object, ...]]] = defaultdict(set)
    for link in graph.links:
        ends = [end for end in (link.a, link.b) if end >= graph.hosts]
        for end in ends:
            found[parts[end]].add(("line", len(ends), link.rate_bps, link.delay_ps, link.cost))
    for number, config in enumerate(graph.switch_configs):
        found[parts[graph.hosts + number]].add(("cut-through", config.cut_through_bytes))
    return {part: frozenset(kind) for part, kind in found.items()}


def is_regular(kind: Kind) -> bool:
    """Return whether all equal ways through a part of this kind are alike.

    They are where its lines to hosts are all alike, its lines between switches too, and its switches cut through alike.
    """
    features = [feature[:2] if feature[0] == "line" else feature[:1] for feature in kind]
    return len(features) == len(set(features))
