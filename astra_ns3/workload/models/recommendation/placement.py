"""How many tables, or which part of all, each NPU has."""

from __future__ import annotations

import csv

from astra_ns3.config.core.model import shown
from astra_ns3.config.core.reading import read_text
from astra_ns3.config.model.dlrm import DlrmShape
from astra_ns3.errors import refuse, wrong

_COLUMNS = ["table", "npu"]


def tables_of_npus(shape: DlrmShape, npus: int) -> tuple[int, ...]:
    """Tables of each NPU: dealt out in turn, or as the file says. Raises InputError with its line."""
    if shape.tables_of_npus is None:
        return tuple(shape.tables // npus + (npu < shape.tables % npus) for npu in range(npus))
    counts, seen = [0] * npus, set()
    for place, table, npu in _rows(shape.tables_of_npus):
        if table >= shape.tables or table in seen:
            found = (
                "stands twice" if table in seen else f"isn't one of the {shape.tables} tables, 0 to {shape.tables - 1}"
            )
            raise wrong(f"table {table} {found}", place)
        refuse(npu >= npus, f"npu is {npu}, expected one of the {npus} NPUs, 0 to {npus - 1}", place)
        seen.add(table)
        counts[npu] += 1
    if len(seen) < shape.tables:
        missing = next(table for table in range(shape.tables) if table not in seen)
        raise wrong(f"table {missing} is missing; expected a row for each of {shape.tables}", shape.tables_of_npus)
    return tuple(counts)


def _rows(path: str) -> list[tuple[str, int, int]]:
    """Place, table and NPU."""
    lines = csv.reader(read_text(path).splitlines())
    header = [name.strip() for name in next(lines)]
    refuse(header != _COLUMNS, f"{path}:1: found {shown(','.join(header))}, expected the columns {','.join(_COLUMNS)}")
    found = []
    for row in lines:
        cells = [cell.strip() for cell in row]
        place = f"{path}:{lines.line_num}"
        if not any(cells):
            continue
        refuse(
            len(cells) != len(_COLUMNS) or not all(cell.isascii() and cell.isdigit() for cell in cells),
            f"found {shown(','.join(row))}, expected two whole numbers: a table and its NPU",
            place,
        )
        found.append((place, int(cells[0]), int(cells[1])))
    return found
