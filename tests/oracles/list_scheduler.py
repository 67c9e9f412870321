"""A list scheduler, first come, first served: when each job of a table starts and ends, from its NPUs and duration.

It looks at every moment at which something happens, and knows nothing of networks: a job takes its time wherever it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Asked(NamedTuple):
    """A job: when it arrives, how many NPUs it needs, and for how long."""

    arrival_ps: int
    npus: int
    duration_ps: int


class Got(NamedTuple):
    """When a job starts and ends."""

    start_ps: int
    end_ps: int


def first_come(npus: int, jobs: Sequence[Asked]) -> list[Got]:
    """Return when each job, in the order of arrivals, has so many of ``npus`` NPUs as it needs."""
    found: list[Got] = []
    for job in jobs:
        # Nobody overtakes, so a job starts no earlier than the one before it.
        earliest_ps = max([job.arrival_ps, *(each.start_ps for each in found[-1:])])
        moments = sorted({earliest_ps, *(each.end_ps for each in found if each.end_ps > earliest_ps)})
        start_ps = next(moment for moment in moments if _in_use(found, jobs, moment) + job.npus <= npus)
        found.append(Got(start_ps, start_ps + job.duration_ps))
    return found


def _in_use(found: Sequence[Got], jobs: Sequence[Asked], moment_ps: int) -> int:
    """NPUs that jobs have at a moment; those of a job that ends then are free."""
    return sum(job.npus for got, job in zip(found, jobs, strict=False) if got.start_ps <= moment_ps < got.end_ps)
