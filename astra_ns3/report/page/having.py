"""Which of the runs on a page have a recorded table, and what is said of the others."""

from __future__ import annotations

from collections.abc import Sequence

from astra_ns3.report.page.figure import Missing, Shown
from astra_ns3.report.records import Recorded, table_of
from astra_ns3.report.tables import HOW_TO_RECORD

Having = list[tuple[Shown, Recorded]]


def having(runs: Sequence[Shown], table: str, empty: str) -> tuple[Having, list[str]] | Missing:
    """The runs that have rows of a table, and notes on the others; Missing if none recorded it.

    ``empty``: what it means that it has no rows.
    """
    remedy = remedy_of(table)
    found: Having = []
    notes = []
    recorded_by_any = False
    for shown in runs:
        rows = table_of(shown.run, table)
        recorded_by_any = recorded_by_any or rows is not None
        if rows is None:
            notes.append(f"{shown.name}: not recorded; {remedy}.")
        elif rows.rows:
            found.append((shown, rows))
        else:
            notes.append(f"{shown.name}: {empty}.")
    return (found, notes) if recorded_by_any else Missing(remedy)


def remedy_of(table: str) -> str:
    """What has to be done for a table to be there."""
    how = HOW_TO_RECORD[table]
    return f"run with {how}" if how.startswith("--") else f"set {how}"
