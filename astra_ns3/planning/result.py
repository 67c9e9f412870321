"""A plan as rows, and why its best choice is the best."""

from __future__ import annotations

from collections.abc import Sequence

from astra_ns3.config.core.plain import JsonObject
from astra_ns3.experiments.result import Result
from astra_ns3.frozen import dataclass
from astra_ns3.planning.degrees import Choice
from astra_ns3.planning.iterations import fastest_next
from astra_ns3.planning.packets import expected_ps, order_of
from astra_ns3.planning.plan import Plan
from astra_ns3.planning.request import AXIS, NEXT_PART, PART, PASSES_AXIS
from astra_ns3.report.exposed_text import exposed_times
from astra_ns3.studies.figures.data import Row
from astra_ns3.studies.tables import FAILED
from astra_ns3.units import PS_PER_US, counted

# Measures of a study that a plan's table has.
_MEASURES = (
    "tokens_per_second",
    "samples_per_second",
    "model_flop_utilisation_percent",
    "npu_memory_bytes",
    "compute_us",
    "exposed_us",
    "of_floor",
)
_ON_PACKETS = ("packets_us", "packets_over_flows", "packets_on")
COLUMNS = ("plan", "time_us", "bound_us", "next_us", *_MEASURES, "tight", *_ON_PACKETS, "cpu_seconds", "address")


@dataclass(frozen=True)
class Loss:
    """A loss against the best choice: by how much NPU 0 computes longer, or waits longer for a group."""

    what: str
    more_ps: int


def ranked_rows(plan: Plan) -> list[Row]:
    """Return a row for each choice that was played to its end, the fastest first."""
    rows = {row[AXIS]: row for row in plan.study.rows if row["part"] == PART}
    return [_row(plan, choice, rows[choice.name]) for choice in plan.found.ranked]


def _row(plan: Plan, choice: Choice, row: Row) -> Row:
    found = plan.found
    return {
        "plan": choice.name,
        "time_us": row["finish_us"],
        "bound_us": found.bound_of[choice].time_ps / PS_PER_US,
        "next_us": None if (next_ps := known_next(plan).get(choice)) is None else next_ps / PS_PER_US,
        **{name: row[name] for name in _MEASURES},
        "tight": plan.is_tight(choice),
        **_on_packets(plan, choice),
        "cpu_seconds": found.played[choice].cpu_seconds,
        "address": row["address"],
    }


def _on_packets(plan: Plan, choice: Choice) -> Row:
    """Return what packets are expected to take, that over what flows take, and on what it was played."""
    played = next((each for each in plan.packets if each.choice is choice), None)
    if played is None:
        return dict.fromkeys(_ON_PACKETS)
    time_ps = expected_ps(played, plan.found.played[choice].time_ps or 0)
    share = None if played.share is None else round(played.share, 6)
    return dict(zip(_ON_PACKETS, (None if time_ps is None else time_ps / PS_PER_US, share, played.on), strict=True))


def order_on_packets(plan: Plan) -> list[int]:
    """Return the places among all runs, from 1 on, of what packets have played, the fastest on packets first."""
    ranked = plan.found.ranked
    times = {choice: plan.found.played[choice].time_ps or 0 for choice in ranked}
    return [ranked.index(choice) + 1 for choice in order_of(plan.packets, times)]


def known_next(plan: Plan) -> dict[Choice, int]:
    """Return what the second iteration takes where that is known, the fastest first."""
    following = plan.following
    return {} if following is None else {each: following.played[each].time_ps or 0 for each in following.ranked}


def faster_next(plan: Plan) -> Choice | None:
    """Return the choice whose second iteration is faster than that of the best; None: no such one is known."""
    return fastest_next(plan.found.best, known_next(plan))


def why_no_next(plan: Plan, choice: Choice) -> str | None:
    """Return why the run of one or two iterations of a choice failed; None: it wasn't played, or didn't fail."""
    runs = (row for row in plan.study.rows if row["part"] == NEXT_PART and row[AXIS] == choice.name)
    failed = next((row for row in runs if row["status"] == FAILED), None)
    if failed is None:
        return None
    return f"its run of {counted(failed[PASSES_AXIS], 'iteration')} failed: {failed['error']}"


def frontier(rows: Sequence[Row]) -> list[Row]:
    """Return the rows that no other one beats in both time and memory, the fastest first."""
    kept: list[Row] = []
    for row in sorted(rows, key=lambda row: (row["time_us"], row["npu_memory_bytes"] or 0)):
        if not kept or (row["npu_memory_bytes"] or 0) < (kept[-1]["npu_memory_bytes"] or 0):
            kept.append(row)
    return kept


def run_of(plan: Plan, choice: Choice) -> Result:
    """Return the run of a choice that was played."""
    rows = enumerate(plan.study.rows)
    number = next(index for index, row in rows if row["part"] == PART and row[AXIS] == choice.name)
    return plan.study.result(number)


def losses(plan: Plan) -> list[Loss]:
    """Return what the second best loses to the best on NPU 0, the largest first; nothing if only one was played.

    What it gains stands behind with a negative time.
    """
    ranked = plan.found.ranked
    if len(ranked) < 2:
        return []
    best, second = (_times(run_of(plan, choice)) for choice in ranked[:2])
    changes = {what: second.get(what, 0) - best.get(what, 0) for what in {**best, **second}}
    return sorted((Loss(what, more) for what, more in changes.items() if more), key=lambda each: -each.more_ps)


def _times(run: Result) -> dict[str, int]:
    """Return what NPU 0 spent its time on: computing, and waiting for each group."""
    metadata = run.metadata
    return {"computing": metadata["compute_ps"], **dict(exposed_times(metadata, "group"))}


def document(plan: Plan) -> JsonObject:
    """Return the plan as plain data."""
    found = plan.found
    return {
        "model": plan.space.workload.name,
        "npus": plan.space.npus,
        "samples_per_iteration": plan.space.samples,
        "output": str(plan.request.folder),
        "plans": found.bounds,
        "too_large": found.too_large,
        "pruned": found.pruned,
        "played": len(found.played),
        "open": len(found.open),
        "gap": round(found.gap, 6),
        "left_out": [{"plans": plans, "why": why} for why, plans in plan.left_out.items()],
        "bound_cpu_seconds": round(plan.bound_seconds, 3),
        "played_cpu_seconds": round(found.cpu_seconds, 3),
        "best": None if found.best is None else found.best.name,
        "order_on_packets": order_on_packets(plan),
        "next_iterations": [
            {"plan": each.name, "next_us": time_ps / PS_PER_US} for each, time_ps in known_next(plan).items()
        ],
        "next_open": 0 if plan.following is None else len(plan.following.open),
        "next_gap": 0.0 if plan.following is None else round(plan.following.gap, 6),
        "second_loses": [{"what": each.what, "more_ps": each.more_ps} for each in losses(plan)],
        "rows": [{name: row[name] for name in COLUMNS} for row in ranked_rows(plan)],
    }
