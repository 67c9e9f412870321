"""NPUs of one role that are in step: what they do next is worked out once for all of them.

They have read a program as far, wait for the same or compute for as long, and nobody asks what each of them does. What
lets some of them go on and not the others parts them; those that come to the same place at the same moment, one after
the other, are together again. One alone is a cohort, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from astra_ns3.network.records import NpuRecord
from astra_ns3.playing.player.tape import Place
from astra_ns3.playing.programs.operations import Blocking, Compute, Wait, WaitAny
from astra_ns3.system.request import Joint

Held = Compute | tuple[Joint, ...]
"""What a cohort computes, or what it waits for one of."""


class Cohort:
    """``npus`` in the order in which they do what they do at one moment; ``place``: how far they have read.

    ``posted``: of each operation by its number, what isn't known to be done.
    """

    __slots__ = (
        "_before",
        "_compute_ps",
        "_exposed_ps",
        "_since_ps",
        "finish_ps",
        "held",
        "npus",
        "place",
        "posted",
        "ready",
    )

    def __init__(self, npus: list[int], place: Place) -> None:
        self.npus = npus
        self.place = place
        self.posted: dict[int, Joint] = {}
        self.held: Held | None = None
        self.ready: list[int] = []  # while the others still wait
        self.finish_ps: int | None = None
        self._since_ps = 0
        self._compute_ps = 0
        self._exposed_ps = 0
        self._before: dict[int, tuple[int, int]] | None = None  # of each, what it computed and waited before they met

    @property
    def done(self) -> bool:
        """Whether the program has ended."""
        return self.finish_ps is not None

    def hold(self, held: Held, time_ps: int) -> None:
        """Something takes time from now on."""
        self.held, self._since_ps = held, time_ps

    def release(self, time_ps: int) -> None:
        """Book what has taken time until now."""
        held, self.held = self.held, None
        if held is None:
            return
        if isinstance(held, Compute):
            self._compute_ps += time_ps - self._since_ps
        else:
            self._exposed_ps += time_ps - self._since_ps

    def part(self, npus: list[int]) -> Cohort:
        """Those of ``npus``, some and not all, from now on are a cohort of their own."""
        leaving = set(npus)
        other = Cohort(npus, self.place.copy())
        other.finish_ps, other._since_ps = self.finish_ps, self._since_ps
        other._compute_ps, other._exposed_ps, other._before = self._compute_ps, self._exposed_ps, self._before
        self.npus = [npu for npu in self.npus if npu not in leaving]
        parts: dict[Joint, Joint] = {}
        for joint in (*self.posted.values(), *(self.held if isinstance(self.held, tuple) else ())):
            if joint not in parts:
                parts[joint] = joint.part(leaving, other)
        other.posted = {number: parts[joint] for number, joint in self.posted.items()}
        other.held = tuple(parts[joint] for joint in self.held) if isinstance(self.held, tuple) else self.held
        return other

    def scattered(self) -> list[Cohort]:
        """Each by itself; nothing is left of this one."""
        if len(self.npus) == 1:
            return [self]
        singles = {npu: Cohort([npu], self.place.copy()) for npu in self.npus}
        waited_for = self.held if isinstance(self.held, tuple) else ()
        parts: dict[Joint, dict[int, Joint]] = {}
        for joint in (*self.posted.values(), *waited_for):
            if joint not in parts:
                parts[joint] = {handle.npu: Joint([handle], singles[handle.npu]) for handle in joint.handles}
        for npu, single in singles.items():
            single.finish_ps, single._since_ps = self.finish_ps, self._since_ps
            single._compute_ps, single._exposed_ps, single._before = self._compute_ps, self._exposed_ps, self._before
            single.posted = {number: parts[joint][npu] for number, joint in self.posted.items()}
            single.held = tuple(parts[joint][npu] for joint in waited_for) if waited_for else self.held
        return list(singles.values())

    def meets(self, other: Cohort) -> bool:
        """Whether two that nothing holds have come to the same place."""
        return self.place.is_at(other.place) and self.posted.keys() == other.posted.keys()

    def totals(self, npu: int) -> tuple[int, int]:
        """What one of them has computed and waited, but for what goes on."""
        compute_ps, exposed_ps = (0, 0) if self._before is None else self._before[npu]
        return compute_ps + self._compute_ps, exposed_ps + self._exposed_ps

    def finished_first(self, joint: Joint) -> list[int]:
        """The NPUs that wait for nothing in a joint of which others do, in their order."""
        done = {handle.npu for handle in joint.handles if handle.done}
        return [npu for npu in self.npus if npu in done]

    def record(self, npu: int, now_ps: int) -> NpuRecord:
        """Totals of one of them; what goes on counts until now."""
        finish_ps = now_ps if self.finish_ps is None else self.finish_ps
        running_ps = finish_ps - self._since_ps if self.held is not None else 0
        computes = isinstance(self.held, Compute)
        compute_ps, exposed_ps = self.totals(npu)
        return NpuRecord(
            npu,
            finish_ps,
            compute_ps + (running_ps if computes else 0),
            exposed_ps + (0 if computes else running_ps),
            self.done,
        )


class Member:
    """One NPU of a cohort, as others see it."""

    __slots__ = ("_cohort", "number")

    def __init__(self, number: int, cohort: Cohort) -> None:
        self.number = number
        self._cohort = cohort

    @property
    def done(self) -> bool:
        """Whether the program has ended."""
        return self._cohort.done

    @property
    def blocking(self) -> Blocking | None:
        """What it is busy with or waits for; None before the start and after the end."""
        held = self._cohort.held
        if held is None or isinstance(held, Compute):
            return held
        handles = tuple(handle for joint in held for handle in joint.handles if handle.npu == self.number)
        return Wait(handles[0]) if len(handles) == 1 else WaitAny(handles)

    def record(self, now_ps: int) -> NpuRecord:
        """Its totals until now."""
        return self._cohort.record(self.number, now_ps)


def met(cohorts: Sequence[Cohort]) -> Cohort:
    """Those that have come to the same place, and that nothing holds, as one from now on."""
    first = cohorts[0]
    if len(cohorts) == 1:
        return first
    together = Cohort([npu for cohort in cohorts for npu in cohort.npus], first.place)
    together._before = {npu: cohort.totals(npu) for cohort in cohorts for npu in cohort.npus}
    for number in first.posted:
        handles = [handle for cohort in cohorts for handle in cohort.posted[number].handles]
        together.posted[number] = Joint(handles, together)
    return together


def shares(npus: Sequence[int], times_ps: Sequence[int]) -> list[tuple[int, list[int]]]:
    """Neighbours that compute for as long, with that time."""
    runs = groupby(zip(times_ps, npus, strict=True), key=lambda pair: pair[0])
    return [(time_ps, [npu for _, npu in run]) for time_ps, run in runs]
