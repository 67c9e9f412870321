"""Which of the runs on a page have a recorded table, and what is said of the others."""

from __future__ import annotations

from collections.abc import Sequence

from astra_ns3.report.page.figure import Missing, Shown
from astra_ns3.report.records import Recorded, table_of
from astra_ns3.report.tables import how_to_record

Having = list[tuple[Shown, Recorded]]


def having(runs: Sequence[Shown], table: str, empty: str) -> tuple[Having, list[str]] | Missing:
    """The runs that have rows of a table, and notes on the others; Missing if none recorded it.

    ``empty``: what it means that it has no rows.
    """
    found: Having = []
    notes = []
    recorded_by_any = False
    for shown in runs:
        rows = table_of(shown.run, table)
        recorded_by_any = recorded_by_any or rows is not None
        if rows is None:
            notes.append(f"{shown.name}: not recorded; {remedy_of(shown, table)}.")
        elif rows.rows:
            found.append((shown, rows))
        else:
            notes.append(f"{shown.name}: {empty}.")
    return (found, notes) if recorded_by_any else Missing(remedy_of(runs[0], table))


def remedy_of(shown: Shown, table: str) -> str:
    """What has to be done for a table to be there."""
    how = how_to_record(shown.run, table)
    return f"set {how}" if how.startswith("observe") else f"run with {how}"
