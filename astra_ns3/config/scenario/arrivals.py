"""Jobs that arrive: the keys of a scenario for them, and a scheduler's trace, a CSV file with a line for each job.

The columns are ``time,npus,workload,passes`` and, if wanted, ``name``, ``system`` and ``dimensions``. Paths in the
table begin at its folder.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Iterator, Mapping
from math import prod
from pathlib import Path
from typing import Literal, NamedTuple

from pydantic import GetJsonSchemaHandler, model_validator
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from astra_ns3.config.core.model import ConfigModel
from astra_ns3.config.core.plain import Json
from astra_ns3.config.core.reading import is_workload, read_text
from astra_ns3.config.scenario.keys import FileBeside
from astra_ns3.config.scenario.placement import PlacementKind
from astra_ns3.errors import Where, check_known, located, refuse, required, whole_number, wrong
from astra_ns3.units import counted, exact_time, parse_time_ps

NEEDED = ("time", "npus", "workload", "passes")
COLUMNS = (*NEEDED, "name", "system", "dimensions")
"""Columns of a table of arrivals: first those that it has to have."""
MOST_ARRIVALS = 30_000
"""Every job has a number among the tenants of a run."""
_MOST_NPUS = 100_000
_MOST_PASSES = 10**9
_BETWEEN = "x"


class ArrivalsConfig(ConfigModel):
    """Jobs of a table, each of which starts once enough NPUs are free and no earlier one waits."""

    file: FileBeside
    """The table."""
    system: FileBeside | None = None
    """The system file of all jobs whose line names none."""
    placement: PlacementKind = "packed"
    """The kind of placement of all jobs that arrive."""
    order: Literal["first-come"] = "first-come"
    """Who gets NPUs first. `first-come` is the only order."""

    @model_validator(mode="before")
    @classmethod
    def _file_alone(cls, data: Json) -> Json:
        """A path alone names the table."""
        return {"file": data} if isinstance(data, str) else data

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return {"anyOf": [{"type": "string"}, handler(schema)]}


class Arrival(NamedTuple):
    """A line of a table: a job that arrives at ``time_ps`` and asks for so many NPUs.

    ``dimensions``: its logical grid, the innermost dimension first. ``where``: its place in the table.
    """

    name: str
    time_ps: int
    npus: int
    workload: str
    system: str
    passes: int
    dimensions: tuple[int, ...]
    where: str


def read_arrivals(config: ArrivalsConfig) -> tuple[Arrival, ...]:
    """Return the jobs of a table, in its order; raises InputError with file and line."""
    found: list[Arrival] = []
    for line, cells in _lines(config.file):
        with located(Where(config.file, line)):
            found.append(_arrival(config, len(found) + 1, cells, f"{config.file}:{line}"))
            refuse(len(found) > MOST_ARRIVALS, f"is job {len(found):,}, expected at most {MOST_ARRIVALS:,}")
            _check_order(found[max(len(found) - 2, 0)], found[-1])
    refuse(not found, "has no rows, expected a line for each job below the names of columns", config.file)
    return tuple(found)


def _lines(path: str) -> Iterator[tuple[int, Mapping[str, str]]]:
    """Yield the number and the cells of each line below the names; empty ones and comments are left out."""
    text = enumerate(read_text(path).splitlines(), 1)
    lines = ((number, line) for number, line in text if line.strip() and not line.lstrip().startswith("#"))
    number, header = next(lines, (1, ""))
    names = [name.strip().lower() for name in header.split(",")]
    with located(Where(path, number)):
        for name in names:
            check_known("column", name, COLUMNS)
        missing = [name for name in NEEDED if name not in names]
        what = f"lacks {', '.join(missing)}" if missing else "names a column twice"
        refuse(bool(missing) or len(set(names)) < len(names), f"the header {what}; columns: {', '.join(COLUMNS)}")
    for number, line in lines:
        cells = [cell.strip() for cell in next(csv.reader([line]))]
        if len(cells) != len(names):
            raise wrong(f"found {counted(len(cells), 'column')}, expected {', '.join(names)}", Where(path, number))
        yield number, dict(zip(names, cells, strict=True))


def _arrival(config: ArrivalsConfig, number: int, cells: Mapping[str, str], place: str) -> Arrival:
    npus = whole_number("npus", _number(cells["npus"]), 1, _MOST_NPUS)
    passes = whole_number("passes", _number(cells["passes"]), 1, _MOST_PASSES)
    with located("time"):
        time_ps = parse_time_ps(cells["time"])
    name = cells.get("name") or f"arrival-{number}"
    system = _beside(config.file, "system", cells["system"]) if cells.get("system") else config.system
    words = "names no system, expected one, or system: FILE beside the table's"
    workload = _beside(config.file, "workload", cells["workload"])
    dimensions = _dimensions(cells.get("dimensions", ""), npus)
    where = f"{place}: job '{name}'"
    return Arrival(name, time_ps, npus, workload, required(system, words), passes, dimensions, where)


def _number(cell: str) -> int | str:
    """Return the number that a cell holds, or the cell, which the check of numbers refuses."""
    return int(cell) if cell.isascii() and cell.isdigit() and len(cell) < 19 else cell


def _beside(table: str, column: str, path: str) -> str:
    found = os.path.normpath(Path(table).parent / path)
    is_there = is_workload if column == "workload" else os.path.exists
    refuse(not path or not is_there(found), f"{column}: found {path!r}, expected a file; there is no {found}")
    return found


def _dimensions(cell: str, npus: int) -> tuple[int, ...]:
    """Return the sizes of the grid that a cell names, as ``8x2``; none named: one dimension."""
    if not cell:
        return (npus,)
    sizes = [_number(size.strip()) for size in cell.split(_BETWEEN)]
    whole = tuple(size for size in sizes if isinstance(size, int))
    if len(whole) < len(sizes) or prod(whole) != npus:
        raise wrong(f"dimensions: found {cell!r}, expected sizes as 8x2 that make {npus} NPUs, the innermost first")
    return whole


def _check_order(before: Arrival, last: Arrival) -> None:
    """Raise InputError for a job that arrives before that of the line above."""
    if last.time_ps < before.time_ps:
        above = exact_time(before.time_ps)
        raise wrong(f"time: found {exact_time(last.time_ps)}, expected at least {above}, that of the line above")
