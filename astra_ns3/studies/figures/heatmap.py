"""A heat map: ``x`` across, ``by`` down, a number in each field."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from astra_ns3.report.alignment import number_text
from astra_ns3.report.plots.style import HEAT_MAP, labels
from astra_ns3.studies.figures.axes import each_panel, finish, name_places, unit_of
from astra_ns3.studies.figures.config import FigureConfig
from astra_ns3.studies.figures.data import FigureData, Panel, View, figure_data

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def draw(view: View, figure: FigureConfig) -> Figure:
    """A map for each value of ``panels`` and each measure."""
    data = figure_data(view, figure)
    single = []
    for panel in data.panels:
        measures = list(dict.fromkeys(series.measure for series in panel.series))
        for measure in measures:
            series = tuple(each for each in panel.series if each.measure == measure)
            title = ", ".join(word for word in (panel.title, measure if len(measures) > 1 else "") if word)
            single.append(Panel(title, panel.x, panel.places, series))
    rows = max((len(panel.series) for panel in single), default=1)
    height = 0.9 + 0.26 * rows
    made = each_panel(FigureData(tuple(single), data.missing), partial(_panel, figure=figure), height, 2)
    return finish(made, data.missing)


def _panel(axes: Axes, panel: Panel, figure: FigureConfig) -> None:
    from matplotlib.colors import LogNorm

    unit = unit_of(panel.series, figure)
    values = np.array([[cell.mean / unit.factor if cell else np.nan for cell in each.cells] for each in panel.series])
    norm = LogNorm() if figure.log and np.nanmin(values) > 0 else None
    image = axes.imshow(values, cmap=HEAT_MAP, aspect="auto", norm=norm)
    middle = (np.nanmin(values) + np.nanmax(values)) / 2
    for (row, column), value in np.ndenumerate(values):
        cell = panel.series[row].cells[column]
        words = "n/a" if np.isnan(value) else number_text(value)
        words += "\ndoesn't fit" if cell is not None and not cell.fits else ""
        dark = not np.isnan(value) and value < middle
        axes.text(column, row, words, ha="center", va="center", fontsize=5.5, color="white" if dark else "black")
    axes.figure.colorbar(image, ax=axes, label=unit.label)
    measure = panel.series[0].measure
    names = [each.label.removesuffix(measure).strip() or measure for each in panel.series]
    axes.set_yticks(range(len(names)), labels(names))
    axes.tick_params(axis="y", length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)
    name_places(axes, panel.places, panel.x)
