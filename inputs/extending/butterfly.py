"""An all-reduce of one's own: each rank exchanges all it has with the one a power of two away, log2(n) times.

    astra-ns3 show collective inputs/extending/butterfly.py:butterfly --ranks 16

proves and draws it; butterfly.yaml, a system file, names it.
"""

import numpy as np

from astra_ns3.collectives.columns import assemble
from astra_ns3.collectives.schedule import Content
from astra_ns3.errors import InputError


def butterfly(ranks):
    """Recursive doubling: fewest rounds of all, but every message is as long as the data."""
    rounds = ranks.bit_length() - 1
    if 1 << rounds != ranks:
        raise InputError(f"the number of ranks must be a power of two, got {ranks}")
    step, sender = np.meshgrid(np.arange(rounds), np.arange(ranks), indexing="ij")  # a row for each message
    # A sender may have the other's part already when it sends its own, so each row says whose sum it carries: a bit
    # for each rank. After k rounds these are the 2**k ranks around the sender.
    summed = [(1 << (1 << k)) - 1 << (rank >> k << k) for k in range(rounds) for rank in range(ranks)]
    rows = rounds * ranks
    return assemble(
        "butterfly all_reduce",
        ranks,
        1,  # the data are one block, which each message carries whole
        (rounds, ranks),
        sender=sender,
        receiver=sender ^ (1 << step),
        step=step,
        first_block=0,
        reduces=True,
        wait_step=step - 1,  # the first round waits for nothing: -1
        wait_count=step > 0,  # the others for the message of the round before
        content=Content(np.arange(rows + 1), np.zeros(rows, dtype=np.int32), tuple(summed)),
    )
