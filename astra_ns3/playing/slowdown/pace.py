"""The pace of an NPU over time: the exact time of a computation that begins at some moment."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from fractions import Fraction
from itertools import accumulate
from math import ceil, lcm
from operator import mul
from typing import NamedTuple

UNCHANGED = Fraction(1)


class Span(NamedTuple):
    """From a time on, until another (None: for ever), everything takes ``factor`` times as long."""

    from_ps: int
    until_ps: int | None
    factor: Fraction


class Speeds(NamedTuple):
    """Whole units of work a picosecond: by itself, ``alone``, and ``stretched`` by a factor; exact."""

    units_per_ps: int
    """Picoseconds of work."""
    alone: int
    stretched: int


class Pace:
    """The factors of one NPU, each from a time on, as spans that hold together multiply to."""

    def __init__(self, spans: Iterable[Span]) -> None:
        steps = {0: UNCHANGED}  # what the factor is multiplied by at each time
        for from_ps, until_ps, factor in spans:
            if until_ps is None or from_ps < until_ps:
                steps[from_ps] = steps.get(from_ps, UNCHANGED) * factor
                if until_ps is not None:
                    steps[until_ps] = steps.get(until_ps, UNCHANGED) / factor
        self._starts_ps = sorted(steps)
        self._factors: list[Fraction] = list(accumulate((steps[start_ps] for start_ps in self._starts_ps), mul))
        self._changes = len(self._factors) > 1

    def speeds(self, stretch: Fraction) -> Speeds | None:
        """Return how quickly work is done; None where that changes over time."""
        if self._changes:
            return None
        alone, stretched = self._factors[0], self._factors[0] * stretch
        units = lcm(alone.numerator, stretched.numerator)
        of_each = (each.denominator * (units // each.numerator) for each in (alone, stretched))
        return Speeds(units, *of_each)

    def end_ps(self, now_ps: int, work_ps: int | Fraction, stretch: Fraction = UNCHANGED) -> int:
        """When a computation ends that begins now and takes ``work_ps`` by itself; rounded up.

        ``stretch``: a factor besides.
        """
        if not self._changes:
            pace = self._factors[0] if stretch is UNCHANGED else self._factors[0] * stretch
            # What ceil(work_ps * pace) is, in a third of the time.
            return now_ps - -work_ps.numerator * pace.numerator // (work_ps.denominator * pace.denominator)
        index = bisect_right(self._starts_ps, now_ps) - 1
        begin_ps: int | Fraction = now_ps
        for following in range(index + 1, len(self._starts_ps)):
            following_ps, pace = self._starts_ps[following], self._factors[following - 1] * stretch
            if begin_ps + work_ps * pace <= following_ps:
                return ceil(begin_ps + work_ps * pace)
            work_ps -= (following_ps - begin_ps) / pace
            begin_ps = following_ps
        return ceil(begin_ps + work_ps * self._factors[-1] * stretch)

    def work_ps(self, since_ps: int, now_ps: int, stretch: Fraction = UNCHANGED) -> Fraction:
        """Work of a computation that has been done in between."""
        if not self._changes:
            return (now_ps - since_ps) / (self._factors[0] * stretch)
        done = Fraction(0)
        index = bisect_right(self._starts_ps, since_ps) - 1
        while index < len(self._starts_ps) and self._starts_ps[index] < now_ps:
            following_ps = self._starts_ps[index + 1] if index + 1 < len(self._starts_ps) else now_ps
            lasts_ps = min(following_ps, now_ps) - max(self._starts_ps[index], since_ps)
            done += lasts_ps / (self._factors[index] * stretch)
            index += 1
        return done
