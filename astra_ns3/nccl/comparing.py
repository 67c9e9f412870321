"""Our times beside measured ones: ratios, mean errors, and whether latency or bandwidth differs.

A table's time is taken for ``latency + bytes / bandwidth``. Both are read from its two ends: the smallest size gives
the latency, the way from smallest to largest the bandwidth. Model limits: NCCL changes its protocol between the ends,
so the two numbers describe a table and predict nothing between.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

from astra_ns3.errors import in_range, wrong
from astra_ns3.frozen import dataclass
from astra_ns3.nccl.logs import Log

LARGE_BYTES = 128 << 20
"""From this size on, the wires and not the hosts decide a time (128 MiB)."""

Differs = Literal["latency", "bandwidth", "both", "neither", "unknown"]
Errors = tuple[float | None, float | None]
"""Means of |ours / measured - 1| below :data:`LARGE_BYTES`, and from there on; None: no size of that kind."""
_HALF = 0.5


@dataclass(frozen=True)
class ComparedRow:
    """One size; ``ratio``: our time over the measured one."""

    size_bytes: int
    measured_us: float
    ours_us: float

    @property
    def ratio(self) -> float:
        """Our time over the measured one: above 1, we are slower."""
        return self.ours_us / self.measured_us


@dataclass(frozen=True)
class Split:
    """The two parts of a table's times; None: the table doesn't tell, as its ends are both small or both large."""

    latency_us: float | None
    gbytes_per_s: float | None


@dataclass(frozen=True)
class Comparison:
    """All sizes that both tables have.

    ``differs``: the part of the time that differs by more than the tolerance; "unknown" if the tables tell neither.
    """

    rows: tuple[ComparedRow, ...]
    errors: Errors
    measured: Split
    ours: Split
    differs: Differs


def compare(log: Log, ours: Iterable[tuple[int, float]], tolerance: float = 0.1) -> Comparison:
    """Compare our rows ``(size_bytes, time_us)`` with a log's; raises InputError if no size is in both.

    The log's time is that out of place, if it was measured. ``tolerance``: the share up to which two parts are equal.
    """
    times = _by_size(ours)
    both = [row for row in log.rows if row.size_bytes in times]
    if not both:
        sizes = f"{log.rows[0].size_bytes} to {log.rows[-1].size_bytes}" if log.rows else "none"
        raise wrong(f"found no size of ours in the log, expected one or more of its sizes, {sizes}", log.path)
    rows = tuple(ComparedRow(row.size_bytes, row.measured_us, times[row.size_bytes]) for row in both)
    measured = split([(row.size_bytes, row.measured_us) for row in rows])
    own = split([(row.size_bytes, row.ours_us) for row in rows])
    return Comparison(rows, errors_of(rows), measured, own, which_differs(own, measured, tolerance))


def errors_of(rows: Sequence[ComparedRow]) -> Errors:
    """Return the mean errors below 128 MiB, and from there on."""
    small = [row for row in rows if row.size_bytes < LARGE_BYTES]
    return mean_error(small), mean_error([row for row in rows if row.size_bytes >= LARGE_BYTES])


def mean_error(rows: Sequence[ComparedRow]) -> float | None:
    """Return the mean of |ours / measured - 1|; None of no rows."""
    return sum(abs(row.ratio - 1) for row in rows) / len(rows) if rows else None


def split(rows: Sequence[tuple[int, float]]) -> Split:
    """Return latency and bandwidth of rows ``(size_bytes, time_us)`` whose sizes rise.

    A part is told only if it is more than half of the time at its end: the latency of the smallest size's, the way of
    the bytes of the largest's.
    """
    (first, least), (last, most) = rows[0], rows[-1]
    if last == first or most <= least:
        return Split(least if last > first else None, None)
    us_per_byte = (most - least) / (last - first)
    latency = least - us_per_byte * first
    return Split(
        latency if latency > _HALF * least else None,
        1e-3 / us_per_byte if us_per_byte * last > _HALF * most else None,
    )


def which_differs(ours: Split, measured: Split, tolerance: float = 0.1) -> Differs:
    """Return which part of the time differs by more than a share."""
    latency = _apart(ours.latency_us, measured.latency_us, tolerance)
    bandwidth = _apart(ours.gbytes_per_s, measured.gbytes_per_s, tolerance)
    if latency is None and bandwidth is None:
        return "unknown"
    if latency and bandwidth:
        return "both"
    return "latency" if latency else "bandwidth" if bandwidth else "neither"


def _apart(ours: float | None, measured: float | None, tolerance: float) -> bool | None:
    return None if ours is None or measured is None else abs(ours / measured - 1) > tolerance


def _by_size(rows: Iterable[tuple[int, float]]) -> dict[int, float]:
    times: dict[int, float] = {}
    for size, time in rows:
        in_range("size", size, 1)
        if not 0 < time < float("inf"):
            raise wrong(f"our time of {size} bytes is {time:g} us, expected more than 0")
        if size in times:
            raise wrong(f"found our time of {size} bytes twice, expected each size once")
        times[size] = time
    return times
