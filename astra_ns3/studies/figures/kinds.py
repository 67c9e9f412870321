"""The kinds of figures of a study by name, and how one is drawn. A new one is a file here and a line below."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from astra_ns3.report.figures import with_matplotlib
from astra_ns3.report.figures.figure import Figure
from astra_ns3.studies.figures import bars, heatmap, layers, lines, stacked, table
from astra_ns3.studies.figures.config import FigureConfig
from astra_ns3.studies.figures.data import View

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

FIGURE_KINDS: Mapping[str, Callable[[View, FigureConfig], Figure]] = {
    "bars": bars.make,
    "stacked": stacked.make,
    "lines": lines.make,
    "heatmap": heatmap.make,
    "layers": layers.make,
    "table": table.make,
}
WIDTH_INCHES = 7.0
ENDINGS = (".png", ".svg")


def drawn(view: View, figure: FigureConfig) -> Drawing:
    """Return the figure as matplotlib's; raises InputError if matplotlib is missing."""
    made = FIGURE_KINDS[figure.kind](view, figure)
    return with_matplotlib.drawn(made, WIDTH_INCHES, figure.title or view.title)


def written(view: View, figure: FigureConfig, folder: Path, name: str) -> list[Path]:
    """Draw the figure and write it as a picture and as SVG; raises InputError."""
    made = drawn(view, figure)
    paths = [folder / f"{name}{ending}" for ending in ENDINGS]
    for path in paths:
        with_matplotlib.write(made, path)
    return paths
