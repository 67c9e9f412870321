"""Broadcast, reduce and point-to-point along a ring: the data go from neighbour to neighbour, block after block.

The root is rank 0. The data are cut in n blocks, so that a rank passes one on while the next one comes in. Both ways
round, each half of the ring has a chain of its own that carries all the data.
"""

from __future__ import annotations

import numpy as np

from astra_ns3.collectives.columns import assemble, check_messages, column
from astra_ns3.collectives.ring import BOTH_WAYS, CLOCKWISE, ring_name
from astra_ns3.collectives.schedule import Schedule


def ring_broadcast(ranks: int, ways: tuple[int, ...] = CLOCKWISE) -> Schedule:
    """n(n-1) messages of 1/n of the data in total, from rank 0 outwards."""
    return _chains(ring_name("broadcast", ways), ranks, _paths_from_root(ranks, ways), blocks=ranks)


def ring_reduce(ranks: int, ways: tuple[int, ...] = CLOCKWISE) -> Schedule:
    """n(n-1) messages of 1/n of the data in total; every rank adds its own, rank 0 ends with the sum."""
    # The way back of a path that a message takes clockwise is anticlockwise.
    back = ways if ways == BOTH_WAYS else (-ways[0],)
    paths = [path[::-1] for path in _paths_from_root(ranks, back)]
    return _chains(ring_name("reduce", ways), ranks, paths, blocks=ranks, reduces=True)


def ring_point_to_point(ranks: int, ways: tuple[int, ...] = CLOCKWISE) -> Schedule:
    """From rank 0 to rank n-1 by way of those between, whole; anticlockwise they are neighbours."""
    path = list(range(ranks)) if ways == CLOCKWISE else [0, ranks - 1]
    return _chains(ring_name("point_to_point", ways), ranks, [path], blocks=1)


def _paths_from_root(ranks: int, ways: tuple[int, ...]) -> list[list[int]]:
    if ways == BOTH_WAYS:
        middle = ranks // 2
        return [list(range(middle + 1)), [0, *range(ranks - 1, middle, -1)]]
    return [[ways[0] * index % ranks for index in range(ranks)]]


def _chains(name: str, ranks: int, paths: list[list[int]], *, blocks: int, reduces: bool = False) -> Schedule:
    """Every block goes along each path; a rank sends block k on once it has handled the message of step k."""
    hops = [(path[place], path[place + 1], place) for path in paths for place in range(len(path) - 1)]
    check_messages(name, ranks, blocks * len(hops))
    sender, receiver, place = np.array(hops, dtype=np.int32).T
    block = column(blocks)[:, None]
    return assemble(
        name,
        ranks,
        blocks,
        (blocks, len(hops)),
        sender=sender,
        receiver=receiver,
        step=block,
        first_block=block,
        reduces=reduces,
        wait_step=np.where(place == 0, -1, block),
        wait_count=(place > 0).astype(np.int32),
    )
