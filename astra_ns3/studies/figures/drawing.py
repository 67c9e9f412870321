"""Draws a figure of a study, and writes it: the one place here that asks for matplotlib."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from astra_ns3.errors import InputError
from astra_ns3.report.plots.style import SETTINGS
from astra_ns3.report.saving_figure import save_figure
from astra_ns3.studies.figures.config import FigureConfig
from astra_ns3.studies.figures.data import View
from astra_ns3.studies.figures.registry import FIGURE_KINDS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ENDINGS = (".png", ".svg")


def drawn(view: View, figure: FigureConfig) -> Figure:
    """The figure; raises InputError if matplotlib is missing."""
    try:
        import matplotlib as mpl
    except ImportError as error:
        raise InputError(
            "pictures need matplotlib, which is not installed; 'pip install matplotlib' gives it"
        ) from error
    with mpl.rc_context(SETTINGS):
        made = FIGURE_KINDS[figure.kind](view, figure)
        title = figure.title or view.title
        if title:
            made.suptitle(title, fontsize=8)
    return made


def written(view: View, figure: FigureConfig, folder: Path, name: str) -> list[Path]:
    """Draw the figure and write it as a picture and as SVG; raises InputError."""
    import matplotlib as mpl

    made = drawn(view, figure)
    paths = [folder / f"{name}{ending}" for ending in ENDINGS]
    with mpl.rc_context(SETTINGS):
        for path in paths:
            save_figure(made, str(path))
    return paths
