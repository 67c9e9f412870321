"""Bruck's algorithms: messages to ranks 1, 2, 4, ... away, as few steps as there can be, for any number of ranks.

The blocks of a message are no range, so ``Schedule.content`` says which they are, and ``first_block`` and
``block_count`` give its size only.
Source: Bruck, Ho, Kipnis, Upfal, Weathersby, "Efficient algorithms for all-to-all communications in multiport
message-passing systems"; the barrier: Hensgen, Finkel, Manber, "Two algorithms for barrier synchronization".
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from astra_ns3.collectives.columns import assemble, check_messages, column, signals
from astra_ns3.collectives.schedule import Content, Schedule


def bruck_all_to_all(ranks: int) -> Schedule:
    """Step k: what has to go 2^k or more (by its k-th bit) goes 2^k on; about half of the data in each message."""
    name = "bruck all_to_all"
    check_messages(name, ranks, ranks * _steps(ranks), blocks=ranks * sum(index.bit_count() for index in range(ranks)))
    distances = [np.flatnonzero(column(ranks) >> step & 1).astype(np.int32) for step in range(_steps(ranks))]
    carried = []
    for step, distance in enumerate(distances):
        source = (column(ranks)[:, None] - distance % (1 << step)) % ranks
        carried.append(source * ranks + (source + distance) % ranks)
    return _steps_away(name, ranks, carried, sign=1)


def bruck_all_gather(ranks: int) -> Schedule:
    """Step k: each rank sends what it holds, its own part and the next ones, to the rank 2^k places before it."""
    name = "bruck all_gather"
    check_messages(name, ranks, ranks * _steps(ranks), blocks=ranks * (ranks - 1))
    carried = [
        (column(ranks)[:, None] + column(min(1 << step, ranks - (1 << step)))) % ranks for step in range(_steps(ranks))
    ]
    return _steps_away(name, ranks, carried, sign=-1, expansion=ranks)


def bruck_barrier(ranks: int) -> Schedule:
    """Dissemination: at step k every rank tells the one 2^k places on."""
    rank, step = column(ranks)[:, None], column(_steps(ranks))[None, :]
    return signals(
        "bruck barrier",
        ranks,
        (ranks, _steps(ranks)),
        sender=rank,
        receiver=(rank + (1 << step)) % ranks,
        step=step,
        wait_step=step - 1,
        wait_count=(step > 0).astype(np.int32),
    )


def _steps(ranks: int) -> int:
    return (ranks - 1).bit_length()


def _steps_away(
    name: str, ranks: int, carried: list[npt.NDArray[np.int32]], *, sign: int, expansion: int = 1
) -> Schedule:
    """``carried[k]``, shape ``(ranks, blocks)``: what each rank sends at step k, ``sign * 2^k`` places on."""
    steps = len(carried)
    rank, step = column(ranks)[:, None], column(steps)[None, :]
    counts = np.broadcast_to(np.array([blocks.shape[1] for blocks in carried], dtype=np.int32), (ranks, steps))
    content = Content(
        offsets=np.concatenate([[0], np.cumsum(counts.reshape(-1), dtype=np.int64)]),
        blocks=np.concatenate(carried, axis=1).astype(np.int32).reshape(-1),
    )
    return assemble(
        name,
        ranks,
        ranks,
        (ranks, steps),
        sender=rank,
        receiver=(rank + sign * (1 << step)) % ranks,
        step=step,
        first_block=0,
        block_count=counts,
        wait_step=step - 1,
        wait_count=(step > 0).astype(np.int32),
        expansion=expansion,
        content=content,
    )
