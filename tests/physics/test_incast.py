"""Fifteen senders to one receiver: with a buffer that suffices, and with one that doesn't."""

from __future__ import annotations

from pathlib import Path

import pytest
from oracles.tcp_times import HEADERS, Star, buffered, incast_ps
from support.star_network import Played, incast, play, star

from astra_ns3.config.network.packet_network import NetworkConfig

SENDERS = 15
SEGMENT = 1460
WINDOW_BYTES = 500_000
LINE = Star(100 * 10**9, 500_000)
LEAST_GOODPUT = 0.95
"""Of the line, headers counted; what is missing is the handshake and the first round trips."""
LARGEST_FRAME = buffered(HEADERS + SEGMENT)
STEP_MARKING = {"kmin": "300KB", "kmax": "300KB"}


def sufficing(congestion_control: str) -> NetworkConfig:
    marking = STEP_MARKING if congestion_control == "Dctcp" else None
    return star(SENDERS + 1, congestion_control=congestion_control, buffer="64MB", ecn=marking, window=WINDOW_BYTES)


def too_small(congestion_control: str, *, sack: bool = True) -> NetworkConfig:
    return star(SENDERS + 1, buffer="100KB", congestion_control=congestion_control, sack=sack, min_rto="1ms")


@pytest.mark.parametrize("congestion_control", ["Dctcp", "Cubic", "NewReno"])
@pytest.mark.parametrize("size", [500_000, 2_000_000])
def test_a_buffer_that_suffices_gives_the_whole_line_without_a_loss(congestion_control: str, size: int) -> None:
    played = play(sufficing(congestion_control), incast(SENDERS), size)
    ideal_ps = incast_ps(LINE, [size] * SENDERS, SEGMENT)
    assert ideal_ps < played.done_ps(0)
    assert ideal_ps / played.done_ps(0) > LEAST_GOODPUT
    assert played.statistics["dropped_frames"] == 0
    assert played.statistics["retransmissions"] == played.statistics["timeouts"] == 0
    marked = sum(port["marked_frames"] for port in played.ports.values())
    assert (marked > 0) == (congestion_control == "Dctcp")


def check_delivered(played: Played, size: int) -> None:
    """Every byte arrived, although some were dropped and sent again."""
    flows = played.table("flows")
    assert sorted(flows["source"].tolist()) == list(range(1, SENDERS + 1))
    assert set(flows["bytes"]) == {size}
    assert set(flows["destination"]) == {0}
    assert sorted(rank for rank, _, _ in played.listener.done) == list(range(SENDERS + 1))


@pytest.mark.parametrize(("congestion_control", "sack"), [("Cubic", True), ("NewReno", True), ("NewReno", False)])
def test_a_buffer_that_is_too_small_drops_and_every_byte_is_delivered(
    congestion_control: str, sack: bool, tmp_path: Path
) -> None:
    size = 500_000
    played = play(too_small(congestion_control, sack=sack), incast(SENDERS), size, directory=tmp_path)
    port = played.ports["switch0:0"]
    assert port["dropped_frames"] > 0
    assert played.statistics["dropped_frames"] == port["dropped_frames"]
    assert port["highest_queue_bytes"] <= 100_000
    assert played.statistics["retransmissions"] >= port["dropped_frames"] - SENDERS  # a dropped ACK is not sent again
    check_delivered(played, size)
    # The port carried each byte at least once, and what was dropped never left it.
    assert port["sent_bytes"] >= SENDERS * size


def test_a_nic_buffer_that_is_too_small_drops_at_the_sender_and_every_byte_is_delivered(tmp_path: Path) -> None:
    network = star(2, nic={"buffer": "20KB"}, min_rto="1ms")
    played = play(network, incast(1), 1_000_000, directory=tmp_path)
    assert played.ports["host1"]["dropped_frames"] > 0
    assert played.ports["host1"]["highest_queue_bytes"] <= 20_000
    assert played.statistics["dropped_frames"] == played.ports["host1"]["dropped_frames"]
    assert played.statistics["retransmissions"] >= played.statistics["dropped_frames"]
    assert played.table("flows")["bytes"].tolist() == [1_000_000]


def test_ports_count_what_goes_in_and_what_comes_out() -> None:
    played = play(too_small("Cubic"), incast(SENDERS), 200_000, stop_when_done=False)
    sent = {name: port["sent_frames"] for name, port in played.ports.items()}
    nics = sum(frames for name, frames in sent.items() if name.startswith("host"))
    out = sum(frames for name, frames in sent.items() if name.startswith("switch"))
    assert nics == out + played.statistics["dropped_frames"]
    assert played.statistics["packets"] == out
    for port in played.ports.values():
        assert port["dropped_bytes"] <= port["dropped_frames"] * LARGEST_FRAME


def test_one_byte_from_each_of_fifteen_queues_at_the_receivers_port() -> None:
    """From the first sender's ACK on, fifteen ACKs and fifteen frames of one byte follow each other without a gap."""
    smallest = LINE.line_ps(HEADERS)
    expected_ps = LINE.handshake_ps() + LINE.hop_ps(HEADERS) + 2 * SENDERS * smallest + LINE.delay_ps
    assert play(star(SENDERS + 1), incast(SENDERS), 1).done_ps(0) == expected_ps
