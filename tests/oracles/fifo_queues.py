"""Fluid first-in-first-out queues along the ways of flows, exactly and event by event, as docs/flow.md has the rules.

Written apart from the native half: nothing is merged. A queue is a list of mixtures, each with the shares of the flows
that came in together; a mixture leaves as it came.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from math import ceil

RATE_STEP = 0.05
"""Of a flow's rate: its acknowledgements follow it once it differs by more from what they have."""
LINE_STEP = 0.004
"""Of a line's rate: what a link keeps for acknowledgements follows what they take once that differs by more."""
_CRUMB = 0.05
"""Bytes that are rounding: what fast lines carry in a ps."""
_ROUNDING_PS = 1e-6
_CLOSE = 1e-9
_ANSWERS = -1
"""Stands for all acknowledgements in a queue."""


@dataclass
class FifoFlow:
    """A message: ``way`` is the links it crosses, ``bytes`` are on the line; flows of one ``queue`` take turns.

    ``back``: links of its acknowledgements, ``back_share`` bytes of them for each of its own, sent ``after_ps`` later.
    """

    start_ps: float
    bytes: float
    way: tuple[int, ...]
    queue: int = -1
    back: tuple[int, ...] = ()
    back_share: float = 0.0
    after_ps: float = 0.0
    sent_ps: float = field(default=-1.0, init=False)
    end_ps: float = field(default=-1.0, init=False)
    answered: float = field(default=0.0, init=False)


@dataclass
class _Mixture:
    """Flows that came in together, with their rates, and how many bytes of them all are still there."""

    rates: dict[int, float]
    bytes: float = 0.0


@dataclass
class _Line:
    """A line with its queue; ``delay_ps``: until what leaves it is in the next one's queue."""

    rate: float
    delay_ps: float
    kept: float = 0.0
    taken: float = 0.0
    coming: dict[int, float] = field(default_factory=dict)
    leaving: dict[int, float] = field(default_factory=dict)
    queue: deque[_Mixture] = field(default_factory=deque)
    since_ps: float = 0.0
    version: int = 0


class Fifo:
    """Plays flows; ``lines``: bytes per ps and delay in ps of each link; ``ended`` is told of each flow's last byte."""

    def __init__(self, lines: dict[int, tuple[float, float]], ended: Callable[[int], None] = lambda _: None) -> None:
        self.lines = {number: _Line(*each) for number, each in lines.items()}
        self.flows: list[FifoFlow] = []
        self.now = 0
        self.events = 0
        self._told = ended
        self._heap: list[tuple[int, int, int, Callable[[], None]]] = []
        self._dirty: set[int] = set()
        self._order = count()
        self._left: dict[int, dict[int, float]] = {number: {} for number in lines}
        self._turns: dict[int, deque[int]] = {}
        self._own: set[int] = set()

    def add(self, flow: FifoFlow) -> None:
        """A flow that begins at its time."""
        self.flows.append(flow)
        self._own |= {flow.way[0], *flow.back[:1]}
        number = len(self.flows) - 1
        self._at(flow.start_ps, lambda: self._start(number))

    def run(self) -> None:
        """Play all events."""
        while self._heap:
            self.now, _, _, what = heapq.heappop(self._heap)
            self.events += 1
            what()

    def _at(self, time: float, what: Callable[[], None], *, phase: int = 0) -> None:
        """Do something at a time, in whole ps; ``phase``: after what has a lower one at that time."""
        heapq.heappush(self._heap, (max(ceil(time - _ROUNDING_PS), self.now), phase, next(self._order), what))

    def _later(self, link: int) -> None:
        """Find a link's shares once all of this moment has come."""
        if link not in self._dirty:
            self._dirty.add(link)
            self._at(self.now, lambda: (self._share if link in self._own else self._serve)(link), phase=2)

    # The first line: queue pairs that have something to send share it equally.

    def _start(self, number: int) -> None:
        flow = self.flows[number]
        turns = self._turns.setdefault(flow.queue, deque()) if flow.queue >= 0 else deque[int]()
        turns.append(number)
        if len(turns) == 1:
            self._settle_sender(flow.way[0])
            self._left[flow.way[0]][number] = flow.bytes
            self._later(flow.way[0])

    def _settle_sender(self, link: int) -> None:
        line, active = self.lines[link], self._left[link]
        for number in active:
            active[number] -= line.leaving.get(number, 0.0) * (self.now - line.since_ps)
        line.since_ps = self.now

    def _share(self, link: int) -> None:
        line, active = self.lines[link], self._left[link]
        self._dirty.discard(link)
        line.version += 1
        version = line.version
        share = max(line.rate - line.kept, 0.0) / max(len(active), 1)
        self._leave(link, dict.fromkeys(active, share))
        if active and share:
            self._at(self.now + max(min(active.values()), 0.0) / share, lambda: self._sent(link, version), phase=2)

    def _sent(self, link: int, version: int) -> None:
        if self.lines[link].version != version:
            return
        self._settle_sender(link)
        active = self._left[link]
        for number in [number for number, left in active.items() if left < _CRUMB]:
            flow = self.flows[number]
            flow.sent_ps = self.now
            del active[number]
            turns = self._turns.get(flow.queue, deque())
            if turns:
                turns.popleft()
            if turns:
                active[turns[0]] = self.flows[turns[0]].bytes
        self._share(link)

    # Other lines: what came in together leaves together, in the same mixture.

    def _leave(self, link: int, leaving: dict[int, float]) -> None:
        """Set what leaves a line, and tell the lines behind it, later by its delay."""
        line = self.lines[link]
        changes: dict[int, dict[int, float]] = {}
        for number in [*line.leaving, *(each for each in leaving if each not in line.leaving)]:
            rate = leaving.get(number, 0.0)
            if abs(rate - line.leaving.get(number, 0.0)) <= _CLOSE * rate:
                continue
            if number == _ANSWERS:
                continue
            flow = self.flows[number]
            place = flow.way.index(link) + 1
            if place < len(flow.way):
                changes.setdefault(flow.way[place], {})[number] = rate
                continue
            self._answer(flow, rate, line.delay_ps)
            if rate == 0.0:
                flow.end_ps = self.now
                self._told(number)
        line.leaving = leaving
        for target, rates in changes.items():
            self._at(self.now + line.delay_ps, partial(self._come, target, rates))

    def _come(self, link: int, rates: dict[int, float]) -> None:
        """What comes into a queue changes."""
        line = self.lines[link]
        self._settle(line)
        line.coming = {number: rate for number, rate in {**line.coming, **rates}.items() if rate > 0.0}
        if line.queue and line.coming:
            line.queue.append(_Mixture(line.coming))
        self._later(link)

    def _settle(self, line: _Line) -> None:
        """Bring the mixtures up to date: the last grows, the first shrinks."""
        passed, line.since_ps = self.now - line.since_ps, self.now
        if line.queue:
            if line.coming:
                line.queue[-1].bytes += sum(line.coming.values()) * passed
            line.queue[0].bytes -= line.rate * passed

    def _serve(self, link: int) -> None:
        """Find what leaves a line, and when that changes by itself."""
        line = self.lines[link]
        self._settle(line)
        self._dirty.discard(link)
        line.version += 1
        version, free, coming = line.version, line.rate, sum(line.coming.values())
        while line.queue and line.queue[0].bytes < _CRUMB and (len(line.queue) > 1 or coming <= free * (1 + _CLOSE)):
            line.queue.popleft()
        if not line.queue and coming > free * (1 + _CLOSE):
            line.queue.append(_Mixture(line.coming))
        if not line.queue:
            self._leave(link, dict(line.coming))
            return
        first = line.queue[0]
        total = sum(first.rates.values())
        self._leave(link, {number: rate * free / total for number, rate in first.rates.items()})
        grows = coming if len(line.queue) == 1 and line.coming else 0.0
        if free > grows:
            self._at(self.now + first.bytes / (free - grows), lambda: self._drained(link, version), phase=2)

    def _drained(self, link: int, version: int) -> None:
        if self.lines[link].version == version:
            self._settle(self.lines[link])
            self.lines[link].queue[0].bytes = min(self.lines[link].queue[0].bytes, 0.0)
            self._serve(link)

    # Acknowledgements: one more flow in each queue on their way; of a sender's line they take their part first.

    def _answer(self, flow: FifoFlow, rate: float, delay_ps: float) -> None:
        more = rate - flow.answered
        if flow.back and abs(more) > RATE_STEP * flow.answered:
            flow.answered = rate
            self._at(self.now + delay_ps + flow.after_ps, lambda: self._take(flow.back, more * flow.back_share))

    def _take(self, links: tuple[int, ...], more: float) -> None:
        link, line = links[0], self.lines[links[0]]
        line.taken += more
        self._at(self.now, lambda: self._keep(link), phase=1)
        if links[1:]:
            self._at(self.now + line.delay_ps, lambda: self._take(links[1:], more))

    def _keep(self, link: int) -> None:
        line = self.lines[link]
        if abs(line.taken - line.kept) > LINE_STEP * line.rate:
            if link in self._own:
                self._settle_sender(link)
                line.kept = line.taken
                self._later(link)
            else:
                line.kept = line.taken
                self._come(link, {_ANSWERS: line.taken})
