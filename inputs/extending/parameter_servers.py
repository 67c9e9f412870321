"""An all-reduce of one's own over a few parameter servers: an M-to-N incast, and a fan-out back.

    astra-ns3 show collective inputs/extending/parameter_servers.py:parameter_servers --ranks 32

proves and draws it. The data are cut in N parts, one for each server; every rank sends each part to its server, which
adds up what it gets and sends everyone the sum. Every eighth rank serves, so that leaves of 8 NPUs have a server each.
"""

import numpy as np

from astra_ns3.collectives.columns import assemble

RANKS_PER_SERVER = 8


def parameter_servers(ranks):
    """Two rounds, of which a server begins the second when it has heard of all others."""
    servers = max(1, ranks // RANKS_PER_SERVER)
    second, server, away = np.meshgrid((0, 1), np.arange(servers), np.arange(1, ranks), indexing="ij")
    home = server * RANKS_PER_SERVER
    other = (home + away) % ranks
    return assemble(
        "parameter_servers all_reduce",
        ranks,
        servers,
        (2, servers, ranks - 1),  # a row for each message
        sender=np.where(second == 0, other, home),
        receiver=np.where(second == 0, home, other),
        step=second,
        first_block=server,  # the part of this server
        reduces=second == 0,
        wait_step=second - 1,  # the first round waits for nothing: -1
        wait_count=second * (ranks - 1),
    )
