"""Gives a started program the usual signals, whatever this one has: what a shell starts with `&` ignores Ctrl-C."""

from __future__ import annotations

import signal


def usual_signals() -> None:
    """For ``preexec_fn``."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
