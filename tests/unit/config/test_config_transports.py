"""A transport for each dimension: what a file may say, and what each transport is then judged against."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from support.transports import checked, transport_of

from astra_ns3.config.network.packet_network import (
    NetworkConfig,
    RoceTransport,
    TcpTransport,
    parse_network,
    read_network,
)
from astra_ns3.config.topology.switch import SwitchConfig
from astra_ns3.config.transports.roce import Reliability
from astra_ns3.errors import InputError
from astra_ns3.experiments.inputs import Options, load_inputs
from astra_ns3.experiments.validate import validate
from astra_ns3.network.graph_outline import network_outline_of, transport_outlines
from astra_ns3.network.plan import plan_network
from astra_ns3.topology.builders import build_graph
from astra_ns3.transport.check import _cut_through_warnings, check_transports
from astra_ns3.transport.network_outline import NetworkOutline, PortOutline, SwitchOutline
from astra_ns3.transport.roce.parameters import roce_lines

INPUTS = Path(__file__).parents[3] / "inputs"
MIXED = INPUTS / "network" / "hier-mixed.yaml"
G = 10**9
NODES: dict[str, Any] = {
    "kind": "hierarchical",
    "nodes": 3,
    "npus_per_node": 4,
    "scale_up": {"link": {"rate": "2400Gbps", "delay": "25ns"}, "switch": {"buffer": "64MB", "pfc": {}}},
    "scale_out": {
        "kind": "leaf-spine",
        "leaves": 3,
        "spines": 2,
        "hosts_per_leaf": 4,
        "link": {"rate": "100Gbps", "delay": "500ns"},
        "uplink": {"delay": "2us"},
        "switch": {"buffer": "1GB"},
    },
}


def network(*transports: object, topology: dict[str, Any] = NODES, **keys: object) -> NetworkConfig:
    return parse_network({"topology": topology, "transports": list(transports), **keys})


def test_each_kind_is_found_and_the_outermost_is_the_transport() -> None:
    found = network("roce", {"kind": "tcp", "window": "1MB"})
    tcp = transport_of(found, TcpTransport)
    assert isinstance(transport_of(found, RoceTransport), RoceTransport)
    assert isinstance(tcp, TcpTransport)
    assert tcp.window_bytes == 10**6
    assert found.transport == tcp
    alone = parse_network({"topology": NODES})
    assert (alone.each_transport, alone.transports) == ((TcpTransport(),), None)
    assert transport_of(network("roce", "roce"), TcpTransport) is None


def test_a_document_with_transports_reads_back_equal() -> None:
    for found in (network("roce", "tcp"), read_network(MIXED)):
        document = json.loads(json.dumps(found.document()))
        assert "transport" not in document
        assert parse_network(document) == found


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"transports": ["roce", "tcp"], "transport": "tcp"}, "key 'transports': stands beside transport"),
        ({"transports": ["tcp"]}, "key 'transports': has 1 entry, expected 2: one for each dimension"),
        ({"transports": []}, "key 'transports': "),
        (
            {"transports": [{"kind": "tcp", "mtu": 9000}, "tcp"]},
            "key 'transports': has two entries of kind tcp that differ, expected them alike",
        ),
        ({"transports": ["roce", "tpc"]}, "key 'transports.1': found 'tpc', allowed: tcp, roce; did you mean 'tcp'?"),
        ({"transports": ["roce", {"kind": "tcp", "windov": 1}]}, "key 'transports.1.windov': unknown key"),
        ({"transports": ["roce", "roce"], "observe": {"connections": ["rtt"]}}, "connections are TCP's"),
        ({"transports": ["tcp", "tcp"], "observe": {"queue_pairs": ["rate"]}}, "queue_pairs are RoCE's"),
    ],
)
def test_what_cannot_be_meant_is_named(data: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_network({"topology": NODES, **data})
    assert message in str(caught.value)


def test_both_may_be_observed_where_both_are() -> None:
    observe = {"connections": ["rtt"], "queue_pairs": ["rate"]}
    assert network("roce", "tcp", observe=observe).observe.connections == ("rtt",)


def test_the_option_changes_the_congestion_control_of_roce_alone() -> None:
    files = (INPUTS / "workload" / "micro-all-reduce.txt", INPUTS / "system" / "hier.txt", MIXED)
    changed = load_inputs(*files, options=Options(congestion_control="dcqcn")).network
    assert isinstance(changed, NetworkConfig)
    roce = transport_of(changed, RoceTransport)
    assert roce is not None
    assert roce.congestion_control.kind == "dcqcn"
    assert transport_of(changed, TcpTransport) == transport_of(read_network(MIXED), TcpTransport)
    with pytest.raises(InputError, match="needs transport roce; the network's transport is tcp"):
        load_inputs(files[0], files[1], network("tcp", "tcp"), options=Options(congestion_control="dcqcn"))
    with pytest.raises(InputError, match=r"is tcp; use --set transport\.congestion_control=vegas$"):
        load_inputs(files[0], files[1], network("tcp", "tcp"), options=Options(congestion_control="vegas"))


def test_each_transport_is_judged_by_what_it_travels_over() -> None:
    found = network("roce", "tcp")
    graph = build_graph(found.topology)
    shapes = transport_outlines(found, graph)
    inside, outside = PortOutline(2400 * G, 25_000), PortOutline(100 * G, 500_000)
    assert shapes["roce"].path == (inside, inside)
    assert [len(switch.ports) for switch in shapes["roce"].switches] == [4]
    assert shapes["roce"].npus == 4
    up = PortOutline(100 * G, 2_000_000)
    assert shapes["tcp"].path == (outside, up, up, outside)
    assert [len(switch.ports) for switch in shapes["tcp"].switches] == [6, 3]
    assert all(switch.config.pfc is None for switch in shapes["tcp"].switches)
    # Over all switches RoCE would be warned of those that don't pause; they are not on its way.
    assert checked(found, network_outline_of(graph), shapes) == []
    assert any("no pfc" in warning for warning in checked(found, network_outline_of(graph)))


def test_a_transport_of_several_dimensions_travels_over_the_lines_of_each() -> None:
    """NPU 0 has one neighbour along each side of a cube; those that differ in two places are of the higher one."""
    link = {"rate": "100Gbps", "delay": "500ns"}
    topology = {"kind": "mesh", "shape": [2, 2, 2], "link": link, "switch": {"buffer": "1GB"}}
    found = network("roce", "tcp", "roce", topology=topology)
    shapes = transport_outlines(found, build_graph(found.topology))
    assert {kind: shape.npus for kind, shape in shapes.items()} == {"roce": 1 + 1 + 4, "tcp": 1 + 2}


@pytest.mark.parametrize("roce_is_outside", [False, True])
def test_times_are_rounded_as_roce_says_wherever_it_is_beside_tcp(roce_is_outside: bool) -> None:
    transports = ({"kind": "roce", "time_rounding": "1ns"}, "tcp")
    plan = plan_network(network(*(transports[::-1] if roce_is_outside else transports)))
    assert plan.time_rounding_ps == 1000


def test_switches_that_only_tcp_passes_are_marked_as_tcp_wants_it() -> None:
    roce = {"kind": "roce", "congestion_control": "dcqcn"}
    for transports, outside in (((roce, "tcp"), "tcp"), (("tcp", roce), "roce")):
        plan = plan_network(network(*transports))
        inside = "roce" if outside == "tcp" else "tcp"
        assert all(switch.config.marking for switch in plan.transports["roce"].outline.switches)
        if inside == "roce":
            assert not any(switch.config.marking for switch in plan.transports["tcp"].outline.switches)
            assert not any("ECN" in line for line in check_transports(plan.config, plan.outline, plan.transports))
    topology = copy.deepcopy(NODES)
    topology["scale_out"]["switch"]["ecn"] = "scaled"
    plan = plan_network(network(roce, {"kind": "tcp", "ecn": True}, topology=topology))
    for switch in plan.transports["tcp"].outline.switches:
        ecn = switch.config.ecn_of(100 * G)
        assert ecn is not None
        # One step, at 30 KB for each 10 Gb/s; 100 Gb/s over TCP's 10 us of round trip has less.
        assert (ecn.kmin_bytes, ecn.kmax_bytes) == (300_000, 300_000)
    for switch in plan.transports["roce"].outline.switches:
        ecn = switch.config.ecn_of(2400 * G)
        assert ecn is not None
        assert ecn.kmax_bytes == 4 * ecn.kmin_bytes


def test_a_switch_of_tcps_that_looks_like_one_of_roces_is_tcps() -> None:
    link, switch = {"rate": "100Gbps", "delay": "500ns"}, {"buffer": "1GB"}
    scale_out = {"kind": "leaf-spine", "leaves": 4, "spines": 2, "hosts_per_leaf": 4, "link": link, "switch": switch}
    topology = {
        "kind": "hierarchical",
        "nodes": 4,
        "npus_per_node": 4,
        "scale_up": {"link": link, "switch": switch},
        "scale_out": scale_out,
    }
    plan = plan_network(network({"kind": "roce", "congestion_control": "dcqcn"}, "tcp", topology=topology))
    marked = [bool(config.marking) for config in plan.graph.switch_configs]
    assert marked.count(True) == 4  # one inside each node; four leaves and two spines are TCP's
    assert marked.count(False) == 6


@pytest.mark.parametrize("place", ["scale_up", "scale_out"])
def test_pfc_keeps_room_for_the_largest_frame_of_any_transport_on_every_switch(place: str) -> None:
    """Also where only TCP's frames come along, which TCP's own checks don't look at."""
    roce, tcp = {"kind": "roce", "payload": 256}, {"kind": "tcp", "mtu": 9000}
    topology = copy.deepcopy(NODES)
    topology[place]["switch"] = {"buffer": "100KB", "pfc": {}}
    config = network(roce, tcp, topology=topology)
    graph = build_graph(config.topology)
    with pytest.raises(InputError, match=r"100000 bytes are less than the .*, and a frame of 9018"):
        checked(config, network_outline_of(graph), transport_outlines(config, graph))


def test_pfc_needs_its_room_under_tcp_alone_too() -> None:
    link = {"rate": "100Gbps", "delay": "500ns"}
    topology = {"npus": 4, "link": link, "switch": {"buffer": "20KB", "pfc": {}}}
    config = parse_network({"topology": topology, "transport": {"kind": "tcp"}})
    with pytest.raises(InputError, match=r"20000 bytes are less than the .*, and a frame of 1518"):
        checked(config, network_outline_of(build_graph(config.topology)))


def test_one_transport_is_judged_by_the_whole_network() -> None:
    for found in (network("roce", "roce"), parse_network({"topology": NODES})):
        assert transport_outlines(found, build_graph(found.topology)) == {}


def test_the_forecast_counts_each_dimension_in_packets_of_its_transport() -> None:
    # Direct all-to-all of 120,000 bytes in one chunk. Inside: 3 messages of 30,000 bytes from each of 12 NPUs;
    # across: 2 of 40,000.
    workload = INPUTS / "workload" / "micro-all-to-all.txt"
    found = network({"kind": "roce", "payload": 4000}, {"kind": "tcp", "segment": 1000})
    system = {"scheduling-policy": "LIFO", "preferred-dataset-splits": 1}
    names = ("all-reduce", "reduce-scatter", "all-gather", "all-to-all")
    from astra_ns3.system.file import parse_system

    forecast = validate(
        workload,
        parse_system({**system, **{f"{name}-implementation": ["direct", "direct"] for name in names}}),
        found,
        Options(comm_scale=120_000 / 1_048_576),
    ).forecast
    assert forecast.messages == 12 * 3 + 12 * 2
    assert forecast.packets == 12 * 3 * 8 + 12 * 2 * 40
    assert forecast.queue_pairs == 12 * 3
    assert forecast.connections == 12 * 2


def test_a_timeout_that_is_left_out_goes_with_the_reliability() -> None:
    given = {kind: Reliability.model_validate({"kind": kind}).timeout_in_use_ps for kind in ("go-back-n", "go-back-0")}
    assert given == {"go-back-n": 16_777_216_000, "go-back-0": 16_777_216_000}
    assert Reliability.model_validate({"kind": "selective-repeat"}).timeout_in_use_ps == 10**9
    assert Reliability.model_validate({"kind": "selective-repeat", "timeout": "3us"}).timeout_in_use_ps == 3_000_000


def test_a_window_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="found 0, expected a size above 0, or one of bdp, none"):
        RoceTransport.model_validate({"kind": "roce", "window": "0B"})


def test_the_slowest_line_of_a_host_scales_a_control_s_numbers() -> None:
    ports = PortOutline(100 * 10**9, 500_000), PortOutline(400 * 10**9, 500_000)
    outline = NetworkOutline(npus=2, npus_per_host=1, switches=(), host_ports=ports, path=ports)
    assert roce_lines(RoceTransport(), outline)[0].rate_bps == 100 * 10**9


def test_waiting_for_all_of_the_largest_frame_is_no_cutting_through() -> None:
    ports = (PortOutline(100 * 10**9, 500_000),) * 2
    for head, warnings in ((1082, 0), (1081, 0), (1083, 1)):
        switch = SwitchConfig.model_validate({"buffer": "32MB", "cut_through": f"{head}B"})
        outline = NetworkOutline(2, 1, (SwitchOutline(switch, ports),), ports, ports)
        assert len(list(_cut_through_warnings(1083, outline))) == warnings
