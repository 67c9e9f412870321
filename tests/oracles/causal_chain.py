"""A walk forward in time along a chain of links, which says where one could not have let the next one happen.

It knows what docs/results.md says of operations, phases and messages, and what docs/explain.md says may follow what: it
goes from the beginning to the end, while the program goes back from the end. At each joint it works out all that can
follow at that picosecond; the next link has to begin with some of it. Runs that were stopped aren't for it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from astra_ns3.units import parse_time_ps
from oracles.channel_kernels import ChannelKernels, Doing

PS = 1000
MEMORY_ACCESSES = 3
"""Of a reduction: two reads and a write."""
GROUPS_OF_ASTRA_SIM_2_NS = 10
POSTS = ("issue", "send", "receive", "store", "load")
"""Operations that a program goes on behind."""
Moment = tuple[str, Any]
"""What happened, and about which row or part."""
Part = tuple[int, int, int, int]
"""Collective, chunk, phase and NPU."""


class Link(Protocol):
    """A link of the chain, as ``explain --json`` has it."""

    @property
    def kind(self) -> str: ...
    @property
    def npu(self) -> int: ...
    @property
    def start_ps(self) -> int: ...
    @property
    def end_ps(self) -> int: ...
    @property
    def operation(self) -> int: ...
    @property
    def collective(self) -> int: ...
    @property
    def message(self) -> int: ...


class Operation(NamedTuple):
    npu: int
    kind: str
    collective: int
    start_ps: int
    end_ps: int


class Phase(NamedTuple):
    npu: int
    collective: int
    chunk: int
    phase: int
    dimension: int
    queued_ps: int
    start_ps: int
    end_ps: int

    @property
    def part(self) -> Part:
        return self.collective, self.chunk, self.phase, self.npu


class Message(NamedTuple):
    source: int
    destination: int
    collective: int
    chunk: int
    phase: int
    row: int
    bytes: int
    start_ps: int
    end_ps: int

    @property
    def sent_by(self) -> Part:
        return self.collective, self.chunk, self.phase, self.source

    @property
    def for_part(self) -> Part:
        return self.collective, self.chunk, self.phase, self.destination


def _rows(table: Any, kind: Any) -> list[Any]:
    columns = [table[name].astype(str).tolist() if name == "kind" else table[name].tolist() for name in kind._fields]
    return [kind(*row) for row in zip(*columns, strict=True)]


class CausalChain:
    """Checks chains through a run with a timeline."""

    def __init__(self, result: Any) -> None:
        metadata: Mapping[str, Any] = result.metadata
        self.operations: list[Operation] = _rows(result.operations, Operation)
        self.phases: list[Phase] = _rows(result.phases, Phase)
        record = metadata["record"]
        name = next((name for name in ("accounts", "flows") if name in record), None)
        self.messages: list[Message] = [] if name is None else _rows(getattr(result, name), Message)
        self.of_graphs = "graphs" in str(metadata["workload"].get("loop"))
        self.compat = str(metadata["compat"])
        self.like_astra_sim_2 = self.compat in ("astra-sim-2", "astra-network-ns3")
        system = metadata["system"]
        self.delay_ps = int(system["endpoint-delay"] * system["injection-scale"]) * PS
        self.jitter_ps = int(system["start-jitter"]) * PS
        self.bytes_per_ns = int(system["reduction-bytes-per-ns"])
        self.npus = int(metadata["npus"])
        self.stills = [
            (npu, parse_time_ps(each["from"]), parse_time_ps(each["until"]))
            for each in (metadata.get("compute_slowdown") or {}).get("stragglers", ())
            if each["factor"] == 1e18
            for npu in each["npus"]
        ]
        self.kernels = ChannelKernels(result)
        self._doings: dict[Part, dict[int, Doing]] = {}
        self._index()

    def _index(self) -> None:
        self.program: dict[int, list[int]] = defaultdict(list)
        self.begin: dict[tuple[int, int], list[int]] = defaultdict(list)
        self.waits: dict[tuple[int, int], list[int]] = defaultdict(list)
        self.posted_by: dict[int, set[int]] = defaultdict(set)
        self.place: dict[int, int] = {}
        for number, row in enumerate(self.operations):
            if row.kind != "work":
                self.place[number] = len(self.program[row.npu])
                self.program[row.npu].append(number)
            if row.kind == "wait":
                self.waits[row.npu, row.end_ps].append(number)
            else:
                self.begin[row.npu, row.start_ps].append(number)
            if row.kind in POSTS:
                self.posted_by[row.collective].add(row.npu)
        self.queued: dict[tuple[int, int], list[int]] = defaultdict(list)
        self.got_slot: dict[tuple[int, int, int], list[int]] = defaultdict(list)
        self.of_part: dict[Part, int] = {}
        self.of_instance: dict[tuple[int, int, int], list[int]] = defaultdict(list)
        self.last_end: dict[tuple[int, int], int] = {}
        for number, phase in enumerate(self.phases):
            self.queued[phase.collective, phase.queued_ps].append(number)
            if phase.start_ps > phase.queued_ps:
                self.got_slot[phase.npu, phase.dimension, phase.start_ps].append(number)
            self.of_part[phase.part] = number
            self.of_instance[phase.part[:3]].append(number)
            self.last_end[phase.collective, phase.npu] = phase.end_ps
        self.to_part: dict[Part, list[Message]] = defaultdict(list)
        self.numbers_to_part: dict[Part, list[int]] = defaultdict(list)
        self.no_time: dict[tuple[Part, int], list[int]] = defaultdict(list)
        for number, message in enumerate(self.messages):
            self.to_part[message.for_part].append(message)
            self.numbers_to_part[message.for_part].append(number)
            if message.start_ps == message.end_ps:
                self.no_time[message.sent_by, message.start_ps].append(number)

    # What an NPU spends.

    def delays(self, part: Part) -> set[int]:
        """The endpoint delays that a part may have."""
        if self._is_switch(part):
            return {0}
        if not self.like_astra_sim_2:
            return {self.delay_ps}
        between_two = self.phases[self.of_part[part]].dimension < 0
        return {0} if between_two else {self.delay_ps, GROUPS_OF_ASTRA_SIM_2_NS * PS}

    def costs(self, part: Part, message: Message) -> set[int]:
        """What the receiver may spend on a message: nobody recorded whether it was reduced."""
        if self._is_switch(part):
            return {0}
        reduction_ps = MEMORY_ACCESSES * (message.bytes // self.bytes_per_ns) * PS
        return {delay + extra for delay in self.delays(part) for extra in (0, reduction_ps)}

    def _is_switch(self, part: Part) -> bool:
        """Whether it is the part of a switch that reduces, which spends nothing; such follow the NPUs."""
        return part[3] >= self.npus

    # What follows what at one picosecond.

    def following(self, moments: Iterable[Moment], time_ps: int) -> set[Moment]:
        """All that can follow some moments at once, these among them."""
        found = set(moments)
        new = list(found)
        while new:
            for moment in self._next(new.pop(), time_ps):
                if moment not in found:
                    found.add(moment)
                    new.append(moment)
        return found

    def _next(self, moment: Moment, time_ps: int) -> Iterator[Moment]:
        what, about = moment
        step: Any = getattr(self, f"_after_{what}")
        yield from step(about, time_ps)

    def _after_arrived(self, number: int, time_ps: int) -> Iterator[Moment]:
        message = self.messages[number]
        if (message.collective, message.chunk) in self.kernels.costs:
            doing = self._doing(number)
            if doing.signal and doing.handled_ps == time_ps:
                yield "had", message.for_part
            elif not doing.signal and doing.copied_ps == time_ps:  # the kernel copied it as it came
                yield from (("copied", number), ("kept_busy", number))
        elif 0 in self.costs(message.for_part, message):
            yield "had", message.for_part

    def _after_had(self, part: Part, time_ps: int) -> Iterator[Moment]:
        for message in self.no_time[part, time_ps]:  # by formula, where a line has no delay
            yield "arrived", message
        if self._is_switch(part):
            return
        number = self.of_part[part]
        barrier = self.compat == "astra-sim-1.0"
        for other in self.of_instance[part[:3]] if barrier else [number]:
            if self.phases[other].end_ps == time_ps:
                yield "over", other

    def _after_over(self, number: int, time_ps: int) -> Iterator[Moment]:
        phase = self.phases[number]
        for other in self.queued[phase.collective, time_ps]:
            next_ = self.phases[other]
            if other != number and (next_.npu, next_.chunk) == (phase.npu, phase.chunk):
                yield "queued", other
        if phase.dimension >= 0:
            for other in self.got_slot[phase.npu, phase.dimension, time_ps]:
                yield "started", other
        by_arrival = phase.dimension < 0 and self.like_astra_sim_2  # then both ends are done when the message is there
        if self.last_end[phase.collective, phase.npu] != time_ps:
            return
        for npu in self.posted_by[phase.collective] if by_arrival else [phase.npu]:
            if self.of_graphs:
                yield "free", npu
            for row in self.waits[npu, time_ps]:
                if self.operations[row].collective == phase.collective:
                    yield "ended", row

    def _after_queued(self, number: int, time_ps: int) -> Iterator[Moment]:
        phase = self.phases[number]
        if phase.start_ps == time_ps:
            yield "started", number
        for other in self.got_slot[phase.npu, phase.dimension, time_ps]:  # that it went before
            yield "started", other

    def _after_started(self, number: int, time_ps: int) -> Iterator[Moment]:
        phase = self.phases[number]
        if self.messages and 0 in self.delays(phase.part):
            yield "had", phase.part

    def _after_ended(self, row: int, time_ps: int) -> Iterator[Moment]:
        operation = self.operations[row]
        if self.of_graphs:
            yield "free", operation.npu
            return
        program = self.program[operation.npu]
        yield from self._go_on(program[self.place[row] + 1 :], time_ps)

    def _go_on(self, rows: Iterable[int], time_ps: int) -> Iterator[Moment]:
        """A program posts what it posts, up to what takes time."""
        for row in rows:
            operation = self.operations[row]
            if operation.start_ps != time_ps:
                return
            yield "began", row
            if operation.kind not in POSTS:
                return

    def _after_began(self, row: int, time_ps: int) -> Iterator[Moment]:
        operation = self.operations[row]
        if operation.kind in POSTS:
            for number in self.queued[operation.collective, time_ps]:  # on all, if others had waited for it
                yield "queued", number
        elif operation.end_ps == time_ps:  # nothing to compute on this NPU
            yield "ended", row

    def _after_free(self, npu: int, time_ps: int) -> Iterator[Moment]:
        """A node of a graph has ended: others may begin."""
        for row in self.begin[npu, time_ps]:
            yield "began", row
        for row in self.waits[npu, time_ps]:
            yield "ended", row

    # Along the chain.

    def problems(self, chain: Sequence[Link]) -> list[str]:
        """What is wrong with a chain through the whole run, each one line."""
        finish_ps = max(row.end_ps for row in self.operations)
        time_ps = 0
        moments = self.following(self._beginning(), 0)
        for number, link in enumerate(chain):
            if link.start_ps != time_ps or link.end_ps <= link.start_ps:
                return [f"link {number} begins at {link.start_ps}, the one before ended at {time_ps}"]
            after = self._through(link, moments)
            before = chain[number - 1].kind if number else ""
            of_slots = ("slot_latency", "slot_copying")
            if before in of_slots and link.kind not in (*of_slots, "signal"):
                return [f"link {number - 1} is of who says that a slot is free, and link {number} doesn't say so"]
            if link.kind == "signal" and before in ("latency", "copying", "busy"):
                return [f"link {number} says that a slot is free, and the one before isn't of who says so"]
            if not after:
                return [f"link {number} of {len(chain)}, {link}: nothing at {time_ps} lets it begin"]
            time_ps = link.end_ps
            moments = self.following(after, time_ps)
        ends = {row for what, row in moments if what == "ended"}
        if time_ps != finish_ps or not any(self.operations[row].end_ps == finish_ps for row in ends):
            return [f"the chain ends at {time_ps}, the run at {finish_ps}, and its end doesn't follow"]
        return []

    def _beginning(self) -> Iterator[Moment]:
        for npu in range(self.npus):
            if self.of_graphs:
                yield "free", npu
            else:
                yield from self._go_on(self.program[npu], 0)

    def _through(self, link: Link, moments: set[Moment]) -> list[Moment]:
        """What a link ends with, if it can begin with one of these moments; nothing if it can't."""
        through: Any = getattr(self, f"_through_{link.kind}", None)
        return [] if through is None else list(through(link, moments))

    def _through_compute(self, link: Link, moments: set[Moment]) -> Iterator[Moment]:
        row = self.operations[link.operation]
        same = (row.npu, row.kind, row.start_ps, row.end_ps) == (link.npu, link.kind, link.start_ps, link.end_ps)
        if same and ("began", link.operation) in moments:
            yield "ended", link.operation

    _through_work = _through_step = _through_compute

    def _through_remote(self, link: Link, moments: set[Moment]) -> Iterator[Moment]:
        """An access to a remote memory, from its post on; it has no phases."""
        for what, row in moments:
            if what == "began" and self._posts(row, link):
                yield "accessed", row

    def _posts(self, row: int, link: Link) -> bool:
        operation = self.operations[row]
        asked = operation.kind in POSTS and (operation.npu, operation.collective) == (link.npu, link.collective)
        return asked and (link.collective, link.npu) not in self.last_end

    def _after_accessed(self, row: int, time_ps: int) -> Iterator[Moment]:
        operation = self.operations[row]
        for wait in self.waits[operation.npu, time_ps]:
            if self.operations[wait].collective == operation.collective:
                yield "ended", wait

    def _through_update(self, link: Link, moments: set[Moment]) -> Iterator[Moment]:
        row = self.operations[link.operation]
        over = {self.phases[number] for what, number in moments if what == "over"}
        last = any((phase.collective, phase.npu) == (link.collective, link.npu) for phase in over)
        last = last and not (self.like_astra_sim_2 and any(phase.dimension < 0 for phase in over))
        last = last and self.last_end[link.collective, link.npu] == link.start_ps
        same = (row.npu, row.kind, row.collective, row.end_ps) == (link.npu, "wait", link.collective, link.end_ps)
        if last and same:
            yield "ended", link.operation

    def _through_phase(self, link: Link, moments: set[Moment]) -> Iterator[Moment]:
        for phase in self._started(link, moments):
            if not self.messages and phase.end_ps == link.end_ps:
                yield "had", phase.part

    def _through_message(self, link: Link, moments: set[Moment]) -> Iterator[Moment]:
        message = self.messages[link.message]
        same = (message.source, message.start_ps, message.end_ps) == (link.npu, link.start_ps, link.end_ps)
        if same and ("had", message.sent_by) in moments:
            yield "arrived", link.message

    def _through_endpoint(self, link: Link, moments: set[Moment]) -> Iterator[Moment]:
        time_ps = link.end_ps - link.start_ps
        for what, about in moments:
            if what == "arrived":
                message = self.messages[about]
                part = message.for_part
                if (part[0], part[3]) == (link.collective, link.npu) and time_ps in self.costs(part, message):
                    yield "had", part
            elif what == "had":
                part = about
                early = [message for message in self.to_part[part] if message.end_ps < link.start_ps]
                at_all = (part[0], part[3]) == (link.collective, link.npu)
                if at_all and any(time_ps in self.costs(part, message) for message in early):
                    yield "had", part
        for phase in self._started(link, moments):
            latest_ps = link.start_ps + self.jitter_ps
            early = [message for message in self.to_part[phase.part] if message.end_ps <= latest_ps]
            costs = self.delays(phase.part).union(*(self.costs(phase.part, message) for message in early))
            if any(0 <= time_ps - cost <= self.jitter_ps for cost in costs):
                yield "had", phase.part

    def _through_still(self, link: Link, moments: set[Moment]) -> Iterator[Moment]:
        """What an NPU was to handle while it stood still is handled at the end of that."""
        goes_on_ps = 0
        until_ps = link.start_ps
        while until_ps > goes_on_ps:
            goes_on_ps = until_ps
            ends = (until for npu, since, until in self.stills if npu == link.npu and since <= goes_on_ps)
            until_ps = max(ends, default=0)
        if goes_on_ps == link.end_ps:
            yield from (each for each in moments if each[0] == "had" and each[1][3] == link.npu)

    # In channels of NCCL.

    def _doing(self, number: int) -> Doing:
        """How a kernel handled a message."""
        part = self.messages[number].for_part
        if part not in self._doings:
            began_ps = 0 if self._is_switch(part) else self.phases[self.of_part[part]].start_ps
            here = [(each, self.messages[each]) for each in self.numbers_to_part[part]]
            self._doings[part] = self.kernels.play(began_ps, here)
        return self._doings[part][number]

    def _after_copied(self, number: int, time_ps: int) -> Iterator[Moment]:
        """A message is copied and counts as the one that leads on."""
        if self._doing(number).handled_ps == time_ps:
            yield "had", self.messages[number].for_part

    def _after_kept_busy(self, number: int, time_ps: int) -> Iterator[Moment]:
        """A message is copied, and only what is copied after it leads on."""
        yield from ()

    def _through_kernel(self, link: Link, moments: set[Moment]) -> Iterator[Moment]:
        for phase in self._started(link, moments):
            cost = self.kernels.costs.get((phase.collective, phase.chunk))
            if cost and 0 <= link.end_ps - link.start_ps - cost["start_ps"] <= self.jitter_ps:
                yield "had", phase.part

    def _through_signal(self, link: Link, moments: set[Moment]) -> Iterator[Moment]:
        if self.kernels.signal(self.messages[link.message]):
            yield from self._through_message(link, moments)

    def _through_latency(self, link: Link, moments: set[Moment]) -> Iterator[Moment]:
        for what, number in moments:
            if what == "copied":
                doing, part = self._doing(number), self.messages[number].for_part
                ours = (part[0], part[3]) == (link.collective, link.npu)
                if ours and (doing.copied_ps, doing.handled_ps) == (link.start_ps, link.end_ps):
                    yield "had", part

    def _through_copying(self, link: Link, moments: set[Moment]) -> Iterator[Moment]:
        yield from (("copied", number) for number in self._copied_through(link, moments))

    def _through_busy(self, link: Link, moments: set[Moment]) -> Iterator[Moment]:
        yield from (("kept_busy", number) for number in self._copied_through(link, moments))

    _through_slot_latency = _through_latency

    def _through_slot_copying(self, link: Link, moments: set[Moment]) -> Iterator[Moment]:
        """Copying, of who then says that a slot is free."""
        for number in self._copied_through(link, moments):
            yield from (("copied", number), ("kept_busy", number))

    def _copied_through(self, link: Link, moments: set[Moment]) -> Iterator[int]:
        """The messages that a kernel copied until a link's end."""
        for what, number in moments:
            if what not in ("arrived", "kept_busy"):
                continue
            part, before = self.messages[number].for_part, self._doing(number)
            if (part[0], part[3]) != (link.collective, link.npu):
                continue
            if what == "arrived" and before.idle and not before.signal and before.copied_ps == link.end_ps:
                yield number
            for other in self.numbers_to_part[part]:
                doing = self._doing(other)
                follows = doing.lane == before.lane and doing.step > before.step and not doing.idle
                if follows and (doing.begin_ps, doing.copied_ps) == (link.start_ps, link.end_ps):
                    yield other

    def _started(self, link: Link, moments: set[Moment]) -> Iterator[Phase]:
        for what, number in moments:
            if what == "started":
                phase = self.phases[number]
                if (phase.collective, phase.npu) == (link.collective, link.npu):
                    yield phase
