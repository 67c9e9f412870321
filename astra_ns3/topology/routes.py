"""Shortest paths: for each switch and destination host, the ports that lead one hop nearer.

Distance is counted in links. Hosts forward nothing, so paths run over switches only. Which of several equal ports a
flow takes is the switch's business (a hash); the table holds them all.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from astra_ns3.errors import InputError
from astra_ns3.topology.graph import Graph

_UNREACHED = np.iinfo(np.int32).max


@dataclass(frozen=True, eq=False)
class SwitchRoutes:
    """Compressed rows: the ports towards host h are ``ports[offsets[h]:offsets[h + 1]]``, ascending.

    ``offsets`` has shape ``(hosts + 1,)``.
    """

    offsets: npt.NDArray[np.int64]
    ports: npt.NDArray[np.int32]

    def towards(self, host: int) -> tuple[int, ...]:
        """The ports of the switch that lead to ``host`` on a shortest path."""
        return tuple(int(port) for port in self.ports[self.offsets[host] : self.offsets[host + 1]])


def shortest_path_ports(graph: Graph) -> tuple[SwitchRoutes, ...]:
    """The routes of every switch, in the order of the switches.

    Raises InputError naming a switch and a host between which there is no path.
    """
    distances = _host_distances(graph)
    if np.any(distances == _UNREACHED):
        switch, host = (int(index) for index in np.argwhere(distances == _UNREACHED)[0])
        raise InputError(f"topology: host {host} cannot be reached from switch {switch}")
    return tuple(_routes_of(graph, switch, distances) for switch in range(graph.switches))


def _routes_of(graph: Graph, switch: int, distances: npt.NDArray[np.int32]) -> SwitchRoutes:
    ports = graph.ports[graph.hosts + switch]
    nearer = np.zeros((graph.hosts, len(ports)), dtype=np.bool_)
    for number, port in enumerate(ports):
        if port.peer < graph.hosts:
            nearer[port.peer, number] = True
        else:
            nearer[:, number] = distances[port.peer - graph.hosts] == distances[switch] - 1
    hosts, columns = np.nonzero(nearer)
    counts = np.bincount(hosts, minlength=graph.hosts)
    offsets = np.concatenate(([0], np.cumsum(counts))).astype(np.int64)
    return SwitchRoutes(offsets, columns.astype(np.int32))


def _host_distances(graph: Graph) -> npt.NDArray[np.int32]:
    """Links between each switch and each host; shape ``(switches, hosts)``."""
    between = _switch_distances(graph)
    distances = np.full((graph.hosts, graph.switches), _UNREACHED, dtype=np.int32)
    for host in range(graph.hosts):
        for port in graph.ports[host]:
            if port.peer >= graph.hosts:
                hops = between[port.peer - graph.hosts]
                beyond = np.where(hops == _UNREACHED, _UNREACHED, hops + 1)
                np.minimum(distances[host], beyond, out=distances[host], casting="unsafe")
    return np.ascontiguousarray(distances.T)


def _switch_distances(graph: Graph) -> npt.NDArray[np.int64]:
    """Links between every two switches, by breadth-first search from all of them at once."""
    # float32 lets the product below use the BLAS; its entries count neighbours, far below 2**24.
    adjacent = np.zeros((graph.switches, graph.switches), dtype=np.float32)
    for link in graph.links:
        if link.a >= graph.hosts and link.b >= graph.hosts:
            adjacent[link.a - graph.hosts, link.b - graph.hosts] = 1
            adjacent[link.b - graph.hosts, link.a - graph.hosts] = 1
    distances = np.full((graph.switches, graph.switches), _UNREACHED, dtype=np.int64)
    frontier = np.eye(graph.switches, dtype=np.bool_)
    hops = 0
    while frontier.any():
        distances[frontier] = hops
        hops += 1
        frontier = (frontier.astype(np.float32) @ adjacent > 0) & (distances == _UNREACHED)
    return distances
