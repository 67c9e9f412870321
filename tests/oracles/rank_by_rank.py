"""Rows of ring and direct schedules, written down rank by rank from the words of their algorithms, in plain loops.

A row: sender, receiver, step, first block, blocks, whether it reduces, step waited for, receptions of it waited for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from astra_ns3.config.core.collective_kind import CollectiveKind

Row = tuple[int, int, int, int, int, bool, int, int]
CLOCKWISE, ANTICLOCKWISE = 1, -1
RINGS: Mapping[str, Sequence[int]] = {
    "ring": (CLOCKWISE,),
    "ringAnticlockwise": (ANTICLOCKWISE,),
    "biRing": (CLOCKWISE, ANTICLOCKWISE),
}


def ring(kind: CollectiveKind, ranks: int, ways: Sequence[int]) -> list[Row]:
    """A ring in one way, or in two with half of each block."""
    if kind is CollectiveKind.ALL_TO_ALL:
        return _ring_all_to_all(ranks, ways)
    if kind is CollectiveKind.BARRIER:
        return _ring_barrier(ranks, ways)
    steps = 2 * (ranks - 1) if kind is CollectiveKind.ALL_REDUCE else ranks - 1
    # In an all-gather a rank begins with its own block, else with that which ends at the rank before it.
    begin = 0 if kind is CollectiveKind.ALL_GATHER else 1
    rows = []
    for rank in range(ranks):
        for step in range(steps):
            for half, way in enumerate(ways):
                block = (rank - way * (begin + step)) % ranks
                reduces = kind is not CollectiveKind.ALL_GATHER and step < ranks - 1
                first = len(ways) * block + half
                rows.append(_after_step(rank, (rank + way) % ranks, step, first, 1, reduces, len(ways)))
    return rows


def _ring_all_to_all(ranks: int, ways: Sequence[int]) -> list[Row]:
    halves = len(ways)
    rows = []
    for rank in range(ranks):
        step = 0
        farthest = ranks - 1 if halves == 1 else ranks // 2
        for passed in range(farthest):  # since its source, over so many ranks
            for more in range(1, farthest - passed + 1):  # to its destination from here
                for half, way in enumerate(ways):
                    source, destination = (rank - way * passed) % ranks, (rank + way * more) % ranks
                    opposite = halves == 2 and 2 * (passed + more) == ranks
                    first = halves * (source * ranks + destination) + (half if opposite else 0)
                    blocks = 1 if opposite else halves
                    rows.append(_after_step(rank, (rank + way) % ranks, step, first, blocks, False, halves))
                step += 1
    return rows


def _ring_barrier(ranks: int, ways: Sequence[int]) -> list[Row]:
    rows = []
    for rank in range(ranks):
        for step in range(ranks - 1 if len(ways) == 1 else ranks // 2):
            for half, way in enumerate(ways):
                if half == 0 or step < (ranks - 1) // 2:
                    rows.append(_after_step(rank, (rank + way) % ranks, step, 0, 0, False, len(ways)))
    return rows


def _after_step(rank: int, receiver: int, step: int, first: int, blocks: int, reduces: bool, ways: int) -> Row:
    return rank, receiver, step, first, blocks, reduces, step - 1, ways if step else 0


def direct(kind: CollectiveKind, ranks: int, window: int | None) -> list[Row]:
    """Everybody to everybody, at first as many as the window is wide."""
    width = ranks - 1 if window is None else window
    rows = []
    for rank in range(ranks):
        for second in range(2 if kind is CollectiveKind.ALL_REDUCE else 1):
            for place in range(ranks - 1):
                receiver = (rank + 1 + place) % ranks
                spreads = second == 1 or kind is CollectiveKind.ALL_GATHER
                block = 0 if kind is CollectiveKind.BARRIER else rank if spreads else receiver
                reduces = second == 0 and kind in (CollectiveKind.ALL_REDUCE, CollectiveKind.REDUCE_SCATTER)
                blocks = 0 if kind is CollectiveKind.BARRIER else 1
                begin = (0, ranks - 1) if second else (-1, 0)
                wait = begin if place < width else (second, place - width + 1)
                rows.append((rank, receiver, second, block, blocks, reduces, *wait))
    return rows


TURNED: Mapping[str, Callable[[CollectiveKind, int], list[Row]]] = {
    **{name: lambda kind, ranks, ways=ways: ring(kind, ranks, ways) for name, ways in RINGS.items()},  # type: ignore[misc]
    "direct": lambda kind, ranks: direct(kind, ranks, None),
    "direct1": lambda kind, ranks: direct(kind, ranks, 1),
    "direct2": lambda kind, ranks: direct(kind, ranks, 2),
}
KINDS = (
    CollectiveKind.ALL_REDUCE,
    CollectiveKind.REDUCE_SCATTER,
    CollectiveKind.ALL_GATHER,
    CollectiveKind.ALL_TO_ALL,
    CollectiveKind.BARRIER,
)
"""What these algorithms do with all ranks alike."""
