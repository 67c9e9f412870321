"""An all-reduce of one's own: all send what they have to rank 0, which adds it up and sends everyone the sum.

    astra-ns3 show collective inputs/extending/star.py:star --ranks 8

proves and draws it. What a parameter server does; all lines towards rank 0's host end in one: an incast.
"""

import numpy as np

from astra_ns3.collectives.columns import assemble


def star(ranks):
    """Two rounds; the second begins when rank 0 has all."""
    others = np.arange(1, ranks)
    second, other = np.meshgrid((0, 1), others, indexing="ij")  # a row for each message
    return assemble(
        "star all_reduce",
        ranks,
        1,  # the data are one block, which each message carries whole
        (2, ranks - 1),
        sender=np.where(second == 0, other, 0),
        receiver=np.where(second == 0, 0, other),
        step=second,
        first_block=0,
        reduces=second == 0,
        wait_step=second - 1,  # the first round waits for nothing: -1
        wait_count=second * (ranks - 1),
    )
