"""When frames arrive over a row of lines by credit, by the rule alone.

A frame starts when the line is free, the frame is there, and the frame that used its place in the next buffer before
has left that buffer, an update and the line's delay ago. A frame leaves a switch when its last bit is on the next line,
and a host when its last bit is there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Line:
    """A line and what lies behind it; the rate in Gb/s."""

    gbps: int
    delay_ps: int

    def line_ps(self, wire_bytes: int) -> int:
        """Return the time of so many bytes."""
        return wire_bytes * 8000 // self.gbps


def arrivals(lines: Sequence[Line], wire_bytes: Sequence[int], places: int, update_ps: int) -> list[int]:
    """Return when each frame's last bit is at the end of the last line; each buffer has places for so many frames."""
    starts: list[list[int]] = [[] for _ in lines]
    ends: list[int] = []
    for frame, size in enumerate(wire_bytes):
        there_ps = 0
        for number, line in enumerate(lines):
            start_ps = there_ps
            if frame > 0:
                start_ps = max(start_ps, starts[number][-1] + line.line_ps(wire_bytes[frame - 1]))
            if frame >= places:
                before = frame - places
                left_ps = starts[number][before] + line.line_ps(wire_bytes[before]) + line.delay_ps
                if number + 1 < len(lines):
                    left_ps = starts[number + 1][before] + lines[number + 1].line_ps(wire_bytes[before])
                start_ps = max(start_ps, left_ps + line.delay_ps + update_ps)
            starts[number].append(start_ps)
            there_ps = start_ps + line.line_ps(size) + line.delay_ps
        ends.append(there_ps)
    return ends
