"""Hosts that forward: DGX-1's mesh, rails without spines, rings of NPUs; what becomes of links, paths and numbers."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import networkx
import pytest
from support.lengths import some_slow

from astra_ns3.config.network.packet_network import parse_network
from astra_ns3.errors import InputError
from astra_ns3.topology.builders import build_graph
from astra_ns3.topology.changes import Change, NpuTarget, State, epochs
from astra_ns3.topology.counts import count_network
from astra_ns3.topology.forwarding import with_whole_hosts
from astra_ns3.topology.graph import Graph
from astra_ns3.topology.measures import measure
from astra_ns3.topology.paths import base_round_trip_ps, count_paths, path
from astra_ns3.topology.routes import shortest_paths

G = 10**9
LINK = {"rate": "100Gbps", "delay": "1us"}
SWITCH = {"buffer": "8MB"}
SCALE_UP = {"link": {"rate": "900Gbps", "delay": "100ns"}, "switch": {"buffer": "32MB"}}
RAILS = {"kind": "rail-optimised", "nodes": 4, "npus_per_node": 2, "spines": 0, "scale_up": SCALE_UP, "link": LINK,
         "switch": SWITCH, "forwarding": "hosts"}  # fmt: skip
# DGX-1 with V100 (NVIDIA's white paper): two quads, each joined all to all, and a link from each GPU to its like in the
# other quad; some pairs have two NVLinks, here one.
DGX_1 = [(a + quad, b + quad) for quad in (0, 4) for a in range(4) for b in range(a + 1, 4)] + [
    (gpu, gpu + 4) for gpu in range(4)
]


def topology(keys: dict[str, Any]) -> Any:
    return parse_network({"topology": keys}).topology


def built(keys: dict[str, Any]) -> Graph:
    return build_graph(topology(keys))


def from_edges(edges: list[tuple[int, int]], folder: Path, **keys: Any) -> Graph:
    """A file of NPUs only."""
    wires = networkx.MultiGraph()
    wires.add_nodes_from(range(1 + max(max(edge) for edge in edges)))
    wires.add_edges_from(edges)
    file = folder / "mesh.json"
    file.write_text(json.dumps(networkx.node_link_data(wires, edges="links")))
    return built({"kind": "file", "path": str(file), "switch": SWITCH, "hosts": "all", "defaults": LINK, **keys})


def hops(graph: Graph, a: int, b: int) -> int:
    """Links between two NPUs that aren't those inside NPUs."""
    steps = path(graph, shortest_paths(graph), a, b)
    return sum(graph.links[graph.ports[node][port].link].kind != "injection" for node, port in steps)


def test_npus_of_a_dgx_1_reach_each_other_through_their_neighbours(tmp_path: Path) -> None:
    with_hosts = from_edges(DGX_1, tmp_path, forwarding="hosts")
    wires = networkx.Graph(DGX_1)
    distances = dict(networkx.all_pairs_shortest_path_length(wires))
    for a in range(8):
        for b in range(8):
            if a != b:
                assert hops(with_hosts, a, b) == distances[a][b]
    tables = shortest_paths(with_hosts)
    ways = len(list(networkx.all_shortest_paths(wires, 0, 7)))
    assert (count_paths(with_hosts, tables, 0, 7), ways) == (2, 2)
    # 16 links of the mesh and one into each NPU, at the rate of its four links.
    inside = [link for link in with_hosts.links if link.kind == "injection"]
    assert (len(with_hosts.links), {link.rate_bps for link in inside}, {link.delay_ps for link in inside}) == (
        24,
        {400 * G},
        {0},
    )


@pytest.mark.parametrize("seed", some_slow(range(4), [0, 1]))
def test_random_meshes_have_networkx_s_distances(seed: int, tmp_path: Path) -> None:
    wires = networkx.connected_watts_strogatz_graph(14, 4, 0.4, seed=seed)
    graph = from_edges([(int(a), int(b)) for a, b in wires.edges], tmp_path, forwarding="hosts")
    for a, of_a in networkx.all_pairs_shortest_path_length(wires):
        assert all(hops(graph, a, b) == far for b, far in of_a.items() if a != b)


def test_without_forwarding_only_neighbours_are_reached(tmp_path: Path) -> None:
    graph = from_edges(DGX_1, tmp_path)
    assert (graph.switches, len(graph.links)) == (0, 16)
    with pytest.raises(InputError):
        path(graph, shortest_paths(graph), 0, 5)


def test_a_ring_of_npus_in_a_file_is_the_ring_that_is_built(tmp_path: Path) -> None:
    """The same wires; ``ring`` numbers its links with the injection links first."""
    of_file = from_edges([(place, (place + 1) % 8) for place in range(8)], tmp_path, forwarding="hosts")
    ring = built({"kind": "ring", "npus": 8, "link": LINK, "switch": SWITCH})
    wires = [Counter((min(l.a, l.b), max(l.a, l.b), l.rate_bps, l.delay_ps) for l in g.links) for g in (of_file, ring)]  # noqa: E741
    assert wires[0] == wires[1]
    for b in range(1, 8):
        assert base_round_trip_ps(of_file, 4096, 64) == base_round_trip_ps(ring, 4096, 64)
        assert hops(of_file, 0, b) == min(b, 8 - b)


def test_a_host_with_one_link_has_no_switch(tmp_path: Path) -> None:
    chain = from_edges([(0, 1), (1, 2)], tmp_path, forwarding="hosts")
    assert (chain.hosts, chain.switches, len(chain.links)) == (3, 1, 3)
    assert chain.switch_names == ("NPU 1",)
    # 0 to 2: a link to NPU 1's switch, 3, and one on; nothing enters NPU 1.
    assert [node for node, _ in path(chain, shortest_paths(chain), 0, 2)] == [0, 3]


def test_rails_without_spines_meet_in_npus(tmp_path: Path) -> None:
    graph = built(RAILS)
    # 8 NPUs with a switch each, 2 rails, a scale-up switch in each of 4 nodes.
    assert (graph.hosts, graph.switches, len(graph.links)) == (8, 2 + 4 + 8, 8 + 8 + 8)
    tables = shortest_paths(graph)
    assert hops(graph, 0, 1) == 2
    assert hops(graph, 0, 2) == 2
    # From NPU 0 of node 0 to NPU 1 of node 1: inside node 0 and along rail 1, or along rail 0 and inside node 1.
    assert (hops(graph, 0, 3), count_paths(graph, tables, 0, 3)) == (4, 2)
    kinds = Counter(graph.links[graph.ports[node][port].link].kind for node, port in path(graph, tables, 0, 3))
    assert kinds == {"injection": 2, "scale-up": 2, "scale-out": 2}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"forwarding": None}, r"key 'topology.spines': is 0, so rails meet in NPUs only; add 'forwarding: hosts'"),
        ({"nodes_per_leaf": 2}, r"key 'topology.spines': is 0, so nodes_per_leaf must be all nodes, 4"),
        ({"uplink": {"rate": "1Gbps"}}, r"key 'topology.spines': is 0, so there are no uplinks"),
        ({"forwarding": "npus"}, r"key 'topology.forwarding': found 'npus', allowed: hosts"),
        ({"forwarding": {"by": "hosts", "delay": 0}}, r"key 'topology.forwarding.delay': unknown key"),
    ],
)
def test_what_makes_no_sense_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        topology({**RAILS, **changes})
    assert "\n" not in str(caught.value)


def test_a_kind_without_switches_has_to_describe_those_in_its_npus() -> None:
    mesh = {"kind": "full-mesh", "npus": 4, "link": LINK}
    with pytest.raises(InputError, match=r"key 'topology.forwarding': needs switch: \{buffer: ...\}"):
        topology({**mesh, "forwarding": "hosts"})
    injection = {"rate": "1Tbps", "delay": "10ns"}
    graph = built({**mesh, "forwarding": {"by": "hosts", "switch": SWITCH, "injection": injection}})
    assert [(link.rate_bps, link.delay_ps) for link in graph.links[6:]] == [(1000 * G, 10_000)] * 4
    assert {config.buffer_bytes for config in graph.switch_configs} == {8_000_000}


def test_forwarding_belongs_beside_scale_out() -> None:
    inside = {"kind": "single-switch", "link": LINK, "switch": SWITCH, "forwarding": "hosts"}
    with pytest.raises(InputError, match="key 'forwarding' belongs beside scale_out, not inside"):
        topology({"kind": "hierarchical", "nodes": 2, "npus_per_node": 2, "scale_up": SCALE_UP, "scale_out": inside})


@pytest.mark.parametrize("ending", [".json", ".graphml", ".gml"])
def test_a_file_says_itself_that_its_hosts_forward(ending: str, tmp_path: Path) -> None:
    graph = networkx.Graph(forwarding="hosts", dimensions="2 2")
    for node in range(4):
        graph.add_node(str(node), kind="host")
    graph.add_edges_from([("0", "1"), ("1", "3"), ("3", "2"), ("2", "0")], rate="100Gbps", delay="1us")
    file = tmp_path / f"square{ending}"
    if ending == ".json":
        file.write_text(json.dumps(networkx.node_link_data(graph, edges="links")))
    else:
        {".graphml": networkx.write_graphml, ".gml": networkx.write_gml}[ending](graph, file)
    found = built({"kind": "file", "path": str(file), "switch": SWITCH})
    assert (found.hosts, found.switches, found.dimensions) == (4, 4, (2, 2))
    assert hops(found, 0, 3) == 2
    graph.graph["forwarding"] = "switches"
    if ending == ".json":
        file.write_text(json.dumps(networkx.node_link_data(graph, edges="links")))
        with pytest.raises(InputError, match="graph: forwarding is 'switches', allowed: hosts"):
            topology({"kind": "file", "path": str(file), "switch": SWITCH})


def test_counts_are_those_of_what_is_built(tmp_path: Path) -> None:
    for keys in (RAILS, {"kind": "ring", "npus": 5, "link": LINK, "switch": SWITCH}):
        config = topology(keys)
        graph, counts = build_graph(config), count_network(config)
        assert counts is not None
        assert tuple(counts) == (graph.hosts, graph.switches, len(graph.links))


def test_numbers_of_a_file_s_nodes_stay_and_switches_in_npus_have_others(tmp_path: Path) -> None:
    graph = from_edges([(0, 1), (1, 2), (2, 0)], tmp_path, forwarding="hosts")
    assert graph.node_ids == (0, 1, 2, 3, 4, 5)


def test_people_see_a_host_that_forwards_as_one(tmp_path: Path) -> None:
    graph = built(RAILS)
    whole = with_whole_hosts(graph)
    plain = built({**RAILS, "spines": 1, "forwarding": None})
    assert (whole.hosts, whole.switches, whole.switch_levels) == (8, 6, (1, 1, -1, -1, -1, -1))
    # Without the one spine, which is switch 2, node 10 of the other graph, nodes and links are the same.
    wires = {(link.a, link.b, link.kind) for link in plain.links if link.kind != "uplink"}
    assert {(link.a, link.b + (link.b >= 10), link.kind) for link in whole.links} == wires
    assert measure(graph).oversubscription == ()
    assert with_whole_hosts(plain) is plain


def test_an_npu_that_is_down_forwards_nothing(tmp_path: Path) -> None:
    graph = from_edges([(0, 1), (1, 2), (2, 3), (3, 0)], tmp_path, forwarding="hosts")
    before, after = epochs(graph, [Change(1000, NpuTarget(1), State(up=False))])
    assert count_paths(before.graph, before.tables, 0, 2) == 2
    assert count_paths(after.graph, after.tables, 0, 2) == 1


def test_links_of_a_host_that_are_too_fast_together_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"links of host 0, which forwards, have 12000000000000000000 b/s together"):
        from_edges([(0, 1), (1, 2), (2, 0)], tmp_path, forwarding="hosts", defaults={"rate": "6000000Tbps", "delay": 0})
