"""The tables of a run that explanations are made from, as arrays that can be looked up."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from astra_ns3.config.core.compatibility import preset
from astra_ns3.errors import refuse, wrong
from astra_ns3.network.instance import CHUNK_BITS, PHASE_BITS
from astra_ns3.network.run_document import FileDocument
from astra_ns3.report.explanation.channels import Channels, Handled
from astra_ns3.report.own_bytes import Columns, messages_of
from astra_ns3.report.records import COLLECTIVES, end_of, stop_of, table_of
from astra_ns3.report.tables import Numbers, Records, is_of_flows, is_of_graphs
from astra_ns3.units import PS_PER_NS

_INSTANCE = ("collective", "chunk", "phase")
_PHASE_COLUMNS = (*_INSTANCE, "npu", "dimension", "queued_ps", "start_ps", "end_ps")
_OPERATION_COLUMNS = ("npu", "kind", "layer", "part", "collective", "iteration", "start_ps", "end_ps")
REDUCTION_MEMORY_ACCESSES = 3
"""Two reads and a write, as :class:`astra_ns3.network.api.EndpointModel` has it."""
TAKES_TIME = ("compute", "wait", "step")
"""Operations that follow each other on an NPU without a gap."""
ALONE = ("compute", "work")
"""Operations that take time by themselves; of a graph several may go on at once."""
ACCESSES = ("store", "load")
"""Operations that need memory beyond the device."""
POSTS = ("issue", "send", "receive", *ACCESSES)


def alone_ps(messages: Columns) -> Numbers | None:
    """Return what each message would have taken alone, at most what it took; None where nobody knows."""
    ideal_ps = messages.get("ideal_ps")
    if ideal_ps is None or not (ideal_ps > 0).all():
        return None
    alone: Numbers = np.minimum(ideal_ps, messages["end_ps"] - messages["start_ps"])
    return alone


class _Index:
    """Rows by two numbers that several may have: by the first, then by the second, then as they stand in the table."""

    def __init__(self, numbers: Numbers, then: Numbers) -> None:
        self._order = np.lexsort((then, numbers))
        self._numbers = numbers[self._order]
        self._then = then[self._order]

    def rows(self, number: int) -> Numbers:
        """All rows that have it."""
        first, last = np.searchsorted(self._numbers, (number, number + 1))
        return self._order[first:last]

    def rows_at(self, number: int, then: int) -> list[int]:
        """The rows that have both, the last first."""
        first, last = np.searchsorted(self._numbers, (number, number + 1))
        begin, end = first + np.searchsorted(self._then[first:last], (then, then + 1))
        found: list[int] = self._order[begin:end][::-1].tolist()
        return found

    def count_below(self, number: int, then: int) -> int:
        """How many rows have the number, and of the other less than ``then``."""
        first, last = np.searchsorted(self._numbers, (number, number + 1))
        return int(np.searchsorted(self._then[first:last], then))


class Tables:
    """Messages, phases and operations of a run; raises InputError for one without ``timeline``.

    ``messages``: those of :func:`messages_of` unless some that were made of these are given. A *part*
    of an NPU is a phase as one NPU plays it, known by the number of its instance and the NPU. ``tell_chain``: whether
    the critical path is known: without single messages nobody knows for whom an NPU waited.
    """

    def __init__(self, run: Records, messages: Columns | None = None) -> None:
        metadata = run.metadata
        refuse(bool(is_of_flows(run)), "a list of flows has no passes, collectives or critical path; explain all of it")
        operations, phases = table_of(run, "operations"), table_of(run, "phases")
        if operations is None or phases is None:
            raise wrong("the critical path needs what every NPU did: run with --record timeline")
        self.metadata, self.npus = metadata, int(metadata["npus"])
        collectives = list(run.rows(COLLECTIVES))
        self.unended = frozenset(int(row["collective"]) for row in collectives if not row["end_us"])
        self.of_graphs = is_of_graphs(run)
        self.rules = preset(metadata["compat"])
        self._read_system(metadata["system"])
        self.stopped_ps = None if stop_of(metadata) is None else end_of(metadata)
        self.resumed = (metadata.get("job") or {}).get("resumed_passes", 0)
        self._read_operations(operations.whole(_OPERATION_COLUMNS))
        self.messages = messages_of(run) if messages is None else messages
        self.tell_chain = self.messages is not None or not collectives
        ends = [] if self.messages is None else [self.messages[end].max(initial=0) for end in ("source", "destination")]
        self._players = max(self.npus, *(int(end) + 1 for end in ends)) if ends else self.npus
        """Behind the NPUs there are switches that reduce."""
        self._read_phases(phases.whole(_PHASE_COLUMNS))
        self.channels = Channels(run, self.messages)
        self._read_messages()

    def _read_system(self, system: FileDocument) -> None:
        delay_ns = int(system.get("endpoint-delay", 0) * system.get("injection-scale", 1.0))
        group_ns = self.rules.group_endpoint_delay_ns
        self._delays_ps = {ns * PS_PER_NS for ns in (delay_ns, group_ns) if ns is not None}
        self.jitter_ps = int(system.get("start-jitter", 0)) * PS_PER_NS
        self._reduction_bytes_per_ns = int(system.get("reduction-bytes-per-ns", 500_000))

    def _read_operations(self, table: Columns) -> None:
        kinds = table["kind"]
        blocking = np.isin(kinds, TAKES_TIME)
        self.kinds = kinds
        self.operation_npu, self.operation_collective = table["npu"], table["collective"]
        self.operation_start, self.operation_end = table["start_ps"], table["end_ps"]
        self.iterations, self.layers, self.parts = table["iteration"], table["layer"], table["part"]
        self._blocking = np.flatnonzero(blocking)
        self._of_npu = _Index(self.operation_npu[self._blocking], self._blocking)
        beside = np.flatnonzero(np.isin(kinds, ALONE))
        self._beside = beside
        self._alone_by_end = _Index(self.operation_npu[beside], self.operation_end[beside])
        posted = np.flatnonzero(np.isin(kinds, POSTS))
        self._posted = posted
        self._by_post = _Index(self.operation_collective[posted], self.operation_end[posted])
        ends = self.operation_end[self._blocking]
        refuse(not len(ends), "no NPU did anything that takes time: there is nothing to explain")

    def _read_phases(self, table: Columns) -> None:
        self.phase_npu, self.phase_dimension = table["npu"], table["dimension"]
        self.phase_queued, self.phase_start = table["queued_ps"], table["start_ps"]
        self.phase_end = table["end_ps"]
        self.phase_instance = _instances(table)
        self._instances = np.unique(self.phase_instance)
        self._phase_of_instance = _Index(self.phase_instance, self.phase_end)
        self.phase_collective, self.phase_chunk = table["collective"], table["chunk"]
        self._phase_of_part = _Index(self._part(self.phase_instance, self.phase_npu), self.phase_end)
        self._phase_of_collective = _Index(self.phase_collective * self.npus + self.phase_npu, self.phase_end)
        self._phase_of_npu = _Index(self.phase_npu, self.phase_end)
        self._place = self.phase_npu * 256 + self.phase_dimension + 1
        self._phase_by_end = _Index(self._place, self.phase_end)
        self._phase_by_queued = _Index(self._place, self.phase_queued)

    def _read_messages(self) -> None:
        table = self.messages
        if table is None:
            return
        self.source, self.destination = table["source"], table["destination"]
        self.bytes, self.start, self.end = (table[name] for name in ("bytes", "start_ps", "end_ps"))
        self.message_instance = _instances(table)
        self._received = _Index(self._part(self.message_instance, self.destination), self.end)

    def _part(self, instances: Numbers, npus: Numbers) -> Numbers:
        """A number for each part; instances and NPUs are few enough that products stay below 2**63."""
        known = self._instances
        if not len(known):
            return npus
        places = np.searchsorted(known, instances)
        inside = np.minimum(places, len(known) - 1)
        places = np.where(known[inside] == instances, inside, len(known))
        return places * self._players + npus

    def part(self, instance: int, npu: int) -> int:
        """The number of a part."""
        return int(self._part(np.array([instance]), np.array([npu]))[0])

    def blocking_before(self, npu: int, operation: int) -> int:
        """Return the operation that blocked an NPU's program last before that of a row; -1: none did."""
        place = self._of_npu.rows(npu)
        before = int(np.searchsorted(self._blocking[place], operation)) - 1
        return int(self._blocking[place[before]]) if before >= 0 else -1

    def alone_ended(self, npu: int, time_ps: int) -> list[int]:
        """Computations and other work of an NPU that ended then, the last first."""
        return [int(self._beside[row]) for row in self._alone_by_end.rows_at(npu, time_ps)]

    def last_blocking(self, iteration: int | None) -> int:
        """The operation that ended last, of an iteration or of all; raises InputError if there is none."""
        rows = self._blocking
        if iteration is not None:
            rows = rows[self.iterations[rows] == iteration]
        if not len(rows):
            there = self.iterations_there()
            of_try = f" of the last try, which goes on after pass {self.resumed}" if self.resumed else ""
            raise wrong(f"there is no iteration {iteration}, expected {there[0]}..{there[-1]}{of_try}")
        return int(rows[np.argmax(self.operation_end[rows])])

    def iterations_there(self) -> list[int]:
        """The iterations in which anything took time, rising."""
        found: list[int] = np.unique(self.iterations[self._blocking]).tolist()
        return found

    def first_start(self, iteration: int) -> int:
        """When the first operation of an iteration began."""
        return int(self.operation_start[self._blocking][self.iterations[self._blocking] == iteration].min())

    def posts(self, collective: int) -> Iterator[tuple[int, int, int]]:
        """Who issued a collective, or posted an end of a message, when, and in which row; in order of time."""
        for row in self._by_post.rows(collective).tolist():
            operation = int(self._posted[row])
            yield int(self.operation_npu[operation]), int(self.operation_end[operation]), operation

    def posts_at(self, collective: int, time_ps: int) -> list[tuple[int, int]]:
        """Who issued a collective, or posted an end of a message, just then, and in which row."""
        rows = [int(self._posted[row]) for row in self._by_post.rows_at(collective, time_ps)]
        return [(int(self.operation_npu[row]), row) for row in rows]

    def phase(self, instance: int, npu: int) -> int:
        """The phase that an NPU played, or -1."""
        rows = self._phase_of_part.rows(self.part(instance, npu))
        return int(rows[-1]) if len(rows) else -1

    def phases_of(self, collective: int, npu: int) -> list[int]:
        """The phases of a collective that an NPU has ended, in the order of their ends."""
        found: list[int] = self._phase_of_collective.rows(collective * self.npus + npu).tolist()
        return found

    def collectives_ended(self, npu: int, time_ps: int) -> list[int]:
        """The phases with which an NPU was done with a collective or message at a time."""
        found = []
        for row in self._phase_of_npu.rows_at(npu, time_ps):
            last = self.phases_of(int(self.phase_collective[row]), npu)[-1]
            if self.phase_end[last] == time_ps:
                found.append(row)
        return found

    def ended_beside(self, phase: int, time_ps: int) -> list[int]:
        """The phases that an NPU ended then in the dimension of another phase of it."""
        return [row for row in self._phase_by_end.rows_at(int(self._place[phase]), time_ps) if row != phase]

    def queued_beside(self, phase: int, time_ps: int) -> list[int]:
        """The phases that joined the queue of that dimension then."""
        return [row for row in self._phase_by_queued.rows_at(int(self._place[phase]), time_ps) if row != phase]

    def before(self, phase: int) -> list[int]:
        """The phases of the same chunk that its NPU ended when it joined its queue."""
        chunk, time_ps = self.phase_chunk[phase], int(self.phase_queued[phase])
        return [
            row
            for row in self.phases_of(int(self.phase_collective[phase]), int(self.phase_npu[phase]))
            if row != phase and self.phase_chunk[row] == chunk and self.phase_end[row] == time_ps
        ]

    def handling_ps(self, instance: int, npu: int, size_bytes: int = 0) -> set[int]:
        """Return what a message of a size may cost a part: the delay, or a reduction too; size 0: what a start may.

        A switch that reduces spends no time on a message besides that of its lines.
        """
        if npu >= self.npus:
            return {0}
        phase = self.phase(instance, npu)
        if self.rules.messages_by_arrival and phase >= 0 and self.phase_dimension[phase] < 0:
            return {0}
        reduction_ps = REDUCTION_MEMORY_ACCESSES * (size_bytes // self._reduction_bytes_per_ns) * PS_PER_NS
        return {delay_ps + cost_ps for delay_ps in self._delays_ps for cost_ps in (0, reduction_ps)}

    def costs_ps(self, instance: int, npu: int) -> dict[int, int]:
        """Return what messages of a part may cost, rising, each with when the first message that may cost it came."""
        rows = self._received.rows(self.part(instance, npu))  # in the order of their ends
        sizes, firsts = np.unique(self.bytes[rows], return_index=True)
        found: dict[int, int] = {}
        for size_bytes, end_ps in zip(sizes.tolist(), self.end[rows[firsts]].tolist(), strict=True):
            for cost_ps in self.handling_ps(instance, npu, size_bytes):
                found[cost_ps] = min(end_ps, found.get(cost_ps, end_ps))
        return dict(sorted(found.items()))

    def handled_between(self, instance: int, npu: int, begin_ps: int, end_ps: int) -> list[int]:
        """Return when a part had begun, or handled a message at once as it came, by what that costs."""
        part, phase, costs = self.part(instance, npu), self.phase(instance, npu), self.costs_ps(instance, npu)
        found = {came_ps + cost_ps for came_ps in self.end[self._received.rows(part)].tolist() for cost_ps in costs}
        if phase >= 0:
            found |= {int(self.phase_start[phase]) + cost_ps for cost_ps in self.handling_ps(instance, npu)}
        return sorted(time_ps for time_ps in found if begin_ps <= time_ps < end_ps)

    def handled_at(self, instance: int, npu: int, time_ps: int) -> Iterator[int]:
        """Return the messages of a part that may have been handled then, at once as they came, the last first."""
        part = self.part(instance, npu)
        for cost_ps in self.costs_ps(instance, npu):
            for message in self._received.rows_at(part, time_ps - cost_ps):
                if cost_ps in self.handling_ps(instance, npu, int(self.bytes[message])):
                    yield message

    def count_received(self, instance: int, npu: int, time_ps: int) -> int:
        """How many messages of an instance had arrived at an NPU before."""
        return self._received.count_below(self.part(instance, npu), time_ps)

    def arrivals(self, npu: int, time_ps: int) -> list[int]:
        """The phases that ended then, on either NPU, of messages of which this NPU had posted an end."""
        first, last = np.searchsorted(self.phase_end, (time_ps, time_ps + 1))  # the table is in the order of ends
        return [
            row
            for row in range(first, last)
            if self.phase_dimension[row] < 0
            and any(who == npu and when <= time_ps for who, when, _ in self.posts(int(self.phase_collective[row])))
        ]

    def handled_in_channel(self, instance: int, npu: int, time_ps: int) -> Sequence[Handled]:
        """Return what a channel's kernel on an NPU had handled by then; nothing without the tables of channels."""
        phase = self.phase(instance, npu)
        if phase < 0 or not self.channels.tell(instance):
            return ()
        received, began_ps = self._received.rows(self.part(instance, npu)), int(self.phase_start[phase])
        return self.channels.handled_at(instance, npu, began_ps, received, time_ps)

    def last_received(self, instance: int, npu: int, time_ps: int) -> int:
        """The message of a part that came last until then, or -1."""
        rows = self._received.rows(self.part(instance, npu))  # in the order of their ends
        place = int(np.searchsorted(self.end[rows], time_ps, side="right")) - 1
        return int(rows[place]) if place >= 0 else -1

    def ended_with(self, instance: int, time_ps: int) -> list[int]:
        """The NPUs that ended an instance at a time."""
        rows = self._phase_of_instance.rows(instance)
        members: list[int] = self.phase_npu[rows[self.phase_end[rows] == time_ps]].tolist()
        return members


def _instances(table: Columns) -> Numbers:
    collective, chunk, phase = (table[name] for name in _INSTANCE)
    return (collective << (CHUNK_BITS + PHASE_BITS)) | (chunk << PHASE_BITS) | phase
