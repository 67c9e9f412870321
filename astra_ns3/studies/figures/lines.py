"""Lines: a line for each series, over an x-axis of numbers where the labels are numbers or quantities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from math import log10, nan

from astra_ns3.report.figures.figure import CROSS, Axis, Curve, Figure, Series
from astra_ns3.studies.figures import data
from astra_ns3.studies.figures.config import FigureConfig
from astra_ns3.studies.figures.data import Label, Panel, View, figure_data, label_text
from astra_ns3.studies.figures.panels import (
    LOGARITHMIC,
    MOST_COLUMNS,
    Unit,
    alike,
    grid,
    legend_name_of,
    names_axis,
    nth_colour,
    places_of,
    rule_of,
)
from astra_ns3.units import parse_any

# An x-axis whose last number is so many times its first is logarithmic, as its name then says.
_WIDE = 20
# How much of the width of a panel that is alone a letter takes.
_LETTER = 0.015


def make(view: View, figure: FigureConfig) -> Figure:
    """Return a panel of lines for each value of ``panels``."""
    made = figure_data(view, figure)
    place_of = places_of(made)

    def panel_of(panel: Panel) -> tuple[Axis, Axis, list[Series]]:
        unit, numbers = Unit(alike(made, panel), figure), numbers_of(panel.places)
        drawn: list[Series] = []
        for series in panel.series:
            name, where = legend_name_of(series, place_of), place_of[series.label]
            drawn += _line(series, numbers or range(len(panel.places)), unit.factor, where, name)
        x = names_axis(panel.places, panel.x)
        if numbers is not None:
            log = numbers[0] > 0 and numbers[-1] >= _WIDE * numbers[0]
            names = _apart([label_text(place) for place in panel.places], numbers, len(made.panels), log=log)
            x = Axis(f"{panel.x}{LOGARITHMIC}" if log else panel.x, names=names, at=numbers, log=log)
        x = replace(x, grid=True)
        return x, unit.axis(log=figure.log), [*drawn, *rule_of(figure)]

    return grid(made, panel_of)


def numbers_of(places: Sequence[Label]) -> list[float] | None:
    """Return places as numbers, quantities in base units; None if one is no number, or they don't ascend."""
    found: list[float] = []
    for place in places:
        number = place if isinstance(place, (int, float)) else parse_any(place)
        if number is None:
            return None
        found.append(float(number))
    ascending = all(before < after for before, after in pairwise(found))
    return found if ascending and len(found) > 1 else None


def _apart(names: Sequence[str], at: Sequence[float], panels: int, *, log: bool) -> list[str]:
    """Return names without those that would stand on the one before, which are empty."""
    places = [log10(each) if log else each for each in at]
    letter = _LETTER * min(panels, MOST_COLUMNS) * (places[-1] - places[0])
    kept = [0]
    for index in range(1, len(places)):
        if places[index] - places[kept[-1]] >= letter * (len(names[index]) + len(names[kept[-1]])) / 2:
            kept.append(index)
    return [name if index in kept else "" for index, name in enumerate(names)]


def _line(series: data.Series, places: Sequence[float], factor: float, where: int, name: str) -> list[Series]:
    """Return a line with its whiskers; it has a gap where the study has a point without a number."""
    points = []
    for number, (place, cell) in enumerate(zip(places, series.cells, strict=True)):
        if cell is not None:
            points.append((place, cell.mean / factor, cell.least / factor, cell.most / factor))
        elif series.lacking and series.lacking[number]:
            points.append((place, nan, nan, nan))
    if not any(series.cells):
        return []
    x, y, least, most = map(list, zip(*points, strict=True))
    colour, again = nth_colour(where)
    crosses = [
        Curve([place], [cell.mean / factor], dash=None, mark=CROSS, size=7)
        for place, cell in zip(places, series.cells, strict=True)
        if cell is not None and cell.flaw
    ]
    return [Curve(x, y, dash=int(again), mark=where, least=least, most=most, name=name, colour=colour), *crosses]
