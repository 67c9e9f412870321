"""Stacked bars: a bar at each place of the x-axis, of one piece for each measure; a bar for each series beside it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from astra_ns3.report.plots.style import GREY, swatch
from astra_ns3.studies.figures.axes import (
    each_panel,
    finish,
    name_places,
    named,
    nth_colour,
    say_none,
    say_number,
    say_too_large,
    scale_y,
    unit_of,
    whiskers,
)
from astra_ns3.studies.figures.config import FigureConfig
from astra_ns3.studies.figures.data import Cell, Label, Panel, Series, View, cell_of, figure_data, label_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MOST_VALUES = 16


def draw(view: View, figure: FigureConfig) -> Figure:
    """A panel of bars for each value of ``panels``."""
    data = figure_data(view, figure)
    measures = list(dict.fromkeys(series.measure for panel in data.panels for series in panel.series))
    columns = 2 if max((len(panel.places) * len(panel.series) for panel in data.panels), default=0) > 16 else 3
    made = each_panel(data, partial(_panel, figure=figure, measures=measures), columns=columns)
    return finish(
        made, data.missing, [swatch(nth_colour(place)[0], named(name)) for place, name in enumerate(measures)]
    )


def _panel(axes: Axes, panel: Panel, figure: FigureConfig, measures: list[str]) -> None:
    groups: dict[str, list[Series]] = {}
    for series in panel.series:
        groups.setdefault(series.label.removesuffix(series.measure).strip(), []).append(series)
    several = len(groups) > 1
    unit = unit_of(next(iter(groups.values())) if not several else _largest(groups), figure, stacked=True)
    names: list[Label] = []
    for place, label in enumerate(panel.places):
        for group, pieces in groups.items():
            at, bottom = len(names), 0.0
            cells = [series.cells[place] for series in pieces]
            for series, cell in zip(pieces, cells, strict=True):
                height = cell.mean / unit.factor if cell else 0.0
                colour, _ = nth_colour(measures.index(series.measure))
                axes.bar([at], [height], 0.8, bottom=bottom, color=colour)
                bottom += height
            _total(axes, at, cells, unit.factor, told=len(groups) * len(panel.places) <= _MOST_VALUES)
            lacking = [named(series.measure) for series, cell in zip(pieces, cells, strict=True) if cell is None]
            if any(cell is not None and not cell.fits for cell in cells):
                say_too_large(axes, at)
            if 0 < len(lacking) < len(cells):
                _say_without(axes, at, bottom, lacking)
            names.append(f"{label_text(label)}\n{group}" if several else label)
    scale_y(axes, log=figure.log)
    if figure.relative_to:
        axes.axhline(1, color="black", linewidth=0.6)
    axes.set_ylabel(unit.label.replace("(", "time (") if unit.label.startswith("(") else unit.label)
    axes.grid(axis="y")
    name_places(axes, names, panel.x)


def _largest(groups: dict[str, list[Series]]) -> list[Series]:
    """The group whose highest bar is highest."""
    return max(
        groups.values(),
        key=lambda group: max(
            sum(c.mean if c else 0.0 for c in each) for each in zip(*(s.cells for s in group), strict=True)
        ),
    )


def _total(axes: Axes, at: int, cells: list[Cell | None], factor: float, *, told: bool) -> None:
    """The whole bar of each run: the least and the most of them, and their mean in digits."""
    if all(cell is None for cell in cells):
        say_none(axes, at)
        return
    if any(cell is None for cell in cells):
        return
    found = [cell for cell in cells if cell is not None]
    runs = [run for run in found[0].of_runs if all(run in cell.of_runs for cell in found)]
    if not runs:
        return
    total = cell_of({run: sum(cell.of_runs[run] for cell in found) for run in runs})
    whiskers(axes, [at], [total], factor)
    if told:
        say_number(axes, at, total.most / factor, total.mean / factor)


def _say_without(axes: Axes, at: int, height: float, lacking: list[str]) -> None:
    """That the bar is not whole."""
    axes.annotate(
        f"no {', '.join(lacking)}", (at, height), (0, 2), textcoords="offset points", ha="center", va="bottom",
        fontsize=5, color=GREY, rotation=90,
    )  # fmt: skip
