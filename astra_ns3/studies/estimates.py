"""How long points will take: which to begin first, and when a study will end.

A guess from the inputs (:mod:`astra_ns3.experiments.forecasting.forecast`) says how points compare; those that have
ended say what such a guess is worth on this machine.
"""

from __future__ import annotations

import pickle
import statistics
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from astra_ns3.errors import AstraNs3Error
from astra_ns3.experiments.forecasting.forecast import forecast
from astra_ns3.experiments.request import RunRequest
from astra_ns3.experiments.tenant_inputs import foreseen_tries, load_tenants, parts_of
from astra_ns3.studies.task import PointOutcome, PointTask

# In a pickled request: a part of the user's, ``FILE.py:name``. Only children run that.
_USERS_CODE = b".py:"
MOST_SECONDS = 4.0
"""Wall time that the guesses may take, about that in which workers and servers start."""


def guessed_seconds(tasks: Sequence[PointTask], most_seconds: float = MOST_SECONDS) -> dict[str, float]:
    """A guess for each point, by address; points for which no time was left get the mean of the others."""
    begun = time.monotonic()
    known: dict[bytes, float | None] = {}
    found: dict[str, float] = {}
    for task in _spread(tasks):
        if time.monotonic() - begun > most_seconds:
            break
        key = pickle.dumps(replace(task.request, seed=1, on_built=None))
        if key not in known:
            known[key] = None if _USERS_CODE in key else _forecast(task.request)
        guess = known[key]
        if guess is not None:
            found[task.address] = guess
    mean = statistics.fmean(found.values()) if found else 1.0
    return {task.address: found.get(task.address, mean) for task in tasks}


def longest_first(tasks: Sequence[PointTask], seconds: Mapping[str, float]) -> list[PointTask]:
    """The order in which to begin them, so that no worker is left with a long one at the end; equal ones as given."""
    return sorted(tasks, key=lambda task: -seconds[task.address])


class Estimate:
    """When the points that are left will have been played."""

    def __init__(self, guesses: Mapping[str, float], past: Iterable[PointOutcome] = ()) -> None:
        """``guesses``: of what is to be played; ``past``: points of the store, whose guesses nobody knows."""
        self._left = dict(guesses)
        self._guessed = 0.0
        self._took = 0.0
        walls = [outcome.cost.get("wall_seconds", 0.0) for outcome in past]
        self._past_mean = statistics.fmean(walls) if walls else None
        self._mean_guess = statistics.fmean(guesses.values()) if guesses else 1.0

    def admit(self, address: str) -> None:
        """There is one more point, of which nothing is known: it counts like the mean of the others."""
        self._left.setdefault(address, self._mean_guess)

    def add(self, outcome: PointOutcome) -> None:
        """A point has ended."""
        guess = self._left.pop(outcome.address, None)
        if guess is not None:
            self._guessed += guess
            self._took += outcome.cost.get("wall_seconds", 0.0)

    def seconds_left(self, workers: int) -> float | None:
        """Wall time until all are played by so many workers; None while nothing is known."""
        if not self._left:
            return 0.0
        worth = self._worth()
        if worth is None:
            return None
        longest = max(self._left.values())
        return worth * max(longest, sum(self._left.values()) / max(workers, 1))

    def _worth(self) -> float | None:
        """Seconds that a second of guess has turned out to be."""
        if self._guessed > 0:
            return self._took / self._guessed
        return None if self._past_mean is None else self._past_mean / self._mean_guess


def _spread(tasks: Sequence[PointTask]) -> Iterable[PointTask]:
    """All tasks, so that the first ones come from all over the study."""
    step = max(1, round(len(tasks) ** 0.5))
    for first in range(step):
        yield from tasks[first::step]


def _forecast(request: RunRequest) -> float | None:
    """None where the inputs are refused, which is the run's affair."""
    try:
        tenants = load_tenants(request)
        return float(forecast(parts_of(request, tenants), foreseen_tries(request, tenants)).warm_seconds)
    except AstraNs3Error:
        return None
