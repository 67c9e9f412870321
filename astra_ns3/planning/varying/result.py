"""Varied plans as rows and as plain data: a row a point, with its values and its best plan."""

from __future__ import annotations

from astra_ns3.config.core.plain import JsonObject
from astra_ns3.planning.plan import Plan
from astra_ns3.planning.result import known_next
from astra_ns3.planning.varying.varying import Varied, VariedPoint
from astra_ns3.units import PS_PER_US

COLUMNS = (
    "best",
    "samples",
    "time_us",
    "bound_us",
    "npu_memory_bytes",
    "tight",
    "gap",
    "next_best",
    "next_us",
    "plans",
    "played",
    "open",
    "folder",
    "why",
)
Cell = str | int | float | None


def rows_of(varied: Varied) -> list[dict[str, Cell]]:
    """Return a row for each point: its values by key, then the columns of :data:`COLUMNS`."""
    return [
        {**dict(zip((key.key for key in varied.keys), point.labels, strict=True)), **_cells(point)}
        for point in varied.points
    ]


def _cells(point: VariedPoint) -> dict[str, Cell]:
    cells: dict[str, Cell] = dict.fromkeys(COLUMNS)
    cells |= {"best": point.best or None, "samples": point.samples or None, "why": point.why or None}
    if point.bound is not None:
        bound = point.bound
        return {
            **cells,
            "bound_us": bound.time_ps / PS_PER_US,
            "npu_memory_bytes": bound.memory_bytes,
            "tight": bound.tight,
            "plans": bound.plans,
            "played": 0,
        }
    if point.plan is None:
        return cells
    found = point.plan.found
    cells |= {"plans": found.bounds, "played": len(found.played), "open": len(found.open), "gap": round(found.gap, 6)}
    cells["folder"] = point.request.folder.name
    if found.best is None:
        return {**cells, "why": "no run came to its end"}
    return {
        **cells,
        "time_us": (found.best_ps or 0) / PS_PER_US,
        "bound_us": found.bound_of[found.best].time_ps / PS_PER_US,
        "npu_memory_bytes": found.memory_of[found.best],
        "tight": point.plan.is_tight(found.best),
        **_next_cells(point.plan),
    }


def _next_cells(plan: Plan) -> dict[str, Cell]:
    """Return the fastest plan from the second iteration on, and its time there; nothing where that isn't known."""
    fastest = next(iter(known_next(plan).items()), None)
    return {} if fastest is None else {"next_best": fastest[0].name, "next_us": fastest[1] / PS_PER_US}


def document(varied: Varied) -> JsonObject:
    """Return all of it as plain data."""
    return {
        "model": str(varied.request.model),
        "network": str(varied.request.network),
        "output": str(varied.request.folder),
        "varied": [key.key for key in varied.keys],
        "bounds_only": not varied.played,
        "rows": [dict(row) for row in rows_of(varied)],
    }
