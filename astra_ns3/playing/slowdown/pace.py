"""The pace of an NPU over time: the exact time of a computation that begins at some moment."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from fractions import Fraction
from math import ceil, lcm, prod
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
        known = list(spans)
        borders = (
            {0} | {each.from_ps for each in known} | {each.until_ps for each in known if each.until_ps is not None}
        )
        self._starts_ps = sorted(borders)
        self._factors = [_factor(known, start_ps) for start_ps in self._starts_ps]
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
        for following_ps, factor in zip(self._starts_ps[index + 1 :], self._factors[index:], strict=False):
            pace = factor * stretch
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
        for start_ps, factor in zip(self._starts_ps[index:], self._factors[index:], strict=True):
            if start_ps >= now_ps:
                break
            following = self._starts_ps[index + 1] if index + 1 < len(self._starts_ps) else now_ps
            done += (min(following, now_ps) - max(start_ps, since_ps)) / (factor * stretch)
            index += 1
        return done


def _factor(spans: Iterable[Span], time_ps: int) -> Fraction:
    """The product of those that hold at a time."""
    hold = (span for span in spans if span.from_ps <= time_ps and (span.until_ps is None or time_ps < span.until_ps))
    return prod((span.factor for span in hold), start=UNCHANGED)
