"""Explained messages: no wait behind a message's own bytes is taken for one that something else could spare."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.small_run import SYSTEM, small_system

import astra_ns3
from astra_ns3.config.flow_list import FlowList
from astra_ns3.config.network.packet_network import NetworkConfig, parse_network
from astra_ns3.network.recorded import PARTS
from astra_ns3.report import records
from astra_ns3.report.comparison.quantities import account_parts
from astra_ns3.report.explanation.explain import explain
from astra_ns3.report.explanation.explanation import Explanation
from astra_ns3.report.own_bytes import account_batches, recorded_messages

US = 1_000_000
FRAME_PS = 4178 * 80
"""Of 4096 bytes with headers at 100 Gb/s."""
MB = 1_000_000
WIRE = 4178 / 4096
LINK = {"rate": "400Gbps", "delay": "500ns"}


def two_leaves(spines: int = 1, uplink: str = "100Gbps", **switch: Any) -> dict[str, Any]:
    """NPUs 0 and 1 on one leaf, 2 and 3 on the other, with lines of 400 Gb/s."""
    shape = {"kind": "leaf-spine", "leaves": 2, "spines": spines, "hosts_per_leaf": 2}
    return {**shape, "link": LINK, "uplink": {"rate": uplink}, "switch": {"buffer": "32MB", "pfc": {}, **switch}}


def drawn_graph(folder: Path) -> dict[str, Any]:
    """Four hosts on two switches, in a file that run.json doesn't hold."""
    hosts = [f'node [ id {number} label "{number}" kind "host" ]' for number in range(4)]
    switches = [f'node [ id {number} label "{number}" kind "switch" buffer "32MB" ]' for number in (4, 5)]
    edges = [f'edge [ source {n} target {4 + n // 2} rate "400Gbps" delay "500ns" ]' for n in range(4)]
    edges.append('edge [ source 4 target 5 rate "100Gbps" delay "500ns" ]')
    path = folder / "graph.gml"
    path.write_text("\n".join(["graph [", *hosts, *switches, *edges, "]"]), encoding="utf-8")
    return {"kind": "file", "path": str(path), "switch": {"buffer": "32MB", "pfc": {}}}


def over_roce(topology: dict[str, Any], **transport: Any) -> NetworkConfig:
    roce = {"kind": "roce", "payload": 4096, "congestion_control": "none", **transport}
    return parse_network({"topology": topology, "transport": roce})


def send(network: NetworkConfig, flows: FlowList, backend: str = "ns3") -> astra_ns3.Result:
    """Play flows whose messages are recorded in all ways."""
    record = ["flows", "accounts"]
    return astra_ns3.run(workload=flows, system=small_system(), network=network, backend=backend, record=record)


@pytest.mark.parametrize("backend", ["ns3", "flow"])
@pytest.mark.parametrize(
    ("switch", "transport"),
    [
        ({}, {}),
        ({"cut_through": "64B"}, {}),
        ({"buffer": "600KB"}, {}),  # the leaf pauses the NIC
        ({}, {"completion": "acknowledged"}),
        ({}, {"congestion_control": "static-window"}),
    ],
)
def test_a_lone_message_takes_no_longer_than_alone_whatever_keeps_it_from_the_slow_line(
    switch: dict[str, Any], transport: dict[str, Any], backend: str
) -> None:
    found = explain(
        send(over_roce(two_leaves(**switch), **transport), FlowList.of([0], [2], [4 * MB + 1], [0]), backend)
    )
    (message,) = found.slowest
    assert message.excess_ps is not None
    assert message.time_ps >= 4 * MB * 80 * WIRE
    assert message.excess_ps <= 2 * FRAME_PS
    assert sum(ps for _, ps in found.ports) <= message.excess_ps + FRAME_PS or transport or switch


def test_a_network_in_another_file_tells_the_same(tmp_path: Path) -> None:
    (message,) = explain(send(over_roce(drawn_graph(tmp_path)), FlowList.of([0], [2], [4 * MB + 1], [0]))).slowest
    assert message.excess_ps is not None
    assert message.excess_ps <= FRAME_PS


def test_two_flows_on_one_uplink_wait_for_each_other_and_not_for_the_step_to_it() -> None:
    """Each alone takes 82 us, both 163 us: the last of each waits half of that for the other one."""
    found = explain(send(over_roce(two_leaves()), FlowList.of([0, 1], [2, 3], [MB, MB], [0, 0])))
    for message in found.slowest:
        assert message.excess_ps == pytest.approx(MB * 80 * WIRE, rel=0.02)
    assert sum(ps for _, ps in found.ports) == pytest.approx(2 * MB * 80 * WIRE, rel=0.02)


SPLIT = {"queue_pairs_per_pair": 4, "queue_pair_use": "split"}


@pytest.mark.parametrize(
    ("routing", "spines", "more"),
    [
        ("spray", 4, {}),
        ("adaptive", 4, {}),
        ("spray", 2, {}),
        ("spray", 1, {}),
        ("ecmp", 4, SPLIT),
        ("ecmp", 1, SPLIT),
        ("pinned", 1, {}),
    ],
)
@pytest.mark.parametrize("both", [True, False])
def test_messages_in_parts_take_as_long_alone_as_all_their_ways_need(
    routing: str, spines: int, both: bool, more: dict[str, Any]
) -> None:
    """One or two messages share the uplinks of 100 Gb/s. Alone, each takes as long as all of them need."""
    pins = {"pins": [{"sender": 0, "receiver": 2, "path": 0}]} if routing == "pinned" else {}
    topology = {**two_leaves(spines=spines), "routing": {"kind": routing, **pins}}
    network = over_roce(topology, reliability={"kind": "selective-repeat", "reordering_packets": 64}, **more)
    count = 2 if both else 1
    found = explain(send(network, FlowList.of([0, 1][:count], [2, 3][:count], [4 * MB] * count, [0] * count)))
    for message in found.slowest:
        assert message.excess_ps is not None
        alone = message.time_ps - message.excess_ps
        assert alone == pytest.approx(4 * MB * 80 * WIRE / spines, rel=0.03)
        assert message.parts["serialisation_ps"] == pytest.approx(alone, rel=0.03)
        waits = sum(message.parts.get(name, 0) for name in ("switch_queue_ps", "switch_paused_ps", "nic_paused_ps"))
        assert waits + message.parts.get("nic_queue_ps", 0) == pytest.approx(message.excess_ps, abs=FRAME_PS)


@pytest.mark.parametrize("backend", ["ns3", "flow"])
@pytest.mark.parametrize("queue_pairs", [SPLIT, {"queue_pairs": "per-message"}])
def test_accounts_tell_what_a_message_in_parts_lost_without_another_table(
    queue_pairs: dict[str, Any], backend: str
) -> None:
    network = over_roce(two_leaves(), **queue_pairs)
    flows = FlowList.of([0], [2], [4 * MB], [0])
    result = astra_ns3.run(workload=flows, system=small_system(), network=network, backend=backend, record=["accounts"])
    (message,) = explain(result).slowest
    assert message.excess_ps is not None
    assert message.excess_ps <= FRAME_PS
    assert result.accounts["ideal_ps"][0] == pytest.approx(4 * MB * 80 * WIRE, rel=0.02)


def all_reduce(
    folder: Path, topology: dict[str, Any], npus: list[int], backend: str, *slow: dict[str, Any]
) -> Explanation:
    """Explain an all-reduce of 8 MB between two NPUs, the only traffic, whose lines are ``slow`` for a time."""
    (folder / "w.txt").write_text("DATA\n1\nx -1 0 NONE 0 0 NONE 0 0 ALLREDUCE 8000000 0\n", encoding="utf-8")
    (folder / "s.yaml").write_text(SYSTEM, encoding="utf-8")
    transport = {"kind": "roce", "payload": 4096, "congestion_control": "none"}
    (folder / "n.json").write_text(json.dumps({"topology": topology, "transport": transport}), encoding="utf-8")
    job = {"name": "a", "workload": "w.txt", "system": "s.yaml", "npus": npus}
    scenario = {"network": "n.json", "jobs": [job], "events": list(slow)}
    (folder / "scenario.json").write_text(json.dumps(scenario), encoding="utf-8")
    played = astra_ns3.run_scenario(scenario=folder / "scenario.json", backend=backend, record=["timeline", "accounts"])
    return explain(played.tenants["a"])


@pytest.mark.parametrize("backend", ["ns3", "flow"])
def test_the_only_traffic_has_no_queue_to_be_without_before_its_slowest_lines(backend: str, tmp_path: Path) -> None:
    """8 MB at 100 Gb/s are 653 us; the rest are three ways and 4 us of steps."""
    found = all_reduce(tmp_path, two_leaves(spines=4), [0, 2], backend)
    assert found.time_ps >= 8 * MB * 80 * WIRE
    (own,) = found.communications
    assert own.parts.get("switch_queue_ps", 0) <= 16 * FRAME_PS
    for message in found.slowest:
        assert message.excess_ps is not None
        assert message.excess_ps <= FRAME_PS


@pytest.mark.parametrize("backend", ["ns3", "flow"])
def test_a_line_that_an_event_slows_is_no_wait_for_others(backend: str, tmp_path: Path) -> None:
    """At a tenth of its rate from 20 us on for 400 us the line loses nine tenths of these, and carries answers, too.

    Nobody else sends.
    """
    star = {
        "kind": "single-switch",
        "npus": 2,
        "link": {**LINK, "rate": "100Gbps"},
        "switch": {"buffer": "32MB", "pfc": {}},
    }
    slow = {"at": "20us", "nic": 0, "rate": "10Gbps", "for": "400us"}
    found = all_reduce(tmp_path, star, [0, 1], backend, slow)
    (own,) = found.communications
    assert own.parts["slowed_ps"] == pytest.approx(0.9 * 400 * US, rel=0.05)
    assert own.parts["serialisation_ps"] + own.parts["slowed_ps"] >= 0.95 * found.time_ps


def test_over_tcp_a_lone_queue_but_for_the_time_until_the_line_is_busy_is_of_own_segments() -> None:
    """The uplink idles for the handshake, a round trip of 4 us, and for another two while the window opens."""
    network = parse_network({"topology": two_leaves(pfc=None), "transport": {"kind": "tcp", "mtu": 9000}})
    result = send(network, FlowList.of([0], [2], [MB], [0]))
    messages, _ = recorded_messages(result)
    assert messages is not None
    assert messages["switch_queue_ps"][0] <= 12 * US < result.accounts["switch_queue_ps"].to_numpy()[0]


@pytest.mark.parametrize("others", [0, 1])
def test_over_tcp_a_nic_is_busy_with_others_alone(others: int) -> None:
    """A megabyte has 667 segments. The line idles for the handshake and until the window lets it be always busy.

    With as many bytes of another message the sender hands the NIC the last segment later than one alone takes.
    """
    star = {"kind": "single-switch", "npus": 3, "link": {**LINK, "rate": "100Gbps"}, "switch": {"buffer": "32MB"}}
    network = parse_network({"topology": star, "transport": {"kind": "tcp"}})
    flows = FlowList.of([0] * (1 + others), [1, 2][: 1 + others], [MB] * (1 + others), [0] * (1 + others))
    result = send(network, flows)
    messages, recorded = recorded_messages(result).messages, result.accounts["nic_queue_ps"].to_numpy()[0]
    assert messages is not None
    assert recorded > 20 * US
    if others:
        assert messages["nic_queue_ps"][0] == recorded
    else:
        assert messages["nic_queue_ps"][0] < 4 * 2 * US  # round trips


@pytest.mark.parametrize("backend", ["ns3", "flow"])
def test_a_comparison_counts_waits_behind_own_bytes_as_time_on_the_line(backend: str) -> None:
    """Four megabytes at 100 Gb/s, behind a line four times as fast, which nobody else uses."""
    found = account_parts(send(over_roce(two_leaves()), FlowList.of([0], [2], [4 * MB], [0]), backend))
    assert found is not None
    assert found["on the line"][1] >= 4 * MB * 80 * WIRE
    assert found["queues of switches"][1] <= FRAME_PS


@pytest.mark.parametrize("backend", ["ns3", "flow"])
def test_accounts_read_piece_by_piece_are_those_read_at_once(backend: str, monkeypatch: pytest.MonkeyPatch) -> None:
    draw = np.random.default_rng(5)
    sources = draw.integers(0, 4, 60)
    destinations = (sources + draw.integers(1, 4, 60)) % 4
    sizes, starts = draw.integers(1, 400_000, 60), draw.integers(0, 300 * US, 60)
    flows = FlowList.of(*(each.tolist() for each in (sources, destinations, sizes, starts)))
    result = send(over_roce(two_leaves()), flows, backend)
    whole = recorded_messages(result).messages
    assert whole is not None
    monkeypatch.setattr(records, "_ROWS_IN_A_BATCH", 7)
    pieces = list(account_batches(result, [part.name for part in PARTS]))
    assert len(pieces) == 9
    for part in PARTS:
        np.testing.assert_array_equal(np.concatenate([piece[part.name] for piece in pieces]), whole[part.name])


def test_lines_of_messages_that_take_several_ways_wait_in_switches_as_long_as_these_do() -> None:
    """Two sprayed flows share both uplinks: their waits for own bytes are gone from lines as from messages."""
    network = over_roce({**two_leaves(spines=2), "routing": {"kind": "spray"}})
    result = send(network, FlowList.of([0, 1], [2, 3], [MB, MB], [0, 0]))
    messages, hops = recorded_messages(result)
    assert messages is not None
    assert hops is not None
    behind = hops["hop"] > 0
    for wait, of_switches in (("queue_ps", "switch_queue_ps"), ("paused_ps", "switch_paused_ps")):
        waits = np.bincount(hops["message"][behind], hops[wait][behind], 2)
        np.testing.assert_allclose(waits, messages[of_switches], atol=3)  # a picosecond of rounding a line
    assert (messages["switch_queue_ps"] > 0).all()
    assert (messages["switch_queue_ps"] < result.accounts["switch_queue_ps"].to_numpy()).all()
