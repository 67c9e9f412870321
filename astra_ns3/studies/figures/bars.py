"""Bars: a group at each place of the x-axis, a bar of it for each series; whiskers over seeds."""

from __future__ import annotations

from collections.abc import Sequence

from astra_ns3.report.alignment import number_text
from astra_ns3.report.figures.figure import Axis, Bars, Figure, Series, Whiskers
from astra_ns3.studies.figures.config import FigureConfig
from astra_ns3.studies.figures.data import Cell, Panel, View, figure_data
from astra_ns3.studies.figures.panels import (
    Unit,
    alike,
    flaw_at,
    grid,
    legend_name_of,
    names_axis,
    none_at,
    nth_colour,
    number_above,
    places_of,
    rule_of,
    worth_a_log,
)

_WIDTH = 0.8
# Bars in a panel that have their number written above them, and how many letters these have room for, gaps included, by
# the number of panels side by side.
_MOST_VALUES = 14
_MOST_LETTERS = {1: 105, 2: 45, 3: 30}


def make(view: View, figure: FigureConfig) -> Figure:
    """Return a panel of bars for each value of ``panels``."""
    data = figure_data(view, figure)
    place_of = places_of(data)
    most = max((len(panel.places) * len(panel.series) for panel in data.panels), default=0)
    columns = max(1, min(len(data.panels), 2 if most > 12 else 3))
    room = _MOST_LETTERS[columns]

    def panel_of(panel: Panel) -> tuple[Axis, Axis, list[Series]]:
        together = alike(data, panel)
        unit = Unit(together, figure)
        values = [cell.mean / unit.factor for series in panel.series for cell in series.cells if cell is not None]
        letters = 0.5 + max((len(number_text(value)) for value in values), default=0)
        few = len(panel.series) * len(panel.places) <= min(_MOST_VALUES, room / letters)
        drawn: list[Series] = []
        for number, series in enumerate(panel.series):
            colour, again = nth_colour(place_of[series.label])
            name, (at, thick) = legend_name_of(series, place_of), bar_places(panel, number)
            drawn += grouped(series.cells, at, thick, unit.factor, name, colour, again=again, told=few)
        log = figure.log and worth_a_log(together)
        return names_axis(panel.places, panel.x), unit.axis(log=log), [*drawn, *rule_of(figure)]

    return grid(data, panel_of, columns=columns)


def bar_places(panel: Panel, number: int) -> tuple[list[float], float]:
    """Return where the bars of a series stand, and how wide they are."""
    width = _WIDTH / len(panel.series)
    return [index - _WIDTH / 2 + (number + 0.5) * width for index in range(len(panel.places))], width * 0.94


def grouped(
    cells: Sequence[Cell | None],
    at: Sequence[float],
    thick: float,
    factor: float,
    name: str,
    colour: str,
    *,
    again: bool,
    told: bool = False,
) -> list[Series]:
    """Return the bars of a series with their whiskers, their numbers if these are ``told``, and what is missing."""
    known = [(place, cell) for place, cell in zip(at, cells, strict=True) if cell is not None]
    heights = [cell.mean / factor if cell else 0.0 for cell in cells]
    return [
        Bars(heights, at, thick, upright=True, hatched=again, name=name, colour=colour),
        whiskers_of(known, factor),
        *(number_above(place, cell.most / factor, cell, factor) for place, cell in known if told),
        *(words for place, cell in known if not told for words in flaw_at(place, cell)),
        *(none_at(place) for place, cell in zip(at, cells, strict=True) if cell is None),
    ]


def whiskers_of(cells: Sequence[tuple[float, Cell]], factor: float) -> Whiskers:
    """Return strokes from the least to the most over seeds."""
    least, most = [cell.least / factor for _, cell in cells], [cell.most / factor for _, cell in cells]
    return Whiskers([place for place, _ in cells], least, most)
