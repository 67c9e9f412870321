"""Confirmations: a rank of a broadcast or a reduce that ends by sending is told when its last messages have come.

Without them the root of a broadcast would be done as soon as it has handed its data to the network. Operations that
depend on the broadcast would begin there while the data still travel. A rank ends by sending if it hears from nobody in
a later round than its last messages, where all messages take as long. Each receiver of these messages then sends a
signal back, a message of one byte without data, once it has handled all messages of that step.
NCCL's channels and switches that reduce confirm by the signals that they have anyway
(:mod:`astra_ns3.collectives.channel_tree`).
Source: a send of RDMA verbs completes when its receiver has acknowledged it (InfiniBand Architecture, 9.9.2).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from astra_ns3.collectives.columns import concatenate, signals
from astra_ns3.collectives.rounds import message_rounds
from astra_ns3.collectives.schedule import Schedule

_Rows = npt.NDArray[np.int64]


def confirmed(schedule: Schedule) -> Schedule:
    """Return the schedule, which has one lane, with the signals behind its own rows."""
    rows = _last_of_pairs(schedule, _unanswered(schedule))
    receiver, step = schedule.receiver[rows], schedule.step[rows]
    steps = int(schedule.step.max(initial=0)) + 1
    expected = np.zeros((schedule.ranks, steps), dtype=np.int32)
    np.add.at(expected, (schedule.receiver, schedule.step), 1)
    told = signals(
        schedule.name,
        schedule.ranks,
        rows.shape,
        sender=receiver,
        receiver=schedule.sender[rows],
        step=steps,
        wait_step=step,
        wait_count=expected[receiver, step],
    )
    return concatenate([schedule, told], schedule.name)


def _unanswered(schedule: Schedule) -> _Rows:
    """Return the rows whose sender hears from nobody in a later round."""
    rounds = message_rounds(schedule)
    last = np.full(schedule.ranks, -1, dtype=np.int32)
    np.maximum.at(last, schedule.receiver, rounds)
    return np.flatnonzero(rounds >= last[schedule.sender])


def _last_of_pairs(schedule: Schedule, rows: _Rows) -> _Rows:
    """Return of ``rows`` the one of each sender and receiver whose step is the last."""
    order = rows[np.lexsort((schedule.step[rows], schedule.receiver[rows], schedule.sender[rows]))]
    pair = schedule.sender[order].astype(np.int64) * schedule.ranks + schedule.receiver[order]
    is_last = np.ones(len(order), dtype=np.bool_)
    is_last[:-1] = np.diff(pair) != 0
    return order[is_last]
