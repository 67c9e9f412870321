"""The work of NPUs: operations of their programs, collectives, and the phases of their chunks."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator
from functools import cache

import numpy as np
import numpy.typing as npt

from astra_ns3.report.records import COLLECTIVES, dimension_name, end_of, needed, ps_of, shown_part
from astra_ns3.report.tables import Records, recorded
from astra_ns3.report.timeline.writer import TraceWriter

MOST_CELLS = 1_000_000
"""NPUs times collectives of which the times are kept at once; of more the table is read several times."""
# Kinds of operations that take time: their track, and its place.
_OWN_TRACKS = {"compute": ("compute", 0), "wait": ("waits", 1), "step": ("steps", 2)}
# The kind of operations that may go on beside others.
_WORK = "work"
# Places of the other tracks of an NPU; that of work is the one of issues, which it makes.
_ISSUES, _COLLECTIVES, _PHASES = 3, 4, 5


class Npus:
    """The group of tracks of each NPU, made when it is first needed."""

    def __init__(self, writer: TraceWriter) -> None:
        self._writer = writer
        self.group = cache(self._group)
        self.track = cache(self._track)
        self._lanes = cache(self._made_lanes)

    def _group(self, npu: int) -> int:
        return self._writer.process(f"NPU {npu}", npu + 1)

    def _track(self, npu: int, name: str, rank: int) -> int:
        return self._writer.track(self.group(npu), name, rank)

    def lane(self, npu: int, name: str, rank: int, start: int, end: int) -> int:
        """One of several tracks of that name, on which nothing overlaps a slice."""
        return self._lanes(npu, name, rank).track(start, end)

    def _made_lanes(self, npu: int, name: str, rank: int) -> Lanes:
        return Lanes(lambda: self._writer.track(self.group(npu), name, rank))


def write_operations(records: Records, writer: TraceWriter, npus: Npus) -> None:
    """Slices of computing and waiting; instants where something was issued."""
    columns = ["npu", "kind", "layer", "iteration", "part", "collective", "start_ps", "end_ps"]
    iteration, number, start_ps, end_ps = (
        writer.annotation(text) for text in ("iteration", "collective", "start_ps", "end_ps")
    )
    for npu, kind, layer, training_pass, part, collective, start, end in needed(records, "operations").tuples(*columns):
        notes = [(start_ps, start), (end_ps, end), (iteration, training_pass)]
        if collective >= 0:
            notes.append((number, collective))
        own = _OWN_TRACKS.get(kind)
        if kind == _WORK:
            track = npus.lane(npu, "work", _ISSUES, start, end)
            writer.slice(track, writer.name(layer), start, end, notes)
        elif own is None:
            track = npus.track(npu, "issues", _ISSUES)
            writer.instant(track, writer.name(f"{kind} {_named(records, layer, part)}"), start, notes)
        else:
            writer.slice(npus.track(npu, *own), writer.name(_named(records, layer, part)), start, end, notes)


def write_phases(records: Records, writer: TraceWriter, npus: Npus) -> None:
    """A slice for each phase of a chunk, on the tracks of its dimension."""
    names = [writer.name(text) for text in collective_names(records)]
    keys = [writer.annotation(text) for text in ("start_ps", "end_ps", "queued_ps", "collective", "chunk", "phase")]
    columns = ["start_ps", "end_ps", "queued_ps", "collective", "chunk", "phase", "npu", "dimension"]
    for row in needed(records, "phases").tuples(*columns):
        start, end, _, collective, _, _, npu, dimension = row
        lane = f"phases, {dimension_name(records.metadata, dimension)}"
        track = npus.lane(npu, lane, _PHASES + dimension, start, end)
        writer.slice(track, names[collective], start, end, zip(keys, row, strict=False))


def write_collectives(records: Records, writer: TraceWriter, npus: Npus) -> None:
    """A slice for each collective on each NPU: from when its first chunk joined a queue until its last phase ended."""
    names = [writer.name(text) for text in collective_names(records)]
    start_ps, end_ps, number = (writer.annotation(text) for text in ("start_ps", "end_ps", "collective"))
    for npu, collective, start, end in _spans(records, int(records.metadata["npus"]), len(names)):
        track = npus.lane(npu, "collectives", _COLLECTIVES, start, end)
        notes = ((start_ps, start), (end_ps, end), (number, collective))
        writer.slice(track, names[collective], start, end, notes)


def write_run(records: Records, writer: TraceWriter) -> int:
    """The group of the whole run, with a slice for each collective of ``collectives.csv``; returns it."""
    group = writer.process("run", 0)
    lanes = Lanes(lambda: writer.track(group, "collectives", 1))
    start_ps, end_ps, number, size = (writer.annotation(text) for text in ("start_ps", "end_ps", "collective", "bytes"))
    finish_ps = end_of(records.metadata)
    names = collective_names(records)
    for row in records.rows(COLLECTIVES):
        name = names[int(row["collective"])]
        start = ps_of(row["start_us"]) or 0
        end = ps_of(row["end_us"])
        end = max(finish_ps, start) if end is None else end
        notes = ((start_ps, start), (end_ps, end), (number, int(row["collective"])), (size, int(row["bytes"])))
        writer.slice(lanes.track(start, end), writer.name(name), start, end, notes)
    return group


def collective_names(records: Records) -> list[str]:
    """The name of each collective in the trace, by its number: layer, part and kind; one with nothing to do has
    none."""
    rows = records.rows(COLLECTIVES)
    names = [""] * (max((int(row["collective"]) for row in rows), default=-1) + 1)
    for row in rows:
        names[int(row["collective"])] = f"{_named(records, row['layer'], row['part'])}: {row['kind']}"
    return names


def _named(records: Records, layer: str, part: str) -> str:
    return ", ".join(filter(None, (layer, shown_part(records, part))))


def has_timeline(records: Records) -> bool:
    """Whether the run recorded what its NPUs did."""
    return recorded(records, "operations") is not None and recorded(records, "phases") is not None


def _spans(records: Records, npus: int, collectives: int) -> Iterator[tuple[int, int, int, int]]:
    """NPU, collective, start and end, by NPU and start; of some NPUs at a time."""
    together, phases = max(1, MOST_CELLS // max(1, collectives)), needed(records, "phases")
    for first in range(0, npus, together):
        count = min(together, npus - first)
        starts = np.full((count, collectives), np.iinfo(np.int64).max)
        ends = np.full((count, collectives), -1)
        for batch in phases.batches(["npu", "collective", "queued_ps", "end_ps"]):
            columns = list(batch.values())
            inside = (columns[0] >= first) & (columns[0] < first + count)
            npu, collective, queued, end = (column[inside] for column in columns)
            np.minimum.at(starts, (npu - first, collective), queued)
            np.maximum.at(ends, (npu - first, collective), end)
        yield from _by_start(starts, ends, first)


def _by_start(
    starts: npt.NDArray[np.int64], ends: npt.NDArray[np.int64], first: int
) -> Iterator[tuple[int, int, int, int]]:
    for index, (start, end) in enumerate(zip(starts, ends, strict=True)):
        for collective in np.argsort(start, kind="stable").tolist():
            if end[collective] >= 0:
                yield first + index, collective, int(start[collective]), int(end[collective])


class Lanes:
    """Tracks that are made as they are needed. Slices come in any order; by start or by end takes fewest tracks."""

    def __init__(self, make: Callable[[], int]) -> None:
        """``make`` gives a further track."""
        self._make = make
        self._ends: list[int] = []
        self._tracks: list[int] = []
        """When the last slice of each track ends, ascending; and the tracks in the same order."""

    def track(self, start: int, end: int) -> int:
        """The track for a slice: of those that are free at its start, the one that was used last."""
        ends, tracks = self._ends, self._tracks
        index = bisect_right(ends, start) - 1
        if index < 0:
            track = self._make()
        else:
            track = tracks.pop(index)
            del ends[index]
        index = bisect_right(ends, end)
        ends.insert(index, end)
        tracks.insert(index, track)
        return track
