"""Direct algorithms: every rank exchanges with every other one without intermediate stops.

Rank i's targets are i+1, i+2, ... With a window of w, w messages leave together and each one received releases one
more. In an all-reduce the second round starts when all n-1 of the first have been received (ASTRA-sim 1.0).
Rows are written for rank 0 and turned for the others (:mod:`astra_ns3.collectives.rotation`).
A broadcast, a reduce and a point-to-point message have no answers that could release more, and so no window.
"""

from __future__ import annotations

import numpy as np

from astra_ns3.collectives.columns import Int32Array, assemble, check_messages, column, rotated
from astra_ns3.collectives.schedule import Schedule


def direct_all_reduce(ranks: int, window: int | None = None) -> Schedule:
    """A round that reduces block b at rank b, then a round that spreads it: 2(n-1) messages of 1/n from each rank."""
    name = _name("all_reduce", window)
    check_messages(name, ranks, 2 * ranks * (ranks - 1), kept=2 * (ranks - 1))
    second, place = column(2)[:, None], column(ranks - 1)[None, :]
    target = 1 + place
    width = ranks - 1 if window is None else window
    opening, released = place < width, place - width + 1
    first = assemble(
        name,
        ranks,
        ranks,
        (2, ranks - 1),
        sender=0,
        receiver=target,
        step=second,
        first_block=np.where(second == 0, target, 0),
        reduces=second == 0,
        wait_step=np.where(opening, second - 1, second),
        wait_count=np.where(opening, second * (ranks - 1), released),
    )
    return rotated(first, digits=1)


def direct_reduce_scatter(ranks: int, window: int | None = None) -> Schedule:
    """n-1 messages of 1/n of the data from each rank; rank b ends with block b."""
    return _one_round(_name("reduce_scatter", window), ranks, window, own_block=False, reduces=True)


def direct_all_gather(ranks: int, window: int | None = None) -> Schedule:
    """n-1 messages from each rank, each its whole part; rank b brings block b."""
    return _one_round(_name("all_gather", window), ranks, window, own_block=True, expansion=ranks)


def direct_all_to_all(ranks: int, window: int | None = None) -> Schedule:
    """n-1 messages of 1/n of the data from each rank; block d of a sender's own data goes to rank d."""
    return _one_round(_name("all_to_all", window), ranks, window, own_block=False)


def direct_broadcast(ranks: int) -> Schedule:
    """Rank 0 sends all its data to each other rank."""
    return _star("broadcast", ranks, sender=0, receiver=column(ranks - 1) + 1)


def direct_reduce(ranks: int) -> Schedule:
    """Each other rank sends all its data to rank 0, which adds them up."""
    return _star("reduce", ranks, sender=column(ranks - 1) + 1, receiver=0, reduces=True)


def direct_point_to_point(ranks: int) -> Schedule:
    """One message from rank 0 to rank n-1."""
    return _star("point_to_point", ranks, sender=0, receiver=column(ranks - 1)[-1:] + 1)


def direct_barrier(ranks: int, window: int | None = None) -> Schedule:
    """Every rank tells every other one."""
    return _one_round(_name("barrier", window), ranks, window, own_block=True, carries=False)


def _star(
    kind: str, ranks: int, *, sender: Int32Array | int, receiver: Int32Array | int, reduces: bool = False
) -> Schedule:
    name = _name(kind, None)
    return assemble(
        name,
        ranks,
        1,
        np.broadcast_shapes(np.shape(sender), np.shape(receiver)),
        sender=sender,
        receiver=receiver,
        step=0,
        first_block=0,
        reduces=reduces,
        wait_step=-1,
        wait_count=0,
    )


def _one_round(
    name: str,
    ranks: int,
    window: int | None,
    *,
    own_block: bool,
    carries: bool = True,
    reduces: bool = False,
    expansion: int = 1,
) -> Schedule:
    """Every rank sends each other one a block, or tells it something where the messages carry none."""
    check_messages(name, ranks, ranks * (ranks - 1), kept=ranks - 1)
    place = column(ranks - 1)
    width = ranks - 1 if window is None else window
    first = assemble(
        name,
        ranks,
        ranks if carries else 1,
        (ranks - 1,),
        sender=0,
        receiver=1 + place,
        step=0,
        first_block=0 if own_block else 1 + place,
        block_count=int(carries),
        reduces=reduces,
        wait_step=np.where(place < width, -1, 0),
        wait_count=np.maximum(place - width + 1, 0),
        expansion=expansion,
    )
    return rotated(first, digits=int(carries))


def _name(kind: str, window: int | None) -> str:
    return f"direct{'' if window is None else window} {kind}"
