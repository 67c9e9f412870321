"""The longest chain of messages in a schedule that begins at a rank: each waits until the one before was handled.

A collective can't end before that chain, whichever rank is the last to begin, so the shortest of these is certain.
"""

from __future__ import annotations

import numpy as np

from astra_ns3.collectives.schedule import Schedule

# Of a schedule whose ranks don't all do the same, each rank is tried.
_MOST_RANKS = 64
_NEVER = -(1 << 30)


def least_chain(schedule: Schedule) -> int:
    """Return how many messages follow each other at least, after the last rank has begun; 1 where nobody knows."""
    if not schedule.messages:
        return 0
    if schedule.rotation is not None:
        return _chain_from(schedule, 0)
    if schedule.ranks > _MOST_RANKS:
        return 1
    return min(_chain_from(schedule, rank) for rank in range(schedule.ranks))


def _chain_from(schedule: Schedule, rank: int) -> int:
    """Return the longest chain of messages behind one rank's begin, all others having begun long before."""
    steps, step_of, lanes = int(schedule.step.max()) + 1, schedule.step, schedule.lanes
    received = np.zeros((steps, schedule.ranks), dtype=np.int64)
    np.add.at(received, (step_of, schedule.receiver), 1)
    # How long the chain is when a rank has handled all of a step, behind as many rows as there are lanes: those before
    # the first steps. A lane's step before this one is as many rows above.
    handled = np.full((steps + lanes, schedule.ranks), _NEVER, dtype=np.int64)
    for step in range(steps):
        rows = np.flatnonzero(step_of == step)
        sender, waits = schedule.sender[rows], schedule.wait_step[rows]
        whole = schedule.wait_count[rows] >= received[waits.clip(0), sender]
        ready = np.where(waits >= 0, handled[waits.clip(0) + np.where(whole, lanes, 0), sender], _NEVER)
        ready = np.where(sender == rank, np.maximum(ready, 0), ready)
        now = handled[step].copy()
        np.maximum.at(now, schedule.receiver[rows], ready + 1)
        handled[step + lanes] = now
    return max(1, int(handled.max()))
