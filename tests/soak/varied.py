"""Cases with more than the soak's: whatever else a file's schema allows, stopped runs, all kinds of jobs in scenarios.

They may be refused, and jobs of theirs may fail, which the soak takes for a fault. Pins and pairs are made of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod
from typing import Any, get_args

import yaml

from astra_ns3.config.compute_slowdown import ComputeSlowdown
from astra_ns3.config.core.document import Document
from astra_ns3.config.core.model import validated
from astra_ns3.config.model.file import KINDS as MODELS
from astra_ns3.config.network.packet_network import NetworkConfig
from astra_ns3.config.scenario.file import ScenarioConfig
from astra_ns3.config.scenario.placement import PlacementKind
from astra_ns3.config.system import SystemConfig
from astra_ns3.experiments.request import RECORDED
from astra_ns3.network.backends import ABILITIES, abilities_of
from astra_ns3.network.plan import plan_network
from astra_ns3.system.file import parse_system
from soak import models
from soak.allowed import with_more
from soak.case import Case
from soak.cases import built, random_case
from soak.draw import Draw
from soak.explained import case_to_explain
from soak.jobs import Drawn, draw_flows, loop_or_model, read_text
from soak.requests import is_list, list_text
from soak.scenarios import KIND as SCENARIO
from soak.scenarios import slows
from soak.storage import draw_storage

SCENARIOS = 0.3
"""The share of scenarios."""
SHARE = 0.03
"""Of the soak's bytes."""
PLACES: tuple[str, ...] = get_args(PlacementKind)
KINDS = ("all-reduce", "reduce-scatter", "all-gather", "all-to-all")
_FILES = ("workload", "system")


def varied_case(seed: int) -> Case | None:
    """Return the case of a seed with more; None if a user can't ask for it, or it needs a C++ compiler."""
    case = random_case(seed, SCENARIOS)
    if case.job["kind"] == "collective" or ".hpp" in case.document():
        return None
    draw = Draw(f"varied {seed}")
    case = replace(case_to_explain(seed, case) or case, cores=2 if draw.chance(0.05) else 1)
    job, files, npus = dict(case.job), dict(case.files), 0
    dimensions: tuple[int, ...] = ()
    network = _network(draw, case)
    if network:
        config, _ = built(network, files)
        npus, dimensions = config.npus, config.dimensions
    if "system" in job:
        job["system"] = with_more(draw, SystemConfig, job["system"], draw.pick(0, 0, 1, 2, 3), parse_system)
        job["system"].pop("rendezvous-protocol", None)  # only one backend can do it
    if "text" in job and npus and not job.get("written"):
        job["text"] = _text(draw, job["text"], dimensions)
    job["options"] = _able({**job.get("options", {}), **_options(draw, npus, files)})
    if job["kind"] == SCENARIO:
        job = _scenario(draw, job, network["topology"], files)
        if "checkpoint:" in str(job["jobs"]) and not {"transports", "storage"} & {*network, *network["topology"]}:
            network = {**network, "topology": dict(network["topology"])}
            draw_storage(draw, network["topology"], built(network, files)[1])
    elif job["kind"] == "flows" and draw.chance(0.3):
        job["flows"] = _one_after_another(draw, job["flows"])
    if draw.chance(0.15):
        job["small_batches"] = True
    return replace(case, network=network, job=job, files=files)


def _network(draw: Draw, case: Case) -> Drawn:
    if not case.network:
        return {}

    def check(made: Drawn) -> None:
        plan_network(built(made, dict(case.files))[0])

    return with_more(draw, NetworkConfig, dict(case.network), draw.pick(0, 0, 1, 2, 4), check)


def _text(draw: Draw, text: str, dimensions: tuple[int, ...]) -> str:
    """Return a model with more keys; any other workload as it is."""
    if not text.startswith(models.WORD):
        return text
    document: Drawn = yaml.safe_load(text)

    def check(made: Drawn) -> None:
        workload = read_text(yaml.safe_dump(made, sort_keys=False))
        workload.plan(prod(dimensions))  # type: ignore[union-attr]

    more = with_more(draw, MODELS[document["kind"]], document, draw.pick(0, 1, 2, 4), check)
    return yaml.safe_dump(more, sort_keys=False)


def _options(draw: Draw, npus: int, files: dict[str, str]) -> Drawn:
    """Return options of the run itself."""
    found: Drawn = draw.some(
        0.08,
        run_name="named",
        num_queues_per_dimension=draw.pick(1, 2),
        injection_scale=draw.pick(0.5, 3.0),
        scheduling_policy=draw.pick("LIFO", "FIFO"),
        compute_scale=draw.pick(0.0, 0.3, 10.0),
        record=draw.pick(*RECORDED).split(),
    )
    found |= {"report_npu": draw.randrange(npus)} if npus and draw.chance(0.1) else {}
    found |= {"backend": draw.pick(*ABILITIES)} if draw.chance(0.2) else {}
    found |= {"limits": {"simulated_ps": draw.between(10**6, 10**9)}} if draw.chance(0.15) else {}
    if draw.chance(0.2):
        files["slowdown.yaml"] = _slowdown(draw)
        found["compute_slowdown"] = "slowdown.yaml"
    return found


def _able(options: Drawn) -> Drawn:
    """Return the options without what their backend can't do."""
    if not abilities_of(options.get("backend", "ns3")).accounts:
        options["record"] = [name for name in options.get("record", ()) if name != "accounts"]
    return options


def _slowdown(draw: Draw) -> str:
    def check(made: Drawn) -> None:
        validated(ComputeSlowdown, Document("slowdown.yaml", made))

    start: Drawn = draw.pick(
        {"stragglers": [{"factor": 2}]}, {"jitter": {"spread": 0.1}}, {"communication": {"processors": 0.2}}
    )
    return yaml.safe_dump(with_more(draw, ComputeSlowdown, start, draw.pick(1, 2, 4), check), sort_keys=False)


def _one_after_another(draw: Draw, flows: list[list[int]]) -> list[list[int]]:
    """Have flows wait for some that stand before them."""
    return [[*flow, *draw.sample(range(place), draw.randint(0, min(2, place)))] for place, flow in enumerate(flows)]


def _scenario(draw: Draw, job: Drawn, topology: Drawn, files: dict[str, str]) -> Drawn:
    """Return a scenario whose jobs, traffic and events are of all kinds."""
    options = {key: each for key, each in job["options"].items() if key not in ("compute_slowdown", "report_npu")}
    backend = options.pop("backend", job["backend"])
    made: Drawn = {**job, "backend": backend, "options": {**options, "comm_scale": SHARE}}
    places = PLACES if "npus_per_node" in topology else PLACES[:-2]
    made["jobs"] = [_job(draw, dict(each), number, places, files) for number, each in enumerate(job["jobs"])]
    if any("restart" in each or isinstance(each.get("start"), dict) for each in made["jobs"]):
        made["events"] = [event for event in job["events"] if not slows(event)]
    if "arrivals" in made:
        rows = [_row(draw, dict(row), number) for number, row in enumerate(made["arrivals"]["rows"])]
        made["arrivals"] = {"placement": draw.pick(*places), "rows": rows}
    document: Drawn = {
        key: made.pop(key) for key in ("events", "recovery", "failures", "traffic", "jobs") if key in made
    }
    return made | with_more(draw, ScenarioConfig, _named(document), draw.pick(0, 1, 2, 4), _checked)


def _named(document: Drawn) -> Drawn:
    """Return a scenario's document whose jobs have the files that their schema asks for, which are written later."""
    return {**document, "jobs": [{**job, **dict.fromkeys(_FILES, "")} for job in document["jobs"]]}


def _checked(made: Drawn) -> None:
    jobs = [
        {key: each for key, each in job.items() if key != "text"} | dict.fromkeys(_FILES, "x") for job in made["jobs"]
    ]
    validated(ScenarioConfig, Document("scenario", {**made, "jobs": jobs}))


def _job(draw: Draw, job: Drawn, number: int, places: Sequence[str], files: dict[str, str]) -> Drawn:
    count = len(job["npus"])
    if draw.chance(0.6):
        job |= _workload(draw, count, "loop", "model", "model", "flows")
        job["passes"] = 1 if is_list(job["text"]) else job.get("passes", 1)
    if number and draw.chance(0.4):
        after: Drawn = {"after": f"job {draw.randrange(number)}"}
        job["start"] = after | draw.some(0.5, passes=1, delay=f"{draw.randint(0, 20)}us")
    if number and draw.chance(0.15) and not is_list(job["text"]):
        job["passes"] = "forever"
    if draw.chance(0.3):
        fails = sorted(
            {f"{draw.between(1, 500)}us" for _ in range(draw.randint(0, 3))}, key=lambda time: int(time[:-2])
        )
        job["restart"] = {"after": f"{draw.between(1, 50)}us", "at-most": draw.randint(1, 3), "fails": fails}
    if draw.chance(0.2) and "restart" not in job:  # which some refuse
        files["slowdown.yaml"] = _slowdown(draw)
        job["compute-slowdown"] = "slowdown.yaml"
    job |= draw.some(0.12, end=f"{draw.between(5, 2000)}us", seed=draw.randint(1, 9))
    job["set"] = draw.some(0.1, **{"system.preferred-dataset-splits": 2})
    if len(job.get("dimensions", ())) > 1:
        job["set"] |= {f"system.{kind}-implementation": [draw.pick("ring", "direct"), "direct"] for kind in KINDS}
    if draw.chance(0.2):
        place = draw.pick(*places)
        job |= {"dimensions": job.get("dimensions", [count]), "npus": {"place": place, "count": count}}
    return job


def _row(draw: Draw, row: Drawn, number: int) -> Drawn:
    count = row["npus"]
    if draw.chance(0.5):
        row["text"] = _workload(draw, count, "loop", "model")["text"]
    return row | draw.some(0.3, name=f"arrived {number}")


def _workload(draw: Draw, count: int, *kinds: str) -> Drawn:
    """Return a loop, a model, if flows may be had now and then with checkpoints, or flows, for so many NPUs."""
    is_job = "flows" in kinds
    dimensions = draw.pick([count], [2, count // 2]) if is_job and count % 2 == 0 and count > 2 else [count]
    kind = draw.pick(*kinds) if count > 1 else "loop"
    if kind == "flows":
        flows = _one_after_another(draw, draw_flows(draw, count, 10**7)["flows"])
        return {"text": list_text(flows), "dimensions": dimensions}
    if kind == "loop":
        return {"text": loop_or_model(draw, dimensions), "dimensions": dimensions}
    document = yaml.safe_load(models.model_text(draw, dimensions))
    every: Any = draw.pick(1, 2, f"{draw.between(1, 500)}us")
    document |= draw.some(0.6 if is_job else 0, checkpoint={"every": every, "mode": draw.pick("synchronous", "behind")})
    found = yaml.safe_load(_text(draw, yaml.safe_dump(document, sort_keys=False), tuple(dimensions)))
    if isinstance(found.get("compute"), dict):  # jobs have the rates inside nodes in common
        found["compute"]["scale_up_efficiency"] = 1
    return {"text": yaml.safe_dump(found, sort_keys=False), "dimensions": dimensions}
