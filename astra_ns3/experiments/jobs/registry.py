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
from astra_ns3.experiments.jobs.training import TrainingJob
from astra_ns3.workload.files.registry import AnyWorkload
from astra_ns3.workload.simai_rules import as_simai_plays

JOBS: dict[type, Callable[[Any], Job]] = {Workload: TrainingJob, FlowList: FlowsJob, GraphWorkload: GraphJob}
"""From the kind of a workload to its job."""


def job_of(workload: AnyWorkload) -> Job:
    """The job of a workload; raises InputError for what is none."""
    for kind, job in JOBS.items():
        if isinstance(workload, kind):
            return job(workload)
    raise InputError(f"found a {type(workload).__name__}, expected the path of a workload file or a Workload")


def under_rules(job: Job, compatibility: Compatibility) -> Job:
    """A job as another simulator would play it, where its rules change the workload itself."""
    if compatibility.simai_workloads and isinstance(job, TrainingJob):
        return TrainingJob(as_simai_plays(job.workload))
    return job
