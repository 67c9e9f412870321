"""A heat map: ``x`` across, ``by`` down, a number in each field."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from astra_ns3.report.alignment import number_text
from astra_ns3.report.figures.figure import Axis, Figure, Heat, Series, Words
from astra_ns3.report.figures.style import labels
from astra_ns3.studies.figures import data
from astra_ns3.studies.figures.config import FigureConfig
from astra_ns3.studies.figures.data import FigureData, Panel, View, figure_data
from astra_ns3.studies.figures.panels import Unit, alike, grid, names_axis


def make(view: View, figure: FigureConfig) -> Figure:
    """Return a map for each value of ``panels`` and each measure."""
    made = figure_data(view, figure)
    single = []
    for panel in made.panels:
        measures = list(dict.fromkeys(series.measure for series in panel.series))
        for measure in measures:
            series = tuple(each for each in panel.series if each.measure == measure)
            title = ", ".join(word for word in (panel.title, measure if len(measures) > 1 else "") if word)
            single.append(Panel(title, panel.x, panel.places, series))

    maps = FigureData(tuple(single), made.missing)

    def panel_of(panel: Panel) -> tuple[Axis, Axis, list[Series]]:
        return _map(panel, alike(maps, panel), figure)

    rows = max((len(panel.series) for panel in single), default=1)
    return grid(maps, panel_of, 0.9 + 0.26 * rows, 2)


def _map(panel: Panel, together: Sequence[data.Series], figure: FigureConfig) -> tuple[Axis, Axis, list[Series]]:
    """Return a map, with the colours of ``together``, the series of all maps of its unit."""
    unit = Unit(together, figure)
    values = np.array([[cell.mean / unit.factor if cell else np.nan for cell in each.cells] for each in panel.series])
    means = [cell.mean / unit.factor for each in together for cell in each.cells if cell]
    low, high = min(means, default=0.0), max(means, default=0.0)
    middle = (low + high) / 2
    of = replace(unit.axis(), low=low, high=high, log=figure.log and low > 0)
    drawn: list[Series] = [Heat(values, of)]
    for (row, column), value in np.ndenumerate(values):
        cell = panel.series[row].cells[column]
        words = "n/a" if np.isnan(value) else number_text(value)
        words += f"\n{cell.flaw}" if cell is not None and cell.flaw else ""
        drawn.append(Words(column, row, words, colour="white" if value < middle else "black"))
    measure = panel.series[0].measure
    names = [each.label.removesuffix(measure).strip() or measure for each in panel.series]
    before = {name.rpartition(" ")[0] for name in names}
    numbers = all(name.rpartition(" ")[2][:1].isdigit() for name in names)  # words of a value stay together
    common = before.pop() if numbers and len(before) == 1 else ""
    own = [name.removeprefix(common).strip() for name in names]
    y = Axis(common, names=labels(own), at=range(len(names)), letters=6.5)
    return names_axis(panel.places, panel.x), y, drawn
