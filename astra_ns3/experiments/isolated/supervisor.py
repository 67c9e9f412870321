"""The parent's side: starts the child, keeps what it tells, enforces limits and signals, and knows how it ended."""

from __future__ import annotations

import contextlib
import logging
import mmap
import os
import select
import signal
import socket
import sys
import time
import warnings
from collections.abc import Callable
from functools import singledispatchmethod

from astra_ns3.errors import AstraNs3Error, BackendError, Interrupted, LimitReached
from astra_ns3.experiments.description import Description
from astra_ns3.experiments.isolated import channel
from astra_ns3.experiments.isolated.channel import Inbox, Recorder, send
from astra_ns3.experiments.isolated.death import Whereabouts, describe_death
from astra_ns3.experiments.isolated.interruption import STOP_SIGNALS, Interruption
from astra_ns3.experiments.isolated.snapshot import Accumulated, Snapshot
from astra_ns3.experiments.progress import Progress, ProgressSink, tell_stage
from astra_ns3.experiments.session import Played
from astra_ns3.experiments.watch import Watch, resident_bytes
from astra_ns3.network.api import Limits
from astra_ns3.network.recorded import TableSink

_LOOK_SECONDS = 0.1
_GRACE_SECONDS = 0.5
"""How long a running child may take to see by itself that a limit is passed, or that it is to stop."""
_FAR_ABOVE = 1.25
"""A child with so many times the memory that is allowed is ended at once."""
_LAST_WORDS_BYTES = 4096

Serve = Callable[[socket.socket, mmap.mmap], None]
Open = Callable[[Description], tuple[Recorder, TableSink | None]]


class RemoteTrace(Exception):
    """Where in the child something was raised, as text."""

    def __str__(self) -> str:
        return f"\n{self.args[0]}"


class Supervisor:
    """Plays one run in a child. ``serve`` is the child's whole life; ``open_destination`` is called once the inputs are
    known good, and says where rows go."""

    def __init__(
        self,
        serve: Serve,
        watch: Watch,
        limits: Limits,
        sink: ProgressSink | None,
        interruption: Interruption,
        open_destination: Open,
    ) -> None:
        self._serve = serve
        self._watch = watch
        self._limits = limits
        self._sink = sink
        self._interruption = interruption
        self._open_destination = open_destination
        self._clock = mmap.mmap(-1, mmap.PAGESIZE)  # shared with the child
        self._words = bytearray()
        self._known = Accumulated()
        self._stage = "starting"
        self._begun: channel.Begun | None = None
        self._progress: Progress | None = None
        self._tables: TableSink | None = None
        self._ending: channel.Done | channel.Failed | channel.Raised | None = None
        self._finishing = False
        self._looked_at = 0.0
        self._over_since: float | None = None
        self._killed_for: AstraNs3Error | None = None
        self._peak_bytes = 0

    def run(self) -> Played:
        """Play the run; what it left, however it ended.

        Raises what the child raised before the first event, and BackendError, LimitReached or Interrupted if it ended
        before that.
        """
        self._pid, self._connection, self._errors = self._start()
        try:
            status = self._follow()
        finally:
            self._end_child()
            if self._tables is not None:
                self._tables.close()
            if self._sink is not None:
                self._sink.finish()
        return self._outcome(status)

    def _start(self) -> tuple[int, socket.socket, int]:
        """Fork the child; its process id, the socket to it, and what reads its standard error."""
        ours, theirs = socket.socketpair()
        read_end, write_end = os.pipe()
        sys.stdout.flush()
        sys.stderr.flush()
        blocked = signal.pthread_sigmask(signal.SIG_BLOCK, STOP_SIGNALS)
        try:
            with warnings.catch_warnings():
                # Python 3.12 warns of threads in the caller; the child uses none of what they may hold.
                warnings.simplefilter("ignore", DeprecationWarning)
                pid = os.fork()
            if pid == 0:
                ours.close()
                os.close(read_end)
                os.dup2(write_end, 2)
                os.close(write_end)
                self._serve(theirs, self._clock)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
        theirs.close()
        os.close(write_end)
        os.set_blocking(read_end, False)
        ours.setblocking(True)
        return pid, ours, read_end

    def _follow(self) -> int | None:
        """Take what comes until the child has told its end or died; its wait status then (None: it told its end)."""
        inbox = Inbox(self._connection)
        while self._ending is None:
            ready = self._wait_for(self._connection.fileno(), self._errors)
            if self._errors in ready:
                self._hear()
            if self._connection.fileno() in ready:
                for message in inbox.fetch():
                    self._take(message)
            elif self._is_dead():
                break
            if inbox.ended:
                break
            self._look()
        if self._ending is not None:
            return None
        self._hear()
        return self._wait()

    @staticmethod
    def _wait_for(*files: int) -> list[int]:
        """Those of the files from which there is something to read, or the end."""
        waiting = select.poll()  # select.select takes no more than 1024 open files
        for file in files:
            waiting.register(file, select.POLLIN)
        return [file for file, _ in waiting.poll(_LOOK_SECONDS * 1000)]

    def _look(self) -> None:
        """What has to be looked at about ten times a second."""
        now = time.monotonic()
        if now - self._looked_at < _LOOK_SECONDS / 2:
            return
        self._looked_at = now
        if self._begun is None:
            tell_stage(self._sink, self._stage, self._watch.wall_seconds)
        self._peak_bytes = max(self._peak_bytes, resident_bytes(self._pid))
        self._obey_interruption()
        self._enforce_limits()

    def _obey_interruption(self) -> None:
        noted_at = self._interruption.noted_at
        if noted_at is None:
            return
        if self._finishing:
            if self._interruption.times > 1:  # a user who asks twice waits for nothing more
                self._kill(Interrupted("interrupted"))
        elif self._begun is None:
            self._kill(Interrupted("interrupted while the run was set up; nothing was saved"))
        elif not self._interruption.passed_on:
            self._interruption.pass_on(self._pid)
        elif time.monotonic() - noted_at > _GRACE_SECONDS:
            self._kill(Interrupted("interrupted"))

    def _enforce_limits(self) -> None:
        """End a child that is above a limit: at once while it is set up, else after it had time to do so itself."""
        found = self._passed_limit()
        if found is None or self._finishing:
            self._over_since = None
            return
        error, far = found
        if self._begun is None:
            self._kill(LimitReached(f"{error} while the run was set up ({self._stage}); nothing was saved"))
            return
        now = time.monotonic()
        self._over_since = self._over_since or now
        if far or now - self._over_since > _GRACE_SECONDS:
            self._kill(error)

    def _passed_limit(self) -> tuple[LimitReached, bool] | None:
        """The limit that is passed, and whether by far."""
        wall, memory = self._limits.wall_seconds, self._limits.memory_bytes
        if wall is not None and self._watch.wall_seconds > wall:
            return LimitReached(f"wall time reached its limit of {wall:g} s"), False
        used = resident_bytes(self._pid) if memory is not None else 0
        if memory is not None and used > memory:
            return self._watch.memory_reached(used), used > _FAR_ABOVE * memory
        return None

    def _kill(self, error: AstraNs3Error) -> None:
        if self._killed_for is None:
            self._killed_for = error
            os.kill(self._pid, signal.SIGKILL)

    @singledispatchmethod
    def _take(self, message: object) -> None:
        """What to do with a message of the child."""
        raise TypeError(f"the child said {message!r}")

    @_take.register
    def _(self, message: channel.Stage) -> None:
        self._stage = message.name
        tell_stage(self._sink, self._stage, self._watch.wall_seconds)

    @_take.register
    def _(self, message: Description) -> None:
        recorder, self._tables = self._open_destination(message)
        send(self._connection, recorder)

    @_take.register
    def _(self, message: channel.Begun) -> None:
        self._begun = message

    @_take.register
    def _(self, message: channel.Beat) -> None:
        self._progress = message.progress
        if self._sink is not None:
            self._sink.update(message.progress)

    @_take.register
    def _(self, message: Snapshot) -> None:
        self._known.add(message)

    @_take.register
    def _(self, _message: channel.Finishing) -> None:
        self._finishing = True

    @_take.register
    def _(self, message: channel.OpenTable) -> None:
        if self._tables is not None:
            self._tables.open(message.table)

    @_take.register
    def _(self, message: channel.Rows) -> None:
        if self._tables is not None:
            self._tables.write(message.table, message.columns)

    @_take.register
    def _(self, message: channel.FileFailed) -> None:
        if self._tables is not None:
            self._tables.failed(message.file, message.reason)

    @_take.register
    def _(self, _message: channel.CloseTables) -> None:
        if self._tables is not None:
            self._tables.close()

    @_take.register
    def _(self, message: channel.Log) -> None:
        logging.getLogger(message.logger).log(message.level, "%s", message.message)

    @_take.register
    def _(self, message: channel.Printed) -> None:
        stream = sys.stdout if message.stream == "stdout" else sys.stderr
        with contextlib.suppress(OSError):  # nobody reads what the user's code prints
            stream.write(message.text)
            stream.flush()

    @_take.register
    def _(self, message: channel.Done | channel.Failed | channel.Raised) -> None:
        self._ending = message

    def _hear(self) -> None:
        """Pass on what native code wrote to standard error, and remember its end."""
        while True:
            try:
                data = os.read(self._errors, 65536)
            except BlockingIOError:
                return
            if not data:
                return
            with contextlib.suppress(OSError):
                os.write(2, data)
            self._words += data
            del self._words[:-_LAST_WORDS_BYTES]

    def _is_dead(self) -> bool:
        return os.waitid(os.P_PID, self._pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None

    def _wait(self) -> int:
        _, status = os.waitpid(self._pid, 0)
        self._pid = 0
        return status

    def _end_child(self) -> None:
        """Make sure that no child is left; one that has told its end is ending by itself."""
        if self._pid:
            if self._ending is None:
                os.kill(self._pid, signal.SIGKILL)
            self._wait()
        self._hear()
        os.close(self._errors)
        self._connection.close()

    def _outcome(self, status: int | None) -> Played:
        if isinstance(self._ending, channel.Done):
            return self._ending.played
        if isinstance(self._ending, channel.Failed):
            raise self._ending.error from RemoteTrace(self._ending.trace)
        if isinstance(self._ending, channel.Raised):
            error = self._ending.error or BackendError(f"the run failed: {self._ending.summary}")
            raise error from RemoteTrace(self._ending.trace)
        assert status is not None
        error = self._killed_for or BackendError(
            describe_death(status, self._words.decode("utf-8", "replace"), self._whereabouts())
        )
        if self._begun is None or self._known.last is None:
            raise error
        return self._played_until(error, self._begun, self._known.last)

    def _whereabouts(self) -> Whereabouts:
        return Whereabouts(
            stage=None if self._begun is not None else self._stage,
            time_ps=self._time_ps(),
            progress=self._progress,
            resident_bytes=self._peak_bytes,
            known=self._known,
        )

    def _time_ps(self) -> int:
        return int.from_bytes(self._clock[:8], sys.byteorder, signed=True)

    def _played_until(self, error: AstraNs3Error, begun: channel.Begun, last: Snapshot) -> Played:
        """What is known of a run whose process is gone."""
        return Played(
            records=self._known.records(),
            statistics=last.statistics,
            switch_ports=last.switch_ports,
            setup_seconds=begun.setup_seconds,
            start_bytes=begun.start_bytes,
            peak_bytes=self._peak_bytes,
            error=error,
            reached_ps=self._time_ps(),
        )
