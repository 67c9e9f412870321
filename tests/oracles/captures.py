"""What captures say of messages, by themselves: when the packet that completed each left every port, and its first try.

Captured are what hosts send, and what a switch sends to the one host that receives: both ends of one stream per host.
The receiver is played over what the switch sent: one that throws away what comes too early, or one that keeps it.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

_BASE_ADDRESS = 0x0A000001
_ROCE_DATA = 0x04
_FCS_BYTES = 4


@dataclass(frozen=True)
class Packet:
    """A data packet as its first bit left a port; ``begin`` and ``end`` are positions in the stream of its host."""

    time_ns: int
    source: int
    begin: int
    end: int


@dataclass(frozen=True)
class Completion:
    """The packet that completed a message; ``missing``: the byte that the receiver had waited for."""

    packet: Packet
    missing: int


def records(path: Path) -> Iterator[tuple[int, int, bytes]]:
    """Time (ns), length and bytes of each packet of a capture in nanoseconds."""
    data = path.read_bytes()
    order = "<" if data[:4] == b"\x4d\x3c\xb2\xa1" else ">"
    assert struct.unpack(order + "I", data[:4]) == (0xA1B23C4D,)
    at = 24
    while at < len(data):
        seconds, nanoseconds, kept, length = struct.unpack(order + "IIII", data[at : at + 16])
        yield seconds * 10**9 + nanoseconds, length, data[at + 16 : at + 16 + kept]
        at += 16 + kept


def roce_packets(path: Path, header_bytes: int) -> list[Packet]:
    """Data packets of a capture of RoCEv2 on Ethernet."""
    found = []
    for time_ns, length, packet in records(path):
        if packet[12:14] == b"\x08\x00" and packet[42] == _ROCE_DATA:
            (source,) = struct.unpack(">I", packet[26:30])
            (begin,) = struct.unpack(">I", packet[50:54])
            found.append(Packet(time_ns, source - _BASE_ADDRESS, begin, begin + length + _FCS_BYTES - header_bytes))
    return found


def tcp_packets(path: Path) -> list[Packet]:
    """Segments with data of a capture that begins with the IP header; streams begin at sequence number 1."""
    found = []
    for time_ns, length, packet in records(path):
        (source,) = struct.unpack(">I", packet[12:16])
        (sequence,) = struct.unpack(">I", packet[24:28])
        data = length - 20 - (packet[32] >> 4) * 4
        if data > 0:
            found.append(Packet(time_ns, source - _BASE_ADDRESS, sequence - 1, sequence - 1 + data))
    return found


def completions(arriving: Iterable[Packet], ends: Sequence[int], *, keeps_early: bool) -> list[Completion]:
    """What completed each message of a stream. ``arriving``: in order of arrival; ``ends``: behind each message."""
    expected, early, left = 0, dict[int, int](), list(ends)
    found = []
    for packet in arriving:
        before = expected
        if packet.begin > expected:
            if keeps_early:
                early[packet.begin] = max(early.get(packet.begin, 0), packet.end)
            continue
        expected = max(expected, packet.end)
        while beyond := [end for begin, end in early.items() if begin <= expected < end]:
            expected = max(beyond)
        while left and left[0] <= expected:
            left.pop(0)
            found.append(Completion(packet, before))
    assert not left
    return found


def first_ns(sent: Iterable[Packet], position: int) -> int:
    """When the host first sent a byte."""
    return min(packet.time_ns for packet in sent if packet.begin <= position < packet.end)
