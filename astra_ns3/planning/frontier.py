"""The picture of a plan: time against memory of what was played, and which no other choice beats in both."""

from __future__ import annotations

from collections.abc import Sequence

from astra_ns3.planning.plan import Plan
from astra_ns3.planning.result import frontier
from astra_ns3.report.figures.figure import Axis, Curve, Figure, Panel
from astra_ns3.report.figures.style import BLUE, GREY, VERMILION, size_unit, time_unit
from astra_ns3.studies.figures.data import Row
from astra_ns3.units import PS_PER_US


def frontier_figure(plan: Plan, rows: Sequence[Row]) -> Figure:
    """Return the picture of some rows, each of a choice that was played."""
    known = [row for row in rows if row["npu_memory_bytes"] is not None]
    factor, unit = time_unit(max((row["time_us"] for row in rows), default=1.0) * PS_PER_US)
    size, size_name = size_unit(max((row["npu_memory_bytes"] for row in known), default=1))
    memory, times, notes = _points(known, size, factor)
    best_memory, best_times, best_notes = _points(frontier(known), size, factor)
    series = [
        Curve(memory, times, name="played", colour=GREY, dash=None, mark=0, notes=notes),
        Curve(
            best_memory,
            best_times,
            name="of these none is faster with less memory",
            colour=BLUE,
            mark=1,
            size=4,
            notes=best_notes,
        ),
    ]
    if plan.found.open:
        memory = [each.memory_bytes / size for each in plan.found.open]
        times = [each.time_ps / factor for each in plan.found.open]
        series.insert(
            0, Curve(memory, times, name="bounds of what was not played", colour=VERMILION, dash=None, mark=2, size=2)
        )
    x, y = Axis("memory of the fullest NPU", size_name, grid=True), Axis("time of the first iteration", unit, grid=True)
    return Figure([Panel(x, y, series)], legend=(2, 3))


def _points(rows: Sequence[Row], size: int, factor: int) -> tuple[list[float], list[float], list[str]]:
    """Return memory, time and name of each row."""
    memory = [row["npu_memory_bytes"] / size for row in rows]
    return memory, [row["time_us"] * PS_PER_US / factor for row in rows], [row["plan"] for row in rows]
