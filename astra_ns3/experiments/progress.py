"""What a run tells about itself while it goes on; who draws it (the command line) is another room's business."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class Progress:
    """Where a run is: NPU 0's passes and layer steps (forward and backward count one each), and what it cost so far."""

    passes_done: int
    passes: int
    steps_done: int
    steps: int
    time_ps: int
    events: int
    wall_seconds: float

    @property
    def fraction(self) -> float:
        """Share of the layer steps that NPU 0 has behind it, 0 to 1."""
        total = self.passes * self.steps
        done = self.passes_done * self.steps + self.steps_done
        return min(1.0, done / total) if total > 0 else 0.0

    @property
    def seconds_left(self) -> float | None:
        """Wall time still needed if steps go on at the same pace; None while none is done."""
        fraction = self.fraction
        return self.wall_seconds * (1 - fraction) / fraction if fraction > 0 else None


class ProgressSink(Protocol):
    """Receives the progress about ten times a second.

    A sink may also have ``stage(name, wall_seconds)``, which is told what is being set up before the first event.
    """

    def update(self, progress: Progress) -> None:
        """Show ``progress``."""

    def finish(self) -> None:
        """The run is over, well or not: leave the place clean."""


def tell_stage(sink: ProgressSink | None, name: str, wall_seconds: float) -> None:
    """Tell ``sink``, if it wants to know, that the run is being set up, and what is done for it."""
    stage = getattr(sink, "stage", None)
    if callable(stage):
        stage(name, wall_seconds)
