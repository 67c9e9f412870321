"""A request for a run with several tenants on one network."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import Path

from pydantic import JsonValue

from astra_ns3.config.compute_slowdown import ComputeSlowdown
from astra_ns3.config.core.model import shown
from astra_ns3.config.core.plain import JsonObject
from astra_ns3.config.network.file import AnyNetwork
from astra_ns3.config.scenario.arrivals import ArrivalsConfig, read_arrivals
from astra_ns3.config.scenario.file import JobConfig, ScenarioFile, read_scenario
from astra_ns3.config.scenario.placement import Placement
from astra_ns3.config.scenario.times import AfterConfig
from astra_ns3.config.scenario.traffic import TrafficConfig
from astra_ns3.config.system import SystemConfig
from astra_ns3.errors import located, refuse, wrong
from astra_ns3.experiments.changes.scenario import changed_scenario, scenario_changes
from astra_ns3.experiments.option import INPUTS, option
from astra_ns3.experiments.request import NETWORK_FLAG, RunRequest, check_run_name
from astra_ns3.frozen import dataclass, field, fields, replace
from astra_ns3.scenario.course import Course
from astra_ns3.scenario.events import Event
from astra_ns3.scenario.tenant import After, FilePath, Restart, Tenant, with_tries
from astra_ns3.scenario.times import check_times
from astra_ns3.scenario.traffic import Traffic
from astra_ns3.workload.files.workload_formats import AnyWorkload


@dataclass(frozen=True, kw_only=True)
class ScenarioRequest(RunRequest):
    """A run with several tenants: each says of itself what a run with one says in options of the same name.

    Here these fields are those of the first tenant. ``tenants`` is a tuple once the request is made, with those that
    the scenario's file has in front, and ``scenario`` has been read.
    """

    scenario: FilePath | ScenarioFile | Mapping[str, JsonValue] | None = option(
        None,
        "path of a scenario's file, or its keys: jobs, which are tenants too, and events.",
        group=INPUTS,
    )
    tenants: Iterable[Tenant] = option(
        (), "each a Tenant(name, npus, workload, system, ...); no two have an NPU in common.", group=INPUTS
    )
    network: FilePath | AnyNetwork = option(
        "",
        "path of a network file, or a NetworkConfig, or an AnalyticalNetwork; left out: that of the scenario's file.",
        NETWORK_FLAG,
        group=INPUTS,
    )
    workload: FilePath | AnyWorkload = field(init=False)
    system: FilePath | SystemConfig = field(init=False)
    passes: int = field(init=False, default=1)
    report_npu: int = field(init=False, default=0)
    compute_slowdown: FilePath | ComputeSlowdown | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        super().__post_init__()
        tenants = tuple(self.tenants) if isinstance(self.tenants, Iterable) else ()
        if not all(isinstance(tenant, Tenant) for tenant in tenants):
            raise wrong(f"tenants is {shown(self.tenants)}, expected at least one Tenant in a list")
        file = None if self.scenario is None else read_scenario(self.scenario)
        changes = self.changes
        if file is not None and isinstance(changes, Mapping):
            settings, changes = scenario_changes(changes)
            if settings:
                file = changed_scenario(file, settings, Path(), f"{file.document.source} (changed)")
        if file is not None and file is not self.scenario:  # else this is a copy of a request, which has its jobs
            found = sorted((*tenants_of_file(file), *tenants), key=lambda tenant: tenant.traffic is not None)
            tenants = tuple(found)
        if not tenants:
            what = "" if file is None else ", or a job, arrivals or traffic of the scenario"
            raise wrong(f"tenants is {shown(self.tenants)}, expected at least one Tenant in a list{what}")
        tenants = tuple(with_tries(tenants))
        network = _network(file) if file is not None and not self.network else self.network
        made = {"scenario": file, "tenants": tenants, "network": network, "changes": changes}
        for name, value in {**made, "workload": tenants[0].workload, "system": tenants[0].system}.items():
            object.__setattr__(self, name, value)

    @property
    def scenario_source(self) -> str | None:
        """The scenario's file, or what messages call one that was given as keys; None: the run has none."""
        return self.scenario.document.source if isinstance(self.scenario, ScenarioFile) else None

    @property
    def scenario_keys(self) -> JsonObject | None:
        """Return the keys of the scenario's file that aren't at their defaults; None: the run has no such file."""
        if not isinstance(self.scenario, ScenarioFile):
            return None
        return self.scenario.config.model_dump(mode="json", by_alias=True, exclude_defaults=True)

    @property
    def scenario_files(self) -> tuple[str, ...]:
        """The scenario's file and its table of arrivals."""
        file = self.scenario
        arrivals = file.config.arrivals if isinstance(file, ScenarioFile) else None
        named = self.scenario_source, None if arrivals is None else arrivals.file
        return tuple(each for each in named if each is not None)

    @property
    def course(self) -> Course:
        """Return the events, failures and recovery of the network during the run."""
        file, jobs = self.scenario, len(tuple(self.tenants))
        if not isinstance(file, ScenarioFile):
            return Course(jobs=jobs)
        events = tuple(
            Event(event, file.where(("events", number, event.target)))
            for number, event in enumerate(file.config.events)
        )
        failures, recovery = file.config.failures, file.config.recovery
        return Course(events, failures, file.where(("failures",)), recovery, self.seed, jobs)

    @cached_property
    def parts(self) -> tuple[tuple[Tenant | None, RunRequest], ...]:
        """Each tenant with a request of its own."""
        shared = RunRequest(**{one.name: getattr(self, one.name) for one in fields(RunRequest)})
        return tuple((tenant, _of(tenant, shared)) for tenant in self.tenants)

    def check(self) -> None:
        """Raise InputError for the first argument that is out of range."""
        super().check()
        for tenant, (_, part) in zip(self.tenants, self.parts, strict=True):
            with located(tenant.where):
                check_run_name(tenant.job_name)
            with located(tenant.place):
                part.check()
        check_times(tuple(self.tenants))


def tenants_of_file(file: ScenarioFile) -> Iterable[Tenant]:
    """Return the jobs of a scenario's file and of its table, and the other traffic, as tenants."""
    for number, job in enumerate(file.config.jobs):
        yield _tenant(job, f"{file.document.where(('jobs', number))}: job '{job.name}'")
    if file.config.arrivals is not None:
        yield from _arriving(file, file.config.arrivals)
    for number, entry in enumerate(file.config.traffic):
        yield _of_traffic(entry, f"{file.document.where(('traffic', number))}: traffic '{entry.name}'")


def _tenant(job: JobConfig, where: str) -> Tenant:
    start = job.start
    return Tenant(
        job.name,
        job.npus,
        job.workload,
        job.system,
        start_ps=start.delay_ps if isinstance(start, AfterConfig) else start,
        passes=job.passes,
        dimensions=job.dimensions,
        seed=job.seed,
        compute_slowdown=job.compute_slowdown,
        groups=job.groups,
        changes=job.changes,
        where=where,
        after=After(start.after, start.passes) if isinstance(start, AfterConfig) else None,
        end_ps=job.end_ps,
        restart=None
        if job.restart is None
        else Restart(job.restart.after_ps, job.restart.at_most, tuple(sorted(job.restart.fails))),
        priority=job.priority,
    )


def _arriving(file: ScenarioFile, config: ArrivalsConfig) -> Iterator[Tenant]:
    """Yield the jobs of a table; raises InputError for one with a name that another has."""
    names = {*(job.name for job in file.config.jobs), *(entry.name for entry in file.config.traffic)}
    for job in read_arrivals(config):
        refuse(job.name in names, "has a name of another, expected a new one", job.where)
        names.add(job.name)
        yield Tenant(
            job.name,
            Placement(place=config.placement, count=job.npus),
            job.workload,
            job.system,
            start_ps=job.time_ps,
            passes=job.passes,
            dimensions=job.dimensions,
            where=job.where,
            arrives=True,
        )


def _of_traffic(entry: TrafficConfig, where: str) -> Tenant:
    return Tenant(
        entry.name,
        entry.npus,
        "",
        "",
        start_ps=entry.start_ps,
        seed=entry.seed,
        where=where,
        traffic=Traffic(entry, where),
        priority=entry.priority,
    )


def _network(file: ScenarioFile) -> str:
    """Return the path of the network that a scenario's file names."""
    if file.config.network is None:
        raise wrong("names no network, expected 'network: FILE', or one beside the scenario (-n)", file.document.source)
    return file.config.network


def _of(tenant: Tenant, shared: RunRequest) -> RunRequest:
    """Return what is asked of a tenant in a run."""
    return replace(
        shared,
        workload=tenant.workload,
        system=tenant.system,
        passes=tenant.passes,
        seed=tenant.seed_in(shared.seed),
        report_npu=tenant.report_npu,
        compute_slowdown=tenant.compute_slowdown,
        groups=tenant.groups or shared.groups,
        changes={**(shared.changes or {}), **(tenant.changes or {})} or None,
        run_name=tenant.job_name,
    )
