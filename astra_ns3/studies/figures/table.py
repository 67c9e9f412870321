"""A table: a row a combination of coordinates, a column a measure; over seeds the mean, deviation, least to most."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING

from astra_ns3.report.plots.style import new_figure
from astra_ns3.studies.figures.axes import WIDTH_INCHES, finish
from astra_ns3.studies.figures.config import FigureConfig
from astra_ns3.studies.figures.data import DONE, USUAL_Y, Row, View, label_text, missing_words

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.table import Table

_ROW_INCHES = 0.17
_LETTERS = 6
"""Points of the letters of a table that fits its figure."""
_MOST_WIDTH = 0.98
"""Share of the width that a table takes at most: letters don't shrink evenly."""


def draw(view: View, figure: FigureConfig) -> Figure:
    """The table as a picture."""
    header, rows = table_cells(view, figure)
    made = new_figure(WIDTH_INCHES, 0.5 + _ROW_INCHES * (len(rows) + 1))
    axes = made.subplots()
    axes.set_axis_off()
    drawn = axes.table(cellText=rows, colLabels=header, loc="center", cellLoc="center", edges="horizontal")
    drawn.set_in_layout(False)  # the axes keep their width, whatever the table's
    drawn.auto_set_font_size(False)
    drawn.set_fontsize(_LETTERS)
    for (row, _), cell in drawn.get_celld().items():
        cell.set_linewidth(0.4)
        if row == 0:
            cell.get_text().set_fontweight("bold")
    _fit(made, axes, drawn)
    return finish(made, missing_words(view, view.rows))


def _fit(made: Figure, axes: Axes, drawn: Table) -> None:
    """Make each column as wide as its texts, and all letters smaller if the columns together exceed the figure."""
    made.draw_without_rendering()  # now the axes are as wide as the figure lets them
    around = axes.get_window_extent().width
    widths: dict[int, float] = {}
    for (_, column), cell in drawn.get_celld().items():
        width = cell.get_text().get_window_extent().width / around * (1 + 2 * cell.PAD)
        widths[column] = max(width, widths.get(column, 0))
    shrunk = min(1.0, _MOST_WIDTH / sum(widths.values()))
    drawn.set_fontsize(_LETTERS * shrunk)
    for (_, column), cell in drawn.get_celld().items():
        cell.set_width(widths[column] * shrunk)


def table_cells(view: View, figure: FigureConfig) -> tuple[list[str], list[list[str]]]:
    """Its header and its rows, in words."""
    axes = [axis.name for axis in view.axes]
    measures = list(figure.y or USUAL_Y)
    groups: dict[tuple[object, ...], list[Row]] = {}
    for row in view.rows:
        groups.setdefault(tuple(row[name] for name in axes), []).append(row)
    cells = [
        [*map(label_text, labels), *(_cell([row for row in rows if row["status"] == DONE], name) for name in measures)]
        for labels, rows in groups.items()
    ]
    return [*axes, *measures], cells


def _cell(rows: list[Row], measure: str) -> str:
    values = [row[measure] for row in rows if row.get(measure) is not None]
    if not values:
        return "n/a"
    if measure == "fits":
        return "yes" if all(values) else "no"
    mean = sum(values) / len(values)
    if max(values) == min(values):
        return number(mean)
    return f"{spread_text(mean, statistics.stdev(values))} ({number(min(values))} to {number(max(values))})"


def spread_text(mean: float, deviation: float | None) -> str:
    """A mean and its standard deviation, if it has one."""
    return number(mean) if deviation is None else f"{number(mean)} +- {number(float(f'{deviation:.3g}'))}"


def number(value: float) -> str:
    """Five digits, whole numbers whole."""
    return f"{value:,.0f}" if float(value).is_integer() or abs(value) >= 1e5 else f"{value:.5g}"
