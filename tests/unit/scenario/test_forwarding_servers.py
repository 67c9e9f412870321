"""NPUs that forward: servers, racks, NICs, cuts and storage are those of the same wires without forwarding."""

from __future__ import annotations

from typing import Any

import pytest

from astra_ns3.config.network.packet_network import parse_network
from astra_ns3.config.scenario.file import EventConfig
from astra_ns3.errors import InputError
from astra_ns3.scenario.cut import cut_named
from astra_ns3.scenario.events import Event, changes_of
from astra_ns3.scenario.failures import NAMED
from astra_ns3.scenario.placement import places_of
from astra_ns3.topology.builders import build_graph
from astra_ns3.topology.changes import LinkTarget
from astra_ns3.topology.graph import Graph

G = 10**9
LINK, FAST, SWITCH = {"rate": "100Gbps", "delay": "500ns"}, {"rate": "400Gbps", "delay": "250ns"}, {"buffer": "64MiB"}
SCALE_UP = {"link": FAST, "switch": SWITCH}
LEAVES = {"kind": "leaf-spine", "leaves": 2, "spines": 2, "hosts_per_leaf": 8, "link": LINK, "switch": SWITCH}
NODES: dict[str, Any] = {"kind": "hierarchical", "nodes": 4, "npus_per_node": 4, "scale_up": SCALE_UP}
SHARED: dict[str, Any] = {**NODES, "nics_per_node": 2, "scale_out": {**LEAVES, "hosts_per_leaf": 4}}
RAILS: dict[str, Any] = {"kind": "rail-optimised", "nodes": 4, "npus_per_node": 4, "spines": 2, "scale_up": SCALE_UP}
TOPOLOGIES: dict[str, dict[str, Any]] = {
    "rails": {**RAILS, "link": LINK, "switch": SWITCH},
    "leaves": {**NODES, "scale_out": LEAVES},
    "ring inside": {**NODES, "scale_out": LEAVES, "scale_up": {**SCALE_UP, "kind": "ring"}},
    "mesh inside": {**NODES, "scale_out": LEAVES, "scale_up": {"link": FAST, "kind": "full-mesh"}},
    "mesh outside": {**NODES, "scale_out": {"kind": "full-mesh", "link": LINK}},
    "shared planes": {**SHARED, "scale_up": {**SCALE_UP, "planes": 2}},
    "shared pcie": {**SHARED, "shared_nics": "pcie"},
    "flat mesh": {"kind": "full-mesh", "npus": 16, "link": LINK},
}
STORAGE = {"per": "rack", "link": LINK}


def built(name: str, **keys: Any) -> Graph:
    return build_graph(parse_network({"topology": {**TOPOLOGIES[name], **keys}}).topology)


def forwarding(name: str, **keys: Any) -> Graph:
    return built(name, forwarding={"by": "hosts", "switch": SWITCH}, **keys)


def lines_of_nics(graph: Graph, names: Any) -> set[int]:
    """Return the links that events of NICs take down."""
    events = [Event(EventConfig.model_validate({"at": 0, "nic": name, "up": False}), "f.yaml") for name in names]
    return {each.target.link for each in changes_of(events, graph) if isinstance(each.target, LinkTarget)}


@pytest.mark.parametrize("name", TOPOLOGIES)
def test_what_fails_outside_of_servers_is_the_same_where_npus_forward(name: str) -> None:
    plain, graph = built(name), forwarding(name)
    assert graph.forwarders
    for kind in ("link", "switch", "npu"):
        assert list(NAMED[kind](graph)) == list(NAMED[kind](plain)), kind
    assert len(NAMED["nic"](graph)) == len(NAMED["nic"](plain))
    assert lines_of_nics(graph, NAMED["nic"](graph)) == lines_of_nics(plain, NAMED["nic"](plain))
    for nic in (0, 6, "host0", "host6"):
        assert lines_of_nics(graph, [nic]) == lines_of_nics(plain, [nic])


@pytest.mark.parametrize("name", TOPOLOGIES)
def test_servers_racks_and_cuts_are_the_same_where_npus_forward(name: str) -> None:
    plain, graph = built(name), forwarding(name)
    assert places_of(graph) == places_of(plain)
    for cut in ("hosts", "racks"):
        if cut == "racks" and "mesh" in name and name != "mesh inside":
            with pytest.raises(InputError, match="no link leads out of racks"):
                cut_named(cut, graph, range(16))
            continue
        own, other = cut_named(cut, graph, range(16)), cut_named(cut, plain, range(16))
        assert own.rate_bps == other.rate_bps
        assert len(set(own.parts.tolist())) == len(set(other.parts.tolist()))


@pytest.mark.parametrize("name", ["rails", "leaves", "ring inside", "mesh inside", "shared planes", "shared pcie"])
def test_storage_of_racks_hangs_on_the_same_switches_where_npus_forward(name: str) -> None:
    wired = [
        [graph.switch_names[link.b - graph.hosts] for link in graph.links if link.kind == "storage"]
        for graph in (built(name, storage=STORAGE), forwarding(name, storage=STORAGE))
    ]
    assert wired[0] == wired[1]


def test_rails_of_forwarding_npus_counted_by_hand() -> None:
    """4 servers of 4 NPUs, each with a NIC to one of 4 leaves, which have 2 lines upwards each."""
    graph = forwarding("rails")
    assert list(NAMED["link"](graph)) == list(range(16 + 8))
    assert list(NAMED["switch"](graph)) == list(range(4 + 2))
    assert lines_of_nics(graph, NAMED["nic"](graph)) == set(range(16))
    assert len(NAMED["nic"](graph)) == 16
    assert cut_named("hosts", graph, range(16)).rate_bps == 16 * 100 * G
    assert cut_named("racks", graph, range(16)).rate_bps == 8 * 100 * G
    assert places_of(graph).servers == tuple(tuple(range(first, first + 4)) for first in (0, 4, 8, 12))


@pytest.mark.parametrize("build", [built, forwarding])
def test_in_a_mesh_of_npus_every_line_between_two_leads_out(build: Any) -> None:
    """16 NPUs have 120 lines with two ports each; a storage host's line is none of them."""
    graph = build("flat mesh", storage={"per": "node", "link": LINK})
    assert list(NAMED["link"](graph)) == list(range(120))
    assert list(NAMED["switch"](graph)) == []
    assert len(NAMED["nic"](graph)) == 240
    assert cut_named("hosts", graph, range(16)).rate_bps == 16 * 15 * 100 * G
