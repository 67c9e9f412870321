"""All-to-all of uneven parts (all-to-all-v): every rank sends each other one as much as a table says, directly.

A table of parts has a row for each sender: what it has for rank 0, 1, ..., in blocks. Rank i's targets are i+1, i+2,
..., all at once; what it has for itself stays, and where it has nothing no message goes. Blocks are numbered through a
sender's own data, by receiver; the schedule has as many as the rank that has most.
"""

from __future__ import annotations

from itertools import accumulate
from weakref import WeakValueDictionary

import numpy as np

from astra_ns3.collectives.columns import assemble, check_messages, column
from astra_ns3.collectives.schedule import Schedule
from astra_ns3.errors import refuse, wrong

Parts = tuple[tuple[int, ...], ...]
MOST_BLOCKS = 2**31 - 1
"""Blocks are numbered in 32 bits."""

# Equal tables are one schedule, which the network has once, as long as somebody holds it: a training may have hundreds.
_SHARED: WeakValueDictionary[Parts, Schedule] = WeakValueDictionary()


def check_parts(parts: Parts, ranks: int) -> None:
    """Raise InputError unless there is a part, none below 0, for each rank from each."""
    if len(parts) != ranks or any(len(row) != ranks for row in parts):
        widths = sorted({len(row) for row in parts})
        found = f"{len(parts)} rows of {', '.join(map(str, widths)) or 'no'} numbers"
        raise wrong(f"all_to_all with counts: found {found}, expected {ranks} of {ranks}, one for each NPU of it")
    for sender, row in enumerate(parts):
        if min(row) < 0:
            receiver = row.index(min(row))
            raise wrong(
                f"all_to_all with counts: place {sender} has {row[receiver]} for place {receiver}, expected at least 0"
            )


def are_sent(parts: Parts) -> bool:
    """Whether any rank has something for another one."""
    return any(size and sender != receiver for sender, row in enumerate(parts) for receiver, size in enumerate(row))


def uneven_all_to_all(parts: Parts) -> Schedule:
    """A message for each pair with a part; the same object for equal parts. Raises InputError."""
    schedule = _SHARED.get(parts)
    if schedule is None:
        schedule = _SHARED[parts] = _build(parts)
    return schedule


def _build(parts: Parts) -> Schedule:
    ranks = len(parts)
    check_parts(parts, ranks)
    blocks = max(1, *(sum(row) for row in parts))
    refuse(
        blocks > MOST_BLOCKS,
        f"all_to_all with counts: a rank sends {blocks} times what all counts are multiples of, and no more than "
        f"{MOST_BLOCKS} can be counted; round the counts to multiples of a token's bytes",
    )
    name = "direct uneven all_to_all"
    check_messages(name, ranks, ranks * (ranks - 1))
    sizes = np.array(parts, dtype=np.int64)
    begins = np.array([[0, *accumulate(row[:-1])] for row in parts], dtype=np.int64)
    sender, place = column(ranks)[:, None], column(ranks - 1)[None, :]
    receiver = (sender + 1 + place) % ranks
    counts = sizes[sender, receiver]
    return assemble(
        name,
        ranks,
        blocks,
        (ranks, ranks - 1),
        sender=sender,
        receiver=receiver,
        step=0,
        first_block=begins[sender, receiver],
        block_count=counts,
        wait_step=-1,
        wait_count=0,
        parts=sizes,
        keep=counts > 0,
    )
