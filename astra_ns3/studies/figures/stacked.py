"""Stacked bars: a bar at each place of the x-axis, of one piece for each measure; a bar for each series beside it."""

from __future__ import annotations

from collections.abc import Sequence

from astra_ns3.report.figures.figure import Axis, Bars, Figure, Series, Words
from astra_ns3.report.figures.style import GREY
from astra_ns3.studies.figures import data
from astra_ns3.studies.figures.bars import whiskers_of
from astra_ns3.studies.figures.config import FigureConfig
from astra_ns3.studies.figures.data import (
    Cell,
    FigureData,
    Label,
    Panel,
    View,
    cell_of,
    figure_data,
    label_text,
    unit_of,
)
from astra_ns3.studies.figures.panels import (
    Unit,
    flaw_at,
    grid,
    named,
    names_axis,
    none_at,
    nth_colour,
    number_above,
    rule_of,
)

_MOST_VALUES = 16


def make(view: View, figure: FigureConfig) -> Figure:
    """Return a panel of bars for each value of ``panels``."""
    made = figure_data(view, figure)
    measures = list(dict.fromkeys(series.measure for panel in made.panels for series in panel.series))

    def panel_of(panel: Panel) -> tuple[Axis, Axis, list[Series]]:
        return _panel(panel, made, figure, measures)

    most = max((len(panel.places) * len(panel.series) for panel in made.panels), default=0)
    return grid(made, panel_of, columns=2 if most > _MOST_VALUES else 3, stacked=True)


def _groups(panel: Panel) -> dict[str, list[data.Series]]:
    """Return the pieces of the bars, by what stands beside one another."""
    groups: dict[str, list[data.Series]] = {}
    for series in panel.series:
        groups.setdefault(series.label.removesuffix(series.measure).strip(), []).append(series)
    return groups


def _largest(panel: Panel) -> float:
    """Return the largest whole bar, or the most of its runs."""
    stacks = [zip(*(series.cells for series in pieces), strict=True) for pieces in _groups(panel).values()]
    return max((sum(cell.most for cell in cells if cell) for stack in stacks for cells in stack), default=0.0)


def _panel(
    panel: Panel, made: FigureData, figure: FigureConfig, measures: Sequence[str]
) -> tuple[Axis, Axis, list[Series]]:
    groups = _groups(panel)
    bars = [
        (label, group, [series.cells[index] for series in pieces])
        for index, label in enumerate(panel.places)
        for group, pieces in groups.items()
    ]
    pieces = next(iter(groups.values()))
    together = [each for each in made.panels if unit_of(each.series[0].measure) == unit_of(pieces[0].measure)]
    unit = Unit(pieces, figure, max(map(_largest, together)))
    drawn: list[Series] = []
    for number, series in enumerate(pieces):
        heights = [cell.mean / unit.factor if (cell := cells[number]) else 0.0 for *_, cells in bars]
        colour, _ = nth_colour(measures.index(series.measure))
        drawn.append(Bars(heights, thick=0.8, upright=True, name=named(series.measure), colour=colour))
    for at, (_, _, cells) in enumerate(bars):
        drawn += _total(at, cells, unit.factor, told=len(bars) <= _MOST_VALUES)
        lacking = [named(each.measure) for each, cell in zip(pieces, cells, strict=True) if cell is None]
        if 0 < len(lacking) < len(cells):
            height = sum(cell.mean for cell in cells if cell) / unit.factor
            words = f"no {', '.join(lacking)}"
            drawn.append(Words(at, height, words, up="bottom", letters=5, turned=True, raised=2, colour=GREY))
    names: list[Label] = [f"{label_text(label)}\n{group}" if len(groups) > 1 else label for label, group, _ in bars]
    return names_axis(names, panel.x), unit.axis(log=figure.log, words="time"), [*drawn, *rule_of(figure)]


def _total(at: int, cells: Sequence[Cell | None], factor: float, *, told: bool) -> list[Series]:
    """Return the whole bar of each run: the least and the most, the mean in digits, and a flaw."""
    found = [cell for cell in cells if cell is not None]
    if not found:
        return [none_at(at)]
    runs = [run for run in found[0].of_runs if all(run in cell.of_runs for cell in found)]
    flawed = next((cell for cell in found if cell.flaw), found[0])
    if len(found) < len(cells) or not runs:
        return [*flaw_at(at, flawed)]
    total = cell_of({run: sum(cell.of_runs[run] for cell in found) for run in runs}, flawed.flaw)
    number = [number_above(at, total.most / factor, total, factor)] if told else flaw_at(at, total)
    return [whiskers_of([(at, total)], factor), *number]
