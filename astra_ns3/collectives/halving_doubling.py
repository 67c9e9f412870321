"""Recursive halving and doubling: the partner of each step is the rank with one bit flipped; powers of two only.

Offsets 1, 2, 4, ... with halving messages for the reduce-scatter and back with doubling ones for the all-gather, as
ASTRA-sim 1.0 does. So that every message is one range of blocks, rank i owns the block whose number is i with its bits
reversed (:func:`owned_blocks`).
Source: Thakur, Rabenseifner, Gropp, "Optimization of collective communication operations in MPICH".
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from astra_ns3.collectives.columns import assemble, column, signals
from astra_ns3.collectives.schedule import Schedule


def owned_blocks(ranks: int) -> npt.NDArray[np.int32]:
    """Block that each rank ends a reduce-scatter with and brings to an all-gather; shape ``(ranks,)``."""
    own = np.zeros(ranks, dtype=np.int32)
    for bit in range(ranks.bit_length() - 1):
        own = own * 2 + ((column(ranks) >> bit) & 1)
    return own


def halving_doubling_all_reduce(ranks: int) -> Schedule:
    """Reduce-scatter, then all-gather: 2 log2(n) messages from each rank."""
    levels = ranks.bit_length() - 1
    halving = list(range(levels))
    return _exchange("halvingDoubling all_reduce", ranks, halving + halving[::-1], gather_from=levels)


def halving_doubling_reduce_scatter(ranks: int) -> Schedule:
    """log2(n) messages from each rank, of 1/2, 1/4, ... of the data."""
    levels = ranks.bit_length() - 1
    return _exchange("halvingDoubling reduce_scatter", ranks, list(range(levels)), gather_from=levels)


def halving_doubling_all_gather(ranks: int) -> Schedule:
    """log2(n) messages from each rank, of 1, 2, 4, ... parts."""
    levels = ranks.bit_length() - 1
    order = list(range(levels))[::-1]
    return _exchange("halvingDoubling all_gather", ranks, order, gather_from=0, expansion=ranks)


def halving_doubling_barrier(ranks: int) -> Schedule:
    """At each step every rank tells its partner: log2(n) messages without data from each rank."""
    levels = ranks.bit_length() - 1
    rank, step = column(ranks)[:, None], column(levels)[None, :]
    return signals(
        "halvingDoubling barrier",
        ranks,
        (ranks, levels),
        sender=rank,
        receiver=rank ^ (1 << step),
        step=step,
        wait_step=step - 1,
        wait_count=(step > 0).astype(np.int32),
    )


def _exchange(name: str, ranks: int, levels: list[int], *, gather_from: int, expansion: int = 1) -> Schedule:
    """``levels`` is the bit flipped at each step; from step ``gather_from`` on ranks send what they hold."""
    rank, step = column(ranks)[:, None], column(len(levels))[None, :]
    bit = np.array(levels, dtype=np.int32)[None, :]
    partner = rank ^ (1 << bit)
    size = ranks >> (bit + 1)
    keeper = np.where(step < gather_from, partner, rank)  # a halving step sends the half that the partner keeps
    return assemble(
        name,
        ranks,
        ranks,
        (ranks, len(levels)),
        sender=rank,
        receiver=partner,
        step=step,
        first_block=owned_blocks(ranks)[keeper] // size * size,
        block_count=size,
        reduces=step < gather_from,
        wait_step=step - 1,
        wait_count=(step > 0).astype(np.int32),
        expansion=expansion,
    )
