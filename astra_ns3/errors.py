"""Every error this package raises on purpose; each knows the exit status that the command line gives it."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any


class AstraNs3Error(Exception):
    """Base of all; the message is one line a person can act on."""

    exit_status = 1
    result: Any = None
    """The :class:`~astra_ns3.Result` of a run that stopped on its way: what it had done; None if it had not begun."""


class InputError(AstraNs3Error):
    """A file, key or argument is wrong: says where, what was found, what is allowed."""

    exit_status = 2


class HookFailed(InputError):
    """The user's own code, called from the simulation, raised something."""


class ProgramsDeadlock(InputError):
    """The programs of a training loop would wait for each other for ever; says in which circle."""


class ProgramMismatch(InputError):
    """Members of a communicator, or the two ends of a message, don't agree on what it is."""


class SimulationStalled(AstraNs3Error):
    """No event is left and NPUs still wait."""

    exit_status = 3


class LimitReached(AstraNs3Error):
    """A limit on simulated time, wall time or memory was reached."""

    exit_status = 4


class BackendError(AstraNs3Error):
    """ns-3, or the bridge to it, failed."""

    exit_status = 5


class ResultsNotSaved(AstraNs3Error):
    """A run was played, and its results could not be written whole: a full disk, say."""

    exit_status = 6


class PointsFailed(AstraNs3Error):
    """A study was played to its end, and some of its points failed."""

    exit_status = 7


class Interrupted(AstraNs3Error):
    """The user stopped the run (Ctrl-C)."""

    exit_status = 130


_TELLING = 3
"""Letters with which a word says which longer one it is meant to begin."""


def nearest(word: str, allowed: Iterable[str]) -> str:
    """``"; did you mean 'x'?"`` for the nearest allowed word, or an empty string.

    If some go on where ``word`` ends, of three letters at least, it is the nearest of these.
    """
    by_lower = {candidate.lower(): candidate for candidate in allowed}
    longer = [candidate for candidate in by_lower if len(word) >= _TELLING and candidate.startswith(word.lower())]
    matches = difflib.get_close_matches(word.lower(), longer or by_lower, n=1, cutoff=0.0 if longer else 0.6)
    return f"; did you mean '{by_lower[matches[0]]}'?" if matches else ""
