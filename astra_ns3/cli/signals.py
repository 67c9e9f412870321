"""Signals that end the program.

One that finds nothing to be saved ends the process at once, here, in the handler. An exception would have to find its
way through whatever code runs at that moment, and native code swallows some. While a run is played, signals are noted
instead (:mod:`astra_ns3.experiments.isolated.interruption`), and what is done is saved.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from types import FrameType

INTERRUPTED = 130
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def end_at_signals() -> None:
    """From here on one of them ends the process.

    Batch systems end a job with SIGTERM, a terminal with SIGHUP. Whoever has one of them ignored (nohup) wants that.
    """
    for number in _SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _end)


def run_is_over() -> None:
    """From here on a signal that ends the process doesn't say that nothing was saved."""
    for number in _SIGNALS:
        if signal.getsignal(number) is _end:
            signal.signal(number, _end_afterwards)


def _end(_signal: int, _frame: FrameType | None) -> None:
    """Say that it was interrupted before there was anything to save, and end the process."""
    _say_and_end("interrupted; nothing was saved" if "run" in sys.argv[1:2] else "interrupted")


def _end_afterwards(_signal: int, _frame: FrameType | None) -> None:
    _say_and_end("interrupted")


def _say_and_end(message: str) -> None:
    """Say it as every failure is said."""
    os.write(2, f"astra-ns3: error: {message}\n".encode())
    if "--json" in sys.argv:
        said = {"error": message, "kind": "Interrupted", "exit_status": INTERRUPTED}
        os.write(1, f"{json.dumps(said, indent=2)}\n".encode())
    os._exit(INTERRUPTED)
