"""Layers: what each layer of each point took, raw communication (from issue until done) or exposed."""

from __future__ import annotations

from collections.abc import Sequence

from astra_ns3.report.figures import style
from astra_ns3.report.figures.figure import Axis, Figure, Panel, Series
from astra_ns3.report.figures.style import labels, time_unit
from astra_ns3.studies.figures.bars import grouped
from astra_ns3.studies.figures.config import FigureConfig
from astra_ns3.studies.figures.data import Cell, Row, View, label_text, missing_words, named
from astra_ns3.studies.figures.panels import AROUND_INCHES, HEIGHT_INCHES, LOGARITHMIC, OF_ONE, legend_name, nth_colour
from astra_ns3.units import PS_PER_US

COLUMNS = ("communication_us", "exposed_us", "compute_us", "forward_communication_us",
           "weight_gradient_communication_us", "input_gradient_communication_us")  # fmt: skip
"""The values that ``y`` may have: columns of layers.csv."""


def make(view: View, figure: FigureConfig) -> Figure:
    """Return a panel for each value of ``panels`` and each ``y``, a group of bars a layer, a bar a point."""
    across = view.column(figure.panels) if figure.panels else None
    by = [axis.name for axis in view.axes if axis.name != across and len(view.labels(axis.name)) > 1]
    if figure.by:
        by.sort(key=lambda name: name != view.column(str(figure.by)))
    place_of = {name: index for index, name in enumerate(dict.fromkeys(_name(row, by) for row in view.layers))}
    measures = figure.y or COLUMNS[:1]
    shown = [float(row[name]) for row in view.layers for name in measures if row.get(name) is not None]
    unit = time_unit(max(shown, default=0) * PS_PER_US)
    panels = []
    for value in view.labels(across) if across else [None]:
        title = f"{across} {label_text(value)}" if across else ""
        rows = [row for row in view.layers if across is None or row[across] == value]
        for measure in measures:
            x, y, drawn = _panel(rows, measure, by, place_of, unit, log=figure.log)
            panels.append(Panel(x, y, drawn, title, empty="no point is done", centred=True, height=HEIGHT_INCHES))
    missing = missing_words(view, view.rows)
    return Figure(panels, around=AROUND_INCHES, legend=(4, 4), share_y=True, missing=missing)


def _panel(
    rows: Sequence[Row], measure: str, by: Sequence[str], place_of: dict[str, int], unit: style.Unit, *, log: bool
) -> tuple[Axis, Axis, list[Series]]:
    values: dict[tuple[str, str], list[float]] = {}
    for row in rows:
        if row.get(measure) is not None:
            values.setdefault((_name(row, by), row["layer"]), []).append(float(row[measure]))
    layers = list(dict.fromkeys(layer for _, layer in values))
    groups = list(dict.fromkeys(name for name, _ in values))
    drawn: list[Series] = []
    for number, name in enumerate(groups):
        found = [values.get((name, layer)) for layer in layers]
        cells = [Cell(sum(each) / len(each), min(each), max(each)) if each else None for each in found]
        width = 0.8 / len(groups)
        at = [index - 0.4 + (number + 0.5) * width for index in range(len(layers))]
        colour, again = nth_colour(place_of[name])
        of, entry = unit[0] / PS_PER_US, legend_name(name, place_of)
        drawn += grouped(cells, at, width * 0.94, of, entry, colour, again=again)[:2]
    words = measure.removesuffix("_us").replace("_", " ") + OF_ONE + LOGARITHMIC * log
    y = Axis(words, unit[1], low=None if log else 0, log=log, grid=True)
    return Axis(names=labels(layers), turned=True), y, drawn


def _name(row: Row, by: Sequence[str]) -> str:
    return ", ".join(named(name, row[name]) for name in by) or "all"
