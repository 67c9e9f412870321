"""Computations of NPUs that something slows down: begun by a driver, ended by the network's events.

While chunks of collectives run on an NPU its computations go on at a lower speed. Whenever the first begins or the last
ends, what is left of each computation is worked out anew, exactly: nothing is sampled.

Model limits: a chunk counts from when the NPU starts it to when the NPU has done its part, waiting for others included.
Kernels of communication libraries hold their processors so long. Messages between two NPUs take nothing. Computations
slow down, but communication doesn't.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from fractions import Fraction
from functools import lru_cache, partial

from astra_ns3.config.compute_slowdown import CommunicationShares, ComputeSlowdown
from astra_ns3.errors import wrong
from astra_ns3.network.api import NetworkBackend
from astra_ns3.network.records import ALONE, Chain
from astra_ns3.playing.slowdown.jitter import JitterFactors
from astra_ns3.playing.slowdown.pace import UNCHANGED, Pace, Span, Speeds
from astra_ns3.system.layer import ChunkWatcher
from astra_ns3.units import LARGEST_INTEGER

Resume = Callable[[int], None]
Part = Callable[[Sequence[list[int]]], "list[tuple[Resume, Part | None]]"]
CallLater = Callable[[int, int, Resume], None]
_KEPT_STRETCHES = 10_000


class _Running:
    """A computation that goes on, on NPUs in step; ``due_ps``: the event that will look whether it has ended."""

    __slots__ = (
        "busy",
        "due_ps",
        "end_ps",
        "event",
        "kind",
        "left",
        "npus",
        "over",
        "pace",
        "part",
        "resume",
        "since_ps",
        "speeds",
        "stretch",
        "work_ps",
    )

    def __init__(
        self,
        npus: list[int],
        work_ps: int | Fraction,
        since_ps: int,
        kind: tuple[int, int],
        resume: Resume,
        part: Part | None,
    ) -> None:
        self.npus = npus
        self.work_ps = work_ps
        self.left = work_ps
        """In ps; with ``speeds`` a whole number of their units."""
        self.since_ps = since_ps
        self.kind = kind
        """The time that it takes by itself, and the part of that which memory limits."""
        self.stretch = UNCHANGED
        """Its factor while collectives run."""
        self.resume = resume
        self.part = part
        """Parts those in step: of each group how it goes on, and how it parts."""
        self.pace: Pace | None = None
        """None until it is planned."""
        self.speeds: Speeds | None = None
        self.busy = False
        """Whether collectives have run beside it since ``since_ps``."""
        self.end_ps = 0
        self.due_ps = 0
        self.event: list[_Running] = []
        """All that the event at ``due_ps`` looks at, in the order in which it does."""
        self.over = False

    def begin(self, pace: Pace, stretch: Fraction, speeds: Speeds | None) -> None:
        """It goes on at a pace."""
        self.pace, self.stretch = pace, stretch
        if speeds is not None:
            whole = self.left.denominator
            self.left = self.left.numerator * speeds.units_per_ps
            self.speeds = speeds if whole == 1 else Speeds(*(each * whole for each in speeds))

    def go_on(self, now_ps: int, *, busy: bool) -> None:
        """From now on collectives run beside it, or none does: work out when it ends."""
        assert self.pace is not None
        speeds = self.speeds
        if speeds is None:
            self.left -= self.pace.work_ps(self.since_ps, now_ps, self.stretch if self.busy else UNCHANGED)
        else:
            self.left -= (now_ps - self.since_ps) * (speeds.stretched if self.busy else speeds.alone)
        self.since_ps, self.busy = now_ps, busy
        # What is done within a picosecond that has been rounded up may be a little more than there was.
        left = max(self.left, 0)
        if speeds is None:
            end_ps = self.pace.end_ps(now_ps, left, self.stretch if busy else UNCHANGED)
        else:
            end_ps = now_ps - int(-left // (speeds.stretched if busy else speeds.alone))
        self.end_ps = _checked(self.npus[0], end_ps)

    def split(self, groups: Sequence[list[int]]) -> list[_Running]:
        """Return a computation for each group of its NPUs, the first of which it is itself."""
        assert self.part is not None
        found: list[_Running] = []
        for npus, (resume, part) in zip(groups, self.part(groups), strict=True):
            each = copy(self) if found else self
            each.npus, each.resume, each.part = npus, resume, part
            found.append(each)
        if self.due_ps:
            # One event looks at all, as at NPUs that were by themselves all the time.
            place = self.event.index(self) + 1
            self.event[place:place] = found[1:]
        return found


class SlowedComputations:
    """``slowdown`` names no NPU that the network hasn't; ``seed``: of the run.

    ``alike``: NPUs may compute in step. ``least``: the least factor of each NPU. ``call_later``: as the network's. With
    ``keeps``, changes wait for :meth:`settle`, so that those in step change as one; else each is settled at once.
    """

    def __init__(self, network: NetworkBackend, slowdown: ComputeSlowdown, seed: int) -> None:
        self.call_later: CallLater = network.call_later
        self.keeps = False
        self.alike = slowdown.jitter is None
        self.least = slowdown.least_factors(network.npus)
        self._network = network
        self._lasting = slowdown.model_copy(update={"jitter": None}).least_factors(network.npus)
        self._done_ps: list[int | Fraction] = [0] * network.npus
        self._paces = _paces(slowdown, network.npus)
        self._jitter = None if slowdown.jitter is None else JitterFactors(slowdown.jitter, seed)
        self._shares = slowdown.communication
        self._stretches = (UNCHANGED, UNCHANGED) if self._shares is None else _stretches(self._shares)
        self._stretched = lru_cache(_KEPT_STRETCHES)(self._stretch)
        self._begun = [0] * network.npus
        self._chunks = [0] * network.npus
        self._running: list[list[_Running]] = [[] for _ in range(network.npus)]
        self._changed: dict[_Running, None] = {}  # since the last time that all was settled

    def begin(
        self,
        npus: list[int],
        planned_ps: int,
        resume: Resume,
        *,
        memory_ps: int = 0,
        number: int | None = None,
        part: Part | None = None,
    ) -> None:
        """Compute on NPUs in step what takes ``planned_ps`` by itself, then ``resume(time_ps)``.

        ``memory_ps``: what of it memory limits. ``number``: of the computation on its NPU (None: one more than that of
        the one before). ``part``: parts several NPUs.
        """
        work_ps: int | Fraction = planned_ps
        if self._jitter is not None:
            (npu,) = npus
            if number is None:
                number = self._begun[npu]
                self._begun[npu] += 1
            work_ps *= self._jitter.factor(npu, number)
        now_ps = self._network.now_ps()
        running = _Running(npus, work_ps, now_ps, (planned_ps, memory_ps), resume, part)
        for npu in npus:
            self._running[npu].append(running)
        if self.keeps or len(npus) > 1:
            self._changed[running] = None
            if not self.keeps:
                self.settle(now_ps)
        else:  # as settled, in less time
            pace = self._paces[npus[0]]
            running.begin(pace, *self._stretched(pace, planned_ps, memory_ps))
            running.go_on(now_ps, busy=self._chunks[npus[0]] > 0)
            self._look_at_end(running.end_ps, [running], now_ps)

    def _stretch(self, pace: Pace, planned_ps: int, memory_ps: int) -> tuple[Fraction, Speeds | None]:
        """Factor by which a computation takes longer while collectives run: each part has less of its resource.

        And its speeds, at a pace.
        """
        of_processors, of_memory = self._stretches
        memory = Fraction(min(memory_ps, planned_ps), planned_ps) if planned_ps else Fraction(0)
        stretch = (1 - memory) * of_processors + memory * of_memory
        return stretch, pace.speeds(stretch)

    def longest(self) -> Chain:
        """Return what an NPU has computed, at the least: a straggler's factor counts if it holds for the whole run."""
        least_ps = [int(done * factor) for done, factor in zip(self._done_ps, self._lasting, strict=True)]
        npu = max(range(len(least_ps)), key=least_ps.__getitem__)
        return Chain(least_ps[npu], npu, ALONE)

    def started(self, npu: int, time_ps: int) -> None:
        """A chunk of a collective begins on an NPU."""
        self._chunks[npu] += 1
        if self._chunks[npu] == 1:
            self._change(npu, time_ps)

    def finished(self, npu: int, time_ps: int) -> None:
        """An NPU has done its part of a chunk's phase."""
        self._chunks[npu] -= 1
        if not self._chunks[npu]:
            self._change(npu, time_ps)

    def _change(self, npu: int, time_ps: int) -> None:
        """Collectives begin or stop to run: whatever is computed goes on at another speed."""
        if self._running[npu]:
            self._changed.update(dict.fromkeys(self._running[npu]))
            if not self.keeps:
                self.settle(time_ps)

    def settle(self, now_ps: int) -> None:
        """Work out when all that has begun or changed ends, and see that an event comes by then."""
        if not self._changed:
            return
        changed, self._changed = self._changed, {}
        looks: dict[int, list[_Running]] = {}
        for running in changed:
            if running.over:
                continue
            for part, pace, busy in self._in_step(running):
                if part.pace is None:
                    part.begin(pace, *self._stretched(pace, *part.kind))
                elif busy == part.busy and part.due_ps:
                    continue
                part.go_on(now_ps, busy=busy)
                if part.due_ps <= now_ps or part.end_ps < part.due_ps:
                    looks.setdefault(part.end_ps, []).append(part)
        self._look_at_ends(looks, now_ps)

    def _in_step(self, running: _Running) -> list[tuple[_Running, Pace, bool]]:
        """Return those that still go on alike, each with its pace and whether collectives run beside it."""
        chunks, paces = self._chunks, self._paces
        if len(running.npus) == 1:
            npu = running.npus[0]
            return [(running, paces[npu], chunks[npu] > 0)]
        groups: defaultdict[tuple[Pace, bool], list[int]] = defaultdict(list)
        for npu in running.npus:
            groups[paces[npu], chunks[npu] > 0].append(npu)
        parts = [running]
        if len(groups) > 1:
            parts = running.split(list(groups.values()))
            for part in parts[1:]:
                for npu in part.npus:
                    mine = self._running[npu]
                    mine[mine.index(running)] = part
        return [(part, *how) for part, how in zip(parts, groups, strict=True)]

    def _look_at_ends(self, looks: Mapping[int, list[_Running]], now_ps: int) -> None:
        for end_ps, runnings in looks.items():
            self._look_at_end(end_ps, runnings, now_ps)

    def _look_at_end(self, end_ps: int, runnings: list[_Running], now_ps: int) -> None:
        for running in runnings:
            running.due_ps, running.event = end_ps, runnings
        self.call_later(runnings[0].npus[0], end_ps - now_ps, partial(self._look, runnings))

    def _look(self, runnings: Sequence[_Running], time_ps: int) -> None:
        """End computations, but for those that have been slowed since this event was planned."""
        looks: dict[int, list[_Running]] = {}
        for running in runnings:
            if running.over:
                continue
            if time_ps >= running.end_ps:
                running.over = True
                for npu in running.npus:
                    self._running[npu].remove(running)
                    self._done_ps[npu] += running.work_ps
                running.resume(time_ps)
            elif time_ps == running.due_ps:
                looks.setdefault(running.end_ps, []).append(running)
        self._look_at_ends(looks, time_ps)


def _checked(npu: int, end_ps: int) -> int:
    if end_ps > LARGEST_INTEGER:
        raise wrong(f"a slowed computation of NPU {npu} would end at {end_ps} ps, expected by {LARGEST_INTEGER} ps")
    return end_ps


def slowed_by(
    slowdown: ComputeSlowdown | None, network: NetworkBackend, seed: int
) -> tuple[SlowedComputations | None, ChunkWatcher | None]:
    """Return the object that begins computations and the one that hears of chunks; each None where none is needed."""
    if slowdown is None:
        return None, None
    computations = SlowedComputations(network, slowdown, seed)
    return computations, None if slowdown.communication is None else computations


def _paces(slowdown: ComputeSlowdown, npus: int) -> list[Pace]:
    """The pace of each NPU; NPUs with the same spans share one."""
    spans: list[list[Span]] = [[] for _ in range(npus)]
    for straggler in slowdown.stragglers:
        span = Span(straggler.from_ps, straggler.until_ps, Fraction(str(straggler.factor)))
        for npu in range(npus) if straggler.npus is None else straggler.npus:
            spans[npu].append(span)
    known = {key: Pace(key) for key in {tuple(each) for each in spans}}
    return [known[tuple(each)] for each in spans]


def _stretches(shares: CommunicationShares) -> tuple[Fraction, Fraction]:
    """Factors by which work that processors limit, and work that memory limits, takes longer while collectives run."""
    return 1 / (1 - Fraction(str(shares.processors))), 1 / (1 - Fraction(str(shares.memory_bandwidth)))
