"""The servers of this interpreter: what plays the runs that it asks for, one after the other or side by side.

A run's process is forked by one of them, never by this process: that may have threads, and may have loaded pyarrow,
which ns-3 shares no process with. Whoever asks for the second run finds ns-3 loaded.
"""

from __future__ import annotations

import atexit
import os
import pickle
from contextlib import suppress
from dataclasses import replace
from functools import cache, partial

from astra_ns3.errors import AstraNs3Error
from astra_ns3.experiments.isolated.launching import ChildEnds, Launch, forked
from astra_ns3.experiments.isolated.process import Child
from astra_ns3.experiments.request import RunRequest
from astra_ns3.experiments.servers.kind import kind_of
from astra_ns3.experiments.servers.messages import Surroundings, Unplayed
from astra_ns3.experiments.servers.pool import ServerPool
from astra_ns3.experiments.servers.warm_server import WarmServer
from astra_ns3.experiments.watch import Watch

# So many wait for a run, each of a quarter of a gigabyte; they end by themselves when nobody asks them for long.
_MOST_IDLE = 2


@cache
def _servers(process: int) -> ServerPool:
    """The servers of a process, which end with it: one that is forked from it has none of them."""
    made = ServerPool(_MOST_IDLE)

    def close() -> None:
        if os.getpid() == process:  # a fork that ends leaves them to the process they belong to
            made.close()

    atexit.register(close)
    return made


def served(request: RunRequest, watch: Watch) -> Launch:
    """Have a server of this interpreter fork the child that plays ``request``; without one it is forked from here."""
    try:
        kind = kind_of(request)
        pickle.dumps(replace(request, progress=None), protocol=pickle.HIGHEST_PROTOCOL)
    except Exception:  # a file that can't be read, or something that can't be handed over, as a class of a script's own
        return forked(request, watch)

    def launch(ends: ChildEnds) -> Child:
        pool = _servers(os.getpid())
        server = pool.take(kind)
        try:
            child = server.launcher(replace(request, progress=None), watch, Surroundings.here())(ends)
        except (AstraNs3Error, Unplayed):
            pool.drop(server)
            return forked(request, watch)(ends)
        child.at_end.append(partial(_give_back, pool, server))
        return child

    return launch


def _give_back(pool: ServerPool, server: WarmServer) -> None:
    with suppress(OSError):
        pool.give(server)
