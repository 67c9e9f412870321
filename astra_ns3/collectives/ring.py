"""Ring algorithms: every rank sends to the next one, one message after the other.

Each message waits for the one received before it, as in ASTRA-sim 1.0. Block b of n ends, fully reduced, at rank b.
Source of the all-reduce: Patarasuk and Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations".
"""

from __future__ import annotations

import numpy as np

from astra_ns3.collectives.columns import MAX_MESSAGES, assemble, column, empty
from astra_ns3.collectives.schedule import Schedule
from astra_ns3.errors import InputError


def ring_all_reduce(ranks: int) -> Schedule:
    """Reduce-scatter, then all-gather: 2(n-1) messages of 1/n of the data from each rank."""
    return _ring("ring all_reduce", ranks, steps=2 * (ranks - 1), first_offset=1, reducing=ranks - 1)


def ring_reduce_scatter(ranks: int) -> Schedule:
    """n-1 messages of 1/n of the data from each rank; rank b ends with block b."""
    return _ring("ring reduce_scatter", ranks, steps=ranks - 1, first_offset=1, reducing=ranks - 1)


def ring_all_gather(ranks: int) -> Schedule:
    """n-1 messages, each one rank's whole part; rank b brings block b."""
    return _ring("ring all_gather", ranks, steps=ranks - 1, first_offset=0, reducing=0, expansion=ranks)


def ring_all_to_all(ranks: int) -> Schedule:
    """n(n-1)/2 messages from each rank: round r forwards what came from the rank r-1 places back.

    The whole is the data of all ranks; block ``s * n + d`` goes from rank s to rank d, hop by hop.
    """
    hops = ranks * (ranks - 1) // 2
    if ranks == 1:
        return empty("ring all_to_all")
    if ranks * hops > MAX_MESSAGES:
        raise InputError(
            f"ring all_to_all on {ranks} ranks needs {ranks * hops} messages, more than {MAX_MESSAGES}; use 'direct'"
        )
    lengths = np.arange(ranks - 1, 0, -1)
    rounds = np.repeat(column(ranks - 1), lengths)
    begins = np.cumsum(lengths) - lengths  # first hop of each round
    place = column(hops) - begins.astype(np.int32)[rounds]
    rank, hop = column(ranks)[:, None], column(hops)[None, :]
    source = (rank - rounds[None, :]) % ranks
    destination = (rank + 1 + place[None, :]) % ranks
    return assemble(
        "ring all_to_all",
        ranks,
        ranks * ranks,
        (ranks, hops),
        sender=rank,
        receiver=(rank + 1) % ranks,
        step=hop,
        first_block=source * ranks + destination,
        wait_step=hop - 1,
        wait_count=(hop > 0).astype(np.int32),
        expansion=ranks,
    )


def _ring(name: str, ranks: int, *, steps: int, first_offset: int, reducing: int, expansion: int = 1) -> Schedule:
    """Rank i sends block ``i - first_offset - step`` at each step; the first ``reducing`` steps reduce."""
    if ranks == 1:
        return empty(name)
    rank, step = column(ranks)[:, None], column(steps)[None, :]
    return assemble(
        name,
        ranks,
        ranks,
        (ranks, steps),
        sender=rank,
        receiver=(rank + 1) % ranks,
        step=step,
        first_block=(rank - first_offset - step) % ranks,
        reduces=step < reducing,
        wait_step=step - 1,
        wait_count=(step > 0).astype(np.int32),
        expansion=expansion,
    )
