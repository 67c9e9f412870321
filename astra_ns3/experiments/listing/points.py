"""Which points of studies and plans are no runs of their own: earlier ones, and those that only help to make a plan.

A study's table has the points of its last play. A plan's first part has its plans as they are; the others have them for
two iterations, and on packets, often with a smaller model.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Mapping
from pathlib import Path

from astra_ns3.frozen import dataclass
from astra_ns3.whole_file import PLAN_TABLE, POINTS, STUDY_MARK, STUDY_TABLE, WHOLE_MODEL

EARLIER, HELPER = "earlier point", "helper run"
"""A point that the study hasn't any more; a run that a plan needed besides the plans themselves."""


@dataclass(frozen=True)
class _Points:
    """The points of a study, by the names of their folders, each with its note; ``since_ns``: when they were told."""

    notes: Mapping[str, str]
    since_ns: int


class PointNotes:
    """Notes on points; each study's table is read once."""

    def __init__(self) -> None:
        self._known: dict[Path, _Points | None] = {}

    def of(self, file: Path) -> str:
        """Return the note on a run by its ``run.json``; empty for a run of its own, and for one not known yet."""
        for folder in Path(os.path.abspath(file)).parents:  # noqa: PTH100, as links aren't followed
            store = folder.parent.parent
            if folder.parent.name != POINTS or not (store / STUDY_MARK).is_file():
                continue
            if store not in self._known:
                self._known[store] = _points(store)
            points = self._known[store]
            if points is None or file.stat().st_mtime_ns > points.since_ns:  # of a play that goes on
                return ""
            return points.notes.get(folder.name, EARLIER)
        return ""


def _points(store: Path) -> _Points | None:
    """Return what the table of a study says; None if there is none that can be read."""
    rows = _rows(store / STUDY_TABLE)
    if not rows or not all(row.get("address") for row in rows):
        return None
    whole = {row.get("plan") for row in _rows(store / PLAN_TABLE) if row.get("packets_on") == WHOLE_MODEL}
    helps = (store / PLAN_TABLE).is_file()
    notes: dict[str, str] = {}
    for row in rows:
        is_plan = row.get("part") == rows[0].get("part") or (row.get("plan") in whole and not row.get("passes"))
        note = HELPER if helps and not is_plan else ""
        notes[row["address"]] = note and notes.get(row["address"], note)
    return _Points(notes, (store / STUDY_TABLE).stat().st_mtime_ns)


def _rows(table: Path) -> list[dict[str, str]]:
    try:
        with table.open(encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file))
    except (OSError, ValueError, csv.Error):
        return []
