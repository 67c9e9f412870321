"""Rates of dimensions: each kind of topology with other ones, and the keys that say them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from astra_ns3.config.network.packet_network import parse_network, read_network
from astra_ns3.config.topology.kinds import TopologyConfig
from astra_ns3.errors import InputError
from astra_ns3.planning.budget.spending import switch_count
from astra_ns3.topology.builders import build_graph

SWITCH = {"buffer": "32MiB"}
LINK = {"rate": "100Gbps", "delay": "500ns"}
INSIDE = {"link": {"rate": "900Gbps", "delay": "25ns"}, "switch": SWITCH}
NODES = {"nodes": 4, "npus_per_node": 4, "scale_up": INSIDE}
GBPS = 10**9


def topology(**keys: Any) -> TopologyConfig:
    return parse_network({"topology": keys, "transport": {"kind": "roce"}}).topology


def rates_of(config: TopologyConfig) -> dict[str, set[int]]:
    """The rates of each class of links of the graph, in Gb/s."""
    found: dict[str, set[int]] = {}
    for link in build_graph(config).links:
        found.setdefault(link.kind, set()).add(round(link.rate_bps / GBPS))
    return found


def test_a_dimension_of_one_npu_has_no_lines_to_change() -> None:
    torus = topology(kind="torus", shape=[4, 1], link=LINK, switch=SWITCH)
    assert torus.with_line_rates((200 * GBPS, 50 * GBPS)).line_rates()[0] == 200 * GBPS


LEAVES = {"kind": "leaf-spine", "leaves": 2, "spines": 3, "hosts_per_leaf": 8, "link": LINK, "switch": SWITCH}
RAILS = {"kind": "rail-optimised", "spines": 3, "link": LINK, "switch": SWITCH}


@pytest.mark.parametrize(
    ("keys", "new", "expected"),
    [
        (
            {"kind": "hierarchical", **NODES, "scale_out": {"kind": "single-switch", "link": LINK, "switch": SWITCH}},
            (300, 50),
            {"scale-up": {300}, "scale-out": {50}},
        ),
        (
            {"kind": "hierarchical", **NODES, "scale_out": {**LEAVES, "uplink": {"rate": "200Gbps"}}},
            (1800, 50),
            {"scale-up": {1800}, "scale-out": {50}, "uplink": {100}},
        ),
        (
            {
                "kind": "hierarchical",
                **NODES,
                "nics_per_node": 2,
                "scale_out": {"kind": "single-switch", "link": LINK, "switch": SWITCH},
            },
            (900, 100),
            {"scale-up": {900}, "scale-out": {200}},
        ),
        # 4 NICs of 100 Gb/s over 4 uplinks of 200 Gb/s
        (
            {**RAILS, **NODES, "spines": 4, "oversubscription": 0.5},
            (900, 37),
            {"scale-up": {900}, "scale-out": {37}, "uplink": {74}},
        ),
        (
            {"kind": "torus", "shape": [4, 4], "link": LINK, "switch": SWITCH},
            (400, 60),
            {"axis-0": {200}, "axis-1": {30}, "injection": {460}},
        ),
        ({"kind": "single-switch", "npus": 4, "link": LINK, "switch": SWITCH}, (50,), {"link": {50}}),
        (
            {"kind": "fat-tree", "k": 4, "link": LINK, "switch": SWITCH},
            (50,),
            {"link": {50}, "uplink": {50}, "core": {50}},
        ),
        (
            {"kind": "clos", "levels": [{"children": 4, "link": LINK, "switch": SWITCH}]},
            (50,),
            {"level-1": {50}},
        ),
    ],
)
def test_all_links_of_a_dimension_change_by_one_factor(
    keys: dict[str, Any], new: tuple[int, ...], expected: dict[str, set[int]]
) -> None:
    config = topology(**keys).with_line_rates([each * GBPS for each in new])
    assert rates_of(config) == expected
    assert config.line_rates() == pytest.approx([each * GBPS for each in new])


def test_axes_of_a_torus_have_rates_of_their_own_and_routers_what_all_lines_carry() -> None:
    config = topology(kind="torus", shape=[4, 2, 3], link=LINK, switch=SWITCH, rates=["10Gbps", "20Gbps", "30Gbps"])
    # a ring of two has one link
    assert rates_of(config) == {"axis-0": {10}, "axis-1": {20}, "axis-2": {30}, "injection": {100}}
    assert config.bandwidths == (20e9, 20e9, 60e9)


def grid_file(folder: Path) -> Path:
    path = folder / "grid.yaml"
    text = "topology: [Ring, FullyConnected, Switch]\nnpus_count: [4, 3, 2]\n"
    path.write_text(f"{text}bandwidth: [1, 2, 3]\nlatency: [1, 1, 1]\n", encoding="utf-8")
    return path


def test_dimensions_of_astra_sim_have_rates_of_their_own(tmp_path: Path) -> None:
    path = str(grid_file(tmp_path))
    config = topology(kind="file", path=path, switch=SWITCH, rates=["10Gbps", "20Gbps", "30Gbps"])
    assert config.line_rates() == pytest.approx([20e9, 40e9, 30e9])  # two ways round, to two peers, to the switch
    assert rates_of(config) == {"dimension-0": {10}, "dimension-1": {20}, "dimension-2": {30}, "injection": {90}}
    other = config.with_line_rates([40e9, 40e9, 60e9])
    assert rates_of(other) == {"dimension-0": {20}, "dimension-1": {20}, "dimension-2": {60}, "injection": {140}}


@pytest.mark.parametrize("rates", [["10Gbps"], ["10Gbps"] * 4])
def test_a_rate_for_each_dimension_is_needed(tmp_path: Path, rates: list[str]) -> None:
    found = r"key 'topology.*rates': has (1 entry|4 entries), expected "
    with pytest.raises(InputError, match=f"{found}2: one for each axis"):
        topology(kind="mesh", shape=[2, 2], link=LINK, switch=SWITCH, rates=rates)
    with pytest.raises(InputError, match=f"{found}3: one a dimension"):
        topology(kind="file", path=str(grid_file(tmp_path)), switch=SWITCH, rates=rates)


def test_a_graph_has_no_rates_of_dimensions() -> None:
    keys: dict[str, Any] = {
        "kind": "file",
        "path": "inputs/network/graphs/AlibabaHPN_8g_4gps_DualToR_DualPlane_200Gbps_H800",
        "switch": SWITCH,
    }
    with pytest.raises(InputError, match="stands beside a graph"):
        topology(**keys, rates=["10Gbps"])
    with pytest.raises(InputError, match="links belong to no dimension"):
        topology(**keys).with_line_rates([1e9])


def test_a_function_decides_the_rates_of_its_graph() -> None:
    own = topology(
        kind="inputs/extending/hypercube.py:hypercube",
        parameters={"order": 2, "rate": "1Gbps", "delay": "1us", "buffer": "1MB"},
    )
    with pytest.raises(InputError, match="whose rates its function decides"):
        own.with_line_rates(own.line_rates())


@pytest.mark.parametrize(
    ("keys", "nics", "switches"),
    [
        ({"kind": "torus", "shape": [4, 4], "link": LINK, "switch": SWITCH}, 0, 0),
        ({"kind": "full-mesh", "npus": 4, "link": LINK}, 0, 0),
        ({"kind": "fat-tree", "k": 4, "link": LINK, "switch": SWITCH}, 16, 20),
        ({**RAILS, **NODES}, 16, 4 + 3 + 4),
        (
            {
                "kind": "hierarchical",
                **NODES,
                "nics_per_node": 2,
                "scale_out": {"kind": "single-switch", "link": LINK, "switch": SWITCH},
            },
            8,
            4 + 1,
        ),
        (
            {
                "kind": "hierarchical",
                **NODES,
                "nics_per_node": 2,
                "shared_nics": "pcie",
                "scale_out": {"kind": "single-switch", "link": LINK, "switch": SWITCH},
            },
            8,
            4 + 1,
        ),
    ],
)
def test_routers_of_npus_are_no_switches(keys: dict[str, Any], nics: int, switches: int) -> None:
    config = topology(**keys)
    assert config.nic_count() == nics
    assert switch_count(build_graph(config)) == switches


@pytest.mark.parametrize("name", ["torus-4x4", "roce-nvswitch-clos-128", "rail-optimised-32", "hierarchical-ring"])
def test_a_network_with_other_rates_is_a_network_file(name: str) -> None:
    network = read_network(f"inputs/network/{name}.yaml")
    topology = network.topology.with_line_rates([2 * rate for rate in network.topology.line_rates()])
    changed = network.model_copy(update={"topology": topology})
    assert rates_of(parse_network(changed.document()).topology) == rates_of(topology)
