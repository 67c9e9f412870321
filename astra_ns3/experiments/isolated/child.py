"""The child's side: plays the run in this process, reports to the parent, and ends the process.

It imports neither pandas nor pyarrow: rows of tables go to the parent, which writes the files. (ns-3 is GPL-2.0-only,
pyarrow Apache-2.0; they never share a process here.)
"""

from __future__ import annotations

import codecs
import ctypes
import gc
import logging
import mmap
import os
import pickle
import signal
import socket
import sys
import traceback
from collections.abc import Callable
from dataclasses import replace
from io import RawIOBase, TextIOWrapper
from pathlib import Path
from typing import Any

from astra_ns3.errors import AstraNs3Error, Interrupted
from astra_ns3.experiments.description import describe
from astra_ns3.experiments.hooks import HookFile
from astra_ns3.experiments.isolated import channel
from astra_ns3.experiments.isolated.channel import Inbox, Line, Recorder
from astra_ns3.experiments.isolated.interruption import STOP_SIGNALS
from astra_ns3.experiments.isolated.snapshot import SnapshotTaker
from astra_ns3.experiments.play import Played, play, recorder_options
from astra_ns3.experiments.progress import Progress
from astra_ns3.experiments.request import RunRequest
from astra_ns3.experiments.tenant_inputs import load_tenants
from astra_ns3.experiments.watch import Watch
from astra_ns3.network.api import NetworkBackend
from astra_ns3.network.recorded import Columns, RecordedTable
from astra_ns3.scenario.company import Company

_PR_SET_PDEATHSIG = 1
# The kernel's out-of-memory score: of all processes this one is to go, not its parent.
_KILLED_FIRST = "500"


def serve(request: RunRequest, watch: Watch, connection: socket.socket, clock: mmap.mmap, parent: int) -> None:
    """Play ``request`` and tell the process ``parent`` at ``connection``; never returns.

    ``clock``: 8 bytes shared with the parent, the simulated time as an int64.
    """
    status = 1
    # What the parent held lives as long as this process: a search for garbage need not look through it, nor copy its
    # pages by doing so.
    gc.freeze()
    try:
        _follow(parent)
        line = Line(connection)
        _talk_through(line)
        _send_outcome(request, watch, line, clock)
        status = 0
    except BaseException:
        # Nobody is there to be told but whoever reads standard error, which the parent does.
        os.write(2, traceback.format_exc().encode("utf-8", "replace"))
    finally:
        os._exit(status)


def _send_outcome(request: RunRequest, watch: Watch, line: Line, clock: mmap.mmap) -> None:
    try:
        watch.begin_in_child()
        line.send(channel.Done(play_and_tell(replace(request, progress=None), watch, line, clock)))
    except KeyboardInterrupt:
        line.send(channel.Failed(Interrupted("interrupted while the run was set up; nothing was saved"), ""))
    except AstraNs3Error as error:
        line.send(channel.Failed(_plain(error), traceback.format_exc()))
    except BaseException as error:
        summary = f"{type(error).__name__}: {error}"
        line.send(channel.Raised(_pickled(error), summary, traceback.format_exc()))


def play_and_tell(
    request: RunRequest, watch: Watch, line: Line, clock: mmap.mmap, *, process_ends: bool = True
) -> Played:
    """Play ``request`` in this process and tell who is at the other end of ``line`` how it gets on; what it left."""
    reporter = ParentReporter(line, clock, watch)
    if isinstance(request.on_built, HookFile):
        request.on_built.load()
    reporter.stage("reading the files")
    tenants = load_tenants(request, tell=reporter.stage)
    line.send(channel.Described(tuple(map(describe, tenants))))
    answer: Recorder = Inbox(line.connection).receive()
    recorder = recorder_options(answer.directory, answer.record, ParentTables(line))
    return _without_ties(play(request, tenants, recorder, watch, reporter, process_ends=process_ends))


def _without_ties(played: Played) -> Played:
    return played if played.error is None else replace(played, error=_plain(played.error))


class ParentReporter:
    """Tells the parent how the run gets on, and raises KeyboardInterrupt in it when a signal asks it to end."""

    def __init__(self, line: Line, clock: mmap.mmap, watch: Watch) -> None:
        self._line = line
        self._clock = clock
        self._start_bytes = watch.start_bytes
        self._watch = watch
        self._snapshots: SnapshotTaker | None = None
        self._hand_over_rows: Callable[[], None] | None = None
        self._asked_to_stop = False
        for number in STOP_SIGNALS:
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, self._note)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, STOP_SIGNALS)

    def _note(self, *_: object) -> None:
        # During the set-up the parent ends this process; an exception could be swallowed on its way out of native code.
        self._asked_to_stop = True

    def stage(self, name: str) -> None:
        """A part of the set-up begins."""
        self._line.send(channel.Stage(name))

    def begun(self, company: Company, network: NetworkBackend, setup_seconds: float) -> None:
        """All is set up."""
        network.show_time_at(ctypes.addressof(ctypes.c_int64.from_buffer(self._clock)))
        drivers = [member.driver for member in company.members]
        self._snapshots = SnapshotTaker(drivers, network, outcomes=company.outcomes)
        self._hand_over_rows = company.hand_over_rows
        network.before_hook = self._send_snapshot
        self._send_snapshot()
        self._line.send(channel.Begun(setup_seconds, self._start_bytes))

    def beat(self, progress: Progress) -> None:
        """The run goes on."""
        if self._asked_to_stop:
            raise KeyboardInterrupt
        self._watch.check()
        if self._hand_over_rows is not None:
            self._hand_over_rows()
        self._send_snapshot()
        self._line.send(progress)

    def finish(self) -> None:
        """The run is over, well or not."""
        self._line.send(channel.Finishing())

    def results(self, played: Played) -> None:
        """Send what the run left; only the hook's end function is still to be called."""
        self._line.send(channel.Results(_without_ties(played)))

    def _send_snapshot(self) -> None:
        assert self._snapshots is not None
        snapshot = self._snapshots.take_if_due()
        if snapshot is not None:
            self._line.send(snapshot)


class ParentTables:
    """A TableSink that hands all rows to the parent."""

    def __init__(self, line: Line) -> None:
        self._line = line

    def open(self, table: RecordedTable) -> None:
        """Rows of ``table`` will come."""
        self._line.send(table)

    def label(self, name: str, column: str, number: int, text: str) -> None:
        """Hand over a text."""
        self._line.send(channel.NewLabel(name, column, number, text))

    def write(self, name: str, columns: Columns) -> None:
        """Hand over rows."""
        self._line.send(channel.Rows(name, columns))

    def failed(self, file: str, reason: str) -> None:
        """A file could not be written whole."""
        self._line.send(channel.FileFailed(file, reason))

    def close(self) -> None:
        """No more rows will come."""
        self._line.send(channel.CloseTables())


class _ParentLog(logging.Handler):
    """Hands log messages to the parent, whose handlers show them."""

    def __init__(self, line: Line) -> None:
        super().__init__()
        self._line = line

    def emit(self, record: logging.LogRecord) -> None:
        """Hand over one record."""
        self._line.send(channel.Log(record.name, record.levelno, self.format(record)))


class _ParentStream(RawIOBase):
    """Hands what Python prints to the parent; what a process forked from here prints goes where native code's does."""

    def __init__(self, line: Line, stream: str, file: int) -> None:
        self._line = line
        self._stream = stream
        self._file = file
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode

    def write(self, data: Any) -> int:  # any buffer; collections.abc.Buffer comes with Python 3.12
        """Hand over ``data``."""
        whole = bytes(data)
        if self._line.is_ours:
            self._line.send(channel.Printed(self._stream, self._decode(whole)))
            return len(whole)
        return os.write(self._file, whole)

    def writable(self) -> bool:
        """It is."""
        return True

    def fileno(self) -> int:
        """The file that native code writes to."""
        return self._file


def _talk_through(line: Line) -> None:
    """Send what is logged and printed in Python through ``line``, in order with everything else."""
    logger = logging.getLogger("astra_ns3")
    for handler in list(logger.handlers):
        logger.removeHandler(handler)
    logger.addHandler(_ParentLog(line))
    logger.propagate = False
    # Unbuffered, as `python -u` has it: the process ends without a flush.
    sys.stdout = TextIOWrapper(_ParentStream(line, "stdout", 1), "utf-8", write_through=True)
    sys.stderr = TextIOWrapper(_ParentStream(line, "stderr", 2), "utf-8", write_through=True)


def _follow(parent: int) -> None:
    """End with the parent, whatever that ends of; and be the one to go when memory runs out."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)  # it ended before it could be followed
    try:
        Path("/proc/self/oom_score_adj").write_text(_KILLED_FIRST, encoding="ascii")
    except OSError:
        return  # not every system lets a process say so; the run needs it not


def _plain(error: AstraNs3Error) -> AstraNs3Error:
    """The error as the nearest kind of ours, without what hangs on it: a user's own kind is not known elsewhere."""
    kind = next(kind for kind in type(error).__mro__ if kind.__module__ == AstraNs3Error.__module__)
    plain = kind(str(error))
    assert isinstance(plain, AstraNs3Error)
    return plain


def _pickled(error: BaseException) -> bytes:
    """Nothing if it can't be."""
    try:
        return pickle.dumps(error)
    except Exception:
        return b""
