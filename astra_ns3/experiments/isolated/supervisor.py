"""The parent's side: starts the child, keeps what it tells, enforces limits and signals, and knows how it ended."""

from __future__ import annotations

import logging
import mmap
import os
import pickle
import select
import signal
import socket
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TextIO

from astra_ns3.errors import AstraNs3Error, BackendError, Interrupted, LimitReached
from astra_ns3.experiments.description import Description
from astra_ns3.experiments.isolated import channel
from astra_ns3.experiments.isolated.channel import Inbox, Line, Recorder
from astra_ns3.experiments.isolated.death import Whereabouts, describe_death
from astra_ns3.experiments.isolated.interruption import Interruption
from astra_ns3.experiments.isolated.launching import ChildEnds, Launch
from astra_ns3.experiments.isolated.process import Child
from astra_ns3.experiments.isolated.snapshot import Accumulated, Snapshot
from astra_ns3.experiments.play import Played
from astra_ns3.experiments.progress import Progress, ProgressSink, tell_stage
from astra_ns3.experiments.watch import Watch, resident_bytes
from astra_ns3.network.api import Limits
from astra_ns3.network.recorded import RecordedTable, TableSink

_LOOK_SECONDS = 0.1
# How long a running child may take to see by itself that a limit is passed, or that it is to stop.
_GRACE_SECONDS = 0.5
# How long a child that plays no more may take for its results; a second signal ends it sooner.
_PACKING_SECONDS = 30.0
# A child with so many times the memory that is allowed is ended at once.
_FAR_ABOVE = 1.25
_LAST_WORDS_BYTES = 4096

Open = Callable[[Sequence[Description]], tuple[Recorder, TableSink | None]]


class RemoteTrace(Exception):
    """Where in the child something was raised, as text."""

    def __str__(self) -> str:
        return f"\n{self.args[0]}"


class Supervisor:
    """Plays one run in a child, which ``launch`` starts. ``open_destination`` is called once the inputs are known good,
    and says where rows go. ``aloud``: what the child prints, and native code's standard error, is passed on."""

    def __init__(
        self,
        launch: Launch,
        watch: Watch,
        limits: Limits,
        sink: ProgressSink | None,
        interruption: Interruption,
        open_destination: Open,
        *,
        aloud: bool = True,
    ) -> None:
        self._launch = launch
        self._aloud = aloud
        self._watch = watch
        self._limits = limits
        self._sink = sink
        self._interruption = interruption
        self._open_destination = open_destination
        self._clock_file = os.memfd_create("astra-ns3-clock")  # shared with the child
        os.ftruncate(self._clock_file, mmap.PAGESIZE)
        self._clock = mmap.mmap(self._clock_file, mmap.PAGESIZE)
        self._words = bytearray()
        self._known = Accumulated()
        self._stage = "starting"
        self._begun: channel.Begun | None = None
        self._progress: Progress | None = None
        self._tables: TableSink | None = None
        self._finishing_since: float | None = None
        self._results: Played | None = None
        self._ending: channel.Done | channel.Failed | channel.Raised | None = None
        self._over_since: float | None = None
        self._killed_for: AstraNs3Error | None = None
        self._looked_at = 0.0
        self._peak_bytes = 0

    def run(self) -> Played:
        """Play the run; what it left, however it ended.

        Raises what the child raised before the first event, and BackendError, LimitReached or Interrupted if it ended
        before that.
        """
        self._child, self._connection, self._errors = self._start()
        status: int | None = None
        try:
            self._follow()
        finally:
            status = self._end_child()
            if self._tables is not None:
                self._tables.close()
            if self._sink is not None:
                self._sink.finish()
        return self._outcome(status)

    def _start(self) -> tuple[Child, socket.socket, int]:
        """Start the child; it, the socket to it, and what reads its standard error."""
        ours, theirs = socket.socketpair()
        read_end, write_end = os.pipe()

        def leave() -> None:
            ours.close()
            os.close(read_end)

        try:
            child = self._launch(ChildEnds(theirs, write_end, self._clock_file, leave))
        except BaseException as error:
            leave()
            if isinstance(error, OSError):
                raise BackendError(f"no process could be made for the run: {error.strerror}") from error
            raise
        finally:
            theirs.close()
            os.close(write_end)
            os.close(self._clock_file)
        os.set_blocking(read_end, False)
        return child, ours, read_end

    def _follow(self) -> None:
        """Take what comes until the child has told its end, or died."""
        inbox = Inbox(self._connection)
        line = self._connection.fileno()
        while self._ending is None and not inbox.ended:
            ready = self._wait_for(line, self._errors)
            if self._errors in ready:
                self._hear()
            if line in ready:
                for message in inbox.fetch():
                    self._take(message)
            elif self._child.is_dead():
                break  # a process forked by the child may hold the line open
            self._look()

    def _wait_for(self, *files: int) -> set[int]:
        """The files from which there is something to read, or the end."""
        waiting = select.poll()  # select.select takes no more than 1024 open files
        for file in files:
            waiting.register(file, select.POLLIN)
        if self._child.file is not None:
            waiting.register(self._child.file, select.POLLIN)
        return {file for file, _ in waiting.poll(_LOOK_SECONDS * 1000)}

    def _look(self) -> None:
        """Do the work of about ten times a second: limits, progress, signals."""
        now = time.monotonic()
        if now - self._looked_at < _LOOK_SECONDS / 2:
            return
        self._looked_at = now
        if self._begun is None:
            tell_stage(self._sink, self._stage, self._watch.wall_seconds)
        self._peak_bytes = max(self._peak_bytes, resident_bytes(self._child.pid))
        self._obey_interruption(now)
        self._enforce_limits(now)

    def _obey_interruption(self, now: float) -> None:
        noted_at = self._interruption.noted_at
        if noted_at is None:
            return
        if self._begun is None:
            self._kill(Interrupted("interrupted while the run was set up; nothing was saved"))
        elif not self._interruption.passed_on:
            self._interruption.passed_on = True
            self._child.send(self._interruption.number)
        elif now - noted_at > self._grace(now) or (self._finishing_since and self._interruption.times > 1):
            self._kill(Interrupted("interrupted"))

    def _enforce_limits(self, now: float) -> None:
        """End a child that is above a limit: at once while it is set up, else after it had time to do so itself."""
        found = self._passed_limit()
        if found is None:
            self._over_since = None
            return
        error, far = found
        if self._begun is None:
            self._kill(LimitReached(f"{error} while the run was set up ({self._stage}); nothing was saved"))
            return
        self._over_since = self._over_since or now
        if far or now - self._over_since > self._grace(now):
            self._kill(error)

    def _grace(self, now: float) -> float:
        """How long the child may take to end by itself: longer only while it packs what it knows."""
        if self._finishing_since is None or self._results is not None:
            return _GRACE_SECONDS
        return _PACKING_SECONDS

    def _passed_limit(self) -> tuple[LimitReached, bool] | None:
        """The limit that is passed, and whether by far."""
        wall, memory = self._limits.wall_seconds, self._limits.memory_bytes
        if wall is not None and self._watch.wall_seconds > wall:
            return LimitReached(f"wall time reached its limit of {wall:g} s"), False
        used = resident_bytes(self._child.pid) if memory is not None else 0
        if memory is not None and used > memory:
            return self._watch.memory_reached(used), used > _FAR_ABOVE * memory
        return None

    def _kill(self, error: AstraNs3Error) -> None:
        if self._killed_for is None:
            self._killed_for = error
            self._child.send(signal.SIGKILL)

    def _take(self, message: object) -> None:
        """Do what a message of the child asks for."""
        if isinstance(message, channel.Done | channel.Failed | channel.Raised):
            self._ending = message
        elif isinstance(message, Snapshot):
            self._known.add(message)
        elif isinstance(message, channel.Described):
            recorder, self._tables = self._open_destination(message.tenants)
            Line(self._connection).send(recorder)
        elif isinstance(message, channel.Log):
            logging.getLogger(message.logger).log(message.level, "%s", message.message)
        elif isinstance(message, channel.Printed):
            self._pass_on(sys.stdout if message.stream == "stdout" else sys.stderr, message.text)
        elif isinstance(message, channel.ForTables):
            self._record(message)
        else:
            self._follow_progress(message)

    def _follow_progress(self, message: object) -> None:
        if isinstance(message, Progress):
            self._progress = message
            if self._sink is not None:
                self._sink.update(message)
        elif isinstance(message, channel.Stage):
            self._stage = message.name
            tell_stage(self._sink, self._stage, self._watch.wall_seconds)
        elif isinstance(message, channel.Begun):
            self._begun = message
        elif isinstance(message, channel.Finishing):
            self._finishing_since = time.monotonic()
        elif isinstance(message, channel.Results):
            self._results = message.played
        else:
            raise TypeError(f"the child said {message!r}")

    def _record(self, message: channel.ForTables) -> None:
        if self._tables is None:
            return
        if isinstance(message, channel.Rows):
            self._tables.write(message.table, message.columns)
        elif isinstance(message, RecordedTable):
            self._tables.open(message)
        elif isinstance(message, channel.NewLabel):
            self._tables.label(message.table, message.column, message.number, message.text)
        elif isinstance(message, channel.FileFailed):
            self._tables.failed(message.file, message.reason)
        else:
            self._tables.close()

    def _pass_on(self, stream: TextIO, text: str) -> None:
        """Print what the child printed. A reader that has gone costs the run nothing, one that is stuck no signal."""
        if not self._aloud or (self._interruption.noted_at is not None and not _takes_more(stream)):
            return
        with suppress(OSError, ValueError, AttributeError, KeyboardInterrupt), self._interruption.raising():
            stream.write(text)
            stream.flush()

    def _hear(self) -> None:
        """Pass on what native code wrote to standard error, and remember its end."""
        while True:
            try:
                data = os.read(self._errors, 65536)
            except BlockingIOError:
                return
            if not data:
                return
            self._words += data
            del self._words[:-_LAST_WORDS_BYTES]
            if self._aloud:
                with suppress(OSError, KeyboardInterrupt), self._interruption.raising():
                    os.write(2, data)

    def _end_child(self) -> int | None:
        """Make sure that no child is left; one that has told its end is ending by itself. Its wait status, if known."""
        if self._ending is None:
            self._child.send(signal.SIGKILL)
        status = self._child.wait()
        self._hear()
        os.close(self._errors)
        self._connection.close()
        return status

    def _outcome(self, status: int | None) -> Played:
        if isinstance(self._ending, channel.Done):
            return self._ending.played
        if self._results is not None:  # only the hook's end function was left
            return replace(self._results, error=self._results.error or self._cause_of_death(status))
        if isinstance(self._ending, channel.Failed):
            raise self._ending.error from RemoteTrace(self._ending.trace)
        if isinstance(self._ending, channel.Raised):
            raise _unpickled(self._ending) from RemoteTrace(self._ending.trace)
        error = self._cause_of_death(status)
        if self._begun is None or self._known.last is None:
            raise error
        return Played(  # what is known of a run whose process is gone
            records=self._known.records(),
            statistics=self._known.last.statistics,
            switch_ports=self._known.last.switch_ports,
            setup_seconds=self._begun.setup_seconds,
            start_bytes=self._begun.start_bytes,
            peak_bytes=self._peak_bytes,
            error=error,
            reached_ps=self._time_ps(),
            outcomes=self._known.last.outcomes,
        )

    def _cause_of_death(self, status: int | None) -> AstraNs3Error:
        if isinstance(self._ending, channel.Raised):
            return BackendError(f"the run's end failed: {self._ending.summary}")
        if isinstance(self._ending, channel.Failed):
            return self._ending.error
        where = Whereabouts(
            stage=None if self._begun is not None else self._stage,
            over=self._results is not None,
            time_ps=self._time_ps(),
            progress=self._progress,
            resident_bytes=self._peak_bytes,
            known=self._known,
        )
        words = self._words.decode("utf-8", "replace")
        return self._killed_for or BackendError(describe_death(status, words, where))

    def _time_ps(self) -> int:
        return int.from_bytes(self._clock[:8], sys.byteorder, signed=True)


def _takes_more(stream: TextIO) -> bool:
    """Whether writing to ``stream`` would not wait, as far as that is known."""
    try:
        waiting = select.poll()
        waiting.register(stream.fileno(), select.POLLOUT)
        return bool(waiting.poll(0))
    except (OSError, ValueError, AttributeError):
        return True


def _unpickled(raised: channel.Raised) -> BaseException:
    """Return the child's exception, or its message if this process doesn't know the kind."""
    try:
        error = pickle.loads(raised.error)
        if isinstance(error, BaseException):
            return error
    except Exception as unknown:
        return BackendError(f"the run failed: {raised.summary}").with_traceback(unknown.__traceback__)
    return BackendError(f"the run failed: {raised.summary}")
