"""Possible causes of an event, by the tables of a run: the steps of a walk back in time.

An *event* is a moment of an NPU. An operation of its program ended, its program went on, its part of a phase had
handled what it had to, its part was over, got a slot, joined its queue. Each has causes, the likeliest first. Events
that the tables don't tell apart, such as two messages that arrive at one picosecond, are several causes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import NamedTuple

from astra_ns3.frozen import replace
from astra_ns3.network.instance import unpack_instance
from astra_ns3.report.explanation.channels import links_to
from astra_ns3.report.explanation.parts import (
    BUSY,
    CHANNEL,
    COMPUTE,
    COPYING,
    ENDPOINT,
    KERNEL,
    LATENCY,
    MESSAGE,
    OTHER,
    REMOTE,
    SLOT_COPYING,
    SLOT_LATENCY,
    STEP,
    STILL,
    STOPPED,
    UPDATE,
    WORK,
    Segment,
)
from astra_ns3.report.explanation.run_tables import ACCESSES, Tables
from astra_ns3.report.explanation.slowed import slowed_npus, spans_of_npus, standing

_OPERATION, _PROGRAM, _READY, _HANDLED, _OVER, _SLOT, _QUEUE, _FREED = range(8)
# A sender that waits for a free slot waits for these parts at the receiver.
_OF_SLOTS = {LATENCY: SLOT_LATENCY, COPYING: SLOT_COPYING, BUSY: SLOT_COPYING}
_KINDS = {"compute": COMPUTE, "work": WORK, "step": STEP}


class Event(NamedTuple):
    """Something that happened on ``npu`` at ``time_ps``; ``what`` it is about: a row of its table, or an instance."""

    kind: int
    npu: int
    time_ps: int
    what: int


class Cause(NamedTuple):
    """``event`` let something happen; ``links`` are what took time in between, the latest first."""

    links: tuple[Segment, ...]
    event: Event


class Causes:
    """The causes of events of a run."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        spans = spans_of_npus(slowed_npus(tables.metadata))
        self._standing = cache(lambda npu: standing(spans(npu)))
        self._of: Mapping[int, Callable[[Event], Iterator[Cause]]] = {
            _OPERATION: self._of_operation,
            _PROGRAM: self._of_program,
            _READY: self._of_ready,
            _HANDLED: self._of_handled,
            _OVER: self._of_over,
            _SLOT: self._of_slot,
            _QUEUE: self._of_queue,
            _FREED: self._of_freed,
        }

    @staticmethod
    def operation(tables: Tables, row: int) -> Event:
        """An operation of a program ended."""
        return Event(_OPERATION, int(tables.operation_npu[row]), int(tables.operation_end[row]), row)

    @staticmethod
    def over(tables: Tables, phase: int) -> Event:
        """An NPU was done with its part of a phase."""
        return Event(_OVER, int(tables.phase_npu[phase]), int(tables.phase_end[phase]), phase)

    def of(self, event: Event) -> Iterator[Cause]:
        """Return possible causes of an event."""
        return self._of[event.kind](event)

    def _of_operation(self, event: Event) -> Iterator[Cause]:
        tables, row = self._tables, event.what
        kind, start_ps = tables.kinds[row], int(tables.operation_start[row])
        if kind == "wait":
            yield from self._of_wait(event, start_ps)
            return
        link = Segment(_KINDS[kind], event.npu, start_ps, event.time_ps, operation=row)
        yield Cause((link,), Event(_PROGRAM, event.npu, start_ps, row))

    def _of_wait(self, event: Event, start_ps: int) -> Iterator[Cause]:
        """A program waited for a collective; a graph for whatever ends next, whatever it was told to wait for."""
        tables, row = self._tables, event.what
        collective = int(tables.operation_collective[row])
        phases = tables.phases_of(collective, event.npu) if collective >= 0 else []
        for phase in reversed(phases):
            if tables.phase_end[phase] == event.time_ps:
                yield _now(Causes.over(tables, phase))
        if tables.of_graphs:
            yield from self._of_graph(event.npu, event.time_ps)
        elif tables.rules.messages_by_arrival:
            for phase in tables.arrivals(event.npu, event.time_ps):
                if tables.phase_collective[phase] == collective:
                    yield _now(Causes.over(tables, phase))
        if start_ps == event.time_ps:  # it did not wait: all was there before the program came to it
            yield _now(Event(_PROGRAM, event.npu, start_ps, row))
        if collective >= 0 and not phases and not tables.of_graphs:
            yield from self._of_remote(event, collective)
        ended = [phase for phase in phases if tables.phase_end[phase] <= event.time_ps]
        if event.time_ps == tables.stopped_ps:
            done_ps = int(tables.phase_end[ended[-1]]) if ended else start_ps
            link = Segment(STOPPED, event.npu, done_ps, event.time_ps, row, collective)
            program = Event(_PROGRAM, event.npu, start_ps, row)
            yield Cause((link,), Causes.over(tables, ended[-1]) if ended else program)
        elif ended and ended == phases and not tables.of_graphs:
            done_ps = int(tables.phase_end[ended[-1]])
            link = Segment(UPDATE, event.npu, done_ps, event.time_ps, row, collective)
            yield Cause((link,), Causes.over(tables, ended[-1]))

    def _of_remote(self, event: Event, collective: int) -> Iterator[Cause]:
        """An access to a remote memory has no phases: it began when it was posted."""
        for npu, began_ps, row in self._tables.posts(collective):
            if npu == event.npu and began_ps <= event.time_ps and self._tables.kinds[row] in ACCESSES:
                link = Segment(REMOTE, npu, began_ps, event.time_ps, collective=collective)
                yield Cause((link,), Event(_PROGRAM, npu, began_ps, row))

    def _of_program(self, event: Event) -> Iterator[Cause]:
        """A program went on before the operation of a row; ``what``: that row."""
        tables = self._tables
        if tables.of_graphs:
            yield from self._of_graph(event.npu, event.time_ps)
        row = tables.blocking_before(event.npu, event.what)
        if (
            row >= 0
            and tables.operation_end[row] == event.time_ps
            and not (tables.of_graphs and tables.kinds[row] == "wait")
        ):
            yield _now(Causes.operation(tables, row))

    def _of_graph(self, npu: int, time_ps: int) -> Iterator[Cause]:
        """Causes in a graph: an NPU begins a node when any of its nodes ends."""
        tables = self._tables
        for row in tables.alone_ended(npu, time_ps):
            yield _now(Causes.operation(tables, row))
        ended = tables.collectives_ended(npu, time_ps)
        for phase in [*ended, *(tables.arrivals(npu, time_ps) if tables.rules.messages_by_arrival else ())]:
            yield _now(Causes.over(tables, phase))

    def _of_over(self, event: Event) -> Iterator[Cause]:
        """An NPU was done with a phase: it had handled all; with a barrier, any member was the last to do so."""
        tables = self._tables
        instance = int(tables.phase_instance[event.what])
        members = [event.npu]
        if tables.rules.phase_barrier:
            members += [npu for npu in tables.ended_with(instance, event.time_ps) if npu != event.npu]
            for npu in members:  # before it is looked whether a message had come early, which takes longer
                yield _now(Event(_HANDLED, npu, event.time_ps, instance))
        for npu in members:
            yield _now(Event(_READY, npu, event.time_ps, instance))

    def _of_ready(self, event: Event) -> Iterator[Cause]:
        """An NPU had handled what it had to, or begun: it sent, or was done with its part."""
        if self._tables.channels.play(event.what):
            yield from self._of_channel(event)
            return
        yield from self._of_handled(event)
        yield from self._of_early(event)

    def _of_channel(self, event: Event) -> Iterator[Cause]:
        """The same in a channel, whose kernel copies one message after the other."""
        tables, instance, npu, time_ps = self._tables, event.what, event.npu, event.time_ps
        collective, protocol = unpack_instance(instance)[0], tables.channels.protocol(instance)
        for handled in tables.handled_in_channel(instance, npu, time_ps):
            links, first = links_to(handled, npu, collective, protocol)
            sent = _FREED if first.is_signal else _READY
            yield Cause(links, Event(sent, first.source, first.start_ps, instance))
        phase = tables.phase(instance, npu)
        if phase >= 0 and tables.channels.tell(instance):
            began_ps = int(tables.phase_start[phase])
            if 0 <= time_ps - began_ps - tables.channels.start_ps(instance) <= tables.jitter_ps:
                link = Segment(KERNEL, npu, began_ps, time_ps, collective=collective, protocol=protocol)
                yield Cause((link,), Event(_SLOT, npu, began_ps, phase))
            return  # with a barrier, another member was the last
        yield from self._of_untold_channel(event)

    def _of_freed(self, event: Event) -> Iterator[Cause]:
        """An NPU had a slot free again, and said so: what its kernel did before, the sender waited for."""
        for cause in self._of_channel(event):
            links = tuple(replace(link, kind=_OF_SLOTS.get(link.kind, link.kind)) for link in cause.links)
            yield Cause(links, cause.event)

    def _of_untold_channel(self, event: Event) -> Iterator[Cause]:
        """The same where no table tells what kernels did: the last message that had come led on.

        From its arrival on the kernel was busy, with it or with what came before, or the proxy was.
        """
        tables, instance, npu, time_ps = self._tables, event.what, event.npu, event.time_ps
        collective, protocol = unpack_instance(instance)[0], tables.channels.protocol(instance)
        message = tables.last_received(instance, npu, time_ps)
        if message >= 0:
            source, start_ps, end_ps = (int(each[message]) for each in (tables.source, tables.start, tables.end))
            links = (
                Segment(CHANNEL, npu, end_ps, time_ps, collective=collective, protocol=protocol),
                Segment(MESSAGE, source, start_ps, end_ps, collective=collective, message=message),
            )
            yield Cause(links, Event(_READY, source, start_ps, instance))
            return
        phase = tables.phase(instance, npu)
        if phase < 0:
            yield from self._of_unended(event, collective)
            return
        began_ps = int(tables.phase_start[phase])
        link = Segment(CHANNEL, npu, began_ps, time_ps, collective=collective, protocol=protocol)
        yield Cause((link,), Event(_SLOT, npu, began_ps, phase))

    def _of_handled(self, event: Event) -> Iterator[Cause]:
        """The same, without messages that had come early."""
        tables, instance, npu, time_ps = self._tables, event.what, event.npu, event.time_ps
        phase = tables.phase(instance, npu)
        collective = unpack_instance(instance)[0]
        yield from self._of_handling(event)
        yield from self._of_still(event)
        if phase < 0:  # it was not over when the run was stopped, so nobody knows when it began
            yield from self._of_unended(event, collective)
            return
        began_ps = int(tables.phase_start[phase])
        launched = [time_ps - cost_ps for cost_ps in tables.handling_ps(instance, npu)]
        for cost_ps, first_ps in tables.costs_ps(instance, npu).items():
            launched += [time_ps - cost_ps] if first_ps <= time_ps - cost_ps else []
        if any(0 <= launched_ps - began_ps <= tables.jitter_ps for launched_ps in launched):
            link = Segment(ENDPOINT, npu, began_ps, time_ps, collective=collective)
            yield Cause((link,), Event(_SLOT, npu, began_ps, phase))

    def _of_early(self, event: Event) -> Iterator[Cause]:
        """Messages that had come early were handled one step after the other, each when the one before was through."""
        tables, instance, npu = self._tables, event.what, event.npu
        collective = unpack_instance(instance)[0]
        costs = tables.costs_ps(instance, npu)
        reached: dict[int, tuple[Segment, ...]] = {event.time_ps: ()}
        latest = [event.time_ps]
        for _ in range(tables.count_received(instance, npu, event.time_ps)):  # each step has a message of its own
            before = []
            for time_ps in latest:
                for step_ps, first_ps in ((time_ps - cost_ps, first_ps) for cost_ps, first_ps in costs.items()):
                    if step_ps not in reached and first_ps < step_ps:
                        link = Segment(ENDPOINT, npu, step_ps, time_ps, collective=collective)
                        reached[step_ps] = (*reached[time_ps], link)
                        before.append(step_ps)
                        yield Cause(reached[step_ps], Event(_HANDLED, npu, step_ps, instance))
            latest = before

    def _of_handling(self, event: Event) -> Iterator[Cause]:
        """A message was handled then."""
        tables, instance, npu = self._tables, event.what, event.npu
        collective = unpack_instance(instance)[0]
        for message in tables.handled_at(instance, npu, event.time_ps):
            source, start_ps, end_ps = (int(each[message]) for each in (tables.source, tables.start, tables.end))
            links = (
                Segment(ENDPOINT, npu, end_ps, event.time_ps, collective=collective),
                Segment(MESSAGE, source, start_ps, end_ps, collective=collective, message=message),
            )
            yield Cause(links, Event(_READY, source, start_ps, int(tables.message_instance[message])))

    def _of_still(self, event: Event) -> Iterator[Cause]:
        """An NPU no longer stood still, and was through with what it would have handled meanwhile."""
        tables, instance, npu, time_ps = self._tables, event.what, event.npu, event.time_ps
        collective = unpack_instance(instance)[0]
        from_ps = self._standing(npu).get(time_ps)
        if from_ps is not None:
            for due_ps in tables.handled_between(instance, npu, from_ps, time_ps):
                link = Segment(STILL, npu, due_ps, time_ps, collective=collective)
                yield Cause((link,), Event(_HANDLED, npu, due_ps, instance))

    def _of_unended(self, event: Event, collective: int) -> Iterator[Cause]:
        tables = self._tables
        posts = [(when, row) for who, when, row in tables.posts(collective) if who == event.npu]
        before = [post for post in posts if post[0] <= event.time_ps]
        if before:
            began_ps, row = before[-1]
            link = Segment(STOPPED, event.npu, began_ps, event.time_ps, collective=collective)
            yield Cause((link,), Event(_PROGRAM, event.npu, began_ps, row))

    def _of_slot(self, event: Event) -> Iterator[Cause]:
        """A phase got a slot: as it joined its queue, or when another ended, or when one came that had to go first."""
        tables, phase, npu, start_ps = self._tables, event.what, event.npu, event.time_ps
        queued_ps = int(tables.phase_queued[phase])
        if queued_ps == start_ps:
            yield _now(Event(_QUEUE, npu, start_ps, phase))
            return
        for row in tables.ended_beside(phase, start_ps):
            yield _now(Causes.over(tables, row))
        for row in tables.queued_beside(phase, start_ps):
            yield _now(Event(_QUEUE, npu, start_ps, row))
        if tables.stopped_ps is not None:  # what was not over isn't in the table
            link = Segment(OTHER, npu, queued_ps, start_ps, collective=int(tables.phase_collective[phase]))
            yield Cause((link,), Event(_QUEUE, npu, queued_ps, phase))

    def _of_queue(self, event: Event) -> Iterator[Cause]:
        """A phase joined its queue: after the chunk's phase before, or when its last role had issued the collective."""
        tables, phase = self._tables, event.what
        for row in tables.before(phase):
            yield _now(Causes.over(tables, row))
        posts = tables.posts_at(int(tables.phase_collective[phase]), event.time_ps)
        for npu, row in sorted(posts, key=lambda post: post[0] != event.npu):
            yield _now(Event(_PROGRAM, npu, event.time_ps, row))


def _now(event: Event) -> Cause:
    """An event of the same moment."""
    return Cause((), event)
