"""Schedules as CSV or JSON: the columns of a Schedule, one row per message.

CSV begins with lines ``# key: value`` and a line of column names; JSON is one object with the keys and, under
``columns``, a list for each column. Keys: ``collective``, ``ranks``, ``blocks``, and optionally ``expansion`` (default:
the number of ranks for an all-gather, else 1) and ``name``. Columns: ``sender``, ``receiver``, ``step``,
``first_block``, and optionally ``block_count`` (1), ``reduces`` (0), ``wait_step`` (-1), ``wait_count`` (1 where it
waits), ``content`` (block numbers with blanks between them) and ``contributors`` (for each of these the ranks, as
``0+2``). Their meaning is told in :mod:`astra_ns3.collectives.schedule`.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from itertools import pairwise

from astra_ns3.collectives.schedule import Schedule
from astra_ns3.collectives.schedule_rows import COLUMNS, REQUIRED_KEYS, Table, table_schedule
from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.config.core.json_reading import reading_json
from astra_ns3.errors import Where, refuse, wrong
from astra_ns3.units import counted

_SPARSE_COLUMNS = ("content", "contributors")


def csv_schedule(text: str, source: str) -> tuple[Schedule, CollectiveKind]:
    """The schedule of a CSV text; not proved yet."""
    keys: dict[str, tuple[str, str]] = {}
    lines = text.splitlines()
    numbers: list[int] = []
    rows: list[list[str]] = []
    for number, line in enumerate(lines, 1):
        if line.startswith("#"):
            key, colon, value = line[1:].partition(":")
            if colon:
                keys[key.strip()] = (f"{source}:{number}", value.strip())
        elif line.strip():
            numbers.append(number)
            try:
                rows.append(next(csv.reader([line], skipinitialspace=True)))
            except csv.Error as error:
                raise wrong(f"is not CSV: {error}", Where(source, number)) from error
    refuse(not rows, "no line of column names", source)
    names = [name.strip() for name in rows[0]]
    for number, row in zip(numbers, rows, strict=True):
        if len(row) != len(names):
            raise wrong(
                f"found {counted(len(row), 'cell')}, expected {len(names)} as in line {numbers[0]}",
                Where(source, number),
            )
    columns = {name: [row[index].strip() for row in rows[1:]] for index, name in enumerate(names)}
    refuse(len(columns) != len(names), "a column has been given twice", Where(source, numbers[0]))
    return table_schedule(Table(source, keys, columns, lambda row: f"{source}:{numbers[1 + row]}"))


def json_schedule(text: str, source: str) -> tuple[Schedule, CollectiveKind]:
    """The schedule of a JSON text; not proved yet."""
    with reading_json(source):
        document = json.loads(text)
    columns = document.get("columns") if isinstance(document, dict) else None
    if not isinstance(columns, dict) or not all(isinstance(cells, list) for cells in columns.values()):
        raise wrong(f"expected an object with the keys {', '.join(REQUIRED_KEYS)}, columns (lists)", source)
    lengths = {name: len(cells) for name, cells in columns.items()}
    if len(set(lengths.values())) > 1:
        shown = ", ".join(f"{name} {length}" for name, length in lengths.items())
        raise wrong(f"columns: not all of the same length: {shown}", source)
    keys = {key: (f"{source}: {key}", _cell(value)) for key, value in document.items() if key != "columns"}
    cells = {name: [_cell(value) for value in values] for name, values in columns.items()}
    return table_schedule(Table(source, keys, cells, lambda row: f"{source}: columns: row {row}"))


def csv_text(schedule: Schedule, kind: CollectiveKind) -> str:
    """The text that :func:`csv_schedule` reads."""
    file = io.StringIO()
    for key, value in _keys(schedule, kind).items():
        file.write(f"# {key}: {value}\n")
    columns = {name: list(map(str, cells)) for name, cells in _plain_columns(schedule).items()}
    columns |= _sparse_columns(schedule)
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    return file.getvalue()


def json_text(schedule: Schedule, kind: CollectiveKind) -> str:
    """The text that :func:`json_schedule` reads."""
    columns: dict[str, Sequence[object]] = {**_plain_columns(schedule), **_sparse_columns(schedule)}
    keys = _keys(schedule, kind)
    lines = [f"    {json.dumps(name)}: {json.dumps(list(cells))}" for name, cells in columns.items()]
    head = "".join(f"  {json.dumps(key)}: {json.dumps(value)},\n" for key, value in keys.items())
    return "{\n" + head + '  "columns": {\n' + ",\n".join(lines) + "\n  }\n}\n"


def _keys(schedule: Schedule, kind: CollectiveKind) -> Mapping[str, str | int]:
    return {
        "collective": kind.name.lower(),
        "name": schedule.name,
        "ranks": schedule.ranks,
        "blocks": schedule.blocks,
        "expansion": schedule.expansion,
    }


def _plain_columns(schedule: Schedule) -> dict[str, list[int]]:
    return {name: [int(cell) for cell in getattr(schedule, name).tolist()] for name in COLUMNS}


def _sparse_columns(schedule: Schedule) -> dict[str, list[str]]:
    """``content`` and ``contributors``, where the schedule has them."""
    content = schedule.content
    if content is None:
        return {}
    cells = [list(map(str, content.blocks.tolist()))]
    if content.contributors is not None:
        ranks = range(schedule.ranks)
        cells.append(["+".join(str(rank) for rank in ranks if mask >> rank & 1) for mask in content.contributors])
    return {
        name: [" ".join(values[begin:end]) for begin, end in pairwise(content.offsets.tolist())]
        for name, values in zip(_SPARSE_COLUMNS, cells, strict=False)
    }


def _cell(value: object) -> str:
    return str(int(value)) if isinstance(value, bool) else str(value)
