"""A plan for a terminal: how many choices there are, which is the best and why, and the table."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence

from astra_ns3.config.core.changing import setting_text
from astra_ns3.errors import InputError
from astra_ns3.planning.degrees import Choice
from astra_ns3.planning.losses import loss_rows
from astra_ns3.planning.page import BEST, NEXT, SYSTEM
from astra_ns3.planning.plan import Plan
from astra_ns3.planning.playable import changes_kernel
from astra_ns3.planning.request import PlanRequest
from astra_ns3.planning.result import faster_next, known_next, losses, order_on_packets, ranked_rows, why_no_next
from astra_ns3.planning.search import Found
from astra_ns3.report.alignment import aligned, clock, number_text, percent, table
from astra_ns3.report.exposed_text import place_words
from astra_ns3.studies.figures.data import Row
from astra_ns3.studies.keys import as_text
from astra_ns3.studies.text import warned_text
from astra_ns3.units import PS_PER_US, counted, exact_bytes, format_bytes, format_time
from astra_ns3.whole_file import WHOLE_MODEL
from astra_ns3.workload.memory.room import WHY_TIGHT, memory_text, roomy_bytes

_ON_PACKETS, _PLAYED_THERE = "on packets", "played there"
_MOST_ROWS = 20
_MOST_LOSSES = 4


def plan_text(plan: Plan) -> str:
    """Return all of it."""
    rows = ranked_rows(plan)
    names = [
        BEST,
        *([] if faster_next(plan) is None else [NEXT]),
        *([SYSTEM] if plan.request.system_config is not None else []),
        "plan.csv",
        "frontier.png",
        "index.html",
    ]
    files = [("files", f"{plan.request.folder}: {', '.join(names)}")]
    files += [("run", run_of_best(plan.request))] if plan.found.best is not None else []
    parts = [aligned(head_of(plan)), *([_table(rows)] if rows else []), *warned_text(plan.study.warned)]
    parts.append(aligned(files))
    return "\n\n".join(parts)


def run_of_best(request: PlanRequest) -> str:
    """Return the command that runs the best plan as it was planned."""
    system = request.folder / SYSTEM if request.system_config is not None else request.system
    words = ["astra-ns3", "run", "-w", str(request.folder / BEST), "-s", str(system), "-n", str(request.network)]
    for key, value in request.changes.items():
        if key.startswith("network."):
            words += ["--set", setting_text(key, value)]
        elif not key.startswith(("system.", "workload.")) and key != "backend":
            words += [f"--{key.replace('_', '-')}", as_text(value)]
    return shlex.join([*words, "--backend", request.base.backend_name])


def head_of(plan: Plan) -> list[tuple[str, str]]:
    """Return what is said above the table, each line with its first word."""
    found, space = plan.found, plan.space
    head = [
        (
            "model",
            f"{space.workload.name} on {counted(space.npus, 'NPU')}, {counted(space.samples, 'sample')} an iteration",
        ),
        ("plans", _counts(plan)),
    ]
    head += [("left out", left_out_text(plan.left_out))] if plan.left_out else []
    head.append(("CPU time", _cpu_time(plan)))
    if found.best is not None:
        certain = "not certain" if found.open else "certain"
        head += [("best", f"{found.best.name}: {format_time(found.best_ps or 0)}"), (certain, _certain(plan))]
        head += [("memory", _tight(plan, found.best))] if plan.is_tight(found.best) else []
        head += [("iterations", iterations_text(plan, plan.following))] if plan.following is not None else []
        head += [("second", _second(plan))] if found.ranked[1:] else []
        head += _own(plan)
        head += [("packets", packets_text(plan))] if plan.packets else []
    return [*head, *loss_rows(plan.request)]


def _cpu_time(plan: Plan) -> str:
    words = f"bounds {clock(plan.bound_seconds)}, playing {clock(plan.found.cpu_seconds)}"
    following = plan.following
    if following is None or not following.played:
        return words
    return f"{words}, two iterations {clock(following.cpu_seconds)}"


def _counts(plan: Plan) -> str:
    found = plan.found
    words = [f"{found.bounds:,}: {found.too_large:,} too large for an NPU", f"{found.pruned:,} pruned by their bounds"]
    words.append(f"{len(found.played):,} played")
    return ", ".join([*words, f"{len(found.open):,} open"] if found.open else words)


def left_out_text(left_out: Mapping[str, int]) -> str:
    """Say how many choices can't be played, and what is said of most of them."""
    why, *others = left_out
    more = f"; and {counted(len(others), 'other reason', 'other reasons')}" if others else ""
    return f"{counted(sum(left_out.values()), 'plan', 'plans')} that can't be played: {why}{more}"


def _certain(plan: Plan) -> str:
    """Say how long one that wasn't played takes at least."""
    found = plan.found
    if not found.open:
        return "no plan's first iteration is faster as flows: every bound that is left lies above its time"
    least = found.open[0]
    others = counted(len(found.open), "plan wasn't", "plans weren't")
    less = percent(round(1e6 * found.gap), 10**6)
    return (
        f"{others} played; the best of them takes at least {format_time(least.time_ps)} ({less} less) in its first "
        f"iteration as flows: {least.choice.name}"
    )


def _tight(plan: Plan, best: Choice) -> str:
    """Say how little room the best leaves, and which is the fastest that leaves enough."""
    found, capacity = plan.found, plan.capacity_bytes or 0
    sure = roomy_bytes(capacity)
    words = f"tight: the best needs {format_bytes(found.memory_of[best])} of {format_bytes(capacity)}, and {WHY_TIGHT}"
    roomy = next((each for each in found.ranked if not plan.is_tight(each)), None)
    if roomy is None:
        other = f"--set workload.memory={exact_bytes(sure)} looks for one, and calls it tight on that memory"
        return f"{words}; none that was played needs less than {format_bytes(sure)}: {other}"
    best_ps, time_ps = (found.played[each].time_ps or 0 for each in (best, roomy))
    more = percent(time_ps - best_ps, best_ps)
    return f"{words}; the fastest played that needs less than {format_bytes(sure)} is {more} slower: {roomy.name}"


def _own(plan: Plan) -> list[tuple[str, str]]:
    """Return how the plan of the model's file did, as a line, or why it wasn't played."""
    own, found = plan.own, plan.found
    if own is None:
        return [("file's own", f"not played: {_why_no_own(plan)}")]
    if own not in found.played:
        return [("file's own", f"{own.name}: not played, too large for an NPU")]
    time_ps = found.played[own].time_ps
    if time_ps is None:
        return [("file's own", f"{own.name}: its run failed")]
    more = percent(time_ps - (found.best_ps or 0), found.best_ps or 0)
    alone = "; other plans with a ring over context are left out" if changes_kernel(plan.space, own.cell) else ""
    return [("file's own", f"{own.name}: {format_time(time_ps)}, {more} more than the best{alone}")]


def _why_no_own(plan: Plan) -> str:
    """Say why the plan of the model's file is none of the choices."""
    try:
        plan.request.workload.plan(plan.space.npus)
    except InputError as error:
        return str(error)
    return plan.own_why or "no plan has its degrees with these samples and held values"


def _second(plan: Plan) -> str:
    """Say by how much the second is slower, and what it loses by."""
    first, second = plan.found.ranked[:2]
    best_ps, time_ps = (plan.found.played[choice].time_ps or 0 for choice in (first, second))
    changes = [
        f"{place_words(each.what)} {'+' if each.more_ps > 0 else '-'}{format_time(abs(each.more_ps))}"
        for each in losses(plan)
    ]
    shown = changes if len(changes) <= _MOST_LOSSES else [*changes[: _MOST_LOSSES - 1], changes[-1]]
    why = f"; on NPU 0 {'; '.join(shown)}" if shown else ""
    return f"{second.name}: {percent(time_ps - best_ps, best_ps)} slower{why}"


def iterations_text(plan: Plan, following: Found) -> str:
    """Say whether a next iteration, which may hide the gathering of weights after an update, has another best."""
    known, best, faster = known_next(plan), plan.found.best, faster_next(plan)
    if best not in known:
        if best is not None and (why := why_no_next(plan, best)) is not None:
            return f"the second of the best isn't known: {why}"
        return "with zero 1 or 2 the second may be faster than the first: give more --cpu-time, or run --passes 2"
    if faster is None:
        words = f"the best is the fastest of {len(known)} in the second, too: {format_time(known[best])}"
    else:
        times = f"{format_time(known[faster])}, the best {format_time(known[best])} ({len(known)} played)"
        tight = " (tight in memory)" if plan.is_tight(faster) else ""
        words = f"from the second iteration on, {faster.name}{tight} is faster: {times}; its file is {NEXT}"
    left = len(following.open)
    if not left:
        return f"{words}; no other's second is shorter"
    gap = percent(round(1e6 * following.gap), 10**6)
    return f"{words}; {counted(left, 'plan', 'plans')} whose second wasn't played may be up to {gap} faster"


def packets_text(plan: Plan) -> str:
    """Say whether packets change the order of the best."""
    order = order_on_packets(plan)
    left = len(plan.packets) - len(order)
    words = f"; {left} of the best {len(plan.packets)} not played" if left else ""
    if not order:
        return f"none of the best {counted(len(plan.packets), 'plan was', 'plans were')} played".replace(" 1 ", " ")
    if len(order) == 1:
        return f"the best of them is the only one that was played{words}"
    if order == sorted(order):
        return f"the best {len(order)} keep their order{words}"
    return f"the order of the best changes to {', '.join(map(str, order))}{words}"


def table_of(rows: Sequence[Row]) -> tuple[list[str], list[list[str]]]:
    """Return the heading and the lines of the table of some rows."""
    done = "tokens_per_second" if rows[0]["tokens_per_second"] is not None else "samples_per_second"
    on = [_ON_PACKETS, _PLAYED_THERE] if any(row["packets_on"] for row in rows) else []
    two = ["next"] if any(row["next_us"] for row in rows) else []
    head = ["", "time", *two, "bound", done.replace("_", " "), "MFU", "memory", "exposed", "of floor", *on, "plan"]
    lines = []
    for number, row in enumerate(rows, start=1):
        names = ("time_us", "next_us", "bound_us") if two else ("time_us", "bound_us")
        times = ("-" if row[name] is None else format_time(round(row[name] * PS_PER_US)) for name in names)
        utilisation, floor = row["model_flop_utilisation_percent"], row["of_floor"]
        lines.append(
            [
                str(number),
                *times,
                "-" if row[done] is None else number_text(row[done]),
                "-" if utilisation is None else f"{utilisation:.1f}%",
                "-" if row["npu_memory_bytes"] is None else memory_text(row["npu_memory_bytes"], tight=row["tight"]),
                percent(*(round(PS_PER_US * us) for us in (row["exposed_us"], row["exposed_us"] + row["compute_us"]))),
                "-" if floor is None else f"{floor:.2f}",
                *(_packets(row) if on else ()),
                row["plan"],
            ]
        )
    return head, lines


def page_table_of(rows: Sequence[Row]) -> tuple[list[str], list[list[str]]]:
    """Return the same for a page: plans come first, and what packets played stands beside their time."""
    head, lines = table_of(rows)
    has_packets = _ON_PACKETS in head
    return _on_page(head, has_packets), [_on_page(line, has_packets) for line in lines]


def _on_page(line: Sequence[str], has_packets: bool) -> list[str]:
    number, *values, plan = line
    if has_packets:
        *values, time, on = values
        estimated = "" if on == WHOLE_MODEL else "estimated from "
        values.append(time if on in ("-", _PLAYED_THERE) else on if time == "-" else f"{time}, {estimated}{on}")
    return [number, plan, *values]


def _table(rows: Sequence[Row]) -> str:
    head, lines = table_of(rows[:_MOST_ROWS])
    more = f"\n  and {len(rows) - _MOST_ROWS} more in plan.csv" if len(rows) > _MOST_ROWS else ""
    return f"{table([head, *lines], indent='  ')}{more}"


def _packets(row: Row) -> list[str]:
    """Return what packets are expected to take, and on what they were played."""
    time_us = row["packets_us"]
    time = "-" if time_us is None else format_time(round(time_us * PS_PER_US))
    return [time, row["packets_on"] or "-"]
