"""run.json: all that is needed to do a run again, what it cost, and whether it came to its end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from astra_ns3.config.core.forever import FOREVER
from astra_ns3.errors import AstraNs3Error
from astra_ns3.experiments.changes.files import FILES
from astra_ns3.experiments.description import Description
from astra_ns3.experiments.flow_tables import flow_document
from astra_ns3.experiments.forecasting.foreseen import foreseen_document
from astra_ns3.experiments.play import Played, finish_of
from astra_ns3.experiments.replays.asked import asked_document
from astra_ns3.experiments.request import RunRequest
from astra_ns3.experiments.store import FORMAT, SCENARIO_FORMAT
from astra_ns3.experiments.versions import versions
from astra_ns3.experiments.watch import Watch
from astra_ns3.network.records import STEPS, FlowTotals, RunRecords
from astra_ns3.network.run_document import (
    ExposedDocument,
    RunDocument,
    StopDocument,
    TenantDocument,
    ThroughputDocument,
    WaitsDocument,
)
from astra_ns3.playing.programs.operations import CHECKPOINT, LOAD
from astra_ns3.scenario.times import PROGRAMS, Outcome, Tries, tries_of
from astra_ns3.units import PS_PER_SECOND

if TYPE_CHECKING:  # runs without a model need none of it
    from astra_ns3.workload.models.work import IterationWork

FORMAT_VERSION = 1
_SEVERAL = 2
VARYING_KEYS = ("started", "timing", "memory", "versions", "digest")
"""Keys of run.json that differ between two runs of the same files and seed; nothing else does."""


_DIGITS = 9


def name_of(request: RunRequest, description: Description) -> str:
    """The run's name: the one that was given, else that of its workload."""
    if request.run_name != RunRequest.run_name:
        return request.run_name
    return Path(str(description.workload["source"])).stem or request.run_name


def _scenario_name(request: RunRequest) -> str:
    """The scenario's name: the one that was given, else that of its file, if it has one."""
    if request.run_name != RunRequest.run_name or request.scenario_source is None:
        return request.run_name
    return Path(str(request.scenario_source)).stem or request.run_name


def run_document(
    request: RunRequest,
    description: Description,
    played: Played,
    records: RunRecords,
    outcome: Outcome,
    watch: Watch,
    warnings: list[str],
) -> RunDocument:
    """Return run.json of a run, or of the tenant that ``records`` and ``outcome`` tell of, without its list of files.

    Its :data:`VARYING_KEYS` come last.
    """
    alone = description.tenant is None
    complete = records.complete and (played.error is None or not alone)
    return {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "run_name": name_of(request, description),
        "complete": complete,
        "stopped": None if complete else stop_document(played.error),
        "finish_ps": max(records.finish_ps, played.reached_ps) if alone else outcome.last_try_ps + records.finish_ps,
        "floor": None if played.floor is None else played.floor.document(records.finish_ps),
        **({} if description.tenant is None else {"job": _with_outcome(description.tenant, outcome)}),
        **_totals(records),
        **flow_document(records.flows),
        **foreseen_document(description.foreseen),
        **(_throughput(request, description, records, outcome) if complete and outcome.ended_by == PROGRAMS else {}),
        "statistics": {name: value for name, value in played.statistics.items() if not _varies(name)},
        "warnings": warnings,
        "compat": description.compat,
        "num_queues_per_dimension": description.num_queues_per_dimension,
        **options_document(request),
        **({"asked": asked_document(request, FILES)} if alone else {}),
        # Of a job that plays for ever, those that it has come to.
        **({"passes": max(outcome.passes or 0, 1)} if request.passes == FOREVER else {}),
        "compute_slowdown": description.compute_slowdown,
        "hook_result": played.hook_result,
        "workload": description.workload,
        "system": description.system,
        "network": description.network,
        "in_force": description.in_force,
        **({} if description.npus_per_server is None else {"npus_per_server": description.npus_per_server}),
        **({} if description.dimensions is None else {"dimensions": list(description.dimensions)}),
        **({"input_files": description.input_files} if description.input_files else {}),
        **_cost(played, watch, request.threads),
        "versions": versions(),
    }


def scenario_document(
    request: RunRequest, descriptions: Sequence[Description], played: Played, watch: Watch, warnings: list[str]
) -> RunDocument:
    """run.json of a run with several tenants, but for its list of files: what they share, and their times."""
    tenants = [
        _job_document(request, descriptions, played, tries)
        for tries in tries_of([tenant for tenant, _ in request.parts], played.outcomes)
    ]
    finish_ps = max(played.reached_ps, finish_of(played.outcomes, played.records))
    first = descriptions[0]
    return {
        "format": SCENARIO_FORMAT,
        "format_version": FORMAT_VERSION,
        "run_name": _scenario_name(request),
        "complete": played.error is None and all(tenant["complete"] for tenant in tenants),
        "stopped": stop_document(played.error),
        "finish_ps": finish_ps,
        "floor": None if played.floor is None else played.floor.document(finish_ps),
        "scenario": request.scenario_source,
        "scenario_keys": request.scenario_keys,
        "jobs": tenants,
        "waits": waits_document(tenants),
        "npu_time_used": npu_time_used(tenants, first.npus, finish_ps),
        "events": first.events,
        "recovery": request.course.recovery.document(),
        "statistics": {name: value for name, value in played.statistics.items() if not _varies(name)},
        "warnings": warnings,
        "compat": first.compat,
        "backend": request.backend_name,
        "seed": request.seed,
        **scales_document(request),
        "record": list(request.record),
        "hook": request.on_built is not None,
        "limits": asdict(request.end),
        "asked": asked_document(request, ("network",)),
        "hook_result": played.hook_result,
        "network": first.network,
        "in_force": first.in_force,
        **_cost(played, watch, request.threads),
        "versions": versions(),
    }


def _job_document(
    request: RunRequest, descriptions: Sequence[Description], played: Played, tries: Tries
) -> TenantDocument:
    """A job in a few numbers, over all its tries; but what an NPU did is that of the last."""
    tenant, part = request.parts[tries.last]
    outcome = tries.outcome(tenant, played.outcomes)
    return _tenant_document(part, descriptions[tries.last], played.records[tries.last], outcome)


def _tenant_document(
    part: RunRequest, description: Description, records: RunRecords, outcome: Outcome
) -> TenantDocument:
    """A tenant in a few numbers; times count from its start. Flows have no times of an NPU, which neither computes nor
    waits."""
    return {
        **_with_outcome(description.tenant or {}, outcome),
        "workload": str(description.workload["source"]),
        "passes": None if part.passes == FOREVER else part.passes,
        "complete": records.complete,
        "finish_ps": outcome.last_try_ps + records.finish_ps,
        **records.spent_by(records.npus[records.reported_npu]),
        **({} if records.flows is None else _flows_of_tenant(records.flows)),
    }


def waits_document(tenants: Sequence[TenantDocument]) -> WaitsDocument | None:
    """Return how long jobs waited for NPUs that arrived, rounded down to the picosecond; None where none arrives."""
    arrived = [tenant for tenant in tenants if "arrival_ps" in tenant]
    if not arrived:
        return None
    waits_ps = [each["start_ps"] - each["arrival_ps"] for each in arrived if each["start_ps"] is not None]
    mean_ps = sum(waits_ps) // len(waits_ps) if waits_ps else 0
    longest_ps = max(waits_ps, default=0)
    return {"arrived": len(arrived), "started": len(waits_ps), "mean_ps": mean_ps, "longest_ps": longest_ps}


def npu_time_used(tenants: Sequence[TenantDocument], npus: int, finish_ps: int) -> float | None:
    """Return the share of the time of all NPUs of a network in which jobs had them; None of a run without time."""
    if not finish_ps:
        return None
    used = sum(len(each["npus"]) * each["finish_ps"] for each in tenants if not each.get("traffic"))
    return _short(used / (npus * finish_ps))


def _with_outcome(tenant: TenantDocument, outcome: Outcome) -> TenantDocument:
    found: TenantDocument = {
        **tenant,
        "start_ps": outcome.start_ps,
        "passes_done": outcome.passes,
        "ended_by": outcome.ended_by,
    }
    if outcome.restarts is not None:
        found |= {"restarts": outcome.restarts, "resumed_passes": outcome.resumed, "last_try_ps": outcome.last_try_ps}
    return found if outcome.npus is None else {**found, "npus": list(outcome.npus)}


def _flows_of_tenant(flows: FlowTotals) -> TenantDocument:
    """How many of a tenant's flows have started and come, and how much slower than alone."""
    slowdowns = None if flows.all is None else flows.all["slowdowns"]
    return {"started": flows.started, "delivered": flows.delivered, "slowdowns": slowdowns}


def options_document(request: RunRequest) -> RunDocument:
    """The options of a run that nothing of its files can go before."""
    return {
        "backend": request.backend_name,
        "seed": request.seed,
        "passes": request.passes,
        "report_npu": request.report_npu,
        **scales_document(request),
        "record": list(request.record),
        "hook": request.on_built is not None,
        "limits": asdict(request.end),
    }


def scales_document(request: RunRequest) -> RunDocument:
    """Return by how much a run, or each job of it, is scaled."""
    comm_scale, compute_scale = request.scales
    return {"comm_scale": comm_scale, "compute_scale": compute_scale}


def usual_options() -> RunDocument:
    """Return :func:`options_document` of a run that was given its files and nothing else."""
    return {**options_document(RunRequest(workload="", system="", network="")), "compute_slowdown": None}


def stop_document(error: AstraNs3Error | None) -> StopDocument | None:
    """Return what run.json says of the error that stopped a run, if one did."""
    if error is None:
        return None
    return {"kind": type(error).__name__, "message": str(error), "exit_status": error.exit_status}


def _totals(records: RunRecords) -> RunDocument:
    """Sums over the run; compute and exposed time are those of the reported NPU."""
    npu = records.npus[records.reported_npu]
    ended = chunks = 0
    for record in records.collectives:  # once: each may be made as it is asked for
        ended += record.end_ps is not None
        chunks += record.chunks
    return {
        "npus": len(records.npus),
        "npus_done": sum(npu.done for npu in records.npus),
        **records.spent_by(npu),
        "exposed_by_layer": _layers(records),
        "exposed_by_group": _groups(records.groups),
        **_of_roles(records),
        "collectives": len(records.collectives),
        "collectives_ended": ended,
        "chunks": chunks,
    }


def _layers(records: RunRecords) -> list[ExposedDocument]:
    """Return the exposed time of each layer, and of the training loop's steps, which have no layer; the sum is all."""
    rows: list[ExposedDocument] = [{"layer": layer.name, "exposed_ps": layer.exposed_ps} for layer in records.layers]
    steps_ps = records.groups.get(STEPS, 0)
    return [*rows, {"layer": STEPS, "exposed_ps": steps_ps}] if steps_ps else rows


def _of_roles(records: RunRecords) -> RunDocument:
    """The same of the NPU that stands for each role, if there are several."""
    if len(records.roles) < _SEVERAL:
        return {}
    return {
        "exposed_by_group_of_roles": [
            {"role": role.role, "npu": role.npu, "groups": _groups(role.groups)} for role in records.roles
        ]
    }


def _throughput(request: RunRequest, description: Description, records: RunRecords, outcome: Outcome) -> RunDocument:
    """The throughput of a model whose run came to its end; nothing for other runs.

    A job that began again has the throughput of its last try after loading the checkpoint.
    """
    work, passes = description.foreseen.work, request.passes - outcome.resumed
    took_ps = records.finish_ps - (_loaded_ps(records) if outcome.resumed else 0)
    if work is None or not took_ps or not passes:
        return {}
    return {"throughput": throughput_document(work, len(records.npus), took_ps, passes)}


def _loaded_ps(records: RunRecords) -> int:
    """Return when the last NPU had loaded the checkpoint after which a try goes on."""
    loads = (each for each in records.collectives if (each.layer, each.label.part) == (CHECKPOINT, LOAD))
    return max((each.end_ps or 0 for each in loads), default=0)


def _groups(groups: Mapping[str, int]) -> list[ExposedDocument]:
    return [{"group": group, "exposed_ps": time_ps} for group, time_ps in groups.items()]


def _cost(played: Played, watch: Watch, cores: int) -> RunDocument:
    """Return the time and memory that the run took.

    Idle memory is what the backend says, or else the memory at the start.
    """
    wall_seconds = watch.wall_seconds
    varying = {name: value for name, value in played.statistics.items() if _varies(name)}
    idle_bytes = int(varying.pop("idle_memory_bytes", played.start_bytes))
    peak_bytes = played.peak_bytes
    timing: Mapping[str, int | float] = {
        "wall_seconds": wall_seconds,
        "setup_seconds": played.setup_seconds,
        "simulation_seconds": wall_seconds - played.setup_seconds,
        **varying,
        "cores": cores,
    }
    above_idle = max(0, peak_bytes - idle_bytes)
    return {
        "started": watch.started.isoformat(timespec="seconds"),
        "timing": {name: round(value, 6) for name, value in timing.items()},
        "memory": {"idle_bytes": idle_bytes, "peak_bytes": peak_bytes, "peak_above_idle_bytes": above_idle},
    }


def _varies(statistic: str) -> bool:
    """Whether a backend's number differs between two equal runs; told from its unit."""
    return statistic.endswith(("_seconds", "_memory_bytes"))


def throughput_document(work: IterationWork, npus: int, finish_ps: int, passes: int) -> ThroughputDocument:
    """Return samples and tokens a second and model FLOP utilisation of a run of ``passes`` iterations on ``npus``.

    Definitions and sources are those of :mod:`astra_ns3.workload.models.work`.

    The time of an iteration is ``finish_ps`` over ``passes``. ``tokens_per_second`` is None where a sample has no
    tokens, ``model_flop_utilisation`` (0 to 1) where no peak is known, ``dropped_share`` where experts are alike.
    """
    per_second = work.samples * passes * PS_PER_SECOND / finish_ps
    peak = work.peak_flops
    used = None if peak is None else _short(work.flops * passes * PS_PER_SECOND / (npus * peak * finish_ps))
    return {
        "sample": work.sample,
        "samples_per_iteration": work.samples,
        "iteration_ps": finish_ps // passes,
        "samples_per_second": _short(per_second),
        "tokens_per_second": _short(per_second * work.tokens) if work.tokens > 1 else None,
        "dropped_share": work.dropped_share if work.dropped_share is None else _short(work.dropped_share),
        "model_flops_per_iteration": work.flops,
        "peak_flops_per_npu": peak,
        "model_flop_utilisation": used,
    }


def _short(number: float) -> float:
    """To nine digits that count, which every machine agrees on."""
    return float(f"{number:.{_DIGITS}g}")
