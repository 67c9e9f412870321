"""A plan for a terminal: how many choices there are, which is the best and why, and the table."""

from __future__ import annotations

from collections.abc import Sequence

from astra_ns3.planning.plan import Plan
from astra_ns3.planning.result import losses, ranked_rows
from astra_ns3.report.alignment import aligned, clock, number_text, percent, table
from astra_ns3.studies.figures.data import Row
from astra_ns3.units import PS_PER_US, format_bytes, format_time

_MOST_ROWS = 20
_MOST_LOSSES = 4


def plan_text(plan: Plan) -> str:
    """Return all of it."""
    found, rows = plan.found, ranked_rows(plan)
    space = plan.space
    head = [
        ("model", f"{space.workload.name} on {space.npus:,} NPUs, {space.samples:,} samples an iteration"),
        ("plans", _counts(plan)),
        ("CPU time", f"bounds {clock(plan.bound_seconds)}, playing {clock(found.cpu_seconds)}"),
    ]
    if found.best is not None:
        head += [("best", f"{found.best.name}: {format_time(found.best_ps or 0)}"), ("certain", _certain(plan))]
        head += [("second", _second(plan))] if rows[1:] else []
        head += _own(plan)
    files = [("files", f"{plan.request.folder}: best.yaml, plan.csv, frontier.png, index.html")]
    parts = [aligned(head), *([_table(rows)] if rows else []), aligned(files)]
    return "\n\n".join(parts)


def _counts(plan: Plan) -> str:
    found = plan.found
    words = [f"{found.bounds:,}: {found.too_large:,} too large for an NPU", f"{found.pruned:,} pruned by their bounds"]
    words.append(f"{len(found.played):,} played")
    return ", ".join([*words, f"{len(found.open):,} open"] if found.open else words)


def _certain(plan: Plan) -> str:
    """Say how much faster one that wasn't played may be."""
    found = plan.found
    if not found.open:
        return "no plan is faster: every bound that is left lies above its time"
    least = found.open[0]
    return (
        f"{len(found.open):,} plans weren't played, of which one may be {percent(round(1e6 * found.gap), 10**6)} "
        f"faster: the least bound is {format_time(least.time_ps)} ({least.choice.name})"
    )


def _own(plan: Plan) -> list[tuple[str, str]]:
    """Return how the degrees of the model's file did, as a line; none if they weren't played."""
    time_ps = None if plan.own is None or plan.own not in plan.found.played else plan.found.played[plan.own].time_ps
    if plan.own is None or time_ps is None:
        return []
    more = percent(time_ps - (plan.found.best_ps or 0), plan.found.best_ps or 0)
    return [("file's own", f"{plan.own.name}: {format_time(time_ps)}, {more} more than the best")]


def _second(plan: Plan) -> str:
    """Say by how much the second is slower, and what it loses by."""
    first, second = plan.found.ranked[:2]
    best_ps, time_ps = (plan.found.played[choice].time_ps or 0 for choice in (first, second))
    changes = [
        f"{each.what} {'+' if each.more_ps > 0 else '-'}{format_time(abs(each.more_ps))}" for each in losses(plan)
    ]
    shown = changes if len(changes) <= _MOST_LOSSES else [*changes[: _MOST_LOSSES - 1], changes[-1]]
    why = f"; on NPU 0 {'; '.join(shown)}" if shown else ""
    return f"{second.name}: {percent(time_ps - best_ps, best_ps)} slower{why}"


def _table(rows: Sequence[Row]) -> str:
    done = "tokens_per_second" if rows[0]["tokens_per_second"] is not None else "samples_per_second"
    lines = [["", "time", "bound", done.replace("_", " "), "MFU", "memory", "exposed", "of floor", "plan"]]
    for number, row in enumerate(rows[:_MOST_ROWS], start=1):
        times = (format_time(round(row[name] * PS_PER_US)) for name in ("time_us", "bound_us"))
        utilisation, floor = row["model_flop_utilisation_percent"], row["of_floor"]
        lines.append(
            [
                str(number),
                *times,
                "-" if row[done] is None else number_text(row[done]),
                "-" if utilisation is None else f"{utilisation:.1f}%",
                "-" if row["npu_memory_bytes"] is None else format_bytes(row["npu_memory_bytes"]),
                percent(round(row["exposed_us"]), round(row["exposed_us"] + row["compute_us"])),
                "-" if floor is None else f"{floor:.2f}",
                row["plan"],
            ]
        )
    more = f"\n  and {len(rows) - _MOST_ROWS} more in plan.csv" if len(rows) > _MOST_ROWS else ""
    return f"{table(lines, indent='  ')}{more}"
