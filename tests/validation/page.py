"""The table behind docs/validation.md, a file with all rows, and the short table that the page has of it."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from validation import (
    astra_network_ns3,
    astra_sim_measured,
    astra_sim_tutorials,
    collectives,
    conservation,
    controls,
    dctcp_example,
    not_compared,
    roce,
    tcp,
    training,
)
from validation.comparison import EQUAL, Comparison, Found, root

PAGE = root() / "docs" / "validation.md"
FILE = root() / "docs" / "tables" / "validation.csv"
BEGIN, END = "<!-- table: begin -->\n", "<!-- table: end -->"
TITLES = ("Group", "Row", "Case", "Source", "Theirs", "Ours", "Error", "Reason", "Test")
MODULES = (
    astra_sim_tutorials,
    astra_sim_measured,
    astra_network_ns3,
    tcp,
    dctcp_example,
    roce,
    controls,
    collectives,
    training,
    conservation,
    not_compared,
)
GROUPS = [group for module in MODULES for group in module.GROUPS]
ROWS = {row.key: row for group in GROUPS for row in group.rows}
GROUP_OF = {row.key: group.title for group in GROUPS for row in group.rows}
OFF_PERCENT, LARGE_PERCENT = 1.0, 5.0
"""The page counts rows with a larger error, and shows those with a much larger one and its reason."""
Cells = Mapping[str, str]
"""A row of the file, by its titles."""


def cells(row: Comparison, found: Found) -> dict[str, str]:
    """Return a row of the file."""
    reason = "; ".join(filter(None, (row.note, "not recomputed: it takes minutes" if row.long else "")))
    words = (GROUP_OF[row.key], row.key, row.what, row.source, row.theirs, *found, reason, row.test)
    return dict(zip(TITLES, words, strict=True))


def read() -> dict[str, dict[str, str]]:
    """Return all rows of the file by their keys."""
    with FILE.open(encoding="utf-8", newline="") as file:
        return {row["Row"]: row for row in csv.DictReader(file)}


def write(rows: Mapping[str, Cells]) -> None:
    """Write the file, in the order of the groups, and the page's table of it."""
    with FILE.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, TITLES, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows[key] for key in ROWS)
    PAGE.write_text(replaced(PAGE.read_text(encoding="utf-8"), tables(rows)), encoding="utf-8")


def tables(rows: Mapping[str, Cells]) -> str:
    """Return what the page shows: how many rows there are, and each row with a large error."""
    lines = [_summary(rows), "", *_lines(("Case", "Error", "Reason"), _off(rows))]
    return "".join(f"{each}\n" for each in lines)


def replaced(text: str, lines: str) -> str:
    """Return a page's text with other tables."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"{PAGE}: the markers of the tables are missing")
    return before + begin + lines + end + after


def _summary(rows: Mapping[str, Cells]) -> str:
    errors = [rows[row.key]["Error"] for group in GROUPS for row in group.rows]
    off, large = (sum(_percent(error) > least for error in errors) for least in (OFF_PERCENT, LARGE_PERCENT))
    return (
        f"The file has {len(errors)} rows in {len(GROUPS)} groups. {errors.count(EQUAL)} are equal. {off} are off by "
        f"more than {OFF_PERCENT:g}%, and {large} of these by more than {LARGE_PERCENT:g}%:"
    )


def _off(rows: Mapping[str, Cells]) -> Iterator[Sequence[str]]:
    for key in ROWS:
        if _percent(rows[key]["Error"]) > LARGE_PERCENT:
            yield f"{rows[key]['Case']} (`{key}`)", rows[key]["Error"], rows[key]["Reason"]


def _percent(error: str) -> float:
    """Return the size of an error that is written as a share; 0 for others."""
    found = re.match(r"[+-]([\d.]+)%", error)
    return float(found[1]) if found else 0


def _lines(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    head, *lines = (f"| {' | '.join(words)} |" for words in (titles, *rows))
    return [head, "|" + "---|" * len(titles), *lines]
