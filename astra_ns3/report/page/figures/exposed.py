"""Computing against waiting, of each NPU."""

from __future__ import annotations

from collections.abc import Sequence

from astra_ns3.report.page.figure import Data, Figure, Panel, Shown, axis
from astra_ns3.report.page.scale import TimeScale, sample, time_scale
from astra_ns3.report.plots.style import BLUE, VERMILION
from astra_ns3.report.records import NPUS, ps_of

_MOST_NPUS = 128

Times = list[tuple[int, int, int]]
"""NPU, computing, exposed."""


def exposed(runs: Sequence[Shown], detail: int) -> Figure:
    """A bar per NPU: what it computed, and above that what it could only wait."""
    found: list[Times] = [
        [
            (int(row["npu"]), ps_of(row["compute_us"]) or 0, ps_of(row["exposed_us"]) or 0)
            for row in shown.run.rows(NPUS)
        ]
        for shown in runs
    ]
    longest = max((computing + waiting for times in found for _, computing, waiting in times), default=1)
    scale = time_scale(longest)
    notes, panels = [], []
    for shown, times in zip(runs, found, strict=True):
        kept = [times[place] for place in sample(list(range(len(times))), min(_MOST_NPUS, detail))]
        if len(kept) < len(times):
            notes.append(f"{shown.name}: {len(kept)} of {len(times)} NPUs, evenly spread.")
        panels.append(_panel(shown, kept, scale, longest))
    return Figure(panels, notes)


def _panel(shown: Shown, times: Times, scale: TimeScale, longest_ps: int) -> Panel:
    npus = [str(npu) for npu, _, _ in times]
    traces: list[Data] = [
        {
            "type": "bar",
            "name": label,
            "x": npus,
            "y": scale.of([row[column] for row in times]),
            "marker": {"color": colour, "line": {"width": 0}},
            "hovertemplate": f"NPU %{{x}}<br>%{{y}} {scale.unit}",
        }
        for column, label, colour in ((1, "compute", BLUE), (2, "exposed communication", VERMILION))
    ]
    layout = {
        "barmode": "stack",
        "bargap": 0.15 if len(times) <= 40 else 0,
        "xaxis": axis("NPU", type="category", showgrid=False, nticks=16),
        "yaxis": axis(f"time ({scale.unit})", range=[0, 1.04 * longest_ps / scale.ps]),
    }
    return Panel(shown.name, traces, layout, 280)
