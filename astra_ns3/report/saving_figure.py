"""Writing a figure of matplotlib's into a file, such that equal figures give equal files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from astra_ns3.whole_file import whole_file

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_DATED = {".svg": "Date", ".pdf": "CreationDate"}


def save_figure(figure: Figure, target: str, **options: Any) -> None:
    """Write it in the format of the file's ending, without a date; ``options``: savefig's. Raises InputError."""
    date = _DATED.get(Path(target).suffix)
    with whole_file(target) as partial:
        figure.savefig(partial, metadata={} if date is None else {date: None}, **options)
