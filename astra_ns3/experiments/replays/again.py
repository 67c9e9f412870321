"""The request that made a run, made again from its run.json."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from astra_ns3.config.core.document import Document
from astra_ns3.config.core.plain import Json
from astra_ns3.config.workload import Workload
from astra_ns3.errors import InputError, wrong
from astra_ns3.experiments.changes.documents import loop_of, model_of
from astra_ns3.experiments.changes.files import file_of
from astra_ns3.experiments.request import RunRequest
from astra_ns3.experiments.result import Result
from astra_ns3.experiments.scenario_request import ScenarioRequest
from astra_ns3.frozen import fields
from astra_ns3.network.backends import ABILITIES
from astra_ns3.network.run_document import FileDocument, RunDocument
from astra_ns3.report.network_of import network_of
from astra_ns3.system.file import parse_system
from astra_ns3.workload.models.workload import ModelWorkload

_TOTALS = ("source", "loop", "parameters", "active_parameters", "flops_per_sample", "comm_scale", "compute_scale")
"""Keys of a model in run.json that its file hasn't."""


def asked_again(run: Result, backend: str | None = None) -> RunRequest:
    """Return the request that made a run, or the scenario of a job, without records, output and limits.

    ``backend``: another one. Raises InputError if run.json doesn't tell all of it. Files are not read, so they may
    differ by now.
    """
    metadata, of_run = run.metadata, run.of_run
    _check(of_run)
    job = (metadata.get("job") or {}).get("name")
    if any(each["name"] == job and each["passes"] is None for each in of_run.get("jobs", ())):
        raise wrong("it plays for ever, so others decide when it ends; explain one of them")
    asked: dict[str, Any] = dict(of_run["asked"])  # options of all types
    if not isinstance(asked["network"], str):
        asked["network"] = network_of(asked["network"] or metadata["network"])
    scales = {name: of_run[name] for name in ("comm_scale", "compute_scale")}
    if "workload" in asked and asked["workload"] is None:
        asked["workload"], scales = _workload(metadata["workload"]), scales if "kind" in metadata["workload"] else {}
    if "system" in asked and asked["system"] is None:
        keys = {key: value for key, value in metadata["system"].items() if value != []}  # of keys that no one gave
        asked["system"] = parse_system(keys)
    if "job" in metadata:
        asked["scenario"] = run.scenario_keys
        asked["changes"] = _of_jobs(asked.get("changes") or {}) or None
    nameless = [name for name, value in asked.items() if value is None and name != "changes"]
    if nameless:
        raise wrong(f"its {nameless[0]} was given as an object, which run.json doesn't hold")
    asked |= {
        **scales,
        "seed": of_run["seed"],
        "cores": int(of_run["timing"].get("cores", 1)),
        "backend": backend or of_run["backend"],
    }
    if "job" in metadata:
        return ScenarioRequest(**asked)
    return RunRequest(**asked, passes=metadata["passes"], report_npu=metadata["report_npu"])


def plays_again(run: Result) -> bool:
    """Return whether a run can be asked for again."""
    try:
        asked_again(run)
    except InputError:
        return False
    return True


def _workload(document: FileDocument) -> Workload | ModelWorkload | None:
    """Return the workload that run.json holds, a loop with its scales; None: a list of flows, or graphs."""
    source = str(document["source"])
    if "layers" in document:
        keys = {name: document[name] for name in (each.name for each in fields(Workload)) if name in document}
        return loop_of(keys, Document(source, keys, {}))
    if "kind" not in document:
        return None
    return model_of(Document(source, {name: document[name] for name in document if name not in _TOTALS}, {}), source)


def _of_jobs(changes: Mapping[str, Json]) -> dict[str, Json]:
    """Return the changes of jobs' files. Raises InputError for one whose file isn't named, or of the network."""
    for key in changes:
        if file_of(key) not in ("workload", "system"):
            raise wrong(f"its option --set changed '{key}'; write that into its file, and run it again")
    return dict(changes)


def _check(metadata: RunDocument) -> None:
    """Raise InputError for a run that can't be asked for again."""
    if metadata["stopped"] is not None:
        raise wrong("it was stopped before its end")
    if metadata["hook"]:
        raise wrong("a hook observed or changed it")
    if metadata["backend"] not in ABILITIES:
        raise wrong(f"its backend is an object of yours, expected {', '.join(ABILITIES)}")
    if "asked" not in metadata:
        raise wrong("an earlier version of this program made it, which didn't keep how; run it again")
