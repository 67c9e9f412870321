"""The table of docs/validation.md: all rows, as Markdown, and back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

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
from validation.comparison import Comparison, Found, root

PAGE = root() / "docs" / "validation.md"
BEGIN, END = "<!-- table: begin -->\n", "<!-- table: end -->"
TITLES = ("Row", "Case", "Source", "Theirs", "Ours", "Error", "Reason, test")
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


def line(row: Comparison, found: Found) -> str:
    """A row of the table."""
    alone = "minutes: kept" if row.long else ""
    why = "; ".join(filter(None, (row.note, alone, row.test and f"`{row.test}`")))
    return _cells((f"`{row.key}`", row.what, row.source, row.theirs, *found, why))


def table(rows: Mapping[str, str]) -> str:
    """The whole table, of its rows by their keys."""
    lines = [_cells(TITLES), _cells(["---"] * len(TITLES))]
    for group in GROUPS:
        lines.append(_cells((f"**{group.title}**", *[""] * (len(TITLES) - 1))))
        lines += [rows[row.key] for row in group.rows]
    return "".join(f"{each}\n" for each in lines)


def shown(text: str) -> dict[str, str]:
    """The rows that a page's text has, by their keys."""
    lines = text.partition(BEGIN)[2].partition(END)[0].splitlines()
    return {each.split("`")[1]: each for each in lines if each.startswith("| `")}


def replaced(text: str, lines: str) -> str:
    """A page's text with another table."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"{PAGE}: the markers of the table are missing")
    return before + begin + lines + end + after


def _cells(words: Iterable[str]) -> str:
    return f"| {' | '.join(words)} |"
