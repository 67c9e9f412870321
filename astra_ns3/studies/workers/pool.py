"""A worker's servers: one is lent to each point that is played, started when there is none of the kind it needs."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from astra_ns3.errors import BackendError
from astra_ns3.experiments.servers.messages import ServerKind
from astra_ns3.experiments.servers.warm_server import WarmServer
from astra_ns3.studies.task import Unplayed

MOST_IDLE = 3
"""So many servers of a worker may wait for a point, each of a quarter of a gigabyte; the one unused longest ends."""


class Abandoned(Exception):
    """The study has been stopped: what was being played counts for nothing."""


class ServerPool:
    """All servers of one worker process; its threads may share it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._idle: list[WarmServer] = []
        self._lent: list[WarmServer] = []
        self._closed = False

    @property
    def closed(self) -> bool:
        """Whether the study has been stopped."""
        return self._closed

    @property
    def pids(self) -> list[int]:
        """Numbers of the servers' processes."""
        with self._lock:
            return [server.pid for server in (*self._idle, *self._lent)]

    def start(self, kind: ServerKind) -> None:
        """Have a server of ``kind`` warm itself up, for the first point to come; nobody waits for it."""
        with self._lock:
            if not self._closed:
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
            with self._lock:
                self._lent.remove(server)
                self._idle.append(server)
                gone = self._idle if self._closed else self._superfluous()
                self._idle = [each for each in self._idle if each not in gone]
            for each in gone:
                each.close()

    def close(self) -> None:
        """End all servers; one that is lent is killed, and whoever uses it sees its child die."""
        with self._lock:
            self._closed = True
            gone, self._idle = self._idle, []
            for server in self._lent:
                server.kill()
        for server in gone:
            server.close()

    def _warm(self, kind: ServerKind) -> WarmServer:
        server = self._taken(kind)
        try:
            server.wait_until_warm()
        except BackendError:
            asked_to_end = server.was_asked_to_end
            self._drop(server)
            if self._closed:
                raise Abandoned from None
            if asked_to_end:
                raise Unplayed("the server that was to play it was asked to end") from None
            if kind == ServerKind():
                raise
            return self._warm(ServerKind())  # what kills a server hurts no more than the one point then
        return server

    def _taken(self, kind: ServerKind) -> WarmServer:
        with self._lock:
            if self._closed:
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
            each.close()
        return server

    def _drop(self, server: WarmServer) -> None:
        with self._lock:
            self._lent.remove(server)
        server.close()

    def _superfluous(self) -> list[WarmServer]:
        """The dead, and of the idle the first, which have waited longest."""
        dead = [server for server in self._idle if not server.lives]
        alive = [server for server in self._idle if server not in dead]
        return dead + alive[: max(0, len(alive) - MOST_IDLE)]
