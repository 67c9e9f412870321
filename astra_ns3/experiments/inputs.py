"""The three files of a run, read, scaled and checked against each other."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import TypeVar

from astra_ns3.collectives.schedule import Tell, silent
from astra_ns3.config.compute_slowdown import ComputeSlowdown
from astra_ns3.config.core.compatibility import OURS, Compatibility, preset
from astra_ns3.config.flow_list import FlowList
from astra_ns3.config.network.analytical_network import AnalyticalNetwork
from astra_ns3.config.network.file import AnyNetwork, NetworkFile, read_network_file
from astra_ns3.config.network.packet_network import NetworkConfig, Observe
from astra_ns3.config.scenario.placement import Placement
from astra_ns3.config.system import SystemConfig
from astra_ns3.errors import InputError, located, of_npus, refuse, wrong
from astra_ns3.experiments.changes.files import FILES
from astra_ns3.experiments.changes.setting import RunFiles, place_of
from astra_ns3.experiments.device import network_as_reached, slowdown_on_device
from astra_ns3.experiments.forecasting.costs import BYTES_PER_NPU
from astra_ns3.experiments.forecasting.expected import ExpectedRun
from astra_ns3.experiments.jobs.flows import system_of_flows
from astra_ns3.experiments.jobs.job import Job, Platform
from astra_ns3.experiments.jobs.job_kinds import (
    JOBS,
    job_of,
    never_stored,
    under_rules,
    unused_remote_memory,
    without_effect,
)
from astra_ns3.experiments.nccl.servers_of_network import as_nccl_asks, lets_merge, with_servers
from astra_ns3.experiments.network_parts.packet_graph import Ground
from astra_ns3.experiments.network_parts.reduction import with_trees
from astra_ns3.experiments.network_parts.storage import with_storage
from astra_ns3.experiments.option import options_of
from astra_ns3.experiments.options import (
    USUAL,
    Options,
    network_with_options,
    system_with_options,
)
from astra_ns3.experiments.slowdown import checked_slowdown
from astra_ns3.frozen import dataclass, field, replace
from astra_ns3.memory import require_memory
from astra_ns3.network.api import EndpointModel
from astra_ns3.network.backend_makers import check_backend
from astra_ns3.network.backends import abilities_of
from astra_ns3.network.credit_lanes import check_detours, check_lanes
from astra_ns3.network.graph_outline import port_outline
from astra_ns3.network.plan import AnyPlan, NetworkPlan, plan_network
from astra_ns3.scenario.controls import control_changes
from astra_ns3.scenario.course import NOTHING, Course
from astra_ns3.scenario.events import Event, check_switches, event_at
from astra_ns3.scenario.paces import check_known, slowed_by_events
from astra_ns3.scenario.scenario import Scenario, Tenancy, tenancy_of
from astra_ns3.scenario.tenant import FilePath, Tenant
from astra_ns3.scenario.times import times_of
from astra_ns3.scenario.waiting_line import Berth
from astra_ns3.system.file import read_system
from astra_ns3.topology.changes import switches_in_time
from astra_ns3.topology.checks import check_topology, unequal_ways
from astra_ns3.topology.graph import Graph
from astra_ns3.topology.ports import resolve_ports
from astra_ns3.transport.check import check_priority, check_transports
from astra_ns3.transport.credits import check_credits
from astra_ns3.transport.lossless import check_switch
from astra_ns3.transport.network_outline import SwitchOutline
from astra_ns3.units import LARGEST_INTEGER, PS_PER_NS, format_bytes
from astra_ns3.user_code import a_kind_of, user_part
from astra_ns3.workload.files.workload_formats import AnyWorkload, read_workload, with_groups
from astra_ns3.workload.models.workload import ModelWorkload

__all__ = ["USUAL", "FilePath", "Inputs", "Options", "load_inputs"]

RENDEZVOUS_BYTES = 8192
"""Size of a receiver's invitation in the rendezvous protocol (ASTRA-sim 1.0)."""


Given = TypeVar("Given")
Read = TypeVar("Read")


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
        return _platform(self.system, self.tenancy, self.compatibility)

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
    ``priorities``: those that any tenant's messages have. ``number``: the tenant's, from 0.
    """

    tenant: Tenant
    npus_on: Callable[[AnyNetwork], Sequence[int] | None]
    beside: Inputs | None
    course: Course = NOTHING
    sources: tuple[str, ...] = ()
    seed: int = 1
    priorities: frozenset[int] = frozenset()
    number: int = 0

    @property
    def named(self) -> tuple[str, ...]:
        """With what a message about the scenario begins."""
        return tuple(f"{source}:" for source in self.sources)


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
    beside, course = (None, NOTHING) if sharing is None else (sharing.beside, sharing.course)
    files = _read_files(workload, system, network, options)
    read_in_job, system_config = job_of(files.workload), system_with_options(files.system, options)
    compat, compatibility = _rules(options, files)
    network_config, tenancy, unobserved = _place_of_run(network, files, system_config, options, sharing)
    system_config = _on_servers((system, network), files, system_config, network_config, tenancy, options, sharing)
    of_npus("report-npu", options.report_npu, len(tenancy.npus))
    job = under_rules(read_in_job.scaled(*options.scales), compatibility)
    platform = _platform(system_config, tenancy, compatibility)
    with _named(system, of_its_own=_own_places(job)):
        # Before the graph: it takes long to build, and needs less memory than too large a schedule.
        expected = job.expected(platform, 1, tell)
    with _named(network, files.network, of_its_own=() if sharing is None else sharing.named):
        plan, of_plan = _network(network_config, options, endpoint_model(system_config), sharing)
        _check_durations(network_config, expected)
        check_backend(options.backend_name, plan)
        of_plan += _of_priority(sharing, plan, options)
    of_files = *_told_with_place(system, system_config.warnings), *files.network.warnings
    of_job = [*read_in_job.scaled_apart(*options.scales), *job.warnings(platform)]
    unused = _unused(files, system_config, options)
    return Inputs(
        job,
        system_config,
        network_config,
        plan,
        tenancy,
        tuple(dict.fromkeys((*of_files, *unobserved, *of_plan, *of_job, *unused))),
        compatibility,
        compat,
        network_config.observe.anything and not files.network.imported,
        _slowdown(options, files, tenancy, course, restarts=sharing is not None and sharing.tenant.restart is not None),
        options.backend_name,
        course.events(plan.graph) if beside is None else (),
        {1: expected.on(tenancy)},
    )


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
        check_known(course.stretches, tenancy.name, tenancy.npus, "restart")
    return slowed_by_events(on_device, course.stretches, tenancy.npus, tenancy.start_ps)


def network_of_run(network: FilePath | AnyNetwork, options: Options) -> AnyNetwork:
    """Return the network that a run names, as its options change it. Raises InputError."""
    nobody = FlowList.of([0], [1], [1], [0])
    files = _read_files(nobody, system_of_flows(None), network, options)
    with _named(network, files.network):
        return network_with_options(files.network.network, options)


def _read_files(
    workload: FilePath | AnyWorkload, system: FilePath | SystemConfig, network: FilePath | AnyNetwork, options: Options
) -> RunFiles:
    """Return the three files with the changes and groups that the options name."""
    _check_paths(options)
    files = RunFiles(
        _given("workload", workload, tuple(JOBS), read_workload),
        _given("system", system, (SystemConfig,), read_system),
        _network_file(network),
        {file: place_of(given, file) for file, given in zip(FILES, (workload, system, network), strict=True)},
        _flags(options),
    ).with_changes(options.changes or {})
    if options.groups is None:
        return files
    return replace(files, workload=with_groups(files.workload, options.groups))


def _on_servers(
    given: tuple[FilePath | SystemConfig, FilePath | AnyNetwork],
    files: RunFiles,
    system: SystemConfig,
    network: AnyNetwork,
    tenancy: Tenancy,
    options: Options,
    sharing: Sharing | None,
) -> SystemConfig:
    """Return the system, told its servers where NCCL plays its collectives, trees of switches that reduce, and storage.

    ``given`` names both files.
    """
    of_system, of_network = given
    plan = None if sharing is None or sharing.beside is None else sharing.beside.plan
    number = 0 if sharing is None else sharing.number
    ground = Ground(network, tenancy, options.backend_name, plan)
    with _named(of_network, files.network):
        merges = lets_merge(system, network, options.backend_name, plan)
    with _named(of_system):
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
    with _named(given) if options.congestion_control is None else nullcontext():
        changed = network_with_options(files.network.network, options)
    with _named(given, of_its_own=() if sharing is None else sharing.named):
        reached = as_nccl_asks(network_as_reached(changed, files.workload, system), system)
        network, unobserved = _observed(reached, options)
        tenancy = _tenancy(sharing, network)
        if sharing is not None:
            _check_shares(sharing.tenant, files.network.network, files.workload, system, sharing.beside)
        _check_grid(network)
    return network, tenancy, [f"{_place(given, files.network, words)}{words}" for words in unobserved]


Parts = Sequence[tuple[Inputs, int]]
"""The inputs of each tenant of a run, with how many passes the tenant plays; all on one network."""


def scenario_of(tenants: Sequence[Inputs]) -> Scenario:
    """Return who plays on the network that some inputs share; raises InputError if two have an NPU in common."""
    return Scenario(tenants[0].plan, tuple(inputs.tenancy for inputs in tenants))


def _platform(system: SystemConfig, tenancy: Tenancy, compatibility: Compatibility) -> Platform:
    return Platform(system, tenancy.dimensions, tenancy.bandwidths, compatibility)


def _tenancy(sharing: Sharing | None, network: AnyNetwork) -> Tenancy:
    """Return the NPUs of a tenant, or of a run's only one: all of them."""
    grid, bandwidths = network.dimensions, network.bandwidths
    if sharing is None:
        return tenancy_of("", None, 0, None, grid, bandwidths)
    tenant, npus = sharing.tenant, sharing.npus_on(network)
    with located(tenant.where):
        found = tenancy_of(tenant.name, npus, tenant.start_ps, tenant.dimensions, grid, bandwidths)
    times = times_of(tenant)
    berth = Berth(tenant.npus, sharing.seed) if tenant.arrives and isinstance(tenant.npus, Placement) else None
    found = replace(found, after=times.after, end_ps=times.end_ps, endless=times.endless, fails_ps=times.fails_ps)
    found = replace(found, berth=berth, priority=tenant.priority)
    return found if tenant.traffic is None else found.as_traffic


def _check_shares(
    tenant: Tenant, network: AnyNetwork, workload: AnyWorkload, system: SystemConfig, beside: Inputs | None
) -> None:
    """Raise InputError if a tenant asks of the network or its NPUs what others have otherwise."""
    refuse(
        network_as_reached(network, workload, system) != network,
        "its model reaches a share of the rates inside nodes only, which tenants have in common; expected "
        "scale_up_efficiency 1",
        tenant.place,
    )
    if beside is not None and endpoint_model(system) != endpoint_model(beside.system):
        raise wrong(
            f"its system has another endpoint delay, reduction or rendezvous than that of '{beside.tenancy.name}', "
            "expected the same: NPUs are alike",
            tenant.place,
        )


def _flags(options: Options) -> dict[str, str]:
    """The command line's word for each option, by its name and by that word without dashes."""
    found: dict[str, str] = {}
    for option in options_of(type(options)):
        for flag in option.flags:
            word = next(name for name in flag.names.split() if name.startswith("--"))
            found |= {option.name: word, word.lstrip("-").replace("-", "_"): word}
    return found


def _own_places(job: Job) -> tuple[str, ...]:
    """With what a message about the workload begins: its file, or that of a loop of the user's."""
    loop = user_part(getattr(job.workload, "loop", None))
    return (job.source,) if loop is None else (job.source, loop.file)


def _network_file(network: FilePath | AnyNetwork) -> NetworkFile:
    """Return the contents of a network file, or a network alone."""
    models: tuple[type[AnyNetwork], ...] = (NetworkConfig, AnalyticalNetwork)
    found = _given("network", network, models, read_network_file)
    return found if isinstance(found, NetworkFile) else NetworkFile(found)


def _observed(network: AnyNetwork, options: Options) -> tuple[AnyNetwork, list[str]]:
    """Return the network that is played, and warnings: a backend without packets can observe little."""
    abilities = abilities_of(options.backend)
    if abilities.packets or not isinstance(network, NetworkConfig):
        return network, []
    without = {key: value for key, value in Observe() if key not in abilities.fills and not key.endswith("interval_ps")}
    found = network.observe.model_copy(update=without)
    if found == network.observe:
        return network, []
    names = " and ".join(sorted(abilities.fills.intersection(Observe.model_fields)))
    on = f"with the backend {options.backend}, but for {names}: it" if names else "on the analytical network, which"
    words = f"key 'observe': without effect {on} has no connections, queues or packets"
    return network.model_copy(update={"observe": found}), [words]


def _place(value: object, file: NetworkFile, words: str) -> str:
    """The file, and the line if it is known, in front of a warning; nothing if ``value`` is no path."""
    return f"{file.place_of(words) or os.fspath(value)}: " if isinstance(value, (str, os.PathLike)) else ""


def _told_with_place(value: object, warnings: Sequence[str]) -> list[str]:
    """Warnings with the file in front, if ``value`` is the path of one."""
    return [f"{os.fspath(value)}: {words}" if isinstance(value, (str, os.PathLike)) else words for words in warnings]


def _check_grid(network: AnyNetwork) -> None:
    """Raise InputError if an analytical network, which has no graph to be refused, has too many NPUs."""
    if isinstance(network, AnalyticalNetwork):
        require_memory(f"a network of {network.npus} NPUs", network.npus * BYTES_PER_NPU, "use fewer NPUs")


# Options that name a file.
_FILES = ("groups", "remote_memory", "logical_topology")


def _check_paths(options: Options) -> None:
    """Raise InputError if an option that names a file is something else."""
    for name in _FILES:
        value = getattr(options, name)
        refuse(
            value is not None and not isinstance(value, (str, os.PathLike)),
            f"{name} is a {type(value).__name__}, expected the path of a file",
        )


def _check_durations(network: AnyNetwork, expected: ExpectedRun) -> None:
    """Raise InputError if a message alone would take longer on an analytical network than 64 bits of picoseconds hold.

    What adds up to as much is refused when the run gets there.
    """
    if not isinstance(network, AnalyticalNetwork):
        return
    fastest = max(network.bandwidths)
    size = max((play.largest_bytes for play in expected.plays), default=0)
    refuse(
        size / fastest * PS_PER_NS > LARGEST_INTEGER,
        f"a message of {format_bytes(size)} takes more than 106 days at {fastest:g} bytes per nanosecond, "
        "beyond which no simulated time goes; use less data, or a higher bandwidth",
    )


def _network(
    network: AnyNetwork, options: Options, endpoint: EndpointModel, sharing: Sharing | None
) -> tuple[AnyPlan, list[str]]:
    """Return the plan of a network, or that of another tenant on it, and what to warn of."""
    if sharing is not None and sharing.beside is not None:
        return sharing.beside.plan, []
    course, priorities = (NOTHING, frozenset[int]()) if sharing is None else (sharing.course, sharing.priorities)
    course.check_heeded(options.backend_name, abilities_of(options.backend).heeds)
    endpoint = course.endpoint(endpoint, network.npus)
    if isinstance(network, AnalyticalNetwork):
        refuse(
            bool(abilities_of(options.backend).needs_packets),
            "describes an analytical network, without packets; add --backend analytical, or name it in a network "
            "file with 'topology: {kind: file, path: ..., switch: {buffer: ...}}', which makes it one of packets",
        )
        return plan_network(network, endpoint), []
    plan = plan_network(network, endpoint, course.changes if course else (), course.reaction)
    graph = plan.graph
    check_switches(course.given, graph)
    check_detours(plan)
    plan = replace(plan, controls=control_changes(course.given, plan))
    refuse(
        len(graph.npu_host) != network.npus, f"the topology places {len(graph.npu_host)} NPUs, expected {network.npus}"
    )
    _check_observed_ports(network.observe, graph)
    weighted = network.topology.routing.weighted
    abilities = abilities_of(options.backend)
    if not abilities.packets:  # all that follows is of packets
        ways = unequal_ways(graph, plan.tables) if abilities.needs_packets and not weighted else []
        words = f"error_rate of links: without effect with the backend {options.backend}, on which nothing is lost"
        return plan, [
            *ways,
            *[words] * any(link.error_rate for link in graph.links),
            *(_credits_unheeded(plan) if abilities.needs_packets else []),
        ]
    _check_memories(course.given, plan)
    tables = None if weighted else plan.tables
    wires = check_topology(graph, *plan.outermost.wire_sizes, weighted=weighted, tables=tables, slowest=plan.slowest)
    return plan, [*wires, *check_transports(network, plan.outline, plan.transports, priorities), *check_lanes(plan)]


def _credits_unheeded(plan: NetworkPlan) -> list[str]:
    """Return warnings of credits that limit packets and not flows; raises InputError as with packets."""
    list(check_lanes(plan))  # flows never wait for each other in a circle
    slow = check_credits(plan.transports.values(), plan.outline)
    return [f"{words}; flows know nothing of that: their times are a lower bound" for words in slow]


def _check_memories(events: Sequence[Event], plan: NetworkPlan) -> None:
    """Raise InputError, which names an event, for a switch that can't have the buffer or the pauses that it gets."""
    graph = plan.graph
    for time_ps, number, config in switches_in_time(graph, plan.changes):
        ports = sorted(port_outline(graph.links[port.link]) for port in graph.ports[graph.hosts + number])
        event = event_at(events, graph, number, time_ps)
        with located("" if event is None else event.where):
            check_switch(SwitchOutline(config, tuple(ports)), plan.transports.values())


def _check_observed_ports(observe: Observe, graph: Graph) -> None:
    """Raise InputError, which names the key, for a port that is to be observed and that the network hasn't."""
    for key in ("queues", "utilisation", "pcap"):
        for position, name in enumerate(getattr(observe, key)):
            with located(f"key 'observe.{key}.{position}'"):
                resolve_ports(graph, (name,))


def endpoint_model(system: SystemConfig) -> EndpointModel:
    """Return the delays of NPUs at both ends of a message, from the system file."""
    return EndpointModel(
        delay_ps=system.scaled_endpoint_delay_ns * PS_PER_NS,
        reduction_bytes_per_ns=system.reduction_bytes_per_ns,
        rendezvous_bytes=RENDEZVOUS_BYTES if system.rendezvous else 0,
    )


def _given(name: str, value: object, models: tuple[type[Given], ...], read: Callable[[FilePath], Read]) -> Given | Read:
    """``value`` itself if it is one of ``models``, else what the file that it names holds."""
    if isinstance(value, (str, os.PathLike)):
        return read(value)
    if not isinstance(value, models):
        names = " or ".join(model.__name__ for model in models)
        made = f", which parse_{name}() makes of a mapping" if isinstance(value, dict) and name != "workload" else ""
        raise wrong(f"{name}: found {a_kind_of(value)}, expected the path of a file or a {names}{made}")
    return value


@contextmanager
def _named(value: object, file: NetworkFile | None = None, *, of_its_own: tuple[str, ...] = ()) -> Iterator[None]:
    """Put the file's name before the message of an InputError, if ``value`` is a path; and the key's line if known.

    A message that begins with one of ``of_its_own`` names another file already.
    """
    try:
        yield
    except InputError as error:
        names_another = str(error).startswith(of_its_own)
        if isinstance(value, (str, os.PathLike)) and not names_another:
            place = None if file is None else file.place_of(str(error))
            raise wrong(str(error), place or os.fspath(value)) from error
        raise
