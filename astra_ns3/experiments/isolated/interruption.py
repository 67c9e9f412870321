"""Ctrl-C, SIGTERM and SIGHUP while a child plays: noted at once, passed on, and never in the way of the saving."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""The signals that end a program that does nothing about them: Ctrl-C, a batch system, a terminal that is closed."""


Handler = Callable[[int, FrameType | None], None] | int | None


class Interruption:
    """A context in which signals that would end the program are only noted.

    A signal that is ignored when it begins, as ``nohup`` has it, stays ignored. In another thread than the main one
    Python lets nobody handle signals: nothing is noted there.
    """

    def __init__(self, *, noting: bool = True) -> None:
        """``noting=False``: change nothing."""
        self._noting = noting
        self.noted_at: float | None = None
        """When the first one came, of the monotonic clock; None: none has."""
        self.times = 0
        """How many have come."""
        self.passed_on = False
        self.number = signal.SIGINT
        """The first one."""
        self._raises = False
        self._before: dict[signal.Signals, Handler] = {}

    def __enter__(self) -> Interruption:
        if self._noting and threading.current_thread() is threading.main_thread():
            for number in STOP_SIGNALS:
                if callable(signal.getsignal(number)):
                    self._before[number] = signal.signal(number, self._note)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    @contextmanager
    def raising(self) -> Iterator[None]:
        """While something may wait for ever for somebody else, a signal raises KeyboardInterrupt there besides."""
        self._raises = True
        try:
            yield
        finally:
            self._raises = False

    def _note(self, number: int, _frame: FrameType | None) -> None:
        self.times += 1
        if self.noted_at is None:
            self.noted_at = time.monotonic()
            self.number = signal.Signals(number)
        if self._raises:
            self._raises = False
            raise KeyboardInterrupt
