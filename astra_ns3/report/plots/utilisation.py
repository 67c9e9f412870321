"""How busy each link was: ports from top to bottom by level, time from left to right."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from astra_ns3.report.plots.kind import Choice, Kind
from astra_ns3.report.plots.style import HEAT_MAP, new_figure, panels, say_empty, time_unit
from astra_ns3.report.ports import Level, chosen, levels, rates_bps
from astra_ns3.report.tables import Records, batches, words
from astra_ns3.units import parse_time_ps

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_COLUMNS = 400
_MOST_NAMES = 24
"""Ports whose names find room; of more only the levels are named."""
_NAME_INCHES = 0.13
"""From the name of a level to that of the next, at least."""

Grid = npt.NDArray[np.float64]


def draw(records: Records, choice: Choice) -> Figure:
    """A heat map: percent of the link's rate, or Gb/s where rates aren't known."""
    port = words(records, "utilisation", "port")
    rows = levels(records, chosen(port.texts, choice.select))
    ports = [name for level in rows for name in level.ports]
    busy = len(port.codes) > 0
    row_inches = 0.11 * len(ports) if len(ports) <= _MOST_NAMES else min(0.008 * len(ports) + 1.6, 2.8)
    figure = new_figure(choice.width_inches, 1.2 + row_inches if busy else 1.5)
    (axes,) = panels(figure, [1])
    if not busy:
        say_empty(axes, "no observed port sent anything")
        return figure
    sent, column_ps = bytes_sent(records, ports)
    rates = rates_bps(records)
    known = all(name in rates for name in ports)
    gbps = 8000 * sent / column_ps
    shown = 1e11 * gbps / np.array([[rates[name]] for name in ports]) if known else gbps
    factor, unit = time_unit(sent.shape[1] * column_ps)
    image = axes.imshow(
        shown,
        aspect="auto",
        interpolation="nearest",
        cmap=HEAT_MAP,
        vmin=0,
        vmax=100 if known else None,
        extent=(0, sent.shape[1] * column_ps / factor, len(ports), 0),
    )
    _name_rows(axes, rows, row_inches)
    axes.set_xlabel(f"time ({unit})")
    bar = figure.colorbar(image, ax=axes, location="top", fraction=0.05, aspect=40)
    bar.set_label("link utilisation (%)" if known else "sent (Gb/s)")
    bar.outline.set_linewidth(0.4)
    return figure


def bytes_sent(records: Records, ports: list[str]) -> tuple[Grid, int]:
    """Bytes on the wire of each port in each column, ``(ports, columns)``, and picoseconds of a column."""
    interval_ps = parse_time_ps(records.metadata["network"]["observe"]["utilisation_interval"])
    row_of = {name: row for row, name in enumerate(ports)}
    intervals = max(1, -(-int(records.metadata["finish_ps"]) // interval_ps))
    together = -(-intervals // MOST_COLUMNS)
    sent = np.zeros((len(ports), -(-intervals // together)))
    for batch in batches(records, "utilisation", ["time_ps", "port", "wire_bytes"]):
        cells = batch.column("port")
        rows = np.array([row_of.get(name, -1) for name in cells.dictionary.to_pylist()], dtype=np.int64)
        row = rows[cells.indices.to_numpy()]
        column = (batch.column("time_ps").to_numpy() // interval_ps - 1) // together
        inside = (row >= 0) & (column < sent.shape[1])
        np.add.at(sent, (row[inside], column[inside]), batch.column("wire_bytes").to_numpy()[inside])
    return sent, together * interval_ps


def apart(places: list[float], gap: float, end: float) -> list[float]:
    """Ascending places, moved as little as it takes to be ``gap`` apart and half of that away from 0 and ``end``."""
    least = gap / 2
    moved: list[float] = []
    for place in places:
        moved.append(max(place, least))
        least = moved[-1] + gap
    most = end - gap / 2
    for number in reversed(range(len(moved))):
        moved[number] = min(moved[number], most)
        most = moved[number] - gap
    return moved


def _name_rows(axes: Axes, rows: list[Level], row_inches: float) -> None:
    """Names of ports, or of levels where there are too many; a line between levels."""
    ports = [name for level in rows for name in level.ports]
    edges = np.cumsum([0, *(len(level.ports) for level in rows)])
    for edge in edges[1:-1]:
        axes.axhline(edge, color="white", linewidth=0.8)
    if len(ports) <= _MOST_NAMES:
        axes.set_yticks(np.arange(len(ports)) + 0.5, ports, fontsize=5.5)
    else:
        middles = (edges[:-1] + edges[1:]) / 2
        places = apart(middles.tolist(), _NAME_INCHES * len(ports) / row_inches, len(ports))
        names = [f"{level.name} ({len(level.ports)})" for level in rows]
        axes.set_yticks(places, names, fontsize=6)
    axes.tick_params(axis="y", length=0)


KIND = Kind("utilisation", "how busy each link was, over time", draw, any_of=("utilisation",), selects="ports")
