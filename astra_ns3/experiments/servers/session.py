"""The servers of this interpreter: what plays the runs that it asks for, one after the other or side by side.

A run's process is forked by one of them, never by this process: that may have threads, and may have loaded pyarrow,
which ns-3 shares no process with. Whoever asks for the second run finds ns-3 loaded.
"""

from __future__ import annotations

import os
import pickle
import resource
import signal
import sys
import threading
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

from astra_ns3.errors import AstraNs3Error
from astra_ns3.experiments.isolated.launching import Child, ChildEnds, Launch, forked
from astra_ns3.experiments.request import RunRequest
from astra_ns3.experiments.servers.kind import kind_of
from astra_ns3.experiments.servers.messages import ServerKind, Unplayed
from astra_ns3.experiments.servers.warm_server import WarmServer
from astra_ns3.experiments.watch import Watch

_MOST_IDLE = 2
"""So many wait for a run, each of a quarter of a gigabyte; they end by themselves when nobody asks them for long."""

_Surroundings = tuple[Any, ...]


def _surroundings(kind: ServerKind) -> _Surroundings:
    """What a server has taken over from this process when it was started, and must be the same for a run."""
    mask = os.umask(0)
    os.umask(mask)
    return kind, os.getpid(), str(Path.cwd()), mask, tuple(sys.path), tuple(sorted(os.environ.items()))


@dataclass
class _Servers:
    """Idle servers, by what they were started in; ``lock``: several threads may ask at once."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    idle: list[tuple[_Surroundings, WarmServer]] = field(default_factory=list)

    def take(self, kind: ServerKind) -> tuple[_Surroundings, WarmServer]:
        """A server for a run; the caller gives it back."""
        wanted = _surroundings(kind)
        with self.lock:
            for place, (surroundings, server) in enumerate(self.idle):
                if surroundings == wanted and server.lives:
                    return self.idle.pop(place)
        return wanted, WarmServer(kind)

    def give(self, surroundings: _Surroundings, server: WarmServer) -> None:
        """Keep it for the next run, if it lives; the one unused longest ends."""
        with self.lock:
            mine = [each for each in self.idle if each[0][1] == os.getpid()]
            self.idle = [*mine, (surroundings, server)] if server.lives else mine
            gone = self.idle[: max(0, len(self.idle) - _MOST_IDLE)]
            self.idle = self.idle[len(gone) :]
        for _, each in gone:
            each.close()


@cache
def _servers() -> _Servers:
    """Those of this interpreter."""
    return _Servers()


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
        surroundings, server = _servers().take(kind)
        try:
            child = server.launcher(replace(request, progress=None), watch)(ends)
        except (AstraNs3Error, Unplayed):
            server.close()
            return forked(request, watch)(ends)
        return _Lent(child, surroundings, server)

    return launch


class _Lent:
    """A served child whose server goes back when it has ended: fulfils :class:`Child`."""

    def __init__(self, child: Child, surroundings: _Surroundings, server: WarmServer) -> None:
        self._child, self._surroundings, self._server = child, surroundings, server
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
                _servers().give(self._surroundings, self._server)
        return status
