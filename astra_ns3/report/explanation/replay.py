"""A recorded run, played again by its tables with other times of computations and phases.

Each NPU goes through its recorded operations in their order. A collective begins when its roles have issued it, and a
chunk's phases follow each other. An NPU's phases in one dimension pass its line one after the other, as messages of one
queue pair do: a phase then ends sooner where others do. Phases wait for slots, which the NPUs give in one order.
Computations keep the pace of their NPU, and go on more slowly while phases of collectives run there.

Model limits: within a phase, NPUs wait for the last of their group to start it, and for nothing else. Slots go to
phases in the recorded order of those that wait. Not all NPUs of large runs are played; the others change nothing.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from heapq import heapify, heappop, heappush
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
_PLACES = 256
"""More than there are dimensions."""
_TOLERANCE = 0.01
"""A replay without a change that differs by a larger share of the recorded time tells nothing of changes."""


@dataclass(frozen=True)
class Change:
    """A change of a replay: computations take ``1 / compute`` of their time.

    ``pace``: of an NPU, None for that of the run. ``times``: a factor for each row of the phases, None for 1.
    """

    compute: int = 1
    pace: Callable[[int], Pace] | None = None
    times: Times | None = None


@dataclass(frozen=True)
class _Gate:
    """Phases at ``rows`` join their queues ``after_ps`` after the last of so many ``posts``."""

    posts: int
    after_ps: int
    rows: tuple[int, ...]


class Replay:
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
        self._without_change = self._play(Change())

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
        self.places = (tables.phase_npu * _PLACES + tables.phase_dimension + 1).tolist()
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
            self.part_ps[same] = _in_turn(served_ps[same], tables.phase_end[same])
        waited = tables.phase_queued[rows] < tables.phase_start[rows]
        for place in set((tables.phase_dimension[rows[waited]] + 1).tolist()):
            same_place = [same for at, same in by_place.items() if at % _PLACES == place]
            self.slots[place] = max(_at_once(tables.phase_start[same], tables.phase_end[same]) for same in same_place)
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
        places = tables.phase_collective * _PLACES + tables.phase_dimension + 1
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
        self.gates = defaultdict[int, list[_Gate]](list)
        self.open: list[tuple[int, int]] = []
        for (collective, queued_ps, npu), rows in same.items():
            before = [each for each in posts[collective].values() if each[0] <= queued_ps]
            before = [posts[collective][npu]] if npu >= 0 else before
            gate = _Gate(len(before), queued_ps - max(before)[0] if before else queued_ps, tuple(rows))
            for _, post in before:
                self.gates[post].append(gate)
            self.open += [(queued_ps, row) for row in rows if not before]

    @property
    def is_true(self) -> bool:
        """Whether the replay without a change takes the recorded time."""
        recorded_ps = int(self.tables.operation_end[list(self._without_change)].max(initial=0))
        replayed_ps = max((end_ps for _, end_ps in self._without_change.values()), default=0)
        return abs(replayed_ps - recorded_ps) <= _TOLERANCE * recorded_ps

    def saved_ps(self, change: Change, iteration: int | None = None) -> int:
        """Return how much sooner the run, or an iteration, ends with a change."""
        return self._time_ps(self._without_change, iteration) - self._time_ps(self._play(change), iteration)

    def _time_ps(self, times: Mapping[int, tuple[int, int]], iteration: int | None) -> int:
        if iteration is None:
            return max(end_ps for _, end_ps in times.values())
        of = [ends for row, ends in times.items() if self.tables.iterations[row] == iteration]
        return max(end_ps for _, end_ps in of) - min(start_ps for start_ps, _ in of)

    def _play(self, change: Change) -> Mapping[int, tuple[int, int]]:
        return _Play(self, change).times()


class _Place:
    """What an NPU does in one dimension: phases that wait for slots, and those that pass its line in turn."""

    __slots__ = ("chosen", "started", "until_ps", "waiting")

    def __init__(self) -> None:
        self.started, self.until_ps = 0, 0.0
        self.chosen: deque[int] = deque()
        self.waiting: list[tuple[int, int]] = []
        """When a phase started in the recorded run, and its row."""


class _Computing:
    """A computation that goes on; ``turn``: which of the planned ends holds."""

    __slots__ = ("busy", "left", "row", "since_ps", "turn")

    def __init__(self, row: int, left: Fraction, since_ps: int) -> None:
        self.row, self.left, self.since_ps, self.busy, self.turn = row, left, since_ps, False, 0


class _Play:
    """One replay with a change."""

    def __init__(self, run: Replay, change: Change) -> None:
        self._run, self._change = run, change
        self._pace = run.pace if change.pace is None else change.pace
        tables = run.tables
        self._kinds, self._collectives = tables.kinds.tolist(), tables.operation_collective.tolist()
        self._starts, self._ends = tables.operation_start.tolist(), tables.operation_end.tolist()
        self._phase_npus, self._phase_collectives = tables.phase_npu.tolist(), tables.phase_collective.tolist()
        self._of_collectives = (tables.phase_dimension >= 0).tolist()
        self._phase_starts = tables.phase_start.tolist()
        parts = run.part_ps if change.times is None else run.part_ps * change.times
        self._parts: list[float] = parts.tolist()
        self._at_places = defaultdict[int, _Place](_Place)
        self._posts = {gate: gate.posts for gates in run.gates.values() for gate in gates}
        self._started, self._held = defaultdict[int, int](int), defaultdict[int, list[int]](list)
        self._left = dict(run.left)
        self._places = dict.fromkeys(run.npus, 0)
        self._beside = dict.fromkeys(run.npus, 0)
        self._computing: dict[int, _Computing] = {}
        self._waiting: dict[tuple[int, int], int] = {}
        self._needed: set[tuple[int, int]] = set()
        self._times: dict[int, tuple[int, int]] = {}
        self._events: list[tuple[int, int, Callable[..., None], tuple[int, ...]]] = []
        self._planned = 0

    def times(self) -> Mapping[int, tuple[int, int]]:
        """Return when each operation of the NPUs begins and ends."""
        run = self._run
        for npu in run.npus:
            if rows := run.programs[npu]:
                self._at(self._starts[rows[0]], self._go_on, npu)
        for queued_ps, row in run.open:
            self._at(queued_ps, self._queue, row)
        while self._events:
            time_ps, _, what, about = heappop(self._events)
            what(time_ps, *about)
        return self._times

    def _at(self, time_ps: int, what: Callable[..., None], *about: int) -> None:
        self._planned += 1
        heappush(self._events, (time_ps, self._planned, what, about))

    def _go_on(self, time_ps: int, npu: int) -> None:
        """An NPU goes on with its program, as far as nothing takes time."""
        program = self._run.programs[npu]
        while self._places[npu] < len(program):
            row = program[self._places[npu]]
            kind, took_ps = self._kinds[row], self._ends[row] - self._starts[row]
            if kind == "compute":
                missing = [key for each in self._run.needs.get(row, ()) if self._left.get(key := (each, npu))]
                if missing:
                    self._needed.add(missing[0])
                    return
                self._times[row] = time_ps, time_ps
                self._computing[npu] = _Computing(row, self._run.work_ps[row] / self._change.compute, time_ps)
                self._plan(time_ps, npu)
                return
            key = self._collectives[row], npu
            if kind == "wait" and self._left.get(key):
                self._times[row], self._waiting[key] = (time_ps, time_ps), row
                return
            if kind in POSTS:
                self._posted(time_ps, row)
            elif took_ps and kind != "wait":
                self._at(time_ps + took_ps, self._ended, npu, row)
                self._times[row] = time_ps, time_ps
                return
            self._times[row] = time_ps, time_ps
            self._places[npu] += 1

    def _ended(self, time_ps: int, npu: int, row: int) -> None:
        """An operation has ended."""
        self._times[row] = self._times[row][0], time_ps
        self._places[npu] += 1
        self._go_on(time_ps, npu)

    def _plan(self, time_ps: int, npu: int) -> None:
        """Work out when what an NPU computes ends, from now on beside collectives or not."""
        each, pace, stretch = self._computing[npu], self._pace(npu), self._run.stretch
        each.left -= pace.work_ps(each.since_ps, time_ps, stretch if each.busy else UNCHANGED)
        each.since_ps, each.busy, each.turn = time_ps, self._beside[npu] > 0, each.turn + 1
        end_ps = pace.end_ps(time_ps, max(each.left, Fraction()), stretch if each.busy else UNCHANGED)
        self._at(end_ps, self._computed, npu, each.row, each.turn)

    def _computed(self, time_ps: int, npu: int, row: int, turn: int) -> None:
        each = self._computing.get(npu)
        if each is not None and (each.row, each.turn) == (row, turn):
            del self._computing[npu]
            self._ended(time_ps, npu, row)

    def _posted(self, time_ps: int, operation: int) -> None:
        """An NPU issued a collective, or posted an end of a message."""
        for gate in self._run.gates.get(operation, ()):
            self._posts[gate] -= 1
            if not self._posts[gate]:
                self._at(time_ps + gate.after_ps, self._queue, *gate.rows)

    def _queue(self, time_ps: int, *rows: int) -> None:
        """Phases join their queues."""
        for row in rows:
            heappush(self._at_places[self._run.places[row]].waiting, (self._phase_starts[row], row))
        for place in dict.fromkeys(self._run.places[row] for row in rows):
            self._serve(time_ps, place)

    def _serve(self, time_ps: int, place: int) -> None:
        """Start phases that have slots."""
        at, started = self._at_places[place], []
        while (row := self._next(at, place)) is not None:
            started.append(row)
            at.started += 1
        if started:
            self._start(time_ps, started)

    def _next(self, at: _Place, place: int) -> int | None:
        """Return the phase that starts now, if there is a slot, as all NPUs start phases in one order.

        An NPU that is the first to choose takes the phase that came first in the recorded run.
        """
        run, waiting, slots = self._run, at.waiting, self._run.slots.get(place % _PLACES)
        if not waiting or (slots is not None and at.started >= slots):
            return None
        if slots is None:
            return heappop(waiting)[1]
        if not at.chosen:
            for each in run.members[run.instances[waiting[0][1]]]:
                self._at_places[run.places[each]].chosen.append(each)
        row = at.chosen[0]
        entry = self._phase_starts[row], row
        if entry not in waiting:
            return None
        at.chosen.popleft()
        waiting.remove(entry)
        heapify(waiting)
        return row

    def _start(self, time_ps: int, rows: Iterable[int]) -> None:
        """Phases start; one passes its line, as do others of its group, once as many have started as before its end."""
        before = self._run.started_before
        for row in rows:
            self._runs_beside(time_ps, row, 1)
            group = self._run.groups[row]
            self._started[group] += 1
            held = [*self._held[group], row]
            self._held[group] = [each for each in held if before[each] > self._started[group]]
            for each in held:
                if before[each] <= self._started[group]:
                    line = self._at_places[self._run.lines[each]]
                    line.until_ps = max(line.until_ps, time_ps) + self._parts[each]
                    self._at(round(line.until_ps), self._over, each)

    def _runs_beside(self, time_ps: int, row: int, more: int) -> None:
        """One phase more or less runs on an NPU."""
        npu = self._phase_npus[row]
        if self._of_collectives[row]:
            before, self._beside[npu] = self._beside[npu], self._beside[npu] + more
            if npu in self._computing and not (before and self._beside[npu]):
                self._plan(time_ps, npu)

    def _over(self, time_ps: int, row: int) -> None:
        """A phase has passed its line."""
        place = self._run.places[row]
        self._at_places[place].started -= 1
        key = self._phase_collectives[row], self._phase_npus[row]
        self._runs_beside(time_ps, row, -1)
        if row in self._run.following:
            after, gap_ps = self._run.following[row]
            self._at(time_ps + gap_ps, self._queue, after)
        self._serve(time_ps, place)
        self._left[key] -= 1
        if not self._left[key] and key in self._waiting:
            wait = self._waiting.pop(key)
            update_ps = self._ends[wait] - self._run.last_ps[key]
            self._at(time_ps + max(update_ps, 0), self._ended, key[1], wait)
        elif not self._left[key] and key in self._needed:
            self._needed.remove(key)
            self._at(time_ps, self._go_on, key[1])


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


def _in_turn(starts: Numbers, ends: Numbers) -> Times:
    """Return how long each of some intervals is served if none begins before those that started sooner are over."""
    order = np.lexsort((ends, starts))
    found, until = np.empty(len(starts)), np.maximum.accumulate(ends[order])
    found[order] = until - np.maximum(np.append(0, until[:-1]), starts[order])
    return found


def _at_once(starts: Numbers, ends: Numbers) -> int:
    """Return how many of some intervals there are at most at one time."""
    times = np.concatenate([starts, ends])
    more = np.repeat([1, -1], len(starts))[np.lexsort((np.repeat([1, 0], len(starts)), times))]
    return int(np.cumsum(more).max(initial=0))
