"""Bars: a group at each place of the x-axis, a bar of it for each series; whiskers over seeds."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from astra_ns3.report.plots.style import COLOURS, GREY, legend_below, swatch
from astra_ns3.studies.figures.axes import each_panel, name_places, unit_of, whiskers
from astra_ns3.studies.figures.config import FigureConfig
from astra_ns3.studies.figures.data import Panel, View, figure_data

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_WIDTH = 0.8
_MOST_VALUES = 14
"""Bars in a panel that have their number written above them."""


def draw(view: View, figure: FigureConfig) -> Figure:
    """A panel of bars for each value of ``panels``."""
    data = figure_data(view, figure)
    columns = 2 if max((len(panel.places) * len(panel.series) for panel in data.panels), default=0) > 12 else 3
    made = each_panel(data, partial(_panel, figure=figure), columns=columns)
    names = list(dict.fromkeys(series.label for panel in data.panels for series in panel.series))
    if len(names) > 1:
        legend_below(made, [swatch(COLOURS[place % len(COLOURS)], name) for place, name in enumerate(names)], 5)
    return made


def _panel(axes: Axes, panel: Panel, figure: FigureConfig) -> None:
    unit = unit_of(panel.series, figure)
    width = _WIDTH / len(panel.series)
    few = len(panel.series) * len(panel.places) <= _MOST_VALUES
    for number, series in enumerate(panel.series):
        left = [place - _WIDTH / 2 + (number + 0.5) * width for place in range(len(panel.places))]
        heights = [cell.mean / unit.factor if cell else 0.0 for cell in series.cells]
        bars = axes.bar(left, heights, width * 0.94, color=COLOURS[number % len(COLOURS)])
        whiskers(axes, left, series.cells, unit.factor)
        for place, cell in zip(left, series.cells, strict=True):
            if cell is None:
                axes.text(place, 0, "n/a", ha="center", va="bottom", fontsize=5, color=GREY, rotation=90)
        if few:
            words = [f"{height:.3g}" if cell else "" for height, cell in zip(heights, series.cells, strict=True)]
            axes.bar_label(bars, words, fontsize=5.5, padding=1)
    if figure.log:
        axes.set_yscale("log")
    if figure.relative_to:
        axes.axhline(1, color="black", linewidth=0.6)
    axes.set_ylabel(unit.label)
    axes.grid(axis="y")
    name_places(axes, panel.places, panel.x)
