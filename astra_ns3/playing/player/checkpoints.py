"""Which checkpoints of a run are due, and which all NPUs have stored."""

from __future__ import annotations

from collections import Counter

from astra_ns3.playing.programs.operations import Store


class Checkpoints:
    """The checkpoints of a run on so many ``npus``. ``passes``: how many the last whole one has."""

    def __init__(self, npus: int) -> None:
        self._npus = npus
        self._stored: Counter[int] = Counter()  # of each pass, NPUs whose part is stored
        self._due: dict[int, bool] = {}  # of passes that some NPUs haven't ended
        self._asked: Counter[int] = Counter()
        self._begun_ps = 0
        self._whole_ps: int | None = -1  # None: one is on its way
        self.passes = 0

    def begin(self, time_ps: int) -> None:
        """A try begins; its first checkpoint is due so long after."""
        self._begun_ps = time_ps

    def is_due(self, store: Store, time_ps: int) -> bool:
        """Return whether a checkpoint is stored, which an NPU comes to at a time; see :class:`Store`."""
        if not store.interval_ps:
            return True
        number = store.label.iteration
        if number not in self._due:
            # One that has become whole at this very moment may be told of later.
            waits = store.behind and (self._whole_ps is None or self._whole_ps >= time_ps)
            self._due[number] = not waits and time_ps - self._begun_ps >= store.interval_ps
            if self._due[number]:
                self._begun_ps, self._whole_ps = time_ps, None
        due = self._due[number]
        self._asked[number] += 1
        if self._asked[number] == self._npus:
            del self._due[number], self._asked[number]
        return due

    def stored(self, iteration: int, time_ps: int) -> None:
        """An NPU has stored its part after an iteration."""
        self._stored[iteration] += 1
        if self._stored[iteration] == self._npus:
            del self._stored[iteration]
            self.passes, self._whole_ps = iteration + 1, time_ps
