"""Counts the passes that all NPUs of a job have done, for whoever waits for one of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from astra_ns3.playing.player.cohort import Cohort
from astra_ns3.playing.player.tape import Written, WrittenWait
from astra_ns3.playing.programs.operations import Move, Posting
from astra_ns3.system.request import Handle

PostAll = Callable[[Sequence[int], Sequence[int], Posting], list[Handle]]


class PassCounter:
    """Counts the ``passes`` passes of ``npus`` NPUs. ``told(done)`` is called whenever one more is done.

    A pass is done when every NPU has gone on to the next one, or to its end, and all that was posted in it has ended.
    """

    def __init__(self, npus: int, passes: int, told: Callable[[int], None]) -> None:
        self.done = 0
        self._npus = npus
        self._passes = passes
        self._told = told
        self._past = Counter[int]()  # of each pass not done: NPUs that have gone on
        self._open = Counter[int]()  # and what is posted and hasn't ended
        self._handles: set[Handle] = set()

    def read(self, cohort: Cohort) -> Written | None:
        """Return the next operation of a cohort; None at the end."""
        operation = cohort.place.read()
        if operation is None:
            self._goes_on(cohort, self._passes)
        elif not isinstance(operation, WrittenWait | Move):
            self._goes_on(cohort, operation.label.iteration)
        return operation

    def counting(self, post_all: PostAll) -> PostAll:
        """Return ``post_all`` that counts what is posted."""

        def counted(npus: Sequence[int], turns: Sequence[int], operation: Posting) -> list[Handle]:
            handles = post_all(npus, turns, operation)
            open_ones = [handle for handle in handles if not handle.done]
            self._handles.update(open_ones)
            self._open[operation.label.iteration] += len(open_ones)
            return handles

        return counted

    def handle_done(self, handle: Handle) -> None:
        """Something that was posted has ended."""
        if handle in self._handles:
            self._handles.remove(handle)
            iteration = handle.request.label.iteration
            self._open[iteration] -= 1
            self._look([iteration])

    def _goes_on(self, cohort: Cohort, iteration: int) -> None:
        if iteration <= cohort.iteration:
            return
        left = range(cohort.iteration, iteration)
        for number in left:
            self._past[number] += len(cohort.npus)
        cohort.iteration = iteration
        self._look(left)

    def _look(self, passes: Iterable[int]) -> None:
        """Count those of some passes that are done now; with LIFO a later one may be done before an earlier one."""
        for number in passes:
            if self._past.get(number) == self._npus and not self._open.get(number):
                self._past.pop(number)
                self._open.pop(number, None)
                self.done += 1
                self._told(self.done)
