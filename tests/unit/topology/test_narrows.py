"""Whether a network's core is slower than what its hosts send."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from astra_ns3.config.network.packet_network import parse_network
from astra_ns3.topology.builders import build_graph
from astra_ns3.topology.checks import narrows
from astra_ns3.topology.graph import Graph

LINK, SWITCH = {"rate": "100Gbps", "delay": "500ns"}, {"buffer": "32MiB"}
STORAGE = {"per": "rack", "link": LINK}
LEAVES = {"kind": "leaf-spine", "leaves": 2, "hosts_per_leaf": 4, "link": LINK, "switch": SWITCH}
INSIDE = {"link": {**LINK, "rate": "3600Gbps"}, "switch": SWITCH}
NODES = {"kind": "hierarchical", "nodes": 2, "npus_per_node": 4, "scale_up": INSIDE}
STAR = {"kind": "single-switch", "link": LINK, "switch": SWITCH}


def _graph(**topology: Any) -> Graph:
    return build_graph(parse_network({"topology": topology, "transport": {"kind": "roce"}}).topology)


@pytest.mark.parametrize(
    ("topology", "narrow"),
    [
        ({**LEAVES, "spines": 4}, False),
        ({**LEAVES, "spines": 4, "storage": STORAGE}, False),  # storage hosts don't send as NPUs do
        ({**LEAVES, "spines": 2}, True),
        ({**LEAVES, "spines": 2, "uplink": {**LINK, "rate": "200Gbps"}}, False),
        ({"kind": "fat-tree", "k": 4, "link": LINK, "switch": SWITCH}, False),
        ({"kind": "fat-tree", "k": 4, "link": LINK, "core": {"rate": "25Gbps"}, "switch": SWITCH}, True),
        ({"kind": "torus", "shape": [3, 3], "link": LINK, "switch": SWITCH}, True),
        ({**STAR, "npus": 8}, False),
        ({**NODES, "scale_out": STAR}, False),  # a NIC for each NPU
        ({**NODES, "nics_per_node": 1, "scale_out": STAR}, True),
    ],
)
def test_a_core_is_narrow_where_a_switch_gets_more_than_it_can_send_on(
    topology: dict[str, Any], *, narrow: bool
) -> None:
    graph = _graph(**topology)
    assert narrows(graph) == narrow
    assert narrows(replace(graph, switch_levels=())) == narrow  # as a graph file may leave them out
