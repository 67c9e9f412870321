"""The plan of a run's network, what is observed of it, and the checks that need no workload."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from astra_ns3.config.network.analytical_network import AnalyticalNetwork
from astra_ns3.config.network.file import AnyNetwork
from astra_ns3.config.network.packet_network import NetworkConfig, Observe
from astra_ns3.config.system import SystemConfig
from astra_ns3.config.topology.routing import PARTING
from astra_ns3.config.transports.roce import RoceTransport
from astra_ns3.errors import located, refuse
from astra_ns3.experiments.forecasting.costs import BYTES_PER_NPU
from astra_ns3.experiments.forecasting.expected import ExpectedRun
from astra_ns3.experiments.network_parts.formula_lines import formula_warnings
from astra_ns3.experiments.options import Options
from astra_ns3.frozen import replace
from astra_ns3.memory import require_memory
from astra_ns3.network.api import EndpointModel
from astra_ns3.network.backends import abilities_of
from astra_ns3.network.credit_lanes import check_detours, check_lanes, credits_of
from astra_ns3.network.graph_outline import port_outline
from astra_ns3.network.later_lines import later_line_warnings
from astra_ns3.network.plan import AnyPlan, NetworkPlan, plan_network
from astra_ns3.scenario.controls import control_changes
from astra_ns3.scenario.course import Course
from astra_ns3.scenario.events import Event, check_switches, event_at
from astra_ns3.topology.changes import states_in_time, switches_in_time
from astra_ns3.topology.checks import check_topology, idle_routing, unequal_ways
from astra_ns3.topology.graph import Graph
from astra_ns3.topology.ports import resolve_ports
from astra_ns3.transport.check import check_transports
from astra_ns3.transport.credits import check_credits, credit_warnings
from astra_ns3.transport.lossless import check_switch
from astra_ns3.transport.network_outline import SwitchOutline
from astra_ns3.units import LARGEST_INTEGER, PS_PER_NS, format_bytes, format_time

RENDEZVOUS_BYTES = 8192
"""Size of a receiver's invitation in the rendezvous protocol (ASTRA-sim 1.0)."""


_KEEPING_PORTS = (
    "transport.ecmp: per-message-port: a queue pair keeps its port, so all messages of two NPUs take one path; "
    "queue_pairs: per-message gives each message its own"
)
_SHORT_OF_HEADROOM = (
    "buffers of switches have no room for pfc's headroom at the highest rates and longest delays that events give: "
    "frames may be lost then; raise topology.switch.buffer"
)


def as_observed(network: AnyNetwork, options: Options) -> tuple[AnyNetwork, list[str]]:
    """Return the network that is played, and warnings: a backend without packets can observe little."""
    abilities = abilities_of(options.backend)
    if not isinstance(network, NetworkConfig):
        return network, []
    idle = network.observe.idle_intervals
    unasked = [f"key 'observe': without effect: {', '.join(idle)}"] if idle else []
    if abilities.packets:
        return network, unasked
    without = {key: value for key, value in Observe() if key not in abilities.fills and not key.endswith("interval_ps")}
    found = network.observe.model_copy(update=without)
    if found == network.observe:
        return network, unasked
    names = " and ".join(sorted(abilities.fills.intersection(Observe.model_fields)))
    on = f"with the backend {options.backend}, but for {names}: it" if names else "on the analytical network, which"
    words = f"key 'observe': without effect {on} has no connections, queues or packets"
    sampled = "utilisation_interval_ps" if found.utilisation else ""
    unsampled = {key: value for key, value in Observe() if key.endswith("interval_ps") and key != sampled}
    return network.model_copy(update={"observe": found.model_copy(update=unsampled)}), [*unasked, words]


def check_grid(network: AnyNetwork) -> None:
    """Raise InputError if an analytical network, which has no graph to be refused, has too many NPUs."""
    if isinstance(network, AnalyticalNetwork):
        require_memory(f"a network of {network.npus} NPUs", network.npus * BYTES_PER_NPU, "use fewer NPUs")


def check_durations(network: AnyNetwork, expected: ExpectedRun) -> None:
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


def planned_network(
    network: AnyNetwork, options: Options, endpoint: EndpointModel, course: Course, priorities: frozenset[int | None]
) -> tuple[AnyPlan, list[str]]:
    """Return the plan of a network, and what to warn of. Raises InputError for what can't be played."""
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
    routing = network.topology.routing
    abilities = abilities_of(options.backend)
    unchosen = _unchosen(plan) if abilities.needs_packets else []
    if not abilities.packets:  # all that follows is of packets
        ways = unequal_ways(graph, plan.tables) if abilities.needs_packets and routing.shares_evenly else []
        words = f"error_rate of links: without effect with the backend {options.backend}, on which nothing is lost"
        return plan, [
            *ways,
            *unchosen,
            *[words] * any(link.error_rate for link in graph.links),
            *(_unheeded(plan) if abilities.needs_packets else ()),
            *formula_warnings(plan, options.backend_name),
        ]
    _check_memories(course.given, plan)
    tables, evenly = None if routing.weighted else plan.tables, routing.shares_evenly
    wires = check_topology(graph, *plan.outermost.wire_sizes, shares_evenly=evenly, tables=tables, slowest=plan.slowest)
    checked = check_transports(network, plan.outline, plan.transports, priorities)
    later = [*[_SHORT_OF_HEADROOM] * plan.lacks_headroom, *_later_credits(plan), *later_line_warnings(plan)]
    return plan, [*wires, *unchosen, *checked, *later, *check_lanes(plan)]


def _unchosen(plan: NetworkPlan) -> list[str]:
    """Return warnings of keys that choose ways where there is no choice, or always the same."""
    transports = [each for each in plan.config.each_transport if isinstance(each, RoceTransport)]
    hashed = plan.tables.branch and plan.config.topology.routing.kind not in PARTING
    keeping = [_KEEPING_PORTS] * (hashed and any(each.keeps_ports for each in transports))
    if plan.changes:
        return keeping
    choosing = ["transport.reliability.new_path_after"] * any(each.reliability.new_path_after for each in transports)
    choosing += ["transport.ecmp"] * any(each.ecmp == "per-message-port" for each in transports)
    return [*keeping, *idle_routing(plan.config.topology.routing, choosing, plan.graph, plan.tables)]


def _unheeded(plan: NetworkPlan) -> list[str]:
    """Return warnings of what limits packets and not flows; raises InputError for credits as with packets."""
    list(check_lanes(plan))  # flows never wait for each other in a circle
    slow, held = [*check_credits(plan.transports.values(), plan.outline), *_later_credits(plan)], list[str]()
    for each in (each for each in plan.transports.values() if each.outline.path):
        slow += each.overtaking(plan.config.topology.routing.kind)
        off = "" if each.flow_errors else "; finish times of flows were -18% to +46% off there (docs/flow.md)"
        held += [f"{words}{off}" for words in each.held_by_windows()]
    return [*(f"{words}; flows know nothing of that: times with packets may be far longer" for words in slow), *held]


def _later_credits(plan: NetworkPlan) -> Iterator[str]:
    """Yield warnings of credits below a round trip's worth of links that events change, each once."""
    told, graph = set[str](), plan.graph
    at_first = {*graph.links}
    for time_ps, present in states_in_time(graph, plan.changes) if credits_of(graph) else ():
        for link in dict.fromkeys(each for each in present.links if each not in at_first):
            for config in (present.switch_configs[end - graph.hosts] for end in (link.a, link.b) if end >= graph.hosts):
                outline = SwitchOutline(config, (port_outline(link),))
                found = [each for each in credit_warnings(plan.transports.values(), outline) if each not in told]
                told.update(found)
                yield from (f"from {format_time(time_ps)} on, {each}" for each in found)


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


def endpoint_keys(system: SystemConfig) -> dict[str, int | str]:
    """Return the keys that :func:`endpoint_model` reads, in words, each with its value."""
    return {
        "endpoint-delay (times injection-scale)": system.scaled_endpoint_delay_ns,
        "reduction-bytes-per-ns (or local-mem-bw)": system.reduction_bytes_per_ns,
        "rendezvous-protocol": "on" if system.rendezvous else "off",
    }


def endpoint_model(system: SystemConfig) -> EndpointModel:
    """Return the delays of NPUs at both ends of a message, from the system file."""
    return EndpointModel(
        delay_ps=system.scaled_endpoint_delay_ns * PS_PER_NS,
        reduction_bytes_per_ns=system.reduction_bytes_per_ns,
        rendezvous_bytes=RENDEZVOUS_BYTES if system.rendezvous else 0,
    )
