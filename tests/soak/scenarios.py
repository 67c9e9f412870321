"""Random scenarios: jobs that share a network, what happens in it meanwhile, and how it comes to know of that.

A job of kind ``scenario`` has ``system``, which all its ``jobs`` share, and the keys of a scenario's file. Links and
switches have numbers, so that they are those of any topology; whatever fails comes back.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from shutil import copy
from typing import Any

from astra_ns3.config.network.packet_network import NetworkConfig
from astra_ns3.errors import BackendError
from astra_ns3.experiments.run import execute
from astra_ns3.experiments.scenario_request import ScenarioRequest
from astra_ns3.network.floor.floor import is_below
from astra_ns3.topology.graph import Graph
from soak.auditor import Auditor
from soak.case import REPOSITORY, Case, network_of
from soak.draw import Draw
from soak.jobs import Drawn
from soak.models import WORD
from soak.requests import is_list, options_of

WORDS = ("ALLREDUCE", "ALLTOALL", "ALLGATHER", "REDUCESCATTER")
ON_PACKETS_ALONE = ("storm", "ecn", "error-rate")
KIND = "scenario"
_MOST_JOBS = 3
_LEAST_NPUS = 2


def draw_scenario(seed: int, config: NetworkConfig, graph: Graph, budget_bytes: int) -> Drawn:
    """A scenario on a network."""
    draw = Draw(f"scenario {seed}")
    backend = draw.weighted({"ns3": 4, "flow": 1})
    jobs = _jobs(draw, config.npus, budget_bytes)
    made: Drawn = {
        "kind": KIND,
        "backend": backend,
        "system": _system(draw),
        "jobs": jobs,
        "events": [_event(draw, config.npus, graph, backend) for _ in range(draw.randint(0, 6))],
        "recovery": _recovery(draw),
    }
    if draw.chance(0.4):
        made["failures"] = _failures(draw, graph)
    # Drawn last, so that seeds give the cases that they gave without arrivals.
    if config.npus >= 2 * _LEAST_NPUS and draw.chance(0.4):
        made["arrivals"] = _arrivals(draw, made, config.npus, budget_bytes)
    if draw.chance(0.3):
        _restart(draw, made)
    if draw.chance(0.3) and graph.switches and graph.hosts > 1:
        made["traffic"] = [_traffic(draw, budget_bytes)]
    if backend == "ns3" and draw.chance(0.3) and _has_priorities(config, graph):
        for entry in (*made["jobs"], *made.get("traffic", ())):
            entry |= draw.some(0.7, priority=draw.randrange(8))
    return made


def _traffic(draw: Draw, budget_bytes: int) -> Drawn:
    """Flows of others, on the NPUs of all jobs; few enough for the budget."""
    size, flows = draw.between(100, 100_000), draw.randint(1, 60)
    size = max(1, min(size, budget_bytes // flows // 4))
    return {
        "name": "others",
        "kind": "poisson",
        "sizes": f"{size}B",
        "load": draw.pick(0.05, 0.3, 0.8),
        "flows": flows,
        "start": f"{draw.randint(0, 50)}us",
        "seed": draw.randint(1, 99),
    }


def _has_priorities(config: NetworkConfig, graph: Graph) -> bool:
    """Whether all transports have them, and no switch's lanes or share of a buffer stands against some."""
    roce = all(each.kind == "roce" for each in config.transports or (config.transport,))
    return roce and all(switch.credits is None and switch.alpha is None for switch in graph.switch_configs)


def _restart(draw: Draw, made: Drawn) -> None:
    """Let the first job begin again; then no event may slow its NPUs down."""
    for job in made["jobs"][:1]:
        job["restart"] = {"after": f"{draw.between(1, 100)}us", "at-most": draw.randint(1, 3)}
        made["events"] = [event for event in made["events"] if not slows(event) or event["npu"] not in job["npus"]]


def slows(event: Drawn) -> bool:
    """Whether an event slows an NPU down."""
    return bool({"still", "slower"} & event.keys())


def _arrivals(draw: Draw, made: Drawn, npus: int, budget_bytes: int) -> Drawn:
    """Jobs that arrive; those with NPUs of their own leave some, and no event slows one of those that are left."""
    made["jobs"] = made["jobs"][: draw.randint(0, len(made["jobs"]) - 1)]
    held = {npu for job in made["jobs"] for npu in job["npus"]}
    made["events"] = [event for event in made["events"] if not slows(event) or event["npu"] in held]
    left, count, time_ns = npus - len(held), draw.randint(1, 6), 0
    rows = []
    for _ in range(count):
        time_ns += draw.pick(0, draw.randint(0, 100_000))
        own = draw.randint(min(_LEAST_NPUS, left), left)
        text = _micro(draw, budget_bytes // count // own)
        rows.append({"time": f"{time_ns}ns", "npus": own, "text": text, "passes": draw.randint(1, 3)})
    return {"placement": draw.pick("packed", "spread", "random", "fragmented"), "rows": rows}


def _jobs(draw: Draw, npus: int, budget_bytes: int) -> list[Drawn]:
    order = draw.sample(range(npus), npus)
    count = draw.randint(1, max(1, min(_MOST_JOBS, npus // _LEAST_NPUS)))
    if npus < _LEAST_NPUS:
        return [{"name": "job 0", "npus": order, "text": _micro(draw, budget_bytes)}]
    size = npus // count
    return [
        {
            "name": f"job {number}",
            "npus": order[number * size : (number + 1) * size],
            "text": _micro(draw, budget_bytes // count // size),
            "passes": draw.randint(1, 3),
            "start": f"{draw.randint(0, 40)}us",
        }
        for number in range(count)
    ]


def _micro(draw: Draw, most_bytes: int) -> str:
    size = draw.between(10_000, max(20_000, most_bytes))
    compute_ns = draw.pick(0, 0, draw.between(100, 30_000))
    return f"MICRO\n1\none -1 {compute_ns} NONE 0 0 NONE 0 0 {draw.pick(*WORDS)} {size} 0\n"


def _system(draw: Draw) -> Drawn:
    kinds = ("all-reduce", "reduce-scatter", "all-gather")
    return {
        "scheduling-policy": draw.pick("LIFO", "FIFO"),
        "endpoint-delay": draw.pick(0, 10),
        "preferred-dataset-splits": draw.pick(1, 4),
        "active-chunks-per-dimension": draw.pick(1, 4),
        **{f"{kind}-implementation": [draw.pick("ring", "direct")] for kind in kinds},
        "all-to-all-implementation": ["direct"],
        "collective-optimization": "baseline",
    }


def _event(draw: Draw, npus: int, graph: Graph, backend: str) -> Drawn:
    length = draw.between(1, 300)
    made: Drawn = {"at": f"{draw.randint(0, 100_000)}ns", "for": f"{length}us"}
    if draw.chance(0.4):
        made |= {"every": f"{length + draw.randint(1, 200)}us", "times": draw.randint(2, 6)}
    targets: list[Drawn] = [{"npu": draw.randrange(npus)}, {"nic": draw.randrange(npus)}]
    targets.append({"link": draw.randrange(len(graph.links))})
    if graph.switches:
        targets.append({"switch": draw.randrange(graph.switches)})
    target = draw.pick(*targets)
    states: list[Drawn] = [{"up": False}]
    if "npu" in target:
        states += [{"still": True}, {"slower": draw.pick(0.5, 2, 10)}]
    if "link" in target or "nic" in target:
        states += [
            {"rate": f"{draw.randint(5, 150)}%"},
            {"delay": f"{draw.between(1, 20_000)}ns"},
            {"error-rate": 0.01},
        ]
    if "nic" in target and _stops(graph, target["nic"]):
        states.append({"storm": True})
    found = draw.pick(*states)
    if backend != "ns3" and any(key in found for key in ON_PACKETS_ALONE):
        found = {"up": False}
    return {**made, **target, **found}


def _stops(graph: Graph, npu: int) -> bool:
    """Whether all links of an NPU lead to switches that a pause stops."""
    peers = [port.peer - graph.hosts for port in graph.ports[graph.npu_host[npu]]]
    return all(peer >= 0 and graph.switch_configs[peer].pfc is not None for peer in peers)


def _recovery(draw: Draw) -> Drawn:
    made: Drawn = {}
    if draw.chance(0.6):
        made["detection"] = {"kind": "hello", "interval": f"{draw.between(1, 60)}us", "multiplier": draw.randint(1, 4)}
    if draw.chance(0.6):
        after = draw.between(1, 200)
        made["routes"] = {"kind": "converge", "after": f"{after}us"}
        made["routes"] |= draw.some(0.6, **{"local-repair": f"{draw.randint(0, after)}us"})
    return made


def _failures(draw: Draw, graph: Graph) -> Drawn:
    kinds = ["npu"] if not graph.switches else ["npu", "link", "nic"]
    made: Drawn = {"until": f"{draw.between(50, 1000)}us"}
    for kind in kinds:
        repair: Any = draw.pick(f"{draw.between(1, 100)}us", {"mean": f"{draw.between(1, 100)}us"})
        made |= draw.some(0.6, **{kind: {"mtbf": f"{draw.between(500, 50_000)}us", "repair": repair}})
    return made if len(made) > 1 else {**made, "npu": {"mtbf": "5ms", "repair": "10us"}}


def scenario_of(case: Case, folder: Path) -> ScenarioRequest:
    """The scenario that a case asks for, as a user would ask for it; its files are written into ``folder``."""
    job = case.job
    (folder / "system.json").write_text(json.dumps(job["system"]), encoding="utf-8")
    document = {key: job[key] for key in ("events", "recovery", "failures", "traffic") if key in job}
    document["jobs"] = list(_written(job["jobs"], folder))
    if "arrivals" in job:
        document["arrivals"] = _written_table(job["arrivals"], folder)
    return ScenarioRequest(
        scenario=document,
        network=network_of(case, folder),
        seed=case.seed,
        backend=job["backend"],
        cores=case.cores if job["backend"] == "ns3" else 1,
        **options_of(job),
    )


def play_scenario(case: Case, folder: Path, auditor: Auditor) -> tuple[int, dict[str, Any]]:
    """Play it; return when it finished, and its statistics."""
    request = scenario_of(case, folder)
    on_packets = request.backend == "ns3"
    if on_packets:
        request = replace(request, on_built=auditor.on_built)
    outcome = execute(request)
    auditor.audited |= not on_packets
    if outcome.error is not None:
        raise outcome.error
    left = [name for name, tenant in outcome.result.tenants.items() if not tenant.complete]  # type: ignore[attr-defined]
    if left:
        raise BackendError(f"{', '.join(left)} never ended, and nobody says why")
    _check_waits(outcome.result.metadata["jobs"])
    for result in (outcome.result, *outcome.result.tenants.values()):  # type: ignore[attr-defined]
        floor = result.metadata["floor"]
        if floor is not None and is_below(floor["share"]):
            auditor.problems.append(f"finished after {result.finish_ps} ps, below the floor: {floor}")
    return outcome.result.finish_ps, dict(outcome.result.metadata["statistics"])


def _check_waits(jobs: Sequence[Any]) -> None:
    """Raise BackendError if a job overtook another, or an NPU had two at once."""
    arrived = [job for job in jobs if "arrival_ps" in job]
    starts = [job["start_ps"] for job in arrived]
    if starts != sorted(starts) or any(job["start_ps"] < job["arrival_ps"] for job in arrived):
        raise BackendError(f"jobs that arrive start at {starts}, out of line")
    ends: dict[int, int] = {}
    for job in sorted((job for job in jobs if not job.get("traffic")), key=lambda job: job["start_ps"]):
        for npu in job["npus"]:
            if ends.get(npu, 0) > job["start_ps"]:
                raise BackendError(f"NPU {npu} has two jobs at {job['start_ps']} ps")
            ends[npu] = job["start_ps"] + job["finish_ps"]


def _written_table(arrivals: Drawn, folder: Path) -> Drawn:
    """Write the table of jobs that arrive; return the keys of a scenario for it."""
    columns = list(dict.fromkeys(key for row in arrivals["rows"] for key in row if key != "text"))
    lines = [",".join([*columns, "workload"])]
    for number, row in enumerate(arrivals["rows"]):
        workload = _workload_file(row["text"], folder, f"arrival-{number}").name
        lines.append(",".join([*(str(row.get(key, "")) for key in columns), workload]))
    (folder / "arrivals.csv").write_text("\n".join([*lines, ""]), encoding="utf-8")
    files = {"file": str(folder / "arrivals.csv"), "system": str(folder / "system.json")}
    return {**files, "placement": arrivals["placement"]}


def _written(jobs: Sequence[Drawn], folder: Path) -> list[Drawn]:
    found = []
    for number, job in enumerate(jobs):
        workload = _workload_file(job["text"], folder, f"job-{number}")
        own = {key: value for key, value in job.items() if key != "text"}
        own |= {"workload": str(workload), "system": str(folder / "system.json")}
        found.append({"dimensions": [len(job["npus"])]} | own)
    return found


def _workload_file(text: str, folder: Path, name: str) -> Path:
    """Write a loop, a model, whose table goes with it, or a list of flows."""
    ending = "yaml" if text.startswith(WORD) else "csv" if is_list(text) else "txt"
    if "mlp-gemms.csv" in text:
        copy(REPOSITORY / "inputs" / "workload" / "models" / "mlp-gemms.csv", folder)
    workload = folder / f"{name}.{ending}"
    workload.write_text(text, encoding="utf-8")
    return workload
