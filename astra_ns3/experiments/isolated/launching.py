"""How a run's child comes into being: forked from this process, or by another one that is asked to."""

from __future__ import annotations

import mmap
import os
import signal
import socket
import sys
import warnings
from collections.abc import Callable
from contextlib import suppress
from functools import partial

from astra_ns3.experiments.isolated.child import serve
from astra_ns3.experiments.isolated.interruption import STOP_SIGNALS
from astra_ns3.experiments.isolated.process import Child, ChildProcess
from astra_ns3.experiments.request import RunRequest
from astra_ns3.experiments.watch import Watch
from astra_ns3.frozen import dataclass


@dataclass(frozen=True)
class ChildEnds:
    """The ends that a child is given: it owns none of it, whoever made it closes it once the child is there."""

    connection: socket.socket
    errors: int
    """The file that becomes its standard error."""
    clock: int
    """A file of one page: the simulated time is written there, an int64."""
    leave: Callable[[], None]
    """To be called in a process that is forked from the one that made this: closes what is that one's alone."""


Launch = Callable[[ChildEnds], Child]
"""Starts a child; raises OSError or BackendError if that is not possible."""
Launcher = Callable[[RunRequest, Watch], Launch]
"""A way to start the child that plays a request."""


def forked(request: RunRequest, watch: Watch) -> Launch:
    """The child is forked from this process."""
    return partial(_fork_here, request, watch)


def _fork_here(request: RunRequest, watch: Watch, ends: ChildEnds) -> ChildProcess:
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):
            stream.flush()
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, STOP_SIGNALS)
    parent = os.getpid()
    try:
        pid = _fork()
        if pid == 0:
            ends.leave()
            os.dup2(ends.errors, 2)
            os.close(ends.errors)
            clock = mmap.mmap(ends.clock, mmap.PAGESIZE)
            os.close(ends.clock)
            serve(request, watch, ends.connection, clock, parent)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
    return ChildProcess(pid)


def _fork() -> int:
    """As ``os.fork``, without Python 3.12's warning of threads in the caller: the child uses nothing that they hold."""
    if sys.version_info < (3, 12):
        return os.fork()
    before = list(warnings.filters)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        pid = os.fork()
        if pid == 0:
            warnings.filters[:] = before
    return pid
