"""Propagation delays between hosts: those of the quickest of a pair's shortest paths.

Hosts that hang on the same switches over links of the same delays are of one class, so a fabric of thousands of hosts
has a small table.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from astra_ns3.frozen import dataclass
from astra_ns3.memory import require_memory
from astra_ns3.topology.distances import UNREACHED, distances_to_groups, host_groups
from astra_ns3.topology.graph import Graph

# Longer than any path; two of them still fit.
_FAR_PS = np.iinfo(np.int64).max // 4
_BYTES_PER_DELAY = 8

_Picoseconds = npt.NDArray[np.int64]
_Costs = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class PairDelays:
    """``class_of``: the class of each host asked for, in that order; ``delays_ps``: between classes, square.

    On the diagonal is the delay between two different hosts of one class, 0 if it has one host only.
    """

    class_of: npt.NDArray[np.int64]
    delays_ps: _Picoseconds

    def slowest_pair(self) -> tuple[int, int]:
        """The places of two hosts that are as far apart in time as any; unreachable ones don't count."""
        reached = np.where(self.delays_ps < _FAR_PS, self.delays_ps, 0)
        a, b = np.unravel_index(reached.argmax(), reached.shape)
        return int(np.flatnonzero(self.class_of == a)[0]), int(np.flatnonzero(self.class_of == b)[-1])


def longest_delay_ps(graph: Graph) -> int:
    """The delay of the slowest of all shortest paths between two hosts with NPUs."""
    return -int(pair_delays(graph, sorted(set(graph.npu_host)), sign=-1).delays_ps.min())


def pair_delays(graph: Graph, hosts: Sequence[int], *, sign: int = 1) -> PairDelays:
    """The delays between ``hosts``, each of which is named once and can reach the others.

    ``sign`` -1: those of the slowest of a pair's shortest paths, below 0.
    """
    numbers: dict[object, int] = {}
    class_of = np.zeros(len(hosts), dtype=np.int64)
    for index, host in enumerate(hosts):
        class_of[index] = numbers.setdefault(_surroundings(graph, host), len(numbers))
    require_memory(
        f"the delays between {len(numbers)} classes of hosts",
        2 * len(numbers) * (graph.switches + len(numbers)) * _BYTES_PER_DELAY,
        "use a smaller network, or one in which more hosts share a switch",
    )
    _, first, crowd = np.unique(class_of, return_index=True, return_counts=True)
    delays_ps = _between(graph, [hosts[index] for index in first.tolist()], sign)
    np.fill_diagonal(delays_ps, np.where(crowd > 1, delays_ps.diagonal(), 0))
    return PairDelays(class_of, delays_ps)


def _surroundings(graph: Graph, host: int) -> object:
    """The same for hosts that are equally far from everywhere; a host with links to hosts is like no other."""
    ports = graph.ports[host]
    if any(port.peer < graph.hosts for port in ports):
        return host
    return tuple(sorted((port.peer, graph.links[port.link].cost, graph.links[port.link].delay_ps) for port in ports))


def _between(graph: Graph, targets: Sequence[int], sign: int) -> _Picoseconds:
    """The delays between hosts, one of each class; on the diagonal that to another host of the class."""
    groups = host_groups(graph)
    costs = distances_to_groups(graph, groups).astype(np.int64)[:, groups.of_host[targets]]
    delays_ps = _to_targets(graph, targets, costs, sign)
    return np.stack([_from_host(graph, host, targets, costs, delays_ps, sign) for host in targets])


def _to_targets(graph: Graph, targets: Sequence[int], costs: _Costs, sign: int) -> _Picoseconds:
    """The delay from each switch to each target over links that lead nearer; ``costs``, too: (switches, targets)."""
    delays_ps = np.full(costs.shape, _FAR_PS, dtype=np.int64)
    for column, host in enumerate(targets):
        for port in graph.ports[host]:
            link, switch = graph.links[port.link], port.peer - graph.hosts
            if switch >= 0 and costs[switch, column] == link.cost:
                delays_ps[switch, column] = min(delays_ps[switch, column], sign * link.delay_ps)
    ways = _ways_between_switches(graph)
    changed = True
    while changed:  # once for each link of the longest path, and once more
        changed = False
        for here, beyond, cost, delay_ps in ways:
            nearer = costs[here] == costs[beyond] + cost
            onward = np.where(nearer, delays_ps[beyond] + sign * delay_ps, _FAR_PS)
            if (onward < delays_ps[here]).any():
                np.minimum(delays_ps[here], onward, out=delays_ps[here])
                changed = True
    return delays_ps


def _ways_between_switches(graph: Graph) -> Sequence[tuple[int, int, int, int]]:
    """Where a way begins, where it leads, its cost and its delay; of links that differ in nothing, one."""
    ways = {
        (a - graph.hosts, b - graph.hosts, link.cost, link.delay_ps): None
        for link in graph.links
        if min(link.a, link.b) >= graph.hosts
        for a, b in ((link.a, link.b), (link.b, link.a))
    }
    return tuple(ways)


def _from_host(
    graph: Graph, host: int, targets: Sequence[int], costs: _Costs, delays_ps: _Picoseconds, sign: int
) -> _Picoseconds:
    """The delay from a host to each target, by the quickest of the cheapest ways out."""
    cheapest = np.full(len(targets), UNREACHED, dtype=np.int64)
    quickest = np.full(len(targets), _FAR_PS, dtype=np.int64)
    for port in graph.ports[host]:
        link = graph.links[port.link]
        if port.peer >= graph.hosts:
            way = costs[port.peer - graph.hosts] + link.cost
            delay = delays_ps[port.peer - graph.hosts] + sign * link.delay_ps
        else:
            there = np.array(targets) == port.peer
            way, delay = np.where(there, link.cost, UNREACHED), np.where(there, sign * link.delay_ps, _FAR_PS)
        better = (way < cheapest) | ((way == cheapest) & (delay < quickest))
        cheapest, quickest = np.where(better, way, cheapest), np.where(better, delay, quickest)
    return quickest
