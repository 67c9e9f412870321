"""Rows and columns as text: what every CSV of a run is made of."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeVar

from astra_ns3.units import PS_PER_US

_DECIMALS = 6

Cell = str | int | None

Row = TypeVar("Row")
CellColumn = tuple[str, Callable[[Row], Cell]]
"""A column: its name, and its cell in the row of something."""

_FORMULA = ("=", "@")


@dataclass(frozen=True)
class Table:
    """One CSV file: its name, its header and its rows; None is an empty cell."""

    name: str
    header: Sequence[str]
    rows: Sequence[Sequence[Cell]]

    @classmethod
    def of(cls, name: str, columns: Sequence[CellColumn[Row]], things: Iterable[Row]) -> Table:
        """A row for each thing."""
        header = [column for column, _ in columns]
        return cls(name, header, [[cell(thing) for _, cell in columns] for thing in things])

    def text(self) -> str:
        """The file's content: comma separated, one line a row, Unix line ends."""
        return "".join(_line(row) for row in (self.header, *self.rows))


def _line(row: Sequence[Cell]) -> str:
    if any(isinstance(cell, str) and cell.startswith(_FORMULA) for cell in row):
        # A spreadsheet may take it for a formula: such cells are quoted, whatever else is in them.
        return ",".join(_quoted(cell) for cell in row) + "\n"
    stream = io.StringIO()
    csv.writer(stream, lineterminator="\n").writerow(row)
    return stream.getvalue()


def _quoted(cell: Cell) -> str:
    text = "" if cell is None else str(cell)
    if text.startswith(_FORMULA) or any(letter in text for letter in ',"\r\n'):
        return '"' + text.replace('"', '""') + '"'
    return text


def microseconds(time_ps: int) -> str:
    """``time_ps`` in microseconds with six decimals: exact, since the sixth is a picosecond."""
    sign = "-" if time_ps < 0 else ""
    whole, rest = divmod(abs(time_ps), PS_PER_US)
    return f"{sign}{whole}.{rest:06d}"


def mean_microseconds(sum_ps: int, count: int) -> str:
    """Mean of ``count`` times that add up to ``sum_ps``, rounded to a picosecond (half to even)."""
    return microseconds(round(Fraction(sum_ps, count)))


def decimal(numerator: int, denominator: int) -> str:
    """``numerator / denominator`` with six decimals, rounded half to even from the exact quotient."""
    scaled = round(Fraction(numerator * 10**_DECIMALS, denominator))
    sign = "-" if scaled < 0 else ""
    whole, rest = divmod(abs(scaled), 10**_DECIMALS)
    return f"{sign}{whole}.{rest:0{_DECIMALS}d}"
