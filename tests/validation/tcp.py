"""TCP against closed forms: of one message to the picosecond, of many within what their models leave out."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

from oracles.tcp_times import HEADERS, Sender, Star, incast_ps, message_ps
from physics.test_collective_times import ACK_SHARE, SEGMENT, ring_ps
from physics.test_collective_times import network as ring_network
from physics.test_congestion import FRAME, FRAMES_PER_WINDOW, SENDERS, long_flows, settled
from physics.test_incast import sufficing
from physics.test_tcp_message import WINDOW_BYTES, open_window
from support.star_network import OPEN_WINDOW_SEGMENTS, incast, one_message, play, star

from astra_ns3.collectives.lookup import lookup
from astra_ns3.config.core.collective_kind import CollectiveKind
from validation.comparison import Comparison, Found, Group, against

US = 10**6
LINE = Star(100 * 10**9, 500_000)
MESSAGE = "tests/physics/test_tcp_message.py"
RFCS = "closed form"


def _one_segment() -> Found:
    return against(play(star(2, **open_window()), one_message(), SEGMENT).done_ps(1) / US, 3.28032, "us", 5)


def _message(size: int) -> tuple[str, Callable[[], Found]]:
    expected_us = message_ps(LINE, size, SEGMENT, Sender(OPEN_WINDOW_SEGMENTS, receive_window=WINDOW_BYTES)) / US
    return f"{expected_us:.6f} us", lambda: against(
        play(star(2, **open_window()), one_message(), size).done_ps(1) / US, expected_us, "us", 6
    )


def _slow_start(size: int) -> tuple[str, Callable[[], Found]]:
    line = Star(100 * 10**9, 5 * US)
    expected_us = message_ps(line, size, SEGMENT, Sender(10, receive_window=WINDOW_BYTES)) / US
    network = star(2, delay="5us", congestion_control="NewReno", initial_window_segments=10, window=WINDOW_BYTES)
    return f"{expected_us:.6f} us", lambda: against(
        play(network, one_message(), size).done_ps(1) / US, expected_us, "us", 6
    )


def _ring(npus: int, share: int) -> tuple[str, Callable[[], Found]]:
    expected_us = ring_ps(LINE, npus, share) / US
    schedule = lookup(CollectiveKind.ALL_REDUCE, "ring", npus)
    return f"{expected_us:.3f} us", lambda: against(
        play(ring_network(npus), schedule, share * npus).finish_ps / US, expected_us, "us"
    )


def _incast(control: str) -> Found:
    size = 2_000_000
    least_us = incast_ps(LINE, [size] * 15, SEGMENT) / US
    return against(play(sufficing(control), incast(15), size).done_ps(0) / US, least_us, "us")


def _dctcp() -> Found:
    with tempfile.TemporaryDirectory() as folder:
        queue = settled(long_flows(Path(folder), "Dctcp", "300KB"))
    return against(queue.mean() / 1000, 300, "KB", 0)


def _windows() -> Found:
    """What the lines don't hold of four windows waits."""
    with tempfile.TemporaryDirectory() as folder:
        queue = settled(long_flows(Path(folder), "NewReno"))
    return against(queue.mean() / 1000, _WINDOWS_KB, "KB", 0)


_ON_THE_LINES = LINE.round_trip_ps(SEGMENT) // LINE.line_ps(HEADERS + SEGMENT) * FRAME
_WINDOWS_KB = (SENDERS * FRAMES_PER_WINDOW * FRAME - _ON_THE_LINES) / 1000
_MESSAGE, _SLOW, _SHORT, _LONG = _message(1_000_000), _slow_start(2_000_000), _ring(8, 60_000), _ring(4, 500_000)
GROUPS = [
    Group(
        "TCP: closed forms (RFC 9293, 7323, IEEE 802.3), one switch, 100 Gb/s",
        [
            Comparison(
                "tcp-segment", "one segment on a new connection, by hand", RFCS, "3.28032 us", _one_segment, MESSAGE
            ),
            Comparison("tcp-message", "1 MB on a new connection, window open", RFCS, *_MESSAGE, MESSAGE),
            Comparison(
                "tcp-slow-start",
                "2 MB, slow start from 10 segments, NewReno, 5 us a link",
                "RFC 5681",
                *_SLOW,
                MESSAGE,
            ),
            Comparison(
                "tcp-ring",
                "ring all-reduce on 8, 60 KB a message",
                "closed form",
                *_SHORT,
                "tests/physics/test_collective_times.py",
                note="ns-3's socket sends 1 ps after it is given data",
            ),
            Comparison(
                "tcp-ring-long",
                "the same on 4, 500 KB a message",
                "closed form without ACKs",
                *_LONG,
                "tests/physics/test_collective_times.py",
                note=f"ACKs of the other direction share the line: up to {ACK_SHARE:.1%}",
            ),
            Comparison(
                "tcp-incast",
                "15 times 2 MB to one, Cubic",
                "100% of the line",
                f"{incast_ps(LINE, [2_000_000] * 15, SEGMENT) / US:,.3f} us",
                lambda: _incast("Cubic"),
                "tests/physics/test_incast.py",
                note="handshake and first round trips",
                fast=False,
            ),
            Comparison(
                "tcp-dctcp-queue",
                "DCTCP, four long flows, K = 300 KB: mean queue",
                "RFC 8257",
                "300 KB",
                _dctcp,
                "tests/physics/test_congestion.py",
                note="swings below K",
                fast=False,
            ),
            Comparison(
                "tcp-windows",
                "NewReno without marks, four windows of 0.5 MB: mean queue",
                "windows less what the lines hold",
                f"{_WINDOWS_KB:,.0f} KB",
                _windows,
                "tests/physics/test_congestion.py",
                fast=False,
            ),
        ],
    )
]
