#!/usr/bin/env python3
"""Puts a table of single runs between ``<!-- runs -->`` and ``<!-- end -->``: ``make_runs_table.py PAGE FOLDER...``.

For runs that take too long for a study. A folder may be that of a run that was stopped; its row says so.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

PS_PER_MS = 10**9
MARKED = re.compile(r"(<!-- runs -->\n).*?(<!-- end -->)", re.DOTALL)
HEADS = (
    "system",
    "chunks",
    "finish (ms)",
    "compute (ms)",
    "exposed (ms)",
    "messages (millions)",
    "packets (millions)",
    "wall time (min)",
    "memory (GB)",
)


def row(folder: Path) -> list[str]:
    """A run's cells; its name is ``dlrm-SYSTEM-full``."""
    run: Mapping[str, Any] = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    name = run["run_name"].removeprefix("dlrm-").removesuffix("-full")
    counts = run["statistics"]
    return [
        name if run["complete"] else f"{name}, stopped",
        str(run["system"]["preferred-dataset-splits"]),
        *(f"{run[key] / PS_PER_MS:.2f}" for key in ("finish_ps", "compute_ps", "exposed_ps")),
        *(f"{counts[key] / 1e6:.1f}" for key in ("messages", "packets")),
        f"{run['timing']['wall_seconds'] / 60:.0f}",
        f"{run['memory']['peak_bytes'] / 1e9:.1f}",
    ]


def main(arguments: Sequence[str]) -> int:
    """Write the page anew."""
    if len(arguments) < 2:
        sys.stderr.write(f"{__doc__}\n")
        return 2
    page = Path(arguments[0])
    text = page.read_text(encoding="utf-8")
    if len(MARKED.findall(text)) != 1:
        sys.stderr.write(f"make_runs_table.py: error: {page}: has not one <!-- runs --> with its <!-- end -->\n")
        return 1
    lines = [f"| {' | '.join(cells)} |" for cells in (HEADS, *(row(Path(folder)) for folder in arguments[1:]))]
    lines.insert(1, "|" + "---|" * len(HEADS))
    table = "".join(f"{line}\n" for line in lines)
    page.write_text(MARKED.sub(lambda found: found[1] + table + found[2], text), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
