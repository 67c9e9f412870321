"""Graphs that other programs wrote: NetworkX in all its formats, the Topology Zoo; what they lack, and what says it."""

from __future__ import annotations

import json
from math import acos, cos, radians, sin
from pathlib import Path
from typing import Any

import networkx
import pytest

from astra_ns3.config.formats.graphs.distance import distance_delay_ps
from astra_ns3.config.network.packet_network import NetworkConfig, parse_network
from astra_ns3.errors import InputError
from astra_ns3.topology.builders import build_graph
from astra_ns3.topology.graph import Graph
from astra_ns3.topology.routes import shortest_paths

G = 10**9
US = 1_000_000
SWITCH = {"buffer": "8MB"}
WIRES = {"rate": "100Gbps", "delay": "1us"}
NETWORKX_ENDINGS = [".graphml", ".json", ".gml"]

# Four places on a parallel and a meridian, written as the Topology Zoo does; the numbers are ours.
ZOO = """Creator "by hand"
graph [
  label "four"
  Network "Four places"
  # a comment
  node [ id 0 label "North" Country "Here &#38; there" Longitude 10.0 Latitude 60.0
    graphics [ x 1.5 y 2 ] ]
  node [ id 1 label "East" Longitude 20.0 Latitude 50.0 ]
  node [ id 2 label "South" Longitude 10.0 Latitude 50.0 ]
  node [ id 3 label "Nowhere" hyperedge 1 ]
  edge [ source 0 target 1 LinkLabel "10 Gbps" LinkSpeed "10" LinkSpeedUnits "G" LinkSpeedRaw 10000000000.0 ]
  edge [ source 1 target 2 ]
  edge [ source 2 target 0 LinkSpeedRaw 1000000000.0 ]
  edge [ source 3 target 0 ]
]
"""


def config(path: Path, **keys: Any) -> NetworkConfig:
    return parse_network({"topology": {"kind": "file", "path": str(path), "switch": SWITCH, **keys}})


def built(path: Path, **keys: Any) -> Graph:
    return build_graph(config(path, **keys).topology)


def written(graph: Any, path: Path) -> Path:
    """``graph`` as NetworkX itself writes it."""
    if path.suffix == ".graphml":
        networkx.write_graphml(graph, path)
    elif path.suffix == ".gml":
        networkx.write_gml(graph, path)
    else:
        path.write_text(json.dumps(networkx.node_link_data(graph, edges="links")))
    return path


def star() -> Any:
    graph = networkx.Graph(name="star")
    graph.add_node("tor", role="switch", vendor="A")
    for number in range(4):
        graph.add_node(f"npu{number}", role="server")
        graph.add_edge(f"npu{number}", "tor", capacity=100, latency=0.5, cable=number)
    return graph


@pytest.mark.parametrize("ending", NETWORKX_ENDINGS)
def test_a_networkx_graph_is_completed_by_the_names_that_it_uses(ending: str, tmp_path: Path) -> None:
    path = written(star(), tmp_path / f"star{ending}")
    graph = built(
        path,
        hosts={"attribute": "role", "equals": "server"},
        attributes={"rate": {"name": "capacity", "unit": "Gbps"}, "delay": {"name": "latency", "unit": "us"}},
    )
    assert (graph.hosts, graph.switches, len(graph.links)) == (4, 1, 4)
    assert {(link.rate_bps, link.delay_ps) for link in graph.links} == {(100 * G, US // 2)}
    assert {frozenset((link.a, link.b)) for link in graph.links} == {frozenset((host, 4)) for host in range(4)}


@pytest.mark.parametrize("ending", NETWORKX_ENDINGS)
def test_what_a_graph_lacks_is_said_at_once_with_the_lines_to_add(ending: str, tmp_path: Path) -> None:
    path = written(star(), tmp_path / f"star{ending}")
    with pytest.raises(InputError) as caught:
        config(path)
    words = str(caught.value)
    assert "\n" not in words
    assert "lacks 'kind' (host or switch) of all 5 nodes, 'rate' of all 4 links, 'delay' of all 4 links" in words
    assert "(links have capacity, latency, cable; if one of them is the rate, add 'attributes: {rate: NAME}')" in words
    assert "add 'hosts: leaves, defaults: {rate: 100Gbps, delay: 1us}' with values of yours" in words


@pytest.mark.parametrize(
    ("graph", "hosts"),
    [
        (networkx.star_graph(4), {"hosts": "leaves"}),
        (networkx.balanced_tree(2, 3), {"hosts": "leaves"}),
        (networkx.path_graph(2), {"hosts": "all"}),
        (networkx.complete_graph(4), {"hosts": "all"}),
        (networkx.cycle_graph(5), {"hosts": "all", "forwarding": "hosts"}),
        (networkx.hypercube_graph(3), {"hosts": "all", "forwarding": "hosts"}),
        (networkx.lollipop_graph(4, 1), {"hosts": "all", "forwarding": "hosts"}),
    ],
)
def test_a_network_with_the_lines_that_the_message_says_joins_all_hosts(
    graph: networkx.Graph[Any], hosts: dict[str, str], tmp_path: Path
) -> None:
    path = written(graph, tmp_path / "graph.graphml")
    told = ", ".join(f"{key}: {value}" for key, value in hosts.items())
    with pytest.raises(InputError, match=f"add '{told}, defaults: "):
        config(path)
    assert shortest_paths(built(path, **hosts, defaults=WIRES)).groups


def test_the_lines_that_the_message_says_are_enough(tmp_path: Path) -> None:
    path = written(networkx.path_graph(3), tmp_path / "path.gml")
    graph = built(path, hosts=["0", 2], defaults=WIRES)
    assert (graph.hosts, graph.switches) == (2, 1)
    assert {(link.rate_bps, link.delay_ps) for link in graph.links} == {(100 * G, US)}
    with pytest.raises(InputError, match=r"lacks 'rate' of all 2 links; beside path .* 'defaults: \{rate: 100Gbps\}'"):
        built(path, hosts=["0", 2], defaults={"delay": "1us"})


@pytest.mark.parametrize("ending", NETWORKX_ENDINGS)
@pytest.mark.parametrize("seed", range(3))
def test_random_graphs_have_networkx_s_edges_in_networkx_s_order(ending: str, seed: int, tmp_path: Path) -> None:
    graph = networkx.gnm_random_graph(12, 30, seed=seed)
    found = built(written(graph, tmp_path / f"random{ending}"), hosts="all", defaults=WIRES)
    assert [(link.a, link.b) for link in found.links] == [tuple(edge) for edge in graph.edges]


@pytest.mark.parametrize("ending", NETWORKX_ENDINGS)
def test_parallel_edges_of_a_multigraph_are_links_of_their_own(ending: str, tmp_path: Path) -> None:
    graph = networkx.MultiGraph([("a", "s"), ("a", "s"), ("s", "b")])
    found = built(written(graph, tmp_path / f"multi{ending}"), hosts=["a", "b"], defaults=WIRES)
    assert sorted(sorted((link.a, link.b)) for link in found.links) == [[0, 2], [0, 2], [1, 2]]


def test_an_edge_given_twice_in_what_is_no_multigraph_is_refused(tmp_path: Path) -> None:
    document = networkx.node_link_data(networkx.Graph([("a", "s"), ("s", "b")]), edges="links")
    document["links"].append({"source": "s", "target": "a"})
    path = tmp_path / "twice.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(InputError, match=r"links\[2\]: joins 's' and 'a', as links\[0\] does, and multigraph is false"):
        built(path, hosts=["a", "b"], defaults=WIRES)
    path.write_text(json.dumps(document | {"multigraph": True}), encoding="utf-8")
    assert len(built(path, hosts=["a", "b"], defaults=WIRES).links) == 3


@pytest.mark.parametrize("ending", NETWORKX_ENDINGS)
def test_two_directed_edges_are_one_link(ending: str, tmp_path: Path) -> None:
    graph = star().to_directed()
    assert graph.number_of_edges() == 8
    names = {"rate": {"name": "capacity", "unit": "Gbps"}, "delay": {"name": "latency", "unit": "us"}}
    found = built(written(graph, tmp_path / f"di{ending}"), hosts="leaves", attributes=names)
    assert (len(found.links), found.hosts) == (4, 4)


@pytest.mark.parametrize("ending", NETWORKX_ENDINGS)
def test_a_directed_edge_without_its_like_the_other_way_is_named(ending: str, tmp_path: Path) -> None:
    graph = star().to_directed()
    graph.edges["npu2", "tor"]["capacity"] = 50
    path = written(graph, tmp_path / f"di{ending}")
    with pytest.raises(InputError, match=r"is directed, from '\w+' to '\w+', and no edge with the same"):
        built(path, hosts="leaves", defaults=WIRES)


def test_nodes_that_networkx_names_by_places_are_read(tmp_path: Path) -> None:
    graph = networkx.grid_2d_graph(2, 3)
    for ending in NETWORKX_ENDINGS:
        found = built(written(graph, tmp_path / f"grid{ending}"), hosts="all", defaults=WIRES)
        assert (found.hosts, found.switches, len(found.links)) == (6, 0, 7)


def test_leaves_are_the_nodes_with_one_neighbour(tmp_path: Path) -> None:
    path = written(networkx.balanced_tree(2, 3), tmp_path / "tree.gml")
    found = built(path, hosts="leaves", defaults=WIRES)
    assert (found.hosts, found.switches) == (8, 7)
    with pytest.raises(InputError, match="hosts are leaves, but no node has exactly one neighbour"):
        built(written(networkx.cycle_graph(4), tmp_path / "ring.gml"), hosts="leaves", defaults=WIRES)


def test_a_topology_zoo_file_has_hosts_beside_its_nodes_and_speeds_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "four.gml").write_text(ZOO)
    found = built(
        tmp_path / "four.gml",
        hosts={"beside": 2, "rate": "1Gbps", "delay": "10us"},
        defaults={"rate": "40Gbps", "delay": "3ms"},
    )
    assert (found.hosts, found.switches, len(found.links)) == (8, 4, 12)
    assert [link.rate_bps for link in found.links[:4]] == [10 * G, 40 * G, G, 40 * G]
    assert {(link.rate_bps, link.delay_ps, link.kind) for link in found.links[4:]} == {(G, 10 * US, "host")}
    # Hosts 0 and 1 are beside node 0, which is the first switch, node 8 of the graph.
    assert [(link.a, link.b) for link in found.links[4:7]] == [(0, 8), (1, 8), (2, 9)]
    assert found.switch_names == ("North", "East", "South", "Nowhere")


def test_delays_by_distance_are_those_of_great_circles_and_else_the_default(tmp_path: Path) -> None:
    (tmp_path / "four.gml").write_text(ZOO)
    found = built(tmp_path / "four.gml", hosts="all", defaults={"rate": "40Gbps", "delay": "3ms", "distance": True})
    # Along a meridian, 10 degrees are 1111.95 km, so 5.55975 ms; nodes without a place have the default.
    assert found.links[2].delay_ps == pytest.approx(6371.0088 * radians(10) * 5 * US, rel=1e-9)
    assert found.links[3].delay_ps == 3000 * US
    # The spherical law of cosines, another formula than the program's.
    central = acos(sin(radians(60)) * sin(radians(50)) + cos(radians(60)) * cos(radians(50)) * cos(radians(10)))
    assert found.links[0].delay_ps == pytest.approx(6371.0088 * central * 5 * US, rel=1e-9)


def test_antipodes_are_half_of_the_circumference_apart() -> None:
    assert distance_delay_ps((0.0, 0.0), (0.0, 180.0)) == pytest.approx(
        6371.0088 * 3.141592653589793 * 5 * US, rel=1e-9
    )
    assert distance_delay_ps((47.5, 8.25), (47.5, 8.25)) == 0


def test_a_topology_zoo_graphml_file_is_read_as_its_gml(tmp_path: Path) -> None:
    (tmp_path / "four.gml").write_text(ZOO)
    graph = networkx.read_gml(tmp_path / "four.gml", label="id")
    for _, attributes in graph.nodes(data=True):
        attributes.pop("graphics", None)
    path = written(graph, tmp_path / "four.graphml")
    keys = {"hosts": ["North", "East", "South", "Nowhere"], "defaults": {**WIRES, "distance": True}}
    # NetworkX writes edges in an order of its own.
    found, expected = (built(each, **keys).links for each in (path, tmp_path / "four.gml"))
    assert {(frozenset((link.a, link.b)), link.rate_bps, link.delay_ps) for link in found} == {
        (frozenset((link.a, link.b)), link.rate_bps, link.delay_ps) for link in expected
    }


def test_links_of_a_class_have_defaults_of_their_own(tmp_path: Path) -> None:
    graph = networkx.Graph()
    graph.add_edge("a", "s", type="nvlink")
    graph.add_edge("b", "s", type="ethernet")
    path = written(graph, tmp_path / "net.json")
    links = {"nvlink": {"rate": "2400Gbps", "delay": "25ns"}}
    found = built(path, hosts=["a", "b"], attributes={"kind": "type"}, links=links, defaults=WIRES)
    assert [(link.rate_bps, link.delay_ps, link.kind) for link in found.links] == [
        (2400 * G, 25_000, "nvlink"),
        (100 * G, US, "ethernet"),
    ]


def test_a_number_in_a_named_unit_is_the_nearest_whole_bit_or_picosecond(tmp_path: Path) -> None:
    graph = networkx.Graph()
    graph.add_edge("a", "b", capacity=0.7500000007, latency=1.2346)  # 750,000,000.7 b/s, 1,234.6 ps
    path = written(graph, tmp_path / "net.json")
    names = {"rate": {"name": "capacity", "unit": "Gbps"}, "delay": {"name": "latency", "unit": "ns"}}
    (link,) = built(path, hosts="all", attributes=names).links
    assert (link.rate_bps, link.delay_ps) == (750_000_001, 1235)


def test_an_attribute_may_be_left_unread(tmp_path: Path) -> None:
    graph = networkx.Graph()
    graph.add_edge("a", "b", cost=0.5)
    path = written(graph, tmp_path / "net.json")
    with pytest.raises(InputError, match="key 'cost'"):
        built(path, hosts="all", defaults=WIRES)
    assert built(path, hosts="all", defaults=WIRES, attributes={"cost": None}).links[0].cost == 1


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"hosts": "every"}, r"key 'topology.hosts': found 'every', allowed: all, leaves, a list of names"),
        ({"hosts": ["npu9"]}, r"host 'npu9' is no node of it; did you mean 'npu\d'"),
        (
            {"hosts": {"attribute": "role", "equals": "gpu"}},
            r"equal to gpu, so none is a host; its values are server, sw",
        ),
        ({"hosts": {"attribute": "rol", "equals": "gpu"}}, r"so none is a host; nodes have role, vendor"),
        ({"hosts": {"beside": 0, **WIRES}}, r"key 'topology.hosts.beside'"),
        ({"hosts": {"beside": 1}}, r"key 'topology.hosts.rate' is missing"),
        (
            {"attributes": {"cost": {"name": "capacity", "unit": "Gbps"}}},
            r"attributes.cost': has unit 'Gbps', but only r",
        ),
        ({"attributes": {"rate": {"name": "capacity", "unit": "GB"}}}, r"attributes.rate': '1GB' is not a rate"),
        ({"attributes": {"speed": "capacity"}}, r"topology.attributes.speed': unknown key; allowed: rate"),
        ({"format": "hpcc"}, r"star.json:1: "),
    ],
)
def test_what_completes_a_graph_is_checked(keys: dict[str, Any], message: str, tmp_path: Path) -> None:
    path = written(star(), tmp_path / "star.json")
    with pytest.raises(InputError, match=message) as caught:
        config(path, **keys)
    assert "\n" not in str(caught.value)


def test_a_format_that_says_all_wants_no_completion(tmp_path: Path) -> None:
    (tmp_path / "net.txt").write_text("3 1 2\n2\n0 2 100Gbps 1us 0\n1 2 100Gbps 1us 0\n")
    with pytest.raises(InputError, match="format hpcc says all of a network; leave out defaults"):
        config(tmp_path / "net.txt", defaults=WIRES)


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("id 0 ", "", r"four.gml:6: 'node' has no 'id'"),
        ("target 1 ", "", r"four.gml:11: 'edge' has no 'target'"),
        ("source 3", "source 9", r"four.gml:14: there is no node '9'"),
        ("id 1 ", "id 0 ", r"four.gml:8: stands twice"),
        ("id 1 ", "id 1 id 2 ", r"four.gml:8: 'id' stands twice"),
        ("]\n]\n", "]\n", r"four.gml: the file ends before a list is closed with '\]'"),
        ('label "four"', "label", r"four.gml:4: key 'label' has 'Network', expected a number, a text or a list"),
        ('label "four"', "label =", r"four.gml:3: found '=', which is no GML"),
        ('label "four"', 'label "two\nlines" =', r"four.gml:4: found '=', which is no GML"),
        ('label "four"', '7 "four"', r"four.gml:3: found '7', expected a key"),
        ("graph [", "graph [ ] graph [", r"four.gml: has 2 graphs, expected one"),
        ("Longitude 20.0", 'Longitude "x"', r"four.gml:8: longitude is 'x', expected degrees"),
        ("edge [ source 3 target 0 ]", "edge 5", r"four.gml:14: 'edge' has no list in brackets"),
    ],
)
def test_a_gml_file_that_is_wrong_names_its_line(before: str, after: str, message: str, tmp_path: Path) -> None:
    assert before in ZOO
    (tmp_path / "four.gml").write_text(ZOO.replace(before, after, 1))
    with pytest.raises(InputError, match=message):
        config(tmp_path / "four.gml", hosts="all", defaults={**WIRES, "distance": True})


def test_lists_without_end_are_refused(tmp_path: Path) -> None:
    (tmp_path / "deep.gml").write_text("graph [\n" + "a [ " * 5000)
    with pytest.raises(InputError, match="lists stand more than 50 deep"):
        config(tmp_path / "deep.gml", hosts="all", defaults=WIRES)


def test_only_a_graph_with_switches_needs_keys_of_switches(tmp_path: Path) -> None:
    """Two hosts on a wire need none; with a switch between them, or the routers of an analytical network, they do."""
    nodes = [{"id": "a", "kind": "host"}, {"id": "b", "kind": "host"}, {"id": "s", "kind": "switch"}]
    wires = [{"source": end, "target": "s", **WIRES} for end in "ab"]
    (tmp_path / "wire.json").write_text(json.dumps({"nodes": nodes[:2], "links": [{**wires[0], "target": "b"}]}))
    (tmp_path / "star.json").write_text(json.dumps({"nodes": nodes, "links": wires}))
    ring = "topology: [ Ring ]\nnpus_count: [ 4 ]\nbandwidth: [ 50 ]\nlatency: [ 500 ]\n"
    (tmp_path / "ring.yaml").write_text(ring)
    wire = parse_network({"topology": {"kind": "file", "path": str(tmp_path / "wire.json")}})
    assert build_graph(wire.topology).switches == 0
    for name in ("star.json", "ring.yaml"):
        with pytest.raises(InputError, match=rf"key 'topology\.switch': is missing; .*{name} has switches, which need"):
            parse_network({"topology": {"kind": "file", "path": str(tmp_path / name)}})
        assert built(tmp_path / name).switches > 0
