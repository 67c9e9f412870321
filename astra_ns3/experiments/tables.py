"""Rows and columns as text: what every CSV of a run is made of."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import Generic, TypeVar, overload

from astra_ns3.frozen import dataclass, replace
from astra_ns3.units import PS_PER_US

_DECIMALS = 6

Cell = str | int | None

Row = TypeVar("Row")
CellColumn = tuple[str, Callable[[Row], Cell]]
"""A column: its name, and its cell in the row of something."""

# What begins a formula for some spreadsheet, or hides its beginning.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_APOSTROPHE = "'"
_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?", re.ASCII)


class _Rows(Sequence[Sequence[Cell]], Generic[Row]):
    """A row for each of many things, made when it is asked for."""

    def __init__(self, cells: Sequence[Callable[[Row], Cell]], things: Sequence[Row]) -> None:
        self._cells, self._things = cells, things

    def __len__(self) -> int:
        return len(self._things)

    @overload
    def __getitem__(self, index: int) -> Sequence[Cell]: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[Sequence[Cell]]: ...

    def __getitem__(self, index: int | slice) -> Sequence[Cell] | Sequence[Sequence[Cell]]:
        if isinstance(index, slice):
            return _Rows(self._cells, self._things[index])
        return [cell(self._things[index]) for cell in self._cells]

    def __iter__(self) -> Iterator[Sequence[Cell]]:
        return ([cell(thing) for cell in self._cells] for thing in self._things)


@dataclass(frozen=True)
class Table:
    """One CSV file: its name, its header and its rows; None is an empty cell."""

    name: str
    header: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    job: str | None = None
    """Whose it is, of several jobs."""

    @classmethod
    def of(cls, name: str, columns: Sequence[CellColumn[Row]], things: Iterable[Row]) -> Table:
        """A row for each thing."""
        header = [column for column, _ in columns]
        kept = things if isinstance(things, Sequence) else tuple(things)
        return cls(name, header, _Rows([cell for _, cell in columns], kept))

    def of_job(self, name: str) -> Table:
        """Return the table of a job, with a column for its name in front."""
        return replace(self, job=name)

    def text(self) -> str:
        """The file's content: comma separated, one line a row, Unix line ends."""
        stream = io.StringIO()
        rows = chain((self.header,), self.rows)
        if self.job is not None:
            rows = chain((["job", *self.header],), ([self.job, *row] for row in self.rows))
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerows([inert(cell) if isinstance(cell, str) else cell for cell in row] for row in rows)
        return stream.getvalue()


def inert(cell: Row) -> Row | str:
    """Return a cell of a CSV file such that no spreadsheet runs it: behind an apostrophe if it looks like a formula.

    Numbers stay as they are; :func:`as_given` undoes it.
    """
    return f"{_APOSTROPHE}{cell}" if isinstance(cell, str) and _hides(cell) and not _NUMBER.fullmatch(cell) else cell


def as_given(cell: Row) -> Row | str:
    """Return what :func:`inert` was given."""
    return cell[1:] if isinstance(cell, str) and cell.startswith(_APOSTROPHE) and _hides(cell) else cell


def _hides(cell: str) -> bool:
    return cell.lstrip(_APOSTROPHE).startswith(_FORMULA)


def microseconds(time_ps: int) -> str:
    """``time_ps`` in microseconds with six decimals: exact, since the sixth is a picosecond."""
    sign = "-" if time_ps < 0 else ""
    whole, rest = divmod(abs(time_ps), PS_PER_US)
    return f"{sign}{whole}.{rest:06d}"


def mean_microseconds(sum_ps: int, count: int) -> str:
    """Mean of ``count`` times that add up to ``sum_ps``, rounded to a picosecond (half to even)."""
    return microseconds(_rounded_quotient(sum_ps, count))


def decimal(numerator: int, denominator: int) -> str:
    """``numerator / denominator`` with six decimals, rounded half to even from the exact quotient."""
    scaled = _rounded_quotient(numerator * 10**_DECIMALS, denominator)
    sign = "-" if scaled < 0 else ""
    whole, rest = divmod(abs(scaled), 10**_DECIMALS)
    return f"{sign}{whole}.{rest:0{_DECIMALS}d}"


def _rounded_quotient(numerator: int, denominator: int) -> int:
    """Rounded half to even; a fraction would say the same, but there may be a million rows."""
    quotient, rest = divmod(numerator, denominator)
    beyond = 2 * abs(rest) - abs(denominator)
    return quotient + (beyond > 0 or (beyond == 0 and quotient % 2 == 1))
