"""Which job a workload is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from astra_ns3.config.core.compatibility import Compatibility
from astra_ns3.config.flow_list import FlowList
from astra_ns3.config.graph_workload import GraphWorkload
from astra_ns3.config.workload import Workload
from astra_ns3.errors import InputError
from astra_ns3.experiments.jobs.flows import FlowsJob
from astra_ns3.experiments.jobs.graphs import GraphJob
from astra_ns3.experiments.jobs.job import Job
from astra_ns3.experiments.jobs.models import ModelJob
from astra_ns3.experiments.jobs.training import TrainingJob
from astra_ns3.workload.files.registry import AnyWorkload
from astra_ns3.workload.models.workload import ModelWorkload
from astra_ns3.workload.simai_rules import as_simai_plays

JOBS: dict[type, Callable[[Any], Job]] = {
    Workload: TrainingJob,
    ModelWorkload: ModelJob,
    FlowList: FlowsJob,
    GraphWorkload: GraphJob,
}
"""From the kind of a workload to its job."""


def job_of(workload: AnyWorkload) -> Job:
    """The job of a workload; raises InputError for what is none."""
    for kind, job in JOBS.items():
        if isinstance(workload, kind):
            return job(workload)
    raise InputError(f"found a {type(workload).__name__}, expected the path of a workload file or a Workload")


_OF_SCHEDULING = (
    "scheduling_policy",
    "intra_dimension_scheduling",
    "inter_dimension_scheduling",
    "num_queues_per_dimension",
)


def without_effect(workload: AnyWorkload, options: object) -> list[str]:
    """A warning for the options that are given and mean nothing to this kind of workload; ``options``: Options."""
    names: tuple[str, ...] = ("remote_memory",) if isinstance(workload, (Workload, ModelWorkload)) else ()
    if isinstance(workload, FlowList):
        names = ("remote_memory", "compute_slowdown", *_OF_SCHEDULING)
    given = [f"--{name.replace('_', '-')}" for name in names if getattr(options, name, None) is not None]
    if "nodes" in getattr(options, "record", ()) and not isinstance(workload, GraphWorkload):
        given.append("--record nodes")
    if not given:
        return []
    what = "a list of flows" if isinstance(workload, FlowList) else "a training loop"
    return [f"{workload.source}: is {what}; without effect on it: {', '.join(given)}"]


def under_rules(job: Job, compatibility: Compatibility) -> Job:
    """A job as another simulator would play it, where its rules change the workload itself."""
    if compatibility.simai_workloads and isinstance(job, TrainingJob):
        return TrainingJob(as_simai_plays(job.workload))
    return job
