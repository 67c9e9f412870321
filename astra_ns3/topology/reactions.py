"""How a network comes to know of links that go down or come up: who notices, when, and when routes follow.

The ends of a link *notice* a turn of it. Then they *repair* what they can by themselves: an end drops the link from
each set of equal ports that has another port left. Last the routes of all nodes *converge* on the network without it.
Until its ends notice that a link is down, it is *silent*: it loses all that it is sent. From then on until routes have
converged, whatever they still lead over it is dropped. A turn that is over before anybody notices is never noticed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from astra_ns3.errors import refuse
from astra_ns3.frozen import dataclass, replace
from astra_ns3.topology.graph import Graph, Link
from astra_ns3.topology.routes import NodeRoutes, RouteTables
from astra_ns3.units import exact_time


@dataclass(frozen=True, slots=True)
class LinkTurn:
    """A link, by its number, that goes down or comes up (``up``) at ``time_ps``."""

    link: int
    time_ps: int
    up: bool


@dataclass(frozen=True, slots=True)
class Known:
    """When the ends of a link notice a turn of it, repair their own tables, and when all routes have converged."""

    noticed_ps: int
    repaired_ps: int
    converged_ps: int

    def check(self, turn: LinkTurn) -> None:
        """Raise InputError unless one comes after the other."""
        refuse(
            not turn.time_ps <= self.noticed_ps <= min(self.repaired_ps, self.converged_ps),
            f"link {turn.link} turns at {exact_time(turn.time_ps)}, is noticed at {self.noticed_ps} ps, repaired at "
            f"{self.repaired_ps} ps and converged at {self.converged_ps} ps, expected one after the other",
        )


Reaction = Callable[[LinkTurn], Known]
"""From a turn of a link to when it is known."""


@dataclass(frozen=True, eq=False)
class Stage:
    """A network from ``start_ps`` on: ``graph`` as it is for whoever sends, ``routed`` as its routes take it.

    ``repaired``: links that the routes still use and that their ends have dropped.
    """

    start_ps: int
    graph: Graph
    routed: Graph
    repaired: frozenset[int]


def stages(built: Graph, states: Sequence[tuple[int, Graph]], reaction: Reaction | None) -> Iterator[Stage]:
    """Yield how a network goes through its ``states``, if it comes to know of them as ``reaction`` says.

    ``states``: when the network becomes what, in the order of time; ``built``: what it was before the first. None: all
    is known everywhere at once.
    """
    if reaction is None:
        yield from (Stage(start_ps, graph, graph, frozenset()) for start_ps, graph in states)
        return
    course = _Course(built, states, reaction)
    yield from (course.stage(time_ps) for time_ps in course.times)


def _turns(built: Graph, states: Sequence[tuple[int, Graph]]) -> Mapping[int, list[LinkTurn]]:
    """Return the turns of each link."""
    found: defaultdict[int, list[LinkTurn]] = defaultdict(list)
    for (_, before), (time_ps, after) in pairwise([(0, built), *states]):
        for number, (old, new) in enumerate(zip(before.links, after.links, strict=True)):
            if old.up != new.up:
                found[number].append(LinkTurn(number, time_ps, new.up))
    return found


def _noticed(turns: Sequence[LinkTurn], reaction: Reaction) -> Iterator[tuple[LinkTurn, Known]]:
    """Yield the turns of a link that are noticed, with when they are known; a later one is not known before them."""
    known_up = not turns[0].up
    latest = Known(0, 0, 0)
    for turn, then in zip(turns, [*turns[1:], None], strict=True):
        known = reaction(turn)
        known.check(turn)
        missed = then is not None and then.time_ps <= known.noticed_ps
        if missed or turn.up == known_up:
            continue
        known_up = turn.up
        latest = Known(
            known.noticed_ps,
            max(known.repaired_ps, latest.repaired_ps),
            max(known.converged_ps, latest.converged_ps),
        )
        yield turn, latest


class _Course:
    """The known state of each link at the time that was asked for last; times ascend."""

    def __init__(self, built: Graph, states: Sequence[tuple[int, Graph]], reaction: Reaction) -> None:
        self._states = dict(states)
        self._state = self._graph = self._routed = built
        self._known, self._repaired, self._converged = ([link.up for link in built.links] for _ in range(3))
        self._steps: defaultdict[int, list[tuple[list[bool], LinkTurn]]] = defaultdict(list)
        for turns in _turns(built, states).values():
            for turn, known in _noticed(turns, reaction):
                self._steps[known.noticed_ps].append((self._known, turn))
                self._steps[known.repaired_ps].append((self._repaired, turn))
                self._steps[known.converged_ps].append((self._converged, turn))
        self.times = sorted({*self._states, *self._steps})

    def stage(self, time_ps: int) -> Stage:
        for view, turn in self._steps[time_ps]:
            view[turn.link] = turn.up
        self._state = self._states.get(time_ps, self._state)
        graph_links, routed_links = list(self._graph.links), list(self._routed.links)
        for number, link in enumerate(self._state.links):
            known = self._known[number]
            seen = replace(link, up=known, silent=known and not link.up) if known != link.up else link
            routed = replace(link, up=self._converged[number]) if self._converged[number] != link.up else link
            graph_links[number] = graph_links[number] if graph_links[number] == seen else seen
            routed_links[number] = routed_links[number] if routed_links[number] == routed else routed
        self._graph = _with_links(self._graph, graph_links)
        if self._graph.switch_configs is not self._state.switch_configs:
            self._graph = replace(self._graph, switch_configs=self._state.switch_configs)
        self._routed = _with_links(self._routed, routed_links)
        dropped = (
            number
            for number, (near, far) in enumerate(zip(self._repaired, self._converged, strict=True))
            if far and not near
        )
        return Stage(time_ps, self._graph, self._routed, frozenset(dropped))


def _with_links(graph: Graph, links: Sequence[Link]) -> Graph:
    """Return a graph with other links; the same graph if all are the same objects."""
    if all(new is old for new, old in zip(links, graph.links, strict=True)):
        return graph
    return replace(graph, links=tuple(links))


def without_links(tables: RouteTables, graph: Graph, links: frozenset[int]) -> RouteTables:
    """Return the tables of a network whose nodes have dropped their own ends of ``links``, where they have others."""
    if not links:
        return tables
    ports: defaultdict[int, set[int]] = defaultdict(set)
    for link in links:
        for node in (graph.links[link].a, graph.links[link].b):
            ports[node] |= {number for number, port in enumerate(graph.ports[node]) if port.link == link}
    hosts, switches = list(tables.hosts), list(tables.switches)
    for node, dropped in ports.items():
        if node >= graph.hosts:
            switches[node - graph.hosts] = _without_ports(switches[node - graph.hosts], dropped)
        else:
            own = hosts[node]
            hosts[node] = None if own is None else _without_ports(own, dropped)
    return RouteTables(tables.group_of_host, tables.groups, tuple(switches), tuple(hosts))


def _without_ports(own: NodeRoutes, dropped: set[int]) -> NodeRoutes:
    sets = (
        [_left(one, dropped) for one in np.split(own.set_ports, own.set_offsets[1:-1])]
        if len(own.set_offsets) > 1
        else []
    )
    hosts, ports = own.local_hosts.tolist(), own.local_ports.tolist()
    elsewhere = {host for host, port in zip(hosts, ports, strict=True) if port not in dropped}
    kept = [
        place
        for place, (host, port) in enumerate(zip(hosts, ports, strict=True))
        if port not in dropped or host not in elsewhere
    ]
    return NodeRoutes(
        own.set_of_group,
        np.cumsum([0, *(len(one) for one in sets)]).astype(np.uint32),
        np.concatenate(sets).astype(np.uint32) if sets else own.set_ports,
        own.local_hosts[kept],
        own.local_ports[kept],
    )


def _left(ports: npt.NDArray[np.uint32], dropped: set[int]) -> npt.NDArray[np.uint32]:
    """Return the ports of a set but for those dropped; all of them where none is left."""
    kept = ports[~np.isin(ports, list(dropped))]
    return kept if len(kept) else ports
