"""Output of the command line: results on standard output; errors, warnings and logs on standard error."""

from __future__ import annotations

import json
import logging
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stdout, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import TextIO

import click

from astra_ns3.errors import ResultsNotSaved, wrong

_NAME = "astra-ns3"
LOG_LEVELS = ("debug", "info", "warning", "error")
_RESULTS: ContextVar[TextIO | None] = ContextVar("results", default=None)  # None: standard output


@contextmanager
def prints_aside() -> Iterator[None]:
    """Meanwhile print on standard error what users' code prints, so that standard output has our results alone."""
    token = _RESULTS.set(sys.stdout)
    try:
        with redirect_stdout(sys.stderr):
            yield
    finally:
        _RESULTS.reset(token)


def print_failure(
    message: str, kind: str, exit_status: int, as_json: bool, more: Mapping[str, object] | None = None
) -> None:
    """One line on standard error; with ``as_json`` also an object on standard output, holding ``more`` besides."""
    line = " ".join(message.split())
    tell(f"{_NAME}: error: {line}")
    if as_json:
        print_json({**(more or {}), "error": line, "kind": kind, "exit_status": exit_status})


def print_json(document: Mapping[str, object]) -> None:
    """``document`` on standard output."""
    show(json.dumps(document, indent=2))


def print_result(document: Mapping[str, object], *lines: str, as_json: bool) -> None:
    """Print what a command that went well has to say: ``document`` as JSON, or the ``lines`` that aren't empty."""
    if as_json:
        print_json({**document, "exit_status": 0})
    else:
        show("\n".join(filter(None, lines)))


def show(text: str) -> None:
    """``text`` on standard output; raises ResultsNotSaved if it can't be written. A reader that has gone wants none."""
    try:
        click.echo(text, file=_RESULTS.get())
    except BrokenPipeError:
        sys.stdout = _nowhere()
    except OSError as error:
        sys.stdout = _nowhere()
        raise output_failed(error) from error


def tell(text: str) -> None:
    """``text`` on standard error; if it can't be written there, there is nobody to be told."""
    try:
        click.echo(text, err=True)
    except OSError:
        sys.stderr = _nowhere()


@contextmanager
def folder_for(output: str) -> Iterator[None]:
    """Make the folders that a file is written into; those that were made go again if writing it fails.

    Raises InputError if one can't be made.
    """
    missing = [folder for folder in Path(output).parents if not folder.exists()]
    made: list[Path] = []
    try:
        for folder in reversed(missing):
            folder.mkdir(exist_ok=True)
            made.insert(0, folder)
        yield
    except BaseException as error:
        for folder in made:
            with suppress(OSError):
                folder.rmdir()
        if isinstance(error, OSError) and len(made) < len(missing):
            raise wrong(f"cannot be written: {error.strerror or error}", output) from error
        raise


def output_failed(error: OSError) -> ResultsNotSaved:
    """Standard output could not be written."""
    return ResultsNotSaved(f"standard output can't be written: {error.strerror or error}")


def _nowhere() -> TextIO:
    return Path(os.devnull).open("w", encoding="utf-8")


def show_logs(level: str) -> None:
    """Let the package's log messages of ``level`` and above appear on standard error."""
    logger = logging.getLogger("astra_ns3")
    for handler in [handler for handler in logger.handlers if isinstance(handler, _EchoHandler)]:
        logger.removeHandler(handler)
    logger.addHandler(_EchoHandler())
    logger.setLevel(level.upper())


def log_warnings(*messages: str) -> None:
    """Log warnings of the command line's own."""
    for message in messages:
        logging.getLogger(__name__).warning("%s", message)


class _EchoHandler(logging.Handler):
    """Writes ``astra-ns3: warning: ...`` lines."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write one record."""
        tell(f"{_NAME}: {record.levelname.lower()}: {record.getMessage()}")
