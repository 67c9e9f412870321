"""Graphs that users bring: each format read, written and read again, and files that are wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.many_networks import network_files

from astra_ns3.config.network.packet_network import NetworkConfig, parse_network
from astra_ns3.config.topology.file import read_graph_file
from astra_ns3.errors import InputError
from astra_ns3.scenario.failures import NAMED
from astra_ns3.scenario.placement import places_of
from astra_ns3.topology.builders import build_graph
from astra_ns3.topology.files.writing import export_text
from astra_ns3.topology.graph import Graph
from astra_ns3.topology.measures import measure
from astra_ns3.topology.paths import base_round_trip_ps, count_paths, path
from astra_ns3.topology.routes import shortest_paths

G = 10**9
GIB_BITS = 8 * 2**30
LINK = {"rate": "100Gbps", "delay": "500ns"}
SWITCH = {"buffer": "64MB"}
WIRES = {"link": LINK, "switch": SWITCH}
SCALE_UP = {"link": {"rate": "900Gbps", "delay": "100ns"}, "switch": {"buffer": "32MB"}}
HIERARCHICAL = {
    "kind": "hierarchical",
    "nodes": 4,
    "npus_per_node": 2,
    "scale_up": SCALE_UP,
    "scale_out": {
        "kind": "leaf-spine",
        "leaves": 2,
        "spines": 2,
        "hosts_per_leaf": 4,
        "links_per_spine": 2,
        "link": {**LINK, "error_rate": 0.001},
        "switch": SWITCH,
    },
}
FAT_TREE = {"kind": "fat-tree", "k": 4, "link": LINK, "switch": SWITCH}
FULL_MESH = {"kind": "full-mesh", "npus": 4, "link": LINK}


def network(topology: dict[str, Any]) -> NetworkConfig:
    return parse_network({"topology": topology})


def built(topology: dict[str, Any]) -> Graph:
    return build_graph(network(topology).topology)


def from_file(target: Path, **keys: Any) -> Graph:
    return built({"kind": "file", "path": str(target), "switch": {"buffer": "1MB"}, **keys})


def written(topology: dict[str, Any], target: Path) -> Graph:
    """The graph of ``topology``, which is exported besides."""
    config = network(topology).topology
    graph = build_graph(config)
    target.write_text(export_text(graph, config, target), encoding="utf-8")
    return graph


@pytest.mark.parametrize("topology", [HIERARCHICAL, FAT_TREE, FULL_MESH], ids=["hierarchical", "fat-tree", "full-mesh"])
@pytest.mark.parametrize("name", ["net.graphml", "net.json"])
def test_graphml_and_node_link_keep_everything_that_routes_and_pictures_need(
    topology: dict[str, Any], name: str, tmp_path: Path
) -> None:
    graph = written(topology, tmp_path / name)
    again = from_file(tmp_path / name)
    numbers = ("hosts", "switches", "links", "npu_host", "switch_buffer_bytes", "dimensions")
    for field in (*numbers, "switch_names", "switch_levels"):
        assert getattr(again, field) == getattr(graph, field)


@pytest.mark.parametrize("name", ["net.graphml", "net.json"])
@pytest.mark.parametrize("nics", [{"nics_per_node": 2}, {"nics_per_node": 2, "shared_nics": "pcie"}, {}])
def test_graphml_and_node_link_keep_what_is_inside_servers(nics: dict[str, Any], name: str, tmp_path: Path) -> None:
    leaves = {"kind": "leaf-spine", "leaves": 2, "spines": 2, "hosts_per_leaf": 4 if nics else 8, **WIRES}
    scale_up = {"link": LINK, "switch": SWITCH}
    nodes = {"kind": "hierarchical", "nodes": 4, "npus_per_node": 4, "scale_up": scale_up, "scale_out": leaves, **nics}
    graph = written(nodes, tmp_path / name)
    again = from_file(tmp_path / name)
    for kind, devices in NAMED.items():
        assert list(devices(again)) == list(devices(graph)), kind
    assert places_of(again) == places_of(graph)
    assert places_of(again).servers == tuple(tuple(range(first, first + 4)) for first in (0, 4, 8, 12))


@pytest.mark.parametrize("scale_up", [{"kind": "full-mesh", "link": LINK}, {"link": LINK, "switch": SWITCH}])
def test_servers_that_a_mesh_joins_stay_servers_in_a_file(scale_up: dict[str, Any], tmp_path: Path) -> None:
    """Lines of the outer mesh alone lead out: from each NPU to all others, or from each NIC to those of other nodes."""
    more = {"nics_per_node": 2} if "switch" in scale_up else {}
    outside = {"kind": "full-mesh", "link": LINK}
    nodes = {"kind": "hierarchical", "nodes": 4, "npus_per_node": 4, "scale_up": scale_up, "scale_out": outside, **more}
    graph = written(nodes, tmp_path / "net.json")
    again = from_file(tmp_path / "net.json")
    assert places_of(again) == places_of(graph)
    assert [again.leads_out(link) for link in again.links] == [graph.leads_out(link) for link in graph.links]
    assert sum(map(graph.leads_out, graph.links)) == (4 * 3 // 2 * 2 * 2 if more else 16 * 15 // 2)


def test_a_word_that_is_no_level_is_refused(tmp_path: Path) -> None:
    written(FULL_MESH, tmp_path / "net.json")
    text = (tmp_path / "net.json").read_text()
    (tmp_path / "net.json").write_text(
        text.replace('"graph": {', '"graph": {"inside_levels": -1, ').replace(", }", "}")
    )
    with pytest.raises(InputError, match="inside_levels is -1, expected a whole number, 0 or more"):
        from_file(tmp_path / "net.json")


def test_hpcc_text_keeps_rates_delays_errors_and_the_order_of_ports(tmp_path: Path) -> None:
    graph = written(HIERARCHICAL, tmp_path / "net.txt")
    again = from_file(tmp_path / "net.txt")
    assert (again.hosts, again.switches, again.npu_host) == (graph.hosts, graph.switches, graph.npu_host)
    kept = [(link.a, link.b, link.rate_bps, link.delay_ps, link.error_rate) for link in graph.links]
    assert [(link.a, link.b, link.rate_bps, link.delay_ps, link.error_rate) for link in again.links] == kept
    assert again.ports == graph.ports
    # Scale-up switches join hosts only, which have other switches too: their paths are preferred as before.
    tables = shortest_paths(again)
    kinds = [again.links[again.ports[node][port].link].kind for node, port in path(again, tables, 0, 1)]
    assert kinds == ["scale-up", "scale-up"]


@pytest.mark.parametrize("name", ["hier", "hier-mixed", "hierarchical-shared-nics", "rail-optimised-32", "fat-tree-16"])
def test_hpcc_text_keeps_the_shortest_paths(name: str, tmp_path: Path) -> None:
    topology = network_files()[name]["topology"]
    graph = written(topology, tmp_path / "net.txt")
    again = from_file(tmp_path / "net.txt")
    assert again.ports == graph.ports
    tables, found = shortest_paths(graph), shortest_paths(again)
    assert found.group_of_host.tolist() == tables.group_of_host.tolist()
    for one, other in zip((*found.hosts, *found.switches), (*tables.hosts, *tables.switches), strict=True):
        assert (one is None) == (other is None)
        if one is not None and other is not None:
            for table in ("set_of_group", "set_offsets", "set_ports", "local_hosts", "local_ports"):
                assert getattr(one, table).tolist() == getattr(other, table).tolist()


def test_scale_up_switches_are_named_in_simais_first_line(tmp_path: Path) -> None:
    planes = {**SCALE_UP, "planes": 2}
    topology = {"kind": "hierarchical", "nodes": 2, "npus_per_node": 3, "scale_up": planes, "scale_out": WIRES}
    written(topology, tmp_path / "net.txt")
    lines = (tmp_path / "net.txt").read_text().splitlines()
    # 6 NPUs, the switch between nodes (6), two planes in each node (7 to 10); 6 + 12 links.
    assert lines[:2] == ["11 3 4 1 18 NONE", "7 8 9 10 6"]
    assert lines[2] == "0 6 100Gbps 500ns 0"
    again = from_file(tmp_path / "net.txt")
    assert [link.kind for link in again.links].count("scale-up") == 12
    assert [level for level in again.switch_levels if level < 0] == [-1] * 4


def test_hpcc_text_of_a_network_whose_paths_hang_on_costs_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no costs of links.*export it as \.graphml or \.json") as caught:
        written(network_files()["hierarchical-ring"]["topology"], tmp_path / "net.txt")
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "net.txt").exists()


def test_hpcc_text_keeps_every_digit_of_an_error_rate(tmp_path: Path) -> None:
    rate = 0.012345678901234567
    written({**FULL_MESH, "link": {**LINK, "error_rate": rate}}, tmp_path / "net.txt")
    assert {link.error_rate for link in from_file(tmp_path / "net.txt").links} == {rate}


@pytest.mark.parametrize("name", ["net.graphml", "net.json"])
def test_dimensions_of_a_graph_hold_unless_the_network_file_has_its_own(name: str, tmp_path: Path) -> None:
    written({"kind": "torus", "shape": [4, 2], "link": LINK, "switch": SWITCH}, tmp_path / name)
    keys = {"kind": "file", "path": str(tmp_path / name), "switch": SWITCH}
    found = network(keys)
    assert (found.dimensions, len(found.bandwidths)) == ((4, 2), 2)
    assert network({**keys, "dimensions": [8]}).dimensions == (8,)


@pytest.mark.parametrize(
    ("found", "message"),
    [
        ([3], r"dimensions \[3\] make 3 NPUs, not 2"),
        ([2, 0], r"graph: dimensions are \[2, 0\], expected numbers, 1 or more each"),
        ([True, 2], r"graph: dimensions are \[True, 2\]"),
        ("2 x", r"graph: dimensions are '2 x'"),
        ([], r"graph: dimensions are \[\]"),
    ],
)
def test_dimensions_of_a_graph_that_do_not_fit_are_refused(found: object, message: str, tmp_path: Path) -> None:
    (tmp_path / "net.json").write_text(json.dumps({**NODE_LINK, "graph": {"dimensions": found, "name": "mine"}}))
    with pytest.raises(InputError, match=message):
        from_file(tmp_path / "net.json")


HPCC = """6 2 6
2 4
0 2 100Gbps 1us 0
1 2 100Gbps 0.001ms 0
2 4 400Gbps 2us 0.01
2 4 400Gbps 2us 0.01
3 4 100Gbps 1us 0
4 5 100Gbps 1us 0
"""


def test_a_full_mesh_in_hpcc_text_has_no_line_of_switches(tmp_path: Path) -> None:
    graph = written(FULL_MESH, tmp_path / "mesh.txt")
    assert (tmp_path / "mesh.txt").read_text().splitlines()[:2] == ["4 0 6", "0 1 100Gbps 500ns 0"]
    assert from_file(tmp_path / "mesh.txt").ports == graph.ports


def test_what_is_said_of_a_whole_graphml_graph_is_skipped(tmp_path: Path) -> None:
    text = GRAPHML.replace("<node id", '<data key="d0">a network</data><desc>mine</desc><node id', 1)
    (tmp_path / "net.graphml").write_text(text)
    assert from_file(tmp_path / "net.graphml").hosts == 2


def test_hpcc_hosts_are_counted_without_the_switches_among_them(tmp_path: Path) -> None:
    target = tmp_path / "topology.txt"
    target.write_text(HPCC)
    graph = from_file(target)
    # Nodes 0, 1, 3, 5 of the file are hosts 0 to 3; nodes 2 and 4 are switches, nodes 4 and 5 here.
    assert (graph.hosts, graph.switches) == (4, 2)
    assert [(link.a, link.b) for link in graph.links] == [(0, 4), (1, 4), (4, 5), (4, 5), (2, 5), (5, 3)]
    assert (graph.links[1].delay_ps, graph.links[2].error_rate) == (1_000_000, 0.01)
    assert graph.switch_names == ("switch 2", "switch 4")
    assert count_paths(graph, shortest_paths(graph), 0, 3) == 2
    assert {link.cost for link in graph.links} == {1}


NVSWITCHES = """10 2 2 2 12 A100
4 5 6 7
0 4 2400Gbps 25ns 0
1 4 2400Gbps 25ns 0
2 5 2400Gbps 25ns 0
3 5 2400Gbps 25ns 0
8 4 2400Gbps 25ns 0
9 5 2400Gbps 25ns 0
0 6 100Gbps 500ns 0
1 6 100Gbps 500ns 0
8 6 100Gbps 500ns 0
2 7 100Gbps 500ns 0
3 7 100Gbps 500ns 0
6 7 100Gbps 500ns 0
"""


def test_npus_of_one_server_talk_over_its_nvswitch(tmp_path: Path) -> None:
    target = tmp_path / "simai.txt"
    target.write_text(NVSWITCHES.replace("9 5 2400Gbps 25ns 0", "9 7 100Gbps 500ns 0"))
    graph = from_file(target)
    tables = shortest_paths(graph)
    assert (graph.hosts, graph.switches) == (6, 4)
    # NPUs 0, 1 and 4 (node 8) hang on NVSwitch 4 and on switch 6: two links either way, and the NVSwitch it is.
    for a, b in ((0, 1), (0, 4), (4, 1)):
        assert [step[0] for step in path(graph, tables, a, b)] == [a, graph.hosts]
    assert len(path(graph, tables, 0, 2)) == 3


def test_switches_that_are_all_alike_are_planes_not_scale_up(tmp_path: Path) -> None:
    target = tmp_path / "planes.txt"
    target.write_text("4 2 4\n2 3\n0 2 1Gbps 1us 0\n1 2 1Gbps 1us 0\n0 3 1Gbps 1us 0\n1 3 1Gbps 1us 0\n")
    graph = from_file(target)
    assert count_paths(graph, shortest_paths(graph), 0, 1) == 2


GRAPHML = """<?xml version="1.0" encoding="utf-8"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
  <key id="d0" for="node" attr.name="kind" attr.type="string"/>
  <key id="d1" for="node" attr.name="buffer" attr.type="string"/>
  <key id="d2" for="edge" attr.name="rate" attr.type="string"/>
  <key id="d3" for="edge" attr.name="delay" attr.type="string"/>
  <key id="d4" for="edge" attr.name="error_rate" attr.type="double"/>
  <graph edgedefault="undirected">
    <node id="tor"><data key="d0">switch</data><data key="d1">2MB</data></node>
    <node id="a"><data key="d0">host</data></node>
    <node id="b"><data key="d0">host</data></node>
    <edge source="a" target="tor"><data key="d2">100Gbps</data><data key="d3">1us</data></edge>
    <edge source="tor" target="b">
      <data key="d2">25Gb/s</data><data key="d3">500ns</data><data key="d4">0.125</data>
    </edge>
  </graph>
</graphml>
"""
NODE_LINK: dict[str, Any] = {
    "nodes": [{"id": 7, "kind": "switch", "buffer": "2MB"}, {"id": "a", "kind": "host"}, {"id": "b", "kind": "host"}],
    "edges": [
        {"source": "a", "target": 7, "rate": "100Gbps", "delay": "1us"},
        {"source": 7, "target": "b", "key": 0, "rate": "25Gb/s", "delay": "500ns", "error_rate": 0.125},
    ],
}


def test_units_and_numbers_may_be_as_in_network_files(tmp_path: Path) -> None:
    (tmp_path / "net.graphml").write_text(GRAPHML)
    (tmp_path / "net.json").write_text(json.dumps(NODE_LINK))
    for name in ("net.graphml", "net.json"):
        graph = from_file(tmp_path / name)
        assert (graph.hosts, graph.switches, graph.switch_buffer_bytes) == (2, 1, (2_000_000,))
        assert [(link.a, link.b, link.rate_bps, link.delay_ps, link.error_rate) for link in graph.links] == [
            (0, 2, 100 * G, 1_000_000, 0.0),
            (2, 1, 25 * G, 500_000, 0.125),
        ]


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ('"b"><data key="d0">host', '"a"><data key="d0">host', r"net.graphml:11: stands twice"),
        ('<data key="d0">host', '<data key="d0">hots', r"net.graphml:10: key 'kind': found 'hots', allowed: host, s"),
        ('target="b"', 'target="c"', r"net.graphml:13: there is no node 'c'"),
        ('target="tor"', 'target="a"', r"net.graphml:12: joins node 'a' to itself"),
        ('key="d4">0.125', 'key="d4">much', r"net.graphml:14: 'error_rate' is 'much', expected a number \(double\)"),
        ('key="d4">0.125', 'key="d9">0.125', r"data has key 'd9', which no <key> declares"),
        ('"error_rate"', '"loss"', r"key 'loss': unknown key; allowed: rate, delay, error_rate, kind, cost"),
        ('<data key="d3">1us</data>', "", r"net.graphml:12: the graph lacks 'delay' of 1 of 2 links; beside path"),
        ('<edge source="a"', '<edge from="a"', r"net.graphml:12: <edge> has no attribute 'source'"),
        ("<?xml version", "<!DOCTYPE x><?xml version", r"net.graphml:1: "),
        ("<graph edge", "<hyperedge/><graph edge", r"element <hyperedge> is not read"),
        ("</graphml>", "", r"net.graphml:\d+: is not XML: no element found"),
        ('edgedefault="undirected"', 'edgedefault="directed"', r"net.graphml:12: is directed, from 'a' to 'tor'"),
        ('<edge source="a"', '<edge directed="true" source="a"', r"net.graphml:12: is directed"),
        ('attr.type="double"/>', 'attr.type="double"><default>x</default></key>', r"'error_rate' is 'x', expected"),
        ("  </graph>", "  </graph><graph/>", r"a second graph"),
        (">host<", ">switch<", r"net.graphml: has no node of kind host"),
    ],
)
def test_a_graphml_file_that_is_wrong_names_its_line(tmp_path: Path, before: str, after: str, message: str) -> None:
    assert before in GRAPHML
    count = -1 if before == ">host<" else 1
    (tmp_path / "net.graphml").write_text(GRAPHML.replace(before, after, count))
    with pytest.raises(InputError, match=message) as caught:
        read_graph_file(str(tmp_path / "net.graphml"))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"directed": True}, r"edges\[0\]: is directed, from 'a' to '7', and no edge with the same"),
        ({"directed": 1}, "directed is 1, expected true or false"),
        ({"colour": 1}, "unknown key 'colour'; allowed: directed"),
        ({"edges": None}, "edges is not a list of objects"),
        ({"links": []}, r"expected keys 'nodes' and 'links' \(or 'edges'\)"),
        ({"nodes": [{"kind": "host"}]}, r"nodes\[0\]: key 'id' is missing"),
        ({"nodes": [{"id": 1.5, "kind": "host"}]}, r"nodes\[0\]: a node is named 1.5"),
        ({"edges": [{"source": "a"}]}, r"edges\[0\]: key 'target' is missing"),
        ({"edges": [{"source": "a", "target": "b", "rate": "1Gbps"}]}, r"edges\[0\]: the graph lacks 'delay' of all 1"),
        (
            {"edges": [{"source": "a", "target": "b", "rate": "1GB", "delay": 0}]},
            r"edges\[0\]: key 'rate': '1GB' is not a rate",
        ),
    ],
)
def test_a_node_link_file_that_is_wrong_names_its_entry(
    tmp_path: Path, change: dict[str, object], message: str
) -> None:
    (tmp_path / "net.json").write_text(json.dumps({**NODE_LINK, **change}))
    with pytest.raises(InputError, match=message):
        read_graph_file(str(tmp_path / "net.json"))


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("net.json", "{", r"net.json:1: is not JSON"),
        ("net.json", "[]", "expected an object with 'nodes' and 'links'"),
        ("net.json", '{"nodes": [], "nodes": []}', "key 'nodes' stands twice"),
        ("net.json", '{"nodes": NaN}', "is not JSON that can be read: NaN is not a number"),
        ("net.dot", "graph {}", "neither what is in it nor the ending '.dot' tells a format"),
        ("net.yaml", "a: 1", "found the keys a, expected those of a graph: ASTRA-sim's"),
        ("net.txt", "3 1\n", r"net.txt:1: found 2 words"),
    ],
)
def test_a_file_that_is_no_graph_is_refused(tmp_path: Path, name: str, text: str, message: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError, match=message):
        from_file(tmp_path / name)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.graphml: no such file"):
        from_file(tmp_path / "none.graphml")
    with pytest.raises(InputError, match=r"net\.gexf: a network to export ends in \.graphml, \.json, \.txt, \.yaml"):
        written(FULL_MESH, tmp_path / "net.gexf")


def test_several_npus_on_a_host_have_no_place_in_other_formats(tmp_path: Path) -> None:
    single = {"kind": "single-switch", "npus": 4, "npus_per_host": 2, "link": LINK, "switch": SWITCH}
    for name in ("net.graphml", "net.json", "net.txt", "net.yaml"):
        with pytest.raises(InputError, match="one NPU"):
            written(single, tmp_path / name)


ANALYTICAL = """
topology: [{kinds}]
npus_count: [{npus}]
bandwidth: [{rates}]
latency: [{latencies}]
"""


def analytical(target: Path, kinds: str, npus: str, rates: str = "50.0", latencies: str = "500.0") -> Graph:
    target.write_text(ANALYTICAL.format(kinds=kinds, npus=npus, rates=rates, latencies=latencies))
    return from_file(target)


def test_an_analytical_switch_is_a_switch(tmp_path: Path) -> None:
    graph = analytical(tmp_path / "net.yaml", "Switch", "8")
    assert (graph.hosts, graph.switches, len(graph.links)) == (8, 1, 8)
    assert {(link.rate_bps, link.delay_ps) for link in graph.links} == {(50 * GIB_BITS, 500_000)}


@pytest.mark.parametrize("kind", ["Ring", "FullyConnected"])
def test_an_analytical_ring_and_full_mesh_have_routers(tmp_path: Path, kind: str) -> None:
    graph = analytical(tmp_path / "net.yaml", kind, "6")
    found = measure(graph)
    between = {"Ring": 6, "FullyConnected": 15}[kind]
    assert (graph.hosts, graph.switches, len(graph.links)) == (6, 6, 6 + between)
    assert found.diameter == {"Ring": 3, "FullyConnected": 1}[kind] + 2
    assert found.bisection_bps == {"Ring": 2, "FullyConnected": 9}[kind] * 50 * GIB_BITS


def test_dimensions_join_those_that_differ_in_one_place(tmp_path: Path) -> None:
    graph = analytical(
        tmp_path / "net.yaml", "Ring, FullyConnected, Switch", "4, 3, 2", "50.0, 25.0, 12.5", "1.0, 2.0, 3.0"
    )
    assert (graph.hosts, graph.switches) == (24, 24 + 12)
    assert graph.dimensions == (4, 3, 2)
    assert graph.bandwidths == pytest.approx((50.0 * GIB_BITS, 25.0 * GIB_BITS, 12.5 * GIB_BITS), rel=1e-12)
    assert len([link for link in graph.links if link.kind == "dimension-0"]) == 6 * 4
    assert len([link for link in graph.links if link.kind == "dimension-1"]) == 8 * 3
    assert len([link for link in graph.links if link.kind == "dimension-2"]) == 24
    for link in graph.links:
        if link.kind in ("dimension-0", "dimension-1"):
            places = [(node - 24) for node in (link.a, link.b)]
            differ = [
                places[0] % 4 != places[1] % 4,
                places[0] // 4 % 3 != places[1] // 4 % 3,
                places[0] // 12 != places[1] // 12,
            ]
            assert differ == [link.kind == "dimension-0", link.kind == "dimension-1", False]
    injection = next(link for link in graph.links if link.kind == "injection")
    assert injection.rate_bps == round((2 * 50 + 2 * 25 + 12.5) * GIB_BITS)


def test_an_idle_path_takes_as_long_as_on_the_analytical_network(tmp_path: Path) -> None:
    # Link 500, NIC 20, switch 10 ns: two links, two NICs and the switch are 1050 ns.
    document = {
        "topologies-per-dim": ["Switch"], "dimensions-count": 1, "units-count": [4], "links-count": [1],
        "link-latency": [500], "link-bandwidth": [50], "nic-latency": [20], "router-latency": [10],
        "hbm-latency": [0], "hbm-bandwidth": [1], "hbm-scale": [0],
    }  # fmt: skip
    (tmp_path / "net.json").write_text(json.dumps(document))
    assert base_round_trip_ps(from_file(tmp_path / "net.json"), 0, 0) == 2 * 1_050_000
    document["topologies-per-dim"], document["links-count"] = ["FullyConnected"], [3]
    (tmp_path / "net.json").write_text(json.dumps(document))
    assert base_round_trip_ps(from_file(tmp_path / "net.json"), 0, 0) == 2 * 540_000


@pytest.mark.parametrize(
    ("topology", "text"),
    [
        ({"kind": "single-switch", "npus": 8, "link": LINK, "switch": SWITCH}, ("[Switch]", "[8]", "[500.0]")),
        ({"kind": "ring", "npus": 8, "link": LINK, "switch": SWITCH}, ("[Ring]", "[8]", "[500.0]")),
        (
            {"kind": "torus", "shape": [4, 2], "link": LINK, "switch": SWITCH},
            ("[Ring, Ring]", "[4, 2]", "[500.0, 500.0]"),
        ),
        (FULL_MESH, ("[FullyConnected]", "[4]", "[500.0]")),
        (FAT_TREE, ("[Switch]", "[16]", "[1500.0]")),
        (HIERARCHICAL, ("[Switch, Switch]", "[2, 4]", "[100.0, 1000.0]")),
    ],
    ids=["single-switch", "ring", "torus", "full-mesh", "fat-tree", "hierarchical"],
)
def test_analytical_export_has_the_dimensions_at_their_best(
    topology: dict[str, Any], text: tuple[str, str, str], tmp_path: Path
) -> None:
    written(topology, tmp_path / "net.yaml")
    lines = (tmp_path / "net.yaml").read_text().splitlines()
    assert [lines[0], lines[1], lines[3]] == [
        f"{key}: {value}" for key, value in zip(("topology", "npus_count", "latency"), text, strict=True)
    ]
    again = from_file(tmp_path / "net.yaml")
    expected = network(topology)
    assert again.dimensions == expected.dimensions
    if topology["kind"] in ("single-switch", "fat-tree", "hierarchical"):
        assert again.bandwidths == pytest.approx(expected.bandwidths, rel=1e-12)
    config = network({"kind": "file", "path": str(tmp_path / "net.yaml"), "switch": SWITCH}).topology
    assert export_text(again, config, "b.yaml").splitlines()[:2] == lines[:2]


def test_a_mesh_has_no_analytical_counterpart(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="topology 'mesh' has no counterpart"):
        written({"kind": "mesh", "shape": [2, 2], "link": LINK, "switch": SWITCH}, tmp_path / "net.yaml")


def test_a_brought_network_may_join_nodes(tmp_path: Path) -> None:
    written(FAT_TREE, tmp_path / "fabric.json")
    fabric = {"kind": "file", "path": str(tmp_path / "fabric.json"), "switch": SWITCH}
    graph = built({"kind": "hierarchical", "nodes": 8, "npus_per_node": 2, "scale_up": SCALE_UP, "scale_out": fabric})
    assert (graph.hosts, graph.switches) == (16, 28)
    assert measure(graph).bisection_bps == 800 * G
