"""Numbers for figures: time in a unit that suits the longest, rounded; curves at as many points as a screen shows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import floor, log10

import numpy as np
import numpy.typing as npt

from astra_ns3.units import PS_PER_MS, PS_PER_NS, PS_PER_SECOND, PS_PER_US

_UNITS = (("s", PS_PER_SECOND), ("ms", PS_PER_MS), ("us", PS_PER_US), ("ns", PS_PER_NS), ("ps", 1))
_DIGITS = 4
_SHARES = 200


@dataclass(frozen=True)
class TimeScale:
    """A unit of time, and how many picoseconds it is."""

    unit: str
    ps: int
    decimals: int

    def of(self, time_ps: npt.ArrayLike) -> list[float]:
        """Times in the unit, rounded to what a screen shows."""
        scaled: list[float] = np.round(np.asarray(time_ps, dtype=np.float64) / self.ps, self.decimals).tolist()
        return scaled

    def one(self, time_ps: float) -> float:
        """A time in the unit."""
        return round(time_ps / self.ps, self.decimals)


def time_scale(longest_ps: float) -> TimeScale:
    """The largest unit of which the longest time has at least one; five digits of that time are kept."""
    unit, ps = next(((name, ps) for name, ps in _UNITS if longest_ps >= ps), _UNITS[-1])
    digits = floor(log10(longest_ps / ps)) if longest_ps >= ps else 0
    return TimeScale(unit, ps, max(0, _DIGITS - digits))


def shares(values: npt.NDArray[np.float64], points: int = _SHARES) -> tuple[list[float], list[float]]:
    """Of a distribution: values in ascending order, the share that is at most that; half of the points in the tail."""
    share = np.unique(np.round(np.concatenate([np.linspace(0, 0.9, points // 2), np.linspace(0.9, 1, points // 2)]), 4))
    found = np.quantile(values, share, method="inverted_cdf")
    return [significant(value) for value in found], share.tolist()


def significant(value: float) -> float:
    """Five significant digits."""
    return float(f"{value:.5g}")


def sample(values: list[int], most: int) -> list[int]:
    """At most so many of the values, evenly spread, the first and the last among them."""
    if len(values) <= most:
        return values
    return [values[round(place * (len(values) - 1) / (most - 1))] for place in range(most)] if most > 1 else values[:1]


def short(names: Iterable[str], longest: int = 26) -> list[str]:
    """Names cut to a length for an axis."""
    return [name if len(name) <= longest else f"{name[: longest - 1]}…" for name in names]
