"""Topology files of Broadcom's htsim: counts, wires and times of the fat trees that they describe, and wrong files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from astra_ns3.config.network.file import read_network_file
from astra_ns3.config.network.packet_network import parse_network
from astra_ns3.errors import InputError
from astra_ns3.topology.builders import build_graph
from astra_ns3.topology.graph import Graph
from astra_ns3.topology.measures import measure
from astra_ns3.topology.paths import count_paths, path
from astra_ns3.topology.routes import shortest_paths

G = 10**9
LEAF_SPINE = """# four leaves of four hosts, two spines, two links from each leaf to each spine
Nodes 16
tiers 2
Podsize 16
Tier 0
Downlink_speed_Gbps 100
Downlink_Latency_ns 300
Switch_Latency_ns 50
Radix_Down 4
Radix_Up 4
Queue_down 100000
Queue_up 200000
Oversubscribed 1
Tier 1
Downlink_speed_Gbps 100
Downlink_Latency_ns 700
Switch_Latency_ns 80
Radix_Down 8
Bundle 2
"""
FAT_TREE = """Nodes 16
Tiers 3
Podsize 4
Tier 0
 Downlink_speed_Gbps 200
 Downlink_Latency_ns 1000
 Radix_Down 2
 Radix_Up 2
Tier 1
 Downlink_speed_Gbps 200
 Downlink_Latency_ns 1000
 Radix_Down 2
 Radix_Up 4
Tier 2
 Downlink_speed_Gbps 100
 Downlink_Latency_ns 2000
 Radix_Down 8
 Bundle 2
"""


def built(text: str, folder: Path, name: str = "net.topo") -> Graph:
    (folder / name).write_text(text)
    topology: dict[str, Any] = {"kind": "file", "path": str(folder / name), "switch": {"buffer": "1MB"}}
    return build_graph(parse_network({"topology": topology}).topology)


def test_two_tiers_are_a_leaf_spine(tmp_path: Path) -> None:
    graph = built(LEAF_SPINE, tmp_path)
    assert (graph.hosts, graph.switches, len(graph.links)) == (16, 4 + 2, 16 + 4 * 2 * 2)
    assert [(link.a, link.b) for link in graph.links[:16]] == [(host, 16 + host // 4) for host in range(16)]
    uplinks = {(link.a, link.b) for link in graph.links[16:]}
    assert uplinks == {(leaf, spine) for leaf in range(16, 20) for spine in (20, 21)}
    assert measure(graph).bisection_bps == 8 * 100 * G
    tables = shortest_paths(graph)
    assert count_paths(graph, tables, 0, 4) == 2 * 2 * 2
    assert graph.switch_levels == (1, 1, 1, 1, 2, 2)
    assert graph.switch_names[0] == "ToR 0"


def test_a_switch_s_latency_is_on_its_links_so_that_a_way_through_it_has_all_of_it(tmp_path: Path) -> None:
    graph = built(LEAF_SPINE, tmp_path)
    tables = shortest_paths(graph)
    within, across = (
        sum(graph.links[graph.ports[node][port].link].delay_ps for node, port in path(graph, tables, 0, other))
        for other in (1, 4)
    )
    # A host's own end has half a switch too little at each end: hosts have no latency, so 50/2 is on each of the links.
    assert within == (300 + 50 + 300) * 1000
    assert across == (300 + 50 + 700 + 80 + 700 + 50 + 300) * 1000


def test_queues_of_ports_become_the_buffer_that_a_switch_shares(tmp_path: Path) -> None:
    graph = built(LEAF_SPINE, tmp_path)
    # Leaves: 4 x 100,000 and 4 x 200,000 bytes; spines say nothing, so the network file does.
    assert graph.switch_buffer_bytes == (1_200_000,) * 4 + (1_000_000,) * 2


def test_three_tiers_are_pods_and_core_switches_that_each_join_one_place_of_every_pod(tmp_path: Path) -> None:
    graph = built(FAT_TREE, tmp_path)
    # 4 pods of 2 ToR and 2 aggregation switches; 2 x 4 / 2 = 4 core switches with 2 links to each pod.
    assert (graph.hosts, graph.switches, len(graph.links)) == (16, 8 + 8 + 4, 16 + 16 + 32)
    first_aggregation, first_core = 16 + 8, 16 + 8 + 8
    for link in graph.links[32:]:
        assert (link.a - first_aggregation) % 2 == (link.b - first_core) % 2
        assert (link.rate_bps, link.delay_ps, link.kind) == (100 * G, 2_000_000, "core")
    tables = shortest_paths(graph)
    # Two aggregation switches, two cores each, two links up and two down.
    assert (measure(graph).diameter, count_paths(graph, tables, 0, 15)) == (6, 2 * 2 * 2 * 2)
    assert measure(graph).bisection_bps == 8 * 200 * G


def test_the_file_is_known_by_what_is_in_it(tmp_path: Path) -> None:
    assert built(FAT_TREE, tmp_path, "tree.txt").switches == 20
    with pytest.raises(InputError, match="is a graph alone; in a network file"):
        read_network_file(tmp_path / "tree.txt")


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("Nodes 16\n", "", r"net.topo: 'Nodes' is missing"),
        ("Nodes 16", "Nodes many", r"net.topo:1: Nodes is 'many', expected a whole number"),
        ("Nodes 16", "Nodes 16 17", r"net.topo:1: found 3 words, expected 'Nodes' and a number"),
        ("Tiers 3", "Tiers 4", r"has 4 tiers, expected 2 or 3"),
        ("Tiers 3", "Tiers 2", r"says 2 tiers, found 3"),
        ("Podsize 4", "Podsize 6", r"Podsize 6 is no divisor of Nodes 16"),
        ("Podsize 4", "Podsiz 4", r"net.topo:3: 'Podsiz' is not one of Nodes, Tiers, Podsize; did you mean 'podsize'"),
        ("Tier 1", "Tier 2", r"net.topo:9: found 'Tier 2', expected 'Tier 1': the lowest first"),
        ("Tier 1", "Tier 7", r"net.topo:9: found 'Tier 7', expected 'Tier 1': the lowest first"),
        (" Radix_Down 8\n", "", r"net.topo:14: Tier 2: 'radix_down' is missing"),
        (" Radix_Up 2\n", "", r"net.topo:4: Tier 0: 'radix_up' is missing"),
        (
            " Bundle 2\n",
            " Bundle 3\n",
            r"net.topo:14: Tier 2: Radix_Down is 8, expected 12: 4 pods, 3 links each",
        ),
        (
            " Radix_Up 4",
            " Radix_Up 5",
            r"net.topo:9: Tier 1: Radix_Up is 5, expected a multiple of the Bundle above, 2",
        ),
        (" Bundle 2\n", "", r"net.topo:14: Tier 2: Radix_Down is 8, expected 4: 4 pods, 1 links each"),
        (" Bundle 2\n", " Bundle 2\n Radix_Up 2\n", r"Tier 2: has radix_up or queue_up, but nothing is above"),
        (" Bundle 2\n", " Bundle 2\n Bundle 2\n", r"net.topo:19: 'Bundle' stands twice"),
        (" Radix_Up 4", " Oversubscribed 2\n Radix_Up 4", r"Tier 1: Oversubscribed is 2, but 400 Gb/s go down and 400"),
        (" Radix_Up 4", " Radix_Upp 4", r"net.topo:13: 'Radix_Upp' is no key of a tier; did you mean 'radix_up'"),
        (" Radix_Down 2\n Radix_Up 2", " Radix_Down 2\n Bundle 2\n Radix_Up 2", r"Tier 0: Bundle is not 1"),
    ],
)
def test_a_file_that_is_wrong_says_where(before: str, after: str, message: str, tmp_path: Path) -> None:
    assert before in FAT_TREE
    with pytest.raises(InputError, match=message) as caught:
        built(FAT_TREE.replace(before, after, 1), tmp_path)
    assert "\n" not in str(caught.value)


def test_two_tiers_of_several_pods_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="Podsize is 8, expected all 16 Nodes: two tiers are one pod"):
        built(LEAF_SPINE.replace("Podsize 16", "Podsize 8"), tmp_path)


def test_a_slip_of_the_finger_does_not_fill_the_memory(tmp_path: Path) -> None:
    wrong = FAT_TREE.replace("Radix_Up 4", "Radix_Up 1000000").replace("Radix_Up 2", "Radix_Up 1000000")
    with pytest.raises(InputError, match=r"links and .* switches, which is too many"):
        built(wrong.replace(" Bundle 2\n", " Bundle 2\n"), tmp_path)
