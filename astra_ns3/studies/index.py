"""All finished points of a store in one SQLite file: a copy of every point.json, made anew where it is gone.

The client alone writes it. The folders decide what there is.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict
from pathlib import Path

from astra_ns3.studies.store import ADDRESS_LETTERS, INDEX_FILE, Store, outcome_of, read_outcome
from astra_ns3.studies.task import PointOutcome
from astra_ns3.whole_file import POINT_FILE

_TABLE = """CREATE TABLE IF NOT EXISTS points (
    folder TEXT PRIMARY KEY, stamp INTEGER NOT NULL, address TEXT NOT NULL, status TEXT NOT NULL,
    wall_seconds REAL, outcome TEXT NOT NULL)"""


class Index:
    """The finished points, by address."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._file = store.folder / INDEX_FILE

    def outcomes(self) -> dict[str, PointOutcome]:
        """All finished points of the store; the index is brought up to date, where there can be one."""
        for _ in range(2):
            try:
                return self._refreshed()
            except (sqlite3.Error, ValueError, TypeError):  # not one of ours, or half of one, or no place for any
                with suppress(OSError):
                    self._file.unlink(missing_ok=True)
        found = (self._read(folder) for folder in self._store.finished_folders())
        return {outcome.address: outcome for outcome in found if outcome is not None}

    def _read(self, folder: str) -> PointOutcome | None:
        return _of_folder(folder, read_outcome(self._store.points / folder / POINT_FILE))

    def _refreshed(self) -> dict[str, PointOutcome]:
        with _opened(self._file) as index:
            known = {str(row[0]): row[1:] for row in index.execute("SELECT folder, stamp, outcome FROM points")}
            found: dict[str, PointOutcome] = {}
            fresh: list[tuple[str, int, PointOutcome]] = []
            stamps = self._store.finished_folders()
            for folder, stamp in stamps.items():
                outcome = None
                if folder in known and known[folder][0] == stamp:
                    outcome = _of_folder(folder, outcome_of(json.loads(known[folder][1])))
                if outcome is None:
                    outcome = self._read(folder)
                    if outcome is None:
                        continue
                    fresh.append((folder, stamp, outcome))
                found[outcome.address] = outcome
            index.executemany(
                "INSERT OR REPLACE INTO points VALUES (?, ?, ?, ?, ?, ?)",
                [
                    (folder, stamp, each.address, each.status, each.cost.get("wall_seconds"), json.dumps(asdict(each)))
                    for folder, stamp, each in fresh
                ],
            )
            index.executemany("DELETE FROM points WHERE folder = ?", [(gone,) for gone in known.keys() - stamps.keys()])
        return found


def _of_folder(folder: str, outcome: PointOutcome | None) -> PointOutcome | None:
    """``outcome``, if it is that of the point that lies in ``folder``."""
    return outcome if outcome is not None and outcome.address[:ADDRESS_LETTERS] == folder else None


@contextmanager
def _opened(file: Path) -> Iterator[sqlite3.Connection]:
    """The file with its table; what was changed is kept if nothing is raised."""
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("PRAGMA synchronous = OFF")  # a copy: after a power cut it is made anew
        connection.execute(_TABLE)
        with connection:
            yield connection
