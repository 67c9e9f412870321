"""Curves and intervals with as many points as can be told apart."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Generic, TypeVar

import numpy as np
import numpy.typing as npt

from astra_ns3.report.tables import Numbers

Item = TypeVar("Item")
Key = TypeVar("Key")
Real = npt.NDArray[np.float64]
MOST_POINTS = 1_500
"""Points of a line in a file: more can't be told apart at a column's width."""
LEAST_HEIGHT = 0.1
"""A share of a span of time is drawn at least so high, of the height of the whole span, to be seen."""
_SHARES = 200


def gathered(rows: Iterable[tuple[Key, Numbers, Numbers]]) -> dict[Key, tuple[Numbers, Numbers]]:
    """Return both columns of each key, whose rows come in parts."""
    parts: dict[Key, tuple[list[Numbers], list[Numbers]]] = {}
    for key, first, second in rows:
        own = parts.setdefault(key, ([], []))
        own[0].append(first)
        own[1].append(second)
    return {key: (np.concatenate(first), np.concatenate(second)) for key, (first, second) in parts.items()}


def steps(times: Numbers, values: Numbers, until: int, most: int = MOST_POINTS) -> tuple[Numbers, Numbers]:
    """Return points of a line that holds each value until the next time, and the last one up to ``until``.

    ``times`` ascending. Of more points than can be told apart, those stay that are first, last, least or highest within
    one of ``most`` equal spans of time, so that the picture is the same.
    """
    if not len(times):
        return times, values
    times, values = np.append(times, max(until, int(times[-1]))), np.append(values, values[-1])
    if len(times) <= 4 * most:
        return times, values
    first, last = int(times[0]), int(times[-1])
    span = (times - first) // max(1, -(-(last + 1 - first) // most))
    rank = np.lexsort((values, span))  # by span, and by value in it
    edge = np.flatnonzero(np.diff(span)) + 1  # each span has its rows at the same places, sorted or not
    begins, ends = np.append(0, edge), np.append(edge, len(span)) - 1
    kept = np.unique(np.concatenate([begins, ends, rank[begins], rank[ends]]))
    return times[kept], values[kept]


def merged(starts: Numbers, ends: Numbers, gap: float) -> tuple[Numbers, Numbers]:
    """Return intervals that touch, overlap, or are no further apart than ``gap``, as one; in the order of starts."""
    if not len(starts):
        return starts, ends
    order = np.argsort(starts, kind="stable")
    starts, reached = starts[order], np.maximum.accumulate(ends[order])
    new = np.append(True, starts[1:] > reached[:-1] + gap)
    return starts[new], reached[np.append(new[1:], True)]


def in_flight(starts: Numbers, ends: Numbers) -> tuple[Numbers, Numbers]:
    """Return times, and in how many of the intervals each is, and what follows up to the next."""
    times, place = np.unique(np.concatenate([starts, ends]), return_inverse=True)
    change = np.zeros(len(times), dtype=np.int64)
    np.add.at(change, place, np.repeat([1, -1], len(starts)))
    return times, np.cumsum(change)


def covered(starts: Numbers, ends: Numbers, edges: Real) -> Real:
    """Return which share of each span between ``edges`` lies in one of the intervals, which don't overlap."""
    order = np.argsort(starts, kind="stable")
    starts, ends = starts[order], ends[order]
    until = np.concatenate([[0], np.cumsum(ends - starts)])
    times = np.stack([starts, ends], axis=1).ravel()
    so_far = np.interp(edges, times, np.repeat(until, 2)[1:-1]) if len(times) else np.zeros(len(edges))
    shares: Real = np.diff(so_far) / np.diff(edges)
    return shares


def heights(spans: Real) -> Real:
    """Return how high shares of spans of time are drawn, where the whole span has the height 1."""
    return np.where(spans > 0, np.maximum(spans, LEAST_HEIGHT), 0.0)


def shares(values: Real, points: int = _SHARES) -> tuple[Real, Real]:
    """Return values in ascending order, and the share that is at most each; half of the points in the last tenth."""
    share = np.unique(np.round(np.concatenate([np.linspace(0, 0.9, points // 2), np.linspace(0.9, 1, points // 2)]), 4))
    return np.quantile(values, share, method="inverted_cdf"), share


def evenly(items: Sequence[Item], most: int) -> list[Item]:
    """Return at most ``most`` of the items, the first and the last among them, evenly apart."""
    if len(items) <= most:
        return list(items)
    return [items[index] for index in np.linspace(0, len(items) - 1, most).round().astype(int)]


class Steps(Generic[Key]):
    """Step functions of time, one for each key, each as the highest value in each of so many bins."""

    def __init__(self, end_ps: int, bins: int) -> None:
        """From 0 to ``end_ps``."""
        self.bins = max(1, min(bins, end_ps))
        self._end_ps = max(1, end_ps)
        self._highest: defaultdict[Key, Real] = defaultdict(lambda: np.full(self.bins, -np.inf))
        self._last: defaultdict[Key, Real] = defaultdict(lambda: np.full(self.bins, np.nan))

    @property
    def edges_ps(self) -> Numbers:
        """Where each bin begins."""
        return np.arange(self.bins, dtype=np.int64) * self._end_ps // self.bins

    def add(self, key: Key, times_ps: Numbers, values: Real) -> None:
        """Add values from those times on, in order, and later than all that were added of the key before."""
        places = np.minimum(times_ps.astype(np.float64) * self.bins / self._end_ps, self.bins - 1).astype(np.int64)
        np.maximum.at(self._highest[key], places, values)
        self._last[key][places] = values  # of several in one bin, the last stays

    def keys(self) -> list[Key]:
        """Return all keys, those with the highest values first."""
        return sorted(self._highest, key=lambda key: -float(self._highest[key].max()))

    def curve(self, key: Key) -> Real:
        """Return the highest value in each bin, that which holds from before included; nan before the first."""
        last = self._last[key]
        known = np.where(np.isnan(last), 0, np.arange(self.bins))
        held = last[np.maximum.accumulate(known)]
        before = np.concatenate([[np.nan], held[:-1]])
        found = np.fmax(self._highest[key], before)
        return np.where(np.isneginf(found), np.nan, found)

    def top(self, keys: Sequence[Key]) -> float:
        """Return the highest value of some keys; 0 of none."""
        return max((float(np.nanmax(self.curve(key))) for key in keys), default=0.0)
