"""One TCP message between two hosts, against closed forms to the picosecond."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from oracles.tcp_times import HEADERS, Sender, Star, burst_ps, message_ps
from support.star_network import OPEN_WINDOW_SEGMENTS, Row, by_hand, one_message, play, star

from astra_ns3.config.network.packet_network import parse_network

WINDOW_BYTES = 1_000_000_000
SEGMENT = 1460
GBPS = 10**9
US = 1_000_000
BBR_START = 1.1
"""Headers take 5.3% of the line, and BBR finds its rate within 2 ms."""
LOSS_DRAWN = 0.7, 1.7
"""About 56 losses are drawn; a timeout costs 1 ms, and bursts of losses are one to the window."""
NEXT_STEP_PS = 1
"""ns-3's socket sends one time step after it is given data on a connection that is open (TcpSocketBase::Send)."""


def open_window(**keys: object) -> dict[str, Any]:
    return {"window": WINDOW_BYTES, "initial_window_segments": OPEN_WINDOW_SEGMENTS, **keys}


@pytest.mark.parametrize("gbps", [25, 100, 400])
@pytest.mark.parametrize("delay_ps", [0, 500_000, 5 * US])
@pytest.mark.parametrize("size", [1, SEGMENT, SEGMENT + 1, 64_240, 100_000, 1_000_000])
def test_a_message_takes_handshake_serialisation_and_delays(gbps: int, delay_ps: int, size: int) -> None:
    network = star(2, rate=f"{gbps}Gbps", delay=f"{delay_ps}ps", **open_window())
    sender = Sender(OPEN_WINDOW_SEGMENTS, receive_window=WINDOW_BYTES)
    expected_ps = message_ps(Star(gbps * GBPS, delay_ps), size, SEGMENT, sender)
    assert play(network, one_message(), size).done_ps(1) == expected_ps


def test_one_segment_at_100_gbps_and_500_ns_takes_3280_ns_by_hand() -> None:
    # SYN and SYN-ACK: 48 bytes of IP, 86 on the wire, 6.88 ns, two lines each: 4 x 506.88 = 2027.52.
    # Then the handshake's ACK (84 bytes, 6.72) and the segment (1538 bytes, 123.04) on two lines: 6.72 + 2 x 623.04.
    network = star(2, **open_window())
    assert play(network, one_message(), SEGMENT).done_ps(1) == 2_027_520 + 6_720 + 2 * 623_040


@pytest.mark.parametrize("gbps", [10, 100, 400])
def test_bbr_fills_a_line_of_any_rate(gbps: int) -> None:
    """BBR alone paces; ns-3's own limit of 4 Gb/s on pacing is lifted."""
    size = gbps * GBPS // 8 // 500  # 2 ms of the line
    network = star(2, rate=f"{gbps}Gbps", congestion_control="Bbr")
    line_ps = size * 8 * 1000 // gbps
    assert line_ps < play(network, one_message(), size).done_ps(1) < BBR_START * line_ps


@pytest.mark.parametrize("control", ["Dctcp", "LinuxReno"])
@pytest.mark.parametrize("marks", [True, False])
def test_losses_slow_dctcp_as_they_slow_reno(control: str, marks: bool) -> None:
    """RFC 8257, section 3.5. With 1% lost, rate = segment / round trip * sqrt(3 / 2 / p) (Mathis et al. 1997)."""
    link = {"rate": "100Gbps", "delay": "500ns"}
    switch = {"buffer": "128MB", **({"ecn": "scaled"} if marks else {})}
    far = {**link, "delay": "50us", "error_rate": 0.01}
    topology = {"kind": "dumbbell", "left": 1, "right": 1, "link": link, "bottleneck": far, "switch": switch}
    tcp = {"kind": "tcp", "congestion_control": control, "window": "8MB", "mtu": 9000, "min_rto": "1ms"}
    network = parse_network({"topology": topology, "transport": tcp})
    size, segment, round_trip_ps = 50_000_000, 8948, 102.7 * US
    mathis_ps = size / segment * round_trip_ps / (1.5 / 0.01) ** 0.5
    assert LOSS_DRAWN[0] * mathis_ps < play(network, one_message(), size).done_ps(1) < LOSS_DRAWN[1] * mathis_ps


@pytest.mark.parametrize("size", [0, 1])
def test_an_empty_message_rides_as_one_byte(size: int, tmp_path: Path) -> None:
    played = play(star(2), one_message(), size, directory=tmp_path, stop_when_done=False)
    assert played.table("flows")["bytes"].tolist() == [1]
    # SYN, ACK and one data packet; 41 bytes of IP are below the least frame of 64.
    assert played.ports["host0"]["sent_frames"] == 3
    assert played.ports["host0"]["sent_bytes"] == (48 + 18) + 64 + 64


@pytest.mark.parametrize(("mtu", "timestamps", "segment"), [(1500, True, 1448), (9000, False, 8960)])
def test_headers_and_options_are_on_the_wire(mtu: int, timestamps: bool, segment: int) -> None:
    network = star(2, **open_window(mtu=mtu, timestamps=timestamps))
    sender = Sender(OPEN_WINDOW_SEGMENTS, receive_window=WINDOW_BYTES)
    expected_ps = message_ps(Star(100 * GBPS, 500_000), 2_000_000, segment, sender, timestamps=timestamps)
    assert play(network, one_message(), 2_000_000).done_ps(1) == expected_ps


@pytest.mark.parametrize("size", [1, SEGMENT, 14_600, 60_000])
def test_a_message_on_an_open_connection_has_no_handshake(size: int, tmp_path: Path) -> None:
    """There and back three times; the ACK of the message before may stand in front of it on the sender's line."""
    rows = [Row(step % 2, 1 - step % 2, step, wait_step=step - 1, wait_count=int(step > 0)) for step in range(6)]
    network = star(2, **open_window())
    flows = play(network, by_hand(2, rows), size, directory=tmp_path).table("flows")
    star_100 = Star(100 * GBPS, 500_000)
    expected_ps = burst_ps(star_100, size, SEGMENT)
    taken = (flows["end_ps"] - flows["start_ps"]).tolist()
    assert len(taken) == 6
    assert min(taken[:2]) > expected_ps + star_100.handshake_ps()
    assert all(expected_ps <= time <= expected_ps + star_100.line_ps(HEADERS) + NEXT_STEP_PS for time in taken[2:])


@pytest.mark.parametrize(
    ("congestion_control", "counts_bytes", "acked", "delay_ps"),
    [
        ("NewReno", False, 1, 50 * US),
        ("NewReno", False, 2, 5 * US),
        ("NewReno", False, 2, 500_000),
        ("LinuxReno", True, 2, 5 * US),
        ("LinuxReno", True, 1, 50 * US),
    ],
)
@pytest.mark.parametrize("size", [10 * SEGMENT, 10 * SEGMENT + 1, 500_000, 2_000_000])
def test_slow_start_from_ten_segments(
    congestion_control: str, counts_bytes: bool, acked: int, delay_ps: int, size: int
) -> None:
    network = star(
        2,
        delay=f"{delay_ps}ps",
        congestion_control=congestion_control,
        delayed_ack_count=acked,
        initial_window_segments=10,
        window=WINDOW_BYTES,
    )
    sender = Sender(10, counts_bytes, acked, WINDOW_BYTES)
    expected_ps = message_ps(Star(100 * GBPS, delay_ps), size, SEGMENT, sender)
    assert play(network, one_message(), size).done_ps(1) == expected_ps


@pytest.mark.parametrize("last_round", [10, 20, 40, 80])
def test_slow_start_doubles_every_round_trip(last_round: int) -> None:
    """Rounds are of 10, 20, 40 and 80 segments when each is acknowledged; one more segment costs a round trip."""
    delay_ps = 50 * US
    until_then = 2 * last_round - 10
    keys: dict[str, Any] = {"delay": f"{delay_ps}ps", "delayed_ack_count": 1, "window": WINDOW_BYTES}
    full, one_more = (
        play(star(2, **keys), one_message(), segments * SEGMENT).done_ps(1) for segments in (until_then, until_then + 1)
    )
    line = Star(100 * GBPS, delay_ps)
    # It leaves when the round's first segment is acknowledged; the round's last one is that many behind the first.
    assert one_more - full == line.round_trip_ps(SEGMENT) - (last_round - 1) * line.line_ps(HEADERS + SEGMENT)


def test_a_connection_cannot_have_more_than_its_window_on_the_way() -> None:
    """A window below the bandwidth-delay product gives about a window per round trip, never more."""
    window, delay_ps, size = 100_000, 20 * US, 5_000_000
    network = star(2, delay=f"{delay_ps}ps", window=window, initial_window_segments=OPEN_WINDOW_SEGMENTS)
    time_ps = play(network, one_message(), size).done_ps(1)
    round_trips = size / window
    round_trip_ps = 4 * delay_ps
    assert time_ps >= (round_trips - 1) * round_trip_ps
    # Whole segments, delayed ACKs and the handshake cost less than a tenth.
    assert time_ps <= 1.1 * round_trips * round_trip_ps


def test_a_message_of_more_than_4_gib() -> None:
    """Byte counts are 64 bits wide end to end. The largest IP packets there are make it 65,594 of them."""
    size, segment = 2**32 + 1_000_000, 65_535 - HEADERS
    window = 250 * segment
    played = play(star(2, mtu=65_535, window=window, initial_window_segments=1000), one_message(), size)
    sender = Sender(1000, receive_window=window)
    assert played.done_ps(1) == message_ps(Star(100 * GBPS, 500_000), size, segment, sender)
    assert played.sent_bytes == [size, 0]
    packets = -(-size // segment)
    assert played.ports["host0"]["sent_frames"] == packets + 2  # a SYN and the handshake's ACK
    assert played.ports["host0"]["sent_bytes"] == size + packets * (HEADERS + 18) + (48 + 18) + 64
    assert played.statistics["retransmissions"] == 0
