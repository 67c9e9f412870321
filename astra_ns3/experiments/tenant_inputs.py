"""The inputs of all tenants of a request, on one plan of their network."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from astra_ns3.collectives.schedule import Tell, silent
from astra_ns3.config.core.forever import FOREVER
from astra_ns3.config.flow_list import FlowList
from astra_ns3.config.flow_stream import FlowStream
from astra_ns3.config.network.analytical_network import AnalyticalNetwork
from astra_ns3.config.network.file import AnyNetwork
from astra_ns3.errors import refuse
from astra_ns3.experiments.forecasting.expected import most_sent
from astra_ns3.experiments.given_files import network_of_run
from astra_ns3.experiments.inputs import Inputs, Parts, Sharing, load_inputs, scenario_of
from astra_ns3.experiments.jobs.flows import FlowsJob, system_of_flows
from astra_ns3.experiments.jobs.job import ProgramsJob
from astra_ns3.experiments.request import RunRequest
from astra_ns3.network.api import EndpointModel
from astra_ns3.network.backends import abilities_of
from astra_ns3.network.flow_rates import meet_in_queues, windows_close
from astra_ns3.network.plan import AnalyticalPlan, AnyPlan, NetworkPlan
from astra_ns3.playing.dry_run.counting import stops_in_each_pass
from astra_ns3.scenario.events import check_not_cut
from astra_ns3.scenario.paces import check_known
from astra_ns3.scenario.placement import drawn_by, placed
from astra_ns3.scenario.scenario import Scenario, waiting_line
from astra_ns3.scenario.shared_lines import sharing
from astra_ns3.scenario.times import times_of
from astra_ns3.scenario.traffic import Traffic, check_beside, check_played, flows_of
from astra_ns3.topology.builders import build_graph
from astra_ns3.topology.graph import Graph
from astra_ns3.units import PS_PER_SECOND

_BITS_PER_BYTE = 8
_MOST_ROWS = 5_000_000
"""Messages that are looked through for what NPUs send each other: some seconds."""
_OF_CHANGES = " as the network changes (by -46% to +68% in 24 drawn pairs)"
"""How far off times are where changes alone keep flows from meeting in queues: docs/flow.md."""


def load_tenants(request: RunRequest, *, tell: Tell = silent) -> tuple[Inputs, ...]:
    """Read and check what each tenant plays; raises InputError, also if two tenants have an NPU in common."""
    found: list[Inputs] = []
    berths, course = _Berths(request), request.course
    priorities = frozenset(None if tenant is None else tenant.priority for tenant, _ in request.parts)
    for number, (tenant, part) in enumerate(request.parts):
        if tenant is not None and tenant.job is not None:
            tenancy = found[-1].tenancy.tried_again(tenant.name, times_of(tenant))
            found.append(replace(found[-1], tenancy=tenancy, events=()))
            continue
        first = found[0] if found else None
        npus_on, sources = partial(berths.of, number), request.scenario_files
        seed = 1 if tenant is None else drawn_by(tenant, request.seed)
        shared = None
        if tenant is not None:
            told = any(each.system.plays_nccl for each in found)
            shared = Sharing(tenant, npus_on, first, course, sources, seed, priorities, len(found), told)
        if first is not None:
            part = replace(part, network=first.network, compat=first.compat)
        if tenant is not None and tenant.traffic is not None:
            part = _with_flows(part, tenant.traffic, first)
        found.append(load_inputs(part.workload, part.system, part.network, part, tell=tell, sharing=shared))
        if tenant is not None and part.passes == FOREVER:
            _check_endless(found[-1], tenant.place)
        if tenant is not None and tenant.arrives:
            _check_anywhere(found[-1], tenant.place)
    _check_streams(request, found)
    found[0] = _on_known_bytes(request, found)
    scenario = scenario_of(found)
    _check_arriving(scenario, request)
    if scenario.changes:
        jobs = {each.name: each.npus for each in scenario.tenants if not each.is_traffic and each.berth is None}
        graph = scenario.plan.graph
        check_not_cut(request.course.events(graph), graph, scenario.changes, jobs)
    of_all = *_of_shared_lines(scenario, request), *_of_failing_npus(scenario, request)
    found[0] = replace(found[0], warnings=(*found[0].warnings, *of_all))
    return tuple(found)


def _on_known_bytes(request: RunRequest, tenants: Sequence[Inputs]) -> Inputs:
    """Return the first tenant's inputs, whose plan knows what NPUs send each other if that opens windows for flows."""
    first, plan = tenants[0], _plan_of_flows(tenants[0].plan, request)
    unknown = any(map(_is_unknown, tenants))
    if plan is None or unknown or any(part.passes == FOREVER for _, part in request.parts) or not windows_close(plan):
        return first
    plays = [play for inputs, passes in parts_of(request, tenants) for play in inputs.expected(passes).plays]
    if sum(play.schedule.messages * len(play.groups) for play in plays) > _MOST_ROWS:
        return first
    return replace(first, plan=replace(plan, pair_bytes=most_sent(plays)))


def _is_unknown(inputs: Inputs) -> bool:
    """Return whether nobody knows exactly what a tenant sends; of lists of flows only about."""
    job = inputs.job
    about = isinstance(job, FlowsJob) or job.endless or inputs.tenancy.restart is not None
    return about or bool(job.unsure(inputs.platform)[0])


def _plan_of_flows(plan: AnyPlan, request: RunRequest) -> NetworkPlan | None:
    """Return the plan if messages travel as flows, else None."""
    abilities = abilities_of(request.backend)
    return None if abilities.packets or not abilities.needs_packets else plan.of_packets


def _of_failing_npus(scenario: Scenario, request: RunRequest) -> list[str]:
    """Return a warning of jobs that begin again after failures, where NPUs fail: these compute on."""
    failures = request.course.failures
    restarting = ((each.job_name, each.restart) for each in scenario.tenants)
    restarts = dict.fromkeys(name for name, restart in restarting if restart is not None and not restart.fails_ps)
    if failures is None or failures.npu is None:
        return []
    words = "only cut its lines, and end no try by themselves; restart.fails does, for faults of an NPU"
    return [f"failures.npu: failures of an NPU of '{name}' {words}" for name in restarts]


def _of_shared_lines(scenario: Scenario, request: RunRequest) -> list[str]:
    """Return a warning of jobs that share lines, where flows there are unlike packets."""
    plan = _plan_of_flows(scenario.plan, request)
    if plan is None or meet_in_queues(plan):
        return []
    pair = sharing(plan, scenario.tenants)
    arrives = any(each.berth is not None for each in scenario.tenants)
    arriving = ["jobs that arrive"] * (arrives and len({each.job_name for each in scenario.tenants}) > 1)
    who = arriving if pair is None else [f"'{pair[0]}' and '{pair[1]}'"]
    why = _OF_CHANGES if meet_in_queues(replace(plan, changes=())) else ""
    words = f"may share lines, where times on flows may be far too long or too short{why}; use --backend ns3"
    return [f"{each} {words}" for each in who]


def _check_arriving(scenario: Scenario, request: RunRequest) -> None:
    """Raise InputError for an event that slows down an NPU of which nobody knows what it will play."""
    name = next((each.name for each in scenario.tenants if each.berth is not None), None)
    line = waiting_line(scenario)
    if name is not None and line is not None:
        check_known(request.course.stretches, name, line.unclaimed, "arrives")


def _check_streams(request: RunRequest, tenants: Sequence[Inputs]) -> None:
    """Raise InputError for flows without end of which too many begin while jobs play."""
    streams = [
        (inputs.job.workload, tenant)
        for inputs, (tenant, _) in zip(tenants, request.parts, strict=True)
        if isinstance(inputs.job.workload, FlowStream) and tenant is not None
    ]
    if not streams:
        return
    jobs = [part for part in parts_of(request, tenants) if not part[0].tenancy.is_traffic]
    least_ps = max(inputs.tenancy.start_ps + _least_ps(inputs, passes) for inputs, passes in jobs)
    for stream, tenant in streams:
        check_beside(stream, max(0, least_ps - tenant.start_ps), tenant.place)


def _least_ps(inputs: Inputs, passes: int) -> int:
    """Return the time that a job takes at least: all its bytes at the rates of its hosts' lines."""
    graph = inputs.graph
    hosts = {graph.npu_host[npu] for npu in inputs.tenancy.npus}
    rate_bps = sum(graph.links[port.link].rate_bps for host in hosts for port in graph.ports[host])
    far = inputs.expected(passes).bytes if len(hosts) == len(inputs.tenancy.npus) else 0
    return round(far * _BITS_PER_BYTE * PS_PER_SECOND / rate_bps) if rate_bps else 0


def _with_flows(part: RunRequest, traffic: Traffic, first: Inputs | None) -> RunRequest:
    """Return a request with the flows of traffic as its workload, and a system as the first tenant's."""
    check_played([traffic], part.backend_name)
    network = network_of_run(part.network, part) if first is None else first.network
    graph = _graph(network) if first is None else first.graph
    flows = flows_of(traffic, graph, part.seed)
    return replace(part, workload=flows, system=system_of_flows(None if first is None else first.system))


class _Berths:
    """The NPUs of all tenants, worked out when the first is asked for: by then the network is known."""

    def __init__(self, request: RunRequest) -> None:
        self._tenants = [tenant for tenant, _ in request.parts if tenant is not None]
        self._seed = request.seed
        self._found: tuple[Sequence[int] | None, ...] = ()

    def of(self, number: int, network: AnyNetwork) -> Sequence[int] | None:
        """Return the NPUs of a tenant; None: all."""
        if not self._found:
            self._found = placed(self._tenants, network.npus, partial(_graph, network), self._seed)
        return self._found[number]


def _graph(network: AnyNetwork) -> Graph:
    if isinstance(network, AnalyticalNetwork):
        return AnalyticalPlan(network, EndpointModel()).graph
    return build_graph(network.topology)


def parts_of(request: RunRequest, tenants: Sequence[Inputs]) -> Parts:
    """Return the inputs of each tenant with how many passes the tenant plays; one, where nobody knows how many.

    Further tries of jobs are left out; :func:`foreseen_tries` has some.
    """
    return [
        (inputs, 1 if part.passes == FOREVER else part.passes)
        for inputs, (_, part) in zip(tenants, request.parts, strict=True)
        if inputs.tenancy.restart_ps is None
    ]


def foreseen_tries(request: RunRequest, tenants: Sequence[Inputs]) -> Parts:
    """Return a try after each failure of which a job's ``restart.fails`` knows beforehand, with the most that it does.

    What jobs do that never fail is in :func:`parts_of`.
    """
    found = []
    tries = 0
    for inputs, (tenant, part) in zip(tenants, request.parts, strict=True):
        tries = 0 if inputs.tenancy.restart_ps is None else tries + 1
        restart = None if tenant is None else tenant.restart
        if restart is not None and 0 < tries <= len(restart.fails_ps):
            job, passes = inputs.job.tried_again(1 if part.passes == FOREVER else part.passes)
            found.append((replace(inputs, job=job, known_expected={}), passes))
    return found


def _check_anywhere(inputs: Inputs, place: str) -> None:
    """Raise InputError for what can't be played on NPUs that are known when it starts only."""
    refuse(
        inputs.system.plays_nccl,
        "arrives, and NCCL plays its collectives, which has to know beforehand which NPUs share a server; expected "
        "algorithms in its system file",
        place,
    )
    refuse(
        isinstance(inputs.workload, FlowList),
        "arrives, and its workload is a list of flows, whose starts are times of its own; expected a training loop, a "
        "model or graphs",
        place,
    )


def _check_endless(inputs: Inputs, place: str) -> None:
    """Raise InputError for a workload that can't be played for ever."""
    job = inputs.job
    refuse(
        not isinstance(job, ProgramsJob),
        "plays for ever, and its workload has no passes and is played once; expected a training loop or a model, or "
        "passes: 1",
        place,
    )
    assert isinstance(job, ProgramsJob)
    refuse(
        not job.programs(inputs.platform, 1).passes_alike,
        "plays for ever, and a loop of your own may tell passes apart; expected a number of passes",
        place,
    )
    refuse(
        not stops_in_each_pass(job.programs(inputs.platform, FOREVER)),
        "plays for ever, and its passes take no time; expected some computation or communication in each",
        place,
    )
