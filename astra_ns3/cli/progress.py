"""The live lines on a terminal: the stage of the set-up, then how much is done, the speed and the estimated end."""

from __future__ import annotations

import os
import shutil
from typing import TextIO

from astra_ns3.experiments.progress import Progress
from astra_ns3.units import format_bytes, format_time

_SHORTEST_INTERVAL_SECONDS = 0.15
_CLEAR_LINE = "\r\x1b[2K"


class LiveLine:
    """Draws a line over and over on ``stream``, at most seven times a second; whole after each write.

    With what a run with ``--live`` tells, three lines.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._drawn_at: float | None = None
        self._last_events = 0
        self._last_seconds = 0.0
        self._events_per_second = 0.0
        self._lines = 1

    def update(self, progress: Progress) -> None:
        """Draw ``progress`` unless the line was drawn just now."""
        now = progress.wall_seconds
        if self._drawn_at is not None and now - self._drawn_at < _SHORTEST_INTERVAL_SECONDS:
            return
        if now > self._last_seconds:
            self._events_per_second = (progress.events - self._last_events) / (now - self._last_seconds)
        self._last_events, self._last_seconds, self._drawn_at = progress.events, now, now
        self._draw([progress_text(progress, self._events_per_second), *live_texts(progress)])

    def stage(self, name: str, wall_seconds: float) -> None:
        """Draw the stage of the set-up that begins, or that goes on."""
        self._last_seconds = self._drawn_at = wall_seconds
        self._draw([f"set-up: {name}  {wall_seconds:.0f} s"])

    def finish(self) -> None:
        """Take the line away; another run may use it then."""
        self._last_events, self._last_seconds, self._events_per_second = 0, 0.0, 0.0
        if self._drawn_at is not None:
            self._draw([""])
            self._drawn_at = None

    def _draw(self, lines: list[str]) -> None:
        """Replace the lines drawn before, in one write. The cursor stays in the first line."""
        columns = columns_of(self._stream)
        count = max(len(lines), self._lines)
        shown = [line[: columns - 1] for line in lines] + [""] * (count - len(lines))
        up = f"\x1b[{count - 1}A\r" if count > 1 else ""
        self._stream.write("\n".join(_CLEAR_LINE + line for line in shown) + up)
        self._stream.flush()
        self._lines = len(lines)


def columns_of(stream: TextIO) -> int:
    """How wide the terminal is that a stream leads to."""
    try:
        return os.get_terminal_size(stream.fileno()).columns
    except (OSError, ValueError):
        return shutil.get_terminal_size().columns


def progress_text(progress: Progress, events_per_second: float) -> str:
    """The line's words, within 80 columns: NPU 0 stands for all, a layer counts forward and again backward."""
    current = min(progress.passes_done + 1, progress.passes)
    left = progress.seconds_left
    return "  ".join(
        [
            f"{int(100 * progress.fraction):3d}%",
            f"pass {current}/{progress.passes}",
            f"layers {progress.steps_done}/{progress.steps}",
            f"sim {format_time(progress.time_ps)}",
            f"{_count(events_per_second)} events/s",
            f"left {clock_text(left)}" if left is not None else "left --:--",
        ]
    )


def live_texts(progress: Progress) -> list[str]:
    """Two more lines, of a run that tells what they say."""
    if progress.longest_queue is None and progress.oldest_collective is None:
        return []
    port, size = progress.longest_queue or ("", 0)
    queue = f"      longest queue  {format_bytes(size)} at {port}" if port else "      no queues"
    if progress.oldest_collective is None:
        return [queue, "      no collective goes on"]
    name, since_ps = progress.oldest_collective
    return [queue, f"      oldest collective  {name}, for {format_time(progress.time_ps - since_ps)}"]


def _count(number: float) -> str:
    for limit, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= limit:
            return f"{number / limit:.3g} {unit}"
    return f"{number:.0f} "


def clock_text(seconds: float) -> str:
    """Seconds as ``04:05``, or ``2:10:00``."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes:02d}:{rest:02d}"
