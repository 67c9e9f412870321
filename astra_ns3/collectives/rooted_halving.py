"""Broadcast and reduce from and to rank 0 by halving and doubling; powers of two only.

Broadcast: rank 0 scatters the data along a binomial tree, half to the first partner, a quarter to the second, ...,
then all gather them by doubling. No rank is sent again what it has handed on, so the messages of the gathering are
those whose receiver lacks them. Reduce: a reduce-scatter by halving, then a gathering along the tree to rank 0. Both
take 2 log2(n) steps.
Source: van de Geijn, "On global combine operations"; Thakur, Rabenseifner, Gropp, as for halving_doubling.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from astra_ns3.collectives.columns import assemble, column, concatenate
from astra_ns3.collectives.halving_doubling import halving_doubling_reduce_scatter, owned_blocks
from astra_ns3.collectives.schedule import Schedule


def halving_doubling_broadcast(ranks: int) -> Schedule:
    """Every rank but 0 receives each block once."""
    return concatenate([_scatter(ranks), _gather_to_all(ranks)], "halvingDoubling broadcast")


def halving_doubling_reduce(ranks: int) -> Schedule:
    """log2(n) messages of 1/2, 1/4, ... from each rank, then one message from each rank but 0."""
    return concatenate([halving_doubling_reduce_scatter(ranks), gather_to_root(ranks)], "halvingDoubling reduce")


def gather_to_root(ranks: int) -> Schedule:
    """The second half of a reduce: all blocks go to rank 0, along the binomial tree of a broadcast.

    Each rank sends once, when its highest set bit's turn comes, to the rank without that bit; highest bits go first.
    """
    levels = ranks.bit_length() - 1
    rank = column(ranks)[1:]
    bit = _highest_bit(rank)
    size = ranks >> (bit + 1)
    # A rank hears from those with one higher bit set, the highest first, and from none if it has the top bit.
    hears = bit < levels - 1
    return assemble(
        "gather",
        ranks,
        ranks,
        (ranks - 1,),
        sender=rank,
        receiver=rank ^ (1 << bit),
        step=2 * levels - 1 - bit,
        first_block=owned_blocks(ranks)[rank] // size * size,
        block_count=size,
        wait_step=np.where(hears, 2 * levels - 2 - bit, levels - 1),
        wait_count=1,
    )


def _scatter(ranks: int) -> Schedule:
    """Rank i, reached when its highest set bit's turn comes, sends on to those with one higher bit set."""
    levels = ranks.bit_length() - 1
    rank, bit = column(ranks)[:, None], column(levels)[None, :]
    size = ranks >> (bit + 1)
    partner = rank | (1 << bit)
    reached = _highest_bit(rank)  # -1 at the root
    return assemble(
        "scatter",
        ranks,
        ranks,
        (ranks, levels),
        sender=rank,
        receiver=partner,
        step=bit,
        first_block=owned_blocks(ranks)[partner % ranks] // size * size,
        block_count=size,
        wait_step=reached,
        wait_count=(rank > 0).astype(np.int32),
        keep=bit > reached,
    )


def _gather_to_all(ranks: int) -> Schedule:
    levels = ranks.bit_length() - 1
    rank, place = column(ranks)[:, None], column(levels)[None, :]
    bit = levels - 1 - place
    size = ranks >> (bit + 1)
    partner = rank ^ (1 << bit)
    reached = _highest_bit(rank)
    from_scatter = bit >= reached
    return assemble(
        "gather",
        ranks,
        ranks,
        (ranks, levels),
        sender=rank,
        receiver=partner,
        step=levels + place,
        first_block=owned_blocks(ranks)[rank] // size * size,
        block_count=size,
        wait_step=np.where(from_scatter, reached, levels + place - 1),
        wait_count=((rank > 0) | ~from_scatter).astype(np.int32),
        keep=bit <= _highest_bit(partner),
    )


def _highest_bit(values: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
    """Number of the highest set bit, -1 for 0."""
    return (np.frexp(values.astype(np.float64))[1] - 1).astype(np.int32)
