"""Parts of a network: switches and hosts that stay joined once hosts forward nothing, and servers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from astra_ns3.topology.graph import INJECTION, Graph

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
    """Return the numbers of the links that messages between NPUs of a server take: not PCIe, which costs more."""
    servers = servers_of(graph)
    if len({servers[host] for host in graph.npu_host}) == len({*graph.npu_host}):
        return []
    links = enumerate(graph.links)
    inside = [number for number, link in links if link.kind != INJECTION and not graph.leads_out(link)]
    near = min((graph.links[number].cost for number in inside), default=0)
    return [number for number in inside if graph.links[number].cost == near]


def reaching_inside(graph: Graph, share: float) -> Graph:
    """Return the graph whose links inside servers have a share of their rates, in whole bits per second."""
    if share == 1:
        return graph
    links = list(graph.links)
    for number in lines_inside(graph):
        links[number] = replace(links[number], rate_bps=max(round(links[number].rate_bps * share), 1))
    rates_bps = {old.rate_bps: new.rate_bps for old, new in zip(graph.links, links, strict=True) if old is not new}
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
