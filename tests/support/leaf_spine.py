"""The smallest network with two equal ways, for tests of routes."""

from __future__ import annotations

from astra_ns3.topology.graph import Graph, Link


def leaf_spine() -> Graph:
    """Hosts 0 and 1 on leaf 4, hosts 2 and 3 on leaf 5, spines 6 and 7; links 0 to 3 go to hosts."""
    pairs = [(0, 4), (1, 4), (2, 5), (3, 5), (4, 6), (4, 7), (5, 6), (5, 7)]
    return Graph(4, 4, tuple(Link(a, b, 10**11, 500_000) for a, b in pairs), (0, 1, 2, 3), (10**9,) * 4)
