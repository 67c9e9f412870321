"""A ring as a channel of a collective library plays it: loops of chunks, cut in slices, through slots of a buffer.

The data are cut in a part for each rank, each part in ``loops`` chunks and each chunk in ``slices``. In a loop a chunk
of every part goes round once (twice in an all-reduce). A rank sends a slice on once it has handled it. With ``slots``
given, the next rank has so many places: a slice is sent once the receiver has told, by a signal, that it has handled
the slice ``slots`` before. A rank begins a loop when it has ended the loop before.
Source: the ring kernels and ``device.h`` of NCCL 2.30 (2 slices a chunk and 4 places with the Simple protocol).
"""

from __future__ import annotations

import numpy as np

from astra_ns3.collectives.columns import Int32Array, assemble, check_messages, column, concatenate, rotated
from astra_ns3.collectives.schedule import Schedule
from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.errors import refuse
from astra_ns3.frozen import dataclass

KINDS = (CollectiveKind.ALL_REDUCE, CollectiveKind.REDUCE_SCATTER, CollectiveKind.ALL_GATHER)


@dataclass(frozen=True)
class ChannelCut:
    """How a channel's data are cut. ``slots``: slices that a receiver has place for; None: as many as come."""

    loops: int = 1
    slices: int = 1
    slots: int | None = None


def channel_ring(kind: CollectiveKind, ranks: int, cut: ChannelCut) -> Schedule:
    """The schedule of a ring's channel; raises InputError for what memory can't hold."""
    refuse(
        cut.slots is not None and cut.slots <= cut.slices,
        f"a ring of channels needs more slots than slices a chunk, got {cut.slots} slots and {cut.slices} slices",
    )
    times_round = 2 if kind is CollectiveKind.ALL_REDUCE else 1
    steps = times_round * (ranks - 1)
    name = f"channel ring {kind.name.lower()}"
    slices = cut.loops * steps * cut.slices
    check_messages(name, ranks, 2 * ranks * slices, kept=2 * slices)
    data = _data(name, kind, ranks, cut, steps)
    parts = [data] if cut.slots is None else [data, _signals(data, cut.slots, cut.slices)]
    return rotated(concatenate(parts, name) if len(parts) > 1 else data, digits=1)


def _data(name: str, kind: CollectiveKind, ranks: int, cut: ChannelCut, steps: int) -> Schedule:
    """Rank 0's slices. The k-th slice that a rank sends, and the k-th that it receives, have step 2k + 1."""
    loop, step, piece = column(cut.loops)[:, None, None], column(steps)[:, None], column(cut.slices)
    number = (loop * steps + step) * cut.slices + piece
    first_offset = 0 if kind is CollectiveKind.ALL_GATHER else 1
    part = -(first_offset + step) % ranks
    width = cut.loops * cut.slices
    reducing = 0 if kind is CollectiveKind.ALL_GATHER else ranks - 1
    return assemble(
        name,
        ranks,
        ranks * width,
        (cut.loops, steps, cut.slices),
        sender=0,
        receiver=1 % ranks,
        step=2 * number + 1,
        first_block=part * width + loop * cut.slices + piece,
        reduces=step < reducing,
        wait_step=np.where(number < cut.slices, -1, 2 * (number - cut.slices) + 1),
        wait_count=number >= cut.slices,
        expansion=ranks if kind is CollectiveKind.ALL_GATHER else 1,
    )


def _signals(data: Schedule, slots: int, slices: int) -> Schedule:
    """Rank 0's signals to the rank before it: a place is free.

    The signal after the k-th slice lets slice k + slots go. It comes before the reception that brings that slice.
    """
    freed = column(max(data.messages - slots, 0))
    step: Int32Array = 2 * (freed + slots - slices)
    return assemble(
        data.name,
        data.ranks,
        data.blocks,
        (len(freed),),
        sender=0,
        receiver=data.ranks - 1,
        step=step,
        first_block=0,
        block_count=0,
        wait_step=2 * freed + 1,
        wait_count=1,
        expansion=data.expansion,
    )
