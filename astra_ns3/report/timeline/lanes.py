"""Tracks for slices that overlap: each goes to a track on which nothing overlaps it."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable


class Lanes:
    """Tracks that are made as they are needed. Slices come in any order; by start or by end takes fewest tracks."""

    def __init__(self, make: Callable[[], int]) -> None:
        """``make`` gives a further track."""
        self._make = make
        self._ends: list[int] = []
        self._tracks: list[int] = []
        """When the last slice of each track ends, ascending; and the tracks in the same order."""

    def track(self, start: int, end: int) -> int:
        """The track for a slice: of those that are free at its start, the one that was used last."""
        ends, tracks = self._ends, self._tracks
        place = bisect_right(ends, start) - 1
        if place < 0:
            track = self._make()
        else:
            track = tracks.pop(place)
            del ends[place]
        place = bisect_right(ends, end)
        ends.insert(place, end)
        tracks.insert(place, track)
        return track
