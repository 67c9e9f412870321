"""Places for networks without levels: rings, full meshes and dragonflies in a circle, tori and meshes in a grid."""

from __future__ import annotations

from math import cos, pi, sin

from astra_ns3.report.network.marks import Layout, Mark, wires_between
from astra_ns3.topology.graph import Graph

_MOST_IN_A_CIRCLE = 72
_MOST_IN_A_GRID = 256
_RADIUS_OF_A_MARK = 0.19


def in_a_circle(graph: Graph) -> Layout | None:
    """NPUs in a circle, each one's router (if there are any) inside; None if that is not what the network is."""
    kinds = {link.kind for link in graph.links}
    if graph.hosts > _MOST_IN_A_CIRCLE or not (kinds & {"global", "axis-0"} or graph.switches == 0):
        return None
    radius = max(1.5, graph.hosts * _RADIUS_OF_A_MARK)
    inner = max(0.9, radius - 1.0 - (0.5 if graph.switches < graph.hosts else 0))
    found = Layout(width=2 * radius + 1, height=2 * radius + 1)
    for host in range(graph.hosts):
        found.marks.append(_round_mark(radius, host / max(graph.hosts, 1), radius, str(host), is_host=True))
    for switch in range(graph.switches):
        turn = _turn_of_hosts(graph, graph.hosts + switch)
        found.marks.append(_round_mark(inner, turn, radius, str(switch), is_host=False))
    found.mark_of = list(range(graph.nodes))
    found.wires = wires_between(graph, found.mark_of)
    return found


def _turn_of_hosts(graph: Graph, switch: int) -> float:
    """Where on the circle the middle of a switch's hosts is, as a part of a whole turn."""
    hosts = [port.peer for port in graph.ports[switch] if port.peer < graph.hosts] or [0]
    return sum(hosts) / len(hosts) / graph.hosts


def _round_mark(radius: float, turn: float, centre: float, label: str, *, is_host: bool) -> Mark:
    angle = pi / 2 - 2 * pi * turn
    return Mark(centre + 0.5 + radius * cos(angle), centre + 0.5 + radius * sin(angle), label, 1, is_host)


def in_a_grid(graph: Graph) -> Layout | None:
    """Routers in a grid, each NPU beside its own; layers of a third axis side by side. None if it is no grid."""
    shape = _shape(graph)
    if len(shape) < 2 or graph.switches > _MOST_IN_A_GRID:
        return None
    across, down = shape[0], shape[1]
    layers = -(-graph.switches // (across * down))
    found = Layout(width=1.5 * (across + 0.6) * layers, height=1.5 * down + 0.75 * (layers - 1))
    places = []
    for switch in range(graph.switches):
        layer, place = divmod(switch, across * down)
        x = 1.5 * (place % across + layer * (across + 0.6)) + 0.9
        places.append((x, 1.5 * (down - 1 - place // across) + 0.4 + 0.75 * layer))
    for host in range(graph.hosts):
        x, y = places[graph.ports[host][0].peer - graph.hosts]
        found.marks.append(Mark(x - 0.42, y + 0.42, str(host), 1, is_host=True))
    for switch, (x, y) in enumerate(places):
        found.marks.append(Mark(x, y, str(switch), 1, is_host=False))
    found.mark_of = list(range(graph.nodes))
    found.wires = wires_between(graph, found.mark_of)
    return found


def _shape(graph: Graph) -> tuple[int, ...]:
    """Routers along each axis that has links, if every switch is the router of one host."""
    steps: dict[str, int] = {}
    for link in graph.links:
        if link.kind.startswith("axis-"):
            step = abs(link.b - link.a)
            steps[link.kind] = min(step, steps.get(link.kind, step))
    if graph.switches != graph.hosts:
        return ()
    strides = [*sorted(steps.values()), graph.switches]
    return tuple(strides[index + 1] // strides[index] for index in range(len(strides) - 1))
