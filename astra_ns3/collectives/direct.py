"""Direct algorithms: every rank exchanges with every other one without intermediate stops.

Rank i's targets are i+1, i+2, ... With a window of w, w messages leave together and each one received releases one
more; in an all-reduce the second round starts when all n-1 of the first have been received (ASTRA-sim 1.0).
"""

from __future__ import annotations

import numpy as np

from astra_ns3.collectives.columns import assemble, column, empty
from astra_ns3.collectives.schedule import Schedule


def direct_all_reduce(ranks: int, window: int | None = None) -> Schedule:
    """A round that reduces block b at rank b, then a round that spreads it: 2(n-1) messages of 1/n from each rank."""
    name = _name("all_reduce", window)
    if ranks == 1:
        return empty(name)
    rank, second, place = column(ranks)[:, None, None], column(2)[None, :, None], column(ranks - 1)[None, None, :]
    target = (rank + 1 + place) % ranks
    width = _width(ranks, window)
    opening, released = place < width, place - width + 1
    return assemble(
        name,
        ranks,
        ranks,
        (ranks, 2, ranks - 1),
        sender=rank,
        receiver=target,
        step=second,
        first_block=np.where(second == 0, target, rank),
        reduces=second == 0,
        wait_step=np.where(opening, second - 1, second),
        wait_count=np.where(opening, second * (ranks - 1), released),
    )


def direct_reduce_scatter(ranks: int, window: int | None = None) -> Schedule:
    """n-1 messages of 1/n of the data from each rank; rank b ends with block b."""
    return _one_round(_name("reduce_scatter", window), ranks, window, own_block=False, reduces=True)


def direct_all_gather(ranks: int, window: int | None = None) -> Schedule:
    """n-1 messages from each rank, each its whole part; rank b brings block b."""
    return _one_round(_name("all_gather", window), ranks, window, own_block=True, expansion=ranks)


def direct_all_to_all(ranks: int, window: int | None = None) -> Schedule:
    """n-1 messages of 1/n of the data from each rank; block d of a sender's own data goes to rank d."""
    return _one_round(_name("all_to_all", window), ranks, window, own_block=False)


def _one_round(
    name: str, ranks: int, window: int | None, *, own_block: bool, reduces: bool = False, expansion: int = 1
) -> Schedule:
    if ranks == 1:
        return empty(name)
    rank, place = column(ranks)[:, None], column(ranks - 1)[None, :]
    target = (rank + 1 + place) % ranks
    width = _width(ranks, window)
    return assemble(
        name,
        ranks,
        ranks,
        (ranks, ranks - 1),
        sender=rank,
        receiver=target,
        step=0,
        first_block=rank if own_block else target,
        reduces=reduces,
        wait_step=np.where(place < width, -1, 0),
        wait_count=np.maximum(place - width + 1, 0),
        expansion=expansion,
    )


def _width(ranks: int, window: int | None) -> int:
    return ranks - 1 if window is None else min(window, ranks - 1)


def _name(kind: str, window: int | None) -> str:
    return f"direct{'' if window is None else window} {kind}"
