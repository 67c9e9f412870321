"""A recorded run, played again by its tables with other times of computations and phases.

Each NPU goes through its recorded operations in their order. A collective begins when its roles have issued it, and a
chunk's phases follow each other. A phase passes its NPU's line after those that started before it: it then ends sooner
where others do. Phases wait for slots, which the NPUs give in one order. Computations keep the pace of their NPU, and
go on more slowly while phases of collectives run there.

Model limits: slots go to phases in the recorded order of those that wait.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from heapq import heapify, heappop, heappush

from astra_ns3.frozen import dataclass
from astra_ns3.playing.slowdown.pace import UNCHANGED, Pace
from astra_ns3.report.explanation.recorded import PLACES, Recorded, Times
from astra_ns3.report.explanation.run_tables import POSTS

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


class Replay:
    """Replays of a recorded run, with and without changes."""

    def __init__(self, recorded: Recorded) -> None:
        self._recorded = recorded
        self._without_change = self._play(Change())

    @property
    def is_true(self) -> bool:
        """Whether the replay without a change takes the recorded time."""
        recorded_ps = int(self._recorded.tables.operation_end[list(self._without_change)].max(initial=0))
        replayed_ps = max((end_ps for _, end_ps in self._without_change.values()), default=0)
        return abs(replayed_ps - recorded_ps) <= _TOLERANCE * recorded_ps

    def saved_ps(self, change: Change, iteration: int | None = None) -> int:
        """Return how much sooner the run, or an iteration, ends with a change."""
        return self._time_ps(self._without_change, iteration) - self._time_ps(self._play(change), iteration)

    def _time_ps(self, times: Mapping[int, tuple[int, int]], iteration: int | None) -> int:
        if iteration is None:
            return max(end_ps for _, end_ps in times.values())
        of = [ends for row, ends in times.items() if self._recorded.tables.iterations[row] == iteration]
        return max(end_ps for _, end_ps in of) - min(start_ps for start_ps, _ in of)

    def _play(self, change: Change) -> Mapping[int, tuple[int, int]]:
        return _Play(self._recorded, change).times()


class _Place:
    """The phases of an NPU in one dimension: some wait for slots, others pass its line in turn."""

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

    def __init__(self, run: Recorded, change: Change) -> None:
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
        run, waiting, slots = self._run, at.waiting, self._run.slots.get(place % PLACES)
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
