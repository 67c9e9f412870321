"""What propagation alone takes between hosts: the delays of the quickest of a pair's shortest paths.

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
# Hosts of a class that are looked at: one more to go to from the first.
_MEMBERS = 2

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


def pair_delays(graph: Graph, hosts: Sequence[int]) -> PairDelays:
    """The delays between ``hosts``, each of which is named once and can reach the others."""
    members: dict[object, list[int]] = {}
    numbers: dict[object, int] = {}
    class_of = np.zeros(len(hosts), dtype=np.int64)
    for index, host in enumerate(hosts):
        key = _surroundings(graph, host)
        class_of[index] = numbers.setdefault(key, len(numbers))
        members.setdefault(key, []).append(host)
    classes = [each[:_MEMBERS] for each in members.values()]
    require_memory(
        f"the delays between {len(classes)} classes of hosts",
        len(classes) * _MEMBERS * (graph.switches + len(classes)) * _BYTES_PER_DELAY,
        "use a smaller network, or one in which more hosts share a switch",
    )
    return PairDelays(class_of, _between(graph, classes))


def _surroundings(graph: Graph, host: int) -> object:
    """The same for hosts that are equally far from everywhere; a host with links to hosts is like no other."""
    ports = graph.ports[host]
    if any(port.peer < graph.hosts for port in ports):
        return host
    return tuple(sorted((port.peer, graph.links[port.link].cost, graph.links[port.link].delay_ps) for port in ports))


def _between(graph: Graph, classes: Sequence[Sequence[int]]) -> _Picoseconds:
    targets = [host for members in classes for host in members]
    groups = host_groups(graph)
    costs = distances_to_groups(graph, groups).astype(np.int64)[:, groups.of_host[targets]]
    delays_ps = _to_targets(graph, targets, costs)
    first = np.cumsum([0, *(len(members) for members in classes)])[:-1]
    found = np.zeros((len(classes), len(classes)), dtype=np.int64)
    for number, members in enumerate(classes):
        row = _from_host(graph, members[0], targets, costs, delays_ps)
        found[number] = row[first]
        found[number, number] = row[first[number] + 1] if len(members) > 1 else 0
    return found


def _to_targets(graph: Graph, targets: Sequence[int], costs: _Costs) -> _Picoseconds:
    """The delay from each switch to each target over links that lead nearer; ``costs``, too: (switches, targets)."""
    delays_ps = np.full(costs.shape, _FAR_PS, dtype=np.int64)
    for column, host in enumerate(targets):
        for port in graph.ports[host]:
            link, switch = graph.links[port.link], port.peer - graph.hosts
            if switch >= 0 and costs[switch, column] == link.cost:
                delays_ps[switch, column] = min(delays_ps[switch, column], link.delay_ps)
    between = [link for link in graph.links if min(link.a, link.b) >= graph.hosts]
    ways = [
        (a - graph.hosts, b - graph.hosts, link) for link in between for a, b in ((link.a, link.b), (link.b, link.a))
    ]
    changed = True
    while changed:  # once for each link of the longest path, and once more
        changed = False
        for here, beyond, link in ways:
            nearer = costs[here] == costs[beyond] + link.cost
            onward = np.where(nearer, delays_ps[beyond] + link.delay_ps, _FAR_PS)
            if (onward < delays_ps[here]).any():
                np.minimum(delays_ps[here], onward, out=delays_ps[here])
                changed = True
    return delays_ps


def _from_host(graph: Graph, host: int, targets: Sequence[int], costs: _Costs, delays_ps: _Picoseconds) -> _Picoseconds:
    """The delay from a host to each target, by the quickest of the cheapest ways out."""
    cheapest = np.full(len(targets), UNREACHED, dtype=np.int64)
    quickest = np.full(len(targets), _FAR_PS, dtype=np.int64)
    for port in graph.ports[host]:
        link = graph.links[port.link]
        if port.peer >= graph.hosts:
            way, delay = costs[port.peer - graph.hosts] + link.cost, delays_ps[port.peer - graph.hosts] + link.delay_ps
        else:
            there = np.array(targets) == port.peer
            way, delay = np.where(there, link.cost, UNREACHED), np.where(there, link.delay_ps, _FAR_PS)
        better = (way < cheapest) | ((way == cheapest) & (delay < quickest))
        cheapest, quickest = np.where(better, way, cheapest), np.where(better, delay, quickest)
    return quickest
