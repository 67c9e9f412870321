"""Levels of switches above hosts: leaf-spine, fat trees and folded Clos networks are all one construction.

The extended generalised fat tree XGFT(h; m1..mh; w1..wh) of Öhring, Ibel, Das and Kumar, "On Generalized Fat Trees",
IPPS 1995. A node of level l has a digit for each level: below ``parents`` for digits up to l, below ``children`` for
those above. Two nodes of neighbouring levels are joined if they agree in all digits but that of the upper level.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from astra_ns3.config.core.link import LinkConfig
from astra_ns3.config.topology.kinds import Clos, FatTree, LeafSpine
from astra_ns3.config.topology.switch import SwitchConfig
from astra_ns3.frozen import dataclass
from astra_ns3.topology.graph import Graph
from astra_ns3.topology.wiring import Wiring


@dataclass(frozen=True)
class Level:
    """A level of switches: children of each, parents of each child, parallel links between two."""

    children: int
    parents: int
    links: int
    link: LinkConfig
    switch: SwitchConfig
    kind: str
    name: str


def leaf_spine(config: LeafSpine) -> Graph:
    """Leaf l has hosts ``l * hosts_per_leaf`` and on, first on its ports, then the spines."""
    levels = (
        Level(config.hosts_per_leaf, 1, 1, config.link, config.switch, "link", "leaf"),
        Level(
            children=config.leaves,
            parents=config.spines,
            links=config.links_per_spine,
            link=config.uplink_link(),
            switch=config.spine_switch or config.switch,
            kind="uplink",
            name="spine",
        ),
    )
    return tree(levels, config.npu_count()).graph(config)


def fat_tree(config: FatTree) -> Graph:
    """``k`` pods of k/2 edge and k/2 aggregation switches; core switch c is joined to aggregation c mod k/2 of each."""
    half, uplink = config.k // 2, config.uplink_link()
    edge, aggregation = config.switch, config.aggregation_switch or config.switch
    levels = (
        Level(half, 1, 1, config.link, edge, "link", "edge"),
        Level(half, half, 1, uplink, aggregation, "uplink", "aggregation"),
        Level(config.k, half, 1, config.core.of(uplink), config.core_switch or edge, "core", "core"),
    )
    return tree(levels, config.npus).graph(config)


def clos(config: Clos) -> Graph:
    """The levels as they are described."""
    levels = [
        Level(level.children, level.parents, level.links, level.link, level.switch, f"level-{number}", f"L{number}")
        for number, level in enumerate(config.levels, 1)
    ]
    return tree(levels, config.npu_count()).graph(config)


def tree(levels: Sequence[Level], hosts: int) -> Wiring:
    """The whole construction, with only the first ``hosts`` of its hosts."""
    wiring = Wiring(hosts)
    below = 0
    for number, level in enumerate(levels):
        low = prod(lower.parents for lower in levels[:number])
        high = prod(upper.children for upper in levels[number + 1 :])
        here = wiring.switches(low * level.parents * high, level.switch, number + 1, level.name)
        for child in range(low * level.children * high):
            if number == 0 and child >= hosts:
                break
            lower, upper = child % low, child // (low * level.children)
            for parent in range(level.parents):
                node = here + lower + low * (parent + level.parents * upper)
                for _ in range(level.links):
                    wiring.join(below + child, node, level.link, level.kind)
        below = here
    return wiring
