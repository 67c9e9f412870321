"""Interpolation and extrapolation among measured times, linear in the logarithms of time and of each column."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from itertools import product
from math import exp, log, prod

from astra_ns3.errors import wrong
from astra_ns3.workload.computing.table_file import Measured, Place

_IN_PROPORTION = 1.0
"""The slope, in logarithms, along a column of which only one value was measured."""


class MeasuredGrid:
    """The measured values of each column, in order."""

    def __init__(self, measured: Measured) -> None:
        self.measured = measured
        self._values = [sorted(set(column)) for column in zip(*measured.times_ps, strict=True)]

    def outside(self, at: Place) -> str:
        """What of a place is outside of what was measured, in words; "" if nothing is."""
        for name, value, values in zip(self.measured.columns, at, self._values, strict=True):
            if not values[0] <= value <= values[-1]:
                return f"{name} {value}, measured from {values[0]} to {values[-1]}"
        return ""

    def time_ps(self, at: Place) -> int:
        """The time at a place, to the nearest picosecond.

        Within what was measured it lies in the box of measured places next around. Outside, it is that at the border,
        and goes on from there, for each column by itself, as in the last step before the border, but never shrinks.
        Raises InputError if a corner of the box wasn't measured.
        """
        border = tuple(min(max(value, values[0]), values[-1]) for value, values in zip(at, self._values, strict=True))
        logarithm = self._inside(border)
        for column, (value, edge) in enumerate(zip(at, border, strict=True)):
            if value != edge:
                logarithm += self._slope(border, column) * log(value / edge)
        return round(exp(logarithm))

    def _inside(self, at: Place) -> float:
        """The logarithm of the time in ps at a place that isn't outside."""
        sides = [_sides(value, values) for value, values in zip(at, self._values, strict=True)]
        corners = [
            (prod(share for _, share in corner), self._measured(at, tuple(value for value, _ in corner)))
            for corner in product(*sides)
        ]
        found = sum(weight * logarithm for weight, logarithm in corners)
        # A rounding error must not carry it out of the box.
        return min(max(found, min(each for _, each in corners)), max(each for _, each in corners))

    def _measured(self, at: Place, corner: Place) -> float:
        """The logarithm of the time at a place that was measured."""
        found = self.measured.times_ps.get(corner)
        if found is None:
            columns = self.measured.columns
            raise wrong(
                f"{self.measured.kind.value} at {_said(columns, at)} lies in a box whose "
                f"corner at {_said(columns, corner)} wasn't measured",
                self.measured.source,
            )
        return log(found)

    def _slope(self, border: Place, column: int) -> float:
        """How the logarithm of the time grows with that of a column, on the last step before a border."""
        values = self._values[column]
        if len(values) == 1:
            return _IN_PROPORTION
        edge = border[column]
        before = values[1] if edge == values[0] else values[-2]
        within = (*border[:column], before, *border[column + 1 :])
        return max(0.0, (self._inside(border) - self._inside(within)) / log(edge / before))


def _sides(value: int, values: Sequence[int]) -> list[tuple[int, float]]:
    """The measured neighbours of a value, and the share that each has in it; itself alone if it was measured."""
    place = bisect_left(values, value)
    if values[place] == value:
        return [(value, 1.0)]
    low, high = values[place - 1], values[place]
    part = log(value / low) / log(high / low)
    return [(low, 1 - part), (high, part)]


def _said(columns: Sequence[str], place: Place) -> str:
    return ", ".join(f"{name} {value}" for name, value in zip(columns, place, strict=True))
