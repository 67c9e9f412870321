"""Switches and hosts that cut through, with packets, against times worked out frame by frame, to the picosecond."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from oracles.cut_through_times import LINE_GAP, Line, arrival_ps, equal_lines_ps
from support.accounts import problems_of, read_accounts
from support.roce_network import LOSSLESS, Flow, play_flows, roce_network, roce_star
from support.star_network import Row, by_hand, one_message, play

from astra_ns3.config.network.packet_network import NetworkConfig, parse_network

GBPS = 10**9
DELAY_PS = 500_000
PAYLOAD = 1000
FRAME = PAYLOAD + 62 + LINE_GAP
ACK = 66 + LINE_GAP


def frames_of(size: int) -> list[int]:
    full, rest = divmod(size, PAYLOAD)
    return [FRAME] * full + [max(64, rest + 62) + LINE_GAP] * (rest > 0)


def leaf_spine(cut: int | None, **transport: Any) -> NetworkConfig:
    """Two hosts on each of two leaves, one spine, all at 100 Gb/s: four links between the leaves."""
    switch: dict[str, object] = {"buffer": "64MB", **({} if cut is None else {"cut_through": cut})}
    topology = {
        "kind": "leaf-spine",
        "leaves": 2,
        "spines": 1,
        "hosts_per_leaf": 2,
        "link": {"rate": "100Gbps", "delay": "500ns"},
        "uplink": {"rate": "100Gbps"},
        "switch": switch,
    }
    return roce_network(topology, payload=PAYLOAD, **transport)


def dumbbell(link: int, bottleneck: int, cut: int, **transport: Any) -> NetworkConfig:
    topology = {
        "kind": "dumbbell",
        "left": 2,
        "right": 2,
        "link": {"rate": f"{link}Gbps", "delay": "500ns"},
        "bottleneck": {"rate": f"{bottleneck}Gbps", "delay": "500ns"},
        "switch": {"buffer": "64MB", "cut_through": cut},
    }
    return roce_network(topology, payload=PAYLOAD, **transport)


def dumbbell_lines(link: int, bottleneck: int, cut: int) -> list[Line]:
    return [Line(link * GBPS, DELAY_PS, cut), Line(bottleneck * GBPS, DELAY_PS, cut), Line(link * GBPS, DELAY_PS)]


@pytest.mark.parametrize("frames", [1, 2, 1000])
def test_over_equal_lines_a_message_pays_a_head_for_each_switch_and_no_frame(frames: int) -> None:
    size = frames * PAYLOAD
    through = play(leaf_spine(64), by_hand(4, [Row(0, 2)]), size).done_ps(2)
    assert through == equal_lines_ps(4, 100 * GBPS, DELAY_PS, 64, frames, FRAME)
    # By hand: 84 bytes of head are 6.72 ns at 100 Gb/s, a frame 86.56.
    assert through == frames * 86_560 + 3 * 6_720 + 4 * DELAY_PS
    stored = play(leaf_spine(None), by_hand(4, [Row(0, 2)]), size).done_ps(2)
    assert stored == (frames + 3) * 86_560 + 4 * DELAY_PS


@pytest.mark.parametrize("rate", [7, 100, 400])
@pytest.mark.parametrize("cut", [14, 64, 1000, 1061, 1062, 9000])
@pytest.mark.parametrize("size", [1, 1000, 5_017, 64_000])
def test_one_switch_and_any_head(rate: int, cut: int, size: int) -> None:
    network = roce_star(2, rate=f"{rate}Gbps", switch={"cut_through": cut}, payload=PAYLOAD)
    path = [Line(rate * GBPS, DELAY_PS, cut), Line(rate * GBPS, DELAY_PS)]
    assert play(network, one_message(), size).done_ps(1) == arrival_ps(path, frames_of(size))


@pytest.mark.parametrize(("link", "bottleneck"), [(100, 25), (25, 100), (100, 99), (99, 100), (100, 60)])
@pytest.mark.parametrize("size", [1, 1000, 2000, 100_017])
def test_a_slower_line_behind_cuts_through_where_it_is_free_and_a_faster_one_never(
    link: int, bottleneck: int, size: int
) -> None:
    network = dumbbell(link, bottleneck, 64)
    wanted = arrival_ps(dumbbell_lines(link, bottleneck, 64), frames_of(size))
    assert play(network, by_hand(4, [Row(0, 2)]), size).done_ps(2) == wanted


@pytest.mark.parametrize(("link", "bottleneck"), [(100, 100), (100, 25), (25, 100), (100, 90)])
@pytest.mark.parametrize("cut", [14, 64])
@pytest.mark.parametrize("parts", [1, 3])
def test_the_ideal_time_of_a_flow_is_what_it_takes_alone(
    link: int, bottleneck: int, cut: int, parts: int, tmp_path: Path
) -> None:
    # Two switches: with a head of 14 bytes the ACK, 66, is cut through as well. Packets are full, in parts too, so that
    # no ACK waits for another.
    split = {"queue_pair_use": "split"} if parts > 1 else {}
    network = dumbbell(link, bottleneck, cut, completion="acknowledged", queue_pairs_per_pair=parts, **split)
    played = play_flows(network, [Flow(0, 2, 99_000)], tmp_path)
    (flow,) = played.table("flows").to_dict("records")
    path = dumbbell_lines(link, bottleneck, cut)
    assert flow["ideal_ps"] == arrival_ps(path, frames_of(99_000)) + arrival_ps(path, [ACK])
    assert flow["end_ps"] - flow["start_ps"] == flow["ideal_ps"]


@pytest.mark.parametrize(("link", "bottleneck"), [(100, 100), (100, 25), (25, 100), (100, 99)])
@pytest.mark.parametrize("size", [100_017, 5_000_019])
def test_so_it_is_for_what_is_left_of_the_parts_of_a_message(
    link: int, bottleneck: int, size: int, tmp_path: Path
) -> None:
    network = dumbbell(link, bottleneck, 64, completion="arrival", queue_pairs_per_pair=3, queue_pair_use="split")
    (flow,) = play_flows(network, [Flow(0, 2, size)], tmp_path).table("flows").to_dict("records")
    full, rest = divmod(size // 3, PAYLOAD)  # three equal parts, which take turns
    frames = [FRAME] * (3 * full) + [rest + 62 + LINE_GAP] * 3
    assert flow["ideal_ps"] == arrival_ps(dumbbell_lines(link, bottleneck, 64), frames)
    assert flow["end_ps"] - flow["start_ps"] == flow["ideal_ps"]


def test_the_account_of_a_message_has_the_heads_of_lines_before_switches_and_all_of_the_last(tmp_path: Path) -> None:
    flows = [Flow(0, 2, PAYLOAD), *[Flow(1, 3, size, start_ps=5_000_000) for size in (1, 700, 40_017)]]
    played = play_flows(leaf_spine(64), flows, tmp_path, accounts=True)
    accounts, hops = read_accounts(tmp_path)
    assert problems_of(accounts, hops) == []
    first = accounts[accounts["source"] == 0].to_dict("records")[0]
    assert first["serialisation_ps"] == 3 * 6_720 + 86_560
    assert first["propagation_ps"] == 4 * DELAY_PS
    assert first["end_ps"] - first["start_ps"] == first["serialisation_ps"] + first["propagation_ps"]
    assert len(accounts) == len(played.table("flows")) == len(flows)


def test_a_frame_that_finds_its_line_busy_is_stored(tmp_path: Path) -> None:
    # Two hosts send a packet each to a third, the second 1 ns later, while the line is busy with the first.
    network = roce_star(3, switch={"cut_through": 64}, payload=PAYLOAD)
    played = play_flows(network, [Flow(0, 2, PAYLOAD), Flow(1, 2, PAYLOAD, start_ps=1_000)], tmp_path)
    first = 2 * DELAY_PS + 6_720 + 86_560
    # The second is there after 1 + 500 + 86.56 ns; the line, taken by the first at its head, is free 5.72 ns later.
    assert sorted(played.table("flows")["end_ps"]) == [first, first + 86_560]


@pytest.mark.parametrize("rounding", ["0ps", "1ps"])
def test_none_overtakes_one_that_waits_where_its_head_comes_just_when_the_line_gets_free(rounding: str) -> None:
    # From 100 into 50 Gb/s the third head comes when the first frame has left, which the spine has taken by its head.
    topology = {
        "kind": "leaf-spine",
        "leaves": 2,
        "spines": 1,
        "hosts_per_leaf": 2,
        "link": {"rate": "100Gbps", "delay": "10ns"},
        "uplink": {"rate": "50Gbps"},
        "switch": {"buffer": "64MB", "cut_through": 64},
    }
    network = roce_network(topology, payload=PAYLOAD, time_rounding=rounding)
    played = play(network, by_hand(4, [Row(0, 2)]), 20 * PAYLOAD)
    path = [*[Line(rate * GBPS, 10_000, 64) for rate in (100, 50, 50)], Line(100 * GBPS, 10_000)]
    assert played.done_ps(2) == arrival_ps(path, [FRAME] * 20)
    assert played.statistics["retransmissions"] == 0


@pytest.mark.parametrize("path", [0, 1, 2])
@pytest.mark.parametrize("cut", [None, 64])
def test_pinned_frames_take_their_path_when_their_heads_are_sent_on(path: int, cut: int | None) -> None:
    # Five leaves on three spines, packets of one host pinned to one of them, among others that go by hash.
    topology = {
        "kind": "leaf-spine",
        "leaves": 5,
        "spines": 3,
        "hosts_per_leaf": 2,
        "link": {"rate": "100Gbps", "delay": "500ns"},
        "switch": {"buffer": "64MB", **({} if cut is None else {"cut_through": cut})},
        "routing": {"kind": "pinned", "pins": [{"sender": 0, "receiver": 9, "path": path}]},
    }
    played = play(roce_network(topology, payload=PAYLOAD), by_hand(10, [Row(0, 9)]), 100 * PAYLOAD)
    uplinks = [int(played.ports[f"switch0:{2 + spine}"]["sent_frames"]) for spine in range(3)]
    assert uplinks == [100 if spine == path else 0 for spine in range(3)]


def test_hosts_that_forward_cut_through_as_their_switch_says(tmp_path: Path) -> None:
    # 0 - 1 - 2: NPU 1 has the one switch there is.
    nodes = [{"id": node, "kind": "host"} for node in range(3)]
    links = [{"source": a, "target": a + 1, "rate": "100Gbps", "delay": "500ns"} for a in range(2)]
    (tmp_path / "mesh.json").write_text(json.dumps({"nodes": nodes, "links": links, "graph": {"forwarding": "hosts"}}))
    switch = {"buffer": "64MB", "cut_through": "64B"}
    file = {"kind": "file", "path": str(tmp_path / "mesh.json"), "switch": switch}
    network = parse_network({"topology": file, "transport": {"kind": "roce", "payload": PAYLOAD}})
    played = play(network, by_hand(3, [Row(0, 2)]), 10 * PAYLOAD)
    assert played.done_ps(2) == 10 * 86_560 + 6_720 + 2 * DELAY_PS


@pytest.mark.parametrize("cut", [None, 64])
def test_an_incast_that_pauses_loses_and_repeats_nothing(cut: int | None, tmp_path: Path) -> None:
    head = {} if cut is None else {"cut_through": cut}
    network = roce_star(9, switch={"buffer": "2MB", "pfc": LOSSLESS, **head}, payload=PAYLOAD)
    flows = [Flow(sender, 0, 500_000) for sender in range(1, 9)]
    played = play_flows(network, flows, tmp_path)
    assert played.statistics["dropped_frames"] == 0
    assert sum(int(port["pauses"]) for port in played.ports.values()) > 0
    assert len(played.table("flows")) == len(flows)
    # The receiver's line is never idle from the first head to the last bit: 500 packets of each.
    first = DELAY_PS + (86_560 if cut is None else 6_720)
    assert played.table("flows")["end_ps"].max() == first + 8 * 500 * 86_560 + DELAY_PS


def test_tcp_gains_all_but_the_head_of_its_segment_and_of_both_syns() -> None:
    def duration(size: int, **head: int) -> int:
        topology = {
            "kind": "single-switch",
            "npus": 2,
            "link": {"rate": "100Gbps", "delay": "500ns"},
            "switch": {"buffer": "64MB", **head},
        }
        network = parse_network({"topology": topology, "transport": {"kind": "tcp", "mtu": 1500}})
        return play(network, one_message(), size).done_ps(1)

    # SYN and SYN-ACK are 48 + 18 + 20 bytes on the line, a full segment 1538; an ACK, 84, is as short as the head.
    gain_ps = (2 * (86 - 84) + 1538 - 84) * 80
    assert duration(1460) - duration(1460, cut_through=64) == gain_ps
    # Its first flight, ten segments, comes at the rate of the line all the same.
    assert duration(14_600) - duration(14_600, cut_through=64) == gain_ps
    assert duration(4_000_000) > duration(4_000_000, cut_through=64)
