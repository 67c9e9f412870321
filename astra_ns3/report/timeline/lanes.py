"""Tracks for slices that overlap: each goes to a track on which nothing overlaps it."""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Callable


class Lanes:
    """Tracks that are made as they are needed. Any order of slices will do; by start or by end takes fewest tracks."""

    def __init__(self, make: Callable[[], int]) -> None:
        """``make`` gives a further track."""
        self._make = make
        self._last: list[tuple[int, int]] = []
        """Of each track when its last slice ends, and its number; ascending."""

    def track(self, start: int, end: int) -> int:
        """The track for a slice: of those that are free at its start, the one that was used last."""
        place = bisect_right(self._last, start, key=_end) - 1
        track = self._make() if place < 0 else self._last.pop(place)[1]
        insort(self._last, (end, track))
        return track


def _end(last: tuple[int, int]) -> int:
    return last[0]
