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
ACK_PS = 6_880
"""62 bytes of headers, 4 of the acknowledgement, 20 on the line."""
RATE = {"rate": "100Gbps", "delay": "500ns"}
BURSTS = {"window": 10_000, "queue_pairs_per_pair": 4}
"""10 packets of each message are on their way at once, and up to four messages of two NPUs."""


def mesh(
    edges: list[tuple[int, int]], folder: Path, transport: dict[str, Any] | None = None, **topology: Any
) -> NetworkConfig:
    """NPUs joined to each other as a file has it, RoCE with packets of 1000 bytes."""
    nodes = [{"id": node, "kind": "host"} for node in range(1 + max(max(edge) for edge in edges))]
    links = [{"source": a, "target": b, **RATE} for a, b in edges]
    (folder / "mesh.json").write_text(json.dumps({"nodes": nodes, "links": links, "graph": {"forwarding": "hosts"}}))
    file = {"kind": "file", "path": str(folder / "mesh.json"), "switch": {"buffer": "64MB"}, **topology}
    return parse_network({"topology": file, "transport": {"kind": "roce", "payload": 1000, **(transport or {})}})


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


def test_acknowledgements_go_before_data_of_their_own_host(tmp_path: Path) -> None:
    # 0 - 1 - 2: NPU 1 has 40 packets for 0 in its switch, sent there at 200 Gb/s. When a packet from 0 has come to
    # NPU 1, after 629.84 ns, the 15th is on its way to the switch until 649.2 ns, and the 8th goes on the line then.
    # Behind these two the acknowledgement leaves. It lets out the last of 11 packets from 0.
    network = mesh([(0, 1), (1, 2)], tmp_path, BURSTS)
    played = play(network, by_hand(3, [*[Row(1, 0)] * 4, Row(0, 1)]), 11_000)
    answered = LINE_PS // 2 + 8 * LINE_PS + ACK_PS + DELAY_PS
    assert played.done_ps(1) == answered + LINE_PS + DELAY_PS + LINE_PS // 2


def test_acknowledgements_of_others_stand_in_line(tmp_path: Path) -> None:
    # The same with NPU 2 as the receiver of the 11 packets. Its acknowledgement comes to NPU 1 after 1,680 ns, when 38
    # packets of NPU 1 are in the switch.
    network = mesh([(0, 1), (1, 2)], tmp_path, BURSTS)
    played = play(network, by_hand(3, [*[Row(1, 0)] * 4, Row(0, 2)]), 11_000)
    answered = LINE_PS // 2 + 38 * LINE_PS + ACK_PS + DELAY_PS
    assert played.done_ps(2) == answered + 2 * (LINE_PS + DELAY_PS)


INSIDE = {"link": {"rate": "200Gbps", "delay": 0}, "switch": {"buffer": "64MB"}}
OF_NODES = {"kind": "hierarchical", "npus_per_node": 2, "scale_up": INSIDE}
RING = {"kind": "ring", "link": RATE, "switch": {"buffer": "64MB"}}


@pytest.mark.parametrize(
    ("topology", "busy", "far", "answering"),
    [
        ({**RING, "npus": 3}, 1, 0, 1),
        ({**OF_NODES, "nodes": 3, "scale_out": RING}, 2, 1, 2),
        ({**OF_NODES, "nodes": 2, "nics_per_node": 1, "scale_out": {"kind": "full-mesh", "link": RATE}}, 0, 2, 1),
    ],
    ids=["ring", "ring of nodes", "shared NICs"],
)
def test_routers_and_shared_nics_send_acknowledgements_first(
    topology: dict[str, Any], busy: int, far: int, answering: int
) -> None:
    # A NIC or router with 200 Gb/s from its NPUs and 100 Gb/s outwards has 40 packets of one of them. An NPU there
    # acknowledges a packet from the far one after 673.12 ns, while the 8th packet is on the line. The acknowledgement
    # comes behind that, and follows it to the far NPU, whose last packet it lets out.
    network = parse_network({"topology": topology, "transport": {"kind": "roce", "payload": 1000, **BURSTS}})
    rows = [*[Row(busy, far)] * 4, Row(far, answering)]
    played = play(network, by_hand(network.npus, rows), 11_000)
    eighth = LINE_PS // 2 + 8 * LINE_PS + DELAY_PS
    answered = eighth + LINE_PS // 2 + ACK_PS // 2
    assert played.done_ps(answering) == answered + LINE_PS // 2 + LINE_PS + DELAY_PS + LINE_PS // 2
