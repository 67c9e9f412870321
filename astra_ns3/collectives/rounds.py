"""When each message of a schedule leaves if every message takes one unit of time and nothing else takes any."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from astra_ns3.collectives.schedule import Schedule

_Int64 = npt.NDArray[np.int64]
_FEW = 4
"""So many ranks are looked at one by one."""


def message_rounds(schedule: Schedule) -> npt.NDArray[np.int32]:
    """The round, from 0, in which each message is on its way; shape ``(messages,)``.

    The rules are those of :mod:`astra_ns3.collectives.schedule`. The schedule must be one that comes to an end.
    """
    rounds = np.zeros(schedule.messages, dtype=np.int32)
    ready = np.flatnonzero(schedule.wait_step < 0)
    play = _UnitTime(schedule)
    now = 0
    while len(ready):
        rounds[ready] = now
        ready = play.arrive(ready)
        now += 1
    return rounds


class _UnitTime:
    """A slot is a step in which a rank receives; slots are numbered rank after rank, in the order of their steps.

    What a rank has handled is its open slot and how many it has handled of that, which only grows; as one number
    (slot times ``scale``, plus count) it says which of its rows, in the order of the same number, may be sent.
    """

    def __init__(self, schedule: Schedule) -> None:
        order = np.lexsort((schedule.step, schedule.receiver))
        spread = int(schedule.step.max(initial=0)) + 1
        places = schedule.receiver[order].astype(np.int64) * spread + schedule.step[order]
        begins = np.flatnonzero(np.diff(places, prepend=-1))
        self._slot = np.empty(schedule.messages, dtype=np.int64)
        self._slot[order] = np.cumsum(np.diff(places, prepend=-1) != 0) - 1
        self._expected = np.append(np.diff(begins, append=len(places)), 0)
        self._arrived = np.zeros_like(self._expected)
        self._receiver = schedule.receiver
        slot_places = places[begins]
        bounds = np.searchsorted(slot_places, np.arange(schedule.ranks + 1, dtype=np.int64) * spread)
        self._open, self._end = bounds[:-1].copy(), bounds[1:]
        self._scale = int(self._expected.max()) + 1
        rows = np.flatnonzero(schedule.wait_step >= 0)
        awaited = schedule.sender[rows].astype(np.int64) * spread + schedule.wait_step[rows]
        needed = np.searchsorted(slot_places, awaited) * self._scale + schedule.wait_count[rows]
        by_need = np.argsort(needed, kind="stable")
        self._rows, self._needed = rows[by_need], needed[by_need]
        self._sent = np.searchsorted(self._needed, self._open * self._scale)

    def arrive(self, rows: _Int64) -> _Int64:
        """All of ``rows`` come in at once; the rows that this releases."""
        np.add.at(self._arrived, self._slot[rows], 1)
        ranks = np.unique(self._receiver[rows])
        full = ranks
        while len(full) > _FEW:
            opened = self._open[full]
            full = full[(opened < self._end[full]) & (self._arrived[opened] == self._expected[opened])]
            self._open[full] += 1
        for rank in full.tolist():  # which may open many slots at once, as along a chain
            left = slice(self._open[rank], self._end[rank])
            lacking = np.flatnonzero(self._arrived[left] != self._expected[left])
            self._open[rank] = left.start + lacking[0] if len(lacking) else left.stop
        opened = self._open[ranks]
        handled = np.where(opened < self._end[ranks], self._arrived[opened], 0)
        begin, end = self._sent[ranks], np.searchsorted(self._needed, opened * self._scale + handled, side="right")
        self._sent[ranks] = np.maximum(begin, end)
        counts = np.maximum(end - begin, 0)
        within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        released: _Int64 = self._rows[np.repeat(begin, counts) + within]
        return released
