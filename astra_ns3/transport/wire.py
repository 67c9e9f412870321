"""How many bytes a packet takes: in IP, in a buffer, on a wire. IEEE 802.3, RFC 791, RFC 9293, RFC 7323."""

from __future__ import annotations

from astra_ns3.config.topology.idle_lines import GAP_BYTES

IPV4_HEADER_BYTES = 20
TCP_HEADER_BYTES = 20
TIMESTAMP_OPTION_BYTES = 12
"""Ten bytes, padded to a multiple of four."""
ETHERNET_HEADER_AND_FCS_BYTES = 18
SMALLEST_FRAME_BYTES = 64
PREAMBLE_AND_GAP_BYTES = GAP_BYTES
"""Eight of preamble and start delimiter, twelve of gap: on the wire only, no buffer holds them."""


def tcp_packet_bytes(data_bytes: int, *, timestamps: bool = False) -> int:
    """IP packet of a TCP segment with so many bytes of data (0: a pure acknowledgement without SACK blocks)."""
    options = TIMESTAMP_OPTION_BYTES if timestamps else 0
    return IPV4_HEADER_BYTES + TCP_HEADER_BYTES + options + data_bytes


def frame_bytes(packet_bytes: int) -> int:
    """The bytes that a buffer holds for an IP packet."""
    return max(SMALLEST_FRAME_BYTES, packet_bytes + ETHERNET_HEADER_AND_FCS_BYTES)


def wire_bytes(packet_bytes: int) -> int:
    """The bytes that a link transmits for an IP packet."""
    return frame_bytes(packet_bytes) + PREAMBLE_AND_GAP_BYTES


def segments(data_bytes: int, segment_bytes: int) -> int:
    """How many segments carry so many bytes; one at least, since an empty message rides as one byte."""
    return max(1, -(-data_bytes // segment_bytes))
