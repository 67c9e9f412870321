"""Which job a workload is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from astra_ns3.config.core.compatibility import OURS, Compatibility, preset
from astra_ns3.config.flow_list import FlowList
from astra_ns3.config.flow_stream import FlowStream
from astra_ns3.config.formats.remote_memory import PER_NODE, RemoteMemory
from astra_ns3.config.graph_workload import GraphWorkload
from astra_ns3.config.model.offload import Interval
from astra_ns3.config.system import SystemConfig
from astra_ns3.config.workload import Workload
from astra_ns3.errors import wrong
from astra_ns3.experiments.forecasting.expected import ExpectedRun
from astra_ns3.experiments.jobs.flows import FlowsJob, StreamJob
from astra_ns3.experiments.jobs.job import Job
from astra_ns3.experiments.jobs.training import TrainingJob
from astra_ns3.network.backends import abilities_of
from astra_ns3.units import format_time
from astra_ns3.workload.files.workload_formats import AnyWorkload
from astra_ns3.workload.loops.simai_rules import as_simai_plays
from astra_ns3.workload.models.workload import ModelWorkload


def _model_job(workload: ModelWorkload) -> Job:
    from astra_ns3.experiments.jobs.models import ModelJob

    return ModelJob(workload)


def _graph_job(workload: GraphWorkload) -> Job:
    from astra_ns3.experiments.jobs.graphs import GraphJob

    return GraphJob(workload)


JOBS: dict[type, Callable[[Any], Job]] = {  # each takes what its key says
    Workload: TrainingJob,
    ModelWorkload: _model_job,
    FlowList: FlowsJob,
    FlowStream: StreamJob,
    GraphWorkload: _graph_job,
}
"""From the kind of a workload to its job; those that a training loop does without are imported when they are made."""


def job_of(workload: AnyWorkload) -> Job:
    """The job of a workload; raises InputError for what is none."""
    for kind, job in JOBS.items():
        if isinstance(workload, kind):
            return job(workload)
    raise wrong(f"found a {type(workload).__name__}, expected the path of a workload file or a Workload")


_OF_SCHEDULING = (
    "scheduling_policy",
    "intra_dimension_scheduling",
    "inter_dimension_scheduling",
    "num_queues_per_dimension",
)


# Words of ``record`` that ask for tables which a kind of workload has no rows for.
_RECORDS_NOTHING: Mapping[type, tuple[str, ...]] = {
    Workload: ("nodes",),
    ModelWorkload: ("nodes",),
    FlowList: ("timeline", "layers", "nodes"),
    FlowStream: (),
}
_KIND: Mapping[type, str] = {FlowList: "a list of flows", GraphWorkload: "a workload of graphs"}
_OF_DELAYS = ("charge_highest_dimension", "charge_lowest_dimension", "truncate_delays")
# Who asks for all these means whatever there is.
_EVERYTHING = {"flows", "layers", "timeline", "nodes"}


def without_effect(workload: AnyWorkload, options: object) -> list[str]:
    """A warning for the options that are given and mean nothing to this kind of workload.

    ``options``: Options, or a run's request, which says what to record, too.
    """
    names = ("compute_slowdown", *_OF_SCHEDULING) if isinstance(workload, FlowList) else ()
    given = [f"--{name.replace('_', '-')}" for name in names if getattr(options, name, None) is not None]
    record = set(getattr(options, "record", ()))
    if not record >= _EVERYTHING:
        given += [f"--record {word}" for word in _RECORDS_NOTHING.get(type(workload), ()) if word in record]
    if _compat_is_void(workload, options):
        given.append(f"--compat {getattr(options, 'compat', '')}")
    if not given:
        return []
    what = next((words for kind, words in _KIND.items() if isinstance(workload, kind)), "a training loop")
    return [f"{workload.source}: is {what}; without effect on it: {', '.join(given)}"]


def unused_remote_memory(workload: AnyWorkload, system: SystemConfig) -> list[str]:
    """Return a warning that names the keys of a remote memory that a workload never accesses.

    ASTRA-sim's text form has compute times, collectives and their sizes for each layer, and no column for an access;
    Chakra's converter from text makes no memory nodes either.
    """
    remote = system.remote_memory
    if remote is None or not remote.there:
        return []
    if isinstance(workload, GraphWorkload):
        return _unread_nodes(remote)
    why = "its format has no loads and stores"
    if isinstance(workload, ModelWorkload):
        if workload.file.uses_remote_memory is not None:
            return _unread_nodes(remote)
        why = "no part of 'offload' is to: remote"
    keys = ", ".join(key for key, value in remote.document().items() if value is not None)
    return [f"{workload.source}: never accesses remote memory, for {why}; without effect on it: {keys}"]


def _unread_nodes(remote: RemoteMemory) -> list[str]:
    """Return a warning for the numbers of nodes that the kind of a memory doesn't read."""
    keys = {"num-nodes": remote.nodes, "num-npus-per-node": None if remote.kind == PER_NODE else remote.npus_of_node}
    idle = ", ".join(key for key, value in keys.items() if value is not None)
    return [f"remote-memory: without effect with {remote.kind}: {idle}"] if idle else []


def idle_system_keys(workload: AnyWorkload, system: SystemConfig, expected: ExpectedRun) -> list[str]:
    """Return a warning for the keys of a system that say something and change nothing of what a workload plays.

    A list of flows reads none but the endpoint delay, which nobody needs to be told of each key.
    """
    if isinstance(workload, (FlowList, FlowStream)):
        return []
    times_nodes = isinstance(workload, GraphWorkload) and not system.replay_only
    reasons: dict[str, str | bool] = {
        "replay_only": not isinstance(workload, GraphWorkload) and "only graphs have nodes",
        "roofline_enabled": not times_nodes and "nothing asks for times of nodes",
        "peak_perf": not (times_nodes and system.roofline_enabled) and "no roofline asks for it",
        "injection_scale": not system.endpoint_delay_ns and "endpoint-delay is 0",
    }
    if not system.plays_nccl:
        several = any(phases > chunks for chunks, phases in expected.cuts.values())
        reasons["inter_dimension_scheduling"] = not several and "no collective goes along several dimensions"
    fields = type(system).model_fields
    idle = [
        f"{fields[name].alias} ({why})"
        for name, why in reasons.items()
        if why and getattr(system, name) != fields[name].default
    ]
    return [f"without effect: {', '.join(idle)}"] if idle else []


def _compat_is_void(workload: AnyWorkload, options: object) -> bool:
    """Whether none of a preset's rules has a say: flows know only those of the analytical network's delays."""
    rules = preset(getattr(options, "compat", "none"))
    if rules == OURS:
        return False
    if isinstance(workload, FlowList):
        return not abilities_of(getattr(options, "backend", None)).rules_of_delays or not any(
            getattr(rules, name) for name in _OF_DELAYS
        )
    return isinstance(workload, GraphWorkload) and rules.simai_workloads


def under_rules(job: Job, compatibility: Compatibility) -> Job:
    """A job as another simulator would play it, where its rules change the workload itself."""
    if compatibility.simai_workloads and isinstance(job, TrainingJob):
        return TrainingJob(as_simai_plays(job.workload))
    return job


def never_stored(workload: AnyWorkload, passes: int) -> list[str]:
    """Return a warning if a model's training ends before its first checkpoint."""
    checkpoint = workload.file.checkpoint if isinstance(workload, ModelWorkload) else None
    if checkpoint is None or isinstance(checkpoint.every, Interval) or checkpoint.every <= passes:
        return []
    return [f"{workload.source}: no checkpoint is stored: every is {checkpoint.every}, and passes is {passes}"]


def ended_unstored(workload: AnyWorkload, finish_ps: int) -> list[str]:
    """Return a warning if a model's training took less time than from one checkpoint to the next."""
    checkpoint = workload.file.checkpoint if isinstance(workload, ModelWorkload) else None
    if checkpoint is None or not isinstance(checkpoint.every, Interval) or checkpoint.every.time_ps <= finish_ps:
        return []
    every, end = format_time(checkpoint.every.time_ps), format_time(finish_ps)
    return [f"{workload.source}: no checkpoint was stored: every is {every}, and the training took {end}"]
