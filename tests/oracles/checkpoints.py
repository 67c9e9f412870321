"""A bookkeeper of a training with checkpoints and failures, and Daly's formula for the mean of its time.

The bookkeeper knows how long an iteration takes, a store, a load, and the wait before a restart. It knows nothing of
networks. Source of the formula: J. T. Daly, "A higher order estimate of the optimum checkpoint interval for restart
dumps", Future Generation Computer Systems 22, 2006, equations 20 and 37.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import exp, sqrt
from random import Random


@dataclass(frozen=True)
class Training:
    """``passes`` iterations with a checkpoint after each ``every``; all times in one unit.

    ``behind``: stores go on beside the next iterations, and a checkpoint waits for the one before it. ``interval``:
    instead of ``every``, a checkpoint comes after the first iteration that ends so long after the one before it began;
    behind, after the first for which the one before it is stored besides.
    """

    passes: int
    every: int
    iteration: int
    store: int
    load: int
    after: int
    behind: bool = False
    interval: int = 0

    def end(self, failures: Iterable[int]) -> tuple[int, int, int]:
        """Return when it ends, how often it began again, and how many passes the last try had from a checkpoint."""
        coming = iter(failures)
        begin = kept = restarts = 0
        failure = next(coming, None)
        while True:
            while failure is not None and failure <= begin:  # nothing plays then
                failure = next(coming, None)
            end, stored = self._try(begin, kept, failure)
            if failure is None or failure > end:
                return end, restarts, kept
            kept = max([kept, *(passes for passes, time in stored if time <= failure)])
            begin, restarts = failure + self.after, restarts + 1

    def _try(self, begin: int, kept: int, failure: int | None) -> tuple[int, list[tuple[int, int]]]:
        """Return when a try ends, or some time behind its failure; and when each of its checkpoints is whole."""
        time, whole, stored = begin + (self.load if kept else 0), 0, []
        last = begin
        for number in range(kept + 1, self.passes + 1):
            if failure is not None and time > failure:
                break
            time += self.iteration
            if number % self.every and not self.interval:
                continue
            if self.interval and (time - last < self.interval or (self.behind and whole >= time)):
                continue
            time = last = max(time, whole)
            whole = time + self.store
            stored.append((number, whole))
            if not self.behind:
                time = whole
        return max(time, whole), stored


def drawn(seed: int, mean: float) -> Iterator[int]:
    """Yield times of failures that come at random, so long after each other in the mean."""
    draws, time = Random(seed), 0.0
    while True:
        time += draws.expovariate(1 / mean)
        yield round(time)


def daly_mean(work: float, interval: float, store: float, restart: float, mean: float) -> float:
    """Return the mean time of so much work, with a checkpoint after each ``interval``; ``mean``: between failures."""
    return mean * exp(restart / mean) * (exp((interval + store) / mean) - 1) * work / interval


def daly_optimum(store: float, mean: float) -> float:
    """Return the best interval, to a higher order than Young's."""
    if store >= 2 * mean:
        return mean
    part = store / (2 * mean)
    return sqrt(2 * store * mean) * (1 + sqrt(part) / 3 + part / 9) - store
