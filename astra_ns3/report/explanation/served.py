"""Whose messages the deciding packets of a job's messages waited behind, by the table of what lines carried meanwhile.

The table has each line's time exactly: of one message the times of a line add up to what its packet waited there behind
others (``queue_ps``), while nothing was paused.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from astra_ns3.frozen import dataclass
from astra_ns3.report.own_bytes import Columns
from astra_ns3.report.players import Players
from astra_ns3.report.records import table_of
from astra_ns3.report.tables import Records

_COLUMNS = ("message", "of_job", "source", "destination", "collective", "chunk", "phase", "served_ps")


@dataclass(frozen=True)
class Behind:
    """Messages that others waited behind: of ``job``, between two NPUs, of one phase, in that job's numbers."""

    job: str
    source: int
    destination: int
    collective: int
    chunk: int
    phase: int
    time_ps: int

    def words(self, players: Players) -> str:
        """Return it for people, without the time."""
        way = players.way_in_another_job(self.source, self.destination)
        return f"{self.job}: {way}, collective {self.collective}, chunk {self.chunk}, phase {self.phase}"


class Served:
    """The table of one job among several; empty for a run by itself, or where it was not recorded."""

    def __init__(self, run: Records) -> None:
        self._own = str(run.metadata["job"]["name"]) if "job" in run.metadata else ""
        table = table_of(run, "account_served") if self._own else None
        self._rows: Columns | None = None if table is None else table.whole(_COLUMNS)

    def totals(
        self, messages: npt.NDArray[np.int64], top: int
    ) -> tuple[tuple[tuple[str, int], ...], tuple[Behind, ...]]:
        """Return what :meth:`by_job` and :meth:`others` do."""
        return self.by_job(messages), self.others(messages, top)

    def by_job(self, messages: npt.NDArray[np.int64]) -> tuple[tuple[str, int], ...]:
        """Return how long messages waited in all behind those of each job, the longest first; its own among them."""
        times = Counter[str]()
        for each in self._behind(messages):
            times[each.job] += each.time_ps
        return tuple(times.most_common())

    def others(self, messages: npt.NDArray[np.int64], top: int) -> tuple[Behind, ...]:
        """Return the other jobs' messages that some messages waited behind longest."""
        found = [each for each in self._behind(messages) if each.job != self._own]
        return tuple(sorted(found, key=lambda each: -each.time_ps)[:top])

    def _behind(self, messages: npt.NDArray[np.int64]) -> Iterator[Behind]:
        """Yield what messages waited behind, each once with all its time."""
        if self._rows is None:
            return
        rows = np.isin(self._rows["message"], messages) & (self._rows["of_job"] != "")
        keys = zip(*(self._rows[name][rows].tolist() for name in _COLUMNS[1:-1]), strict=True)
        times = Counter[tuple[str, int, int, int, int, int]]()
        for key, time_ps in zip(keys, self._rows["served_ps"][rows].tolist(), strict=True):
            times[key] += time_ps
        for (job, source, destination, collective, chunk, phase), time_ps in times.items():
            yield Behind(job, source, destination, collective, chunk, phase, time_ps)
