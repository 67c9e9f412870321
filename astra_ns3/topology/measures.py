"""The measures of a network, in numbers: counts, diameter, bisection, oversubscription, number of paths."""

from __future__ import annotations

from collections import Counter, defaultdict
from fractions import Fraction

from astra_ns3.frozen import dataclass
from astra_ns3.topology.cut import bisection_bps
from astra_ns3.topology.forwarding import with_whole_hosts
from astra_ns3.topology.graph import Graph
from astra_ns3.topology.paths import count_paths, farthest_hosts
from astra_ns3.topology.reducers import without_reducers
from astra_ns3.topology.routes import RouteTables, shortest_paths
from astra_ns3.topology.storage import without_storage


@dataclass(frozen=True)
class LinkClass:
    """Links of one class that are alike."""

    kind: str
    rate_bps: int
    delay_ps: int
    count: int


@dataclass(frozen=True)
class Measures:
    """``hosts``: those of NPUs; ``storage``: those that store. ``diameter``: links between the NPUs that are farthest
    apart; ``paths``: how many such there are between them.

    ``bisection_bps``: see :func:`astra_ns3.topology.cut.bisection_bps`. ``oversubscription``: for each level of
    switches that has links upwards, by its name, what its links downwards carry over what those upwards carry (the
    largest of its switches).
    """

    npus: int
    hosts: int
    storage: int
    switches: int
    links: tuple[LinkClass, ...]
    diameter: int
    paths: int
    bisection_bps: int
    oversubscription: tuple[tuple[str, Fraction], ...]


def measure(graph: Graph, tables: RouteTables | None = None) -> Measures:
    """The numbers of a graph; raises InputError if NPUs can't reach each other."""
    tables, whole = tables or shortest_paths(graph), without_reducers(graph)
    source, destination, diameter = farthest_hosts(graph)
    return Measures(
        npus=len(graph.npu_host),
        hosts=whole.hosts - len(whole.storage),
        storage=len(whole.storage),
        switches=graph.switches,
        links=_classes(whole),
        diameter=diameter,
        paths=count_paths(graph, tables, source, destination),
        bisection_bps=bisection_bps(graph),
        oversubscription=oversubscription(without_storage(with_whole_hosts(graph))),
    )


def _classes(graph: Graph) -> tuple[LinkClass, ...]:
    found = Counter((link.kind, link.rate_bps, link.delay_ps) for link in graph.links)
    return tuple(LinkClass(*key, count) for key, count in found.items())


def oversubscription(graph: Graph) -> tuple[tuple[str, Fraction], ...]:
    """See :class:`Measures`; switches below the hosts in the picture, and hosts, count as downwards.

    Switches with links to others of their level are left out: their hosts' traffic takes these links, too.
    """
    worst: dict[tuple[int, str], Fraction] = {}
    levels = (0,) * graph.hosts + tuple(graph.switch_levels or (1,) * graph.switches)
    names = graph.switch_names or tuple(f"switch {number}" for number in range(graph.switches))
    down: defaultdict[int, int] = defaultdict(int)
    up: defaultdict[int, int] = defaultdict(int)
    aside: set[int] = set()
    for link in graph.links:
        low, high = sorted((link.a, link.b), key=levels.__getitem__)
        if levels[low] < levels[high]:
            up[low] += link.rate_bps
            down[high] += link.rate_bps
        else:
            aside |= {low, high}
    for switch in range(graph.switches):
        node = graph.hosts + switch
        if levels[node] > 0 and up[node] and down[node] and node not in aside:
            key = (levels[node], names[switch].rpartition(" ")[0] or names[switch])
            worst[key] = max(worst.get(key, Fraction(0)), Fraction(down[node], up[node]))
    return tuple((name, ratio) for (_, name), ratio in sorted(worst.items()))
