"""The eye on a run's own cost: wall time, resident memory, and the limits set on them."""

from __future__ import annotations

import os
import resource
import time
from datetime import datetime, timezone
from pathlib import Path

from astra_ns3.errors import LimitReached
from astra_ns3.network.api import Limits
from astra_ns3.units import format_bytes

_STATM = Path("/proc/self/statm")


def resident_bytes() -> int:
    """Memory of this process that is resident now (from /proc; elsewhere the highest so far)."""
    try:
        return int(_STATM.read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return highest_resident_bytes()


def highest_resident_bytes() -> int:
    """The highest resident memory since this process began."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


class Watch:
    """Measures one run from its construction on; :meth:`check` raises when a limit is passed."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._started = datetime.now(timezone.utc)
        self._start = time.perf_counter()
        self._highest_before = highest_resident_bytes()
        self._start_bytes = resident_bytes()
        self._sampled_bytes = self._start_bytes

    @property
    def started(self) -> datetime:
        """When the run began."""
        return self._started

    @property
    def start_bytes(self) -> int:
        """Resident memory when the run began: the idle program."""
        return self._start_bytes

    @property
    def wall_seconds(self) -> float:
        """Wall time since the run began."""
        return time.perf_counter() - self._start

    @property
    def peak_bytes(self) -> int:
        """Highest resident memory of this run.

        The kernel keeps one mark for the whole life of the process. When an earlier run in this process set it, the
        samples taken at each :meth:`check` stand in, which may miss a short peak.
        """
        highest = highest_resident_bytes()
        return highest if highest > self._highest_before else max(self._sampled_bytes, resident_bytes())

    def check(self) -> None:
        """Sample the memory and raise LimitReached if wall time or memory is above its limit."""
        resident = resident_bytes()
        self._sampled_bytes = max(self._sampled_bytes, resident)
        wall_limit, memory_limit = self._limits.wall_seconds, self._limits.memory_bytes
        if wall_limit is not None and self.wall_seconds > wall_limit:
            raise LimitReached(f"wall time reached its limit of {wall_limit:g} s")
        if memory_limit is not None and resident > memory_limit:
            used, allowed = format_bytes(resident), format_bytes(memory_limit)
            raise LimitReached(f"memory reached its limit: {used} resident, {allowed} allowed")
