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

_STATM = "/proc/{}/statm"
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


def resident_bytes(process: int | None = None) -> int:
    """Memory of this process that is resident now (from /proc; elsewhere the highest so far), or of another.

    0 of a process that is gone.
    """
    try:
        return int(Path(_STATM.format(process or "self")).read_text(encoding="ascii").split()[1]) * _PAGE_BYTES
    except (OSError, ValueError, IndexError):
        return highest_resident_bytes() if process is None else 0


def highest_resident_bytes() -> int:
    """The highest resident memory since this process began."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


class Watch:
    """Measures one run from its construction on; :meth:`check` raises when a limit is passed.

    ``start_bytes``: resident memory when the run began, that of the idle program.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self.started = datetime.now(timezone.utc)
        self._start = time.perf_counter()
        self._highest_before = highest_resident_bytes()
        self.start_bytes = resident_bytes()
        self._sampled_bytes = self.start_bytes

    def begin_in_child(self) -> None:
        """Take the marks of memory anew, in a process that was just forked; the time goes on."""
        self._highest_before = highest_resident_bytes()
        self.start_bytes = self._sampled_bytes = resident_bytes()

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
            raise self.memory_reached(resident)

    def memory_reached(self, used_bytes: int) -> LimitReached:
        """The message when so much is used and the limit is below."""
        used, allowed = format_bytes(used_bytes), format_bytes(self._limits.memory_bytes or 0)
        return LimitReached(f"memory reached its limit: {used} resident, {allowed} allowed")
