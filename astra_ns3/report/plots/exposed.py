"""Computing against exposed communication: the mean over all NPUs, one NPU of each role, and every NPU."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from astra_ns3.report.plots.kind import Choice, Kind
from astra_ns3.report.plots.layers import layer_times
from astra_ns3.report.plots.style import (
    BLUE,
    VERMILION,
    legend_below,
    new_figure,
    panels,
    shortened,
    swatch,
    time_unit,
)
from astra_ns3.report.tables import Records, names_of
from astra_ns3.units import PS_PER_US

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MOST_BARS = 40
"""More NPUs than this are drawn without gaps between them."""

Spent = tuple[str, float, float]
"""A bar's name, and picoseconds of computing and exposed."""


def draw(records: Records, choice: Choice) -> Figure:
    """Bars of means above, a bar per NPU below; with other runs beside it, a mean for each."""
    every = (records, *choice.beside)
    if choice.beside:
        bars = [(name, *_mean(each)) for name, each in zip(names_of(every), every, strict=True)]
    else:
        bars = _means(records)
    by_npu = not choice.beside and len(_npus(records)) > 1
    height = 0.6 + 0.17 * len(bars)
    figure = new_figure(choice.width_inches, height + 0.35 + 1.3 * by_npu)
    axes = panels(figure, [height, 1.4][: 1 + by_npu])
    _draw_means(axes[0], bars)
    if by_npu:
        _draw_npus(axes[1], _npus(records))
    legend_below(figure, [swatch(BLUE, "compute"), swatch(VERMILION, "exposed communication")], 2)
    return figure


def _npus(records: Records) -> npt.NDArray[np.float64]:
    """Compute and exposed picoseconds of each NPU."""
    rows = records.rows("npus.csv")
    return np.array([[PS_PER_US * float(row[name]) for name in ("compute_us", "exposed_us")] for row in rows])


def _mean(records: Records) -> tuple[float, float]:
    compute, exposed = _npus(records).mean(axis=0)
    return float(compute), float(exposed)


def _means(records: Records) -> list[Spent]:
    alone = len(_npus(records)) == 1
    bars: list[Spent] = [("NPU 0" if alone else "mean of NPUs", *_mean(records))]
    roles = layer_times(records)
    if len(roles) > 1:
        for role, times in roles.items():
            spent = [pair for parts in times.values() for pair in parts.values()]
            bars.append((f"an NPU of {role}", sum(pair[0] for pair in spent), sum(pair[1] for pair in spent)))
    return bars


def _draw_means(axes: Axes, bars: list[Spent]) -> None:
    factor, unit = time_unit(max(compute + exposed for _, compute, exposed in bars))
    places = np.arange(len(bars))
    compute = np.array([bar[1] for bar in bars]) / factor
    exposed = np.array([bar[2] for bar in bars]) / factor
    axes.barh(places, compute, color=BLUE, height=0.7)
    axes.barh(places, exposed, left=compute, color=VERMILION, height=0.7)
    whole = compute + exposed
    for place in places:
        share = 100 * exposed[place] / whole[place] if whole[place] else 0.0
        axes.text(float(whole[place]), int(place), f" {share:.1f}% exposed", va="center", fontsize=6)
    axes.set_yticks(places, [shortened(bar[0], 18) for bar in bars])
    axes.set_ylim(len(bars) - 0.4, -0.6)
    axes.set_xlim(0, 1.32 * (whole.max() or 1.0))
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel(f"time ({unit})")
    axes.grid(axis="x")


def _draw_npus(axes: Axes, npus: npt.NDArray[np.float64]) -> None:
    from matplotlib.ticker import MaxNLocator

    factor, unit = time_unit(float(npus.sum(axis=1).max()))
    compute, exposed = npus.T / factor
    edges = np.arange(len(npus) + 1) - 0.5
    if len(npus) <= _MOST_BARS:
        places = np.arange(len(npus))
        axes.bar(places, compute, color=BLUE, width=0.75)
        axes.bar(places, exposed, bottom=compute, color=VERMILION, width=0.75)
    else:
        axes.stairs(compute, edges, fill=True, color=BLUE)
        axes.stairs(compute + exposed, edges, baseline=compute, fill=True, color=VERMILION)
    axes.set_xlim(edges[0], edges[-1])
    axes.set_xlabel("NPU")
    axes.set_ylabel(f"time ({unit})")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.grid(axis="y")


KIND = Kind(
    "exposed",
    "computing against exposed communication, of all NPUs and of each",
    draw,
    more=("layers",),
    compares=True,
    of_flows=False,
)
