"""Plays cohorts: lets them run on, parts them, and puts them together again."""

from __future__ import annotations

from collections.abc import Callable, MutableSequence, Sequence
from functools import partial

from astra_ns3.playing.player.cohort import Cohort, met, shares
from astra_ns3.playing.player.held import Awaited
from astra_ns3.playing.player.passes import PassCounter, PostAll
from astra_ns3.playing.player.tape import WrittenWait
from astra_ns3.playing.programs.operations import Compute, Move
from astra_ns3.playing.slowdown.computations import Part, Resume, SlowedComputations
from astra_ns3.playing.slowdown.moments import Moments
from astra_ns3.system.launch_buffer import LaunchBuffer
from astra_ns3.system.request import Handle

# Looked at after each NPU has gone on so often; where so many in a hundred of them did it alone, all play alone.
_LOOK_EVERY = 16
_MOST_ALONE = 90


def _nobody(_time_ps: int) -> None:
    """Nobody hears of it."""


class CohortPlayer:
    """``players``: the cohort of each NPU, kept up to date. ``places``: of each NPU among those of its role.

    ``post_all(npus, turns, operation)`` posts one on each NPU; ``turns`` has the place in this moment's order of each
    NPU there is. ``ended(npus)``: so many have come to the end of their program. ``move_ps``: what a move to the next
    step takes. ``computations`` and ``together``: as of :class:`~astra_ns3.playing.slowdown.moments.Moments`.
    ``passes``: counts those done (None: nobody does).
    """

    def __init__(
        self,
        launches: LaunchBuffer,
        players: MutableSequence[Cohort],
        places: Sequence[int],
        post_all: PostAll,
        ended: Callable[[int], None],
        *,
        move_ps: int = 0,
        computations: SlowedComputations | None = None,
        together: bool = True,
        passes: PassCounter | None = None,
    ) -> None:
        self._launches = launches
        self._players = players
        self._places = places
        self._post_all = post_all if passes is None else passes.counting(post_all)
        self._ended = ended
        self._move_ps = move_ps
        self._passes = passes
        self._computations = computations
        self._ready: list[Cohort] = []  # some of whose NPUs may go on
        self._turns = list(range(len(players)))  # kept while an NPU computes
        self._moments = Moments(launches, self.go_on, computations, together=together)
        self._played = self._played_alone = 0  # NPUs that have gone on, since that was last looked at

    def start(self) -> None:
        """Put every cohort's start on the network's list of events."""
        cohorts = list(dict.fromkeys(self._players))
        for begun in [cohorts] if self._moments.together else [[cohort] for cohort in cohorts]:
            self._moments.call_later(begun[0].npus[0], 0, partial(self._start, begun))

    def handle_done(self, handle: Handle, time_ps: int) -> None:
        """Take note that one NPU's collective or message is done.

        An NPU apart goes on at once if it waited for that; others do with :meth:`go_on`.
        """
        handle.done = True
        if self._passes is not None:
            self._passes.handle_done(handle)
        joint, npu = handle.joint, handle.npu
        cohort = self._players[npu]
        if cohort.account is not None:
            cohort.account.handle_done(handle, time_ps)
        if joint is None:
            return
        joint.left -= 1
        if not cohort.place.live:
            handle.joint = None  # else only a search for garbage would find the two
        held = cohort.held
        if not isinstance(held, Awaited) or joint not in held.joints:
            return
        self._turns[npu] = self._launches.place
        if cohort.apart:
            self._resume(cohort, time_ps)
            return
        if not cohort.ready:
            self._ready.append(cohort)
        cohort.ready.append(npu)
        self._moments.waking.add(npu)

    def handle_done_later(self, handle: Handle, delay_ps: int, told: Callable[[int], None] = _nobody) -> None:
        """As :meth:`handle_done`, in so long; ``told`` hears of it before."""
        self._moments.begin(handle.npu, delay_ps, partial(self._done_now, handle, self._launches.place, told))

    def _done_now(self, handle: Handle, place: int, told: Callable[[int], None], time_ps: int) -> None:
        told(time_ps)
        if handle.npu in self._moments.waking:
            self.go_on(time_ps)
        self._launches.place = place
        self.handle_done(handle, time_ps)
        if not self._moments.together:
            self.go_on(time_ps)

    def phases_done(
        self,
        npus: Sequence[int],
        instances: Sequence[int],
        time_ps: int,
        phase_done: Callable[[int, int, int], None],
    ) -> None:
        """Several phases are done at one moment, in this order; ``phase_done`` is called for each."""
        self._moments.phases_done(npus, instances, time_ps, phase_done)
        if self._played >= _LOOK_EVERY * len(self._players):
            if 100 * self._played_alone > _MOST_ALONE * self._played:
                self._play_alone()
            self._played = self._played_alone = 0

    def phase_done(self, npu: int, instance: int, time_ps: int, phase_done: Callable[[int, int, int], None]) -> None:
        """One phase is done; ``phase_done`` is called for it."""
        self._moments.phase_done(npu, instance, time_ps, phase_done)

    def go_on(self, time_ps: int) -> None:
        """Let whoever waits no longer run on: whole cohorts, or parts of them; together who comes to the same place."""
        if not self._ready:
            return
        free = [self._no_longer_waiting(cohort) for cohort in self._ready]
        self._ready.clear()
        self._moments.waking.clear()
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

    def _no_longer_waiting(self, cohort: Cohort) -> Cohort:
        ready, cohort.ready = cohort.ready, []
        if len(ready) == len(cohort.npus):
            cohort.npus = ready
            return cohort
        others = cohort.without(ready)
        # Where one comes alone, the others mostly do, too.
        return self._split(cohort, [ready, *([[npu] for npu in others] if len(ready) == 1 else [others])])[0]

    def _plays(self, cohort: Cohort) -> None:
        for npu in cohort.npus:
            self._players[npu] = cohort

    def _split(self, cohort: Cohort, groups: Sequence[list[int]]) -> list[Cohort]:
        if len(groups) == 1:
            return [cohort]
        parts = cohort.split(groups)
        for part in parts:
            part.apart = not self._moments.together and len(part.npus) == 1
            self._plays(part)
        return parts

    def _resume(self, cohort: Cohort, time_ps: int) -> None:
        cohort.release(time_ps)
        self._run(cohort, time_ps)

    def _start(self, cohorts: Sequence[Cohort], time_ps: int) -> None:
        for cohort in cohorts:
            self._resume(cohort, time_ps)

    def _play_alone(self) -> None:
        """Hardly any NPUs are in step: from now on nothing is kept for others, which costs more than it saves.

        But for computations that something slows: these would end in another order within a moment.
        """
        if self._computations is not None:
            return
        self._moments.stop()
        for cohort in self._players:
            cohort.apart = len(cohort.npus) == 1

    def _run(self, cohort: Cohort, time_ps: int) -> None:
        """Let a cohort run to its next computation, or to what isn't done on all its NPUs."""
        place, posted, account = cohort.place, cohort.posted, cohort.account
        read = place.read if self._passes is None else partial(self._passes.read, cohort)
        self._played += len(cohort.npus)
        self._played_alone += len(cohort.npus) == 1
        while (operation := read()) is not None:
            if isinstance(operation, Compute):
                if operation.time_ps:
                    self._compute(cohort, operation, time_ps)
                    return
                if account is not None:
                    account.hold(operation, time_ps)
                    account.release(time_ps)
            elif isinstance(operation, WrittenWait):
                if self._waits(cohort, operation, time_ps):
                    return
            elif isinstance(operation, Move):
                if self._move_ps:
                    cohort.hold(operation, time_ps)
                    self._launches.call_later(cohort.npus[0], self._move_ps, partial(self._resume, cohort))
                    return
            else:
                joint = place.post(self._post_all(cohort.npus, self._turns, operation))
                posted[joint.number] = joint
                if account is not None:
                    account.posted(operation, joint.handles[0], time_ps)
        cohort.finish_ps = time_ps
        self._ended(len(cohort.npus))

    def _waits(self, cohort: Cohort, wait: WrittenWait, time_ps: int) -> bool:
        """Return whether a cohort can't go on; those of its NPUs that can have done so."""
        posted = cohort.posted
        joints = tuple([posted[number] for number in wait.posted if number in posted])
        if joints and cohort.account is not None:
            cohort.account.waits_for(joints[0].handles[0])
        # What isn't there any more has been waited for.
        waits = len(joints) == len(wait.posted) and 0 not in [joint.left for joint in joints]
        if waits and len(cohort.npus) > 1:
            first = cohort.finished(joints)
            others = cohort.without(first) if first else cohort.npus
            if first and others:
                cohort.place.read_again()
                for part in self._split(cohort, [first, others]):
                    self._run(part, time_ps)
                return True
            waits = bool(others)
        if len(wait.posted) == 1:
            posted.pop(wait.posted[0], None)
        if waits:
            cohort.hold(Awaited(joints, wait.tail), time_ps)
        return waits

    def _compute(self, cohort: Cohort, operation: Compute, time_ps: int) -> None:
        if operation.times_ps is None:
            self._begin(cohort, operation, operation.time_ps, time_ps)
            return
        runs = shares(cohort.npus, [operation.times_ps[self._places[npu]] for npu in cohort.npus])
        parts = self._split(cohort, [npus for _, npus in runs])
        for (took_ps, _), part in zip(runs, parts, strict=True):
            self._begin(part, operation, took_ps, time_ps)

    def _begin(self, cohort: Cohort, operation: Compute, took_ps: int, time_ps: int) -> None:
        """Compute for ``took_ps``, or longer if something slows that."""
        cohort.hold(operation, time_ps)
        if self._computations is not None:
            memory_ps = operation.memory_ps * took_ps // operation.time_ps
            resume, part = self._goes_on(cohort)
            self._computations.begin(cohort.npus, took_ps, resume, memory_ps=memory_ps, part=part)
        else:
            self._moments.begin(cohort.npus[0], took_ps, partial(self._resume, cohort))

    def _goes_on(self, cohort: Cohort) -> tuple[Resume, Part | None]:
        """Return how a cohort goes on when it has computed, and how several NPUs part before."""
        return partial(self._resume, cohort), None if len(cohort.npus) == 1 else partial(self._parted, cohort)

    def _parted(self, cohort: Cohort, groups: Sequence[list[int]]) -> list[tuple[Resume, Part | None]]:
        return [self._goes_on(part) for part in self._split(cohort, groups)]
