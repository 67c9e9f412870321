"""The time that a frame takes for the lines of an idle path, whose switches store it or cut through."""

from __future__ import annotations

from collections.abc import Sequence

from astra_ns3.units import PS_PER_SECOND

GAP_BYTES = 20
"""Preamble, start delimiter and gap around a frame (IEEE 802.3): on the line only."""


def idle_lines_ps(size_bytes: int, rates_bps: Sequence[int], cut_through: Sequence[int] = ()) -> int:
    """Time that the lines of an idle path take for one frame, from its first bit to its last, delays left out.

    ``size_bytes``: on the line. ``cut_through``: of each switch between two lines, the bytes of a frame that must be
    there before it sends the frame on, 0 for all; empty: all store. None sends what its next line would run out of.
    """
    head = tail = 0
    for number, rate_bps in enumerate(rates_bps):
        line = transmission_ps(size_bytes, rate_bps)
        start = head if head + line >= tail else tail
        head = tail = start + line
        head_bytes = cut_through[number] if number < len(cut_through) else 0
        if 0 < head_bytes < size_bytes - GAP_BYTES:
            head = start + transmission_ps(head_bytes + GAP_BYTES, rate_bps)
    return tail


def transmission_ps(size_bytes: int, rate_bps: int) -> int:
    """Time that a link is busy with so many bytes, rounded up to a whole picosecond."""
    return -(-size_bytes * 8 * PS_PER_SECOND // rate_bps)
