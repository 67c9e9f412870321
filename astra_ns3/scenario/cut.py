"""Cuts of a network, to which loads are relative: the links that lead out of hosts, racks, or a tier of switches."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from astra_ns3.config.flow_list import Numbers
from astra_ns3.errors import nearest, refuse, some_of, wrong
from astra_ns3.frozen import dataclass
from astra_ns3.topology.graph import Graph
from astra_ns3.topology.parts import joined

HOSTS, RACKS = "hosts", "racks"
_INSIDE = 0
"""The level of what is inside of servers."""


@dataclass(frozen=True)
class Cut:
    """Links that lead out of some parts of a network: in which part each NPU is, and what the parts' links carry."""

    name: str
    parts: Numbers
    rate_bps: int


def cut_named(name: str, graph: Graph, npus: Sequence[int]) -> Cut:
    """Return the cut around the parts that have some of ``npus``; ``parts`` are in their order. Raises InputError."""
    levels = _levels(graph)
    level = _level_of(name, graph, levels)
    part_of = _parts(graph, levels, level)
    parts = np.array([part_of[graph.npu_host[npu]] for npu in npus])
    having = set(parts.tolist())
    rate_bps = sum(
        link.rate_bps
        for link in graph.links
        for near, far in ((link.a, link.b), (link.b, link.a))
        if levels[near] <= level and part_of[near] in having and part_of[far] != part_of[near]
    )
    refuse(not rate_bps, f"no link leads out of {name}, expected another cut, or a rate")
    return Cut(name, parts, rate_bps)


def _levels(graph: Graph) -> Numbers:
    """Return how far each node is from its hosts: 0 for hosts and what is in their servers."""
    rows = graph.switch_levels or (1,) * graph.switches
    return np.array([_INSIDE] * graph.hosts + [max(row - graph.inside_levels, _INSIDE) for row in rows])


def _level_of(name: str, graph: Graph, levels: Numbers) -> int:
    """Return the highest level inside the parts of a cut."""
    words = name.lower().strip()
    if words in (HOSTS, RACKS):
        return (HOSTS, RACKS).index(words)
    tiers: dict[str, int] = {}
    for switch, own in enumerate(graph.switch_names):
        tiers.setdefault(re.sub(r"[0-9]+$", "", own).strip().lower(), int(levels[graph.hosts + switch]))
    if words not in tiers:
        allowed = (HOSTS, RACKS, *(tier for tier, level in tiers.items() if level > _INSIDE))
        raise wrong(f"cut '{name}' is none of the network's, expected {some_of(allowed)}{nearest(words, allowed)}")
    return tiers[words]


def _parts(graph: Graph, levels: Numbers, level: int) -> list[int]:
    """Return for each node the part that it is in: nodes that links between inner nodes, and boxes, join.

    Links between servers join racks, but no servers.
    """
    inside = levels <= level
    pairs = [
        (link.a, link.b)
        for link in graph.links
        if inside[link.a] and inside[link.b] and (level > _INSIDE or not graph.leads_out(link))
    ]
    first_of: dict[int, int] = {}
    pairs += [(host, first_of.setdefault(box, host)) for host, box in enumerate(graph.host_boxes)]
    return joined(graph.nodes, pairs)
