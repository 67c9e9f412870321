"""Bus bandwidth of collectives by their size, as NVIDIA's nccl-tests define it, of one run or of several."""

from __future__ import annotations

from collections import defaultdict
from statistics import median
from typing import TYPE_CHECKING

from astra_ns3.errors import InputError, nearest
from astra_ns3.report.plots.kind import Choice, Kind
from astra_ns3.report.plots.style import (
    COLOURS,
    LINES,
    legend_below,
    log_axis,
    new_figure,
    panels,
    say_empty,
    shortened,
    stroke,
)
from astra_ns3.report.tables import Records, names_of
from astra_ns3.units import format_bytes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MARKS = "osD^vP*X"

Found = dict[str, dict[int, list[float]]]
"""Kind -> bytes -> bandwidths in 10**9 bytes a second."""


def draw(records: Records, choice: Choice) -> Figure:
    """A point per collective, a line through the medians of each kind and run."""
    every = (records, *choice.beside)
    runs = [(name, bandwidths(each)) for name, each in zip(names_of(every), every, strict=True)]
    kinds = list(dict.fromkeys(kind for _, found in runs for kind in found))
    for word in choice.select:
        if word not in kinds:
            raise InputError(f"collective '{word}' is not one of {', '.join(kinds)}{nearest(word, kinds)}")
    kinds = list(choice.select or kinds)
    figure = new_figure(choice.width_inches, 2.2)
    (axes,) = panels(figure, [1])
    if not kinds:
        say_empty(axes, "no collective has ended")
        return figure
    handles = []
    for place, (run, found) in enumerate(runs):
        for number, kind in enumerate(kinds):
            if kind in found:
                colour = COLOURS[(place if len(runs) > 1 else number) % len(COLOURS)]
                line = LINES[number % len(LINES)] if len(runs) > 1 else "-"
                _draw_kind(axes, found[kind], colour, line, _MARKS[number % len(_MARKS)])
                label = " ".join(([shortened(run, 16)] if len(runs) > 1 else []) + [_word(kind)])
                handles.append(stroke(colour, label, line, _MARKS[number % len(_MARKS)]))
    sizes = [size for _, found in runs for kind in kinds for size in found.get(kind, ())]
    _label(axes, narrow=max(sizes) < 200 * min(sizes))
    legend_below(figure, handles, 2 if choice.width_inches < 5 else 4)
    return figure


def bandwidths(records: Records) -> Found:
    """Of all collectives that ended, and took time."""
    found: Found = defaultdict(lambda: defaultdict(list))
    for row in records.rows("collectives.csv"):
        if row["bus_bandwidth_gbytes_per_s"]:
            found[row["kind"]][int(row["bytes"])].append(float(row["bus_bandwidth_gbytes_per_s"]))
    return found


def _draw_kind(axes: Axes, by_size: dict[int, list[float]], colour: str, line: str, mark: str) -> None:
    sizes = sorted(by_size)
    every = [(size, value) for size in sizes for value in by_size[size]]
    axes.plot(*zip(*every, strict=True), mark, color=colour, markersize=2.2, markeredgewidth=0, alpha=0.5)
    axes.plot(sizes, [median(by_size[size]) for size in sizes], mark, color=colour, linestyle=line, markersize=3)


def _label(axes: Axes, *, narrow: bool) -> None:
    log_axis(axes, lambda size: format_bytes(round(size)), narrow=narrow)
    axes.set_ylim(bottom=0)
    axes.set_xlabel("size that each NPU brings")
    axes.set_ylabel("bus bandwidth (GB/s)")
    axes.grid(axis="y")


def _word(kind: str) -> str:
    return {"ALLREDUCE": "all-reduce", "ALLTOALL": "all-to-all", "ALLGATHER": "all-gather",
            "REDUCESCATTER": "reduce-scatter", "POINTTOPOINT": "message"}.get(kind, kind.lower())  # fmt: skip


KIND = Kind(
    "bandwidth",
    "bus bandwidth of collectives by size",
    draw,
    selects="kinds of collectives, as ALLREDUCE",
    compares=True,
    of_flows=False,
)
