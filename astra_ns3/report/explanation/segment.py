"""A link of the critical path, and what kinds there are."""

from __future__ import annotations

from dataclasses import dataclass

COMPUTE, WORK, STEP, UPDATE, ENDPOINT, MESSAGE, PHASE, STOPPED, OTHER = (
    "compute",
    "work",
    "step",
    "update",
    "endpoint",
    "message",
    "phase",
    "stopped",
    "other",
)


@dataclass(frozen=True)
class Segment:
    """A link of the chain, on ``npu`` (of a message: its source) from ``start_ps`` to ``end_ps``.

    ``operation``: the row of operations.parquet that it is about, or -1; ``collective``: the number of the collective,
    or -1; ``message``: the row of the messages, or -1. ``whole``: False if an end of it was cut off.
    """

    kind: str
    npu: int
    start_ps: int
    end_ps: int
    operation: int = -1
    collective: int = -1
    message: int = -1
    whole: bool = True

    @property
    def time_ps(self) -> int:
        """How long it takes."""
        return self.end_ps - self.start_ps
