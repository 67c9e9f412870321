"""When a tree of reducing switches ends an all-reduce of one piece, by the lines alone.

Members send together. All of a piece has come to a switch's reducer once the last line below it has carried all frames,
and the reducer's own line, which takes no time here, has passed on the last. The sum goes up as a message of its own,
and the root's sum comes down the same way. A switch tells who sent it the last packet that it has come, by an
acknowledgement that leaves just before the sum and is in front of it on the line down.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Level:
    """Lines from the nodes of a level up to their switches, and what a reducer there waits for besides."""

    gbps: int
    delay_ps: int
    latency_ps: int

    def line_ps(self, wire_bytes: int) -> int:
        """Return the time of so many bytes; the rate divides the time of a byte."""
        return wire_bytes * 8000 // self.gbps


def all_reduce_ps(
    levels: Sequence[Level],
    frames: int,
    frame_bytes: int,
    acknowledgement_bytes: int,
    back_frames: int | None = None,
) -> int:
    """Return when the last member has the sum of a piece of so many frames, members first among the levels.

    ``back_frames``: of what comes back instead, if a storage host is above the last level's line.
    """
    way_ps = 0
    for level in levels:
        both = frames + (frames if back_frames is None else back_frames)
        way_ps += both * level.line_ps(frame_bytes) + 2 * (level.delay_ps + level.latency_ps // 2)  # up and down
    for lower in levels[:-1]:  # a sum leaves the reducer by its line, on to the switch above
        way_ps += 2 * (lower.latency_ps // 2)
    # Of all acknowledgements the root's alone is in front of a sum: those of lower levels were sent long before.
    return way_ps + levels[-1].line_ps(acknowledgement_bytes)
