"""The worker's side of a server: starts it, has it fork children, and knows when it has died."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
from contextlib import suppress
from functools import partial

from astra_ns3.errors import BackendError
from astra_ns3.experiments.isolated.interruption import STOP_SIGNALS
from astra_ns3.experiments.isolated.launching import ChildEnds, Launch
from astra_ns3.experiments.isolated.process import Child, has_news
from astra_ns3.experiments.request import RunRequest
from astra_ns3.experiments.servers.messages import (
    Ended,
    NotStarted,
    Play,
    Ready,
    ServerKind,
    Started,
    Surroundings,
    Unplayed,
    receive,
    send,
)
from astra_ns3.experiments.servers.process import HelperProcess
from astra_ns3.experiments.watch import Watch

# A process may only be forked safely while it has one thread; NumPy's linear algebra would start more.
_ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
_LAST_BREATH_SECONDS = 5.0


class WarmServer:
    """One server, whose ``process`` takes its child along. Plays one point at a time; belongs to one thread then."""

    def __init__(self, kind: ServerKind) -> None:
        """Start it; that it is warm is waited for when it is first used."""
        self.kind = kind
        self._ready = False
        try:
            self.process = HelperProcess("astra_ns3.experiments.servers.server", _ONE_THREAD)
        except OSError as error:
            raise BackendError(f"no server for the study's points could be started: {error.strerror}") from error
        self._connection = self.process.connection
        with suppress(ConnectionError):
            send(self._connection, kind)
        self.child: ServedChild | None = None
        """The last child it has forked."""

    @property
    def lives(self) -> bool:
        """Whether the server can still be asked for a child."""
        return self.process.runs and not (self._ready and has_news(self._connection))

    @property
    def was_asked_to_end(self) -> bool:
        """Whether it has died of a signal with which a batch system or a terminal ends all that runs."""
        if self.lives:
            return False
        with suppress(subprocess.TimeoutExpired):
            return -self.process.status(_LAST_BREATH_SECONDS) in STOP_SIGNALS
        return False

    @property
    def was_killed(self) -> bool:
        """Whether it has died, or somebody has killed its last child."""
        return not self.lives or (self.child is not None and self.child.was_killed)

    def wait_until_warm(self) -> None:
        """Wait for the end of its warm-up; raises BackendError if it dies in it."""
        if self._ready:
            return
        try:
            message, _ = receive(self._connection)
        except ConnectionError as error:
            raise BackendError(f"a server for runs could not be started: {self.process.last_words()}") from error
        assert isinstance(message, Ready)
        self._ready = True

    def launcher(self, request: RunRequest, watch: Watch, surroundings: Surroundings | None = None) -> Launch:
        """Have the server fork the child that plays ``request``, in its own or other surroundings."""
        return partial(self._launch, Play(request, watch, surroundings))

    def _launch(self, wanted: Play, ends: ChildEnds) -> ServedChild:
        self.wait_until_warm()
        try:
            send(self._connection, wanted, [ends.connection.fileno(), ends.errors, ends.clock])
            answer, files = receive(self._connection)
        except ConnectionError as error:
            raise BackendError(f"the server of the run died: {self.process.last_words()}") from error
        if isinstance(answer, NotStarted):
            kind = Unplayed if answer.passing else BackendError
            raise kind(f"no process could be made for the run: {answer.reason}")
        assert isinstance(answer, Started)
        self.child = ServedChild(answer.pid, files[0] if files else None, self._connection)
        return self.child


class ServedChild(Child):
    """A child that a server has forked. The child is killed where its server is."""

    def __init__(self, pid: int, file: int | None, server: socket.socket) -> None:
        super().__init__(pid, file)
        self._server = server

    @property
    def was_killed(self) -> bool:
        """Whether SIGKILL ended it, whoever sent that."""
        return self._status is not None and os.WIFSIGNALED(self._status) and os.WTERMSIG(self._status) == signal.SIGKILL

    def is_dead(self) -> bool:
        """Whether it has ended; the server tells so, too."""
        return self._ended or has_news(self._server if self.file is None else self.file)

    def _reap(self) -> None:
        self._ended = True
        try:
            message, _ = receive(self._server)
            assert isinstance(message, Ended)
            self._status, self.usage = message.status, message.usage
        except ConnectionError:
            self._status = int(signal.SIGKILL)
