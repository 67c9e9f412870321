"""A table: a row a combination of coordinates, a column a measure; over seeds the mean, deviation, least to most."""

from __future__ import annotations

import statistics

from astra_ns3.report.figures.figure import Axis, Cells, Figure, Panel
from astra_ns3.studies.figures.config import FigureConfig
from astra_ns3.studies.figures.data import (
    DONE,
    USUAL_Y,
    Coordinates,
    Row,
    View,
    is_tight_row,
    label_text,
    missing_words,
)
from astra_ns3.studies.figures.panels import AROUND_INCHES


def make(view: View, figure: FigureConfig) -> Figure:
    """Return the table as a picture."""
    panel = Panel(Axis(), Axis(), [Cells(*table_cells(view, figure))])
    return Figure([panel], around=AROUND_INCHES, missing=missing_words(view, view.rows))


def table_cells(view: View, figure: FigureConfig) -> tuple[list[str], list[list[str]]]:
    """Return its header and its rows, in words."""
    axes = [axis.name for axis in view.axes]
    measures = list(figure.y or USUAL_Y)
    groups: dict[Coordinates, list[Row]] = {}
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
        return ("yes, tight" if any(map(is_tight_row, rows)) else "yes") if all(values) else "no"
    mean = sum(values) / len(values)
    if max(values) == min(values):
        return number(mean)
    return f"{spread_text(mean, statistics.stdev(values))} ({number(min(values))} to {number(max(values))})"


def spread_text(mean: float, deviation: float | None) -> str:
    """Return a mean and its standard deviation, if it has one."""
    return number(mean) if deviation is None else f"{number(mean)} +- {number(float(f'{deviation:.3g}'))}"


def number(value: float) -> str:
    """Return five digits, whole numbers whole, thousands apart."""
    return f"{value:,.0f}" if float(value).is_integer() or abs(value) >= 1e5 else f"{value:,.5g}"
