"""A user's measured times: a CSV file with a line for each measurement."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from io import StringIO

from astra_ns3.config.core.reading import read_text
from astra_ns3.config.training_plan import OperationKind
from astra_ns3.errors import check_known, refuse
from astra_ns3.frozen import dataclass, field
from astra_ns3.units import LARGEST_INTEGER, PS_PER_MS, PS_PER_NS, PS_PER_US, counted

COORDINATES = ("m", "n", "k", "count", "flops", "bytes")
"""The coordinates that times may depend on, as they are called in
:class:`~astra_ns3.config.training_plan.Operation`."""
TIMES: Mapping[str, int] = {"time_ps": 1, "time_ns": PS_PER_NS, "time_us": PS_PER_US, "time_ms": PS_PER_MS}
"""Columns of times, one of which a file has, and their unit in picoseconds."""
_KIND = "kind"
_SHAPE = {"m", "n", "k"}
_NUMBER = re.compile(r"[0-9]{1,19}(?:\.[0-9]{1,12})?", re.ASCII)

Sizes = tuple[int, ...]


@dataclass(frozen=True)
class Measured:
    """Measurements of one kind of operation: the columns its times depend on, and the time for each, in ps."""

    source: str
    kind: OperationKind
    columns: tuple[str, ...]
    times_ps: dict[Sizes, Fraction] = field(default_factory=dict)


def read_table(path: str) -> dict[OperationKind, Measured]:
    """The measurements of each kind of operation; raises InputError with file and line."""
    return parse_table(read_text(path), path)


def parse_table(text: str, source: str) -> dict[OperationKind, Measured]:
    """The same from the file's text. Empty lines and those that begin with ``#`` are left out."""
    lines = [(number, line) for number, line in enumerate(text.splitlines(), 1) if not re.match(r"\s*(#|$)", line)]
    refuse(len(lines) < 2, "expected a line of columns and at least one measurement", source)
    rows = list(csv.reader(StringIO("\n".join(line for _, line in lines)), skipinitialspace=True))
    header = [name.strip() for name in rows[0]]
    time_column = _checked_header(f"{source}:{lines[0][0]}", header)
    tables: dict[OperationKind, Measured] = {}
    for (number, _), row in zip(lines[1:], rows[1:], strict=True):
        _add(tables, source, number, _cells(f"{source}:{number}", header, row), time_column)
    return tables


def _checked_header(where: str, header: Sequence[str]) -> str:
    """The column of times."""
    allowed = (_KIND, *COORDINATES, *TIMES)
    for name in header:
        check_known("column", name, allowed, where)
        refuse(header.count(name) > 1, f"column '{name}' is there twice", where)
    times = [name for name in header if name in TIMES]
    refuse(_KIND not in header or len(times) != 1, f"expected a column {_KIND} and one of {', '.join(TIMES)}", where)
    return times[0]


def _cells(where: str, header: Sequence[str], row: Sequence[str]) -> dict[str, str]:
    """The cells of a line, without empty ones."""
    refuse(len(row) != len(header), f"{counted(len(row), 'cell')}, expected {len(header)}", where)
    return {name: cell.strip() for name, cell in zip(header, row, strict=True) if cell.strip()}


def _add(
    tables: dict[OperationKind, Measured], source: str, number: int, cells: Mapping[str, str], time_column: str
) -> None:
    where = f"{source}:{number}"
    kinds = [kind.value for kind in OperationKind]
    word = cells.get(_KIND, "")
    check_known(_KIND, word, kinds, where)
    columns = tuple(name for name in COORDINATES if name in cells)
    refuse(
        bool(not columns or (_SHAPE & set(columns) and not set(columns) >= _SHAPE)),
        "expected m, n and k, or flops, or bytes",
        where,
    )
    table = tables.setdefault(OperationKind(word), Measured(source, OperationKind(word), columns))
    refuse(
        columns != table.columns,
        f"has {', '.join(columns)}, expected {', '.join(table.columns)} as in the lines of {word} before",
        where,
    )
    at = tuple(_whole(where, name, cells[name]) for name in columns)
    refuse(at in table.times_ps, f"{word} with these {', '.join(columns)} is there twice", where)
    table.times_ps[at] = _time_ps(where, time_column, cells.get(time_column, ""))


def _whole(where: str, name: str, cell: str) -> int:
    refuse(
        not re.fullmatch(r"[0-9]{1,19}", cell, re.ASCII) or not 1 <= int(cell) <= LARGEST_INTEGER,
        f"{name} is '{cell}', expected a whole number, at least 1",
        where,
    )
    return int(cell)


def _time_ps(where: str, name: str, cell: str) -> Fraction:
    refuse(not _NUMBER.fullmatch(cell) or not Fraction(cell), f"{name} is '{cell}', expected a number above 0", where)
    return Fraction(cell) * TIMES[name]
