"""Every error this package raises on purpose, and the forms of what it says about wrong input.

Each error knows the exit status that the command line gives it. An error of input is one line: where, what was found,
what is allowed, the nearest valid word. The functions below give the forms; the special words stand where they are
called. A function that only checks raises the error itself. ``where`` comes last: left out, a caller that knows the
file adds it by :func:`located`.
"""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar


class AstraNs3Error(Exception):
    """Base of all; the message is one line a person can act on."""

    exit_status = 1
    result: Any = None  # a Result: its class is on a higher floor
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


# Letters with which a word says which longer one it is meant to begin.
_TELLING = 3
# Keys by what other programs call them.
_ELSEWHERE = {"bandwidth": "rate", "latency": "delay", "batch_size": "global_batch"}


def nearest(word: str, allowed: Iterable[str]) -> str:
    """``"; did you mean 'x'?"`` for the nearest allowed word, or an empty string.

    If some are ``word`` behind a point, as keys in groups are, it is the nearest of these; else of those that go on
    where ``word`` ends, of three letters at least.
    """
    by_lower, begun = {candidate.lower(): candidate for candidate in allowed}, word.lower()
    if _ELSEWHERE.get(begun) in by_lower:
        begun = _ELSEWHERE[begun]
    longer = [candidate for candidate in by_lower if candidate.endswith(f".{begun}")]
    longer = longer or [each for each in by_lower if len(word) >= _TELLING and each.startswith(begun)]
    matches = difflib.get_close_matches(begun, longer or by_lower, n=1, cutoff=0.0 if longer else 0.6)
    return f"; did you mean '{by_lower[matches[0]]}'?" if matches else ""


@dataclass(frozen=True)
class Where:
    """A line of a file; it prints as ``file:line``, and as the file alone if the line is unknown (0)."""

    file: str | os.PathLike[str]
    line: int = 0

    def __str__(self) -> str:
        file = os.fspath(self.file)
        return f"{file}:{self.line}" if self.line else file


Location = Where | str | os.PathLike[str]
_Given = TypeVar("_Given")
_Value = TypeVar("_Value")
# A quoted value that is long, and a word longer than any file's name.
_LONG = re.compile(r"""(?<!\w)(['"])([^'"]{160})([^'"]{41,})\1(?!\w)|()([^\s/'"]{160})([^\s/'"]{141,})""")


def wrong(words: str, where: Location = "") -> InputError:
    """Return the error that says ``words`` of a place; see :func:`shorten`."""
    location = str(where) if isinstance(where, Where) else os.fspath(where)
    return InputError(shorten(f"{location}: {words}" if location else words))


def some_of(words: Iterable[str], most: int = 8, between: str = ", ", more: str = " and") -> str:
    """Return the first ``most`` words, and how many more there are."""
    every = list(words)
    return between.join(every[:most]) + (f"{more} {len(every) - most} more" if len(every) > most else "")


def shorten(line: str) -> str:
    """Return ``line`` with the first letters of each long value that a user gave, and how many more there are."""
    return _LONG.sub(_cut, line)


def _cut(found: re.Match[str]) -> str:
    mark, begin, rest = (part for part in found.groups() if part is not None)
    return f"{mark}{begin}...{mark} ({len(rest):,} more letters)"


def refuse(condition: bool, words: str, where: Location = "") -> None:
    """Raise :func:`wrong` if ``condition`` holds.

    The words are made even if the condition doesn't hold. Use ``if`` and ``raise wrong`` where many things are checked,
    and for words that show what a user gave: its ``repr`` can be large, or fail.
    """
    if condition:
        raise wrong(words, where)


def required(value: _Value | None, words: str, where: Location = "") -> _Value:
    """Return ``value``, which must be there; raise :func:`wrong` if it is None."""
    if value is None:
        raise wrong(words, where)
    return value


def of_type(value: _Given, kind: type[_Value], words: str, where: Location = "") -> _Value:
    """Return ``value``, which must be of ``kind``; raise :func:`wrong` if it isn't."""
    if not isinstance(value, kind):
        raise wrong(words, where)
    return value


def unknown(what: str, word: str, allowed: Collection[str], where: Location = "") -> InputError:
    """Return the error of a word that is none of the allowed ones, with the nearest of these."""
    listed = f"{', '.join(allowed)}{nearest(word, allowed)}"
    return wrong(f"{what} '{word}' is not one of {listed}", where)


def check_known(what: str, word: str, allowed: Collection[str], where: Location = "") -> None:
    """Raise :func:`unknown` if a word is none of the allowed ones."""
    if word not in allowed:
        raise unknown(what, word, allowed, where)


def one_of(what: str, word: str, allowed: Mapping[str, _Value], where: Location = "") -> _Value:
    """Return the value that a table has for a word; raise :func:`unknown` if it has none."""
    check_known(what, word, allowed, where)
    return allowed[word]


def in_range(name: str, value: float, least: float, most: float | None = None, where: Location = "") -> None:
    """Raise the error of a number that is below ``least`` or above ``most``."""
    if value < least or (most is not None and value > most):
        allowed = f"at least {least}" if most is None else f"{least} to {most}"
        raise wrong(f"{name} is {value}, expected {allowed}", where)


def whole_number(name: str, value: _Value, least: int, most: int | None = None, where: Location = "") -> int:
    """Return ``value`` as a whole number in the range; raise the error of one that Python code gave otherwise."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least or (most is not None and value > most):
        allowed = f", at least {least}" if most is None else f" from {least} to {most}"
        raise wrong(f"{name} is {value!r}, expected a whole number{allowed}", where)
    return value


def of_npus(name: str, npu: int, npus: int, where: Location = "") -> None:
    """Raise the error of an NPU that isn't there."""
    if not 0 <= npu < npus:
        raise wrong(f"{name} is {npu}, expected one of {npus} NPUs, 0 to {npus - 1}", where)


def ends_in(what: str, path: str, endings: Iterable[str]) -> None:
    """Raise the error of a file whose name has none of the endings."""
    allowed = tuple(endings)
    if not path.endswith(allowed):
        raise wrong(f"{what} ends in {', '.join(allowed)}", path)


@contextmanager
def located(where: Location) -> Iterator[None]:
    """Put ``where`` in front of errors of input that are raised inside."""
    try:
        yield
    except InputError as error:
        raise wrong(str(error), where) from error


@contextmanager
def failing(kinds: type[Exception] | tuple[type[Exception], ...], words: str, where: Location = "") -> Iterator[None]:
    """Raise the error that says ``words`` and the reason for what is raised inside and is of ``kinds``."""
    try:
        yield
    except kinds as error:
        raise wrong(f"{words}: {getattr(error, 'strerror', None) or error}", where) from error


@contextmanager
def needing(package: str, what: str) -> Iterator[None]:
    """Raise the error of a package that isn't installed; ``what`` says who needs it, with its verb."""
    try:
        yield
    except ImportError as error:
        raise wrong(f"{what} {package}, which is not installed; 'pip install {package}' gives it") from error
