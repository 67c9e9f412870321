"""Closed forms of RoCEv2 over one store-and-forward switch; they import nothing of the program.

Sizes (InfiniBand Architecture, Annex A17; IEEE 802.3): Ethernet 14, IP 20, UDP 8, BTH 12, ICRC 4 and FCS 4 make 62
around the payload; an ACK has an AETH of 4 and no payload. A frame has 64 bytes at least; the line carries 20 more, of
preamble and gap, which no buffer holds. Times are picoseconds; a transmission is rounded to the nearest whole one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

HEADERS = 14 + 20 + 8 + 12 + 4 + 4
ACK = HEADERS + 4
CNP = HEADERS + 16
SMALLEST_FRAME = 64
LINE_GAP = 8 + 12
TELEMETRY = 42
"""Of HPCC (its paper, section 4.1: at most 42 bytes for 5 hops), on data and on ACKs."""


def buffered(packet_bytes: int) -> int:
    """What a buffer holds of a packet with its headers."""
    return max(SMALLEST_FRAME, packet_bytes)


def wire(packet_bytes: int) -> int:
    """What a line carries of it."""
    return buffered(packet_bytes) + LINE_GAP


def packets(bytes: int, payload: int) -> list[int]:
    """Payload of each packet of a message."""
    full, rest = divmod(bytes, payload)
    return [payload] * full + [rest] * (rest > 0)


class _Lines:
    """The line to the switch and the one from it: first in, first out, store and forward."""

    def __init__(self, delay_ps: int) -> None:
        self._delay_ps = delay_ps
        self._first_free = self._second_free = 0

    def pass_on(self, ready_ps: int, line_ps: int) -> int:
        """When a packet arrives that is ready at a time and takes so long on either line."""
        self._first_free = max(self._first_free, ready_ps) + line_ps
        self._second_free = max(self._second_free, self._first_free + self._delay_ps) + line_ps
        return self._second_free + self._delay_ps


@dataclass(frozen=True)
class Star:
    """Hosts around a switch: rate and delay of every line; ``telemetry`` bytes on each data packet and ACK."""

    rate_bps: int
    delay_ps: int
    telemetry: int = 0

    def line_ps(self, wire_bytes: int) -> int:
        """How long a line is busy with so many bytes."""
        return (wire_bytes * 8 * 10**12 + self.rate_bps // 2) // self.rate_bps

    def data_ps(self, payload: int) -> int:
        """A data packet on a line."""
        return self.line_ps(wire(payload + HEADERS + self.telemetry))

    def ack_ps(self) -> int:
        """An ACK on a line."""
        return self.line_ps(wire(ACK + self.telemetry))

    def round_trip_ps(self, payload: int) -> int:
        """From a packet's first bit to the last of its ACK, on idle lines."""
        return 2 * self.data_ps(payload) + 2 * self.ack_ps() + 4 * self.delay_ps

    def message_ps(self, bytes: int, payload: int) -> int:
        """A message at line rate: sent back to back, the switch sends on each packet when it has all of it."""
        return self.windowed_ps(bytes, payload, 0)

    def windowed_ps(self, bytes: int, payload: int, window: int) -> int:
        """The same with less than ``window`` bytes unacknowledged before each packet (0: no window)."""
        return self._play(bytes, payload, window)[0]

    def acknowledged_ps(self, bytes: int, payload: int) -> int:
        """When the sender has the last ACK."""
        return self._play(bytes, payload, 0)[1]

    def _play(self, bytes: int, payload: int, window: int) -> tuple[int, int]:
        """When the last packet, and its ACK, arrived. Each packet is acknowledged at once."""
        data, answers = _Lines(self.delay_ps), _Lines(self.delay_ps)
        sent = acknowledged = arrival = back = 0
        told: list[tuple[int, int]] = []  # when an ACK is back, and how much it tells of
        for size in packets(bytes, payload):
            ready = 0
            while window and sent - acknowledged >= window:
                ready, acknowledged = told.pop(0)
            arrival = data.pass_on(ready, self.data_ps(size))
            back = answers.pass_on(arrival, self.ack_ps())
            sent += size
            told.append((back, sent))
        return arrival, back

    def shared_port_ps(self, messages: Sequence[int], payload: int) -> int:
        """The last arrival of messages that meet at one port of the switch, sent at line rate by as many hosts.

        The port starts when it has the first packet whole, and never idles before it has sent all. All messages begin
        with packets of one size.
        """
        sizes = [packets(bytes, payload) for bytes in messages]
        (first,) = {each[0] for each in sizes}
        total = sum(self.data_ps(size) for each in sizes for size in each)
        return self.data_ps(first) + self.delay_ps + total + self.delay_ps

    def shared_sender_ps(self, messages: Sequence[int], payload: int) -> int:
        """The last arrival of messages that one host sends to as many others, packets in turn: all whole packets."""
        assert all(bytes % payload == 0 for bytes in messages)
        total = sum(bytes // payload for bytes in messages) * self.data_ps(payload)
        return total + self.delay_ps + self.data_ps(payload) + self.delay_ps


PAUSE = 64
"""A pause frame (IEEE 802.3, 31B)."""


def headroom_bytes(rate_bps: int, delay_ps: int, packet_bytes: int) -> int:
    """What can still arrive at a switch port once it has decided to pause the sender at the other end.

    The pause waits for a packet that the port is sending, takes its own time on the line, and travels; the sender may
    have begun a packet; what is on the line then arrives. Another packet makes up for what sizes round.
    """
    on_the_line = -(-2 * delay_ps * rate_bps // (8 * 10**12))
    return on_the_line + 3 * wire(packet_bytes) + wire(PAUSE)
