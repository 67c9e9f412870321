"""Draws a picture of a run and writes it: the one place that knows whether matplotlib is there."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from astra_ns3.errors import InputError
from astra_ns3.report.plots.kind import Choice, Kind
from astra_ns3.report.plots.style import SETTINGS
from astra_ns3.report.saving_figure import save_figure
from astra_ns3.report.tables import Records

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SUFFIXES = (".png", ".svg", ".pdf")


def drawn(kind: Kind, records: Records, choice: Choice) -> Figure:
    """The picture; raises InputError if matplotlib is missing or the picture can't be drawn so."""
    kind.check(records, choice)
    _require_matplotlib()
    import matplotlib as mpl

    with mpl.rc_context(SETTINGS):
        figure = kind.draw(records, choice)
        named = kind.name if choice.beside else f"{records.metadata['run_name']}: {kind.name}"
        title = named if choice.title is None else choice.title
        if title:
            figure.suptitle(title, fontsize=8)
    return figure


def write(figure: Figure, path: str | os.PathLike[str]) -> None:
    """Write a picture in the format of the file's ending; equal pictures give equal files. Raises InputError."""
    target = os.fspath(path)
    check_target(target)
    import matplotlib as mpl

    with mpl.rc_context(SETTINGS):
        save_figure(figure, target)


def check_target(target: str) -> None:
    """Raise InputError if a picture can't have that name."""
    if not target.endswith(SUFFIXES):
        raise InputError(f"{target}: a picture's file ends in {', '.join(SUFFIXES)}")


def _require_matplotlib() -> None:
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise InputError(
            "pictures need matplotlib, which is not installed; 'pip install matplotlib' gives it"
        ) from error
