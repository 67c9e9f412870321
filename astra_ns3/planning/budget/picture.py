"""The picture of a budget: the rate of an NPU in each dimension, a bar for each split."""

from __future__ import annotations

from collections.abc import Mapping

from astra_ns3.planning.budget.budget import Split
from astra_ns3.report.figures.figure import Axis, Bars, Figure, Panel, Series
from astra_ns3.report.figures.style import BLUE, GREY, VERMILION

_GBPS = 10**9
_COLOURS = (GREY, BLUE, VERMILION)


def rates_figure(splits: Mapping[str, Split]) -> Figure:
    """Return the picture of some splits, each by its name."""
    thick = 0.8 / len(splits)
    series: list[Series] = []
    for number, (name, split) in enumerate(splits.items()):
        at = [place + (number - (len(splits) - 1) / 2) * thick for place in range(len(split.rates))]
        rates = [rate / _GBPS for rate in split.rates]
        series.append(Bars(rates, at, thick=thick * 0.9, upright=True, name=name, colour=_COLOURS[number]))
    dimensions = range(len(next(iter(splits.values())).rates))
    x = Axis("", names=[f"dimension {number}" for number in dimensions])
    return Figure([Panel(x, Axis("rate of an NPU", "Gb/s", grid=True, low=0), series)], legend=(2, 3))
