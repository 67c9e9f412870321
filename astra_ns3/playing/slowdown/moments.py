"""Acts of NPUs in one moment: handed to the network together, in the order in which each would do it by itself."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import partial

from astra_ns3.playing.slowdown.computations import Resume, SlowedComputations
from astra_ns3.system.launch_buffer import LaunchBuffer


class Moments:
    """``go_on(time_ps)``: lets those NPUs go on that are ``waking``, of whom nothing else is heard before.

    ``together``: computations that end at one moment, and were begun or slowed at one, end as one event, whoever plays
    them. So nothing comes in another order where some NPUs play apart. ``computations``: begins them where something
    slows them.
    """

    __slots__ = ("_begun", "_computations", "_go_on", "_launches", "together", "waking")

    def __init__(
        self,
        launches: LaunchBuffer,
        go_on: Callable[[int], None],
        computations: SlowedComputations | None = None,
        *,
        together: bool = True,
    ) -> None:
        self._launches = launches
        self._go_on = go_on
        self._computations = computations
        self._begun: defaultdict[int, list[tuple[int, Resume]]] = defaultdict(list)  # at this moment, by how long
        self.together = together
        self.waking: set[int] = set()
        if computations is not None and together:
            computations.keeps, computations.call_later = True, self.call_later

    def stop(self) -> None:
        """From now on nothing is kept for others."""
        self.together = False
        if self._computations is not None:
            self._computations.keeps, self._computations.call_later = False, self._launches.call_later

    def call_later(self, npu: int, delay_ps: int, callback: Resume) -> None:
        """As the network's."""
        if self.together:
            callback = partial(self._at_once, callback)
        self._launches.call_later(npu, delay_ps, callback)

    def begin(self, npu: int, took_ps: int, resume: Resume) -> None:
        """The work of an NPU, or of several with this one first, for so long from now on."""
        if self._launches.keeps:
            self._begun[took_ps].append((npu, resume))
        else:
            self.call_later(npu, took_ps, resume)

    def phases_done(
        self,
        npus: Sequence[int],
        instances: Sequence[int],
        time_ps: int,
        phase_done: Callable[[int, int, int], None],
    ) -> None:
        """Several phases are done at one moment, in this order; ``phase_done`` is called for each."""
        if not self.together:
            for npu, instance in zip(npus, instances, strict=True):
                self.phase_done(npu, instance, time_ps, phase_done)
            return
        launches, waking = self._launches, self.waking
        launches.keep()
        for place, npu in enumerate(npus):
            if npu in waking:
                self._go_on(time_ps)
            launches.place = place
            phase_done(npu, instances[place], time_ps)
        self._go_on(time_ps)
        self._hand_over(time_ps)

    def phase_done(self, npu: int, instance: int, time_ps: int, phase_done: Callable[[int, int, int], None]) -> None:
        """One phase is done; ``phase_done`` is called for it."""
        phase_done(npu, instance, time_ps)
        self._go_on(time_ps)
        if self._computations is not None:
            self._computations.settle(time_ps)

    def _at_once(self, callback: Resume, time_ps: int) -> None:
        """From the network: what comes of an event is handed on together."""
        self._launches.keep()
        callback(time_ps)
        self._go_on(time_ps)
        self._hand_over(time_ps)

    def _hand_over(self, time_ps: int) -> None:
        begun = list(self._begun.items())
        self._begun.clear()
        for took_ps, resumed in begun:
            self.call_later(resumed[0][0], took_ps, partial(_resume_all, [resume for _, resume in resumed]))
        if self._computations is not None:
            self._computations.settle(time_ps)
        self._launches.hand_over()


def _resume_all(resumed: Sequence[Resume], time_ps: int) -> None:
    for resume in resumed:
        resume(time_ps)
