"""Pinned paths: turns the number of a path into the choice that each node on it makes."""

from __future__ import annotations

from astra_ns3.topology.graph import Graph
from astra_ns3.topology.routes import RouteTables


def pinned_choices(graph: Graph, tables: RouteTables, sender: int, receiver: int, path: int) -> tuple[int, ...]:
    """Which of the ports towards ``receiver`` the sender's host takes, then each switch of the path.

    A node with c such ports takes number ``path mod c`` and hands ``path div c`` to the next.
    """
    node, target = graph.npu_host[sender], graph.npu_host[receiver]
    choices: list[int] = []
    while node != target:
        ports = tables.towards(node, target)
        choices.append(path % len(ports))
        path //= len(ports)
        node = graph.ports[node][ports[choices[-1]]].peer
    return tuple(choices)
