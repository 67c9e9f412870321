"""Whether tables of several runs are true: of a study, a plan and a budget, each row beside a run by hand."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from math import ceil
from typing import Any

import yaml

import astra_ns3
from astra_ns3.config.network.packet_network import parse_network
from astra_ns3.planning.budget.budget import find_budget
from astra_ns3.planning.budget.request import BudgetRequest
from astra_ns3.planning.budget.saving import save_budget
from astra_ns3.planning.budget.text import budget_text
from astra_ns3.planning.plan import make_plan
from astra_ns3.planning.request import PlanRequest
from astra_ns3.planning.text import plan_text
from astra_ns3.report.explanation.what_ifs import FASTER_LINES
from astra_ns3.report.summary import run_text
from astra_ns3.whole_file import WHOLE_MODEL
from soak.jobs import draw_flows
from soak.requests import list_text
from soak.users import BUDGET_BYTES, DIGITS, TIMES, Faults, Told, near, ps_of, samples_of

MOST_PLANNED_NPUS = 8
PLANNING_SECONDS = 1.0
COMPARED_PLANS = 2


def studied(told: Told) -> Faults:
    """The rows of a study are the runs of its points."""
    folder = told.folder / "base"
    base: dict[str, Any] = {"workload": str(next(folder.glob("workload.*"))), "system": str(folder / "system.yaml")}
    base |= {**told.asked.options, "network": str(folder / "network.yaml")}
    twice = told.faster
    other = str(told.folder / re.sub(r"\W", "-", FASTER_LINES) / "network.yaml")
    axes = {"lines": {"once": {"network": base["network"]}, "twice": {"network": other}}}
    file: dict[str, Any] = {"base": base, "parts": {"only": {"axes": axes}}}
    found = astra_ns3.study(file, output=told.folder / "study", jobs=1)
    for row, result in zip(found.rows, (told.result, twice), strict=True):
        metadata: Mapping[str, Any] = result.metadata
        floor = metadata["floor"]
        true = {
            "finish_us": metadata["finish_ps"] / 1e6, "exposed_us": metadata["exposed_ps"] / 1e6,
            "compute_us": metadata["compute_ps"] / 1e6, "messages": metadata["statistics"]["messages"],
            "of_floor": metadata["finish_ps"] / floor["time_ps"] if floor and floor["time_ps"] else None,
            "tokens_per_second": (metadata.get("throughput") or {}).get("tokens_per_second"),
        }  # fmt: skip
        for name, value in true.items():
            same = row[name] == value or (value is not None and row[name] is not None and near(row[name], value))
            if not same:
                yield f"{name} of {row['lines']} is {row[name]}, of the run {value}"


def planned(told: Told) -> Faults:
    """The rows of a plan are the runs of its files, in the order of their times; memory is that of such a run."""
    work, options = told.asked.work, told.asked.options
    if not told.trains_transformer or told.metadata["npus"] > MOST_PLANNED_NPUS or "comm_scale" in options:
        return
    assert not isinstance(work, str)
    if work["parallel"].get("servers"):
        return
    folder = told.folder / "base"
    held = {"parallel.context": work["parallel"].get("context", 1), "training.recompute": "none"}
    changes = {key: value for key, value in options.items() if key == "compute_slowdown"}
    files = folder / "workload.yaml", folder / "network.yaml", folder / "system.yaml"
    request = PlanRequest(
        *files, output=told.folder / "plan", held=held, packets=1, packet_seconds=PLANNING_SECONDS, jobs=1,
        cpu_seconds=PLANNING_SECONDS, changes=changes,
    )  # fmt: skip
    plan = make_plan(request)
    rows = [line for line in plan_text(plan).splitlines() if re.match(r"  +\d+  +\d", line)]
    times = [ps_of(*TIMES.findall(line)[0]) for line in rows]
    if times != sorted(times):
        yield f"rows aren't in the order of their times: {times}"
    for choice, line, time_ps in list(zip(plan.found.ranked, rows, times, strict=False))[:COMPARED_PLANS]:
        keys = {f"workload.{key}": value for key, value in choice.keys.items()}
        again = told.asked.play(folder, changes=keys, backend="flow", passes=1)
        if not near(time_ps, again.finish_ps):
            yield f"'{line.strip()}', a run of it takes {again.finish_ps} ps"
        peak = again.metadata["memory_by_stage"]["peak_bytes"]
        if plan.found.memory_of[choice] != peak:
            yield f"'{line.strip()}', a run of it needs {peak} bytes"
        tokens = samples_of(work, again.metadata["npus"]) * work["training"]["sequence"] / (time_ps / 1e12)
        if not any(near(float(each.replace(",", "")), tokens, 1) for each in re.findall(r"  ([\d,.]+)(?=  )", line)):
            yield f"'{line.strip()}' has not {tokens} tokens per second"
        exposed = 100 * again.metadata["exposed_ps"] / (again.metadata["exposed_ps"] + again.metadata["compute_ps"])
        if not any(near(float(each), exposed, 0.06) for each in re.findall(r"([\d.]+)%", line)):
            yield f"'{line.strip()}' is not {exposed:.1f}% exposed"
        if WHOLE_MODEL in line:
            on_packets = told.asked.play(folder, changes=keys, backend="ns3", passes=1)
            if not any(near(ps_of(*each), on_packets.finish_ps) for each in TIMES.findall(line)):
                yield f"'{line.strip()}', on packets a run of it takes {on_packets.finish_ps} ps"


def budgeted(told: Told) -> Faults:
    """The rows of a budget cost what rates and prices make, and take what runs on the saved networks take."""
    folder, npus = told.folder / "base", told.metadata["npus"]
    sizes = parse_network(told.asked.network).topology.built_dimensions()
    prices = [told.draw.pick(1, 3, 8) for _ in sizes]
    fixed = told.draw.pick(0, 500)
    money = npus * (fixed + sum(prices) * told.draw.pick(100, 400))
    data = {"budget": money, "npu": fixed, "dimensions": [{"gbps": price} for price in prices]}
    (folder / "prices.yaml").write_text(yaml.safe_dump(data), encoding="utf-8")
    work = next(folder.glob("workload.*"))
    changes = {key: value for key, value in told.asked.options.items() if key not in ("backend", "passes")}
    request = BudgetRequest(
        folder / "prices.yaml", folder / "network.yaml", [work], system=folder / "system.yaml",
        output=told.folder / "budget", changes=changes, wall_seconds=PLANNING_SECONDS,
    )  # fmt: skip
    budget = find_budget(request)
    save_budget(budget)
    seconds: dict[str, float] = {}
    text = budget_text(budget)
    for line in text.splitlines():
        row = re.match(r"  (equal rates|best performance(?: per cost)?)  +(.*)", line)
        if row is None:
            continue
        name, cells = row[1], row[2]
        rates = [
            float(rate) * {"G": 1, "T": 1000, "M": 1e-3}[unit] for rate, unit in re.findall(r"([\d.]+) (.)b/s", cells)
        ]
        cost = float(re.findall(r"  ([\d,]+)(?=  | USD)", cells)[0].replace(",", ""))
        if not near(cost, npus * (fixed + sum(map(_product, zip(rates, prices, strict=True)))), 1):
            yield f"'{line.strip()}': rates {rates} at {prices} don't cost this"
        seconds[name] = ps_of(*TIMES.findall(cells)[-1]) / 1e12
        file = {"best performance": "network.yaml", "best performance per cost": "network-per-cost.yaml"}.get(name)
        if file is not None:
            network = yaml.safe_load((told.folder / "budget" / file).read_text(encoding="utf-8"))
            again = replace(told.asked, network=network).play(told.folder / "again", backend="flow", passes=1)
            if not near(seconds[name] * 1e12, again.finish_ps):
                yield f"'{line.strip()}', a run takes {again.finish_ps} ps"
    gain = re.search(r"take ([\d.]+)% longer", text)
    if gain and not near(float(gain[1]), 100 * (seconds["equal rates"] / seconds["best performance"] - 1), 0.2):
        yield f"gain {gain[0]}, by rows {seconds}"


def listed(told: Told) -> Faults:
    """Percentiles and goodput of a list of flows are those of its table; one alone takes its ideal time or longer."""
    flows = draw_flows(told.draw, told.metadata["npus"], BUDGET_BYTES)["flows"]
    asked = replace(told.asked, options={"backend": told.metadata["backend"]})
    path = told.folder / "flows.csv"
    path.write_text(list_text(flows), encoding="utf-8")
    result = asked.play(told.folder / "flows", workload=path, output=told.folder / "flows-out")
    table = result.completions.sort_values("flow")
    took = (table["end_ps"] - table["start_ps"]).to_numpy()
    text = run_text(result.metadata, None)
    line = re.findall(r"^  (?:all sizes|up to \S+ \S+)  .*", text, re.M)[-1]
    slowdowns = [float(each) for each in line.split()[-3:]] if not line.endswith("-") else []
    for place, quantile in enumerate((0.5, 0.95, 0.99)):
        true = sorted(took)[ceil(quantile * len(took)) - 1]
        if not near(ps_of(*TIMES.findall(line)[place]), true):
            yield f"'{line.strip()}', by its table p{100 * quantile:g} is {true} ps"
        if slowdowns:
            true = sorted(took / table["ideal_ps"].to_numpy())[ceil(quantile * len(took)) - 1]
            if not near(slowdowns[place], true):
                yield f"'{line.strip()}', by its table p{100 * quantile:g} of slowdowns is {true}"
    goodput = re.search(r"goodput +([\d.]+) (.)b/s", text)
    seconds = (table["end_ps"].max() - table["start_ps"].min()) / 1e12
    true = 8 * sum(size for _, _, size, *_ in flows) / seconds
    if goodput and not near(float(goodput[1]) * {"M": 1e6, "G": 1e9, "T": 1e12}[goodput[2]], true):
        yield f"{goodput[0]}, by its table {true}"
    number = told.draw.randrange(len(flows))
    path.write_text(list_text([[*flows[number][:3], 0]]), encoding="utf-8")
    alone_ps = asked.play(told.folder / "flows", workload=path).finish_ps
    ideal_ps = int(table["ideal_ps"].iloc[number])
    transport = told.asked.network["transport"]
    slows = any(word in str(told.asked.network["topology"]) for word in ("credits", "error_rate"))
    free = transport.get("congestion_control") == "none" and "window" not in transport and not slows
    if ideal_ps > 0 and (
        alone_ps < ideal_ps * (1 - DIGITS) or (free and not near(alone_ps, ideal_ps, 0.01 * ideal_ps))
    ):
        yield f"flow {flows[number]} is said to take {ideal_ps} ps alone, and takes {alone_ps}"


def _product(pair: tuple[float, float]) -> float:
    return pair[0] * pair[1]
