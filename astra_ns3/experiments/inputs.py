"""The three files of a run, read, scaled and checked against each other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext

from astra_ns3.collectives.schedule import Tell, silent
from astra_ns3.config.compute_slowdown import ComputeSlowdown
from astra_ns3.config.core.compatibility import OURS, Compatibility, preset
from astra_ns3.config.formats.plain_graph import PlainGraph
from astra_ns3.config.network.file import AnyNetwork
from astra_ns3.config.network.packet_network import NetworkConfig
from astra_ns3.config.scenario.placement import Placement
from astra_ns3.config.system import SystemConfig
from astra_ns3.config.topology.file import FileTopology
from astra_ns3.errors import located, of_npus, refuse, wrong
from astra_ns3.experiments.changes.setting import RunFiles
from astra_ns3.experiments.device import inside_share, lost_share, network_as_reached, slowdown_on_device
from astra_ns3.experiments.forecasting.expected import ExpectedRun
from astra_ns3.experiments.given_files import named, place, read_files, told_with_place
from astra_ns3.experiments.jobs.flows import of_tails, on_its_connections
from astra_ns3.experiments.jobs.job import Job, Platform
from astra_ns3.experiments.jobs.job_kinds import (
    idle_system_keys,
    job_of,
    never_stored,
    under_rules,
    unused_remote_memory,
    without_effect,
)
from astra_ns3.experiments.nccl.servers_of_network import (
    as_nccl_asks,
    lets_merge,
    unlike_groups,
    unlike_network,
    unlike_nics,
    unlike_nodes,
    with_servers,
)
from astra_ns3.experiments.network_parts.packet_graph import Ground
from astra_ns3.experiments.network_parts.planned import (
    as_observed,
    check_durations,
    check_grid,
    endpoint_keys,
    endpoint_model,
    planned_network,
)
from astra_ns3.experiments.network_parts.reduction import with_trees
from astra_ns3.experiments.network_parts.storage import with_storage
from astra_ns3.experiments.options import (
    USUAL,
    Options,
    network_with_options,
    system_with_options,
)
from astra_ns3.experiments.slowdown import check_lasts, checked_slowdown, waits_for_slow
from astra_ns3.frozen import dataclass, field, replace
from astra_ns3.network.api import EndpointModel
from astra_ns3.network.backend_makers import check_backend
from astra_ns3.network.backends import abilities_of
from astra_ns3.network.plan import AnyPlan, NetworkPlan
from astra_ns3.scenario.course import NOTHING, Course
from astra_ns3.scenario.events import Event
from astra_ns3.scenario.paces import check_known, slowed_by_events
from astra_ns3.scenario.scenario import Scenario, Tenancy, tenancy_of
from astra_ns3.scenario.tenant import FilePath, Tenant
from astra_ns3.scenario.times import times_of
from astra_ns3.scenario.waiting_line import Berth
from astra_ns3.topology.builders import graph_as_given
from astra_ns3.topology.graph import Graph
from astra_ns3.topology.npu_lines import bandwidths_along
from astra_ns3.transport.check import ONLY_OWN, check_priority
from astra_ns3.user_code import user_part
from astra_ns3.workload.files.workload_formats import AnyWorkload
from astra_ns3.workload.models.workload import ModelWorkload

__all__ = ["USUAL", "FilePath", "Inputs", "Options", "load_inputs"]


@dataclass(frozen=True)
class Inputs:
    """Inputs of a run; ``job``, its workload, is already scaled."""

    job: Job
    system: SystemConfig
    network: AnyNetwork
    plan: AnyPlan
    """The plan of the network."""
    tenancy: Tenancy
    """Which NPUs of the network play the workload, and from when on."""
    warnings: tuple[str, ...]
    compatibility: Compatibility = OURS
    compat: str = "none"
    """Name of the preset that ``compatibility`` is."""
    asked_to_observe: bool = False
    """Whether a network of ours observes something; what an import of another format observes is for convenience."""
    slowdown: ComputeSlowdown | None = None
    """The slowdown of computations."""
    backend: str = "ns3"
    """Name of the backend that plays it."""
    events: tuple[Event, ...] = ()
    """The network's events; the first of several tenants has them. The plan has the changes that they cause."""
    known_expected: dict[int, ExpectedRun] = field(default_factory=dict, compare=False, repr=False)
    """Results of :meth:`expected`, by passes."""
    inside_share: float = 1.0
    """The share of lines inside nodes that transfers of a model's device reach."""

    @property
    def workload(self) -> AnyWorkload:
        """The workload of the job."""
        return self.job.workload

    @property
    def packets(self) -> NetworkPlan | None:
        """The plan, if messages travel as packets; None if they go by formula."""
        return self.plan.of_packets if abilities_of(self.backend).packets else None

    @property
    def hosts(self) -> int:
        """How many hosts are built, each with its NIC; none where messages go by formula."""
        abilities = abilities_of(self.backend)
        on_graph = self.plan.of_packets is not None and (abilities.packets or abilities.needs_packets)
        return self.graph.hosts if on_graph else 0

    @property
    def platform(self) -> Platform:
        """The system, the grid and the rules that the workload is played on."""
        return _platform(self.system, self.tenancy, self.compatibility, self.inside_share)

    @property
    def graph(self) -> Graph:
        """The graph of the network's plan."""
        return self.plan.graph

    def expected(self, passes: int) -> ExpectedRun:
        """Return the collectives and messages to come; raises InputError for what the system's algorithms can't do."""
        if passes not in self.known_expected:
            self.known_expected[passes] = self.job.expected(self.platform, passes).on(self.tenancy)
        return self.known_expected[passes]


@dataclass(frozen=True)
class Sharing:
    """A tenant on a network that it may share: ``npus_on`` gives its NPUs there (None: all), ``course`` what happens.

    ``beside``: the inputs of another tenant of the same network, whose plan is taken. ``sources``: the scenario's file
    and its table, with whose names messages about them begin. ``seed``: by which the tenant's placement draws.
    ``priorities``: those that any tenant asks for (None: the transport's). ``number``: the tenant's, from 0.
    ``nccl_told``: another tenant plays by NCCL's rules, which told of the network's NICs.
    """

    tenant: Tenant
    npus_on: Callable[[AnyNetwork], Sequence[int] | None]
    beside: Inputs | None
    course: Course = NOTHING
    sources: tuple[str, ...] = ()
    seed: int = 1
    priorities: frozenset[int | None] = ONLY_OWN
    number: int = 0
    nccl_told: bool = False

    @property
    def named(self) -> tuple[str, ...]:
        """With what a message about the scenario begins."""
        return tuple(f"{source}:" for source in self.sources)

    @property
    def of_groups(self) -> str:
        """Return with what an error about the tenant's file of groups begins; empty: it has none of its own."""
        return "" if self.tenant.groups is None else f"{self.tenant.place}: key 'groups'"


def load_inputs(
    workload: FilePath | AnyWorkload,
    system: FilePath | SystemConfig,
    network: FilePath | AnyNetwork,
    options: Options = USUAL,
    *,
    tell: Tell = silent,
    sharing: Sharing | None = None,
) -> Inputs:
    """Read what is given as a path, take what is given as an object, and check that the three fit together.

    ``tell`` hears of what may take long, such as the proof of a user's schedule. ``sharing``: who plays on which NPUs,
    beside whom (None: the run has no others). Raises InputError, which names the file where there is one.
    """
    files = read_files(workload, system, network, options, of_groups="" if sharing is None else sharing.of_groups)
    with files.telling_changes():
        return _load_inputs(files, system, network, options, tell, sharing)


def _load_inputs(
    files: RunFiles,
    system: FilePath | SystemConfig,
    network: FilePath | AnyNetwork,
    options: Options,
    tell: Tell,
    sharing: Sharing | None,
) -> Inputs:
    """Return the inputs of files; ``system`` and ``network`` name two of them."""
    beside, course = (None, NOTHING) if sharing is None else (sharing.beside, sharing.course)
    read_in_job, system_config = job_of(files.workload), system_with_options(files.system, options)
    compat, compatibility = _rules(options, files)
    network_config, tenancy, of_network = _place_of_run(network, files, system_config, options, sharing)
    system_config = _on_servers(system, files, system_config, network_config, tenancy, options, sharing)
    of_npus("report-npu", options.report_npu, len(tenancy.npus))
    job = under_rules(read_in_job.scaled(*options.scales), compatibility)
    share = inside_share(files.network.network, files.workload, files.system)
    platform = _platform(system_config, tenancy, compatibility, share)
    with named(files.system.source, of_its_own=_own_places(job)):
        # Before the graph: it takes long to build, and needs less memory than too large a schedule.
        expected = job.expected(platform, 1, tell)
    with named(network, files.network, of_its_own=() if sharing is None else sharing.named):
        plan, of_plan = _planned(network_config, options, endpoint_model(system_config), sharing)
        check_durations(network_config, expected)
        check_backend(options.backend_name, plan)
        of_plan += _of_priority(sharing, plan, options) + of_tails(files.workload, plan, options.backend_name)
    of_files = *_of_system(system, system_config, network_config), *files.network.warnings
    of_job = [*read_in_job.scaled_apart(*options.scales), *job.warnings(platform)]
    restarts = sharing is not None and sharing.tenant.restart is not None
    slowdown = _slowdown(options, files, tenancy, course, restarts=restarts)
    idle = *idle_system_keys(files.workload, system_config, expected), *unlike_groups(expected.unlike_groups)
    keys = told_with_place(system, [*idle, *waits_for_slow(slowdown, system_config, files.workload)])
    rest = *_unused(files, system_config, options), *keys, *unlike_nodes(files.workload, network_config, tenancy.npus)
    return Inputs(
        job,
        system_config,
        network_config,
        plan,
        tenancy,
        tuple(dict.fromkeys((*of_files, *of_network, *of_plan, *of_job, *rest))),
        compatibility,
        compat,
        network_config.observe.anything and not files.network.imported,
        slowdown,
        options.backend_name,
        course.events(plan.graph) if beside is None else (),
        {1: expected.on(tenancy)},
        share,
    )


def _of_system(given: FilePath | SystemConfig, system: SystemConfig, network: AnyNetwork) -> list[str]:
    return told_with_place(given, [*system.warnings, *unlike_network(system, network)])


def _planned(
    network: AnyNetwork, options: Options, endpoint: EndpointModel, sharing: Sharing | None
) -> tuple[AnyPlan, list[str]]:
    """Return the plan of a network, or that of another tenant on it, and what to warn of."""
    if sharing is None:
        return planned_network(network, options, endpoint, NOTHING, ONLY_OWN)
    if sharing.beside is not None:
        return sharing.beside.plan, []
    return planned_network(network, options, endpoint, sharing.course, sharing.priorities)


def _unused(files: RunFiles, system: SystemConfig, options: Options) -> list[str]:
    workload = files.workload
    of_storage = *unused_remote_memory(workload, system), *never_stored(workload, options.passes)
    keys = system_with_options(files.system, options).unheeded
    if isinstance(workload, ModelWorkload):  # whose uneven all-to-alls and pools are cut in chunks nevertheless
        keys = tuple(key for key in keys if key != "preferred-dataset-splits")
    words = f"without effect beside 'collectives: nccl', which decides itself: {', '.join(map(repr, keys))}"
    return [*without_effect(workload, options), *of_storage, *([words] if keys else [])]


def _rules(options: Options, files: RunFiles) -> tuple[str, Compatibility]:
    compat = files.network.compat if options.compat == "none" and files.network.compat else options.compat
    return compat, preset(compat)


def _of_priority(sharing: Sharing | None, plan: AnyPlan, options: Options) -> list[str]:
    """Return what to warn of about a tenant's priority; raises InputError where there are no priorities."""
    if sharing is None or sharing.tenant.priority is None:
        return []
    tenant, priority = sharing.tenant, sharing.tenant.priority
    with located(tenant.place):
        packets = plan.of_packets if abilities_of(options.backend).packets else None
        if packets is None:
            raise wrong(f"priority {priority} has no meaning on the backend {options.backend_name}, expected ns3")
        return [f"{tenant.place}: {words}" for words in check_priority(priority, packets.outline, packets.transports)]


def _slowdown(
    options: Options, files: RunFiles, tenancy: Tenancy, course: Course, *, restarts: bool
) -> ComputeSlowdown | None:
    """Return what makes a tenant's computations longer: its file, its model's device and events.

    ``restarts``: it may begin again, nobody knows when.
    """
    given = checked_slowdown(options.compute_slowdown, len(tenancy.npus))
    on_device = slowdown_on_device(given, files.workload)
    if tenancy.berth is not None:  # no event slows an NPU that it may get
        return on_device
    if tenancy.after is not None:
        check_known(course.stretches, tenancy.name, tenancy.npus, "after")
    if restarts:
        check_lasts(given)
        check_known(course.stretches, tenancy.name, tenancy.npus, "restart")
    return slowed_by_events(on_device, course.stretches, tenancy.npus, tenancy.start_ps)


def _on_servers(
    given: FilePath | SystemConfig,
    files: RunFiles,
    system: SystemConfig,
    network: AnyNetwork,
    tenancy: Tenancy,
    options: Options,
    sharing: Sharing | None,
) -> SystemConfig:
    """Return the system, told its servers where NCCL plays its collectives, trees of switches that reduce, and storage.

    ``given`` names the file.
    """
    plan = None if sharing is None or sharing.beside is None else sharing.beside.plan
    number = 0 if sharing is None else sharing.number
    ground = Ground(network, tenancy, options.backend_name, plan)
    merges = lets_merge(system, network, options.backend_name)
    with named(given):
        placed = with_servers(system, network, tenancy, merges=merges)
        told = with_trees(placed, ground, first_root=number)
    return with_storage(told, files.workload, ground, first_root=number)


def _place_of_run(
    given: FilePath | AnyNetwork,
    files: RunFiles,
    system: SystemConfig,
    options: Options,
    sharing: Sharing | None,
) -> tuple[AnyNetwork, Tenancy, list[str]]:
    """Return the network that is played, who plays on which NPUs, and what to warn of; ``given``: names the file."""
    with named(given) if options.congestion_control is None else nullcontext():
        changed = network_with_options(files.network.network, options)
    with named(given, of_its_own=() if sharing is None else sharing.named):
        reached = network_as_reached(changed, files.workload, system)
        asked = as_nccl_asks(reached, system)
        connected = on_its_connections(asked, files.workload, shares=sharing is not None)
        network, unobserved = as_observed(connected, options)
        tenancy = _tenancy(sharing, network)
        if sharing is not None:
            _check_shares(sharing.tenant, files.network.network, files.workload, system, sharing.beside)
        check_grid(network)
    if sharing is None or not sharing.nccl_told:
        unobserved += unlike_nics(system, network, options.backend_name)
    unobserved += lost_share(files.workload, changed, reached)
    return network, tenancy, [f"{place(given, files.network, words)}{words}" for words in unobserved]


Parts = Sequence[tuple[Inputs, int]]
"""The inputs of each tenant of a run, with how many passes the tenant plays; all on one network."""


def scenario_of(tenants: Sequence[Inputs]) -> Scenario:
    """Return who plays on the network that some inputs share; raises InputError if two have an NPU in common."""
    return Scenario(tenants[0].plan, tuple(inputs.tenancy for inputs in tenants))


def _platform(system: SystemConfig, tenancy: Tenancy, compatibility: Compatibility, inside_share: float) -> Platform:
    return Platform(system, tenancy.dimensions, tenancy.bandwidths, compatibility, inside_share)


def _bandwidths(network: AnyNetwork) -> tuple[float, ...]:
    """Return the bandwidth of each dimension, as far as keys, or lines of a graph in a file, tell them."""
    topology = network.topology if isinstance(network, NetworkConfig) else None
    if len(network.dimensions) == 1 or not isinstance(topology, FileTopology):
        return network.bandwidths
    graph = graph_as_given(topology) if isinstance(topology.content(), PlainGraph) else None
    return (graph and bandwidths_along(graph, network.dimensions)) or network.bandwidths


def _tenancy(sharing: Sharing | None, network: AnyNetwork) -> Tenancy:
    """Return the NPUs of a tenant, or of a run's only one: all of them."""
    grid, bandwidths = network.dimensions, _bandwidths(network)
    if sharing is None:
        return tenancy_of("", None, 0, None, grid, bandwidths)
    tenant, npus = sharing.tenant, sharing.npus_on(network)
    with located(tenant.where):
        found = tenancy_of(tenant.name, npus, tenant.start_ps, tenant.dimensions, grid, bandwidths)
    times = times_of(tenant)
    berth = Berth(tenant.npus, sharing.seed) if tenant.arrives and isinstance(tenant.npus, Placement) else None
    found = replace(found, after=times.after, end_ps=times.end_ps, endless=times.endless, fails_ps=times.fails_ps)
    found = replace(found, berth=berth, restart=tenant.restart, priority=tenant.priority)
    return found if tenant.traffic is None else found.as_traffic


def _check_shares(
    tenant: Tenant, network: AnyNetwork, workload: AnyWorkload, system: SystemConfig, beside: Inputs | None
) -> None:
    """Raise InputError if a tenant asks of the network or its NPUs what others have otherwise."""
    refuse(
        network_as_reached(network, workload, system) != network,
        f"its model, {workload.source}, reaches a share of the rates inside nodes, which all jobs have in common; "
        "expected set: {workload.compute.scale_up_efficiency: 1} in this job",
        tenant.place,
    )
    if beside is not None:
        own, others = endpoint_keys(system), endpoint_keys(beside.system)
        for key, value in own.items():
            refuse(
                value != others[key],
                f"its system has {key} {value}, that of '{beside.tenancy.name}' {others[key]}; expected the same: NPUs "
                "are alike",
                tenant.place,
            )


def _own_places(job: Job) -> tuple[str, ...]:
    """With what a message about the workload begins: its file, or that of a loop of the user's."""
    loop = user_part(getattr(job.workload, "loop", None))
    return (job.source,) if loop is None else (job.source, loop.file)
