"""A recorded run as its tables tell it: how long each operation and phase took by itself, and what it waited for.

An NPU's phases in one dimension pass its line one after the other, as messages of one queue pair do.

Model limits: within a phase, NPUs wait for the last of their group to start it, and for nothing else. Not all NPUs of
large runs are read; the others change nothing.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable
from fractions import Fraction
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from astra_ns3.frozen import dataclass
from astra_ns3.playing.slowdown.pace import UNCHANGED, Pace
from astra_ns3.report.explanation.run_tables import POSTS, Tables
from astra_ns3.report.tables import Numbers

Times = npt.NDArray[np.float64]
MOST_PHASES = 50_000
"""So many phases are played: about a second for each change."""
UPDATE, GRADIENT = "update", "gradient"
"""Parts of a pass, as operations name them."""
PLACES = 256
"""More than there are dimensions."""


@dataclass(frozen=True)
class Gate:
    """Phases at ``rows`` join their queues ``after_ps`` after the last of so many ``posts``."""

    posts: int
    after_ps: int
    rows: tuple[int, ...]


class Recorded:
    """A run's operations and phases. ``first``: NPUs that are played in any case, the others as far as there is room.

    ``pace``: of an NPU; ``stretch``: the factor of computations while phases of collectives run beside them.
    """

    def __init__(
        self, tables: Tables, first: Iterable[int], pace: Callable[[int], Pace], stretch: Fraction = UNCHANGED
    ) -> None:
        self.tables, self.stretch, self.pace = tables, stretch, pace
        counts = np.bincount(tables.phase_npu, minlength=tables.npus)
        order = list(dict.fromkeys((*first, *range(tables.npus))))
        room = np.cumsum(counts[order]) <= MOST_PHASES
        self.npus = order[: max(int(room.sum()), 1)]
        self.phases = np.flatnonzero(np.isin(tables.phase_npu, self.npus))
        self._read_computations()
        self._read_phases()

    def _read_computations(self) -> None:
        tables = self.tables
        self.programs: dict[int, list[int]] = {}
        self.beside = {npu: beside_collectives(tables, npu) for npu in self.npus}
        self.work_ps: dict[int, Fraction] = {}
        for npu in self.npus:
            self.programs[npu] = np.flatnonzero(tables.operation_npu == npu).tolist()
            for row in self.programs[npu]:
                if tables.kinds[row] == "compute":
                    ends = int(tables.operation_start[row]), int(tables.operation_end[row])
                    self.work_ps[row] = self._work_ps(npu, *ends)

    def _work_ps(self, npu: int, start_ps: int, end_ps: int) -> Fraction:
        """Return what a computation would take by itself."""
        pace, (starts, ends) = self.pace(npu), self.beside[npu]
        found, now_ps = Fraction(), start_ps
        for place in range(bisect_right(ends, start_ps), len(starts)):
            if starts[place] >= end_ps or self.stretch == UNCHANGED:
                break
            from_ps, until_ps = max(starts[place], now_ps), min(ends[place], end_ps)
            found += pace.work_ps(now_ps, from_ps) + pace.work_ps(from_ps, until_ps, self.stretch)
            now_ps = until_ps
        return found + pace.work_ps(now_ps, end_ps)

    def _read_phases(self) -> None:
        """Take from the tables each phase's part of its dimension, what follows it, and what it waits for."""
        tables, rows = self.tables, self.phases
        self.part_ps = np.zeros(len(tables.phase_npu))
        self.places = (tables.phase_npu * PLACES + tables.phase_dimension + 1).tolist()
        self.slots: dict[int, int] = {}
        """Slots of dimensions in which phases waited; elsewhere there is room for all."""
        by_chunk = defaultdict[tuple[int, int, int], list[int]](list)
        by_line, by_place = defaultdict[int, list[int]](list), defaultdict[int, list[int]](list)
        queued_ps, start_ps, end_ps = (
            each.tolist() for each in (tables.phase_queued, tables.phase_start, tables.phase_end)
        )
        self.left, self.last_ps = defaultdict[tuple[int, int], int](int), dict[tuple[int, int], int]()
        npus, chunks, collectives = (
            each.tolist() for each in (tables.phase_npu, tables.phase_chunk, tables.phase_collective)
        )
        self.members = defaultdict[int, list[int]](list)
        self.instances: list[int] = tables.phase_instance.tolist()
        self.lines = self._lines()
        for row in rows.tolist():  # in the order of their ends
            self.members[self.instances[row]].append(row)
            by_line[self.lines[row]].append(row)
            by_place[self.places[row]].append(row)
            by_chunk[collectives[row], chunks[row], npus[row]].append(row)
            key = collectives[row], npus[row]
            self.left[key] += 1
            self.last_ps[key] = max(end_ps[row], self.last_ps.get(key, 0))
        served_ps = self._read_groups()
        for same in by_line.values():
            self.part_ps[same] = in_turn(served_ps[same], tables.phase_end[same])
        waited = tables.phase_queued[rows] < tables.phase_start[rows]
        for place in set((tables.phase_dimension[rows[waited]] + 1).tolist()):
            same_place = [same for at, same in by_place.items() if at % PLACES == place]
            self.slots[place] = max(at_once(tables.phase_start[same], tables.phase_end[same]) for same in same_place)
        self.following: dict[int, tuple[int, int]] = {}
        firsts = []
        for same in by_chunk.values():
            same.sort(key=lambda row: (queued_ps[row], start_ps[row], end_ps[row]))
            firsts.append(same[0])
            for row, after in pairwise(same):
                self.following[row] = after, max(queued_ps[after] - end_ps[row], 0)
        self._read_gates(firsts)
        self._read_needs()

    def _read_needs(self) -> None:
        """Find which computations need collectives that had ended before an NPU would have waited for them.

        Gradients are needed by the next update, if there is one, and others by the next computation of their layer.
        """
        tables = self.tables
        self.needs = defaultdict[int, list[int]](list)
        starts, kinds, layers, parts, collectives = (
            each.tolist()
            for each in (tables.operation_start, tables.kinds, tables.layers, tables.parts, tables.operation_collective)
        )
        for npu, program in self.programs.items():
            waited = {collectives[row] for row in program if kinds[row] == "wait"}
            after: dict[str, list[int]] = defaultdict(list)
            for row in program:
                if kinds[row] == "compute":
                    after[layers[row]].append(row)
                    if parts[row] == UPDATE:
                        after[UPDATE].append(row)
            for row in program:
                collective = collectives[row]
                if kinds[row] != "issue" or collective in waited or (collective, npu) not in self.last_ps:
                    continue
                end_ps = self.last_ps[collective, npu]
                for of in (UPDATE, layers[row]) if GRADIENT in parts[row] else (layers[row],):
                    place = bisect_left(after[of], end_ps, key=lambda each: starts[each])
                    if place < len(after[of]):
                        self.needs[after[of][place]].append(collective)
                        break

    def _read_groups(self) -> Numbers:
        """Take from the tables whom each phase waits for, and return from when on it did not.

        NPUs that send to each other in a dimension are one group. A phase waits until as many NPUs of its group have
        started it as had before its end.
        """
        tables, rows = self.tables, self.phases
        groups = self._groups()
        self.groups = dict(zip(rows.tolist(), groups.tolist(), strict=True))
        self.started_before: dict[int, int] = {}
        served_ps = tables.phase_start.copy()
        order = np.lexsort((tables.phase_start[rows], groups))
        for places in np.split(order, np.flatnonzero(np.diff(groups[order])) + 1):
            same = rows[places]
            counts = np.searchsorted(tables.phase_start[same], tables.phase_end[same], side="right")
            served_ps[same] = tables.phase_start[same[counts - 1]]
            self.started_before.update(zip(same.tolist(), counts.tolist(), strict=True))
        return served_ps

    def _lines(self) -> list[int]:
        """Return a number for the line of each phase: that of its dimension.

        A message that an NPU sends by itself passes the line of collectives between the same NPUs.
        """
        tables, found = self.tables, list(self.places)
        single = np.flatnonzero(tables.phase_dimension < 0)
        if tables.messages is None or not len(single):
            return found
        of = tables.phase_of_messages()
        ends = zip(tables.source.tolist(), tables.destination.tolist(), strict=True)
        pairs, dimensions = [frozenset(each) for each in ends], tables.phase_dimension[of].tolist()
        of_pairs = {pair: place for pair, place in zip(pairs, dimensions, strict=True) if place >= 0}
        instances = tables.phase_instance[of].tolist()
        of_instances = {
            instance: of_pairs.get(pair, -1)
            for instance, pair, place in zip(instances, pairs, dimensions, strict=True)
            if place < 0
        }
        for row in single.tolist():
            found[row] += of_instances.get(self.instances[row], -1) + 1
        return found

    def _groups(self) -> Numbers:
        """Return a number for each phase, the same for those of one instance and group."""
        tables, rows = self.tables, self.phases
        places = tables.phase_collective * PLACES + tables.phase_dimension + 1
        heads: dict[tuple[int, int], tuple[int, int]] = {}

        def head(of: tuple[int, int]) -> tuple[int, int]:
            while heads.get(of, of) != of:
                of = heads[of]
            return of

        if tables.messages is not None:
            ends, most = tables.source, int(max(tables.source.max(initial=0), tables.destination.max(initial=0))) + 1
            sends = np.unique((places[tables.phase_of_messages()] * most + ends) * most + tables.destination)
            for place, source, destination in zip(
                (sends // most**2).tolist(), (sends // most % most).tolist(), (sends % most).tolist(), strict=True
            ):
                first, second = sorted((head((place, source)), head((place, destination))))
                heads[second] = first
        known: dict[tuple[int, int], int] = {}
        of_rows = (each[rows].tolist() for each in (tables.phase_instance, places, tables.phase_npu))
        keys = (
            (instance, head((place, npu))[1] if heads else 0) for instance, place, npu in zip(*of_rows, strict=True)
        )
        return np.array([known.setdefault(key, len(known)) for key in keys], dtype=np.int64)

    def _read_gates(self, firsts: Iterable[int]) -> None:
        """Take from the tables which operations the first phases wait for.

        A phase waits for its NPU's own issue of the collective, if it was the last, else for all until then.
        """
        tables = self.tables
        posts = defaultdict[int, dict[int, tuple[int, int]]](dict)
        for row in np.flatnonzero(np.isin(tables.kinds, POSTS) & np.isin(tables.operation_npu, self.npus)).tolist():
            npu, post_ps = int(tables.operation_npu[row]), int(tables.operation_end[row])
            posts[int(tables.operation_collective[row])][npu] = post_ps, row
        same = defaultdict[tuple[int, int, int], list[int]](list)
        for row in firsts:
            collective, npu = int(tables.phase_collective[row]), int(tables.phase_npu[row])
            queued_ps = int(tables.phase_queued[row])
            alone = tables.phase_dimension[row] >= 0 and posts[collective].get(npu, (-1,))[0] == queued_ps
            same[collective, queued_ps, npu if alone else -1].append(row)
        self.gates = defaultdict[int, list[Gate]](list)
        self.open: list[tuple[int, int]] = []
        for (collective, queued_ps, npu), rows in same.items():
            before = [each for each in posts[collective].values() if each[0] <= queued_ps]
            before = [posts[collective][npu]] if npu >= 0 else before
            gate = Gate(len(before), queued_ps - max(before)[0] if before else queued_ps, tuple(rows))
            for _, post in before:
                self.gates[post].append(gate)
            self.open += [(queued_ps, row) for row in rows if not before]


def beside_collectives(tables: Tables, npu: int) -> tuple[list[int], list[int]]:
    """Return when phases of collectives begin to run on an NPU, and when none runs any longer, in order of time."""
    rows = np.flatnonzero((tables.phase_npu == npu) & (tables.phase_dimension >= 0))
    if not len(rows):
        return [], []
    rows = rows[np.argsort(tables.phase_start[rows], kind="stable")]
    starts, until = tables.phase_start[rows], np.maximum.accumulate(tables.phase_end[rows])
    begins = np.append(True, starts[1:] > until[:-1])
    return starts[begins].tolist(), until[np.append(begins[1:], True)].tolist()


def beside_ps(tables: Tables, npu: int) -> int:
    """Return how long phases of collectives ran beside what an NPU computed."""
    starts, ends = (np.array(each, dtype=np.int64) for each in beside_collectives(tables, npu))
    rows = np.flatnonzero((tables.operation_npu == npu) & (tables.kinds == "compute"))
    both = (
        np.minimum(ends, tables.operation_end[row]) - np.maximum(starts, tables.operation_start[row]) for row in rows
    )
    return sum(int(np.maximum(each, 0).sum()) for each in both)


def in_turn(starts: Numbers, ends: Numbers) -> Times:
    """Return how long each of some intervals is served if none begins before those that started sooner are over."""
    order = np.lexsort((ends, starts))
    found, until = np.empty(len(starts)), np.maximum.accumulate(ends[order])
    found[order] = until - np.maximum(np.append(0, until[:-1]), starts[order])
    return found


def at_once(starts: Numbers, ends: Numbers) -> int:
    """Return how many of some intervals there are at most at one time."""
    times = np.concatenate([starts, ends])
    more = np.repeat([1, -1], len(starts))[np.lexsort((np.repeat([1, 0], len(starts)), times))]
    return int(np.cumsum(more).max(initial=0))
