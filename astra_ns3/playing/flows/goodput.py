"""Delivered bytes over time, in bounded memory."""

from __future__ import annotations

from itertools import pairwise

_MOST_POINTS = 512
_FIRST_GAP_PS = 1_000_000


class DeliveryCurve:
    """Takes (time, bytes delivered so far) as often as anybody likes, and keeps a few hundred points.

    The points are at least a gap apart, which doubles whenever there are too many.
    """

    def __init__(self) -> None:
        self._points: list[tuple[int, int]] = []
        self._gap_ps = _FIRST_GAP_PS

    def due(self, time_ps: int) -> bool:
        """Whether the last point is so long ago that one of now would be kept."""
        return not self._points or time_ps - self._points[-1][0] >= self._gap_ps

    def take(self, time_ps: int, delivered_bytes: int) -> None:
        """So much had been delivered by ``time_ps``, which never goes back."""
        if not self.due(time_ps):
            return
        self._points.append((time_ps, delivered_bytes))
        if len(self._points) > _MOST_POINTS:
            self._gap_ps *= 2
            kept = [self._points[0]]
            for point in self._points[1:]:
                if point[0] - kept[-1][0] >= self._gap_ps:
                    kept.append(point)
            self._points = kept

    def intervals(self, time_ps: int, delivered_bytes: int) -> tuple[tuple[int, int, int], ...]:
        """From, to, and the bytes delivered between; up to a present at which so much has been delivered."""
        points = self._points
        if points and time_ps > points[-1][0]:
            points = [*points, (time_ps, delivered_bytes)]
        return tuple((begin, end, max(after - before, 0)) for (begin, before), (end, after) in pairwise(points))
