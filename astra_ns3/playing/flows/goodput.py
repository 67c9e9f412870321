"""Delivered bytes over time, in bounded memory."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.int64]
Interval = tuple[int, int, int]
"""From, to, and the bytes delivered between."""

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

    @property
    def points(self) -> Sequence[tuple[int, int]]:
        """The points that are kept."""
        return self._points


def intervals_of(points: Sequence[tuple[int, int]], time_ps: int, delivered_bytes: int) -> tuple[Interval, ...]:
    """From, to, and the bytes delivered between; up to a present at which so much has been delivered."""
    if points and time_ps > points[-1][0]:
        points = [*points, (time_ps, delivered_bytes)]
    return tuple((begin, end, max(after - before, 0)) for (begin, before), (end, after) in pairwise(points))


def at_mean_rates(starts_ps: Numbers, ends_ps: Numbers, sizes_bytes: Numbers) -> tuple[Interval, ...]:
    """Return equal intervals of the time of delivered flows, as if each had gone at its mean rate.

    ``ends_ps`` is below 0 of those that aren't delivered. For a backend that counts a message when it is whole:
    counting it then would show all its bytes in one moment.
    """
    done = ends_ps >= 0
    starts, ends, sizes = starts_ps[done], ends_ps[done], sizes_bytes[done]
    if not len(sizes):
        return ()
    first, last = int(starts.min()), int(ends.max())
    edges = np.unique(np.linspace(first, last, _MOST_POINTS + 1).astype(np.int64))
    rates = sizes / np.maximum(ends - starts, 1)
    so_far = _risen(edges - first, starts - first, rates) - _risen(edges - first, ends - first, rates)
    so_far[-1] = sizes.sum()
    whole = np.maximum.accumulate(np.clip(np.rint(so_far), 0, so_far[-1]).astype(np.int64)).tolist()
    times = edges.tolist()
    return tuple(
        (begin, end, after - before)
        for (begin, end), (before, after) in zip(pairwise(times), pairwise(whole), strict=True)
    )


def _risen(times: Numbers, begins: Numbers, rates: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the sum at each time of what grows from 0 at ``rates`` from ``begins`` on."""
    order = np.argsort(begins, kind="stable")
    begun = np.searchsorted(begins[order], times, side="right")
    rate = np.concatenate([[0.0], np.cumsum(rates[order])])[begun]
    missed = np.concatenate([[0.0], np.cumsum(rates[order] * begins[order])])[begun]
    risen: npt.NDArray[np.float64] = rate * times - missed
    return risen
