"""Counts what a run launches, and tells how many bytes each NPU sent to each other one."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import itemgetter

import numpy as np
import numpy.typing as npt

from astra_ns3.collectives.schedule import Schedule

Numbers = npt.NDArray[np.int64]
Launch = tuple[int, int, int, int, int]
"""NPU, schedule, group, instance, bytes."""

_WHAT = itemgetter(1, 2, 4)
_ROWS_AT_ONCE = 1 << 22


@dataclass(frozen=True)
class CarriedBytes:
    """Bytes of messages between NPUs, without headers; columns of shape ``(pairs,)``, where a pair may stand twice."""

    sender: Numbers
    receiver: Numbers
    bytes: Numbers


class Launches:
    """What has been launched: how often which schedule, by which group, on how many bytes."""

    def __init__(self) -> None:
        self._schedules: dict[int, Schedule] = {}
        self._groups: dict[int, Sequence[int]] = {}
        self._counts: Counter[tuple[int, int, int]] = Counter()

    def schedule(self, number: int, schedule: Schedule) -> None:
        """A schedule has this number."""
        self._schedules[number] = schedule

    def group(self, number: int, npus: Sequence[int]) -> None:
        """A group has this number."""
        self._groups[number] = npus

    def launched(self, schedule: int, group: int, bytes: int) -> None:
        """An NPU of the group has begun its part."""
        self._counts[schedule, group, bytes] += 1

    def all_launched(self, rows: Iterable[Launch]) -> None:
        """As :meth:`launched`, for many."""
        self._counts.update(map(_WHAT, rows))

    def carried(self) -> CarriedBytes:
        """Return all that was launched by all members of its group."""
        parts: list[tuple[Numbers, Numbers, Numbers]] = []
        alike: dict[tuple[int, int], dict[int, int]] = defaultdict(dict)
        for (number, group, size_bytes), launches in self._counts.items():
            alike[number, size_bytes][group] = launches
        single: dict[int, list[tuple[int, int, int]]] = defaultdict(list)
        for (number, size_bytes), groups in alike.items():
            schedule = self._schedules[number]
            if schedule.messages == 1:
                single[number] += [(group, size_bytes, launches) for group, launches in groups.items()]
            elif schedule.messages:
                parts += self._of_schedule(schedule, size_bytes, groups)
        parts += [self._of_messages(self._schedules[number], rows) for number, rows in single.items()]
        none = np.zeros(0, dtype=np.int64)
        columns = [np.concatenate([none, *column]) for column in zip(*parts, strict=True)] if parts else [none] * 3
        return CarriedBytes(*columns)

    def _of_schedule(
        self, schedule: Schedule, size_bytes: int, groups: dict[int, int]
    ) -> Iterable[tuple[Numbers, Numbers, Numbers]]:
        """What the groups that play one schedule on so many bytes carry."""
        members = np.array([self._groups[group] for group in groups], dtype=np.int64)
        times = np.array([launches // schedule.ranks for launches in groups.values()], dtype=np.int64)
        for ranks, sizes in _bytes_of_pairs(schedule, size_bytes):
            sender, receiver = members[:, ranks // schedule.ranks], members[:, ranks % schedule.ranks]
            yield sender.reshape(-1), receiver.reshape(-1), (times[:, None] * sizes).reshape(-1)

    def _of_messages(self, schedule: Schedule, rows: list[tuple[int, int, int]]) -> tuple[Numbers, Numbers, Numbers]:
        """What a schedule of one message carries, of any sizes: a list of flows has one for each."""
        group, size_bytes, launches = (np.array(column, dtype=np.int64) for column in zip(*rows, strict=True))
        members = np.array([self._groups[number] for number in group.tolist()], dtype=np.int64)
        sizes = np.array([int(schedule.message_bytes(size)[0]) for size in np.unique(size_bytes).tolist()])
        sizes = sizes[np.searchsorted(np.unique(size_bytes), size_bytes)]
        sender, receiver = int(schedule.sender[0]), int(schedule.receiver[0])
        return members[:, sender], members[:, receiver], sizes * (launches // schedule.ranks)


def _bytes_of_pairs(schedule: Schedule, size_bytes: int) -> Iterable[tuple[Numbers, Numbers]]:
    """Yield sender times ranks plus receiver, and the bytes of all messages between them, some pairs at a time.

    Of a schedule that is turned for each rank and too long to lay out, sizes are those of rank 0, which differ by a
    byte a message at most.
    """
    ranks = schedule.ranks
    if schedule.rotation is None or schedule.messages <= _ROWS_AT_ONCE:
        places = schedule.sender.astype(np.int64) * ranks + schedule.receiver
        yield _summed(places, schedule.message_bytes(size_bytes))
        return
    first = schedule.sent_by(0)
    away, sizes = _summed(first.receiver.astype(np.int64), first.message_bytes(size_bytes))
    for rank in range(ranks):
        yield rank * ranks + (away + rank) % ranks, sizes


def _summed(places: Numbers, sizes: Numbers) -> tuple[Numbers, Numbers]:
    """Return each place once, ascending, with the sum of its sizes."""
    found, row = np.unique(places, return_inverse=True)
    sums = np.zeros(len(found), dtype=np.int64)
    np.add.at(sums, row, sizes)
    return found, sums
