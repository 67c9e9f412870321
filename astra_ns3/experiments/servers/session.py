"""The servers of this interpreter: what plays the runs that it asks for, one after the other or side by side.

A run's process is forked by one of them, never by this process: that may have threads, and may have loaded pyarrow,
which ns-3 shares no process with. Whoever asks for the second run finds ns-3 loaded.
"""

from __future__ import annotations

import atexit
import os
import pickle
import threading
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache, partial

from astra_ns3.errors import AstraNs3Error
from astra_ns3.experiments.isolated.launching import ChildEnds, Launch, forked
from astra_ns3.experiments.isolated.process import Child
from astra_ns3.experiments.request import RunRequest
from astra_ns3.experiments.servers.kind import kind_of
from astra_ns3.experiments.servers.messages import ServerKind, Surroundings, Unplayed
from astra_ns3.experiments.servers.warm_server import WarmServer
from astra_ns3.experiments.watch import Watch

_MOST_IDLE = 2
"""So many wait for a run, each of a quarter of a gigabyte; they end by themselves when nobody asks them for long."""


@dataclass
class _Servers:
    """Idle servers; ``lock``: several threads may ask at once."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    idle: list[WarmServer] = field(default_factory=list)

    def take(self, kind: ServerKind) -> WarmServer:
        """A server for a run; the caller gives it back."""
        with self.lock:
            for place, server in enumerate(self.idle):
                if server.kind == kind and server.lives:
                    return self.idle.pop(place)
        return WarmServer(kind)

    def close(self) -> None:
        """End those that wait."""
        with self.lock:
            gone, self.idle = self.idle, []
        for each in gone:
            each.close()

    def give(self, server: WarmServer) -> None:
        """Keep it for the next run, if it lives; the one unused longest ends."""
        with self.lock:
            self.idle.append(server)
            dead = [each for each in self.idle if not each.lives]
            alive = [each for each in self.idle if each not in dead]
            gone = dead + alive[: max(0, len(alive) - _MOST_IDLE)]
            self.idle = [each for each in alive if each not in gone]
        for each in gone:
            each.close()


@cache
def _servers(process: int) -> _Servers:
    """Those of a process, which end with it: one that is forked from it has none of them."""
    made = _Servers()

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
    except (AstraNs3Error, OSError):
        return forked(request, watch)
    except Exception:  # something of the user's that can't be handed over, such as a class of a script's own
        return forked(request, watch)

    def launch(ends: ChildEnds) -> Child:
        server = _servers(os.getpid()).take(kind)
        try:
            child = server.launcher(replace(request, progress=None), watch, Surroundings.here())(ends)
        except (AstraNs3Error, Unplayed):
            server.close()
            return forked(request, watch)(ends)
        child.at_end.append(partial(_give_back, server))
        return child

    return launch


def _give_back(server: WarmServer) -> None:
    with suppress(OSError):
        _servers(os.getpid()).give(server)
