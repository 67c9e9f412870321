"""The critical path: the chain of computations, waits and messages, back from the end, that determines the end.

Each link of the chain ends at the picosecond at which the next begins, so their times add up to the whole exactly. From
an operation of a program that waited it leads to the collective's last chunk on that NPU, from there to the message
that was handled last, to the NPU that sent it, to what had let that NPU send: a message before it, or its own start;
from there to the chunk that had held the slot, or to the program that issued the collective.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from astra_ns3.errors import InputError
from astra_ns3.network.instance import pack_instance, unpack_instance
from astra_ns3.report.explanation.run_tables import Tables

COMPUTE, STEP, UPDATE, ENDPOINT, MESSAGE, PHASE, QUEUE, HELD, STOPPED, OTHER = (
    "compute",
    "step",
    "update",
    "endpoint",
    "message",
    "phase",
    "queue",
    "held",
    "stopped",
    "other",
)


@dataclass(frozen=True)
class Segment:
    """A link of the chain, on ``npu`` (of a message: its source) from ``start_ps`` to ``end_ps``.

    ``operation``: the row of operations.parquet that it is about, or -1; ``collective``: the number of the collective,
    or -1; ``message``: the row of the messages, or -1. ``whole``: False if an end of it was cut off.
    """

    kind: str
    npu: int
    start_ps: int
    end_ps: int
    operation: int = -1
    collective: int = -1
    message: int = -1
    whole: bool = True

    @property
    def time_ps(self) -> int:
        """How long it takes."""
        return self.end_ps - self.start_ps


def critical_path(tables: Tables, iteration: int | None = None) -> tuple[Segment, ...]:
    """The chain that ends when the last NPU does, in order of time; from 0 on, or through one iteration alone.

    An iteration lasts from the first operation of it on any NPU to the last. Raises InputError if there is no such.
    """
    last = tables.last_blocking(iteration)
    begin_ps = 0 if iteration is None else tables.first_start(iteration)
    walk = _Walk(tables, begin_ps)
    walk.program(int(tables.operation_npu[last]), int(tables.operation_end[last]))
    return walk.segments()


def path_of_collective(tables: Tables, collective: int) -> tuple[Segment, ...]:
    """The chain from the first issue of a collective to its end on the last NPU."""
    posts = list(tables.posts(collective))
    rows = [tables.last_phase(collective, npu, 2**62) for npu, _ in posts]
    found = [row for row in rows if row >= 0]
    if not found:
        raise InputError(f"there is no collective {collective} that ended: see collectives.csv")
    last = max(found, key=lambda row: tables.phase_end[row])
    if tables.stopped_ps is not None and collective in tables.unended:
        raise InputError(f"collective {collective} had not ended when the run was stopped: see collectives.csv")
    walk = _Walk(tables, posts[0][1])
    walk.ready(int(tables.phase_instance[last]), int(tables.phase_npu[last]), int(tables.phase_end[last]))
    return walk.segments()


class _Walk:
    """Goes back from a time to ``begin_ps``."""

    def __init__(self, tables: Tables, begin_ps: int) -> None:
        self._tables = tables
        self._begin_ps = begin_ps
        self._found: list[Segment] = []
        self._next: Callable[[], None] | None = None
        self._seen: set[tuple[object, ...]] = set()
        self._running = False

    def segments(self) -> tuple[Segment, ...]:
        """What was found, in order of time."""
        return tuple(reversed(self._found))

    def program(self, npu: int, time_ps: int) -> None:
        """An NPU's program went on then."""
        self._go_to(("program", npu, time_ps), lambda: self._program(npu, time_ps))

    def ready(self, instance: int, npu: int, time_ps: int) -> None:
        """An NPU had then handled what it had to, or begun: it sent, or was done with its part."""
        self._go_to(("ready", instance, npu, time_ps), lambda: self._ready(instance, npu, time_ps))

    def _go_to(self, state: tuple[object, ...], step: Callable[[], None]) -> None:
        """Take a step, after those that are under way; never the same one twice."""
        self._next = step if state not in self._seen else None
        self._seen.add(state)
        if self._running:
            return
        self._running = True
        while self._next is not None:
            now, self._next = self._next, None
            now()
        self._running = False
        if self._found and self._found[-1].start_ps > self._begin_ps:
            self._put(Segment(OTHER, self._found[-1].npu, self._begin_ps, self._found[-1].start_ps))

    def _put(self, segment: Segment) -> bool:
        """Add a link, cut where the walk ends; whether it goes on before it."""
        if segment.start_ps < self._begin_ps:
            segment = replace(segment, start_ps=self._begin_ps, whole=False)
        if segment.end_ps > segment.start_ps:
            self._found.append(segment)
        return segment.start_ps > self._begin_ps

    def _program(self, npu: int, time_ps: int) -> None:
        tables = self._tables
        row = tables.blocking_at(npu, time_ps)
        if row < 0:
            return
        start_ps, end_ps = int(tables.operation_start[row]), int(tables.operation_end[row])
        if end_ps < time_ps and not self._put(Segment(OTHER, npu, end_ps, time_ps)):
            return
        kind, collective = tables.kinds[row], int(tables.operation_collective[row])
        if kind == "wait":
            self._waited(npu, collective, row, start_ps, end_ps)
        elif self._put(Segment(COMPUTE if kind == "compute" else STEP, npu, start_ps, end_ps, operation=row)):
            self.program(npu, start_ps)

    def _waited(self, npu: int, collective: int, operation: int, start_ps: int, end_ps: int) -> None:
        tables = self._tables
        phase = tables.last_phase(collective, npu, end_ps)
        if phase < 0:
            kind = STOPPED if end_ps == tables.stopped_ps else OTHER
            if self._put(Segment(kind, npu, start_ps, end_ps, operation, collective)):
                self.program(npu, start_ps)
            return
        done_ps = int(tables.phase_end[phase])
        kind = STOPPED if end_ps == tables.stopped_ps else UPDATE
        if done_ps == end_ps or self._put(Segment(kind, npu, done_ps, end_ps, operation, collective)):
            self.ready(int(tables.phase_instance[phase]), npu, done_ps)

    def _ready(self, instance: int, npu: int, time_ps: int) -> None:
        tables = self._tables
        phase = tables.phase(instance, npu)
        collective = unpack_instance(instance)[0]
        if phase < 0:  # it was not over when the run was stopped, so nobody knows when it began
            self._unended(instance, npu, time_ps)
            return
        began_ps = int(tables.phase_start[phase])
        if tables.messages is None:
            if self._put(Segment(PHASE, npu, began_ps, time_ps, collective=collective)):
                self._launched(instance, npu, phase)
            return
        costs = tables.handling_ps(instance, npu)
        if self._handled(instance, npu, time_ps, costs):
            return
        if time_ps - began_ps in (tables.delay_ps, *costs):
            self._from_start(instance, npu, phase, began_ps, time_ps)
            return
        for cost in costs:  # it came early, and was handled when the step before it was through, or the NPU began
            if cost and self._explains(instance, npu, time_ps - cost, costs, began_ps):
                if self._put(Segment(ENDPOINT, npu, time_ps - cost, time_ps, collective=collective)):
                    self.ready(instance, npu, time_ps - cost)
                return
        for member in tables.ended_with(instance, time_ps):  # a barrier lets all go on when the last is done
            if member != npu and self._handled(instance, member, time_ps, costs):
                return
        if time_ps <= began_ps + tables.jitter_ps + tables.delay_ps:  # a random delay lies before it
            self._from_start(instance, npu, phase, began_ps, time_ps)
            return
        message = tables.received_before(instance, npu, time_ps)
        arrived_ps = int(tables.end[message]) if message >= 0 else began_ps
        if arrived_ps <= began_ps:
            self._from_start(instance, npu, phase, began_ps, time_ps, OTHER)
        elif self._put(Segment(OTHER, npu, arrived_ps, time_ps, collective=collective)):
            self._came(message, npu, arrived_ps)

    def _unended(self, instance: int, npu: int, time_ps: int) -> None:
        """What was handled in a part that had not ended; else when its collective was issued on the NPU."""
        tables = self._tables
        collective = unpack_instance(instance)[0]
        if tables.messages is not None and self._handled(instance, npu, time_ps, tables.handling_ps(instance, npu)):
            return
        posts = [when for who, when in tables.posts(collective) if who == npu and when <= time_ps]
        began_ps = posts[-1] if posts else self._begin_ps
        if began_ps == time_ps or self._put(Segment(STOPPED, npu, began_ps, time_ps, collective=collective)):
            self.program(npu, began_ps)

    def _explains(self, instance: int, npu: int, time_ps: int, costs: list[int], began_ps: int) -> bool:
        arrived = any(self._tables.received_at(instance, npu, time_ps - cost) >= 0 for cost in costs)
        return arrived or time_ps - began_ps in (0, self._tables.delay_ps)

    def _handled(self, instance: int, npu: int, time_ps: int, costs: list[int]) -> bool:
        """Go on from the message that was handled at a time, if there is one."""
        for cost in costs:
            message = self._tables.received_at(instance, npu, time_ps - cost)
            if message >= 0:
                self._came(message, npu, time_ps)
                return True
        return False

    def _came(self, message: int, npu: int, time_ps: int) -> None:
        tables = self._tables
        source, start_ps, end_ps = (int(column[message]) for column in (tables.source, tables.start, tables.end))
        instance = int(tables.message_instance[message])
        collective = unpack_instance(instance)[0]
        if end_ps < time_ps and not self._put(Segment(ENDPOINT, npu, end_ps, time_ps, collective=collective)):
            return
        if self._put(Segment(MESSAGE, source, start_ps, end_ps, collective=collective, message=message)):
            self.ready(instance, source, start_ps)

    def _from_start(
        self, instance: int, npu: int, phase: int, began_ps: int, time_ps: int, kind: str = ENDPOINT
    ) -> None:
        collective = unpack_instance(instance)[0]
        if time_ps == began_ps or self._put(Segment(kind, npu, began_ps, time_ps, collective=collective)):
            self._launched(instance, npu, phase)

    def _launched(self, instance: int, npu: int, phase: int) -> None:
        """Why a chunk got its slot when it did."""
        tables = self._tables
        if phase < 0:
            return
        queued_ps, start_ps = int(tables.phase_queued[phase]), int(tables.phase_start[phase])
        if queued_ps == start_ps:
            self._entered(instance, npu, queued_ps)
            return
        dimension = int(tables.phase_dimension[phase])
        before = tables.phase_ended(npu, dimension, start_ps)
        if before >= 0 and before != phase:
            self.ready(int(tables.phase_instance[before]), npu, start_ps)
            return
        beside = tables.phase_queued_at(npu, dimension, start_ps)
        if beside >= 0 and beside != phase:
            self._entered(int(tables.phase_instance[beside]), npu, start_ps)
            return
        collective = unpack_instance(instance)[0]
        if self._put(Segment(QUEUE, npu, queued_ps, start_ps, collective=collective)):
            self._entered(instance, npu, queued_ps)

    def _entered(self, instance: int, npu: int, time_ps: int) -> None:
        """Why a chunk joined its queue when it did."""
        tables = self._tables
        collective, chunk, number = unpack_instance(instance)
        for other in (number - 1, number + 1):  # the phase before; of a message, its invitation
            if other >= 0 and (other < number or tables.phase_dimension[tables.phase(instance, npu)] < 0):
                before = pack_instance(collective, chunk, other)
                row = tables.phase(before, npu)
                if row >= 0 and tables.phase_end[row] == time_ps:
                    self.ready(before, npu, time_ps)
                    return
        posts = [(who, when) for who, when in tables.posts(collective) if when <= time_ps]
        exact = [who for who, when in posts if when == time_ps]
        if exact:
            self.program(npu if npu in exact else exact[0], time_ps)
        elif posts:
            who, when = posts[-1]
            if self._put(Segment(HELD, npu, when, time_ps, collective=collective)):
                self.program(who, when)
