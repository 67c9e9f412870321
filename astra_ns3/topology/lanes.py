"""The order of links by which frames change lanes, and whether lanes can wait for each other in a circle.

A frame that goes on by a link whose number isn't above that of the link it came by changes to the next lane. Model's
source: W. Dally, C. Seitz, "Deadlock-free message routing in multiprocessor interconnection networks", IEEE
Transactions on Computers 36(5), 1987: no deadlock where the graph of which lane waits for which has no circle.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from math import prod

import numpy as np
import numpy.typing as npt

from astra_ns3.topology.graph import AXIS, Graph
from astra_ns3.topology.routes import LOCAL, RouteTables

TO_HOST = 2**31
"""Number of a link to a host: above all others, so nothing changes lanes on its last link."""
_FROM_HOST = 0

Orders = npt.NDArray[np.uint32]
Lane = tuple[int, int, int]
"""A link's number, 0 for the way to its second node and 1 for the way back, and a lane of it, the first being 0."""


def orders_by_hop(graph: Graph) -> Orders:
    """Equal numbers for all links between switches, shape ``(links, 2)``: the way to a link's second node, and back."""
    orders = np.ones((len(graph.links), 2), dtype=np.uint32)
    for number, link in enumerate(graph.links):
        for way, (near, far) in enumerate(((link.a, link.b), (link.b, link.a))):
            if near < graph.hosts:
                orders[number, way] = _FROM_HOST
            elif far < graph.hosts:
                orders[number, way] = TO_HOST
    return orders


def orders_by_date_line(graph: Graph, shape: tuple[int, ...]) -> Orders:
    """The same for routers on a grid of rings: along each axis numbers grow from place 0 on, either way around.

    They begin anew at the link between the last place and the first, the date line, and are higher on each further
    axis.
    """
    orders = orders_by_hop(graph)
    most = max(shape) + 1
    for number, link in enumerate(graph.links):
        if not link.kind.startswith(AXIS):
            continue
        axis = int(link.kind.removeprefix(AXIS))
        stride, size = prod(shape[:axis]), shape[axis]
        at, to = ((node - graph.hosts) // stride % size for node in (link.a, link.b))
        forward = at if (at + 1) % size == to else to
        first = 1 + axis * most
        ways = first + forward, first + (size - 1 - forward)
        orders[number] = ways if forward == at else ways[::-1]
    return orders


def find_circle(
    graph: Graph,
    tables: RouteTables,
    orders: Orders,
    lanes: int,
    sends: npt.NDArray[np.bool_] | None = None,
    *,
    detours: bool = False,
) -> list[Lane]:
    """Return lanes that may wait for each other in a circle on the routes of the tables; nothing if none do.

    ``sends``: which groups of hosts send to which, shape ``(groups, groups)``; None: all. ``detours``: frames first go
    to the switches of any group of hosts, and from there on.
    """
    waits: dict[Lane, set[Lane]] = {}
    next_links = _NextLinks(graph, tables)
    first = {(number, way, 0): int(tables.group_of_host[host]) for number, way, host in next_links.first()}
    turned: set[Lane] = set()
    if detours:
        starts = set(first)
        turned.update(*(_follow(next_links, place, orders, lanes, waits, starts) for place in range(tables.groups)))
    for group in range(tables.groups):
        starts = turned | {lane for lane, sender in first.items() if sends is None or sends[sender, group]}
        _follow(next_links, group, orders, lanes, waits, starts)
    return _circle(waits)


def lanes_in_words(graph: Graph, circle: Iterable[Lane]) -> str:
    """Return lanes as text: the two nodes of each link, and its lane."""
    return ", ".join(
        f"{_name(near, graph)} to {_name(far, graph)} in lane {lane}"
        for near, far, lane in ((*_ends(graph, number, way), lane) for number, way, lane in circle)
    )


def _name(node: int, graph: Graph) -> str:
    return f"host{node}" if node < graph.hosts else f"switch{node - graph.hosts}"


def _ends(graph: Graph, number: int, way: int) -> tuple[int, int]:
    link = graph.links[number]
    return (link.a, link.b) if way == 0 else (link.b, link.a)


class _NextLinks:
    """The links by which each switch sends on to each group of hosts."""

    def __init__(self, graph: Graph, tables: RouteTables) -> None:
        self._graph = graph
        self._tables = tables

    def first(self) -> Iterator[tuple[int, int, int]]:
        """Yield each way from a host to a switch: a link, a way and the host."""
        for number, link in enumerate(self._graph.links):
            for way, node in enumerate((link.a, link.b)):
                if node < self._graph.hosts and link.up:
                    yield number, way, node

    def after(self, number: int, way: int, group: int) -> list[tuple[int, int]]:
        """Return the links, each with its way, that follow a link towards a group; nothing at its hosts."""
        node = _ends(self._graph, number, way)[1]
        if node < self._graph.hosts:
            return []
        routes = self._tables.switches[node - self._graph.hosts]
        chosen = int(routes.set_of_group[group])
        if chosen == LOCAL:
            return []  # a link to a host follows, whose frames wait for nobody
        ports = routes.set_ports[routes.set_offsets[chosen] : routes.set_offsets[chosen + 1]]
        links = {self._graph.ports[node][int(port)].link for port in ports}
        return [(link, 0 if self._graph.links[link].a == node else 1) for link in sorted(links)]


def _follow(
    links: _NextLinks, group: int, orders: Orders, lanes: int, waits: dict[Lane, set[Lane]], starts: set[Lane]
) -> set[Lane]:
    """Add which lane waits for which, of all frames towards a group; return the lanes into its switches."""
    left = list(starts)
    seen = set(starts)
    ends: set[Lane] = set()
    while left:
        number, way, lane = left.pop()
        behind = waits.setdefault((number, way, lane), set())
        onwards = links.after(number, way, group)
        if not onwards:
            ends.add((number, way, lane))
        for next_number, next_way in onwards:
            changes = orders[number, way] >= orders[next_number, next_way]
            following = (next_number, next_way, min(lane + int(changes), lanes - 1))
            behind.add(following)
            if following not in seen:
                seen.add(following)
                left.append(following)
    return ends


def _circle(waits: Mapping[Lane, set[Lane]]) -> list[Lane]:
    """Return a circle of a graph, or nothing: what nothing is left to wait for is taken away until all is gone."""
    counts = dict.fromkeys(waits, 0)
    waited_by: dict[Lane, list[Lane]] = {lane: [] for lane in waits}
    for lane, others in waits.items():
        counts[lane] = len(others)
        for other in others:
            waited_by[other].append(lane)
    free = [lane for lane, count in counts.items() if count == 0]
    while free:
        for lane in waited_by[free.pop()]:
            counts[lane] -= 1
            if counts[lane] == 0:
                free.append(lane)
    stuck = [lane for lane, count in counts.items() if count > 0]
    if not stuck:
        return []
    path = [min(stuck)]  # each of them waits for another one that is stuck
    while True:
        following = min(other for other in waits[path[-1]] if counts[other] > 0)
        if following in path:
            return path[path.index(following) :]
        path.append(following)
