"""Cuts of a network, to which loads are relative: the links that lead out of hosts, racks, or a tier of switches."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from astra_ns3.config.flow_list import Numbers
from astra_ns3.errors import nearest, some_of, wrong
from astra_ns3.frozen import dataclass
from astra_ns3.topology.graph import Graph
from astra_ns3.topology.parts import joined

HOSTS, RACKS = "hosts", "racks"
_INSIDE = 0
"""The level of what is inside of servers."""


@dataclass(frozen=True)
class Cut:
    """Links that lead out of some parts of a network: in which part each NPU is, and what the parts' links carry.

    A flow crosses them between NPUs of different ``tiers`` and ``servers``. These are of parts: rails of a rack have
    leaves of their own, and NPUs of a server reach each other inside it.
    """

    name: str
    parts: Numbers
    tiers: Numbers
    servers: Numbers
    rate_bps: int


def cut_named(name: str, graph: Graph, npus: Sequence[int]) -> Cut:
    """Return the cut around the parts that have some of ``npus``; ``parts`` are in their order. Raises InputError."""
    levels, words = _levels(graph), name.lower().strip()
    known = _level_of_cuts(graph, levels)
    found = _cut(name, graph, levels, known[words], npus) if words in known else None
    if found is not None and found.rate_bps:
        return found
    allowed = [each for each, level in known.items() if _cut(each, graph, levels, level, npus).rate_bps]
    why = f"cut '{name}' is none of the network's" if found is None else f"no link leads out of {name}"
    why += " (one has all NPUs)" if found is not None and len(set(found.parts.tolist())) == 1 else ""
    raise wrong(f"{why}, expected {some_of([*allowed, 'a rate'])}{nearest(words, allowed)}")


def _cut(name: str, graph: Graph, levels: Numbers, level: int, npus: Sequence[int]) -> Cut:
    """Return the cut around parts whose highest level inside is ``level``."""
    servers = _joined(graph, levels, _INSIDE, boxes=not _are_groups(graph))
    parts, tiers = servers, servers
    if level > _INSIDE:
        parts = _joined(graph, levels, level, boxes=True)
        tiers = _joined(graph, levels, level, boxes=graph.inside_levels > 0)
    hosts = [graph.npu_host[npu] for npu in npus]
    having = {tiers[host] for host in hosts}
    rate_bps = sum(
        link.rate_bps
        for link in graph.links
        for near, far in ((link.a, link.b), (link.b, link.a))
        if levels[near] <= level and tiers[near] in having and tiers[far] != tiers[near] and graph.leads_out(link)
    )
    of_npus = [np.array([of_node[host] for host in hosts]) for of_node in (parts, tiers, servers)]
    return Cut(name, of_npus[0], of_npus[1], of_npus[2], rate_bps)


def _are_groups(graph: Graph) -> bool:
    """Return whether boxes of hosts aren't servers, but a dragonfly's groups: nothing is inside of servers."""
    return all(graph.leads_out(link) for link in graph.links)


def _levels(graph: Graph) -> Numbers:
    """Return how far each node is from its hosts: 0 for hosts and what is in their servers."""
    rows = graph.switch_levels or (1,) * graph.switches
    return np.array([_INSIDE] * graph.hosts + [max(row - graph.inside_levels, _INSIDE) for row in rows])


def _level_of_cuts(graph: Graph, levels: Numbers) -> dict[str, int]:
    """Return the highest level inside the parts of each cut, by name."""
    found = {HOSTS: _INSIDE, RACKS: _INSIDE + 1}
    for switch, own in enumerate(graph.switch_names):
        found.setdefault(re.sub(r"[0-9]+$", "", own).strip().lower(), int(levels[graph.hosts + switch]))
    return found


def _joined(graph: Graph, levels: Numbers, level: int, *, boxes: bool) -> list[int]:
    """Return for each node the part that it is in: nodes that links between inner nodes join, and ``boxes``.

    Links between servers join racks, but no servers. What is inside servers joins those, and racks with their boxes.
    """
    inside = levels <= level
    pairs = [
        (link.a, link.b)
        for link in graph.links
        if inside[link.a] and inside[link.b] and (boxes if not graph.leads_out(link) else level > _INSIDE)
    ]
    first_of: dict[int, int] = {}
    pairs += [(host, first_of.setdefault(box, host)) for host, box in enumerate(graph.host_boxes) if boxes]
    return joined(graph.nodes, pairs)
