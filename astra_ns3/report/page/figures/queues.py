"""What waited at ports over time, and when PFC stopped them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from astra_ns3.report.page.figure import Data, Figure, Missing, Panel, Shown, axis, line
from astra_ns3.report.page.having import having
from astra_ns3.report.page.intervals import Numbers, Steps, joined
from astra_ns3.report.page.scale import time_scale
from astra_ns3.report.plots.style import VERMILION
from astra_ns3.report.records import Recorded, by_value

_MOST_PORTS = 6
_MOST_PAUSED = 24
_MOST_BINS = 400
_BYTES_PER_KB = 1000


def queues(runs: Sequence[Shown], detail: int) -> Figure | Missing:
    """A line for each of the ports with the longest queues."""
    having_rows = having(runs, "queues", "no queue was ever seen")
    if isinstance(having_rows, Missing):
        return having_rows
    tables, notes = having_rows
    end_ps = max(1, *(shown.run.metadata["finish_ps"] for shown in runs))
    scale = time_scale(end_ps)
    found: list[tuple[Shown, Steps]] = []
    for shown, table in tables:
        steps = Steps(end_ps, min(_MOST_BINS, 2 * detail))
        for batch in table.batches(["time_ps", "port", "queue_bytes"]):
            for port, chosen in by_value(batch["port"]):
                steps.add(port, batch["time_ps"][chosen], batch["queue_bytes"][chosen].astype(np.float64))
        if len(steps.keys()) > _MOST_PORTS:
            notes.append(f"{shown.name}: the {_MOST_PORTS} ports with the longest queues of {len(steps.keys())}.")
        found.append((shown, steps))
    highest = max((float(np.nanmax(steps.curve(key))) for _, steps in found for key in steps.keys()[:1]), default=1.0)
    if found:
        notes.append(f"The longest that a queue was in each {found[0][1].bins}th of the time.")
    panels = []
    for shown, steps in found:
        x = scale.of(steps.edges_ps)
        traces = [
            line(str(port), x, _kilobytes(steps, port), place, line_shape="hv", connectgaps=False)
            for place, port in enumerate(steps.keys()[:_MOST_PORTS])
        ]
        layout = {
            "xaxis": axis(f"time ({scale.unit})", range=[0, end_ps / scale.ps]),
            "yaxis": axis("waiting (KB)", range=[0, 1.05 * max(highest, 1) / _BYTES_PER_KB]),
        }
        panels.append(Panel(shown.name, traces, layout))
    return Figure(panels, notes)


def _kilobytes(steps: Steps, port: object) -> list[float | None]:
    return [None if np.isnan(value) else round(float(value) / _BYTES_PER_KB, 2) for value in steps.curve(port)]


def pauses(runs: Sequence[Shown], detail: int) -> Figure | Missing:
    """When ports were stopped: a lane for each of those that were stopped longest."""
    having_rows = having(runs, "pauses", "no port was ever stopped")
    if isinstance(having_rows, Missing):
        return having_rows
    tables, notes = having_rows
    end_ps = max(1, *(shown.run.metadata["finish_ps"] for shown in runs))
    panels = []
    for shown, table in tables:
        stops = _stops(table, shown.run.metadata["finish_ps"])
        ports = sorted(stops, key=lambda port: -int((stops[port][1] - stops[port][0]).sum()))
        if len(ports) > _MOST_PAUSED:
            notes.append(f"{shown.name}: the {_MOST_PAUSED} ports that were stopped longest of {len(ports)}.")
        gap_ps = end_ps // (2 * detail)
        panels.append(
            _pause_panel(shown, {port: joined(*stops[port], gap_ps) for port in ports[:_MOST_PAUSED]}, end_ps)
        )
    return Figure(panels, notes)


def _stops(table: Recorded, end_ps: int) -> dict[str, tuple[Numbers, Numbers]]:
    """From when until when any priority of a port was stopped."""
    whole: dict[str, list[tuple[Numbers, Numbers]]] = {}
    for batch in table.batches(["time_ps", "port", "paused_priorities"]):
        for port, chosen in by_value(batch["port"]):
            whole.setdefault(port, []).append((batch["time_ps"][chosen], batch["paused_priorities"][chosen]))
    found = {}
    for port, parts in whole.items():
        times, stopped = (np.concatenate(column) for column in zip(*parts, strict=True))
        ends = np.concatenate([times[1:], [max(end_ps, int(times[-1]))]])
        found[port] = (times[stopped != 0], ends[stopped != 0])
    return found


def _pause_panel(shown: Shown, stops: dict[str, tuple[Numbers, Numbers]], end_ps: int) -> Panel:
    scale = time_scale(end_ps)
    ports = list(stops)
    trace: Data = {
        "type": "bar",
        "orientation": "h",
        "name": "stopped",
        "showlegend": False,
        "base": [time for port in ports for time in scale.of(stops[port][0])],
        "x": [time for port in ports for time in scale.of(stops[port][1] - stops[port][0])],
        "y": [place for place, port in enumerate(ports) for _ in stops[port][0]],
        "width": 0.8,
        "marker": {"color": VERMILION, "line": {"width": 0}},
        "hovertemplate": f"from %{{base}} for %{{x}} {scale.unit}<extra></extra>",
    }
    layout = {
        "xaxis": axis(f"time ({scale.unit})", range=[0, end_ps / scale.ps]),
        "yaxis": {"autorange": "reversed", "tickmode": "array", "tickvals": list(range(len(ports))), "ticktext": ports,
                  "showgrid": False, "zeroline": False},
    }  # fmt: skip
    return Panel(shown.name, [trace], layout, 130 + 17 * len(ports))
