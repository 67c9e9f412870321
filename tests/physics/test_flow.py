"""The flow backend where the answer is known: messages alone, lines that are shared, and what is recorded of them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from oracles.tcp_times import Sender, Star, message_ps
from soak.case import write_files
from soak.cases import random_case
from soak.requests import request_of
from support.many_networks import system_for
from support.roce_network import CONTROLS, LOSSLESS, Flow, play_flows, roce_network, roce_star
from support.small_run import small_network
from support.star_network import Listener, Played, launch_all, star

import astra_ns3
from astra_ns3.collectives.lookup import lookup
from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.config.core.document import Document
from astra_ns3.config.flow_list import FlowList
from astra_ns3.config.model.file import parse_model_file
from astra_ns3.config.network.analytical_network import AnalyticalDimension, AnalyticalNetwork
from astra_ns3.config.network.packet_network import NetworkConfig, parse_network
from astra_ns3.errors import InputError
from astra_ns3.experiments.inputs import Options, load_inputs
from astra_ns3.experiments.run import execute
from astra_ns3.network.api import EndpointModel, Limits
from astra_ns3.network.backend_makers import create_backend
from astra_ns3.network.plan import plan_network
from astra_ns3.network.recorded import PARTS
from astra_ns3.network.records import RecorderOptions
from astra_ns3.system.file import parse_system
from astra_ns3.topology.builders import build_graph
from astra_ns3.topology.changes import Change, LinkTarget, State
from astra_ns3.units import counted
from astra_ns3.workload.files.astra_sim import parse_workload
from astra_ns3.workload.files.workload_formats import AnyWorkload
from astra_ns3.workload.models.workload import ModelWorkload

LINE_BYTES_PER_NS = 12.5
DELAY_NS = 500
PAYLOAD, AROUND = 1_000, 82
"""Bytes of a packet of RoCE: its data, and its headers, preamble and gap."""
MIB = 1 << 20
LINK = {"rate": "100Gbps", "delay": "500ns"}
SERVERS = {
    "kind": "rail-optimised",
    "nodes": 2,
    "npus_per_node": 4,
    "scale_up": {"kind": "switch", "link": {"rate": "200Gbps", "delay": "500ns"}, "switch": {"buffer": "1GB"}},
    "spines": 3,
    "link": LINK,
    "switch": {"buffer": "1GB"},
    "routing": {"kind": "spray"},
}
FILLED_BY_ACKNOWLEDGEMENTS = 20_170
"""A seed of the soak that sends messages of a byte, whose acknowledgements are as long as they are."""
STAR = {"kind": "single-switch", "npus": 4, "link": LINK, "switch": {"buffer": "1GB"}}
TREE = {"kind": "fat-tree", "k": 4, "link": LINK, "switch": {"buffer": "1GB"}}


def _all_reduce() -> AnyWorkload:
    return parse_workload(f"MICRO\n1\nlayer -1 0 NONE 0 0 NONE 0 0 ALLREDUCE {MIB} 0\n", "micro")


def _flow(played: Played) -> Any:
    """The only message."""
    (row,) = played.table("flows").itertuples()
    return row


@pytest.mark.parametrize("bytes", [1, 999, 1000, 1001, 123_456, 5_000_000])
@pytest.mark.parametrize("topology", [STAR, TREE, SERVERS])
def test_a_message_alone_takes_as_long_as_its_packets(
    tmp_path: Path, topology: Mapping[str, object], bytes: int
) -> None:
    network = roce_network(topology, congestion_control="none", reliability={"kind": "selective-repeat"})
    times = {}
    for backend in ("ns3", "flow"):
        folder = tmp_path / backend
        folder.mkdir()
        row = _flow(play_flows(network, [Flow(0, 3, bytes)], folder, backend=backend))
        times[backend] = row.end_ps - row.start_ps
        assert row.end_ps - row.start_ps == pytest.approx(row.ideal_ps, abs=1)
    assert times["flow"] == pytest.approx(times["ns3"], abs=1)


@pytest.mark.parametrize(
    "transport",
    [
        {"kind": "roce", "completion": "acknowledged"},
        {"kind": "roce", "completion": "acknowledged", "window": "100KB"},
        {"kind": "roce", "window": "bdp"},
        {"kind": "tcp"},
    ],
)
def test_answers_take_their_own_of_ways_that_differ_in_delay(tmp_path: Path, transport: Mapping[str, Any]) -> None:
    """Two ways of two switches, of 200 ns and of 20 us, by ECMP: each message and its answers draw one of them."""
    made = [{"id": f"host{number}", "kind": "host"} for number in range(8)]
    made += [{"id": f"switch{number}", "kind": "switch"} for number in range(4)]
    joins = [(f"host{number}", f"switch{3 * (number % 2)}", "500ns") for number in range(8)]
    joins += [(f"switch{end}", f"switch{way}", delay) for way, delay in ((1, "100ns"), (2, "10us")) for end in (0, 3)]
    links = [{"source": a, "target": b, "rate": "100Gbps", "delay": delay} for a, b, delay in joins]
    (tmp_path / "net.json").write_text(
        json.dumps({"directed": False, "multigraph": False, "nodes": made, "links": links})
    )
    file = {"kind": "file", "path": str(tmp_path / "net.json"), "switch": {"buffer": "1GB"}}
    network = parse_network({"topology": file, "transport": dict(transport)})
    flows = [Flow(2 * n, (2 * m + 1) % 8, 1_000_000, start_ps=(4 * n + m) * 10**9) for n in range(4) for m in range(4)]
    times = {}
    for backend in ("ns3", "flow"):
        (tmp_path / backend).mkdir()
        rows: Any = play_flows(network, flows, tmp_path / backend, backend=backend).table("flows")
        times[backend] = rows.sort_values("start_ps").eval("end_ps - start_ps").tolist()
    assert times["flow"] == pytest.approx(times["ns3"], rel=0.01)
    assert max(times["ns3"]) > 1.1 * min(times["ns3"])


@pytest.mark.parametrize(("window", "share"), [("bdp", 57), ("200KB", 82), ("300KB", 100)])
def test_a_window_is_warned_of_by_the_slowest_of_equally_short_ways(tmp_path: Path, window: str, share: int) -> None:
    """Between groups of a dragonfly some shortest ways have two lines of 5 us, there and back; others have one."""
    topology = {"kind": "dragonfly", "a": 4, "p": 2, "h": 1, "link": {"rate": "100Gbps", "delay": "100ns"}}
    topology |= {"global_link": {"rate": "100Gbps", "delay": "5us"}, "switch": {"buffer": "64MB"}}
    network = roce_network(topology, congestion_control="none", window=window)
    told = [words for words in plan_network(network).transports["roce"].held_by_windows() if "cannot fill" in words]
    assert len(told) == (share < 100)
    assert all(f"on the slowest of equally short ways, so one queue pair reaches {share}%" in words for words in told)
    for backend in ("ns3", "flow"):
        (tmp_path / backend).mkdir()
        row = _flow(play_flows(network, [Flow(0, 22, 5_000_000)], tmp_path / backend, backend=backend))
        sent_ps = 5_000 * (PAYLOAD + AROUND) * 80  # at 100 Gb/s
        assert sent_ps / (row.end_ps - row.start_ps) == pytest.approx(share / 100, abs=0.03)


def test_two_flows_into_one_host_share_its_line(tmp_path: Path) -> None:
    flows = [Flow(1, 0, 10 * MIB), Flow(2, 0, 10 * MIB)]
    rows: Any = play_flows(roce_star(3, congestion_control="none"), flows, tmp_path, backend="flow").table("flows")
    assert rows.end_ps.max() == pytest.approx(2 * rows.ideal_ps[0], rel=1e-3)


@pytest.mark.parametrize(("senders", "bytes"), [(2, 5_000), (4, 100_500), (16, 40_000)])
def test_last_packets_of_equal_flows_leave_a_queue_one_after_the_other(
    tmp_path: Path, senders: int, bytes: int
) -> None:
    """All bytes cross the receiver's line in a row behind the first packet; the last packets are the last on it."""
    network = roce_star(senders + 1, congestion_control="none")
    flows = [Flow(sender, 0, bytes) for sender in range(1, senders + 1)]
    rows: Any = play_flows(network, flows, tmp_path, backend="flow").table("flows")
    packets = -(-bytes // PAYLOAD)
    last_ns = (bytes - (packets - 1) * PAYLOAD + AROUND) / LINE_BYTES_PER_NS
    first_ns = (min(bytes, PAYLOAD) + AROUND) / LINE_BYTES_PER_NS
    finish_ns = 2 * DELAY_NS + first_ns + senders * (bytes + packets * AROUND) / LINE_BYTES_PER_NS
    expected = [1_000 * (finish_ns - behind * last_ns) for behind in range(senders)]
    assert sorted(rows.end_ps, reverse=True) == pytest.approx(expected, abs=2)


@pytest.mark.parametrize(("bytes", "delay"), [(65_536, "2us"), (262_144, "5us")])
def test_groups_that_begin_in_step_drift_apart_and_fill_a_line_as_packets_do(bytes: int, delay: str) -> None:
    """Each of four pairs over an uplink waits for its last message; in step the line would idle meanwhile, 20 times."""
    shape = {"leaves": 2, "spines": 1, "hosts_per_leaf": 4}
    topology = {"kind": "leaf-spine", **shape, "link": {"rate": "100Gbps", "delay": delay}, "switch": {"buffer": "1GB"}}
    network = roce_network(topology, congestion_control="none")
    sources = [*range(4)] * 20
    after = [()] * 4 + [(number,) for number in range(76)]
    flows = FlowList.of(sources, [each + 4 for each in sources], [bytes] * 80, [0] * 80, after)
    finish = {
        backend: astra_ns3.run(workload=flows, system=system_for(1), network=network, backend=backend).finish_ns
        for backend in ("ns3", "flow")
    }
    assert finish["flow"] == pytest.approx(finish["ns3"], rel=0.01)


@pytest.mark.parametrize("control", CONTROLS)
def test_flows_play_any_control(tmp_path: Path, control: str) -> None:
    network = roce_star(3, congestion_control=control, switch={"pfc": LOSSLESS})
    played = play_flows(network, [Flow(1, 0, MIB), Flow(2, 0, MIB)], tmp_path, backend="flow")
    assert "packets" not in played.statistics
    assert len(played.table("flows")) == 2


@pytest.mark.parametrize("every", [1, 4])
def test_acknowledgements_take_their_part_of_the_line_back(tmp_path: Path, every: int) -> None:
    network = roce_star(2, congestion_control="none", ack_every=every)
    flows = [Flow(0, 1, 10 * MIB), Flow(1, 0, 10 * MIB)]
    rows: Any = play_flows(network, flows, tmp_path, backend="flow").table("flows")
    packets = -(-10 * MIB // 1000)
    wire = 10 * MIB + packets * 82 + packets // every * 86
    assert rows.end_ps.max() == pytest.approx(wire / LINE_BYTES_PER_NS * 1000, rel=1e-2)


def test_flows_wait_where_acknowledgements_fill_a_line(tmp_path: Path) -> None:
    """Rounding left flows 1e-17 of a line, and the end of one lay beyond all time."""
    case = random_case(FILLED_BY_ACKNOWLEDGEMENTS)
    write_files(case, tmp_path)
    request = replace(request_of(case, tmp_path, share=0.1), isolated=False, backend="flow")
    outcome = execute(request)
    assert outcome.error is None
    assert outcome.result.metadata["statistics"]["messages"] > 0


def test_short_messages_are_short_frames(tmp_path: Path) -> None:
    """A byte, 62 of headers and 1 of padding, with 20 of preamble and gap; the same before it leaves and behind it."""
    network = roce_star(2, congestion_control="none")
    rows: Any = play_flows(network, [Flow(0, 1, 1, messages=500)], tmp_path, backend="flow").table("flows")
    assert rows.end_ps.max() == pytest.approx(500 * 84 / LINE_BYTES_PER_NS * 1000 + 1_000_000, rel=2e-2)


@pytest.mark.parametrize("pauses", [{}, {"pfc": LOSSLESS}])
def test_flows_share_a_queue_by_what_arrives(tmp_path: Path, pauses: Mapping[str, object]) -> None:
    """From lines of 100 and 25 Gb/s into one of 25: a queue takes four bytes of the first for each of the other."""
    topology = tmp_path / "lines.txt"
    topology.write_text("4 1 3\n3\n0 3 100Gbps 1ns 0\n1 3 25Gbps 1ns 0\n2 3 25Gbps 1ns 0\n", encoding="utf-8")
    ends = {}
    for control in ("none", "timely"):
        network = roce_network(
            {"kind": "file", "path": str(topology), "switch": {"buffer": "1GB", **pauses}},
            congestion_control=control,
            ack_every=1000,
        )
        folder = tmp_path / control
        folder.mkdir()
        played = play_flows(network, [Flow(0, 2, 10 * MIB), Flow(1, 2, 10 * MIB)], folder, backend="flow")
        ends[control] = played.table("flows").sort_values("source").end_ps.tolist()
    assert ends["none"][0] / ends["none"][1] == pytest.approx(5 / 8, rel=1e-3)
    assert ends["timely"][0] == pytest.approx(ends["timely"][1], rel=1e-3)


@pytest.mark.parametrize("first", [1, 1000, 20_000])
def test_a_message_does_not_wait_for_the_one_behind_it(tmp_path: Path, first: int) -> None:
    """Of two connections into a host, one is a short message ahead: its ends aren't those of the other.

    A queue takes what two lines bring in turns, so a message ends when twice the bytes that its connection has sent
    by then have left, or all bytes of the other connection and those.
    """
    network = roce_star(3, congestion_control="none", switch={"buffer": "1GB"})
    flows = [Flow(1, 0, first), Flow(1, 0, MIB, messages=2), Flow(2, 0, MIB, messages=2)]
    rows: Any = play_flows(network, flows, tmp_path, backend="flow").table("flows")
    sizes = {number: sum(_wire_bytes(each) for each in (first, *[MIB] * number)) for number in (1, 2)}
    own = rows[(rows.source == 1) & (rows.bytes == MIB)].end_ps.tolist()
    assert own[0] == pytest.approx(2 * sizes[1] / LINE_BYTES_PER_NS * 1000, rel=3e-2)
    assert own[1] == pytest.approx((sizes[2] + 2 * _wire_bytes(MIB)) / LINE_BYTES_PER_NS * 1000, rel=3e-2)


def _wire_bytes(bytes: int) -> int:
    """Return the bytes of a message's packets of 1,000 bytes on a line."""
    return bytes + -(-bytes // 1000) * 82


@pytest.mark.parametrize(
    ("control", "switch", "full"),
    [
        ("none", {"buffer": "4MB"}, 1),
        ("none", {"buffer": "16MB"}, 0),
        ("none", {"buffer": "16MB", "alpha": 0.25}, 1),
        ("timely", {"buffer": "4MB"}, 1),
        ("static-window", {"buffer": "4MB"}, 0),
    ],
)
def test_a_result_is_a_bound_where_packets_would_be_lost(control: str, switch: Mapping[str, object], full: int) -> None:
    network = roce_star(9, congestion_control=control, switch=switch)
    result = astra_ns3.run(
        workload=FlowList.of([*range(1, 9)], [0] * 8, [1_000_000] * 8, [0] * 8),
        system=system_for(1),
        network=network,
        backend="flow",
    )
    assert result.metadata["statistics"]["full_queues"] == full
    assert any("packets would be lost there" in words for words in result.metadata["warnings"]) == bool(full)


@pytest.mark.parametrize(
    ("switch", "pauses"),
    [
        ({"buffer": "4MB", "pfc": {}}, True),
        ({"buffer": "32MB", "pfc": {"alpha": 1}}, False),
        ({"buffer": "32MB", "pfc": {"alpha": 0.01}}, True),
        ({"buffer": "4MB", "credits": {}}, True),
        ({"buffer": "32MB", "credits": {"bytes": "2MB"}}, False),
    ],
)
def test_a_warning_says_where_packets_would_pause_others(switch: Mapping[str, object], pauses: bool) -> None:
    network = roce_star(9, congestion_control="none", switch=switch)
    flows = FlowList.of([*range(1, 9)], [0] * 8, [1_000_000] * 8, [0] * 8)
    found = {
        backend: astra_ns3.run(workload=flows, system=system_for(1), network=network, backend=backend).metadata
        for backend in ("flow", "ns3")
    }
    assert bool(found["ns3"]["statistics"].get("pauses")) == pauses
    said = [words for words in found["flow"]["warnings"] if "pauses would slow" in words or "lanes without" in words]
    assert len(said) == pauses
    assert not [words for words in found["flow"]["warnings"] if "packets would be lost there" in words]


def test_rings_on_a_torus_are_warned_of_with_the_little_that_pauses_cost_them(tmp_path: Path) -> None:
    (tmp_path / "gather.txt").write_text("MICRO\n1\ngather -1 0 NONE 0 0 NONE 0 0 ALLGATHER 1048576 0\n")
    link = {"rate": "100Gbps", "delay": "500ns"}
    topology = {"kind": "torus", "shape": [4, 4], "link": link, "switch": {"buffer": "4MiB", "pfc": {}}}
    network = parse_network({"topology": topology, "transport": {"kind": "roce", "congestion_control": "none"}})
    found = {
        backend: astra_ns3.run(
            workload=tmp_path / "gather.txt", system=system_for(2), network=network, backend=backend
        ).metadata
        for backend in ("flow", "ns3")
    }
    assert found["ns3"]["statistics"]["pauses"]
    assert found["flow"]["finish_ps"] == pytest.approx(found["ns3"]["finish_ps"], rel=0.03)
    (said,) = (words for words in found["flow"]["warnings"] if "more may wait" in words)
    assert "on tori finish times of rings were -3% to 0% off" in said


_LOST, _PAUSED = "packets would be lost there", "pauses would slow other flows"


@pytest.mark.parametrize(
    ("switch", "ports", "words"),
    [
        ({"switch": {"buffer": "4MB", "pfc": {"priorities": [3]}}}, 1, _LOST),
        ({"switch": {"buffer": "4MB", "pfc": {"priorities": [0]}}}, 8, _PAUSED),
        ({"switch": {"buffer": "4MB"}, "scale_up": {"buffer": "64MB", "pfc": {"priorities": [0]}}}, 1, _LOST),
        ({"switch": {"buffer": "64MB"}, "scale_up": {"buffer": "4MB", "pfc": {"priorities": [0]}}}, 0, ""),
    ],
)
def test_a_warning_names_what_packets_do_of_the_datas_priority(
    switch: Mapping[str, object], ports: int, words: str
) -> None:
    """Eight NPUs send to one over a switch, or over the switch of a rail, which nobody's pauses protect."""
    link = {"rate": "100Gbps", "delay": "500ns"}
    topology: dict[str, object] = {"kind": "single-switch", "npus": 18, "link": link, "switch": switch["switch"]}
    if "scale_up" in switch:
        nodes = {"kind": "rail-optimised", "nodes": 9, "npus_per_node": 2, "spines": 1, "link": link}
        topology = nodes | {"scale_up": {"link": link, "switch": switch["scale_up"]}, "switch": switch["switch"]}
    network = parse_network(
        {"topology": topology, "transport": {"kind": "roce", "congestion_control": "none", "priority": 0}}
    )
    flows = FlowList.of([*range(2, 18, 2)], [0] * 8, [1_000_000] * 8, [0] * 8)
    found = {
        backend: astra_ns3.run(workload=flows, system=system_for(1), network=network, backend=backend).metadata
        for backend in ("flow", "ns3")
    }
    counts = found["ns3"]["statistics"]
    assert (counts.get("dropped_frames", 0) > 0, counts.get("pauses", 0) > 0) == (words == _LOST, words == _PAUSED)
    said = [each for each in found["flow"]["warnings"] if "more may wait" in each]
    assert [words in each and f", at {counted(ports, 'port')}: " in each for each in said] == [True] * bool(ports)


@pytest.mark.parametrize("control", ["none", "timely"])
@pytest.mark.parametrize(("buffer", "pauses"), [("10MB", True), ("12MB", True), ("16MB", True), ("20MB", False)])
def test_ports_that_are_not_in_use_hide_no_pauses(buffer: str, pauses: bool, control: str) -> None:
    switch = {"buffer": buffer, "pfc": {"alpha": 0.125}}
    flows = FlowList.of([*range(1, 9)], [0] * 8, [1_000_000] * 8, [0] * 8)
    network = roce_star(64, congestion_control=control, switch=switch)
    found = {
        backend: astra_ns3.run(workload=flows, system=system_for(1), network=network, backend=backend).metadata
        for backend in ("flow", "ns3")
    }
    assert bool(found["ns3"]["statistics"].get("pauses")) == pauses
    assert found["flow"]["statistics"]["full_ingress_queues"] == 8 * pauses


@pytest.mark.parametrize(("buffer", "pauses"), [("1MB", True), ("1GB", False)])
def test_pauses_of_checkpoints_make_a_training_longer_and_flows_warn_of_the_finish(buffer: str, pauses: bool) -> None:
    """Where the switch pauses hosts that write, what they send each other waits, too."""
    switch, storage = {"buffer": buffer, "pfc": {}}, {"per": "rack", "link": LINK}
    topology = {**STAR, "npus": 8, "switch": switch, "storage": storage}
    network = parse_network({"topology": topology, "transport": {"kind": "roce", "congestion_control": "none"}})
    training = {
        "kind": "transformer",
        "name": "tiny",
        "model": {"layers": 2, "hidden": 64, "heads": 2, "vocabulary": 512},
        "training": {"sequence": 64},
        "compute": "H100",
        "checkpoint": {"every": 1, "mode": "behind"},
    }
    workload = ModelWorkload(parse_model_file(Document("training.yaml", training)), "training.yaml")
    found = {
        backend: astra_ns3.run(workload=workload, system=system_for(1), network=network, passes=3, backend=backend)
        for backend in ("flow", "ns3")
    }
    words = "may be far too short or long, also the finish if"
    warned = any(words in each for each in found["flow"].metadata["warnings"])
    assert warned == pauses
    error = found["flow"].finish_ps / found["ns3"].finish_ps - 1
    assert error < -0.1 if pauses else abs(error) < 0.02


def test_a_window_holds_a_flow_back_by_its_round_trip(tmp_path: Path) -> None:
    network = roce_star(2, congestion_control="none", window=12_500, rate="100Gbps")
    row = _flow(play_flows(network, [Flow(0, 1, MIB)], tmp_path, backend="flow", accounts=True))
    trip_ps = 2 * 2 * 500_000 + 2 * (1082 + 86) * 80
    assert row.end_ps == pytest.approx(MIB / 13_000 * trip_ps, rel=0.01)


@pytest.mark.parametrize(
    ("bytes", "messages", "window"),
    [
        *((16_384, 1, 20_000), (20_000, 1, 20_000), (40_000, 1, 20_000), (16_384, 4, 20_000), (1_000_000, 1, 20_000)),
        *((20_000, 1, 500), (20_000, 1, 1_500), (100_000, 1, 2_500)),
    ],
)
def test_a_window_leaves_at_once_and_then_one_in_each_round_trip(
    tmp_path: Path, bytes: int, messages: int, window: int
) -> None:
    """The last packet of a window may reach beyond it."""
    network = roce_star(2, congestion_control="none", window=window, delay="10us")
    ends = {}
    for backend in ("flow", "ns3"):
        (folder := tmp_path / backend).mkdir()
        played = play_flows(network, [Flow(0, 1, bytes, messages=messages)], folder, backend=backend)
        ends[backend] = sorted(played.table("flows").end_ps)
    assert ends["flow"] == pytest.approx(ends["ns3"], rel=0.03)


@pytest.mark.parametrize(
    ("control", "counts_bytes", "acked", "delay_ps"),
    [
        ("NewReno", False, 1, 50_000_000),
        ("NewReno", False, 2, 5_000_000),
        ("NewReno", False, 2, 500_000),
        ("LinuxReno", True, 2, 5_000_000),
        ("Cubic", True, 2, 500_000),
    ],
)
@pytest.mark.parametrize("bytes", [1, 14_600, 120_000, 500_000, 2_000_000])
def test_a_connection_opens_and_its_window_grows(
    control: str, counts_bytes: bool, acked: int, delay_ps: int, bytes: int, tmp_path: Path
) -> None:
    """Against the closed form of packets; which segments are acknowledged is left out."""
    keys: dict[str, Any] = {"congestion_control": control, "delayed_ack_count": acked, "window": 10**9}
    network = star(2, delay=f"{delay_ps}ps", initial_window_segments=10, **keys)
    row = _flow(play_flows(network, [Flow(0, 1, bytes)], tmp_path, backend="flow", accounts=True))
    expected_ps = message_ps(Star(10**11, delay_ps), bytes, 1460, Sender(10, counts_bytes, acked))
    assert row.end_ps - row.start_ps == pytest.approx(expected_ps, rel=0.05)


def test_only_the_first_message_of_a_connection_opens_it(tmp_path: Path) -> None:
    """Another that waits for it from the start waits for its turn."""
    flows = [Flow(0, 1, 1000), Flow(0, 1, 1000), Flow(0, 1, 1000, start_ps=100_000_000)]
    played = play_flows(star(2), flows, tmp_path, backend="flow", accounts=True)
    accounts: Any = played.table("accounts").sort_values("end_ps")
    opening_ps = Star(10**11, 500_000).handshake_ps()
    assert accounts.transport_ps.tolist() == [opening_ps, 0, 0]
    turns_ps, times_ps = accounts.turn_ps.tolist(), (accounts.end_ps - accounts.start_ps).tolist()
    assert turns_ps[1] > opening_ps
    assert [turns_ps[0], turns_ps[2]] == [0, 0]
    assert times_ps[2] == times_ps[0] - opening_ps


@pytest.mark.parametrize("link", [0, 1, 5])
def test_a_line_that_changes_slows_nobody_else(link: int, tmp_path: Path) -> None:
    """Whichever pair's lines were the first of their kind."""
    flows = [Flow(1, 0, 4 * MIB), Flow(3, 4, MIB)]
    network = roce_star(6, congestion_control="none", switch={"pfc": LOSSLESS})
    changes = [Change(50_000_000, LinkTarget(link), State(rate_bps=25_000_000_000))]
    rows: Any = play_flows(network, flows, tmp_path, backend="flow", changes=changes).table("flows")
    other = rows[rows.source == 3].iloc[0]
    assert other.end_ps == pytest.approx(other.ideal_ps, abs=1)


@pytest.mark.parametrize(("longer", "first"), [(False, 1.5), (True, 2)])
def test_bytes_keep_their_order_in_a_queue_whose_line_slows_down(longer: bool, first: float, tmp_path: Path) -> None:
    """The line halves at 1/2 of a message's time on the whole line, and a second message begins at 1.

    In order, the first ends at 1/2 + 1. Shared evenly, it has a quarter left at 1, which takes 1 at a quarter of the
    line; changes of delays bring that about. Either way both are out at 1/2 + 3.
    """
    network = roce_star(3, congestion_control="none", switch={"buffer": "1GB"}, ack_every=1000)
    size, unit_ps = 10 * MIB, round(_wire_bytes(10 * MIB) / LINE_BYTES_PER_NS * 1000)
    flows = [Flow(1, 0, size), Flow(2, 0, size, start_ps=unit_ps)]
    changes = [Change(unit_ps // 2, LinkTarget(0), State(rate_bps=50 * 10**9))]
    changes += [Change(1, LinkTarget(0), State(delay_ps=500_001))] * longer
    rows: Any = play_flows(network, flows, tmp_path, backend="flow", changes=changes, accounts=True).table("flows")
    ends = rows.sort_values("source").end_ps / unit_ps
    assert ends.tolist() == pytest.approx([first, 3.5], rel=3e-3)


@pytest.mark.parametrize("control", ["dctcp", "swift"])
@pytest.mark.parametrize("window", [500, 5_000, 10_000])
def test_a_window_that_a_control_moves_grows(control: str, window: int, tmp_path: Path) -> None:
    ends = {}
    for backend in ("flow", "ns3"):
        (folder := tmp_path / backend).mkdir()
        network = roce_star(2, congestion_control=control, window=window, switch={"pfc": LOSSLESS})
        ends[backend] = _flow(play_flows(network, [Flow(0, 1, MIB)], folder, backend=backend)).end_ps
    assert ends["flow"] == pytest.approx(ends["ns3"], rel=0.03)


@pytest.mark.parametrize("control", ["hpcc", "swift"])
def test_a_message_within_the_first_window_costs_nothing(control: str, tmp_path: Path) -> None:
    """A bandwidth-delay product is 26 kB; all bytes wait in the queue before the control acts."""
    ends = {}
    for backend in ("flow", "ns3"):
        (folder := tmp_path / backend).mkdir()
        network = roce_star(9, congestion_control=control, switch={"pfc": LOSSLESS})
        played = play_flows(network, [Flow(1 + each, 0, 20_000) for each in range(8)], folder, backend=backend)
        ends[backend] = played.table("flows").end_ps.max()
    assert ends["flow"] == pytest.approx(ends["ns3"], rel=0.002)


@pytest.mark.parametrize(("size", "delay", "payload"), [(1, "5us", 1024), (8, "5us", 1024), (1, "1us", 4096)])
def test_hpcc_on_a_narrow_line_takes_as_long_as_its_packets(size: int, delay: str, payload: int) -> None:
    link, bottleneck = ({"rate": "400Gbps", "delay": each} for each in (delay, "2us"))
    topology = {"kind": "dumbbell", "left": 4, "right": 4, "link": link, "bottleneck": bottleneck}
    switch = {"buffer": "32MB", "pfc": LOSSLESS}
    network = roce_network({**topology, "switch": switch}, payload=payload, congestion_control="hpcc")
    work = parse_workload(f"MICRO\n1\nlayer -1 0 NONE 0 0 NONE 0 0 REDUCESCATTER {size * MIB} 0\n", "micro")
    system = system_for(1, **{"reduce-scatter-implementation": ["direct"], "preferred-dataset-splits": 1})
    finish = {
        backend: astra_ns3.run(workload=work, system=system, network=network, backend=backend).finish_ps
        for backend in ("flow", "ns3")
    }
    assert finish["flow"] == pytest.approx(finish["ns3"], rel=0.1)


def test_accounts_name_the_line_that_held_a_message_back(tmp_path: Path) -> None:
    flows = [Flow(1, 0, MIB, messages=2), Flow(2, 0, MIB), Flow(2, 3, 1_000)]
    played = play_flows(roce_star(4, congestion_control="none"), flows, tmp_path, backend="flow", accounts=True)
    accounts: Any = played.table("accounts")
    hops: Any = played.table("account_hops")
    parts = [part.name for part in PARTS]
    assert (accounts[parts].sum(axis=1) == accounts.end_ps - accounts.start_ps).all()
    into_0 = hops[(hops.queue_ps > 0) & hops.message.isin(accounts.index[accounts.source == 1])]
    assert set(into_0.port.astype(str)) == {"switch0:0"}
    assert accounts.turn_ps.max() > accounts.turn_ps.min() == 0


def test_what_lines_carry_is_recorded_in_each_interval(tmp_path: Path) -> None:
    observe = {"utilisation": ["all"], "utilisation_interval": "10us"}
    network = roce_star(3, congestion_control="none", observe=observe)
    played = play_flows(network, [Flow(1, 0, MIB), Flow(2, 0, MIB)], tmp_path, backend="flow")
    rows: Any = played.table("utilisation")
    packets = -(-MIB // 1000)
    wire = MIB + packets * 82
    out = rows[rows.port == "host1"].wire_bytes
    assert out.sum() == pytest.approx(wire, abs=2)
    assert rows[rows.port == "switch0:0"].wire_bytes[:-1].max() <= LINE_BYTES_PER_NS * 10_000 + 1
    assert played.ports["switch0:0"]["sent_bytes"] == 2 * (MIB + packets * 62)


def test_what_a_line_carries_is_told_at_the_end_of_the_interval_in_which_it_does(tmp_path: Path) -> None:
    observe = {"utilisation": ["host1"], "utilisation_interval": "10us"}
    network = roce_star(3, congestion_control="none", observe=observe)
    rows: Any = play_flows(network, [Flow(1, 0, MIB)], tmp_path, backend="flow").table("utilisation")
    wire, full = MIB + -(-MIB // 1000) * 82, LINE_BYTES_PER_NS * 10_000
    assert rows.time_ps.tolist() == [10_000_000 * (number + 1) for number in range(int(wire // full) + 1)]
    assert rows.wire_bytes.tolist()[:-1] == pytest.approx([full] * (len(rows) - 1), abs=1)


@pytest.mark.parametrize("control", ["none", "dcqcn"])
def test_each_line_has_one_row_an_interval_in_order_though_rates_change_within_it(tmp_path: Path, control: str) -> None:
    observe = {"utilisation": ["all"], "utilisation_interval": "10us"}
    network = roce_star(5, congestion_control=control, observe=observe)
    flows = [Flow(1, 0, MIB), Flow(2, 0, MIB // 8), Flow(3, 4, MIB), Flow(2, 4, MIB // 16)]
    rows: Any = play_flows(network, flows, tmp_path, backend="flow").table("utilisation")
    places = list(zip(rows.time_ps, rows.port, strict=True))
    assert places == sorted(set(places))
    assert rows.wire_bytes.max() <= LINE_BYTES_PER_NS * 10_000 + 1
    assert rows[rows.port == "host1"].wire_bytes.sum() == pytest.approx(MIB + -(-MIB // 1000) * 82, abs=2)


def test_headroom_that_a_control_leaves_is_not_carried(tmp_path: Path) -> None:
    observe = {"utilisation": ["all"], "utilisation_interval": "10us"}
    network = roce_star(3, congestion_control="hpcc", observe=observe)
    rows: Any = play_flows(network, [Flow(1, 0, MIB)], tmp_path, backend="flow").table("utilisation")
    wire = MIB + -(-MIB // 1000) * (82 + 42)  # with HPCC's telemetry
    assert rows[rows.port == "host1"].wire_bytes.sum() == pytest.approx(wire, abs=2)


def test_time_that_a_control_loses_carries_no_bytes(tmp_path: Path) -> None:
    observe = {"utilisation": ["all"], "utilisation_interval": "10us"}
    network = roce_star(5, congestion_control="hpcc", observe=observe)
    flows = [Flow(1 + each, 0, 100_000 * (1 + each % 2)) for each in range(4)]
    rows: Any = play_flows(network, flows, tmp_path, backend="flow").table("utilisation")
    for each in range(4):
        wire = (1 + each % 2) * 100 * (1_000 + 82 + 42)
        assert rows[rows.port == f"host{1 + each}"].wire_bytes.sum() == pytest.approx(wire, abs=2)


def test_a_flow_waits_while_its_link_is_down(tmp_path: Path) -> None:
    star = roce_star(3, congestion_control="none")
    down_ps, up_ps = 20_000_000, 120_000_000
    ends = []
    for name in ("plain", "changed"):
        folder = tmp_path / name
        folder.mkdir()
        target = LinkTarget(1)
        changes = [Change(down_ps, target, State(up=False)), Change(up_ps, target, State(up=True))]
        played = play_flows(
            star, [Flow(1, 0, MIB)], folder, backend="flow", changes=changes if name == "changed" else []
        )
        ends.append(_flow(played).end_ps)
    assert ends[1] - ends[0] == pytest.approx(up_ps - down_ps, abs=10)


def test_a_network_without_packets_is_refused_in_a_line() -> None:
    grid = AnalyticalNetwork(
        grid=(AnalyticalDimension(topology="switch", npus=4, bytes_per_ns=50, link_latency_ns=500),)
    )
    with pytest.raises(InputError, match="without packets"):
        astra_ns3.run(workload=_all_reduce(), system=system_for(1), network=grid, backend="flow")


def test_what_flows_have_not_is_told_in_a_line(tmp_path: Path) -> None:
    network: NetworkConfig = parse_network(
        {"topology": TREE, "transport": {"kind": "roce"}, "observe": {"queues": ["all"], "utilisation": ["all"]}}
    )
    result = astra_ns3.run(
        workload=_all_reduce(), system=system_for(1), network=network, backend="flow", output=tmp_path / "o"
    )
    assert any("with the backend flow, but for utilisation" in words for words in result.metadata["warnings"])
    assert len(result.utilisation)


@pytest.mark.parametrize(
    ("control", "least"),
    [
        ("none", ""),
        ("dctcp", "-25%"),
        ("dcqcn", "-75%"),
        ("timely", "-38%"),
        ("hpcc", "-52%"),
        ("hpcc-pint", "-38%"),
        ("TCP", "-63%"),
    ],
)
def test_a_warning_says_how_far_times_with_a_control_are_off(control: str, least: str) -> None:
    network = small_network() if control == "TCP" else roce_star(4, congestion_control=control)
    result = astra_ns3.run(workload=_all_reduce(), system=system_for(1), network=network, backend="flow")
    said = [words for words in result.metadata["warnings"] if "flows play" in words]
    assert len(said) == bool(least)
    assert all(
        f"flows play {control} roughly: finish times" in words and f" were {least} to " in words for words in said
    )


@pytest.mark.parametrize("parameters", ["scaled", "paper"])
def test_a_warning_of_a_control_says_that_its_errors_are_those_of_scaled_numbers(parameters: str) -> None:
    network = roce_star(4, congestion_control={"kind": "timely", "parameters": parameters})
    result = astra_ns3.run(workload=_all_reduce(), system=system_for(1), network=network, backend="flow")
    (said,) = [words for words in result.metadata["warnings"] if "flows play" in words]
    assert "in cases tried with parameters: scaled" in said
    assert ("scaled, not these" in said) is (parameters == "paper")


@pytest.mark.parametrize(
    ("control", "backend", "flows", "warned"),
    [
        ("timely", "flow", 2, True),
        ("timely", "flow", 1, False),
        ("none", "flow", 2, False),
        ("timely", "ns3", 2, False),
    ],
)
def test_lists_are_warned_of_tails_that_flows_dont_have_with_a_control(
    control: str, backend: str, flows: int, warned: bool
) -> None:
    workload = FlowList.of([*range(1, 1 + flows)], [0] * flows, [1000] * flows, [0] * flows)
    network = roce_star(4, congestion_control=control)
    warnings = load_inputs(workload, system_for(1), network, Options(backend=backend)).warnings
    assert any("percentiles of slowdowns" in words for words in warnings) is warned


@pytest.mark.parametrize(("topology", "warned"), [(STAR, False), (TREE, True)])
def test_flows_warn_of_cut_through_where_several_switches_forward(topology: Mapping[str, Any], warned: bool) -> None:
    network = roce_network({**topology, "switch": {"buffer": "1GB", "cut_through": "64B"}}, congestion_control="none")
    result = astra_ns3.run(workload=_all_reduce(), system=system_for(1), network=network, backend="flow")
    assert any("3% to 26% too short" in words for words in result.metadata["warnings"]) is warned


@pytest.mark.parametrize("lanes", [1, 2])
def test_flows_warn_of_several_lanes(lanes: int) -> None:
    switch = {"buffer": "1GB", "credits": {"lanes": lanes}}
    network = roce_network({**STAR, "switch": switch}, congestion_control="none", priority=0)
    result = astra_ns3.run(workload=_all_reduce(), system=system_for(1), network=network, backend="flow")
    assert any("the lanes of credits as one queue" in words for words in result.metadata["warnings"]) is (lanes > 1)


@pytest.mark.parametrize("lanes", [1, 2])
def test_flows_warn_of_credits_that_too_much_traffic_uses_up(lanes: int) -> None:
    """Three NPUs send 1 MB each to one: two thirds wait, and lanes let in 16 KiB each."""
    switch = {"buffer": "1GB", "credits": {"lanes": lanes, "bytes": "16KiB"}}
    network = roce_network({**STAR, "switch": switch}, congestion_control="none", priority=0)
    many = FlowList.of([1, 2, 3], [0] * 3, [1_000_000] * 3, [0] * 3)
    result = astra_ns3.run(workload=many, system=system_for(1), network=network, backend="flow")
    said = [words for words in result.metadata["warnings"] if "credits" in words and "docs/flow.md" in words]
    assert len(said) == 1
    assert "more may wait than credits let in, at 3 ports" in said[0]
    assert "-79% to +891%" in said[0]


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"window": "20KB"}, "-18% to +46%"),
        ({"window": "2MB"}, ""),
        ({"queue_pairs": "per-message"}, "-81% to +31%"),
        ({"queue_pairs_per_pair": 2}, "-81% to +31%"),
        ({"queue_pairs_per_pair": 2, "queue_pair_use": "split"}, ""),
    ],
)
def test_flows_warn_of_small_windows_and_of_queue_pairs_that_take_turns(keys: Mapping[str, Any], words: str) -> None:
    network = roce_star(4, delay="1us", congestion_control="none", payload=4096, **keys)
    result = astra_ns3.run(workload=_all_reduce(), system=system_for(1), network=network, backend="flow")
    said = [line for line in result.metadata["warnings"] if "docs/flow.md" in line]
    assert len(said) == bool(words)
    assert all(words in line for line in said)
    one = FlowList.of([0], [1], [4096], [0])
    alone = astra_ns3.run(workload=one, system=system_for(1), network=network, backend="flow").metadata["warnings"]
    assert any("-81%" in line for line in alone) is False


@pytest.mark.parametrize(
    ("control", "kind", "warned"),
    [("hpcc", "spray", True), ("hpcc", "flowlet", True), ("hpcc", "ecmp", False), ("none", "spray", False)],
)
def test_flows_warn_of_controls_on_packets_that_take_several_ways(control: str, kind: str, warned: bool) -> None:
    network = roce_network({**TREE, "routing": {"kind": kind}}, congestion_control=control)
    backend = create_backend("flow", plan_network(network), seed=1, recorder=RecorderOptions())
    said = backend.warnings()
    backend.close()
    assert any("57% too short" in words for words in said) is warned


@pytest.mark.parametrize(("kind", "warned"), [("tcp", True), ("roce", False)])
@pytest.mark.parametrize("state", [State(delay_ps=10**6), State(rate_bps=10**9)])
def test_flows_warn_of_delays_that_change_below_tcp(kind: str, warned: bool, state: State) -> None:
    network = star(2) if kind == "tcp" else roce_star(2, congestion_control="none")
    plan = plan_network(network, EndpointModel(), (Change(10**6, LinkTarget(0), state),))
    backend = create_backend("flow", plan, seed=1, recorder=RecorderOptions())
    said = backend.warnings()
    backend.close()
    assert any("-11% to +86%" in words for words in said) is (warned and state.delay_ps is not None)


@pytest.mark.parametrize(("control", "warned"), [("swift", True), ("dctcp", False)])
def test_flows_warn_of_delays_that_change_under_a_control_by_delay(control: str, warned: bool) -> None:
    later = Change(10**6, LinkTarget(0), State(delay_ps=10**6))
    plan = plan_network(roce_star(2, congestion_control=control), EndpointModel(), (later,))
    backend = create_backend("flow", plan, seed=1, recorder=RecorderOptions())
    said = backend.warnings()
    backend.close()
    assert any("events change delays" in words for words in said) is warned


@pytest.mark.parametrize(
    ("changed", "window", "algorithm", "words"),
    [
        (State(delay_ps=10**6), "none", "doubleBinaryTree", "because of failures or changes of delays"),
        (State(up=False), "none", "halvingDoubling", "because of failures or changes of delays"),
        (State(rate_bps=10**10), "none", "doubleBinaryTree", ""),
        (State(delay_ps=10**6), "none", "biRing", ""),
        (None, "10MB", "doubleBinaryTree", "because of windows"),
        (None, "10MB", "ring", ""),
        (None, "none", "doubleBinaryTree", ""),
    ],
)
def test_flows_warn_of_trees_at_rates_that_are_shared_evenly(
    changed: State | None, window: str, algorithm: str, words: str
) -> None:
    changes = () if changed is None else (Change(10**6, LinkTarget(0), changed),)
    plan = plan_network(roce_star(16, congestion_control="none", window=window), EndpointModel(), changes)
    backend = create_backend("flow", plan, seed=1, recorder=RecorderOptions())
    backend.register_schedule(lookup(CollectiveKind.ALL_REDUCE, algorithm, 16))
    said = [line for line in backend.warnings() if "-28% to +17% off" in line]
    backend.close()
    assert len(said) == bool(words)
    assert all(words in line for line in said)


@pytest.mark.parametrize(
    ("control", "routing", "uplink", "algorithm", "words"),
    [
        ("none", "ecmp", "100Gbps", "doubleBinaryTree", ()),
        ("dcqcn", "ecmp", "100Gbps", "doubleBinaryTree", ("trees over",)),
        ("dcqcn", "ecmp", "100Gbps", "ring", ()),
        ("dcqcn", "ecmp", "400Gbps", "doubleBinaryTree", ()),
        ("none", "spray", "100Gbps", "doubleBinaryTree", ("trees over", "several ways over")),
        ("none", "adaptive", "100Gbps", "ring", ("several ways over",)),
        ("none", "spray", "400Gbps", "doubleBinaryTree", ()),
    ],
)
def test_flows_warn_of_trees_and_of_several_ways_over_a_slow_core(
    control: str, routing: str, uplink: str, algorithm: str, words: Sequence[str]
) -> None:
    """Eight hosts at 100 Gb/s have 200 or 800 Gb/s upwards."""
    leaves = {"kind": "leaf-spine", "leaves": 2, "spines": 2, "hosts_per_leaf": 8, "routing": {"kind": routing}}
    topology = {**leaves, "link": LINK, "uplink": {**LINK, "rate": uplink}, "switch": {"buffer": "32MiB", "pfc": {}}}
    repeat = {"kind": "selective-repeat", "reordering_packets": 1000, "timeout": "20ms"}
    network = roce_network(topology, congestion_control=control, reliability=repeat)
    said = _of_slow_core(network, algorithm)
    assert len(said) == len(words)
    assert all(word in line for word, line in zip(words, said, strict=True))


def _of_slow_core(network: NetworkConfig, algorithm: str, changes: Sequence[Change] = ()) -> list[str]:
    """Return the warnings of a slow core of an all-reduce on flows."""
    plan = plan_network(network, EndpointModel(), changes)
    played: Any = create_backend("flow", plan, seed=1, recorder=RecorderOptions())
    launch_all(played, lookup(CollectiveKind.ALL_REDUCE, algorithm, network.npus), MIB)
    played.run(Listener(), Limits())
    said = [line for line in played.warnings() if "slow core" in line]
    played.close()
    return said


def test_flows_warn_of_a_core_that_events_make_slow() -> None:
    leaves = {"kind": "leaf-spine", "leaves": 2, "spines": 2, "hosts_per_leaf": 8, "routing": {"kind": "spray"}}
    topology = {**leaves, "link": LINK, "uplink": {**LINK, "rate": "400Gbps"}, "switch": {"buffer": "32MiB"}}
    network = roce_network(topology, congestion_control="none")
    links = build_graph(network.topology).links
    changes = [
        Change(0, LinkTarget(number), State(rate_bps=10**11))
        for number, link in enumerate(links)
        if link.rate_bps == 4 * 10**11
    ]
    assert len(changes) == 4
    assert not any("several ways" in line for line in _of_slow_core(network, "ring"))
    assert any("several ways" in line for line in _of_slow_core(network, "ring", changes))


@pytest.mark.parametrize(
    ("window", "passes", "opens"),
    [("10MB", 1, True), ("262144B", 1, True), ("262143B", 1, False), ("262144B", 2, False), ("bdp", 1, False)],
)
def test_a_window_that_no_pair_of_npus_can_fill_changes_nothing(window: str, passes: int, opens: bool) -> None:
    """On the torus each NPU sends 1 MiB / 4 to each of 3 others of its row, then of its column."""
    system = system_for(2, **{"active-chunks-per-dimension": 64, "preferred-dataset-splits": 32})
    workload = parse_workload(f"MICRO\n1\nlayer -1 0 NONE 0 0 NONE 0 0 ALLTOALL {MIB} 0\n", "micro")
    found = {}
    for backend, own in (("flow", "none"), ("flow", window), ("ns3", window)):
        torus = {"kind": "torus", "shape": [4, 4], "link": LINK, "switch": {"buffer": "32MiB", "pfc": {}}}
        network = roce_network(torus, congestion_control="none", payload=4096, window=own)
        found[backend, own] = astra_ns3.run(
            workload=workload, system=system, network=network, backend=backend, passes=passes
        )
    held, free, packets = found["flow", window], found["flow", "none"], found["ns3", window]
    said = [words for words in held.metadata["warnings"] if "because of windows, flows share lines evenly" in words]
    assert (len(said), held.finish_ps == free.finish_ps) == (not opens, opens)
    if opens:
        assert held.finish_ps == pytest.approx(packets.finish_ps, rel=0.01)
    else:
        assert all("-28% to +17%" in words for words in said)


@pytest.mark.parametrize(("kind", "warned"), [("go-back-n", True), ("selective-repeat", False)])
def test_flows_warn_of_spraying_that_packets_take_for_losses(kind: str, warned: bool) -> None:
    sizes = {"leaves": 2, "spines": 2, "hosts_per_leaf": 2, "routing": {"kind": "spray"}}
    reliability = {"kind": kind} | ({} if warned else {"reordering_packets": 64})
    topology = {"kind": "leaf-spine", **sizes, "link": {"rate": "100Gbps", "delay": "500ns"}}
    network = roce_network({**topology, "switch": {"buffer": "32MB", "pfc": {}}}, reliability=reliability)
    for backend in ("flow", "ns3"):
        found = load_inputs(_all_reduce(), system_for(1), network, Options(backend=backend))
        said = [words for words in found.warnings if "overtake each other, which go-back-n takes for losses" in words]
        assert len(said) == warned


def test_a_run_plays_each_channel_of_nccl_on_flows() -> None:
    """Two collectives that overlap: a merged channel would have half of the line that its two channels have."""
    workload = parse_workload(
        "DATA\n2\na -1 0 NONE 0 0 NONE 0 0 ALLTOALL 8388608 0\nb -1 0 NONE 0 0 NONE 0 0 ALLREDUCE 2097152 0\n", "two"
    )
    system = parse_system({"collectives": "nccl", "endpoint-delay": 10})
    network = roce_star(8, congestion_control="none")
    found = {
        backend: astra_ns3.run(workload=workload, system=system, network=network, backend=backend).collectives
        for backend in ("flow", "ns3")
    }
    assert found["flow"].chunks.tolist() == found["ns3"].chunks.tolist()
    assert found["flow"].duration_us.tolist() == pytest.approx(found["ns3"].duration_us.tolist(), rel=0.03)


@pytest.mark.parametrize(
    ("algorithm", "npus", "bytes"), [("direct", 8, 30), ("ring", 16, 77), ("halvingDoubling", 16, 33)]
)
def test_messages_shorter_than_their_acknowledgements_take_as_long_as_packets(
    algorithm: str, npus: int, bytes: int
) -> None:
    """Answers to messages of a few bytes fill lines up to rounding: flows wait for them, not for the rounding."""
    workload = parse_workload(f"MICRO\n1\nlayer -1 0 NONE 0 0 NONE 0 0 ALLREDUCE {bytes} 0\n", "micro")
    system = system_for(1, **{"all-reduce-implementation": [algorithm], "endpoint-delay": 0})
    network = roce_network({**STAR, "npus": npus}, congestion_control="none")
    finish = {
        backend: astra_ns3.run(workload=workload, system=system, network=network, backend=backend).finish_ps
        for backend in ("flow", "ns3")
    }
    assert finish["flow"] == pytest.approx(finish["ns3"], rel=0.02)


@pytest.mark.parametrize("kind", ["spray", "adaptive"])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_flow_is_spread_by_rates_where_weights_or_queues_say_so_and_once_where_both_do(
    kind: str, weighted: bool, tmp_path: Path
) -> None:
    """Two lines of 80 and 20 Gb/s between two switches, as HPCC's text has them, and hosts of 100 Gb/s."""
    lines = "0 2 100Gbps 500ns 0\n1 3 100Gbps 500ns 0\n2 3 80Gbps 500ns 0\n2 3 20Gbps 500ns 0\n"
    (tmp_path / "graph.txt").write_text("4 2 4\n2 3\n" + lines, encoding="utf-8")
    topology = {"kind": "file", "path": str(tmp_path / "graph.txt"), "routing": {"kind": kind, "weighted": weighted}}
    network = parse_network({"topology": {**topology, "switch": {"buffer": "1GB"}}, "transport": "roce"})
    flows = FlowList.of([0], [1], [20_000_000], [0])
    system = system_for(1)
    result = astra_ns3.run(workload=flows, system=system, network=network, backend="flow", isolated=False)
    sent = result.switches.set_index("port")["sent_bytes"]
    share = 0.8 if weighted or kind == "adaptive" else 0.5
    assert sent["switch0:1"] / (sent["switch0:1"] + sent["switch0:2"]) == pytest.approx(share, abs=0.001)
