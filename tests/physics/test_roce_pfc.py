"""Priority flow control in whole runs: no loss with headroom, loss without, head-of-line blocking, deadlock."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles.roce_times import HEADERS, Star, headroom_bytes
from support.roce_network import LOSSLESS, RELIABILITIES, Flow, play_flows, roce_network, roce_star
from support.star_network import Played, incast, play

import astra_ns3
from astra_ns3.collectives.lookup import lookup
from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.errors import BackendError
from astra_ns3.workload.files.astra_sim import parse_workload

GBPS = 10**9
RESERVE = 4096
PAYLOAD = 1000
LINE = Star(100 * GBPS, 500_000)


def least_buffer(ports: int, rate_bps: int, delay_ps: int, payload: int) -> int:
    """Headroom and reserve of every port, for one lossless priority."""
    return ports * (headroom_bytes(rate_bps, delay_ps, payload + HEADERS) + RESERVE)


def is_complete(played: Played, senders: int, size: int) -> bool:
    """Whether each sender's message arrived, once."""
    flows = played.table("flows")
    return sorted(flows["source"]) == list(range(1, senders + 1)) and set(flows["bytes"]) == {size}


@settings(max_examples=40, deadline=None, derandomize=True)
@given(
    gbps=st.sampled_from([10, 25, 40, 100, 200, 400, 800]),
    delay_ns=st.integers(0, 20_000),
    fan_in=st.integers(2, 64),
    payload=st.sampled_from([256, 1000, 4096]),
    shared_bytes=st.integers(1, 500_000),
    alpha=st.sampled_from([0.0625, 0.125, 1.0]),
    packets=st.integers(20, 120),
)
def test_no_incast_loses_a_packet_with_pfc(
    gbps: int, delay_ns: int, fan_in: int, payload: int, shared_bytes: int, alpha: float, packets: int
) -> None:
    """Nobody slows down but for pauses. The buffer is all headrooms and reserves, and a little or more to share."""
    buffer = least_buffer(fan_in + 1, gbps * GBPS, delay_ns * 1000, payload) + shared_bytes
    switch = {"buffer": buffer, "pfc": {"alpha": alpha, "watchdog": 0}}
    network = roce_star(
        fan_in + 1,
        rate=f"{gbps}Gbps",
        delay=f"{delay_ns}ns",
        payload=payload,
        switch=switch,
        reliability={"timeout": "1s"},
    )
    size = payload * packets
    played = play(network, incast(fan_in), size)
    assert played.statistics["dropped_frames"] == 0
    assert played.statistics["retransmissions"] == 0
    assert sum(port["highest_queue_bytes"] for port in played.ports.values()) <= buffer
    # The port stays busy: a sender goes on before what it has there is sent, or has nothing left to send.
    line = Star(gbps * GBPS, delay_ns * 1000)
    assert played.done_ps(0) >= line.shared_port_ps([size] * fan_in, payload)


@pytest.mark.parametrize("fan_in", [4, 16, 64])
@pytest.mark.parametrize("delay_ps", [0, 500_000, 5_000_000])
def test_a_port_whose_senders_are_paused_in_turn_never_idles(fan_in: int, delay_ps: int) -> None:
    """With room for a round trip of every sender above the threshold, the last finish is that of a lossless queue."""
    line = Star(100 * GBPS, delay_ps)
    bandwidth_delay = line.round_trip_ps(PAYLOAD) // 80
    buffer = least_buffer(fan_in + 1, line.rate_bps, delay_ps, PAYLOAD) + 16 * (bandwidth_delay + 20_000)
    switch = {"buffer": buffer, "pfc": LOSSLESS}
    played = play(roce_star(fan_in + 1, delay=f"{delay_ps}ps", switch=switch), incast(fan_in), 500_000)
    assert played.done_ps(0) == line.shared_port_ps([500_000] * fan_in, PAYLOAD)
    senders = [played.ports[f"host{host}"] for host in range(1, fan_in + 1)]
    assert all(port["pauses"] > 0 and port["paused_ps"] > 0 for port in senders)
    assert played.ports["host0"]["pauses"] == played.ports["host0"]["paused_ps"] == 0
    for host in range(1, fan_in + 1):
        sender, port = played.ports[f"host{host}"], played.ports[f"switch0:{host}"]
        # Each pause, and its end: the last one may be on its way when the run ends.
        assert 0 <= port["pause_frames"] - 2 * sender["pauses"] + 1 <= 2
        assert sender["paused_ps"] < played.finish_ps
    assert played.statistics["pauses"] == sum(port["pauses"] for port in senders)
    assert played.statistics["dropped_frames"] == 0


@pytest.mark.parametrize("share", [0.0, 0.5])
def test_too_little_headroom_loses_packets_and_all_arrives_in_spite_of_it(share: float, tmp_path: Path) -> None:
    """On lines of 5 us most of the headroom is for what is on the line when the pause is decided."""
    fan_in, delay_ps = 8, 5_000_000
    headroom = int(share * headroom_bytes(LINE.rate_bps, delay_ps, PAYLOAD + HEADERS))
    buffer = (fan_in + 1) * (headroom + RESERVE) + 400_000
    switch = {"buffer": buffer, "pfc": {"headroom": headroom}}
    network = roce_star(fan_in + 1, delay=f"{delay_ps}ps", switch=switch)
    played = play(network, incast(fan_in), 1_000_000, directory=tmp_path)
    assert played.statistics["pauses"] > 0
    assert played.ports["switch0:0"]["dropped_frames"] == played.statistics["dropped_frames"] > 0
    assert played.statistics["nacks"] > 0
    assert is_complete(played, fan_in, 1_000_000)


@pytest.mark.parametrize("reliability", RELIABILITIES)
def test_without_pfc_drops_are_counted_and_all_arrives(reliability: str, tmp_path: Path) -> None:
    """Selective repeat sends again what was lost; going back sends more than that again."""
    fan_in, size = 8, 300_000
    switch = {"buffer": 200_000}
    network = roce_star(fan_in + 1, switch=switch, reliability={"kind": reliability, "timeout": "100us"}, window="bdp")
    played = play(network, incast(fan_in), size, directory=tmp_path, stop_when_done=False)
    port = played.ports["switch0:0"]
    assert port["dropped_frames"] > 0
    assert port["dropped_bytes"] == port["dropped_frames"] * (PAYLOAD + HEADERS)
    assert port["highest_queue_bytes"] <= 200_000
    assert played.statistics["retransmissions"] >= played.statistics["dropped_frames"] == port["dropped_frames"]
    assert is_complete(played, fan_in, size)
    # What the port sent is what was offered less what it dropped.
    offered = sum(played.ports[f"host{host}"]["sent_frames"] for host in range(1, fan_in + 1))
    assert port["sent_frames"] == offered - port["dropped_frames"]
    assert offered == fan_in * size // PAYLOAD + played.statistics["retransmissions"]


def two_switches(pfc: dict[str, Any] | None, buffer: str, folder: Path) -> Played:
    """Host 0 (left) and hosts 4 and 5 (right) send to host 2 on the right; host 1 (left) to host 3, which is idle."""
    switch: dict[str, Any] = {"buffer": buffer} if pfc is None else {"buffer": buffer, "pfc": pfc}
    topology = {
        "kind": "dumbbell",
        "left": 2,
        "right": 4,
        "link": {"rate": "100Gbps", "delay": "500ns"},
        "bottleneck": {"rate": "400Gbps"},
        "switch": switch,
    }
    flows = [Flow(0, 2, 2_000_000), Flow(4, 2, 2_000_000), Flow(5, 2, 2_000_000), Flow(1, 3, 1_000_000)]
    return play_flows(roce_network(topology, reliability={"timeout": "10ms"}), flows, folder)


def victim_ps(played: Played) -> int:
    """When the flow to the idle host ended."""
    flows = played.table("flows")
    return int(flows.loc[flows["destination"] == 3, "end_ps"].iloc[0])


def test_pfc_blocks_a_flow_that_goes_elsewhere_and_a_buffer_does_not(tmp_path: Path) -> None:
    """The line between the switches is stopped for host 2's sake. Of three senders to it, one has a third of its line,
    and the victim behind it on the line between the switches goes no faster than a packet for each of its packets."""
    folders = [tmp_path / name for name in ("buffered", "paused")]
    for folder in folders:
        folder.mkdir()
    buffered = two_switches(None, "64MB", folders[0])
    # A third line of 500 ns; at 400 Gb/s 1082 bytes are 21.64 ns, and another sender's packet goes first.
    assert victim_ps(buffered) == LINE.message_ps(1_000_000, PAYLOAD) + 500_000 + 2 * 21_640
    paused = two_switches({}, "2MB", folders[1])
    # A third of the line, but for the start, when nothing is stopped yet.
    assert 2 < victim_ps(paused) / victim_ps(buffered) <= 3
    assert paused.ports["switch0:2"]["pauses"] > 0
    assert paused.ports["host1"]["pauses"] > 0
    assert paused.ports["host3"]["pauses"] == paused.ports["switch1:1"]["pauses"] == 0
    assert paused.statistics["dropped_frames"] == 0
    # What is asked of host 2's line takes as long, stopped or not.
    ends = [played.table("flows")["end_ps"].max() for played in (buffered, paused)]
    assert ends[0] == ends[1]


def test_a_circle_of_paused_switches_is_reported_as_a_deadlock(tmp_path: Path) -> None:
    """Five routers in a ring, each NPU sends two on: every line waits for the next, and all can be full."""
    topology = {
        "kind": "ring",
        "npus": 5,
        "link": {"rate": "100Gbps", "delay": "500ns"},
        "switch": {"buffer": "300KB", "pfc": {"watchdog": "100us"}},
    }
    flows = [Flow(npu, (npu + 2) % 5, 3_000_000) for npu in range(5)]
    with pytest.raises(BackendError, match=r"PFC deadlock in priority 3: .* waits for ") as caught:
        play_flows(roce_network(topology, reliability={"timeout": "20ms"}), flows, tmp_path)
    routers = [f"switch{router}:" for router in range(5)]
    assert all(router in str(caught.value) for router in routers)


def test_the_same_ring_without_pfc_drops_and_ends(tmp_path: Path) -> None:
    link = {"rate": "100Gbps", "delay": "500ns"}
    topology = {"kind": "ring", "npus": 5, "link": link, "switch": {"buffer": "300KB"}}
    network = roce_network(topology, window="bdp", reliability={"kind": "selective-repeat", "timeout": "100us"})
    played = play_flows(network, [Flow(npu, (npu + 2) % 5, 300_000) for npu in range(5)], tmp_path)
    assert len(played.table("flows")) == 5


@pytest.mark.parametrize("routing", ["ecmp", "spray", "adaptive"])
def test_an_all_to_all_through_leaves_and_spines_loses_nothing(routing: str) -> None:
    """Leaves and spines pause each other; up-down paths have no circle, so it ends."""
    topology = {
        "kind": "leaf-spine",
        "leaves": 4,
        "spines": 2,
        "hosts_per_leaf": 4,
        "oversubscription": 2,
        "link": {"rate": "100Gbps", "delay": "500ns"},
        "switch": {"buffer": "500KB", "pfc": {}},
        "routing": {"kind": routing},
    }
    reliability = {"kind": "selective-repeat", "timeout": "10ms", "reordering_packets": 10_000}
    network = roce_network(topology, reliability=reliability)
    played = play(network, lookup(CollectiveKind.ALL_TO_ALL, "direct", 16), 1_600_000)
    assert len(played.listener.done) == 16
    assert played.statistics["dropped_frames"] == played.statistics["timeouts"] == 0
    assert played.statistics["pauses"] > 0


@pytest.mark.parametrize("control", ["dcqcn", "hpcc", "dctcp"])
def test_a_window_keeps_an_incast_from_pausing_and_rates_alone_do_not(control: str) -> None:
    """All open at line rate: what comes before the first notice is bounded by the window, or by pauses alone."""
    fan_in = 16
    marking = {"kmin": "100KB", "kmax": "400KB", "pmax": 0.2}
    pauses = []
    for window in ("none", "bdp"):
        switch = {"buffer": "8MB", "pfc": LOSSLESS, "ecn": marking}
        paper = {"kind": control, "parameters": "paper"}
        network = roce_star(fan_in + 1, delay="1us", switch=switch, congestion_control=paper, window=window)
        pauses.append(play(network, incast(fan_in), 500_000).statistics["pauses"])
    without, windowed = pauses
    assert windowed == 0
    assert without > 0 or control != "dcqcn"


@pytest.mark.parametrize("watchdog_us", [2, 8, 1000])
def test_each_pause_longer_than_the_watchdog_is_one_storm(watchdog_us: int, tmp_path: Path) -> None:
    pfc = {**LOSSLESS, "watchdog": f"{watchdog_us}us"}
    network = roce_star(9, switch={"buffer": "1MB", "pfc": pfc}, observe={"pauses": True})
    played = play_flows(network, [Flow(sender, 0, 400_000) for sender in range(1, 9)], tmp_path)
    lengths = []
    for _, rows in played.table("pauses").groupby("port", observed=True):
        since = None
        for time_ps, stopped in zip(rows["time_ps"], rows["paused_priorities"], strict=True):
            if stopped and since is None:
                since = time_ps
            elif not stopped and since is not None:
                lengths.append(time_ps - since)
                since = None
        assert since is None  # every sender goes on in the end
    storms = sum(length >= watchdog_us * 1_000_000 for length in lengths)
    assert played.statistics["pause_storms"] == storms
    assert (storms > 0) == (watchdog_us < 1000)
    assert len(lengths) == played.statistics["pauses"]


def test_a_run_ends_with_a_warning_that_names_the_longest_pause() -> None:
    switch = {"buffer": "1MB", "pfc": {**LOSSLESS, "watchdog": "2us"}}
    slow = {"kind": "dumbbell", "left": 4, "right": 4, "bottleneck": {"rate": "10Gbps"}}
    link = {"rate": "100Gbps", "delay": "500ns"}
    network = roce_network({**slow, "link": link, "switch": switch})
    result = astra_ns3.run(
        workload=parse_workload("MICRO\n1\nlayer -1 0 NONE 0 0 NONE 0 0 ALLTOALL 1600000 0\n", "micro"),
        system=Path(__file__).parents[2] / "inputs/system/flat.yaml",
        network=network,
    )
    storms = result.metadata["statistics"]["pause_storms"]
    assert storms > 0
    (warning,) = (each for each in result.metadata["warnings"] if "longer than their watchdog" in each)
    assert re.search(rf"watchdog {storms} times, at most host\d+, priority 3, for [\d.]+ us", warning)
