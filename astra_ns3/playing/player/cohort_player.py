"""Plays cohorts: lets them run on, parts them, and puts them together again."""

from __future__ import annotations

from collections.abc import Callable, MutableSequence, Sequence
from functools import partial
from typing import Any

from astra_ns3.playing.player.cohort import Cohort, met, shares
from astra_ns3.playing.player.tape import WrittenWait, WrittenWaitAny
from astra_ns3.playing.programs.operations import Compute, Posting
from astra_ns3.system.launch_buffer import LaunchBuffer
from astra_ns3.system.request import Handle, Joint

PostAll = Callable[[Sequence[int], Sequence[int], Posting], list[Handle]]


class CohortPlayer:
    """``players``: what plays each NPU, kept up to date. ``places``: of each NPU among those of its role.

    ``post_all(npus, turns, operation)`` posts one on each NPU; ``turns`` has the place in this moment's order of each
    NPU there is. ``ended(npus)``: so many have come to the end of their program.
    """

    def __init__(
        self,
        launches: LaunchBuffer,
        players: MutableSequence[Any],
        places: Sequence[int],
        post_all: PostAll,
        ended: Callable[[int], None],
    ) -> None:
        self._launches = launches
        self._players = players
        self._places = places
        self._post_all = post_all
        self._ended = ended
        self._ready: list[Cohort] = []  # some of whose NPUs may go on
        self._waking: set[int] = set()  # these NPUs
        self._turns = [0] * len(players)

    def start(self, cohort: Cohort) -> None:
        """Put a cohort's start on the network's list of events."""
        self._launches.call_later(cohort.npus[0], 0, partial(self._computed, cohort))

    def handle_done(self, handle: Handle, joint: Joint) -> None:
        """What one NPU of a cohort has posted is done; whoever waited for it goes on with :meth:`go_on`."""
        handle.done = True
        joint.left -= 1
        cohort: Cohort = joint.holder
        held = cohort.held
        if isinstance(held, tuple) and joint in held:
            if not cohort.ready:
                self._ready.append(cohort)
            cohort.ready.append(handle.npu)
            self._turns[handle.npu] = self._launches.place
            self._waking.add(handle.npu)

    def phases_done(
        self,
        npus: Sequence[int],
        instances: Sequence[int],
        time_ps: int,
        phase_done: Callable[[int, int, int], None],
    ) -> None:
        """Several phases are done at one moment, in this order; ``phase_done`` is called for each."""
        launches, waking = self._launches, self._waking
        launches.keep()
        for place, npu in enumerate(npus):
            if npu in waking:
                self.go_on(time_ps)  # it does so before it hears of another phase
            launches.place = place
            phase_done(npu, instances[place], time_ps)
        self.go_on(time_ps)
        launches.hand_over()

    def go_on(self, time_ps: int) -> None:
        """Let whoever waits no longer run on: whole cohorts, or parts of them; together who comes to the same place."""
        if not self._ready:
            return
        free: list[Cohort] = []
        for cohort in self._ready:
            free.extend(self._no_longer_waiting(cohort))
        self._ready.clear()
        self._waking.clear()
        for cohort in free:
            cohort.release(time_ps)
        begin = 0
        for end in range(1, len(free) + 1):
            if end == len(free) or not free[begin].meets(free[end]):
                together = met(free[begin:end])
                if end - begin > 1:
                    self._plays(together)
                self._run(together, time_ps)
                begin = end

    def _no_longer_waiting(self, cohort: Cohort) -> list[Cohort]:
        ready, cohort.ready = cohort.ready, []
        if len(ready) == len(cohort.npus):
            cohort.npus = ready
            return [cohort]
        if len(ready) > 1:
            return [self._part(cohort, ready)]
        # Where one comes alone, the others mostly do, too.
        return [single for single in self._scattered(cohort) if single.npus == ready]

    def _plays(self, cohort: Cohort) -> None:
        for npu in cohort.npus:
            self._players[npu] = cohort

    def _part(self, cohort: Cohort, npus: list[int]) -> Cohort:
        part = cohort.part(npus)
        self._plays(part)
        return part

    def _scattered(self, cohort: Cohort) -> list[Cohort]:
        singles = cohort.scattered()
        for single in singles:
            self._plays(single)
        return singles

    def _computed(self, cohort: Cohort, time_ps: int) -> None:
        """From the network: a cohort begins, or has computed."""
        cohort.release(time_ps)
        if len(cohort.npus) == 1:
            self._run(cohort, time_ps)
            return
        for turn, npu in enumerate(cohort.npus):
            self._turns[npu] = turn
        self._launches.keep()
        self._run(cohort, time_ps)
        self._launches.hand_over()

    def _run(self, cohort: Cohort, time_ps: int) -> None:
        """Let a cohort run to its next computation, or to what isn't done on all its NPUs."""
        place, posted = cohort.place, cohort.posted
        operation: Any
        while (operation := place.read()) is not None:
            kind = operation.__class__
            if kind is WrittenWait:
                joint = posted.get(operation.posted)
                if joint is not None and joint.left:
                    self._wait(cohort, operation.posted, joint, time_ps)
                    return
                posted.pop(operation.posted, None)
            elif kind is Compute:
                if operation.time_ps:
                    self._compute(cohort, operation, time_ps)
                    return
            elif kind is WrittenWaitAny:
                joints = tuple(posted[number] for number in operation.posted if number in posted)
                if joints and all(joint.left for joint in joints):
                    self._wait_for_any(cohort, joints, time_ps)
                    return
            else:
                posted[place.posted] = Joint(self._post_all(cohort.npus, self._turns, operation), cohort)
                place.posted += 1
        cohort.finish_ps = time_ps
        self._ended(len(cohort.npus))

    def _wait(self, cohort: Cohort, number: int, joint: Joint, time_ps: int) -> None:
        if joint.left < len(cohort.npus):
            cohort.place.read_again()
            self._run(self._part(cohort, cohort.finished_first(joint)), time_ps)
            cohort.place.read()
        del cohort.posted[number]
        cohort.hold((joint,), time_ps)

    def _wait_for_any(self, cohort: Cohort, joints: tuple[Joint, ...], time_ps: int) -> None:
        """Of several joints some NPUs may be let go on by one, and some by another: each waits by itself."""
        if len(cohort.npus) == 1:
            cohort.hold(joints, time_ps)
            return
        cohort.place.read_again()
        for single in self._scattered(cohort):
            self._run(single, time_ps)

    def _compute(self, cohort: Cohort, operation: Compute, time_ps: int) -> None:
        parts = [(operation.time_ps, cohort.npus)]
        if operation.times_ps is not None:
            parts = shares(cohort.npus, [operation.times_ps[self._places[npu]] for npu in cohort.npus])
        for took_ps, npus in parts:
            part = cohort if len(npus) == len(cohort.npus) else self._part(cohort, npus)
            part.hold(operation, time_ps)
            self._launches.place = self._turns[npus[0]]
            self._launches.call_later(npus[0], took_ps, partial(self._computed, part))
