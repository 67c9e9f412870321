"""Bars of layers: what the reported NPU computed and waited for in each pass."""

from __future__ import annotations

from collections.abc import Sequence

from astra_ns3.report.page.figure import Data, Figure, Panel, Shown, axis
from astra_ns3.report.page.scale import TimeScale, short, time_scale
from astra_ns3.report.plots.style import BLUE, ORANGE, SKY, VERMILION, YELLOW
from astra_ns3.report.records import END_TO_END, ps_of
from astra_ns3.report.tables import Records

_MOST_LAYERS = 60
_COLUMNS = (
    ("fwd compute", "compute, forward", BLUE),
    ("ig compute", "compute, input gradient", SKY),
    ("wg compute", "compute, weight gradient", "#004B76"),
    ("fwd exposed comm", "exposed, forward", VERMILION),
    ("ig exposed comm", "exposed, input gradient", ORANGE),
    ("wg exposed comm", "exposed, weight gradient", "#8F3F00"),
)
_TAIL = ("exposed, after the last pass", YELLOW)

Rows = list[tuple[str, list[int]]]
"""Name of a layer, and picoseconds of each part."""


def layers(runs: Sequence[Shown], detail: int) -> Figure:
    """A bar per layer and run, of the NPU that the run reports."""
    found = [_rows(shown.run) for shown in runs]
    most = min(_MOST_LAYERS, detail)
    longest = max((sum(times) for rows in found for _, times in rows), default=1)
    scale, notes, panels = time_scale(longest), [], []
    for shown, rows in zip(runs, found, strict=True):
        kept = _largest(rows, most)
        if len(kept) < len(rows):
            notes.append(f"{shown.name}: the {len(kept)} layers that took longest, of {len(rows)}.")
        panels.append(_panel(shown, kept, scale, longest))
    return Figure(panels, notes)


def _rows(run: Records) -> Rows:
    rows = [(row["layer name"], [ps_of(row[column]) or 0 for column, _, _ in _COLUMNS]) for row in run.rows(END_TO_END)]
    tails: dict[str, int] = {}
    for each in run.metadata["exposed_by_layer"]:
        tails[each["layer"]] = tails.get(each["layer"], 0) + each["exposed_ps"]
    for name, times in rows:
        tails[name] = tails.get(name, 0) - sum(times[3:])
    return [(name, [*times, max(0, tails.pop(name, 0))]) for name, times in rows]


def _largest(rows: Rows, most: int) -> Rows:
    """So many rows that took longest, in the order of the workload."""
    ranked = sorted(range(len(rows)), key=lambda place: -sum(rows[place][1]))[:most]
    return [rows[place] for place in sorted(ranked)]


def _panel(shown: Shown, rows: Rows, scale: TimeScale, longest_ps: int) -> Panel:
    names = [name for name, _ in rows]
    traces: list[Data] = []
    for part, (label, colour) in enumerate([*((label, colour) for _, label, colour in _COLUMNS), _TAIL]):
        times = [parts[part] for _, parts in rows]
        if any(times):
            traces.append(
                {
                    "type": "bar",
                    "orientation": "h",
                    "name": label,
                    "x": scale.of(times),
                    "y": list(range(len(rows))),
                    "marker": {"color": colour},
                    "hovertext": names,
                    "hovertemplate": f"%{{hovertext}}<br>%{{x}} {scale.unit}",
                }
            )
    title = f"time of NPU {shown.run.metadata['report_npu']} ({scale.unit})"
    layout = {
        "barmode": "stack",
        "bargap": 0.25,
        "xaxis": axis(title, range=[0, 1.04 * longest_ps / scale.ps]),
        "yaxis": {"autorange": "reversed", "tickmode": "array", "tickvals": list(range(len(rows))),
                  "ticktext": short(names), "showgrid": False, "zeroline": False},
    }  # fmt: skip
    return Panel(shown.name, traces, layout, 120 + 13 * len(traces) + 19 * len(rows))
