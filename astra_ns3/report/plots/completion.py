"""How long messages took: their distribution by size, and how many times as long as alone on the network."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from astra_ns3.report.plots.kind import Choice, Kind
from astra_ns3.report.plots.style import (
    COLOURS,
    LINES,
    MOST_POINTS,
    legend_below,
    log_axis,
    new_figure,
    panels,
    say_empty,
    shortened,
    stroke,
    time_unit,
)
from astra_ns3.report.tables import Numbers, Records, names_of, numbers, recorded
from astra_ns3.units import format_bytes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_CLASSES = 4
"""Of sizes; messages of more sizes than this are put into classes of about as many sizes each."""
ALIKE = 1.01
"""Sizes within this factor are one: equal chunks differ by a byte."""

Classes = list[tuple[str, npt.NDArray[np.bool_]]]


def draw(records: Records, choice: Choice) -> Figure:
    """The share of messages that had come by a time; below, if the transport knows what is ideal, the slowdown."""
    every = (records, *choice.beside)
    columns = ("bytes", "start_ps", "end_ps", "ideal_ps")
    with_names = zip(names_of(every), every, strict=True)
    runs = [(name, numbers(each, _table_of(each), *columns)) for name, each in with_names]
    ideal = any((found[3] > 0).any() for _, found in runs)
    figure = new_figure(choice.width_inches, 3.4 if ideal else 2.0)
    axes = panels(figure, [1, 1] if ideal else [1])
    sizes = np.unique(np.concatenate([found[0] for _, found in runs]))
    if not len(sizes):
        say_empty(axes[0], "no message was sent")
        return figure
    longest = max(float((found[2] - found[1]).max()) for _, found in runs if len(found[0]))
    unit = time_unit(longest)
    handles = []
    for place, (run, (size, start, end, alone)) in enumerate(runs):
        line = LINES[place % len(LINES)]
        for number, (label, inside) in enumerate(classes(size, sizes)):
            colour = COLOURS[number % len(COLOURS)]
            took = (end - start)[inside]
            if not len(took):
                continue
            _draw_share(axes[0], took / unit[0], colour, line)
            known = alone[inside] > 0
            if ideal and known.any():
                _draw_share(axes[1], took[known] / alone[inside][known], colour, line)
            named = f"{shortened(run, 14)}: {label}" if len(runs) > 1 else f"{label} ({len(took):,})"
            handles.append(stroke(colour, named, line))
    _label(axes[0], f"completion of a message ({unit[1]})")
    if ideal:
        _label(axes[1], "slowdown: time over that alone on an idle network")
    legend_below(figure, handles, 2 if choice.width_inches < 5 else 4)
    return figure


def _table_of(records: Records) -> str:
    """Of a list of flows that of these, which has what is ideal over any transport; else that of messages."""
    return "completions" if recorded(records, "completions") else "flows"


def classes(sizes: Numbers, every: Numbers) -> Classes:
    """Names of classes of sizes, and which messages are in each; ``every``: the sizes there are, ascending."""
    alike = np.split(every, np.flatnonzero(every[1:] > ALIKE * every[:-1]) + 1)
    groups = np.array_split(np.arange(len(alike)), min(len(alike), MOST_CLASSES))
    found: Classes = []
    for group in groups:
        low, high = int(alike[group[0]][0]), int(alike[group[-1]][-1])
        name = f"{format_bytes(low)} to {format_bytes(high)}" if high > ALIKE * low else format_bytes(high)
        found.append((name, (sizes >= low) & (sizes <= high)))
    return found


def _draw_share(axes: Axes, values: npt.NDArray[np.float64], colour: str, line: str) -> None:
    ordered = np.sort(values)
    share = np.arange(1, len(ordered) + 1) / len(ordered)
    kept = np.unique(np.linspace(0, len(ordered) - 1, min(len(ordered), MOST_POINTS)).astype(np.int64))
    x, y = np.append(ordered[0], ordered[kept]), np.append(0, share[kept])
    axes.step(x, y, where="post", color=colour, linestyle=line)


def _label(axes: Axes, name: str) -> None:
    low, high = _extent(axes)
    if high > 3 * max(low, 1e-9):
        log_axis(axes, lambda value: f"{value:g}", narrow=high < 500 * low)
    axes.set_ylim(0, 1.02)
    axes.set_xlabel(name)
    axes.set_ylabel("share of messages")
    axes.grid()


def _extent(axes: Axes) -> tuple[float, float]:
    """The least and the highest value drawn."""
    drawn = [line.get_xdata() for line in axes.get_lines()]
    return min(float(np.min(x)) for x in drawn), max(float(np.max(x)) for x in drawn)


KIND = Kind(
    "completion",
    "how long messages took, by size, and their slowdown",
    draw,
    any_of=("completions", "flows"),
    compares=True,
)
