"""Collectives over TCP against closed forms."""

from __future__ import annotations

import pytest
from oracles.tcp_times import HEADERS, Sender, Star, burst_ps, message_ps, segment_sizes
from support.star_network import OPEN_WINDOW_SEGMENTS, play, star

from astra_ns3.collectives.lookup import lookup
from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.config.network.packet_network import NetworkConfig

SEGMENT = 1460
WINDOW_BYTES = 1_000_000_000
SENDER = Sender(OPEN_WINDOW_SEGMENTS, receive_window=WINDOW_BYTES)

STEP_TOLERANCE_PS = 1
"""Per message: ns-3's socket sends one time step after it is given data on an open connection.

The closed form of a ring is sharp where a message fits into the first flight (65,535 bytes): it is in the NIC at once,
so the ACKs that each host returns to its predecessor stand behind it, not in it, and they have drained before the next
message comes.
"""
ACK_SHARE = 84 / (2 * 1538)
"""Of a line that carries long messages one way and the other direction's ACKs: one ACK for two full segments."""


def network(npus: int, gbps: int = 100) -> NetworkConfig:
    return star(npus, rate=f"{gbps}Gbps", window=WINDOW_BYTES, initial_window_segments=OPEN_WINDOW_SEGMENTS)


def ring_ps(line: Star, npus: int, share: int) -> int:
    """2(n-1) messages one after the other, the first of which opens its connection."""
    return message_ps(line, share, SEGMENT, SENDER) + (2 * (npus - 1) - 1) * burst_ps(line, share, SEGMENT)


@pytest.mark.parametrize("gbps", [100, 400])
@pytest.mark.parametrize("npus", [2, 3, 4, 8, 16])
@pytest.mark.parametrize("share", [14_600, 60_000])
def test_ring_all_reduce_of_messages_that_fit_the_first_flight(gbps: int, npus: int, share: int) -> None:
    schedule = lookup(CollectiveKind.ALL_REDUCE, "ring", npus)
    played = play(network(npus, gbps), schedule, share * npus)
    expected_ps = ring_ps(Star(gbps * 10**9, 500_000), npus, share)
    assert expected_ps <= played.finish_ps <= expected_ps + 2 * (npus - 1) * STEP_TOLERANCE_PS
    assert played.statistics["connections"] == npus


@pytest.mark.parametrize("npus", [4, 8])
def test_ring_all_reduce_of_single_segments_waits_for_at_most_an_ack_a_step(npus: int) -> None:
    line = Star(100 * 10**9, 500_000)
    played = play(network(npus), lookup(CollectiveKind.ALL_REDUCE, "ring", npus), SEGMENT * npus)
    steps = 2 * (npus - 1)
    expected_ps = ring_ps(line, npus, SEGMENT)
    assert expected_ps <= played.finish_ps <= expected_ps + steps * (line.line_ps(HEADERS) + STEP_TOLERANCE_PS)


def test_ring_all_reduce_of_long_messages_loses_no_more_than_what_acks_take() -> None:
    npus, share = 4, 2_000_000
    played = play(network(npus), lookup(CollectiveKind.ALL_REDUCE, "ring", npus), share * npus)
    expected_ps = ring_ps(Star(100 * 10**9, 500_000), npus, share)
    assert expected_ps <= played.finish_ps <= expected_ps * (1 + ACK_SHARE)
    assert played.statistics["retransmissions"] == 0


@pytest.mark.parametrize("npus", [4, 16])
def test_messages_to_all_others_share_the_senders_line(npus: int) -> None:
    """The n-1 messages of a direct all-to-all leave one NIC: n-1 times the bits of one."""
    share = 60_000
    line = Star(100 * 10**9, 500_000)
    played = play(network(npus), lookup(CollectiveKind.ALL_TO_ALL, "direct", npus), share * npus)
    bits_ps = (npus - 1) * sum(line.line_ps(HEADERS + size) for size in segment_sizes(share, SEGMENT))
    least_ps = line.handshake_ps() + bits_ps + 2 * line.delay_ps
    assert least_ps <= played.finish_ps <= least_ps * (1 + ACK_SHARE)


@pytest.mark.parametrize("algorithm", ["ring", "direct", "halvingDoubling", "doubleBinaryTree"])
def test_no_all_reduce_beats_the_bandwidth_bound(algorithm: str) -> None:
    """Every NPU sends at least 2(n-1)/n of the data: Patarasuk and Yuan's lower bound."""
    npus, size = 8, 800_000
    played = play(network(npus), lookup(CollectiveKind.ALL_REDUCE, algorithm, npus), size)
    assert played.finish_ps > 2 * (npus - 1) * (size // npus) * 80
    assert max(played.sent_bytes) >= 2 * (npus - 1) * size // npus
