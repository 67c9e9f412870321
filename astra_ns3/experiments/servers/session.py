"""The servers of this interpreter: what plays the runs that it asks for, one after the other or side by side.

A run's process is forked by one of them, never by this process: that may have threads, and may have loaded pyarrow,
which ns-3 shares no process with. Whoever asks for the second run finds ns-3 loaded.
"""

from __future__ import annotations

import atexit
import os
import pickle
import resource
import signal
import threading
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache

from astra_ns3.errors import AstraNs3Error
from astra_ns3.experiments.isolated.launching import Child, ChildEnds, Launch, forked
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
        return _Lent(child, server)

    return launch


class _Lent:
    """A served child whose server goes back when it has ended: fulfils :class:`Child`."""

    def __init__(self, child: Child, server: WarmServer) -> None:
        self._child, self._server = child, server
        self._waited = False
        self.usage: resource.struct_rusage | None = None

    @property
    def pid(self) -> int:
        """Its number."""
        return self._child.pid

    @property
    def file(self) -> int | None:
        """What can be polled."""
        return self._child.file

    def is_dead(self) -> bool:
        """Whether it has ended."""
        return self._child.is_dead()

    def send(self, number: signal.Signals) -> None:
        """Send it a signal, if it still lives."""
        self._child.send(number)

    def wait(self) -> int | None:
        """Wait for its end, and give the server back."""
        status = self._child.wait()
        self.usage = self._child.usage
        if not self._waited:
            self._waited = True
            with suppress(OSError):
                _servers(os.getpid()).give(self._server)
        return status
