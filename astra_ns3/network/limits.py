"""When a run gives up."""

from __future__ import annotations

from astra_ns3.frozen import dataclass


@dataclass(frozen=True)
class Limits:
    """When a run gives up: simulated time, wall time, resident memory; ``None`` is no limit."""

    simulated_ps: int | None = None
    wall_seconds: float | None = None
    memory_bytes: int | None = None
