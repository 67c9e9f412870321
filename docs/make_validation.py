#!/usr/bin/env python3
"""Compares the program with other programs, closed forms and published figures, and writes their table.

    python docs/make_validation.py isca22-ring     # these rows alone, printed
    python docs/make_validation.py --write         # all rows but the longest, into the file and page: some minutes
    python docs/make_validation.py --write dctcp-s1 dctcp-s2 dctcp-s3

Rows, sources and how each is found: ``tests/validation``. Rows that aren't run stay as they are.
The table is docs/tables/validation.csv; docs/validation.md has a summary.
"""

from __future__ import annotations

import logging
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from validation.page import FILE, ROWS, cells, read, write


def main(words: list[str]) -> int:
    """Find the rows named, or all, print and perhaps write them; the status is 2 for a name that there isn't."""
    kept = "--write" in words
    keys = [word for word in words if word != "--write"]
    unknown = [key for key in keys if key not in ROWS]
    if unknown:
        sys.stderr.write(f"no row '{unknown[0]}'; there are {', '.join(ROWS)}\n")
        return 2
    logging.getLogger("astra_ns3").setLevel(logging.ERROR)
    rows = read()
    for key in keys or [key for key, row in ROWS.items() if not (row.long and key in rows)]:
        rows[key] = cells(ROWS[key], ROWS[key].find())
        sys.stdout.write(f"{' | '.join(rows[key].values())}\n")
        sys.stdout.flush()
    if kept:
        write(rows)
        sys.stdout.write(f"wrote {FILE}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
