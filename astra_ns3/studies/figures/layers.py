"""Layers: what each layer of each point took, raw communication (from issue until done) or exposed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from astra_ns3.report.plots.style import labels, say_empty, swatch, time_unit
from astra_ns3.studies.figures.axes import fill_of, finish, nth_colour, panel_grid, whiskers
from astra_ns3.studies.figures.config import FigureConfig
from astra_ns3.studies.figures.data import Cell, Row, View, label_text, missing_words
from astra_ns3.units import PS_PER_US

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Colours = dict[str, tuple[str, bool]]
"""Of each point's bars, and whether they are hatched."""
COLUMNS = ("communication_us", "exposed_us", "compute_us", "forward_communication_us",
           "weight_gradient_communication_us", "input_gradient_communication_us")  # fmt: skip
"""What ``y`` may be: columns of layers.csv."""


def draw(view: View, figure: FigureConfig) -> Figure:
    """A panel for each value of ``panels`` and each ``y``, a group of bars a layer, a bar a point."""
    measures = figure.y or COLUMNS[:1]
    across = view.column(figure.panels) if figure.panels else None
    panels = [(measure, value) for value in (view.labels(across) if across else [None]) for measure in measures]
    axes_names = [axis.name for axis in view.axes if axis.name != across and len(view.labels(axis.name)) > 1]
    if figure.by:
        axes_names.sort(key=lambda name: name != view.column(str(figure.by)))
    names = list(dict.fromkeys(_name(row, axes_names) for row in view.layers))
    colours = {name: nth_colour(place) for place, name in enumerate(names)}
    made, axes = panel_grid(len(panels), columns=1)
    for place, (measure, value) in zip(axes, panels, strict=True):
        rows = [row for row in view.layers if across is None or row[across] == value]
        _panel(place, rows, measure, axes_names, colours, log=figure.log)
        if across:
            place.set_title(f"{across} {label_text(value)}")
    handles = (
        [swatch(colour, name, hatched=again) for name, (colour, again) in colours.items()] if len(colours) > 1 else []
    )
    return finish(made, missing_words(view, view.rows), handles, 4)


def _panel(axes: Axes, rows: list[Row], measure: str, by: list[str], colours: Colours, *, log: bool) -> None:
    values: dict[tuple[str, str], list[float]] = {}
    for row in rows:
        if row.get(measure) is not None:
            values.setdefault((_name(row, by), row["layer"]), []).append(float(row[measure]))
    if not values:
        say_empty(axes, "no point is done")
        return
    layers = list(dict.fromkeys(layer for _, layer in values))
    groups = list(dict.fromkeys(name for name, _ in values))
    factor, unit = time_unit(max(max(each) for each in values.values()) * PS_PER_US)
    width = 0.8 / len(groups)
    for number, name in enumerate(groups):
        found: list[Any] = [values.get((name, layer)) for layer in layers]
        heights = [sum(each) / len(each) * PS_PER_US / factor if each else 0.0 for each in found]
        left = [place - 0.4 + (number + 0.5) * width for place in range(len(layers))]
        axes.bar(left, heights, width * 0.94, **fill_of(colours[name][0], again=colours[name][1]))
        cells = [Cell(sum(each) / len(each), min(each), max(each)) if each else None for each in found]
        whiskers(axes, left, cells, factor / PS_PER_US)
    axes.set_xticks(range(len(layers)), labels(layers), rotation=35, ha="right", rotation_mode="anchor")
    if log:
        axes.set_yscale("log")
    axes.set_ylabel(f"{measure.removesuffix('_us').replace('_', ' ')} ({unit})")
    axes.grid(axis="y")


def _name(row: Row, by: list[str]) -> str:
    return ", ".join(label_text(row[name]) for name in by) or "all"
