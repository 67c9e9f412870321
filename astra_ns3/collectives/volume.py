"""The work of one rank in a schedule: bytes it sends, steps in which it receives, time of its reductions."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

import numpy as np

from astra_ns3.collectives.schedule import Schedule


class RankCosts(NamedTuple):
    """One run of a schedule on one rank. ``reduction_ns`` adds up the slowest reduction of each step."""

    sent_bytes: int
    receive_steps: int
    reduction_ns: int


def rank_costs(schedule: Schedule, rank: int, bytes: int, reduction_bytes_per_ns: int) -> RankCosts:
    """Costs of ``rank`` when each rank brings ``bytes``; a reduction is two reads and one write of a message."""
    received = schedule.received_by(rank)
    sizes = _row_bytes(received, bytes)
    slowest: dict[int, int] = {}
    for step, size, reduces in zip(received.step.tolist(), sizes, received.reduces.tolist(), strict=True):
        slowest[step] = max(slowest.get(step, 0), 3 * (size // reduction_bytes_per_ns) if reduces else 0)
    return RankCosts(sum(_row_bytes(schedule.sent_by(rank), bytes)), len(slowest), sum(slowest.values()))


def sent_shares(schedule: Schedule) -> tuple[Fraction, Fraction]:
    """The least and the most that a rank sends, as multiples of what each rank brings."""
    sent = np.zeros(schedule.ranks, dtype=np.int64)
    np.add.at(sent, schedule.sender, schedule.block_count)
    scale = Fraction(schedule.expansion, schedule.blocks)
    return int(sent.min()) * scale, int(sent.max()) * scale


def _row_bytes(schedule: Schedule, bytes: int) -> list[int]:
    """Sizes of few messages; Python integers, since block number times bytes may exceed 64 bits."""
    whole, blocks = bytes * schedule.expansion, schedule.blocks
    firsts, counts = schedule.first_block.tolist(), schedule.block_count.tolist()
    return [
        max((first + count) * whole // blocks - first * whole // blocks, 1)
        for first, count in zip(firsts, counts, strict=True)
    ]
