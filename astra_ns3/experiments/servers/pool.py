"""The servers of a process: one is lent to each run that is played, started when there is none of the kind it needs."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from astra_ns3.errors import BackendError
from astra_ns3.experiments.servers.messages import ServerKind, Unplayed
from astra_ns3.experiments.servers.warm_server import WarmServer

MOST_IDLE = 3
"""So many servers may wait for a point, each of a quarter of a gigabyte; the one unused longest ends."""


class Abandoned(Exception):
    """The study has been stopped: what was being played counts for nothing."""


class ServerPool:
    """All servers of one process; its threads may share it. ``most_idle`` of them may wait for a run."""

    def __init__(self, most_idle: int = MOST_IDLE) -> None:
        self._lock = threading.Lock()
        self._most_idle = most_idle
        self._idle: list[WarmServer] = []
        self._lent: list[WarmServer] = []
        self.closed = False
        """Whether the study has been stopped."""

    @property
    def pids(self) -> list[int]:
        """Numbers of the servers' processes."""
        with self._lock:
            return [server.process.pid for server in (*self._idle, *self._lent)]

    def start(self, kind: ServerKind) -> None:
        """Have a server of ``kind`` warm itself up, for the first point to come; nobody waits for it."""
        with self._lock:
            if not self.closed:
                self._idle.append(WarmServer(kind))

    @contextmanager
    def server(self, kind: ServerKind) -> Iterator[WarmServer]:
        """A warm server of ``kind``, or of the plain kind if one of that kind can't be had.

        Raises BackendError if there is none at all, Unplayed if a signal has ended it, and Abandoned if the pool is
        closed, be it meanwhile.
        """
        server = self._warm(kind)
        try:
            yield server
        finally:
            self.give(server)

    def close(self) -> None:
        """End all servers; one that is lent is killed, and whoever uses it sees its child die."""
        with self._lock:
            self.closed = True
            gone, self._idle = self._idle, []
            for server in self._lent:
                server.process.kill()
        for server in gone:
            server.process.close()

    def _warm(self, kind: ServerKind) -> WarmServer:
        server = self.take(kind)
        try:
            server.wait_until_warm()
        except BackendError:
            asked_to_end = server.was_asked_to_end
            self.drop(server)
            if self.closed:
                raise Abandoned from None
            if asked_to_end:
                raise Unplayed("the server that was to play it was asked to end") from None
            if kind == ServerKind():
                raise
            return self._warm(ServerKind())  # what kills a server hurts no more than the one point then
        return server

    def take(self, kind: ServerKind) -> WarmServer:
        """Return a server of ``kind``, perhaps not warm yet, for a run; the caller gives it back, or drops it."""
        with self._lock:
            if self.closed:
                raise Abandoned
            dead = [server for server in self._idle if not server.lives]
            self._idle = [server for server in self._idle if server not in dead]
            server = next((server for server in self._idle if server.kind == kind), None)
            if server is None:
                server = WarmServer(kind)
            else:
                self._idle.remove(server)
            self._lent.append(server)
        for each in dead:
            each.process.close()
        return server

    def give(self, server: WarmServer) -> None:
        """Keep a server for the next run, if it lives; the dead end, and of the idle those that have waited longest."""
        with self._lock:
            self._lent.remove(server)
            self._idle.append(server)
            alive = [each for each in self._idle if each.lives]
            kept = [] if self.closed else alive[max(0, len(alive) - self._most_idle) :]
            gone = [each for each in self._idle if each not in kept]
            self._idle = kept
        for each in gone:
            each.process.close()

    def drop(self, server: WarmServer) -> None:
        """End a server that can't be used."""
        with self._lock:
            self._lent.remove(server)
        server.process.close()
