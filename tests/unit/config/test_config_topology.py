"""Topology keys: what each kind takes and leaves out, dimensions, routing, and mistakes named by file, line and key."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from astra_ns3.config.network.packet_network import NetworkConfig, TcpTransport, parse_network, read_network
from astra_ns3.config.topology.kinds import KINDS, FatTree, Hierarchical, LeafSpine, SingleSwitch
from astra_ns3.config.topology.routing import RoutingConfig
from astra_ns3.errors import InputError
from astra_ns3.topology import wiring
from astra_ns3.topology.builders import build_graph
from astra_ns3.topology.graph import MOST_LINKS

G = 10**9
LINK = {"rate": "100Gbps", "delay": "500ns"}
SWITCH = {"buffer": "64MB"}
SCALE_UP = {"link": {"rate": "900Gbps", "delay": "100ns"}, "switch": SWITCH}
INPUTS = Path(__file__).parents[3] / "inputs" / "network"

LEAF_SPINE = {"kind": "leaf-spine", "leaves": 4, "spines": 2, "hosts_per_leaf": 8, "link": LINK, "switch": SWITCH}
HIERARCHICAL = {
    "kind": "hierarchical",
    "nodes": 4,
    "npus_per_node": 8,
    "scale_up": SCALE_UP,
    "scale_out": {"link": LINK, "switch": SWITCH},
}
TORUS = {"kind": "torus", "shape": [4, 2], "link": LINK, "switch": SWITCH}
RAIL = {
    "kind": "rail-optimised",
    "nodes": 4,
    "npus_per_node": 2,
    "spines": 2,
    "scale_up": SCALE_UP,
    "link": LINK,
    "switch": SWITCH,
}
EACH_KIND: list[dict[str, Any]] = [
    {"kind": "single-switch", "npus": 4, "link": LINK, "switch": SWITCH},
    LEAF_SPINE,
    {"kind": "fat-tree", "k": 4, "link": LINK, "switch": SWITCH},
    {"kind": "clos", "levels": [{"children": 4, "link": LINK, "switch": SWITCH}]},
    {"kind": "dumbbell", "left": 2, "right": 3, "link": LINK, "switch": SWITCH},
    {"kind": "ring", "npus": 5, "link": LINK, "switch": SWITCH},
    {"kind": "torus", "shape": [3, 4], "link": LINK, "switch": SWITCH},
    {"kind": "mesh", "shape": [3, 4, 2], "link": LINK, "switch": SWITCH},
    {"kind": "full-mesh", "npus": 5, "link": LINK},
    {"kind": "dragonfly", "a": 2, "p": 2, "h": 1, "link": LINK, "switch": SWITCH},
    HIERARCHICAL,
    RAIL,
]


def network(topology: dict[str, Any], **changes: Any) -> NetworkConfig:
    return parse_network({"topology": {**topology, **changes}})


@pytest.mark.parametrize("topology", EACH_KIND, ids=lambda topology: str(topology["kind"]))
def test_a_model_written_out_reads_back_the_same(topology: dict[str, Any]) -> None:
    config = network(topology)
    assert parse_network(config.document()) == config
    assert config.npus == len(build_graph(config.topology).npu_host)
    assert config.topology.kind == topology["kind"]


def test_every_kind_but_files_is_tried_above() -> None:
    assert {topology["kind"] for topology in EACH_KIND} == set(KINDS) - {"file"}


def test_without_a_kind_it_is_a_single_switch_outside_and_between_nodes() -> None:
    assert isinstance(network({"npus": 4, "link": LINK, "switch": SWITCH}).topology, SingleSwitch)
    config = network(HIERARCHICAL).topology
    assert isinstance(config, Hierarchical)
    assert isinstance(config.scale_out, SingleSwitch)
    assert config.scale_out.npus == 32


def test_a_fat_tree_is_full_unless_said_otherwise() -> None:
    tree = {"kind": "fat-tree", "k": 8, "link": LINK, "switch": SWITCH}
    full, part = network(tree).topology, network(tree, npus=100).topology
    assert isinstance(full, FatTree)
    assert isinstance(part, FatTree)
    assert (full.npus, part.npus) == (128, 100)


def test_uplinks_are_as_links_but_for_what_is_said() -> None:
    def uplink(**changes: Any) -> tuple[int, int, float]:
        config = network(LEAF_SPINE, **changes).topology
        assert isinstance(config, LeafSpine)
        link = config.uplink_link()
        return link.rate_bps, link.delay_ps, link.error_rate

    lossy = {**LINK, "error_rate": 0.01}
    assert uplink() == (100 * G, 500_000, 0.0)
    assert uplink(link=lossy) == (100 * G, 500_000, 0.01)
    assert uplink(link=lossy, uplink={"rate": "400Gbps", "delay": "1us", "error_rate": 0.0}) == (400 * G, 1_000_000, 0)
    assert uplink(uplink={"delay": "1us"}, oversubscription=2) == (200 * G, 1_000_000, 0.0)
    assert uplink(oversubscription=0.5) == (800 * G, 500_000, 0.0)
    assert uplink(oversubscription=0.5, links_per_spine=4) == (200 * G, 500_000, 0.0)


@pytest.mark.parametrize(
    ("topology", "dimensions", "bandwidths"),
    [
        (EACH_KIND[0], (4,), (100,)),
        ({**EACH_KIND[0], "dimensions": [2, 2]}, (2, 2), (100, 100)),
        (LEAF_SPINE, (32,), (100,)),
        ({**LEAF_SPINE, "dimensions": [8, 4]}, (8, 4), (100, 100)),
        (EACH_KIND[5], (5,), (200,)),
        (EACH_KIND[6], (3, 4), (200, 200)),
        (EACH_KIND[7], (3, 4, 2), (200, 200, 100)),
        ({**EACH_KIND[7], "dimensions": [24]}, (24,), (200,)),
        (EACH_KIND[8], (5,), (400,)),
        (EACH_KIND[9], (12,), (100,)),
        (HIERARCHICAL, (8, 4), (900, 100)),
        ({**HIERARCHICAL, "dimensions": [8, 2, 2]}, (8, 2, 2), (900, 100, 100)),
        ({**HIERARCHICAL, "nics_per_node": 2}, (8, 4), (900, 25)),
        ({**HIERARCHICAL, "scale_up": {**SCALE_UP, "planes": 2}}, (8, 4), (1800, 100)),
        ({**HIERARCHICAL, "scale_up": {**SCALE_UP, "kind": "ring"}}, (8, 4), (1800, 100)),
        ({**HIERARCHICAL, "scale_up": {"kind": "full-mesh", "link": LINK}}, (8, 4), (700, 100)),
        # NPU 1 has most links: two to NPU 0, one to NPU 2.
        (
            {**HIERARCHICAL, "scale_up": {"kind": "full-mesh", "link": LINK, "pairs": [[0, 1, 2], [1, 2, 1]]}},
            (8, 4),
            (300, 100),
        ),
        (RAIL, (2, 4), (900, 100)),
    ],
)
def test_dimensions_and_their_bandwidths(
    topology: dict[str, Any], dimensions: tuple[int, ...], bandwidths: tuple[int, ...]
) -> None:
    config = network(topology)
    assert config.dimensions == dimensions
    assert config.bandwidths == tuple(float(each * G) for each in bandwidths)
    graph = build_graph(config.topology)
    assert (graph.dimensions, graph.bandwidths) == (dimensions, config.bandwidths)


def test_classes_of_links_belong_to_dimensions() -> None:
    def classes(topology: dict[str, Any]) -> dict[str, int]:
        return dict(build_graph(network(topology).topology).link_dimensions)

    assert classes(EACH_KIND[6]) == {"axis-0": 0, "axis-1": 1}
    assert classes(RAIL) == {"scale-out": 1, "uplink": 1, "scale-up": 0}
    ring = {**HIERARCHICAL, "scale_up": {**SCALE_UP, "kind": "ring"}}
    assert classes(ring) == {"scale-out": 1, "scale-up-injection": 0, "scale-up": 0}
    assert classes({**HIERARCHICAL, "dimensions": [8, 2, 2]}) == {"scale-up": 0}
    assert classes(LEAF_SPINE) == classes({**EACH_KIND[6], "dimensions": [12]}) == {}


@pytest.mark.parametrize(
    ("topology", "message"),
    [
        (
            {"kind": "fat-tre", "k": 4},
            r"key 'topology\.kind': found 'fat-tre', allowed: .*did you mean 'fat-tree'",
        ),
        ({"kind": 3}, r"key 'topology\.kind': found 3, allowed: single-switch"),
        (
            {**LEAF_SPINE, "leafs": 3},
            r"key 'topology\.leafs': unknown key; allowed: .*; did you mean 'topology\.leaves'",
        ),
        ({**LEAF_SPINE, "leaves": 0}, r"key 'topology\.leaves': found 0, expected greater than or equal to 1"),
        ({**LEAF_SPINE, "leaves": 16e9}, r"key 'topology\.leaves': found 16000000000\.0"),
        (
            {**LEAF_SPINE, "leaves": 65_537},
            r"key 'topology\.leaves': found 65537, expected less than or equal",
        ),
        (
            {**LEAF_SPINE, "leaves": 60_000, "hosts_per_leaf": 60_000},
            r"describes 3600000000 NPUs, expected at most",
        ),
        (
            {**LEAF_SPINE, "oversubscription": 3},
            r"topology\.oversubscription.: 3(\.0)? makes uplinks of 13333.*; give uplink.rate instead, such as 13333",
        ),
        ({**LEAF_SPINE, "oversubscription": 0}, r"key 'topology\.oversubscription': found 0"),
        (
            {**LEAF_SPINE, "oversubscription": 2, "uplink": {"rate": "1Gbps"}},
            r"key 'topology\.oversubscription': stands beside uplink\.rate, 1 Gb/s",
        ),
        ({**LEAF_SPINE, "dimensions": [8, 5]}, r"key 'topology\.dimensions': \[8, 5\] make 40 NPUs, not 32"),
        ({**EACH_KIND[2], "k": 5}, r"key 'topology\.k': found 5, expected an even number"),
        ({**EACH_KIND[2], "k": 130}, r"key 'topology\.k': found 130"),
        ({**EACH_KIND[2], "npus": 17}, r"key 'topology\.npus': found 17, expected at most k\^3/4, 16"),
        ({"kind": "clos", "levels": []}, r"key 'topology\.levels'"),
        ({**EACH_KIND[6], "shape": [4, 0]}, r"key 'topology\.shape\.1': found 0"),
        ({**EACH_KIND[8], "npus": 1025}, r"key 'topology\.npus': found 1025"),
        (
            {"kind": "full-mesh", "npus": 4, "link": LINK, "switch": SWITCH},
            r"\.switch': a full-mesh joins NPUs directly",
        ),
        ({**HIERARCHICAL, "nics_per_node": 3}, r"key 'topology\.nics_per_node': found 3, expected a divisor of .* 8"),
        (
            {**HIERARCHICAL, "nics_per_node": 2, "scale_up": {"kind": "full-mesh", "link": LINK}},
            r"key 'topology\.nics_per_node': 2 NICs for 8 NPUs need scale_up of kind switch or ring",
        ),
        (
            {**HIERARCHICAL, "shared_nics": "pcie"},
            r"key 'topology\.shared_nics': has no effect with a NIC for each of 8 NPUs; leave it out",
        ),
        (
            {**HIERARCHICAL, "nics_per_node": 8, "shared_nics": "pcie"},
            r"key 'topology\.shared_nics': has no effect with a NIC for each of 8 NPUs; leave it out",
        ),
        (
            {**HIERARCHICAL, "nics_per_node": 2, "shared_nics": "pci"},
            r"key 'topology\.shared_nics': found 'pci', allowed: scale-up, pcie; did you mean 'pcie'\?",
        ),
        ({**LEAF_SPINE, "shared_nics": "pcie"}, r"key 'topology\.shared_nics': unknown key"),
        ({**HIERARCHICAL, "scale_out": LEAF_SPINE, "nodes": 5}, r"key 'topology\.scale_out': has 32 ends, expected 40"),
        ({**HIERARCHICAL, "scale_out": HIERARCHICAL}, r"key 'topology\.scale_out.*': found 'hierarchical', allowed: "),
        (
            {**HIERARCHICAL, "scale_out": {**LEAF_SPINE, "routing": {"seed": 2}}},
            r"key 'topology\.scale_out': key 'routing' belongs beside scale_out, not inside",
        ),
        (
            {**HIERARCHICAL, "scale_out": {"npus_per_host": 2, "link": LINK, "switch": SWITCH}},
            r"key 'topology\.scale_out': npus_per_host is 2, expected 1",
        ),
        (
            {**HIERARCHICAL, "dimensions": [4, 8]},
            r"key 'topology\.dimensions': begin with 4, expected npus_per_node, 8",
        ),
        (
            {**HIERARCHICAL, "scale_up": {"link": LINK}},
            r"key 'topology\.scale_up\.switch': is missing; kind switch needs",
        ),
        (
            {**HIERARCHICAL, "scale_up": {**SCALE_UP, "kind": "full-mesh"}},
            r"key 'topology\.scale_up\.switch': has no effect with kind full-mesh",
        ),
        (
            {**HIERARCHICAL, "scale_up": {**SCALE_UP, "kind": "ring", "planes": 2}},
            r"key 'topology\.scale_up\.planes': has no effect with kind ring",
        ),
        (
            {**HIERARCHICAL, "scale_up": {**SCALE_UP, "injection": {"rate": "1Gbps"}}},
            r"key 'topology\.scale_up\.injection': has no effect with kind switch",
        ),
        (
            {**HIERARCHICAL, "scale_up": {**SCALE_UP, "pairs": [[0, 1, 2]]}},
            r"key 'topology\.scale_up\.pairs': has no effect with kind switch",
        ),
        (
            {**HIERARCHICAL, "scale_up": {"kind": "full-mesh", "link": LINK, "pairs": [[0, 1, 2], [0, 8, 1]]}},
            r"key 'topology\.scale_up': pairs entry 1 joins 0 and 8, expected a smaller and a larger number, 0 to 7",
        ),
        (
            {**HIERARCHICAL, "scale_up": {"kind": "full-mesh", "link": LINK, "pairs": [[0, 1]]}},
            r"key 'topology\.scale_up\.pairs\.0\.2' is missing",
        ),
        (
            {**HIERARCHICAL, "scale_up": {"kind": "full-mesh", "link": LINK, "pairs": [[0, 1, 2], [0, 1, 1]]}},
            r"key 'topology\.scale_up': pairs has the same two NPUs twice",
        ),
        (
            {**RAIL, "forwarding": {"by": "hosts", "switch": {**SWITCH, "reduction": {}}}},
            r"key 'topology\.forwarding\.switch\.reduction': switches inside NPUs that forward reduce nothing",
        ),
        ({**RAIL, "nodes_per_leaf": 3}, r"key 'topology\.nodes_per_leaf': found 3, expected a divisor of nodes, 4"),
        ({**TORUS, "shape": []}, r"key 'topology\.shape': found \[\], expected at least one entry$"),
        ({**TORUS, "shape": [1] * 7}, r"found \[1, 1, 1, 1, 1, 1, 1\], expected at most 6 entries$"),
        ({**TORUS, "shape": 4}, r"key 'topology\.shape': found 4, expected a list$"),
        ({**TORUS, "dimensions": []}, r"key 'topology\.dimensions': found \[\], expected at least one entry$"),
        ({"kind": "clos", "levels": []}, r"key 'topology\.levels': found \[\], expected at least one entry$"),
    ],
)
def test_a_mistake_names_its_key(topology: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        network(topology)
    assert "\n" not in str(caught.value)


def test_a_mistake_in_a_nested_network_names_its_line(tmp_path: Path) -> None:
    text = (INPUTS / "hierarchical-ring.yaml").read_text(encoding="utf-8")
    file = tmp_path / "network.yaml"
    file.write_text(text.replace("    k: 4", "    k: 3"), encoding="utf-8")
    line = text.splitlines().index("    k: 4") + 1
    with pytest.raises(
        InputError, match=rf"network\.yaml:{line}: key 'topology\.scale_out\.k': found 3, expected an even"
    ):
        read_network(file)


def test_too_many_links_are_noticed_before_the_memory_is_full(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a hundredth of the links that a graph may have, since as many as that take ten seconds."""
    monkeypatch.setattr(wiring, "MOST_LINKS", MOST_LINKS // 100)
    topology = {**LEAF_SPINE, "leaves": 100, "spines": 101, "hosts_per_leaf": 100, "links_per_spine": 2}
    with pytest.raises(InputError, match="has more than 20000 links"):
        build_graph(network(topology).topology)


def test_the_four_systems_of_the_study_have_the_numbers_of_its_table() -> None:
    flat, hier, optimised = (read_network(INPUTS / f"{name}.yaml") for name in ("flat-800g", "hier", "hier-opt"))
    assert isinstance(flat.topology, SingleSwitch)
    assert (flat.npus, flat.topology.link.rate_bps, flat.topology.link.delay_ps) == (128, 800 * G, 500_000)
    assert flat.topology.switch.buffer_bytes == 10**9
    assert isinstance(hier.topology, Hierarchical)
    assert isinstance(hier.topology.scale_out, SingleSwitch)
    assert (hier.npus, hier.dimensions, hier.bandwidths) == (128, (8, 16), (2400.0 * G, 100.0 * G))
    assert (hier.topology.scale_out.link.delay_ps, hier.topology.scale_out.switch.buffer_bytes) == (500_000, 10**9)
    assert hier == optimised
    for network_config in (flat, hier):
        assert isinstance(network_config.transport, TcpTransport)
        assert network_config.transport.window_bytes == 500_000


def test_routing_is_by_flow_unless_said_otherwise() -> None:
    assert network(LEAF_SPINE).topology.routing == RoutingConfig(kind="ecmp", seed=None, weighted=False)
    spray = network(LEAF_SPINE, routing={"kind": "spray", "spray": "random", "seed": 7}).topology.routing
    assert (spray.kind, spray.spray, spray.seed) == ("spray", "random", 7)
    assert network(LEAF_SPINE, routing={"kind": "flowlet"}).topology.routing.gap_ps == 50_000_000
    assert network(LEAF_SPINE, routing={"kind": "flowlet", "flowlet_gap": "5us"}).topology.routing.gap_ps == 5_000_000
    pins = [{"sender": 0, "receiver": 31, "path": 1}]
    (pin,) = network(LEAF_SPINE, routing={"kind": "pinned", "pins": pins}).topology.routing.pins
    assert (pin.sender, pin.receiver, pin.path) == (0, 31, 1)


def test_a_seed_of_a_run_has_a_hash_of_its_own_unless_the_file_has_one() -> None:
    drawn = network(LEAF_SPINE).topology.routing
    assert drawn.hash_seed(1) == 0
    some = [*range(1, 1000), 2**31, 2**32 - 1]
    assert len({drawn.hash_seed(seed) for seed in some}) == len(some)
    assert all(0 <= drawn.hash_seed(seed) < 2**32 for seed in some)
    fixed = network(LEAF_SPINE, routing={"seed": 0}).topology.routing
    assert {fixed.hash_seed(seed) for seed in some} == {0}


@pytest.mark.parametrize(
    ("routing", "message"),
    [
        ({"kind": "emcp"}, r"routing\.kind': found 'emcp', allowed: ecmp, spray.*did you mean 'ecmp'"),
        ({"spray": "random"}, r"routing\.spray': has no effect with kind ecmp"),
        ({"kind": "spray", "flowlet_gap": "1us"}, r"routing\.flowlet_gap': has no effect with kind spray"),
        ({"kind": "flowlet", "flowlet_gap": 0}, r"routing\.flowlet_gap': found 0"),
        ({"kind": "pinned"}, r"routing\.pins': is missing; kind pinned needs entries"),
        ({"pins": [{"sender": 0, "receiver": 1, "path": 0}]}, r"routing\.pins': has no effect with kind ecmp"),
        ({"kind": "pinned", "pins": [{"sender": 1, "receiver": 1, "path": 0}]}, r"entry 0: NPU 1 sends itself nothing"),
        ({"kind": "pinned", "pins": [{"sender": 0, "receiver": 32, "path": 0}]}, r"names NPU 32, expected 0 to 31"),
        (
            {"kind": "pinned", "pins": [{"sender": 0, "receiver": 1, "path": path} for path in (0, 1)]},
            r"two entries for sender 0 and receiver 1",
        ),
        ({"seed": -1}, r"routing\.seed': found -1"),
        ({"seed": 2**32}, r"routing\.seed': found 4294967296"),
        ({"weighted": 1}, r"routing\.weighted': found 1"),
    ],
)
def test_a_routing_mistake_names_its_key(routing: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        network(LEAF_SPINE, routing=routing)


def test_nothing_is_lost_inside_a_host() -> None:
    local = {"rate": "2400Gbps", "delay": "25ns", "error_rate": 0.1}
    with pytest.raises(InputError, match=r"key 'topology\.local': error_rate has no effect"):
        network(EACH_KIND[0], npus_per_host=2, local=local)
