"""Numbers of congestion controls that change while a network is played."""

from __future__ import annotations

from collections.abc import Mapping

from astra_ns3.frozen import dataclass


@dataclass(frozen=True)
class ControlChange:
    """From ``time_ps`` on the controls of what NPUs ``first_npu`` to ``last_npu`` send follow other numbers.

    ``numbers``: all that hold instead of those of the file, by name: picoseconds, bits per second, bytes, 0 or 1. What
    queue pairs have learnt stays. ``transport``: the kind of the transport whose controls they are.
    """

    transport: str
    time_ps: int
    first_npu: int
    last_npu: int
    numbers: Mapping[str, float]
