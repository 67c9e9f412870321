"""Tries something of the user's in a child process: what it dies of, this process hears of and lives."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable

from astra_ns3.errors import AstraNs3Error, BackendError, InputError, wrong

_FINE = b"\0"
_REFUSED = b"r"
_FAILED = b"f"


def try_in_child(check: Callable[[], object]) -> None:
    """Call ``check()`` in a child process; raises InputError or BackendError with what it raised or died of there."""
    read_end, write_end = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if child == 0:
        os.close(read_end)
        _answer(check, write_end)
    os.close(write_end)
    with os.fdopen(read_end, "rb") as answers:
        answer = answers.read()
    _, status = os.waitpid(child, 0)
    text = answer[1:].decode("utf-8", "replace")
    if answer.startswith(_REFUSED):
        raise wrong(text)
    if answer.startswith(_FAILED):
        raise BackendError(text)
    if not answer.startswith(_FINE):
        code = os.waitstatus_to_exitcode(status)
        how = f"with signal {signal.Signals(-code).name}" if code < 0 else f"with status {code}"
        raise wrong(f"the user's code could not be loaded: the process that tried ended {how}")


def _answer(check: Callable[[], object], write_end: int) -> None:
    """The child's whole life: never returns."""
    try:
        try:
            check()
            answer = _FINE
        except InputError as error:
            answer = _REFUSED + str(error).encode("utf-8", "replace")
        except AstraNs3Error as error:
            answer = _FAILED + str(error).encode("utf-8", "replace")
        except Exception as error:
            answer = _FAILED + f"{type(error).__name__}: {error}".encode("utf-8", "replace")
        sys.stdout.flush()
        os.write(write_end, answer[:65536])
    finally:
        os._exit(0)
