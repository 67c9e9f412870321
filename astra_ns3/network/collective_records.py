"""Records of many collectives and messages, held as columns of numbers; each record is made when somebody asks for it.

A trace may have millions, and most have all but their number and their times in common with others. That is held once,
and the rest in some 50 bytes, an eighth of what a record takes.
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


class Row(NamedTuple):
    """The part of a record that is its own.

    ``which``: where its common part is. ``mean_ps`` and ``longest_ps``: of its groups (``NOT_YET`` of one group, too).
    """

    number: int
    which: int
    start_ps: int
    end_ps: int
    mean_ps: int
    longest_ps: int


class CollectiveRecords(Sequence[CollectiveRecord]):
    """Some records, in order; equal to a tuple of the same. Never changed once it is handed out.

    ``common``: what they have in common; ``columns``: those of each one's own part.
    """

    __slots__ = ("_columns", "_common")

    def __init__(self, common: Sequence[Common] = (), columns: Sequence[array[int]] = ()) -> None:
        self._common = tuple(common)
        self._columns = tuple(columns) or tuple(array("q") for _ in Row._fields)

    def rows(self) -> Iterator[tuple[Row, Common]]:
        """Each record's own part, and its common one."""
        return ((row, self._common[row.which]) for row in map(Row, *self._columns))

    def __len__(self) -> int:
        return len(self._columns[0])

    @overload
    def __getitem__(self, index: int) -> CollectiveRecord: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[CollectiveRecord, ...]: ...

    def __getitem__(self, index: int | slice) -> CollectiveRecord | tuple[CollectiveRecord, ...]:
        if isinstance(index, slice):
            return tuple(self[each] for each in range(*index.indices(len(self))))
        row = Row(*(column[index] for column in self._columns))
        return record(row, self._common[row.which])

    def __iter__(self) -> Iterator[CollectiveRecord]:
        return (record(*each) for each in self.rows())

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
        self._columns = [array("q") for _ in Row._fields[1:]]
        self._which, self._starts_ps, self._ends_ps, self._means_ps, self._longest_ps = self._columns

    def __len__(self) -> int:
        return len(self._which)

    def append(self, common: Common | None, start_ps: int) -> None:
        """The next number; None: it has nothing to do, and no record."""
        self._which.append(NOTHING_TO_DO if common is None else self._index(common))
        self._starts_ps.append(start_ps)
        for column in self._columns[2:]:
            column.append(NOT_YET)

    def start(self, number: int, time_ps: int) -> None:
        """It begins later than was thought."""
        self._starts_ps[number] = time_ps

    def end(self, number: int, time_ps: int, groups_ps: tuple[int, int] | None = None) -> None:
        """It is over; ``groups_ps``: as a record's."""
        self._ends_ps[number] = time_ps
        if groups_ps is not None:
            self._means_ps[number], self._longest_ps[number] = groups_ps

    def update(self, records: CollectiveRecords) -> None:
        """Take records in that are new or have changed."""
        for (number, _, start_ps, *ended), common in records.rows():
            while len(self) <= number:
                self.append(None, 0)
            self._which[number], self._starts_ps[number] = self._index(common), start_ps
            self._ends_ps[number], self._means_ps[number], self._longest_ps[number] = ended

    def common(self, number: int) -> Common:
        """Return the part that a number shares with others; the number must have something to do."""
        which = self._which[number]
        assert which != NOTHING_TO_DO
        return self._common[which]

    def record(self, number: int) -> CollectiveRecord:
        """The record of a number that has something to do."""
        return record(Row(number, *(column[number] for column in self._columns)), self.common(number))

    def all(self) -> CollectiveRecords:
        """Every record by now, in the order of the numbers."""
        return self.some(number for number, which in enumerate(self._which) if which != NOTHING_TO_DO)

    def some(self, numbers: Iterable[int]) -> CollectiveRecords:
        """The records of numbers that have something to do, with what these have in common alone."""
        chosen = array("q", numbers)
        which, *times = (array("q", map(column.__getitem__, chosen)) for column in self._columns)
        index_of = {common: index for index, common in enumerate(dict.fromkeys(which))}
        columns = (chosen, array("q", map(index_of.__getitem__, which)), *times)
        return CollectiveRecords([self._common[common] for common in index_of], columns)

    def _index(self, common: Common) -> int:
        index = self._index_of.get(common)
        if index is None:
            index = self._index_of[common] = len(self._common)
            self._common.append(common)
        return index


def record(row: Row, common: Common) -> CollectiveRecord:
    """A record of its own."""
    label, kind, algorithm, bytes_, ranks, chunks, line_bytes, group = common
    end_ps = None if row.end_ps == NOT_YET else row.end_ps
    groups_ps = None if row.mean_ps == NOT_YET else (row.mean_ps, row.longest_ps)
    return CollectiveRecord(
        row.number, label, kind, algorithm, bytes_, ranks, chunks, row.start_ps, end_ps, line_bytes, group, groups_ps
    )
