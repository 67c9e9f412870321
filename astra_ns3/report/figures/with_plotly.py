"""Turns figures into plain data for plotly.js, for pages: numbers rounded to what a screen shows."""

from __future__ import annotations

from collections.abc import Sequence
from math import floor, log10
from typing import Any

import numpy as np
import numpy.typing as npt

from astra_ns3.report.figures.curves import Real
from astra_ns3.report.figures.figure import Axis, Bars, Curve, Heat, Panel, Series, Spans

Data = dict[str, Any]  # by the names that plotly gives them
# As in files: solid, dashed, dotted, dashes and dots, long, with two dots, sparse dots, long and short.
_DASHES = (
    "solid", "dash", "dot", "dashdot", "20px,5px", "10px,3px,2px,3px,2px,3px", "2px,8px", "20px,4px,6px,4px"
)  # fmt: skip
_MARKS = ("circle", "diamond", "square", "triangle-up", "cross", "x", "star", "hexagon")
_HATCHED = {"pattern": {"shape": "/", "size": 5, "solidity": 0.45}}
_DIGITS = 5
_MOST_TICKS = 16
# A logarithmic axis over more has labels at powers of ten alone.
_MOST_DECADES = 3


def traces(panel: Panel) -> list[Data]:
    """Return what plotly.js draws in a panel."""
    return [trace for series in panel.series if (trace := _trace(series, panel))]


def layout(panel: Panel) -> Data:
    """Return the axes of a panel, and how its bars stand."""
    curves = [series for series in panel.series if isinstance(series, Curve)]
    found: Data = {
        "xaxis": _axis(panel.x, "x", [curve.x for curve in curves]),
        "yaxis": _axis(panel.y, "y", [curve.y for curve in curves]),
    }
    if any(isinstance(series, Bars) for series in panel.series):
        found |= {"barmode": "stack", "bargap": panel.gap}
    elif any(isinstance(series, Spans) for series in panel.series):
        found["barmode"] = "overlay"
    if any(isinstance(series, Heat) for series in panel.series):
        found["xaxis"]["showgrid"] = False
        found["yaxis"] = {"autorange": "reversed", "type": "category", "showgrid": False, "nticks": 2 * _MOST_TICKS}
    return found


def _axis(axis: Axis, which: str, values: Sequence[npt.ArrayLike]) -> Data:
    if axis.names and which == "x":
        return {"title": {"text": axis.title}, "type": "category", "showgrid": False, "nticks": _MOST_TICKS}
    if axis.names:  # from top to bottom
        return {"autorange": "reversed", "tickmode": "array", "tickvals": list(range(len(axis.names))),
                "ticktext": list(axis.names), "showgrid": False, "zeroline": False}  # fmt: skip
    found: Data = {"title": {"text": axis.title}}
    if axis.log:
        # With a format plotly.js writes values at 2 and 5 out, which are single digits otherwise.
        dtick = 1 if _decades(values) > _MOST_DECADES else "D2"
        found |= {"type": "log", "dtick": dtick, "tickformat": "~s" if axis.sizes else ",.12~g"}
    elif axis.high is not None:
        found["range"] = [axis.low, axis.high]
    elif axis.low == 0:
        found["rangemode"] = "tozero"
    return found


def _decades(values: Sequence[npt.ArrayLike]) -> float:
    """Return over how many powers of ten the values above 0 go."""
    found = np.concatenate([np.zeros(0), *(np.asarray(each, dtype=np.float64).ravel() for each in values)])
    found = found[found > 0]
    return log10(found.max() / found.min()) if len(found) else 0.0


def _trace(series: Series, panel: Panel) -> Data | None:
    match series:
        case Curve():
            return _curve(series)
        case Bars():
            return _bars(series, panel)
        case Spans():
            return _spans(series, panel.x)
        case Heat():
            return _heat(series, panel.x)
    return None


def _curve(series: Curve) -> Data:
    y = [float(value) for value in np.asarray(series.y, dtype=np.float64)]
    found: Data = {
        "type": "scatter",
        "mode": "lines" if series.mark is None else "lines+markers",
        "name": series.name,
        "x": _significant(series.x),
        "y": _significant(y),
        "line": {
            "color": series.colour,
            "width": 1 if len(series.least) else 2,
            "dash": _DASHES[(series.dash or 0) % len(_DASHES)],
        },
    }
    if series.step:
        found |= {"line_shape": "hv", "connectgaps": False}
    if series.mark is not None:
        found["marker"] = {"color": series.colour, "size": series.size, "symbol": _MARKS[series.mark % len(_MARKS)]}
    if len(series.least):
        found["error_y"] = {
            "type": "data",
            "symmetric": False,
            "array": _significant(np.asarray(series.most) - y),
            "arrayminus": _significant(y - np.asarray(series.least)),
            "thickness": 1,
        }
    if series.notes:
        found["hovertext"] = list(series.notes)
    return found


def _bars(series: Bars, panel: Panel) -> Data:
    values = _rounded(series.values)
    places: Sequence[str | int] = panel.x.names or range(len(values))
    marker = {"color": series.colour, "line": {"width": 0}, **(_HATCHED if series.hatched else {})}
    found = {"type": "bar", "name": series.name, "marker": marker}
    if series.upright:
        name = f"{panel.x.title} %{{x}}"
        return {**found, "x": list(places), "y": values, "hovertemplate": f"{name}<br>%{{y}} {panel.y.unit}"}
    hover = {"hovertext": list(series.notes), "hovertemplate": f"%{{hovertext}}<br>%{{x}} {panel.x.unit}"}
    return {**found, "orientation": "h", "x": values, "y": list(places), **hover}


def _spans(series: Spans, x: Axis) -> Data:
    span = f"from %{{base}} to %{{x}} {x.unit}"  # of a bar with a base, x is where it ends
    return {
        "type": "bar",
        "orientation": "h",
        "name": series.name,
        "showlegend": bool(series.name),
        "base": _rounded(series.starts, x.high),
        "x": _rounded(series.lengths, x.high),
        "y": np.asarray(series.lanes).tolist(),
        "width": series.thick,
        "marker": {"color": series.colour, "line": {"width": 0}},
        "hovertemplate": f"{series.name}<br>{span}" if series.name else f"{span}<extra></extra>",
    }


def _heat(series: Heat, x: Axis) -> Data:
    values = np.asarray(series.values, dtype=np.float64)
    low, high = series.edges or (-0.5, values.shape[-1] - 0.5)
    middles = low + (np.arange(values.shape[-1]) + 0.5) * (high - low) / max(1, values.shape[-1])
    return {
        "type": "heatmap",
        "z": [_plain(row) for row in values],
        "x": _rounded(middles, x.high),
        "y": list(series.rows),
        "colorscale": "Cividis",
        "zmin": series.of.low,
        "zmax": series.of.high,
        "colorbar": {"title": {"text": series.of.unit}, "thickness": 12, "outlinewidth": 0},
        "hovertemplate": f"%{{y}}<br>%{{x}} {x.unit}: %{{z}} {series.of.unit}<extra></extra>",
    }


def _rounded(values: npt.ArrayLike, longest: float | None = None) -> list[float | None]:
    """Return numbers with as many decimals as give the longest five digits."""
    found = np.asarray(values, dtype=np.float64)
    most = float(np.abs(found).max(initial=0)) if longest is None else longest
    return _plain(np.round(found, max(0, _DIGITS - 1 - floor(log10(most))) if most > 0 else 0))


def _significant(values: npt.ArrayLike) -> list[float | None]:
    """Return numbers with five digits each."""
    return _plain(np.array([float(f"{value:.{_DIGITS}g}") for value in np.asarray(values, dtype=np.float64)]))


def _plain(values: Real | Sequence[float]) -> list[float | None]:
    """Return numbers as JSON has them: whole ones without a point, and none for no number."""
    return [None if value != value else int(value) if float(value).is_integer() else float(value) for value in values]
