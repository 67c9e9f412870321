"""Times that a user measured: exact where measured, in between by interpolation, outside not at all unless asked for.

Times that grow with a column everywhere in the table grow with it in between, too; the rules are those of
:class:`~astra_ns3.workload.computing.table.MeasuredGrid`.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from itertools import product
from math import ceil, exp, log, prod

from astra_ns3.config.training_plan import Operation, OperationKind
from astra_ns3.errors import wrong
from astra_ns3.workload.computing.clock import Clock
from astra_ns3.workload.computing.table_file import Measured, Sizes

# The slope, in logarithms, along a column of which only one value was measured.
_IN_PROPORTION = 1.0


class MeasuredGrid:
    """The measured values of each column, in order."""

    def __init__(self, measured: Measured) -> None:
        self.measured = measured
        self._values = [sorted(set(column)) for column in zip(*measured.times_ps, strict=True)]

    def outside(self, at: Sizes) -> str:
        """The coordinates of a place outside of what was measured, in words; "" if nothing is."""
        for name, value, values in zip(self.measured.columns, at, self._values, strict=True):
            if not values[0] <= value <= values[-1]:
                return f"{name} {value}, measured from {values[0]} to {values[-1]}"
        return ""

    def time_ps(self, at: Sizes) -> int:
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

    def _inside(self, at: Sizes) -> float:
        """The logarithm of the time in ps at a place that isn't outside."""
        sides = [_sides(value, values) for value, values in zip(at, self._values, strict=True)]
        corners = [
            (prod(share for _, share in corner), self._measured(at, tuple(value for value, _ in corner)))
            for corner in product(*sides)
        ]
        found = sum(weight * logarithm for weight, logarithm in corners)
        # A rounding error must not carry it out of the box.
        return min(max(found, min(each for _, each in corners)), max(each for _, each in corners))

    def _measured(self, at: Sizes, corner: Sizes) -> float:
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

    def _slope(self, border: Sizes, column: int) -> float:
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
    index = bisect_left(values, value)
    if values[index] == value:
        return [(value, 1.0)]
    low, high = values[index - 1], values[index]
    part = log(value / low) / log(high / low)
    return [(low, 1 - part), (high, part)]


def _said(columns: Sequence[str], sizes: Sizes) -> str:
    return ", ".join(f"{name} {value}" for name, value in zip(columns, sizes, strict=True))


_SHAPE = ("m", "n", "k")


class TableClock:
    """``tables``: by kind of operation. ``extrapolates``: tells times outside of what was measured, too.

    ``beside``: times the kinds of operations that no table has (None: nobody does).
    """

    def __init__(
        self, tables: Mapping[OperationKind, Measured], extrapolates: bool, beside: Clock | None = None
    ) -> None:
        self._grids = {kind: MeasuredGrid(measured) for kind, measured in tables.items()}
        self._source = next(iter(tables.values())).source
        self._extrapolates = extrapolates
        self._beside = beside

    def time_ps(self, operation: Operation) -> int:
        """See :class:`~astra_ns3.workload.computing.clock.Clock`."""
        grid = self._grids.get(operation.kind)
        if grid is not None:
            return self._measured_ps(grid, operation)
        if self._beside is None:
            raise wrong(
                f"has no times of {operation.kind.value}, which operation '{operation.name}' is; with "
                "compute.device they are those of the roofline",
                self._source,
            )
        return self._beside.time_ps(operation)

    def memory_bound(self, operation: Operation) -> bool:
        """Times that aren't in the table are as the other clock says; a measured time doesn't tell."""
        return self._beside is not None and operation.kind not in self._grids and self._beside.memory_bound(operation)

    def _measured_ps(self, grid: MeasuredGrid, operation: Operation) -> int:
        columns = grid.measured.columns
        at = _sizes(grid.measured, operation)
        products = operation.count if "m" in columns and "count" not in columns else 1
        if (exact := grid.measured.times_ps.get(at)) is not None:
            return ceil(products * exact)
        if not self._extrapolates and grid.outside(at):
            raise wrong(f"{self.outside(operation)}; measure it, or let compute.extrapolate be on")
        return products * grid.time_ps(at)

    def outside(self, operation: Operation) -> str:
        """The coordinates of an operation outside of what was measured, in words; "" if nothing is, or nobody measured
        it."""
        grid = self._grids.get(operation.kind)
        outside = grid.outside(_sizes(grid.measured, operation)) if grid is not None else ""
        where = f"{self._source}: operation '{operation.name}', a {operation.kind.value}"
        return f"{where}, has {outside}" if outside else ""


def _sizes(measured: Measured, operation: Operation) -> Sizes:
    """Where an operation is in a table; raises InputError if it doesn't say."""
    values = {"count": operation.count, "flops": operation.flops, "bytes": operation.bytes}
    if operation.shape is not None:
        values.update(zip(_SHAPE, operation.shape, strict=True))
    lacking = [name for name in measured.columns if not values.get(name)]
    if lacking:
        raise wrong(
            f"times of {measured.kind.value} depend on {', '.join(measured.columns)}, and operation "
            f"'{operation.name}' has no {lacking[0]}",
            measured.source,
        )
    return tuple(values[name] for name in measured.columns)
