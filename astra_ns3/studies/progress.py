"""How far a study is; who draws it (the command line) is another room's business."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import Protocol

from astra_ns3.frozen import dataclass
from astra_ns3.studies.estimates import Estimate
from astra_ns3.studies.task import PointOutcome


@dataclass(frozen=True)
class StudyProgress:
    """Points by what has become of them; ``cached``, ``done`` and ``failed`` have no point in common.

    ``cached``: finished before this study began, well or not. ``running`` counts no more than there are workers.
    ``seconds_left``: None while nothing is known of what points take.
    """

    points: int
    cached: int
    done: int
    failed: int
    running: int
    wall_seconds: float
    seconds_left: float | None
    stage: str = ""
    """The thing that is awaited before the first point can begin; empty from then on."""

    @property
    def finished(self) -> int:
        """Points that need not be played any more."""
        return self.cached + self.done + self.failed


class StudyProgressSink(Protocol):
    """Receives the progress a few times a second."""

    def update(self, progress: StudyProgress) -> None:
        """Show ``progress``."""

    def finish(self) -> None:
        """The study is over, well or not: leave the place clean."""


class StudyMeter:
    """Counts what has become of a study's points."""

    def __init__(self, points: int = 0, cached: int = 0, past: Iterable[PointOutcome] = ()) -> None:
        """``past``: what the store knows of other points."""
        self._points = points
        self._cached = cached
        self._past = list(past)
        self._estimate: Estimate | None = None
        self._begun = time.monotonic()
        self._done = 0
        self._failed = 0

    def expect(self, guesses: Mapping[str, float]) -> None:
        """Take note of how long each point that is to be played may take, by address."""
        self._estimate = Estimate(guesses, self._past)

    def admit(self, address: str, *, cached: bool) -> None:
        """There is one more point, which was finished before, or is to be played."""
        self._points += 1
        self._cached += cached
        if self._estimate is not None and not cached:
            self._estimate.admit(address)

    def add(self, outcome: PointOutcome) -> None:
        """A point has ended."""
        if self._estimate is not None:
            self._estimate.add(outcome)
        if outcome.status == "done":
            self._done += 1
        else:
            self._failed += 1

    def read(self, workers: int, stage: str = "") -> StudyProgress:
        """The progress now, ``workers`` playing."""
        left = self._points - self._cached - self._done - self._failed
        return StudyProgress(
            points=self._points,
            cached=self._cached,
            done=self._done,
            failed=self._failed,
            running=0 if stage else min(left, workers),
            wall_seconds=time.monotonic() - self._begun,
            seconds_left=None if self._estimate is None else self._estimate.seconds_left(workers),
            stage=stage,
        )
