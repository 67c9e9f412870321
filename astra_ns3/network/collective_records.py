"""Records of many collectives and messages, held as columns of numbers; each record is made when somebody asks for it.

A trace may have millions, and most have all but their number and their times in common with others. That is held once,
and the rest in some 40 bytes, a tenth of what a record takes.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, overload

from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.network.records import CollectiveRecord, Label

NOTHING_TO_DO = -1
NOT_YET = -1


class Common(NamedTuple):
    """All of a record but its number and its times; ``line_bytes`` and ``group`` as there."""

    label: Label
    kind: CollectiveKind
    algorithm: str
    bytes: int
    ranks: int
    chunks: int
    line_bytes: int | None = None
    group: str = ""


class CollectiveRecords(Sequence[CollectiveRecord]):
    """Some records, in order; equal to a tuple of the same. Never changed once it is handed out.

    ``common``: what they have in common; of each record its number, its index in ``common`` and its begin and end.
    """

    __slots__ = ("_common", "_ends_ps", "_numbers", "_starts_ps", "_which")

    def __init__(self, common: Sequence[Common] = (), rows: Iterable[tuple[int, int, int, int]] = ()) -> None:
        self._common = tuple(common)
        self._numbers, self._which = array("q"), array("q")
        self._starts_ps, self._ends_ps = array("q"), array("q")
        for number, which, start_ps, end_ps in rows:
            self._numbers.append(number)
            self._which.append(which)
            self._starts_ps.append(start_ps)
            self._ends_ps.append(end_ps)

    def columns(self) -> Iterator[tuple[int, Common, int, int]]:
        """Number, common part, begin and end (``NOT_YET``) of each."""
        rows = zip(self._numbers, self._which, self._starts_ps, self._ends_ps, strict=True)
        return ((number, self._common[which], start_ps, end_ps) for number, which, start_ps, end_ps in rows)

    def __len__(self) -> int:
        return len(self._numbers)

    @overload
    def __getitem__(self, index: int) -> CollectiveRecord: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[CollectiveRecord, ...]: ...

    def __getitem__(self, index: int | slice) -> CollectiveRecord | tuple[CollectiveRecord, ...]:
        if isinstance(index, slice):
            return tuple(self[each] for each in range(*index.indices(len(self))))
        which = self._common[self._which[index]]
        return record(self._numbers[index], which, self._starts_ps[index], self._ends_ps[index])

    def __iter__(self) -> Iterator[CollectiveRecord]:
        return (record(*row) for row in self.columns())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, (CollectiveRecords, tuple, list)):
            return NotImplemented
        return len(self) == len(other) and all(one == two for one, two in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"CollectiveRecords of {len(self)}"


class CollectiveColumns:
    """Records that come and change, by their number: 0, 1, 2, ..."""

    def __init__(self) -> None:
        self._common: list[Common] = []
        self._index_of: dict[Common, int] = {}  # of each in that list
        # Of each number where its common part is, and when it began and ended.
        self._which, self._starts_ps, self._ends_ps = array("q"), array("q"), array("q")

    def __len__(self) -> int:
        return len(self._which)

    def append(self, common: Common | None, start_ps: int) -> None:
        """The next number; None: it has nothing to do, and no record."""
        self._which.append(NOTHING_TO_DO if common is None else self._index(common))
        self._starts_ps.append(start_ps)
        self._ends_ps.append(NOT_YET)

    def start(self, number: int, time_ps: int) -> None:
        """It begins later than was thought."""
        self._starts_ps[number] = time_ps

    def end(self, number: int, time_ps: int) -> None:
        """It is over."""
        self._ends_ps[number] = time_ps

    def update(self, records: CollectiveRecords) -> None:
        """Take records in that are new or have changed."""
        for number, common, start_ps, end_ps in records.columns():
            while len(self) <= number:
                self.append(None, 0)
            self._which[number] = self._index(common)
            self._starts_ps[number], self._ends_ps[number] = start_ps, end_ps

    def common(self, number: int) -> Common:
        """Return the part that a number shares with others; the number must have something to do."""
        which = self._which[number]
        assert which != NOTHING_TO_DO
        return self._common[which]

    def record(self, number: int) -> CollectiveRecord:
        """The record of a number that has something to do."""
        return record(number, self.common(number), self._starts_ps[number], self._ends_ps[number])

    def all(self) -> CollectiveRecords:
        """Every record by now, in the order of the numbers."""
        rows = zip(self._which, self._starts_ps, self._ends_ps, strict=True)
        numbered = ((number, *row) for number, row in enumerate(rows) if row[0] != NOTHING_TO_DO)
        return CollectiveRecords(self._common, numbered)

    def some(self, numbers: Iterable[int]) -> CollectiveRecords:
        """The records of numbers that have something to do, with what these have in common alone."""
        chosen = list(numbers)
        index_of = {which: index for index, which in enumerate(dict.fromkeys(self._which[number] for number in chosen))}
        rows = ((n, index_of[self._which[n]], self._starts_ps[n], self._ends_ps[n]) for n in chosen)
        return CollectiveRecords([self._common[which] for which in index_of], rows)

    def _index(self, common: Common) -> int:
        index = self._index_of.get(common)
        if index is None:
            index = self._index_of[common] = len(self._common)
            self._common.append(common)
        return index


def record(number: int, common: Common, start_ps: int, end_ps: int) -> CollectiveRecord:
    """A record of its own; ``end_ps`` may be ``NOT_YET``."""
    label, kind, algorithm, bytes_, ranks, chunks, line_bytes, group = common
    over_ps = None if end_ps == NOT_YET else end_ps
    return CollectiveRecord(number, label, kind, algorithm, bytes_, ranks, chunks, start_ps, over_ps, line_bytes, group)
