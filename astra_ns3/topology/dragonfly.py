"""Dragonfly: groups of fully joined routers and one link between every two groups.

Kim, Dally, Scott and Abts, "Technology-Driven, Highly-Scalable Dragonfly Topology", ISCA 2008. Which router of a group
has which global link is left open there; here links go round (as in Camarero, Vallejo and Beivide, "Topological
characterization of Hamming and dragonfly networks", 2014, "palmtree").
"""

from __future__ import annotations

from itertools import combinations

from astra_ns3.config.topology.kinds import Dragonfly
from astra_ns3.topology.graph import Graph
from astra_ns3.topology.wiring import Wiring


def dragonfly(config: Dragonfly) -> Graph:
    """Router r of group g is switch ``g * a + r``; its global link j leads ``r * h + j + 1`` groups on."""
    a, p, h, groups = config.a, config.p, config.h, config.groups
    wiring = Wiring(config.npu_count())
    first = wiring.switches(groups * a, config.switch, 1, "router")
    for host in range(config.npu_count()):
        wiring.join(host, first + host // p, config.link, "link")
    inside, across = config.group_link.of(config.link), config.global_link.of(config.link)
    for group in range(groups):
        for one, other in combinations(range(a), 2):
            wiring.join(first + group * a + one, first + group * a + other, inside, "group")
    for group in range(groups):
        for offset in range(1, groups - group):
            there = group + offset
            wiring.join(
                first + group * a + (offset - 1) // h,
                first + there * a + (groups - offset - 1) // h,
                across,
                "global",
            )
    boxes = [host // (a * p) for host in range(config.npu_count())]
    return wiring.graph(config, host_boxes=boxes)
