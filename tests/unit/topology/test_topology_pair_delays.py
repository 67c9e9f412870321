"""Delays between pairs of hosts: those of the quickest of their shortest paths, found here by walking all of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from astra_ns3.config.network.packet_network import parse_network, read_network
from astra_ns3.network.plan import plan_network
from astra_ns3.topology.builders import build_graph
from astra_ns3.topology.graph import Graph, Link
from astra_ns3.topology.pair_delays import PairDelays, pair_delays

LINK = {"rate": "100Gbps", "delay": "500ns"}
SWITCH = {"buffer": "64MB"}


def network(topology: dict[str, Any]) -> Any:
    return parse_network({"topology": topology, "transport": {"kind": "tcp"}})


def ways(graph: Graph, at: int, end: int, passed: tuple[int, ...]) -> Iterator[tuple[int, int]]:
    """Cost and delay of every way without a loop over switches only."""
    if at == end:
        yield 0, 0
        return
    if passed and at < graph.hosts:
        return
    for port in graph.ports[at]:
        if port.peer not in passed:
            link = graph.links[port.link]
            for cost, delay_ps in ways(graph, port.peer, end, (*passed, at)):
                yield cost + link.cost, delay_ps + link.delay_ps


def between_ps(found: PairDelays, a: int, b: int) -> int:
    return int(found.delays_ps[found.class_of[a], found.class_of[b]])


def check(graph: Graph) -> None:
    found = pair_delays(graph, graph.npu_host)
    for a, first in enumerate(graph.npu_host):
        for b, second in enumerate(graph.npu_host):
            if first != second:
                assert between_ps(found, a, b) == min(ways(graph, first, second, ()))[1], (first, second)


@pytest.mark.parametrize(
    "topology",
    [
        {"kind": "single-switch", "npus": 4, "link": LINK, "switch": SWITCH},
        {"kind": "dumbbell", "left": 3, "right": 2, "link": LINK, "bottleneck": {"rate": "50Gbps", "delay": "20us"},
         "switch": SWITCH},
        {"kind": "leaf-spine", "leaves": 3, "spines": 2, "hosts_per_leaf": 2, "link": LINK, "switch": SWITCH},
        {"kind": "dragonfly", "a": 2, "p": 1, "h": 1, "link": LINK, "switch": SWITCH},
    ],
    ids=lambda topology: topology["kind"],
)  # fmt: skip
def test_each_pair_has_the_delay_of_its_own_path(topology: dict[str, Any]) -> None:
    check(build_graph(network(topology).topology))


def test_of_ways_that_are_equally_short_the_quickest_counts() -> None:
    """Hosts 0, 1 and 2 on switch 4, host 3 on 7; over 5 and over 6; a quick detour over 8; host 3 also on host 2."""
    gbps = 10**11
    ends = [(0, 4, 500), (1, 4, 500), (2, 4, 700), (3, 7, 500), (2, 3, 9000)]
    ends += [(4, 5, 10), (5, 7, 2000), (4, 6, 1000), (6, 7, 900), (4, 8, 1), (8, 6, 1)]
    graph = Graph(4, 5, tuple(Link(a, b, gbps, delay) for a, b, delay in ends), (0, 1, 2, 3), (10**6,) * 5)
    check(graph)
    found = pair_delays(graph, graph.npu_host)
    assert [between_ps(found, *pair) for pair in ((0, 1), (0, 3), (2, 3))] == [1000, 2900, 9000]


@pytest.mark.parametrize("slow", [2, 3])
def test_of_a_hosts_equally_cheap_ports_the_quickest_counts(slow: int) -> None:
    """Both hosts are on both switches; the links of one are slower."""
    ends = [(host, switch, 500 if switch == slow else 100) for host in (0, 1) for switch in (2, 3)]
    graph = Graph(2, 2, tuple(Link(a, b, 10**11, delay) for a, b, delay in ends), (0, 1), (10**6,) * 2)
    check(graph)
    assert between_ps(pair_delays(graph, (0, 1)), 0, 1) == 200


def test_hosts_that_are_alike_share_a_row() -> None:
    graph = build_graph(network({"kind": "fat-tree", "k": 8, "link": LINK, "switch": SWITCH}).topology)
    assert pair_delays(graph, graph.npu_host).delays_ps.shape == (32, 32)  # 128 hosts on 32 edge switches


def test_a_fabric_of_nodes_is_charged_from_node_to_node() -> None:
    """Of NPUs at the same place in their nodes; all nodes are alike here."""
    grid = plan_network(read_network("inputs/network/rail-optimised-32.yaml")).grid
    assert grid.fabric == 1
    assert grid.delays is not None
    assert len(grid.delays.class_of) == grid.network.grid[1].npus


@pytest.mark.parametrize("file", ["ring-8", "torus-4x4", "full-mesh-8"])
def test_dimensions_whose_links_say_all_have_no_table(file: str) -> None:
    assert plan_network(read_network(f"inputs/network/{file}.yaml")).grid.fabric is None
