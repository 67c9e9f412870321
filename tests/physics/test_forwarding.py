"""Hosts that forward, through packets: times of messages over other NPUs, worked out by hand, to the picosecond."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.star_network import Row, by_hand, one_message, play

from astra_ns3.config.network.packet_network import NetworkConfig, parse_network

DELAY_PS = 500_000
LINE_PS = 86_560
"""A packet of 1000 bytes is 1000 + 62 + 20 = 1082 on the line: 86.56 ns at 100 Gb/s."""
RATE = {"rate": "100Gbps", "delay": "500ns"}


def mesh(edges: list[tuple[int, int]], folder: Path, **topology: Any) -> NetworkConfig:
    """NPUs joined to each other as a file has it, RoCE with packets of 1000 bytes."""
    nodes = [{"id": node, "kind": "host"} for node in range(1 + max(max(edge) for edge in edges))]
    links = [{"source": a, "target": b, **RATE} for a, b in edges]
    (folder / "mesh.json").write_text(json.dumps({"nodes": nodes, "links": links, "graph": {"forwarding": "hosts"}}))
    file = {"kind": "file", "path": str(folder / "mesh.json"), "switch": {"buffer": "64MB"}, **topology}
    return parse_network({"topology": file, "transport": {"kind": "roce", "payload": 1000}})


@pytest.mark.parametrize("packets", [1, 2, 1000])
def test_a_message_through_an_npu_is_stored_and_sent_on_there_once(packets: int, tmp_path: Path) -> None:
    # 0 - 1 - 2: the ends have one link each and no switch, so nothing but NPU 1 lies between them.
    network = mesh([(0, 1), (1, 2)], tmp_path)
    played = play(network, by_hand(3, [Row(0, 2)]), 1000 * packets)
    assert played.done_ps(2) == (packets + 1) * LINE_PS + 2 * DELAY_PS


def test_a_host_s_own_packets_pay_one_serialisation_more_at_the_rate_of_its_links_together(tmp_path: Path) -> None:
    # 0 - 1 - 2, from the middle: into its switch at 200 Gb/s, 43.28 ns, then 86.56 ns and 500 ns to NPU 2.
    network = mesh([(0, 1), (1, 2)], tmp_path)
    assert play(network, by_hand(3, [Row(1, 2)]), 1000).done_ps(2) == LINE_PS // 2 + LINE_PS + DELAY_PS
    faster = {"by": "hosts", "injection": {"rate": "100Tbps"}}
    network = mesh([(0, 1), (1, 2)], tmp_path, forwarding=faster)
    # 1082 bytes at 100 Tb/s: 86.56 ps, rounded to 87.
    assert play(network, by_hand(3, [Row(1, 2)]), 1000).done_ps(2) == 87 + LINE_PS + DELAY_PS


def test_a_message_across_a_ring_of_npus_passes_those_between(tmp_path: Path) -> None:
    # A ring of six: NPU 0 to 3 over two others. In and out at 200 Gb/s, three links between switches at 100.
    network = mesh([(place, (place + 1) % 6) for place in range(6)], tmp_path)
    played = play(network, by_hand(6, [Row(0, 3)]), 1000)
    assert played.done_ps(3) == 2 * (LINE_PS // 2) + 3 * (LINE_PS + DELAY_PS)


def test_what_is_passed_on_and_what_is_its_own_share_the_npu_s_link(tmp_path: Path) -> None:
    # 0 - 1 - 2: 0 and 1 send 1 MB each to 2. The link 1 - 2 carries both, and is never idle once it has begun.
    network = mesh([(0, 1), (1, 2)], tmp_path)
    played = play(network, by_hand(3, [Row(0, 2), Row(1, 2)]), 1_000_000)
    first = LINE_PS // 2
    assert played.done_ps(2) == first + 2000 * LINE_PS + DELAY_PS
    assert played.statistics["dropped_frames"] == 0


def test_neighbours_talk_over_their_own_link_alone(tmp_path: Path) -> None:
    network = mesh([(0, 1)], tmp_path)
    assert play(network, one_message(), 1000).done_ps(1) == LINE_PS + DELAY_PS
