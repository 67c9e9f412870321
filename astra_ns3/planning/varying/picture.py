"""The picture of varied plans: times, and which plan wins: a line over one key, two maps over two."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from astra_ns3.planning.varying.text import differing_samples
from astra_ns3.planning.varying.varying import Varied
from astra_ns3.report.alignment import number_text
from astra_ns3.report.figures.figure import Axis, Curve, Figure, Heat, Panel, Series, Words
from astra_ns3.report.figures.style import BLUE, Unit, time_unit

Field = npt.NDArray[np.float64]
_ROW_INCHES = 0.3
_HEIGHT_INCHES = 1.2


def varied_figure(varied: Varied) -> Figure:
    """Return the picture. Plans have numbers; the words below say which is which."""
    names = list(dict.fromkeys(point.best for point in varied.points if point.best))
    times = np.array([np.nan if point.time_ps is None else float(point.time_ps) for point in varied.points])
    winners = [names.index(point.best) + 1 if point.best else 0 for point in varied.points]
    unit = time_unit(float(np.nanmax(times)))
    samples = differing_samples(varied)
    told = [f"samples {samples}"] if samples else []
    plans = "; ".join([*told, *(f"plan {number}: {name}" for number, name in enumerate(names, start=1))])
    if len(varied.keys) == 1:
        return Figure([_line(varied, times / unit[0], winners, unit)], missing=plans)
    return Figure(_maps(varied, times / unit[0], winners, unit), missing=plans, across=2)


def _what(varied: Varied) -> str:
    return "best time" if varied.played else "least bound"


def _line(varied: Varied, times: Field, winners: Sequence[int], unit: Unit) -> Panel:
    (key,) = varied.keys
    places = [place for place, time in enumerate(times) if not np.isnan(time)]
    series: list[Series] = [Curve(places, times[places], colour=BLUE, mark=0)]
    series += [Words(place, times[place], str(winners[place]), up="bottom", letters=6.5, raised=3) for place in places]
    x = Axis(key.name, names=key.labels)
    return Panel(x, Axis(_what(varied), unit[1], grid=True, low=0), series, height=2.6)


def _maps(varied: Varied, times: Field, winners: Sequence[int], unit: Unit) -> list[Panel]:
    down, across = varied.keys
    shape = len(down.labels), len(across.labels)
    plans = np.array([number or np.nan for number in winners], dtype=np.float64).reshape(shape)
    height = _HEIGHT_INCHES + _ROW_INCHES * len(down.labels)
    x = Axis(across.name, names=across.labels)
    y = Axis(down.name, names=down.labels, at=range(len(down.labels)))
    maps = [
        (_what(varied), times.reshape(shape), Axis(_what(varied), unit[1])),
        ("plan", plans, Axis("plan", whole=True)),
    ]
    return [Panel(x, y, _fields(values, of), title=title, height=height) for title, values, of in maps]


def _fields(values: Field, of: Axis) -> list[Series]:
    """Return a map, and its numbers."""
    middle = (np.nanmin(values) + np.nanmax(values)) / 2
    drawn: list[Series] = [Heat(values, of)]
    for (row, column), value in np.ndenumerate(values):
        words = "none" if np.isnan(value) else number_text(float(value))
        drawn.append(Words(column, row, words, colour="white" if value < middle else "black"))
    return drawn
