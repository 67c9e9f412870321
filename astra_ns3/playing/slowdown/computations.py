"""Computations of NPUs that something slows down: begun by a driver, ended by the network's events.

While chunks of collectives run on an NPU its computations go on at a lower speed. Whenever the first begins or the last
ends, what is left of each computation is worked out anew, exactly: nothing is sampled.

Model limits: a chunk counts from when the NPU starts it to when the NPU has done its part, waiting for others included,
as the kernel of a communication library holds its processors; messages between two NPUs take nothing. Computations slow
down, but communication doesn't.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache, partial

from astra_ns3.config.compute_slowdown import CommunicationShares, ComputeSlowdown
from astra_ns3.errors import wrong
from astra_ns3.network.api import NetworkBackend
from astra_ns3.playing.slowdown.jitter import JitterFactors
from astra_ns3.playing.slowdown.pace import UNCHANGED, Pace, Span, Speeds
from astra_ns3.system.layer import ChunkWatcher
from astra_ns3.units import LARGEST_INTEGER

Resume = Callable[[int], None]
_KEPT_STRETCHES = 10_000


class _Running:
    """A computation that goes on; ``due_ps``: the event that will look whether it has ended."""

    __slots__ = ("due_ps", "end_ps", "left", "over", "resume", "since_ps", "speeds", "stretch")

    def __init__(
        self, work_ps: int | Fraction, since_ps: int, stretch: Fraction, speeds: Speeds | None, resume: Resume
    ) -> None:
        self.left: int | Fraction = work_ps
        """In ps; with ``speeds`` a whole number of their units."""
        self.since_ps = since_ps
        self.stretch = stretch
        """Its factor while collectives run."""
        self.speeds = speeds
        self.resume = resume
        if speeds is not None:
            whole = work_ps.denominator
            self.left = work_ps.numerator * speeds.units_per_ps
            self.speeds = speeds if whole == 1 else Speeds(*(each * whole for each in speeds))
        self.end_ps = 0
        self.due_ps = 0
        self.over = False


class SlowedComputations:
    """``slowdown`` names no NPU that the network hasn't; ``seed``: of the run."""

    def __init__(self, network: NetworkBackend, slowdown: ComputeSlowdown, seed: int) -> None:
        self._network = network
        self._paces = _paces(slowdown, network.npus)
        self._jitter = None if slowdown.jitter is None else JitterFactors(slowdown.jitter, seed)
        self._shares = slowdown.communication
        self._stretches = None if self._shares is None else _stretches(self._shares)
        self._stretched = lru_cache(_KEPT_STRETCHES)(self._stretch)
        self._begun = [0] * network.npus
        self._chunks = [0] * network.npus
        self._running: defaultdict[int, list[_Running]] = defaultdict(list)

    def begin(
        self, npu: int, planned_ps: int, resume: Resume, *, memory_ps: int = 0, number: int | None = None
    ) -> None:
        """Compute what takes ``planned_ps`` by itself, then ``resume(time_ps)``.

        ``memory_ps``: what of it memory limits. ``number``: of the computation on its NPU (None: one more than that of
        the one before).
        """
        if number is None:
            number = self._begun[npu]
            self._begun[npu] += 1
        work_ps: int | Fraction = planned_ps
        if self._jitter is not None:
            work_ps *= self._jitter.factor(npu, number)
        now_ps = self._network.now_ps()
        if self._shares is None:
            end_ps = _checked(npu, self._paces[npu].end_ps(now_ps, work_ps, UNCHANGED))
            self._network.call_later(npu, end_ps - now_ps, resume)
            return
        stretch, speeds = self._stretched(self._paces[npu], planned_ps, memory_ps)
        running = _Running(work_ps, now_ps, stretch, speeds, resume)
        self._running[npu].append(running)
        self._plan(npu, running, now_ps)

    def _stretch(self, pace: Pace, planned_ps: int, memory_ps: int) -> tuple[Fraction, Speeds | None]:
        """Factor by which a computation takes longer while collectives run: each part has less of its resource.

        And its speeds, at a pace.
        """
        assert self._stretches is not None
        of_processors, of_memory = self._stretches
        stretch = of_processors
        if memory_ps:
            memory = Fraction(min(memory_ps, planned_ps), planned_ps)
            stretch = (1 - memory) * of_processors + memory * of_memory
        return stretch, pace.speeds(stretch)

    def started(self, npu: int, time_ps: int) -> None:
        """A chunk of a collective begins on an NPU."""
        self._chunks[npu] += 1
        if self._chunks[npu] == 1:
            self._change(npu, time_ps, collectives_ran=False)

    def finished(self, npu: int, time_ps: int) -> None:
        """An NPU has done its part of a chunk's phase."""
        self._chunks[npu] -= 1
        if not self._chunks[npu]:
            self._change(npu, time_ps, collectives_ran=True)

    def _change(self, npu: int, time_ps: int, *, collectives_ran: bool) -> None:
        """Collectives begin or stop to run: whatever is computed goes on at another speed."""
        for running in self._running[npu]:
            if running.speeds is None:
                stretch = running.stretch if collectives_ran else UNCHANGED
                running.left -= self._paces[npu].work_ps(running.since_ps, time_ps, stretch)
            else:
                speed = running.speeds.stretched if collectives_ran else running.speeds.alone
                running.left -= (time_ps - running.since_ps) * speed
            running.since_ps = time_ps
            self._plan(npu, running, time_ps)

    def _plan(self, npu: int, running: _Running, now_ps: int) -> None:
        """Work out when a computation ends, and see that an event comes by then."""
        # What is done within a picosecond that has been rounded up may be a little more than there was.
        left, speeds = max(running.left, 0), running.speeds
        if speeds is None:
            end_ps = self._paces[npu].end_ps(now_ps, left, running.stretch if self._chunks[npu] else UNCHANGED)
        else:
            end_ps = now_ps - int(-left // (speeds.stretched if self._chunks[npu] else speeds.alone))
        running.end_ps = _checked(npu, end_ps)
        if running.due_ps <= now_ps or running.end_ps < running.due_ps:
            self._look_at_end(npu, running, now_ps)

    def _look_at_end(self, npu: int, running: _Running, now_ps: int) -> None:
        running.due_ps = running.end_ps
        self._network.call_later(npu, running.end_ps - now_ps, partial(self._look, npu, running))

    def _look(self, npu: int, running: _Running, time_ps: int) -> None:
        """End a computation, unless it has been slowed since this event was planned."""
        if running.over:
            return
        if time_ps >= running.end_ps:
            running.over = True
            self._running[npu].remove(running)
            running.resume(time_ps)
        elif time_ps == running.due_ps:
            self._look_at_end(npu, running, time_ps)


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
