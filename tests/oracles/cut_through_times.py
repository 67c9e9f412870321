"""Times over idle lines whose switches cut through; they import nothing of the program.

Frame by frame and switch by switch, as a person would: a switch sends a frame on when its first bytes (`cut_bytes`)
have come, if its line stands free and takes at least as long as the rest of the frame still needs; else it waits for
the last bit and for the line. Times are picoseconds, a transmission is rounded to the nearest whole one. 20 bytes of
preamble and gap go around a frame and stand before its head.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

LINE_GAP = 20


def line_ps(wire_bytes: int, rate_bps: int) -> int:
    """How long a line is busy with so many bytes."""
    return (wire_bytes * 8 * 10**12 + rate_bps // 2) // rate_bps


@dataclass(frozen=True)
class Line:
    """A line, its propagation delay, and what the switch at its end waits for of a frame (0: all; no switch: 0)."""

    rate_bps: int
    delay_ps: int
    cut_bytes: int = 0


def arrival_ps(lines: Sequence[Line], frames: Sequence[int]) -> int:
    """When the last bit of the last frame is there, if the first line sends all frames (bytes on the line) in a row."""
    free = [0] * len(lines)
    arrival = 0
    for wire_bytes in frames:
        starts = [0]
        for number, line in enumerate(lines):
            begin = max(starts[-1], free[number]) if number == 0 else starts[-1]
            takes = line_ps(wire_bytes, line.rate_bps)
            free[number] = begin + takes
            arrival = begin + takes + line.delay_ps
            if number + 1 < len(lines):
                starts.append(_start_ps(line, lines[number + 1], free[number + 1], wire_bytes, begin, arrival))
    return arrival


def _start_ps(line: Line, following: Line, free_ps: int, wire_bytes: int, begin_ps: int, arrival_ps: int) -> int:
    """When the switch between two lines sends a frame that began on the first of them at ``begin_ps``."""
    head_bytes = line.cut_bytes + LINE_GAP
    if line.cut_bytes and head_bytes < wire_bytes:
        head_ps = begin_ps + line_ps(head_bytes, line.rate_bps) + line.delay_ps
        stands_free = free_ps <= head_ps
        has_all_in_time = arrival_ps <= head_ps + line_ps(wire_bytes, following.rate_bps)
        if stands_free and has_all_in_time:
            return head_ps
    return max(arrival_ps, free_ps)


def equal_lines_ps(lines: int, rate_bps: int, delay_ps: int, cut_bytes: int, frames: int, wire_bytes: int) -> int:
    """The closed form over equal lines: the frames once, and a head for each switch."""
    heads = (lines - 1) * line_ps(cut_bytes + LINE_GAP, rate_bps)
    return frames * line_ps(wire_bytes, rate_bps) + heads + lines * delay_ps
