#!/usr/bin/env python3
"""Reads every workload of the reference and writes what becomes of it: read, or why not.

The table is docs/tables/workloads.csv; docs/workloads.md has how many files there are of each kind.

The files lie beside the repository, in ``shared/reference/workloads``; where they are absent nothing is changed.
"""

from __future__ import annotations

import csv
import sys
import tarfile
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from astra_ns3.config.flow_list import FlowList
from astra_ns3.config.workload import Workload
from astra_ns3.errors import InputError
from astra_ns3.workload.files.chakra.trace import read_chakra
from astra_ns3.workload.files.workload_formats import AnyWorkload, read_workload
from astra_ns3.workload.graphs.checking import check_graphs

ROOT = Path(__file__).resolve().parents[1]
REFERENCE = ROOT.parent / "shared" / "reference" / "workloads"
PAGE = ROOT / "docs" / "workloads.md"
FILE = ROOT / "docs" / "tables" / "workloads.csv"
BEGIN, END = "<!-- files of others: begin -->\n", "<!-- files of others: end -->"
REFUSED = "refused"
_LONGEST = 200


class Row(NamedTuple):
    """A file, what it is, and a warning or the reason why it is refused."""

    name: str
    what: str
    said: str


def main() -> int:
    """Write the table and its summary; the status is 0 also without the files."""
    if not REFERENCE.is_dir():
        sys.stdout.write(f"{REFERENCE}: no workloads here, nothing done\n")
        return 0
    found = list(rows())
    with FILE.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([("File", "Read as", "Said"), *found])
    page = PAGE.read_text(encoding="utf-8")
    before, rest = page.split(BEGIN, 1)
    PAGE.write_text(before + BEGIN + summary(found) + END + rest.split(END, 1)[1], encoding="utf-8")
    return 0


def summary(found: Sequence[Row]) -> str:
    """Return how many files are read completely, with a warning, or refused."""
    whole = sum(not row.said for row in found)
    refused = sum(row.what == REFUSED for row in found)
    warned = len(found) - whole - refused
    read = whole + warned
    return f"{len(found)} files: the program reads {read}, {warned} of them with a warning, and refuses {refused}.\n"


def rows() -> Iterator[Row]:
    """A row for each trace and file."""
    for folder in sorted((REFERENCE / "traces").iterdir()):
        groups = REFERENCE / "groups" / f"{folder.name}.json"
        yield _row(f"traces/{folder.name}", folder / folder.name, groups if groups.exists() else None)
    for kind in ("json", "text", "aicb"):
        for path in sorted((REFERENCE / kind).iterdir()):
            yield _row(f"{kind}/{path.name}", path)
    with tempfile.TemporaryDirectory() as scratch:
        for archive in sorted((REFERENCE / "pytorch").iterdir()):
            with tarfile.open(archive) as packed:
                packed.extractall(scratch, filter="data")
                names = sorted(m.name for m in packed if m.isfile() and not Path(m.name).name.startswith("._"))
            for name in names:
                yield _row(f"pytorch/{archive.name}: {Path(name).name}", Path(scratch) / name)


def _row(name: str, path: Path, groups: Path | None = None) -> Row:
    try:
        workload = read_workload(path) if groups is None else read_chakra(path, groups)
        what, warnings = _described(workload)
    except InputError as error:
        return Row(name, REFUSED, _plain(str(error)))
    return Row(name, what, "; ".join(_plain(warning) for warning in warnings))


def _described(workload: AnyWorkload) -> tuple[str, tuple[str, ...]]:
    if isinstance(workload, Workload):
        return f"loop {workload.loop}, {len(workload.layers)} layers", ()
    if isinstance(workload, FlowList):
        return f"{len(workload)} flows", workload.warnings
    warnings = (*workload.warnings, *check_graphs(workload))
    nodes = sum(1 for npu in range(workload.npus) for _ in workload.nodes(npu))
    return f"{workload.format}, {workload.npus} NPUs, {nodes:,} nodes", warnings


def _plain(text: str) -> str:
    """A message with the names of files alone, which may stand in a cell."""
    words = (Path(word).name if word.startswith("/") else word for word in text.replace("|", "\\|").split())
    plain = " ".join(words)
    return plain if len(plain) <= _LONGEST else plain[: _LONGEST - 3] + "..."


if __name__ == "__main__":
    sys.exit(main())
