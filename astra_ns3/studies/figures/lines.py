"""Lines: a line for each series, over an x-axis of numbers where the labels are numbers or quantities."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from math import nan
from typing import TYPE_CHECKING

from astra_ns3.report.plots.style import stroke
from astra_ns3.studies.figures.axes import (
    colour_of,
    each_panel,
    finish,
    legend_names,
    name_places,
    nth_colour,
    scale_y,
    unit_of,
    whiskers,
)
from astra_ns3.studies.figures.config import FigureConfig
from astra_ns3.studies.figures.data import FigureData, Label, Panel, Series, View, figure_data, label_text
from astra_ns3.units import parse_any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MARKS = "osD^vP*X"
_WIDE = 20
"""An x-axis whose last number is so many times its first is logarithmic."""


def draw(view: View, figure: FigureConfig) -> Figure:
    """A panel of lines for each value of ``panels``."""
    data = figure_data(view, figure)
    made = each_panel(data, partial(_panel, figure=figure, data=data))
    handles = []
    for place, name in enumerate(legend_names(data)):
        colour, again = nth_colour(place)
        handles.append(stroke(colour, name, "--" if again else "-", _MARKS[place % len(_MARKS)]))
    return finish(made, data.missing, handles)


def numbers_of(places: Sequence[Label]) -> list[float] | None:
    """The places as numbers, quantities in base units; None if one is no number, or all are not in ascending order."""
    found: list[float] = []
    for place in places:
        number = place if isinstance(place, (int, float)) else parse_any(place)
        if number is None:
            return None
        found.append(float(number))
    ascending = all(before < after for before, after in pairwise(found))
    return found if ascending and len(found) > 1 else None


def _with_gaps(places: Sequence[float], series: Series, factor: float) -> list[tuple[float, float]]:
    """The line's points; where one is missing that the study has, no number, so that the line is not drawn across."""
    found = []
    for number, (place, cell) in enumerate(zip(places, series.cells, strict=True)):
        if cell is not None:
            found.append((place, cell.mean / factor))
        elif series.lacking and series.lacking[number]:
            found.append((place, nan))
    return found


def _panel(axes: Axes, panel: Panel, figure: FigureConfig, data: FigureData) -> None:
    unit = unit_of(panel.series, figure)
    numbers = numbers_of(panel.places)
    places = list(map(float, range(len(panel.places)))) if numbers is None else numbers
    for number, series in enumerate(panel.series):
        known = [(place, cell) for place, cell in zip(places, series.cells, strict=True) if cell is not None]
        if not known:
            continue
        colour, again = colour_of(series, data)
        line, mark = "--" if again else "-", _MARKS[number % len(_MARKS)]
        points = _with_gaps(places, series, unit.factor)
        axes.plot([x for x, _ in points], [y for _, y in points], f"{mark}{line}", color=colour, markersize=3)
        for x, cell in known:
            if not cell.fits:
                axes.plot([x], [cell.mean / unit.factor], "x", color="black", markersize=7, zorder=6)
        whiskers(axes, [place for place, _ in known], [cell for _, cell in known], unit.factor)
    scale_y(axes, log=figure.log)
    if figure.relative_to:
        axes.axhline(1, color="black", linewidth=0.6)
    axes.set_ylabel(unit.label)
    axes.grid()
    if numbers is None:
        name_places(axes, panel.places, panel.x)
        return
    if numbers[0] > 0 and numbers[-1] >= _WIDE * numbers[0]:
        axes.set_xscale("log")
    axes.set_xticks(numbers, [label_text(place) for place in panel.places])
    axes.minorticks_off()
    axes.set_xlabel(panel.x)
