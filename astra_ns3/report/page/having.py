"""Which of the runs on a page have a recorded table, and what is said of the others."""

from __future__ import annotations

from collections.abc import Sequence

from astra_ns3.report.page.figure import Missing, Shown
from astra_ns3.report.records import Recorded, recorded

Having = list[tuple[Shown, Recorded]]


def having(runs: Sequence[Shown], table: str, remedy: str, empty: str) -> tuple[Having, list[str]] | Missing:
    """The runs that have rows of a table, and notes on the others; Missing if none recorded it.

    ``remedy``: how a run records it. ``empty``: what it means that it has no rows.
    """
    found: Having = []
    notes = []
    recorded_by_any = False
    for shown in runs:
        rows = recorded(shown.run, table)
        recorded_by_any = recorded_by_any or rows is not None
        if rows is None:
            notes.append(f"{shown.name}: not recorded; {remedy}.")
        elif rows.rows:
            found.append((shown, rows))
        else:
            notes.append(f"{shown.name}: {empty}.")
    return (found, notes) if recorded_by_any else Missing(remedy)
