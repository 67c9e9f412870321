"""The ways that a message may take: each of its equal ways, or a bound on what all of them carry together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from typing import NamedTuple

from astra_ns3.network.plan import NetworkPlan
from astra_ns3.topology.graph import Graph, Port
from astra_ns3.topology.paths import cut_through_of, path, path_links
from astra_ns3.topology.routes import RouteTables
from astra_ns3.transport.lossless import largest_wire_bytes
from astra_ns3.transport.wire import PREAMBLE_AND_GAP_BYTES

# Where more ways of a pair differ, a bound stands for them.
_MOST_WAYS = 64


class Way(NamedTuple):
    """One way, or a bound on several: at each step the fastest line, and all rates together."""

    delay_ps: int
    """A bound has the least that all lines of some way have."""
    rates_bps: tuple[int, ...]
    cut_through: tuple[int, ...]
    """The bytes of a frame that each switch between two lines waits for before it sends the frame on, 0 for all."""
    widths: tuple[float, ...] = ()
    """By step, how many times its rate all lines that may be taken have together; empty: one way."""
    alike: bool = True
    """At each step of a bound all lines have one rate and lead to switches that cut through alike."""
    singles: tuple[Way, ...] = ()
    """Each way of a bound once, since each frame takes one; none where too many differ."""

    def back(self) -> Way:
        """Return the way of an answer."""
        singles = tuple(each.back() for each in self.singles)
        return Way(self.delay_ps, self.rates_bps[::-1], self.cut_through[::-1], self.widths[::-1], self.alike, singles)


def packets_part(plan: NetworkPlan) -> bool:
    """Return whether packets of a message may take different ways."""
    return routing_parts(plan) or any(each.message_parts > 1 for each in plan.transports.values())


def routing_parts(plan: NetworkPlan) -> bool:
    """Return whether switches may send packets of a queue pair on different ways while it sends."""
    frame_bytes = largest_wire_bytes(plan.transports.values()) + PREAMBLE_AND_GAP_BYTES
    return plan.config.topology.routing.parts(frame_bytes, min((link.rate_bps for link in plan.graph.links), default=1))


def plain_way(graph: Graph, tables: RouteTables, source: int, destination: int) -> Way:
    """Return the first of the shortest paths; raises InputError if nothing leads there."""
    links = path_links(graph, path(graph, tables, source, destination))
    return Way(
        sum(link.delay_ps for link in links), tuple(link.rate_bps for link in links), cut_through_of(graph, links)
    )


def single_ways(graph: Graph, tables: RouteTables, source: int, destination: int) -> tuple[Way, ...]:
    """Return each of the equal ways once, ways of the same lines being one; where too many differ, a bound on each.

    Raises InputError if nothing leads there.
    """
    onward = _onward(graph, tables, source, destination)
    found = _singles(graph, onward, source, destination)
    if found is None:
        bound = _bound(graph, tables, source, onward[source], destination)
        return () if bound is None else (bound._replace(widths=(1.0,) * len(bound.rates_bps)),)
    return found or (plain_way(graph, tables, source, destination),)


def _singles(
    graph: Graph, onward: Mapping[int, Sequence[Port]], source: int, destination: int
) -> tuple[Way, ...] | None:
    """Return each way by the ports that lead on; none if they lead nowhere or in a circle; None: too many differ."""
    before = TopologicalSorter({node: [port.peer for port in ports] for node, ports in onward.items()})
    try:
        order = [node for node in before.static_order() if node != destination]
    except CycleError:
        return ()
    behind: dict[int, tuple[Way, ...]] = {destination: (Way(0, (), ()),)}
    for node in order:
        found = dict.fromkeys(_longer(graph, port, way) for port in onward[node] for way in behind[port.peer])
        if len(found) > _MOST_WAYS:
            return None
        behind[node] = tuple(found)
    return behind[source]


def _onward(graph: Graph, tables: RouteTables, source: int, destination: int) -> dict[int, list[Port]]:
    """Return the ports that each node on some equal way may take, one for each line."""
    found: dict[int, list[Port]] = {}
    nodes = [source]
    while nodes:
        node = nodes.pop()
        if node in found or node == destination:
            continue
        found[node] = [graph.ports[node][port] for port in dict.fromkeys(tables.towards(node, destination))]
        nodes += [port.peer for port in found[node]]
    return found


def _longer(graph: Graph, port: Port, way: Way) -> Way:
    """Return the way that takes a port's line, then ``way``."""
    link = graph.links[port.link]
    heads = (_head_bytes(graph, port.peer), *way.cut_through) if way.rates_bps else ()
    return Way(link.delay_ps + way.delay_ps, (link.rate_bps, *way.rates_bps), heads)


def _head_bytes(graph: Graph, node: int) -> int:
    return graph.switch_configs[node - graph.hosts].cut_through_bytes or 0 if node >= graph.hosts else 0


def widest_ways(
    graph: Graph, tables: RouteTables, source: int, destination: int, *, all_ports: bool
) -> tuple[Way, ...]:
    """Return for each port that a host may send by a bound on all equal ways from there; plain where there is one way.

    ``all_ports``: a message may take several of the host's ports at once, as when queue pairs split it: one bound.
    Where equal ways have different numbers of lines a bound ends with the shortest of them: what lies behind is not
    on every way. Raises InputError if nothing leads there.
    """
    ports = [graph.ports[source][port] for port in dict.fromkeys(tables.towards(source, destination))]
    found: dict[Way, None] = {}
    for first in [ports] if all_ports else [[port] for port in ports]:
        bound = _bound(graph, tables, source, first, destination)
        if bound is None:
            break
        found[bound] = None
    else:
        if found:
            return tuple(found)
    return (plain_way(graph, tables, source, destination),)


def _bound(graph: Graph, tables: RouteTables, source: int, first: Sequence[Port], destination: int) -> Way | None:
    """Return a bound on all equal ways by some ports of a host, without widths for one way; None: there are none."""
    steps = _steps(graph, tables, first, destination)
    if steps is None:
        return None
    links = [[graph.links[port.link] for port in step] for step in steps]
    heads = [{_head_bytes(graph, port.peer) for port in step} for step in steps[:-1]]
    fastest = [max(link.rate_bps for link in step) for step in links]
    widths: tuple[float, ...] = ()
    if any(len(step) > 1 for step in steps):
        widths = tuple(sum(link.rate_bps for link in step) / rate for step, rate in zip(links, fastest, strict=True))
    alike = all(len({link.rate_bps for link in step}) == 1 for step in links) and all(len(step) == 1 for step in heads)
    singles: tuple[Way, ...] = ()
    delay_ps = sum(step[0].delay_ps for step in links)
    same_delays = all(len({link.delay_ps for link in step}) == 1 for step in links)
    if not (alike and same_delays and all(port.peer < graph.hosts for port in steps[-1])):
        onward = {**_onward(graph, tables, source, destination), source: [*first]}
        singles = _singles(graph, onward, source, destination) or ()
        delays = [way.delay_ps for way in singles]
        delay_ps = min(delays) if delays else _least_delay_ps(graph, tables, first, destination)
    heads_of = tuple(min((head for head in step if head), default=0) for step in heads)
    return Way(delay_ps, tuple(fastest), heads_of, widths, alike, singles if widths else ())


def _steps(graph: Graph, tables: RouteTables, first: Sequence[Port], destination: int) -> list[list[Port]] | None:
    """Return the lines of each step of all equal ways, as far as all of them go; None if they lead nowhere."""
    steps = [[*first]]
    while True:
        if not steps[-1] or len(steps) > graph.nodes:
            return None
        nodes = list(dict.fromkeys(one.peer for one in steps[-1]))
        if any(node < graph.hosts for node in nodes):
            return steps
        steps.append(
            [graph.ports[node][port] for node in nodes for port in dict.fromkeys(tables.towards(node, destination))]
        )


def _least_delay_ps(graph: Graph, tables: RouteTables, first: Sequence[Port], destination: int) -> int:
    """Return the least delay that the lines of one whole way have together."""
    edge: dict[int, int] = {}
    _shorten(graph, edge, first, 0)
    found: list[int] = []
    while edge:
        found += [delay_ps for node, delay_ps in edge.items() if node < graph.hosts]
        onward: dict[int, int] = {}
        for node, delay_ps in edge.items():
            if node >= graph.hosts:
                ports = [graph.ports[node][port] for port in tables.towards(node, destination)]
                _shorten(graph, onward, ports, delay_ps)
        edge = onward
    return min(found)


def _shorten(graph: Graph, edge: dict[int, int], ports: Iterable[Port], before_ps: int) -> None:
    for port in ports:
        delay_ps = before_ps + graph.links[port.link].delay_ps
        edge[port.peer] = min(edge.get(port.peer, delay_ps), delay_ps)
