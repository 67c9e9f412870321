"""Our own list of flows, a CSV with a header: ``source,destination,bytes,start,after``.

``bytes`` and ``start`` take units (``2MB``, ``10us``; a bare number of bytes is bytes); ``start`` may be left out, or
empty: 0. ``after`` names the flows, by their place in the file from 0, that have to be delivered before, several with
blanks or semicolons between them.
"""

from __future__ import annotations

import csv
import re

from astra_ns3.config.flow_list import MOST_FLOWS, FlowList, gates_of_parents
from astra_ns3.errors import InputError, Where, nearest, refuse, wrong
from astra_ns3.units import counted, parse_bytes, parse_time_ps
from astra_ns3.workload.files.flows.columns import FlowColumns, lines_of, whole_number

FORMAT = "flows CSV"
COLUMNS = ("source", "destination", "bytes", "start", "after")
_NEEDED = COLUMNS[:3]
_FEWEST_COLUMNS = 2
_BETWEEN = re.compile(r"[;\s]+")
_WORDS = re.compile(r"""[\s,;"']+""")
_TIME = re.compile(r"([0-9]{1,15})(ps|ns|us|ms)", re.ASCII)
_TIME_UNITS = {"ps": 1, "ns": 10**3, "us": 10**6, "ms": 10**9}


def looks_like(head: list[list[str]]) -> bool:
    """Whether the words of a file's first lines are those of such a file."""
    if not head:
        return False
    names = _names(" ".join(head[0]))
    # No other format's first line is one word with commas: what it lacks of ours is told when it is read.
    separated = len(head[0]) == 1 and len(names) > _FEWEST_COLUMNS
    return separated or len(set(_WORDS.split(" ".join(head[0]).lower())) & set(COLUMNS)) > 1


def read(path: str) -> FlowList:
    """The flows of a file; raises InputError with file, lines and what was expected."""
    lines = lines_of(path)
    number, header = next(lines, (1, ""))
    column_of = _column_numbers(path, number, header)
    columns, after = FlowColumns(path), list[tuple[int, ...]]()
    width = len(column_of)
    for number, line in lines:
        cells = line.rstrip("\n").split(",") if '"' not in line else next(csv.reader([line]))
        try:
            if len(cells) != width:
                raise ValueError(f"found {counted(len(cells), 'column')}, expected {width}: {', '.join(column_of)}")
            _append(columns, after, number, [cell.strip() for cell in cells], column_of)
        except (ValueError, InputError) as error:
            columns.complain(number, str(error))
    columns.check()
    if not any(after):
        return columns.finish(FORMAT)
    waits_for, gates = gates_of_parents(after)
    return columns.finish(FORMAT, waits_for=waits_for, gates=gates)


def _names(header: str) -> list[str]:
    return [name.strip().strip('"').lower() for name in header.split(",")]


def _column_numbers(path: str, number: int, header: str) -> dict[str, int]:
    """Return the number of each column; raises InputError."""
    refuse(
        "," not in header,
        f"the header has no commas, which separate columns; expected {','.join(COLUMNS)}",
        Where(path, number),
    )
    names = _names(header)
    unknown = [name for name in names if name not in COLUMNS]
    missing = [name for name in _NEEDED if name not in names]
    if unknown:
        others = f", so is '{unknown[1]}'" if unknown[1:] else ""
        raise wrong(
            f"column '{unknown[0]}' is unknown{others}; allowed: {', '.join(COLUMNS)}{nearest(unknown[0], COLUMNS)}",
            Where(path, number),
        )
    if missing or len(set(names)) < len(names):
        what = f"lacks {', '.join(missing)}" if missing else "names a column twice"
        raise wrong(f"the header {what}; columns: {', '.join(COLUMNS)}", Where(path, number))
    return {name: index for index, name in enumerate(names)}


def _append(
    columns: FlowColumns, after: list[tuple[int, ...]], number: int, cells: list[str], column_of: dict[str, int]
) -> None:
    source, destination = (whole_number(cells[column_of[name]], name) for name in COLUMNS[:2])
    size, start = cells[column_of["bytes"]], cells[column_of["start"]] if "start" in column_of else ""
    parents: tuple[int, ...] = ()
    if "after" in column_of and cells[column_of["after"]]:
        words = _BETWEEN.split(cells[column_of["after"]].strip("; "))
        parents = tuple(whole_number(word, "after") for word in words)
        if max(parents) >= MOST_FLOWS:
            raise ValueError(f"after is {max(parents)}, beyond the largest number of a flow, {MOST_FLOWS - 1}")
    size_bytes = int(size) if size.isascii() and size.isdigit() and len(size) < 19 else parse_bytes(size)
    columns.append(number, source, destination, size_bytes, _start_ps(start))
    after.append(parents)


def _start_ps(word: str) -> int:
    usual = _TIME.fullmatch(word)
    if usual:
        return int(usual[1]) * _TIME_UNITS[usual[2]]
    return parse_time_ps(word) if word else 0
