"""Counts of a network from its description, against the one that is built; what it takes, against a measurement."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from support.many_networks import brought_network, network_files

from astra_ns3.config.network.packet_network import parse_network
from astra_ns3.errors import InputError
from astra_ns3.topology import counts
from astra_ns3.topology.builders import build_graph
from astra_ns3.topology.counts import BYTES_PER_LINK, Counts, count_network

LINK = {"rate": "100Gbps", "delay": "500ns"}
SWITCH = {"buffer": "64MB"}
MOST_OFF = 2
"""The estimates are to be right within this factor."""
TIMEOUT_SECONDS = 120
RESIDENT = """
import re
from astra_ns3.config.network.packet_network import parse_network
from astra_ns3.topology.builders import build_graph
from astra_ns3.topology.distances import host_groups
from astra_ns3.topology.paths import longest_path
from astra_ns3.topology.routes import shortest_paths

def status(name):
    return int(re.search(name + r":\\s+(\\d+)", open("/proc/self/status").read())[1]) * 1024

def grown(function):
    open("/proc/self/clear_refs", "w").write("5")  # the highest resident memory begins anew
    before = status("VmRSS")
    kept = function()
    return kept, status("VmHWM") - before
"""


def topology(kind: str, **keys: Any) -> Any:
    return parse_network({"topology": {"kind": kind, "link": LINK, **keys}}).topology


def measured(program: str) -> list[int]:
    """The numbers that a program prints; a process of its own, whose memory is not yet fragmented."""
    done = subprocess.run(
        [sys.executable, "-c", RESIDENT + program], capture_output=True, text=True, check=True, timeout=TIMEOUT_SECONDS
    )
    return [int(word) for word in done.stdout.split()]


@pytest.mark.parametrize("name", sorted(network_files()))
def test_every_kind_is_counted_as_it_is_built(name: str) -> None:
    config = parse_network(network_files()[name]).topology
    graph = build_graph(config)
    assert count_network(config) == (graph.hosts, graph.switches, len(graph.links))


def test_a_graph_of_the_users_is_counted_as_it_is_built(tmp_path: Path) -> None:
    config = parse_network(brought_network(tmp_path)).topology
    graph = build_graph(config)
    assert count_network(config) == (graph.hosts, graph.switches, len(graph.links))


def test_a_fat_tree_is_counted_by_its_formula() -> None:
    # k^3/4 hosts, 5k^2/4 switches, 3 k^3/4 links.
    assert count_network(topology("fat-tree", k=64, switch=SWITCH)) == Counts(65536, 5120, 3 * 65536)


@pytest.mark.parametrize("shape", [(1,), (2,), (3,), (2, 3, 4), (1, 5)])
@pytest.mark.parametrize("kind", ["torus", "mesh"])
def test_grids_of_any_shape_are_counted_as_they_are_built(kind: str, shape: tuple[int, ...]) -> None:
    config = topology(kind, shape=list(shape), switch=SWITCH)
    graph = build_graph(config)
    assert count_network(config) == (graph.hosts, graph.switches, len(graph.links))


def test_a_network_that_memory_cannot_hold_is_refused_before_it_is_built(monkeypatch: pytest.MonkeyPatch) -> None:
    refused: list[tuple[str, int]] = []

    def refuse(what: str, needed: int, advice: str) -> None:
        refused.append((what, needed))
        raise InputError(f"{what}: {advice}")

    monkeypatch.setattr(counts, "require_memory", refuse)
    with pytest.raises(InputError, match="look at its counts"):
        build_graph(topology("fat-tree", k=128, switch=SWITCH))
    assert refused == [
        ("a network of 524288 hosts, 20480 switches and 1572864 links", 1572864 * BYTES_PER_LINK),
    ]


@pytest.mark.parametrize("npus", [20_000, 60_000])
def test_bytes_of_a_link_are_those_measured(npus: int) -> None:
    program = f"""
config = parse_network({{"topology": {{"kind": "single-switch", "npus": {npus}, "link": {LINK}, "switch": {SWITCH}}}}})
def build():
    graph = build_graph(config.topology)
    return graph, graph.ports, graph.adjacency, host_groups(graph)
print(grown(build)[1])
"""
    (found,) = measured(program)
    assert found / MOST_OFF < npus * BYTES_PER_LINK < found * MOST_OFF


@pytest.mark.parametrize("side", [9, 12])
def test_bytes_of_a_route_are_those_measured(side: int) -> None:
    # In a torus every NPU is a group of its own: routes of n nodes to n groups.
    program = f"""
shape = [{side}] * 3
config = parse_network({{"topology": {{"kind": "torus", "shape": shape, "link": {LINK}, "switch": {SWITCH}}}}})
graph = build_graph(config.topology)
graph.ports, graph.adjacency
tables, routes = grown(lambda: shortest_paths(graph))
print(routes, grown(lambda: longest_path(graph, tables))[1])
"""
    npus = side**3
    routes, costs = measured(program)
    ports = 2 * (npus + 3 * npus)
    assert routes / MOST_OFF < npus * (npus * counts.BYTES_PER_ROUTE + ports // 8) < routes * MOST_OFF
    assert costs / MOST_OFF < npus * (npus * counts.BYTES_PER_COST + ports // 8) < costs * MOST_OFF
