"""Writing a figure of matplotlib's into a file, such that equal figures give equal files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from astra_ns3.errors import InputError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_DATED = {".svg": "Date", ".pdf": "CreationDate"}


def save_figure(figure: Figure, target: str, **options: Any) -> None:
    """Write it in the format of the file's ending, without a date; ``options``: savefig's. Raises InputError."""
    date = _DATED.get(Path(target).suffix)
    try:
        figure.savefig(target, metadata={} if date is None else {date: None}, **options)
    except OSError as error:
        raise InputError(f"{target}: cannot be written: {error.strerror or error}") from error
