"""A law of a workload's time by the money of each dimension, fitted to the splits that were played.

A dimension with money m takes a / m for its part. Parts that follow each other add up; of parts that overlap in a
pipeline the longest alone counts. Both are norms of the parts, of power 1 and of a large power, and runs lie between:

    time = constant + (sum of (a_d / m_d) ** p) ** (1 / p)

The constant is what is computed, and delays. Where messages hide behind computing, no time is below the least that was
seen. The law says where to look next, and is never taken for a time.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from astra_ns3.frozen import dataclass

Column = npt.NDArray[np.float64]
_POWERS = (1.0, 2.0, 6.0, 30.0)
"""Powers from which the fit begins."""
_LEAST_POWER, _MOST_POWER = 1.0, 60.0
_NEAR = 2.0
"""Splits count by the square of the best time over theirs."""
_TINY = 1e-12


@dataclass(frozen=True)
class Law:
    """A fitted law. ``parts``: a of each dimension; ``floor``: no time is below it, 0: there is none."""

    constant: float
    parts: tuple[float, ...]
    power: float
    floor: float = 0.0

    def seconds(self, money: Sequence[float]) -> float:
        """Return the time of a split of money."""
        packed = _packed(self.constant, self.parts, self.power)
        return max(self.floor, float(_times(packed, np.array([money], dtype=np.float64))[0]))


def fitted(money: Sequence[Sequence[float]], seconds: Sequence[float]) -> Law:
    """Fit a law to splits, an amount for each dimension, and their times."""
    from scipy.optimize import least_squares

    table, times = np.array(money, dtype=np.float64), np.array(seconds, dtype=np.float64)
    weights = (times.min() / times) ** _NEAR
    share = times.min() / 2 / len(table[0])
    parts = [share * float(np.median(column)) for column in table.T]
    best, least = Law(0.0, (), 1.0), np.inf
    for floor in (0.0, float(times.min())):

        def misses(packed: Column, floor: float = floor) -> Column:
            return np.asarray(weights * np.log(np.maximum(_times(packed, table), floor) / times))

        for power in _POWERS:
            begin = _packed(times.min() / 10, parts, power)
            low, high = np.full(len(begin), -60.0), np.full(len(begin), 60.0)
            low[-1], high[-1] = np.log(_LEAST_POWER) - _TINY, np.log(_MOST_POWER)
            found = least_squares(misses, np.clip(begin, low, high), bounds=(low, high), max_nfev=200)
            if found.cost < least * (1 - _TINY):
                constant, *amounts, strength = (float(each) for each in np.exp(found.x))
                best, least = Law(constant, tuple(amounts), strength, floor), found.cost
    return best


def _packed(constant: float, parts: Sequence[float], power: float) -> Column:
    return np.log(np.array([max(constant, _TINY), *parts, power], dtype=np.float64))


def _times(packed: Column, money: npt.NDArray[np.float64]) -> Column:
    """Return the times of rows of money."""
    each = np.exp(packed[1:-1]) / money
    longest = each.max(axis=1)
    power = np.exp(packed[-1])
    norms = longest * ((each / longest[:, None]) ** power).sum(axis=1) ** (1 / power)
    return np.asarray(np.exp(packed[0]) + norms)
