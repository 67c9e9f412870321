"""Ring algorithms: every rank sends to the next one, one message after the other.

Each message waits for the one received before it, as in ASTRA-sim 1.0. Block b of n ends, fully reduced, at rank b.
A ring runs clockwise (rank i to i+1), anticlockwise, or both ways at once with half of the data each way. Then every
rank sends two messages a step and waits for the two of the step before.
Rows are written for rank 0 and turned for the others (:mod:`astra_ns3.collectives.rotation`).
Source of the all-reduce: Patarasuk and Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations".
"""

from __future__ import annotations

import numpy as np

from astra_ns3.collectives.columns import Int32Array, assemble, check_messages, column, rotated
from astra_ns3.collectives.schedule import Schedule

#: What is added to a rank to get the next one, for each way that messages go round.
CLOCKWISE, ANTICLOCKWISE, BOTH_WAYS = (1,), (-1,), (1, -1)
_NAMES = {CLOCKWISE: "ring", ANTICLOCKWISE: "ringAnticlockwise", BOTH_WAYS: "biRing"}


def ring_name(kind: str, ways: tuple[int, ...]) -> str:
    """Name of a schedule, as ``biRing all_reduce``."""
    return f"{_NAMES[ways]} {kind}"


def ring_all_reduce(ranks: int, ways: tuple[int, ...] = CLOCKWISE) -> Schedule:
    """Reduce-scatter, then all-gather: each rank sends 2(n-1)/n of the data."""
    return _ring("all_reduce", ranks, ways, steps=2 * (ranks - 1), first_offset=1, reducing=ranks - 1)


def ring_reduce_scatter(ranks: int, ways: tuple[int, ...] = CLOCKWISE) -> Schedule:
    """Each rank sends (n-1)/n of the data; rank b ends with part b."""
    return _ring("reduce_scatter", ranks, ways, steps=ranks - 1, first_offset=1, reducing=ranks - 1)


def ring_all_gather(ranks: int, ways: tuple[int, ...] = CLOCKWISE) -> Schedule:
    """Each rank sends the whole parts of n-1 ranks; rank b brings part b."""
    return _ring("all_gather", ranks, ways, steps=ranks - 1, first_offset=0, reducing=0, expansion=ranks)


def ring_all_to_all(ranks: int, ways: tuple[int, ...] = CLOCKWISE) -> Schedule:
    """Round r forwards what came from the rank r places back: n(n-1)/2 messages from each rank on a one-way ring.

    The whole is the data of all ranks, in ``s * n + d`` what goes from rank s to rank d. Both ways, each block takes
    the shorter way, and one to the rank opposite goes half this way and half that way: h(h+1)/2 messages each way from
    each rank, where h is n/2 rounded down.
    """
    name = ring_name("all_to_all", ways)
    farthest = ranks - 1 if len(ways) == 1 else ranks // 2
    hops = farthest * (farthest + 1) // 2
    check_messages(name, ranks, ranks * hops * len(ways), kept=hops * len(ways))
    lengths = np.arange(farthest, 0, -1)
    rounds = np.repeat(column(farthest), lengths)
    begins = np.cumsum(lengths) - lengths  # first hop of each round
    place = column(hops) - begins.astype(np.int32)[rounds]
    hop, way = column(hops)[:, None], _ways(ways)
    source = -way * rounds[:, None] % ranks
    destination = way * (1 + place[:, None]) % ranks
    halves = len(ways)
    opposite = (halves == 2) & (2 * (rounds + place + 1) == ranks)[:, None]
    first = assemble(
        name,
        ranks,
        halves * ranks * ranks,
        (hops, halves),
        sender=0,
        receiver=way % ranks,
        step=hop,
        first_block=halves * (source * ranks + destination) + np.where(opposite, column(halves), 0),
        block_count=np.where(opposite, 1, halves),
        wait_step=hop - 1,
        wait_count=halves * (hop > 0),
        expansion=ranks,
    )
    return rotated(first, digits=2)


def ring_barrier(ranks: int, ways: tuple[int, ...] = CLOCKWISE) -> Schedule:
    """Every rank passes on what it knows: n-1 steps one way, n/2 rounded down both ways."""
    name = ring_name("barrier", ways)
    steps = ranks - 1 if len(ways) == 1 else ranks // 2
    check_messages(name, ranks, ranks * steps * len(ways), kept=steps * len(ways))
    step, way = column(steps)[:, None], _ways(ways)
    # Of an even number of ranks, the one opposite need be heard of from one side only.
    needed = (way == ways[0]) | (step < (ranks - 1) // 2)
    first = assemble(
        name,
        ranks,
        1,
        (steps, len(ways)),
        sender=0,
        receiver=way % ranks,
        step=step,
        first_block=0,
        block_count=0,
        wait_step=step - 1,
        wait_count=len(ways) * (step > 0),
        keep=needed,
    )
    return rotated(first, digits=0)


def _ring(
    kind: str,
    ranks: int,
    ways: tuple[int, ...],
    *,
    steps: int,
    first_offset: int,
    reducing: int,
    expansion: int = 1,
) -> Schedule:
    """At each step rank i sends part ``i - first_offset - step`` (clockwise); the first ``reducing`` steps reduce."""
    name = ring_name(kind, ways)
    halves = len(ways)
    check_messages(name, ranks, ranks * steps * halves, kept=steps * halves)
    step, way = column(steps)[:, None], _ways(ways)
    first = assemble(
        name,
        ranks,
        halves * ranks,
        (steps, halves),
        sender=0,
        receiver=way % ranks,
        step=step,
        first_block=halves * (-way * (first_offset + step) % ranks) + column(halves),
        reduces=step < reducing,
        wait_step=step - 1,
        wait_count=halves * (step > 0),
        expansion=expansion,
    )
    return rotated(first, digits=1)


def _ways(ways: tuple[int, ...]) -> Int32Array:
    return np.array(ways, dtype=np.int32)
