"""How a network is built, seen from its links alone: levels, pods and planes, also of graphs that don't tell."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable
from functools import cached_property

from astra_ns3.frozen import dataclass
from astra_ns3.topology.graph import Graph, Link

SCALE_UP = -1
"""Level of switches inside boxes, which stand below the NPUs."""
NONE = -1


@dataclass(frozen=True, eq=False)
class Structure:
    """``levels`` of all nodes, hosts 0; ``inferred``: from links, as the graph has but one level of switches."""

    graph: Graph
    levels: tuple[int, ...]
    inferred: bool

    @cached_property
    def pods(self) -> tuple[int, ...]:
        """The pod of each node, NONE for the highest level; all NONE if there are no pods.

        A pod is what hangs together without the highest level: several switches, or it is but a leaf.
        """
        top = max(self.levels)
        pods = _components(self.graph, lambda node: self.levels[node] < top)
        switches = Counter(pods[node] for node, level in enumerate(self.levels) if 0 < level < top)
        alone = len(set(pods) - {NONE}) < 2 or not switches or max(switches.values()) < 2
        return (NONE,) * len(pods) if alone else pods

    @cached_property
    def planes(self) -> tuple[int, ...]:
        """The plane of each switch above the hosts, NONE for all other nodes; all NONE if there is one plane.

        Planes are fabrics of several switches that meet at hosts only.
        """
        planes = _components(self.graph, lambda node: self.levels[node] > 0)
        sizes = Counter(plane for plane in planes if plane != NONE)
        alone = len(sizes) < 2 or min(sizes.values()) < 2
        return (NONE,) * len(planes) if alone else planes

    @cached_property
    def boxes(self) -> tuple[int, ...]:
        """The box of each host: the graph's own, or hosts of one scale-up switch; empty if nothing tells."""
        if self.graph.host_boxes or SCALE_UP not in self.levels:
            return self.graph.host_boxes
        inside = _components(self.graph, lambda node: self.levels[node] <= 0, self._inside)
        return inside[: self.graph.hosts]

    @cached_property
    def first_hosts(self) -> tuple[int, ...]:
        """The least host at or below each node, by ways that only lead up."""
        first = [node if node < self.graph.hosts else self.graph.hosts for node in range(self.graph.nodes)]
        for node in sorted(range(self.graph.nodes), key=lambda node: abs(self.levels[node])):
            for port in self.graph.ports[node]:
                if abs(self.levels[port.peer]) > abs(self.levels[node]):
                    first[port.peer] = min(first[port.peer], first[node])
        return tuple(first)

    def _inside(self, link: Link) -> bool:
        return SCALE_UP in (self.levels[link.a], self.levels[link.b])


def structure(graph: Graph) -> Structure:
    """Levels as the graph has them; where it has one for all switches, by their distance from the hosts."""
    told = graph.switch_levels or (1,) * graph.switches
    if len(set(told) - {SCALE_UP}) > 1 or not graph.switches:
        return Structure(graph, (0,) * graph.hosts + tuple(told), inferred=False)
    hosts_only = _scale_up_of(graph) if SCALE_UP not in told else set()
    below = {graph.hosts + switch for switch, level in enumerate(told) if level == SCALE_UP} | hosts_only
    levels = _distances(graph, below)
    return Structure(graph, levels, inferred=max(levels) > 1)


def _distances(graph: Graph, below: set[int]) -> tuple[int, ...]:
    """Links to the nearest host, those in ``below`` left out, which are below the hosts."""
    levels = [0 if node < graph.hosts else SCALE_UP if node in below else NONE for node in range(graph.nodes)]
    queue = deque(range(graph.hosts))
    while queue:
        node = queue.popleft()
        for port in graph.ports[node]:
            if levels[port.peer] == NONE and port.peer not in below:
                levels[port.peer] = levels[node] + 1
                queue.append(port.peer)
    return tuple(1 if level == NONE and node not in below else level for node, level in enumerate(levels))


def _scale_up_of(graph: Graph) -> set[int]:
    """Switches that join hosts only, all of which hang on others too that lead on, or are slower."""
    peers = {node: {port.peer for port in graph.ports[node]} for node in range(graph.hosts, graph.nodes)}
    only = {node for node, others in peers.items() if others and max(others) < graph.hosts}
    rates = {node: max(graph.links[port.link].rate_bps for port in graph.ports[node]) for node in only}

    def leaves(host: int, switch: int) -> bool:
        others = {port.peer for port in graph.ports[host]} - {switch}
        return any(other >= graph.hosts and (other not in only or rates[other] < rates[switch]) for other in others)

    return {node for node in only if all(leaves(host, node) for host in peers[node])}


def _components(
    graph: Graph, inside: Callable[[int], bool], joins: Callable[[Link], bool] = lambda _: True
) -> tuple[int, ...]:
    """Number of the connected part of each node that is inside, in the order of their first nodes; NONE of others."""
    found = [NONE] * graph.nodes
    count = 0
    for start in range(graph.nodes):
        if found[start] != NONE or not inside(start):
            continue
        _mark(
            found,
            count,
            start,
            lambda node: (
                port.peer for port in graph.ports[node] if inside(port.peer) and joins(graph.links[port.link])
            ),
        )
        count += 1
    return tuple(found)


def _mark(found: list[int], number: int, start: int, neighbours: Callable[[int], Iterable[int]]) -> None:
    found[start] = number
    queue = deque([start])
    while queue:
        for node in neighbours(queue.popleft()):
            if found[node] == NONE:
                found[node] = number
                queue.append(node)
