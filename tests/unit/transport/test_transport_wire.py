"""Bytes of a packet in IP, in a buffer and on a wire."""

from __future__ import annotations

import pytest

from astra_ns3.config.topology.idle_lines import transmission_ps
from astra_ns3.transport import wire


@pytest.mark.parametrize(
    ("packet_bytes", "frame_bytes", "wire_bytes"),
    [(40, 64, 84), (46, 64, 84), (47, 65, 85), (1500, 1518, 1538), (9000, 9018, 9038)],
)
def test_a_frame_adds_18_bytes_has_64_at_least_and_20_more_on_the_wire(
    packet_bytes: int, frame_bytes: int, wire_bytes: int
) -> None:
    assert wire.frame_bytes(packet_bytes) == frame_bytes
    assert wire.wire_bytes(packet_bytes) == wire_bytes


def test_headers_take_40_bytes_and_timestamps_12_more() -> None:
    assert wire.tcp_packet_bytes(1460) == 1500
    assert wire.tcp_packet_bytes(1448, timestamps=True) == 1500


def test_a_link_is_busy_for_its_bits_over_its_rate_rounded_up() -> None:
    assert transmission_ps(1538, 100 * 10**9) == 123_040
    assert transmission_ps(1036, 400 * 10**9) == 20_720
    assert transmission_ps(1, 3) == 2_666_666_666_667


def test_a_message_takes_as_many_segments_as_it_fills_and_one_at_least() -> None:
    assert [wire.segments(size, 1460) for size in (0, 1, 1460, 1461)] == [1, 1, 1, 2]
