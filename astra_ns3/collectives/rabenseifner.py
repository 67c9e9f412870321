"""Rabenseifner's all-reduce and reduce, for any number of ranks.

With p the largest power of two up to n, the first 2(n-p) ranks fold in pairs. The two exchange halves of their data,
each reduces one half, and the odd rank hands its half to the even one, which goes on for both. The p ranks left halve
and double (vector halving, distance doubling); at the end of an all-reduce each odd rank gets the result back whole.
For powers of two nothing is folded. Unlike in halvingDoubling, every message that is combined costs a reduction delay.
Source: Rabenseifner, "Optimization of collective reduction operations", ICCS 2004.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from astra_ns3.collectives.columns import assemble, column, concatenate
from astra_ns3.collectives.halving_doubling import owned_blocks
from astra_ns3.collectives.rooted_halving import gather_to_root
from astra_ns3.collectives.schedule import Schedule

#: Steps of the fold; those of the halving begin after them.
_EXCHANGE, _HAND_OVER, _FOLD_STEPS = 0, 1, 2


def rabenseifner_all_reduce(ranks: int) -> Schedule:
    """2 log2(p) messages from each of the p ranks that take part, as much as 2(p-1)/p of the data."""
    core = _core(ranks)
    steps = 2 * (len(core).bit_length() - 1)
    parts = [*_fold(ranks), _halving(ranks, core, steps), _give_back(ranks, _FOLD_STEPS + steps)]
    return concatenate(parts, "rabenseifner all_reduce")


def rabenseifner_reduce(ranks: int) -> Schedule:
    """The first half of the all-reduce, then a gathering along a binomial tree to rank 0."""
    name = "rabenseifner reduce"
    core = _core(ranks)
    levels = len(core).bit_length() - 1
    halving, gathering = _halving(ranks, core, levels), gather_to_root(len(core))
    gathered = assemble(
        name,
        ranks,
        len(core),
        (gathering.messages,),
        sender=core[gathering.sender],
        receiver=core[gathering.receiver],
        step=gathering.step + _FOLD_STEPS,
        first_block=gathering.first_block,
        block_count=gathering.block_count,
        wait_step=gathering.wait_step + _FOLD_STEPS,
        wait_count=gathering.wait_count,
    )
    return concatenate([*_fold(ranks), halving, gathered], name)


def _core(ranks: int) -> npt.NDArray[np.int32]:
    """The ranks that halve and double, in their order there; their number is a power of two."""
    size = 1 << (ranks.bit_length() - 1)
    pairs = ranks - size
    return np.concatenate([2 * column(pairs), column(ranks)[2 * pairs :]])


def _fold(ranks: int) -> list[Schedule]:
    size = 1 << (ranks.bit_length() - 1)
    half = size // 2
    even = 2 * column(ranks - size)
    pair = np.stack([even, even + 1], axis=1)
    exchange = assemble(
        "exchange",
        ranks,
        size,
        pair.shape,
        sender=pair,
        receiver=pair[:, ::-1],
        step=_EXCHANGE,
        first_block=np.array([half, 0]),  # the even rank keeps the first half
        block_count=half,
        reduces=True,
        wait_step=-1,
        wait_count=0,
    )
    hand_over = assemble(
        "hand over",
        ranks,
        size,
        even.shape,
        sender=even + 1,
        receiver=even,
        step=_HAND_OVER,
        first_block=half,
        block_count=half,
        wait_step=_EXCHANGE,
        wait_count=1,
    )
    return [exchange, hand_over]


def _halving(ranks: int, core: npt.NDArray[np.int32], steps: int) -> Schedule:
    """The reduce-scatter, and as much of the all-gather as ``steps`` has room for."""
    size, levels = len(core), len(core).bit_length() - 1
    rank, step = column(size)[:, None], column(steps)[None, :]
    bit = np.where(step < levels, step, 2 * levels - 1 - step)
    partner = rank ^ (1 << bit)
    part = size >> (bit + 1)
    keeper = np.where(step < levels, partner, rank)
    folded = (rank < ranks - size) & (step == 0)
    return assemble(
        "halving",
        ranks,
        size,
        (size, steps),
        sender=core[rank],
        receiver=core[partner],
        step=_FOLD_STEPS + step,
        first_block=owned_blocks(size)[keeper] // part * part,
        block_count=part,
        reduces=step < levels,
        wait_step=np.where(folded, _HAND_OVER, np.where(step == 0, -1, _FOLD_STEPS + step - 1)),
        wait_count=(folded | (step > 0)).astype(np.int32),
    )


def _give_back(ranks: int, step: int) -> Schedule:
    size = 1 << (ranks.bit_length() - 1)
    even = 2 * column(ranks - size)
    return assemble(
        "give back",
        ranks,
        size,
        even.shape,
        sender=even,
        receiver=even + 1,
        step=step,
        first_block=0,
        block_count=size,
        wait_step=step - 1,
        wait_count=1,
    )
