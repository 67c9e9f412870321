"""Bars: a group at each place of the x-axis, a bar of it for each series; whiskers over seeds."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from astra_ns3.report.plots.style import swatch
from astra_ns3.studies.figures.axes import (
    colour_of,
    each_panel,
    fill_of,
    finish,
    legend_names,
    name_places,
    nth_colour,
    say_none,
    say_number,
    say_too_large,
    scale_y,
    unit_of,
    whiskers,
    worth_a_log,
)
from astra_ns3.studies.figures.config import FigureConfig
from astra_ns3.studies.figures.data import FigureData, Panel, View, figure_data

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
    made = each_panel(data, partial(_panel, figure=figure, data=data), columns=columns)
    handles = [_swatch(place, name) for place, name in enumerate(legend_names(data))]
    return finish(made, data.missing, handles)


def _swatch(place: int, name: str) -> Any:
    colour, again = nth_colour(place)
    return swatch(colour, name, hatched=again)


def _panel(axes: Axes, panel: Panel, figure: FigureConfig, data: FigureData) -> None:
    unit = unit_of(panel.series, figure)
    width = _WIDTH / len(panel.series)
    few = len(panel.series) * len(panel.places) <= _MOST_VALUES
    for number, series in enumerate(panel.series):
        left = _middles(panel, number, width)
        heights = [cell.mean / unit.factor if cell else 0.0 for cell in series.cells]
        colour, again = colour_of(series, data)
        axes.bar(left, heights, width * 0.94, **fill_of(colour, again=again))
        whiskers(axes, left, series.cells, unit.factor)
        for place, cell in zip(left, series.cells, strict=True):
            if cell is None:
                say_none(axes, place)
            elif few:
                say_number(axes, place, cell.most / unit.factor, cell.mean / unit.factor)
    scale_y(axes, log=figure.log and worth_a_log(panel.series))
    _mark_too_large(axes, panel, width)
    if figure.relative_to:
        axes.axhline(1, color="black", linewidth=0.6)
    axes.set_ylabel(unit.label)
    axes.grid(axis="y")
    name_places(axes, panel.places, panel.x)


def _middles(panel: Panel, number: int, width: float) -> list[float]:
    """Where the bars of a series stand."""
    return [place - _WIDTH / 2 + (number + 0.5) * width for place in range(len(panel.places))]


def _mark_too_large(axes: Axes, panel: Panel, width: float) -> None:
    for number, series in enumerate(panel.series):
        for place, cell in zip(_middles(panel, number, width), series.cells, strict=True):
            if cell is not None and not cell.fits:
                say_too_large(axes, place)
