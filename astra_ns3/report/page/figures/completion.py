"""How long messages took, and how many times as long as alone on an idle network."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from astra_ns3.report.page.figure import COLOURS, Data, Figure, Missing, Panel, Shown, axis, line
from astra_ns3.report.page.having import Having, having
from astra_ns3.report.page.scale import shares, significant, time_scale
from astra_ns3.report.tables import is_of_flows
from astra_ns3.units import format_bytes

_MOST_ROWS = 200_000
_COLUMNS = ("bytes", "start_ps", "end_ps", "ideal_ps")
_PERCENTILES = {"median": 50, "99th percentile": 99}

Flows = dict[str, npt.NDArray[Any]]


def completion(runs: Sequence[Shown], detail: int) -> Figure | Missing:
    """Distributions of completion time and slowdown, and the slowdown by size; all runs in one plot."""
    tables: Having = []
    notes: list[str] = []
    for name, some in (
        ("completions", [shown for shown in runs if is_of_flows(shown.run)]),
        ("flows", [shown for shown in runs if not is_of_flows(shown.run)]),
    ):
        having_rows = having(some, name, "no message arrived") if some else ([], [])
        if isinstance(having_rows, Missing):
            if len(some) == len(runs):
                return having_rows
            notes.append(f"{', '.join(shown.name for shown in some)}: not recorded; {having_rows.remedy}.")
            continue
        tables += having_rows[0]
        notes += having_rows[1]
    found: list[tuple[Shown, Flows]] = []
    for shown, table in tables:
        found.append((shown, table.whole(_COLUMNS, _MOST_ROWS)))
        if len(found[-1][1]["bytes"]) < table.rows:
            notes.append(f"{shown.name}: every {-(-table.rows // _MOST_ROWS)}th of {table.rows:,} messages.")
    if not found:
        return Figure([], notes)
    panels = [_times(found, detail)]
    ideal = [(shown, _with_ideal(flows)) for shown, flows in found]
    known = [(shown, flows) for shown, flows in ideal if len(flows["bytes"])]
    if known:
        panels += [_slowdowns(known, detail), _by_size(known)]
    else:
        notes.append("Slowdown needs RoCE: of other transports the time alone on the network is not known.")
    return Figure(panels, notes)


def _times(found: list[tuple[Shown, Flows]], detail: int) -> Panel:
    times = [(flows["end_ps"] - flows["start_ps"]).astype(np.float64) for _, flows in found]
    scale = time_scale(float(np.median(np.concatenate(times))))
    lines = []
    for place, ((shown, _), each) in enumerate(zip(found, times, strict=True)):
        x, y = shares(each / scale.ps, min(200, detail))
        lines.append(line(shown.name, x, y, place, place, line_shape="hv"))
    return Panel(
        "completion time",
        lines,
        {"xaxis": axis(f"time ({scale.unit})", type="log", dtick="D2"), "yaxis": _share_axis()},
        of_run=False,
    )


def _slowdowns(found: list[tuple[Shown, Flows]], detail: int) -> Panel:
    lines = []
    for place, (shown, flows) in enumerate(found):
        x, y = shares(_slowdown(flows), min(200, detail))
        lines.append(line(shown.name, x, y, place, place, line_shape="hv"))
    layout = {"xaxis": axis("time / time alone on the network", type="log", dtick="D2"), "yaxis": _share_axis()}
    return Panel("slowdown", lines, layout, of_run=False)


def _share_axis() -> Data:
    return axis("share of messages", range=[0, 1.01])


def _by_size(found: list[tuple[Shown, Flows]]) -> Panel:
    """Percentiles of the slowdown in classes of sizes, each up to twice as large as the one before."""
    lines = []
    for place, (shown, flows) in enumerate(found):
        slowdown, classes = _slowdown(flows), np.floor(np.log2(flows["bytes"].astype(np.float64))).astype(np.int64)
        kinds = np.unique(classes)
        x = [significant(float(np.median(flows["bytes"][classes == each]))) for each in kinds]
        for number, (name, percent) in enumerate(_PERCENTILES.items()):
            y = [significant(float(np.percentile(slowdown[classes == each], percent))) for each in kinds]
            marker = {"size": 7, "color": COLOURS[place % len(COLOURS)]}
            hover = [format_bytes(int(size)) for size in x]
            drawn = line(f"{shown.name}, {name}", x, y, place, number)
            lines.append({**drawn, "mode": "lines+markers", "marker": marker, "hovertext": hover})
    layout = {
        "xaxis": axis("message (bytes)", type="log", dtick="D2", tickformat="~s"),
        "yaxis": axis("time / time alone", rangemode="tozero"),
    }
    return Panel("slowdown by size", lines, layout, of_run=False)


def _with_ideal(flows: Flows) -> Flows:
    known = flows["ideal_ps"] > 0
    return {name: column[known] for name, column in flows.items()}


def _slowdown(flows: Flows) -> npt.NDArray[np.float64]:
    found: npt.NDArray[np.float64] = (flows["end_ps"] - flows["start_ps"]) / flows["ideal_ps"]
    return found
