"""The child's side: plays the run in this process, reports to the parent, and ends the process.

It imports neither pandas nor pyarrow: rows of tables go to the parent, which writes the files. (ns-3 is GPL-2.0-only,
pyarrow Apache-2.0; they never share a process here.)
"""

from __future__ import annotations

import ctypes
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
from io import TextIOBase
from pathlib import Path

from astra_ns3.errors import AstraNs3Error, Interrupted
from astra_ns3.experiments.description import describe
from astra_ns3.experiments.hooks import HookFile
from astra_ns3.experiments.inputs import load_inputs
from astra_ns3.experiments.isolated import channel
from astra_ns3.experiments.isolated.channel import Inbox, Message, Recorder, send
from astra_ns3.experiments.isolated.interruption import STOP_SIGNALS
from astra_ns3.experiments.isolated.snapshot import SnapshotTaker
from astra_ns3.experiments.progress import Progress
from astra_ns3.experiments.request import RunRequest
from astra_ns3.experiments.session import Played, play
from astra_ns3.experiments.watch import Watch
from astra_ns3.network.api import NetworkBackend
from astra_ns3.network.recorded import Columns, RecordedTable
from astra_ns3.network.records import RecorderOptions
from astra_ns3.workload.driver import TrainingDriver

_PR_SET_PDEATHSIG = 1
_KILLED_FIRST = "500"
"""The kernel's out-of-memory score: of all processes this one is to go, not its parent."""


def serve(request: RunRequest, watch: Watch, connection: socket.socket, clock: mmap.mmap) -> None:
    """Play ``request`` and tell the parent at ``connection``; never returns.

    ``clock``: 8 bytes shared with the parent, the simulated time as an int64.
    """
    status = 1
    try:
        _follow_the_parent()
        _talk_to(connection)
        send(connection, _outcome(request, watch, connection, clock))
        status = 0
    except BaseException:
        # Nobody is there to be told but whoever reads standard error, which the parent does.
        os.write(2, traceback.format_exc().encode("utf-8", "replace"))
    finally:
        os._exit(status)


def _outcome(request: RunRequest, watch: Watch, connection: socket.socket, clock: mmap.mmap) -> Message:
    try:
        return channel.Done(_play(replace(request, process_ends=True, progress=None), watch, connection, clock))
    except KeyboardInterrupt:
        return channel.Failed(Interrupted("interrupted while the run was set up; nothing was saved"), "")
    except AstraNs3Error as error:
        return channel.Failed(_plain(error), traceback.format_exc())
    except BaseException as error:
        summary = f"{type(error).__name__}: {error}"
        return channel.Raised(error if _crosses(error) else None, summary, traceback.format_exc())


def _play(request: RunRequest, watch: Watch, connection: socket.socket, clock: mmap.mmap) -> Played:
    reporter = ParentReporter(connection, clock, watch)
    if isinstance(request.on_built, HookFile):
        request.on_built.load()
    reporter.stage("reading the files")
    inputs = load_inputs(
        request.workload,
        request.system,
        request.network,
        comm_scale=request.comm_scale,
        compute_scale=request.compute_scale,
        options=request.options,
    )
    send(connection, describe(inputs))
    answer: Recorder = Inbox(connection).receive()
    recorder = RecorderOptions(answer.directory, answer.flows, ParentTables(connection))
    played = play(request, inputs, recorder, watch, reporter)
    return played if played.error is None else replace(played, error=_plain(played.error))


class ParentReporter:
    """Tells the parent how the run gets on, and raises KeyboardInterrupt in it when a signal asks it to end."""

    def __init__(self, connection: socket.socket, clock: mmap.mmap, watch: Watch) -> None:
        self._connection = connection
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
        send(self._connection, channel.Stage(name))

    def begun(self, driver: TrainingDriver, network: NetworkBackend, setup_seconds: float) -> None:
        """All is set up."""
        show = getattr(network, "show_time_at", None)
        if show is not None:
            show(ctypes.addressof(ctypes.c_int64.from_buffer(self._clock)))
        self._snapshots = SnapshotTaker(driver, network)
        self._hand_over_rows = getattr(network, "hand_over_rows", None)
        self._send_snapshot()
        send(self._connection, channel.Begun(setup_seconds, self._start_bytes))

    def beat(self, progress: Progress) -> None:
        """The run goes on."""
        if self._asked_to_stop:
            raise KeyboardInterrupt
        self._watch.check()
        if self._hand_over_rows is not None:
            self._hand_over_rows()
        self._send_snapshot()
        send(self._connection, channel.Beat(progress))

    def finish(self) -> None:
        """The run is over, well or not."""
        send(self._connection, channel.Finishing())

    def _send_snapshot(self) -> None:
        assert self._snapshots is not None
        snapshot = self._snapshots.take_if_due()
        if snapshot is not None:
            send(self._connection, snapshot)


class ParentTables:
    """A TableSink that hands all rows to the parent."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection

    def open(self, table: RecordedTable) -> None:
        """Rows of ``table`` will come."""
        send(self._connection, channel.OpenTable(table))

    def write(self, name: str, columns: Columns) -> None:
        """Hand over rows."""
        send(self._connection, channel.Rows(name, columns))

    def failed(self, file: str, reason: str) -> None:
        """A file could not be written whole."""
        send(self._connection, channel.FileFailed(file, reason))

    def close(self) -> None:
        """No more rows will come."""
        send(self._connection, channel.CloseTables())


class _ParentLog(logging.Handler):
    """Hands log messages to the parent, whose handlers show them."""

    def __init__(self, connection: socket.socket) -> None:
        super().__init__()
        self._connection = connection

    def emit(self, record: logging.LogRecord) -> None:
        """Hand over one record."""
        send(self._connection, channel.Log(record.name, record.levelno, self.format(record)))


class _ParentStream(TextIOBase):
    """Hands what Python prints to the parent."""

    def __init__(self, connection: socket.socket, stream: str) -> None:
        self._connection = connection
        self._stream = stream

    def write(self, text: str) -> int:
        """Hand over ``text``."""
        if text:
            send(self._connection, channel.Printed(self._stream, text))
        return len(text)

    def writable(self) -> bool:
        """It is."""
        return True


def _talk_to(connection: socket.socket) -> None:
    """Send what is logged and printed in Python through ``connection``, in order with everything else."""
    logger = logging.getLogger("astra_ns3")
    for handler in list(logger.handlers):
        logger.removeHandler(handler)
    logger.addHandler(_ParentLog(connection))
    logger.propagate = False
    sys.stdout = _ParentStream(connection, "stdout")
    sys.stderr = _ParentStream(connection, "stderr")


def _follow_the_parent() -> None:
    """End with the parent, whatever that ends of; and be the one to go when memory runs out."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    try:
        Path("/proc/self/oom_score_adj").write_text(_KILLED_FIRST, encoding="ascii")
    except OSError:
        return  # not every system lets a process say so; the run needs it not


def _plain(error: AstraNs3Error) -> AstraNs3Error:
    """The error without what hangs on it, which may not cross to another process."""
    return type(error)(str(error))


def _crosses(error: BaseException) -> bool:
    try:
        return isinstance(pickle.loads(pickle.dumps(error)), type(error))
    except Exception:
        return False
