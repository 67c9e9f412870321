"""An all-to-all as sends and receptions of pairs, of which a collective library plays some at a time.

Rank i sends to i+1, i+2, ..., or in another order of distances, in slices. Its peers are dealt out to ``at_once``
lanes. In a lane a rank sends on while fewer than ``slots`` of its slices are under way; as all ranks do the same, it
counts those that have come to it.
Source: send/recv of NCCL 2.30 (``enqueue.cc``): groups of peers at a time, slices of a step, 8 slots.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from astra_ns3.collectives.columns import Int32Array, assemble, check_messages, column, rotated
from astra_ns3.collectives.schedule import Schedule
from astra_ns3.frozen import dataclass, replace


@dataclass(frozen=True)
class ExchangeCut:
    """``at_once``: peers served at a time; ``slices`` of what goes to a peer; ``slots``: slices under way."""

    at_once: int
    slices: int
    slots: int


def channel_exchange(ranks: int, cut: ExchangeCut, distances: Sequence[int] = ()) -> Schedule:
    """The all-to-all of one channel; ``distances``: of the peers, 1, 2, 3, ... if absent.

    Raises InputError for what memory can't hold.
    """
    lanes, name = min(cut.at_once, ranks - 1), "channel all_to_all"
    check_messages(name, ranks, ranks * (ranks - 1) * cut.slices, kept=(ranks - 1) * cut.slices)
    peer, piece = column(ranks - 1)[:, None], column(cut.slices)
    lane, turn = peer % lanes, peer // lanes
    number = turn * cut.slices + piece
    away = np.array(distances, dtype=np.int32)[:, None] if distances else 1 + peer
    return rotated(_first(name, ranks, cut, lanes, away, lane, number, piece), digits=1)


def channel_shift(ranks: int, cut: ExchangeCut) -> Schedule:
    """A message from each rank to the next one; each brings what it sends, which is the whole."""
    name, piece, first_lane = "channel shift", column(cut.slices), column(1)[:, None]
    check_messages(name, ranks, ranks * cut.slices, kept=cut.slices)
    first = _first(name, ranks, cut, 1, first_lane + 1, first_lane, piece, piece)
    return rotated(replace(first, first_block=piece, blocks=cut.slices), digits=0)


def _first(
    name: str,
    ranks: int,
    cut: ExchangeCut,
    lanes: int,
    away: Int32Array,
    lane: Int32Array,
    number: Int32Array,
    piece: Int32Array,
) -> Schedule:
    """Rank 0's messages to some peers, so far away, a row for each slice."""
    return assemble(
        name,
        ranks,
        ranks * cut.slices,
        (len(away), cut.slices),
        sender=0,
        receiver=away,
        step=number * lanes + lane,
        first_block=away * cut.slices + piece,
        wait_step=np.where(number < cut.slots, -1, (number - cut.slots) * lanes + lane),
        wait_count=number >= cut.slots,
        lanes=lanes,
    )
