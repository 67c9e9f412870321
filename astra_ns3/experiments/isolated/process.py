"""A forked child as a thing to wait for, to signal and to end, whoever else in this process reaps children."""

from __future__ import annotations

import os
import resource
import select
import signal
from contextlib import suppress


class ChildProcess:
    """The child with process id ``pid``.

    A caller may have SIGCHLD ignored, or a handler that reaps every child. Then nobody knows how this one ended, and
    its number may belong to somebody else by now: a pidfd stands for this process only.
    """

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self._ended = False
        self._status: int | None = None
        self.usage: resource.struct_rusage | None = None
        """What it took of the machine; None until :meth:`wait` has found out."""
        try:
            self._file: int | None = os.pidfd_open(pid)
        except (AttributeError, OSError):  # an older kernel
            self._file = None

    @property
    def file(self) -> int | None:
        """What can be polled: it is readable once the child has ended; None: the kernel has no such thing."""
        return self._file

    def is_dead(self) -> bool:
        """Whether it has ended."""
        if self._file is not None:
            waiting = select.poll()
            waiting.register(self._file, select.POLLIN)
            return bool(waiting.poll(0))
        try:
            return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
        except ChildProcessError:
            return True

    def send(self, number: signal.Signals) -> None:
        """Send it a signal, if it still lives."""
        with suppress(ProcessLookupError):
            if self._file is not None:
                signal.pidfd_send_signal(self._file, number)
            elif not self._ended:
                os.kill(self.pid, number)

    def wait(self) -> int | None:
        """Wait for its end; its status as of ``waitpid``, or None if somebody else has it."""
        if not self._ended:
            try:
                _, self._status, self.usage = os.wait4(self.pid, 0)
            except ChildProcessError:
                self._status = None
            self._ended = True
            if self._file is not None:
                os.close(self._file)
                self._file = None
        return self._status
