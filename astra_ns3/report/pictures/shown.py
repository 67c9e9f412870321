"""Runs that stand beside each other on a page, which of them have a recorded table, and what is said of the others."""

from __future__ import annotations

from collections.abc import Sequence

from astra_ns3.frozen import dataclass
from astra_ns3.report.records import Recorded, end_of, table_of
from astra_ns3.report.tables import Records, how_to_record


@dataclass(frozen=True, eq=False)
class Shown:
    """A run on a page: its short name, unlike those of the others, and its place among them."""

    run: Records
    name: str
    place: int

    @property
    def finish_ps(self) -> int:
        """When it finished; 1 at least."""
        return max(1, end_of(self.run.metadata))


class Missing(Exception):
    """No data for a picture; its words say how a run gets them."""


Having = list[tuple[Shown, Recorded]]


def having(runs: Sequence[Shown], table: str, empty: str) -> tuple[Having, list[str]]:
    """Return the runs that have rows of a table, and notes on the others; raises Missing if none recorded it.

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
    if not recorded_by_any:
        raise Missing(remedy_of(runs[0], table))
    return found, notes


def remedy_of(shown: Shown, table: str) -> str:
    """Return what has to be done for a table to be there."""
    how = how_to_record(shown.run, table)
    return f"set {how}" if how.startswith("observe") else f"run with {how}"
