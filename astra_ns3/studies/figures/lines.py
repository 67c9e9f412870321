"""Lines: a line for each series, over an x-axis of numbers where the labels are numbers or quantities."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING

from astra_ns3.report.plots.style import COLOURS, legend_below, stroke
from astra_ns3.studies.figures.axes import each_panel, name_places, unit_of, whiskers
from astra_ns3.studies.figures.config import FigureConfig
from astra_ns3.studies.figures.data import Label, Panel, View, figure_data, label_text
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
    made = each_panel(data, partial(_panel, figure=figure))
    names = list(dict.fromkeys(series.label for panel in data.panels for series in panel.series))
    if len(names) > 1:
        handles = [
            stroke(COLOURS[place % len(COLOURS)], name, "-", _MARKS[place % len(_MARKS)])
            for place, name in enumerate(names)
        ]
        legend_below(made, handles, 5)
    return made


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


def _panel(axes: Axes, panel: Panel, figure: FigureConfig) -> None:
    unit = unit_of(panel.series, figure)
    numbers = numbers_of(panel.places)
    places = list(map(float, range(len(panel.places)))) if numbers is None else numbers
    for number, series in enumerate(panel.series):
        known = [(place, cell) for place, cell in zip(places, series.cells, strict=True) if cell is not None]
        if not known:
            continue
        colour, mark = COLOURS[number % len(COLOURS)], _MARKS[number % len(_MARKS)]
        heights = [cell.mean / unit.factor for _, cell in known]
        axes.plot([place for place, _ in known], heights, f"{mark}-", color=colour, markersize=3)
        whiskers(axes, [place for place, _ in known], [cell for _, cell in known], unit.factor)
    if figure.log:
        axes.set_yscale("log")
    else:
        axes.set_ylim(bottom=0)
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
