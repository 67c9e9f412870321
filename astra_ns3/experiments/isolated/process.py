"""A run's process as a thing to wait for, to signal and to end, whoever else in this process reaps children."""

from __future__ import annotations

import os
import resource
import select
import signal
import socket
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import suppress


class Child(ABC):
    """A run's process as its supervisor sees it, be it a child of this process or not.

    A caller may have SIGCHLD ignored, or a handler that reaps every child. Then nobody knows how this one ended, and
    its number ``pid`` may belong to somebody else by now: a pidfd stands for this process only.
    """

    def __init__(self, pid: int, file: int | None) -> None:
        self.pid = pid
        self.file = file
        """A descriptor to poll: it is readable once the child has ended; None: the kernel has no such thing."""
        self.usage: resource.struct_rusage | None = None
        """Its use of the machine; None until :meth:`wait` has found out."""
        self.at_end: list[Callable[[], None]] = []
        """The function that :meth:`wait` calls when the child has ended."""
        self._status: int | None = None
        self._ended = False

    @abstractmethod
    def is_dead(self) -> bool:
        """Whether it has ended."""

    @abstractmethod
    def _reap(self) -> None:
        """Wait for its end, and take down its status and its usage."""

    def send(self, number: signal.Signals) -> None:
        """Send it a signal, if it still lives."""
        with suppress(ProcessLookupError):
            if self.file is not None:
                signal.pidfd_send_signal(self.file, number)
            elif not self._ended and not self.is_dead():
                os.kill(self.pid, number)

    def wait(self) -> int | None:
        """Wait for its end; its status as of ``waitpid``, or None if nobody knows it."""
        if not self._ended:
            self._reap()
            self._ended = True
            if self.file is not None:
                os.close(self.file)
                self.file = None
        while self.at_end:
            self.at_end.pop()()
        return self._status


class ChildProcess(Child):
    """The child of this process with process id ``pid``."""

    def __init__(self, pid: int) -> None:
        try:
            file: int | None = os.pidfd_open(pid)
        except (AttributeError, OSError):  # an older kernel
            file = None
        super().__init__(pid, file)

    def is_dead(self) -> bool:
        """Whether it has ended."""
        if self.file is not None:
            return has_news(self.file)
        try:
            return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
        except ChildProcessError:
            return True

    def _reap(self) -> None:
        with suppress(ChildProcessError):  # somebody else has its status
            _, self._status, self.usage = os.wait4(self.pid, 0)


def has_news(file: socket.socket | int) -> bool:
    """Whether there is something to read, or the other end has closed."""
    waiting = select.poll()
    waiting.register(file, select.POLLIN)
    return bool(waiting.poll(0))
