"""Varied plans for a terminal: a line a point."""

from __future__ import annotations

from astra_ns3.planning.losses import loss_rows
from astra_ns3.planning.result import faster_next
from astra_ns3.planning.varying.varying import Varied, VariedPoint
from astra_ns3.report.alignment import aligned, percent, table
from astra_ns3.units import format_time
from astra_ns3.workload.memory.room import memory_text

_MILLION = 10**6
FILES = ("vary.csv", "vary.png", "index.html")


def varied_text(varied: Varied) -> str:
    """Return all of it."""
    head, lines = table_of(varied)
    files = [("files", f"{varied.request.folder}: {', '.join(FILES)}")]
    return "\n\n".join([aligned(head_of(varied)), table([head, *lines], indent="  "), aligned(files)])


def head_of(varied: Varied) -> list[tuple[str, str]]:
    """Return what is said above the table, each line with its first word."""
    head = [("model", str(varied.request.model)), ("network", str(varied.request.network))]
    head += [] if varied.played else [("played", "nothing: times are least bounds, which runs may exceed")]
    if samples := differing_samples(varied):
        head.append(("samples", f"{samples}; --samples gives all the same"))
    return [*head, *dict.fromkeys(row for point in varied.points for row in loss_rows(point.request))]


def differing_samples(varied: Varied) -> str:
    """Return in words that points train on different numbers of samples; nothing if all train on as many."""
    samples = sorted({point.samples for point in varied.points if point.samples})
    return f"differ: {', '.join(f'{each:,}' for each in samples)} an iteration" if len(samples) > 1 else ""


def table_of(varied: Varied) -> tuple[list[str], list[list[str]]]:
    """Return the heading and the lines of the table."""
    names = [key.name for key in varied.keys]
    head = [*names, "time" if varied.played else "bound", "memory", "may be faster by", "plan"]
    return head, [[*point.labels, *_cells(point)] for point in varied.points]


def _cells(point: VariedPoint) -> list[str]:
    if not point.best:
        return ["-", "-", "-", point.why.partition(";")[0]]
    time = format_time(point.time_ps or 0)
    if point.bound is not None:
        return [time, memory_text(point.bound.memory_bytes, tight=point.bound.tight), "-", point.best]
    assert point.plan is not None
    found = point.plan.found
    assert found.best is not None
    gap = percent(round(found.gap * _MILLION), _MILLION)
    faster = faster_next(point.plan)
    later = "" if faster is None else f"; from the second iteration on {faster.name}"
    memory = memory_text(found.memory_of[found.best], tight=point.plan.is_tight(found.best))
    return [time, memory, gap, f"{point.best}{later}"]
