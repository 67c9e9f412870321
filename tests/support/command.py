"""The installed command in a process of its own, forked from this one: what takes seconds to load is loaded once.

Everything that a user's process has is there: standard streams, a working folder, signals, a status. What is not: a
fresh interpreter. Tests of start-up, of what is loaded, and of streams that are closed start one, by :data:`PROGRAM`.
"""

from __future__ import annotations

import faulthandler
import gc
import importlib
import logging
import os
import pkgutil
import select
import signal
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from subprocess import TimeoutExpired
from typing import IO, NoReturn

import pytest

import astra_ns3
from astra_ns3 import cli, planning, report
from astra_ns3.experiments.isolated.warming import warm_up
from support.small_run import small_network, small_system, small_workload
from support.usual_signals import usual_signals

PROGRAM = [sys.executable, "-c", "from astra_ns3.cli.entry import main; main()"]
"""The command in a fresh interpreter."""
TIMEOUT_SECONDS = 120
"""A run of the sizes here takes two seconds; a hang must not hold up the tests for ever."""
NEEDS_HEADERS = pytest.mark.xdist_group("ns-3's headers")
"""Tests that load ns-3's headers, which takes seconds and 400 MB: one process plays them all."""
_BROKEN_STATUS = 70


@dataclass(frozen=True)
class Finished:
    """What a command left behind."""

    returncode: int
    stdout: str
    stderr: str


class Command:
    """A command that was started; ``words`` are those behind its name."""

    def __init__(
        self,
        words: Sequence[str],
        *,
        folder: Path | None = None,
        stdout: IO[str] | None = None,
        before: Callable[[], None] = lambda: None,
        program: Callable[[], None] | None = None,
        headers: bool = False,
    ) -> None:
        """In ``folder``, its output to ``stdout`` if given, after ``before()``; with ns-3's ``headers`` for a hook.

        ``program``: played in the place of the command.
        """
        load_once()
        if headers:
            load_headers_once()
        self._streams = [tempfile.TemporaryFile("w+", encoding="utf-8") for _ in range(2)]  # noqa: SIM115
        files = [stdout or self._streams[0], self._streams[1]]
        sys.stdout.flush()
        sys.stderr.flush()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of Python 3.12, about threads in this process
            self.pid = os.fork()
        if self.pid == 0:
            _be(program or _play_command, words, folder, [file.fileno() for file in files], before)
        self.returncode: int | None = None
        self._ended = os.pidfd_open(self.pid)

    def poll(self) -> int | None:
        """Its status if it has ended, minus the signal that ended it."""
        if self.returncode is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self._keep(status)
        return self.returncode

    def send_signal(self, number: signal.Signals) -> None:
        """Send it a signal, if it still lives."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def finish(self, timeout: float = TIMEOUT_SECONDS) -> Finished:
        """Wait for its end; raises TimeoutExpired, and ends it, if that is not soon."""
        if self.returncode is None:
            waiting = select.poll()
            waiting.register(self._ended, select.POLLIN)
            late = not waiting.poll(1000 * timeout)
            if late:
                os.kill(self.pid, signal.SIGKILL)
            self._keep(os.waitpid(self.pid, 0)[1])
            if late:
                raise TimeoutExpired("astra-ns3", timeout)
        assert self.returncode is not None
        out, err = (_contents(stream) for stream in self._streams)
        return Finished(self.returncode, out, err)

    def _keep(self, status: int) -> None:
        self.returncode = os.waitstatus_to_exitcode(status)
        os.close(self._ended)


def run_command(
    *words: str,
    folder: Path | None = None,
    stdout: IO[str] | None = None,
    before: Callable[[], None] = lambda: None,
    headers: bool = False,
    timeout: float = TIMEOUT_SECONDS,
) -> Finished:
    """Start a command and wait for its end."""
    return Command(words, folder=folder, stdout=stdout, before=before, headers=headers).finish(timeout)


def run_program(text: str, *, folder: Path) -> Finished:
    """Play a program of Python's, which may have a hook."""

    def play() -> None:
        exec(compile(text, "<program>", "exec"), {"__name__": "__main__"})

    return Command((), folder=folder, program=play, headers=True).finish()


@cache
def load_once() -> None:
    """Load what a run loads, by a run, and ns-3, by warming it up: a run of a command is forked from here."""
    warm_up(hooks=False, controls=())
    gc.unfreeze()  # this process goes on with other tests
    with tempfile.TemporaryDirectory() as folder:
        astra_ns3.run(
            workload=small_workload(),
            system=small_system(),
            network=small_network(),
            output=Path(folder) / "out",
            record=["flows"],
        ).flows.to_string()
    for room in (cli, planning, report):  # each command loads its own rooms when it is called
        for module in pkgutil.walk_packages(room.__path__, f"{room.__name__}."):
            importlib.import_module(module.name)
    for name in ("astra_ns3.studies.run_study", "matplotlib.pyplot", "scipy.optimize"):
        importlib.import_module(name)


@cache
def load_headers_once() -> None:
    """Load ns-3's headers."""
    from astra_ns3.network.door.hooking import load_namespace

    load_namespace()


def _play_command() -> None:
    from astra_ns3.cli.entry import main

    main()


def _be(
    program: Callable[[], None],
    words: Sequence[str],
    folder: Path | None,
    files: Sequence[int],
    before: Callable[[], None],
) -> NoReturn:
    """As a fresh interpreter would, with nothing of pytest's but its environment."""
    status = _BROKEN_STATUS
    try:
        _take_streams(files)
        usual_signals()
        faulthandler.disable()
        for number in (signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGABRT):
            signal.signal(number, signal.SIG_DFL)
        logging.root.handlers.clear()
        logging.root.setLevel(logging.WARNING)
        warnings.resetwarnings()
        warnings.simplefilter("ignore", DeprecationWarning)
        if folder is not None:
            os.chdir(folder)
        before()
        sys.argv = ["astra-ns3", *words]
        program()
        status = 0
    except SystemExit as ending:
        status = ending.code if isinstance(ending.code, int) else 0 if ending.code is None else 1
    except BaseException:
        traceback.print_exc()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def _take_streams(files: Sequence[int]) -> None:
    nothing = os.open(os.devnull, os.O_RDONLY)
    for number, file in enumerate((nothing, *files)):
        os.dup2(file, number)
    sys.stdin = os.fdopen(0, "r", closefd=False)
    sys.stdout = os.fdopen(1, "w", closefd=False)
    sys.stderr = os.fdopen(2, "w", buffering=1, closefd=False)


def _contents(stream: IO[str]) -> str:
    stream.seek(0)
    text = stream.read()
    stream.close()
    return text
