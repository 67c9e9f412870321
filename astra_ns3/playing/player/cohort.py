"""NPUs of one role that are in step: what they do next is worked out once for all of them.

They have read a program as far, and wait for the same or compute for as long. A wait that ends for some of them and not
for others parts them; those that come to the same place at the same moment, one after the other, are together again. An
NPU that plays by itself is a cohort, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from astra_ns3.network.records import NpuRecord
from astra_ns3.playing.player.account import Account
from astra_ns3.playing.player.held import Awaited, Held
from astra_ns3.playing.player.tape import Place
from astra_ns3.playing.programs.operations import Compute, Move, WaitAny
from astra_ns3.system.request import Joint


class Cohort:
    """``npus`` in the order in which they do what they do at one moment; ``place``: how far they have read.

    ``apart``: it is one NPU that never meets others; it may have an ``account`` of what it does. ``posted``: of each
    operation by its number, what isn't known to be done. ``iteration``: the pass that it is in, if somebody counts.
    """

    __slots__ = (
        "_before",
        "_compute_ps",
        "_exposed_ps",
        "_since_ps",
        "account",
        "apart",
        "finish_ps",
        "held",
        "iteration",
        "npus",
        "place",
        "posted",
        "ready",
    )

    def __init__(self, npus: list[int], place: Place, account: Account | None = None, *, apart: bool = False) -> None:
        self.npus = npus
        self.place = place
        self.account = account
        self.apart = apart
        self.posted: dict[int, Joint] = {}
        self.held: Held | None = None
        self.ready: list[int] = []  # while the others still wait
        self.finish_ps: int | None = None
        self.iteration = 0
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
        if self.account is not None:
            self.account.hold(held, time_ps)

    def release(self, time_ps: int) -> None:
        """Book what has taken time until now."""
        held, self.held = self.held, None
        if held is None:
            return
        if isinstance(held, Compute):
            self._compute_ps += time_ps - self._since_ps
        else:
            self._exposed_ps += time_ps - self._since_ps
        if self.account is not None:
            self.account.release(time_ps)

    def split(self, groups: Sequence[list[int]]) -> list[Cohort]:
        """Return a cohort for each of ``groups``, which all NPUs are in; nothing is left of this one."""
        self.forget()
        parts = []
        for npus in groups:
            part = Cohort(npus, self.place.copy())
            part.finish_ps, part._since_ps = self.finish_ps, self._since_ps
            part.iteration = self.iteration
            part._compute_ps, part._exposed_ps, part._before = self._compute_ps, self._exposed_ps, self._before
            parts.append(part)
        group_of = {npu: number for number, npus in enumerate(groups) for npu in npus}
        waited_for = self.held.joints if isinstance(self.held, Awaited) else ()
        joints = {joint: joint.split(group_of, len(groups)) for joint in {*self.posted.values(), *waited_for}}
        for number, part in enumerate(parts):
            part.posted = {posted: joints[joint][number] for posted, joint in self.posted.items()}
            part.held = self.held
            if isinstance(self.held, Awaited):
                part.held = Awaited(tuple(joints[joint][number] for joint in waited_for), self.held.tail)
        return parts

    def forget(self) -> None:
        """Drop what is done: to wait for it is to go on, and parting or meeting others would copy it."""
        posted = self.posted
        for number in [number for number, joint in posted.items() if not joint.left]:
            del posted[number]

    def finished(self, joints: Sequence[Joint]) -> list[int]:
        """Return the NPUs, in their order, of which some of ``joints`` is done."""
        if all(joint.left == len(self.npus) for joint in joints):
            return []
        done = {handle.npu for joint in joints for handle in joint.handles if handle.done}
        return [npu for npu in self.npus if npu in done]

    def without(self, npus: Sequence[int]) -> list[int]:
        """Return the other NPUs, in their order."""
        leaving = set(npus)
        return [npu for npu in self.npus if npu not in leaving]

    def meets(self, other: Cohort) -> bool:
        """Return whether two that nothing holds have come to the same place; both forget what is done."""
        if not self.place.is_at(other.place):
            return False
        self.forget()
        other.forget()
        return self.posted.keys() == other.posted.keys()

    def totals(self, npu: int) -> tuple[int, int]:
        """Return what one of them has computed and waited, but for what goes on."""
        compute_ps, exposed_ps = (0, 0) if self._before is None else self._before[npu]
        return compute_ps + self._compute_ps, exposed_ps + self._exposed_ps


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
    def blocking(self) -> Compute | Move | WaitAny | None:
        """The operation that it is busy with or waits for; None before the start and after the end."""
        held = self._cohort.held
        return WaitAny(held.handles(self.number), held.tail) if isinstance(held, Awaited) else held

    def record(self, now_ps: int) -> NpuRecord:
        """Return its totals; what goes on counts until now."""
        cohort = self._cohort
        finish_ps = now_ps if cohort.finish_ps is None else cohort.finish_ps
        running_ps = finish_ps - cohort._since_ps if cohort.held is not None else 0
        compute_ps, exposed_ps = cohort.totals(self.number)
        if isinstance(cohort.held, Compute):
            compute_ps += running_ps
        else:
            exposed_ps += running_ps
        return NpuRecord(self.number, finish_ps, compute_ps, exposed_ps, self.done)


def met(cohorts: Sequence[Cohort]) -> Cohort:
    """Return those that have come to the same place, and that nothing holds, as one from now on."""
    first = cohorts[0]
    if len(cohorts) == 1:
        return first
    together = Cohort([npu for cohort in cohorts for npu in cohort.npus], first.place)
    together.iteration = first.iteration
    together._before = {npu: cohort.totals(npu) for cohort in cohorts for npu in cohort.npus}
    for number in first.posted:
        handles = [handle for cohort in cohorts for handle in cohort.posted[number].handles]
        together.posted[number] = Joint(handles, number)
    return together


def shares(npus: Sequence[int], times_ps: Sequence[int]) -> list[tuple[int, list[int]]]:
    """Return neighbours that compute for as long, with that time."""
    runs = groupby(zip(times_ps, npus, strict=True), key=lambda pair: pair[0])
    return [(time_ps, [npu for _, npu in run]) for time_ps, run in runs]
