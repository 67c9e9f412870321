"""Intervals of time on a track, joined where the gap between them can't be seen, so that their number is bounded."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.int64]


def joined(starts_ps: Numbers, ends_ps: Numbers, gap_ps: int) -> tuple[Numbers, Numbers]:
    """Intervals that touch, overlap, or are no further apart than ``gap_ps``, as one; in the order of their starts."""
    if not len(starts_ps):
        return starts_ps, ends_ps
    order = np.lexsort((ends_ps, starts_ps))
    starts, ends = starts_ps[order], np.maximum.accumulate(ends_ps[order])
    begins = np.concatenate([[True], starts[1:] > ends[:-1] + gap_ps])
    return starts[begins], ends[np.concatenate([begins[1:], [True]])]


class Steps:
    """Step functions of time, one for each key, each as the highest value in each of so many bins."""

    def __init__(self, end_ps: int, bins: int) -> None:
        """From 0 to ``end_ps``."""
        self.bins = max(1, min(bins, end_ps))
        self._end_ps = max(1, end_ps)
        self._highest: dict[object, npt.NDArray[np.float64]] = {}
        self._last: dict[object, npt.NDArray[np.float64]] = {}

    @property
    def edges_ps(self) -> Numbers:
        """Where each bin begins."""
        return np.arange(self.bins, dtype=np.int64) * self._end_ps // self.bins

    def add(self, key: object, times_ps: Numbers, values: npt.NDArray[np.float64]) -> None:
        """Values from those times on, in order, and later than all that were added of the key before."""
        if key not in self._highest:
            self._highest[key] = np.full(self.bins, -np.inf)
            self._last[key] = np.full(self.bins, np.nan)
        places = np.minimum(times_ps.astype(np.float64) * self.bins / self._end_ps, self.bins - 1).astype(np.int64)
        np.maximum.at(self._highest[key], places, values)
        self._last[key][places] = values  # of several in one bin, the last stays

    def keys(self) -> list[object]:
        """All keys, those with the highest values first."""
        return sorted(self._highest, key=lambda key: -float(self._highest[key].max()))

    def curve(self, key: object) -> npt.NDArray[np.float64]:
        """The highest value in each bin, that which holds from before included; nan before the first."""
        last = self._last[key]
        known = np.where(np.isnan(last), 0, np.arange(self.bins))
        held = last[np.maximum.accumulate(known)]
        before = np.concatenate([[np.nan], held[:-1]])
        found = np.fmax(self._highest[key], before)
        return np.where(np.isneginf(found), np.nan, found)
