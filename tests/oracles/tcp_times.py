"""Closed forms of TCP over one store-and-forward switch; they import nothing of the program.

An Ethernet frame is an IP packet with 18 bytes of header and FCS, at least 64 (IEEE 802.3, 3.2.8); the line carries 20
more, of preamble and gap, which no buffer holds. A packet without options has 40 bytes of headers (RFC 791, RFC 9293);
the SYNs carry window scale (3 bytes, RFC 7323) and SACK-permitted (2 bytes, RFC 2018), padded to 8. Timestamps (10
bytes, RFC 7323) make 12 of every packet and 16 of the SYNs' options. The window in a
SYN is never scaled (RFC 7323, 2.2), so the first flight is at most 65,535 bytes. Times are picoseconds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

HEADERS = 40
SYN_OPTIONS = 8
TIMESTAMPS = 12
SYN_OPTIONS_WITH_TIMESTAMPS = 16
UNSCALED_WINDOW = 65_535
PS_TIMES_BITS = 8 * 10**12


def buffered(ip_bytes: int) -> int:
    """What a queue holds of an IP packet."""
    return max(64, ip_bytes + 18)


def wire(ip_bytes: int) -> int:
    """What a line carries of it."""
    return buffered(ip_bytes) + 20


def segment_sizes(bytes: int, segment: int) -> list[int]:
    """Data bytes of each segment of a message."""
    full, rest = divmod(bytes, segment)
    return [segment] * full + [rest] * (rest > 0)


@dataclass(frozen=True)
class Star:
    """Two hosts and a switch: rate of each line, delay of each."""

    rate_bps: int
    delay_ps: int

    def line_ps(self, ip_bytes: int) -> int:
        """How long a packet occupies a line."""
        time_ps, rest = divmod(wire(ip_bytes) * PS_TIMES_BITS, self.rate_bps)
        assert rest == 0, "choose rates at which a byte takes whole picoseconds"
        return time_ps

    def hop_ps(self, ip_bytes: int) -> int:
        """From the first bit sent to the last bit received, one line."""
        return self.line_ps(ip_bytes) + self.delay_ps

    def handshake_ps(self, *, timestamps: bool = False) -> int:
        """Until the sender has received the SYN-ACK."""
        return 4 * self.hop_ps(HEADERS + (SYN_OPTIONS_WITH_TIMESTAMPS if timestamps else SYN_OPTIONS))

    def round_trip_ps(self, segment: int) -> int:
        """From the start of a segment to the arrival of its acknowledgement, nothing else on the way."""
        return 2 * self.hop_ps(HEADERS + segment) + 2 * self.hop_ps(HEADERS)


@dataclass(frozen=True)
class Sender:
    """A congestion window in slow start, in segments, and how its segments are acknowledged.

    RFC 5681, 3.1: it grows by at most one segment per acknowledgement; ``counts_bytes`` (RFC 3465): by as many as
    were acknowledged. The receiver acknowledges the first segment at once, as ns-3's does to speed up a connection,
    and then every ``acked`` segments (RFC 5681, 4.2).
    """

    initial_window: int
    counts_bytes: bool = False
    acked: int = 2
    receive_window: int = 2**30

    def is_acknowledged(self, segment: int) -> bool:
        """Whether the arrival of this segment, counted from 0, brings an acknowledgement."""
        return segment % self.acked == 0

    def allowed(self, acknowledgements: int, segment: int) -> int:
        """How many segments may have left after so many acknowledgements."""
        if acknowledgements == 0:
            return min(self.initial_window, UNSCALED_WINDOW // segment)
        arrived = 1 + (acknowledgements - 1) * self.acked
        growth = arrived if self.counts_bytes else acknowledgements
        return arrived + min(self.initial_window + growth, self.receive_window // segment)


def message_ps(star: Star, bytes: int, segment: int, sender: Sender, *, timestamps: bool = False) -> int:
    """From the first SYN to the arrival of a message's last byte on a new connection.

    Each packet goes through two queues, the sender's and the switch's. The handshake's last acknowledgement leaves
    before the data. Acknowledgements meet no other packet on their way back.
    """
    headers = HEADERS + (TIMESTAMPS if timestamps else 0)
    start_ps = star.handshake_ps(timestamps=timestamps)
    nic_free = start_ps + star.line_ps(headers)
    switch_free = nic_free + star.delay_ps + star.line_ps(headers)
    acknowledged: list[int] = []
    arrival_ps, needed = 0, 0
    for number, size in enumerate(segment_sizes(bytes, segment)):
        while number >= sender.allowed(needed, segment):
            needed += 1
        ready_ps = acknowledged[needed - 1] if needed else start_ps
        line_ps = star.line_ps(headers + size)
        nic_free = max(nic_free, ready_ps) + line_ps
        switch_free = max(switch_free, nic_free + star.delay_ps) + line_ps
        arrival_ps = switch_free + star.delay_ps
        if sender.is_acknowledged(number):
            acknowledged.append(arrival_ps + 2 * star.hop_ps(headers))
    return arrival_ps


def burst_ps(star: Star, bytes: int, segment: int) -> int:
    """A message that a window holds, on an open connection and idle lines: the last byte's arrival.

    The lines are equally fast, so the switch adds one transmission of the largest packet, and nothing queues there.
    """
    sizes = segment_sizes(bytes, segment)
    largest = star.line_ps(HEADERS + max(sizes))
    return sum(star.line_ps(HEADERS + size) for size in sizes) + largest + 2 * star.delay_ps


def incast_ps(star: Star, messages: Sequence[int], segment: int) -> int:
    """Least time for all these messages through one line, headers counted: what 100% of its rate would take."""
    packets = [size for message in messages for size in segment_sizes(message, segment)]
    return sum(star.line_ps(HEADERS + size) for size in packets)
