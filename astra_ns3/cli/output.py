"""Where the command line writes: results on standard output; errors, warnings and logs on standard error."""

from __future__ import annotations

import json
import logging
from typing import Any

import click

_NAME = "astra-ns3"
LOG_LEVELS = ("debug", "info", "warning", "error")


def print_failure(message: str, kind: str, exit_status: int, as_json: bool, more: dict[str, Any] | None = None) -> None:
    """One line on standard error; with ``as_json`` also an object on standard output, holding ``more`` besides."""
    line = " ".join(message.split())
    click.echo(f"{_NAME}: error: {line}", err=True)
    if as_json:
        print_json({**(more or {}), "error": line, "kind": kind, "exit_status": exit_status})


def print_json(document: dict[str, Any]) -> None:
    """``document`` on standard output."""
    click.echo(json.dumps(document, indent=2))


def show_logs(level: str) -> None:
    """Let the package's log messages of ``level`` and above appear on standard error."""
    logger = logging.getLogger("astra_ns3")
    for handler in [handler for handler in logger.handlers if isinstance(handler, _EchoHandler)]:
        logger.removeHandler(handler)
    logger.addHandler(_EchoHandler())
    logger.setLevel(level.upper())


def log_warning(message: str) -> None:
    """A warning of the command line's own."""
    logging.getLogger(__name__).warning("%s", message)


class _EchoHandler(logging.Handler):
    """Writes ``astra-ns3: warning: ...`` lines."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write one record."""
        click.echo(f"{_NAME}: {record.levelname.lower()}: {record.getMessage()}", err=True)
