"""Turns a configuration into the calls that build a native session."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from astra_ns3.collectives.schedule import Schedule
from astra_ns3.config.routing import RoutingConfig
from astra_ns3.config.switch import PfcConfig, SwitchConfig
from astra_ns3.network.api import EndpointModel
from astra_ns3.network.ns3 import _runtime
from astra_ns3.network.ns3.native_transport import native_roce, native_tcp
from astra_ns3.network.plan import NetworkPlan
from astra_ns3.topology.graph import Graph
from astra_ns3.topology.pins import pinned_choices
from astra_ns3.topology.routes import NodeRoutes, RouteTables
from astra_ns3.transport.lossless import largest_wire_bytes
from astra_ns3.transport.roce import RoceParameters, port_headroom_bytes
from astra_ns3.transport.shape import PortShape

QUANTUM_BYTES = 2048
"""What a weight of one lets a priority send in its turn (DWRR); above the largest usual frame."""
_TRANSPORTS = {"tcp": 0, "roce": 1}


def build_network(session: Any, plan: NetworkPlan, endpoint: EndpointModel, seed: int) -> None:
    """Add hosts, switches, links, routes, NPUs and the transports to a new ``session``; ``seed``: the run's."""
    config, graph, roce = plan.config, plan.graph, plan.roce
    session.AddHosts(graph.hosts)
    session.SetNicBuffer(graph.nic_buffer_bytes or 0)
    if roce is not None and roce.time_rounding_ps:
        session.SetTimeRounding(roce.time_rounding_ps)
    _add_switches(session, graph, at_enqueue=roce is None)
    _add_links(session, graph, largest_wire_bytes(config))
    routing = config.topology.routing
    _set_routes(session, graph, plan.tables)
    _use_routing(session, graph, plan.tables, routing, seed, murmur=roce is not None and roce.port_of_message)
    session.SetNpus(np.array(graph.rank_host, dtype=np.uint32), len(graph.rank_host))
    session.SetLocal(graph.local.rate_bps, graph.local.delay_ps)
    session.SetEndpoint(endpoint.delay_ps, endpoint.reduction_bytes_per_ns)
    if plan.tcp is not None:
        session.UseTcp(native_tcp(plan.tcp))
    if roce is not None:
        _use_roce(session, graph, roce, endpoint.delay_ps)
    if config.transports is not None:
        sizes = np.array(config.dimensions, dtype=np.uint32)
        kinds = np.array([_TRANSPORTS[each.kind] for each in config.transports], dtype=np.uint32)
        session.SetTransports(sizes, kinds, len(sizes))


def _add_switches(session: Any, graph: Graph, *, at_enqueue: bool) -> None:
    made: dict[int, Any] = {}
    for switch, config in enumerate(graph.switch_configs):
        native = made.get(id(config))
        if native is None:
            native = made[id(config)] = _native_switch(config, at_enqueue)
        native.hashSeed = switch
        session.AddSwitch(native)


def _native_switch(config: SwitchConfig, at_enqueue: bool) -> Any:
    """Numbers of a switch; ``at_enqueue``: when frames are marked unless the file says."""
    namespace = _runtime.load()
    native = namespace.SwitchParameters()
    native.bufferBytes = config.buffer_bytes
    native.alpha = config.alpha or 0.0
    for entry in config.marking:
        marking = namespace.MarkingParameters()
        marking.rateBps = getattr(entry, "rate_bps", 0)
        marking.kminBytes, marking.kmaxBytes, marking.pmax = entry.kmin_bytes, entry.kmax_bytes, entry.pmax
        marking.atEnqueue = at_enqueue if entry.at is None else entry.at == "enqueue"
        native.marking.push_back(marking)
    if config.pfc is not None:
        native.losslessPriorities = sum(1 << priority for priority in config.pfc.priorities)
        native.reserveBytes = config.pfc.reserve_bytes
        native.resumeOffsetBytes = config.pfc.resume_offset_bytes
    for weight in config.scheduler.weights or ():
        native.quantumBytes.push_back(weight * QUANTUM_BYTES)
    return native


def _add_links(session: Any, graph: Graph, largest_wire_bytes: int) -> None:
    native = _runtime.load().LinkParameters()
    for link in graph.links:
        native.rateBps, native.delayPs, native.errorRate = link.rate_bps, link.delay_ps, link.error_rate
        near, far = (_pfc_of(graph, node) for node in (link.a, link.b))
        shape = PortShape(link.rate_bps, link.delay_ps)
        if near is not None:
            native.headroomBytes = port_headroom_bytes(near, shape, largest_wire_bytes)
            native.pfcAlpha = near.alpha_of(link.rate_bps)
        if far is not None:
            native.farHeadroomBytes = port_headroom_bytes(far, shape, largest_wire_bytes)
            native.farPfcAlpha = far.alpha_of(link.rate_bps)
        session.AddLink(link.a, link.b, native)


def _pfc_of(graph: Graph, node: int) -> PfcConfig | None:
    return None if node < graph.hosts else graph.switch_configs[node - graph.hosts].pfc


def _set_routes(session: Any, graph: Graph, tables: RouteTables) -> None:
    session.SetHostGroups(tables.group_of_host, graph.hosts)
    for host, routes in enumerate(tables.hosts):
        if routes is not None:
            _set_node_routes(session, host, routes)
    for switch, routes in enumerate(tables.switches):
        _set_node_routes(session, graph.hosts + switch, routes)


def _set_node_routes(session: Any, node: int, routes: NodeRoutes) -> None:
    session.SetGroupRoutes(
        node,
        routes.set_of_group,
        len(routes.set_of_group),
        routes.set_offsets,
        len(routes.set_offsets) - 1,
        _address(routes.set_ports),
        _address(routes.local_hosts),
        _address(routes.local_ports),
        len(routes.local_hosts),
    )


def _address(numbers: npt.NDArray[np.uint32]) -> npt.NDArray[np.uint32]:
    """The array, or one of a single entry in place of an empty one, whose address the bridge doesn't take."""
    return numbers if len(numbers) else np.zeros(1, dtype=np.uint32)


def _use_routing(
    session: Any, graph: Graph, tables: RouteTables, routing: RoutingConfig, run_seed: int, *, murmur: bool
) -> None:
    namespace = _runtime.load()
    native = namespace.RoutingParameters()
    kinds = {
        "ecmp": namespace.ROUTE_BY_FLOW_HASH,
        "spray": namespace.ROUTE_BY_SPRAY,
        "adaptive": namespace.ROUTE_BY_LOAD,
        "flowlet": namespace.ROUTE_BY_FLOWLET,
        "pinned": namespace.ROUTE_BY_PIN,
    }
    native.kind = namespace.ROUTE_BY_MURMUR if murmur and routing.kind == "ecmp" else kinds[routing.kind]
    native.random = routing.spray == "random"
    native.seed = routing.hash_seed(run_seed)
    native.flowletGapPs = routing.gap_ps
    session.UseRouting(native)
    names = np.array(graph.node_ids or range(graph.nodes), dtype=np.uint32)
    session.SetNodeNames(names, len(names))
    for pin in routing.pins:
        choices = np.array(pinned_choices(graph, tables, pin.sender, pin.receiver, pin.path), dtype=np.uint32)
        session.PinPath(graph.rank_host[pin.sender], graph.rank_host[pin.receiver], choices, len(choices))


def _use_roce(session: Any, graph: Graph, parameters: RoceParameters, posting_ps: int) -> None:
    native = native_roce(parameters)
    native.postingPs = posting_ps
    session.UseRoce(native)
    for name, value in parameters.control_parameters.items():
        session.SetRoceControlParameter(name, value)
    if not parameters.own_file:
        session.SetRoceControl(parameters.congestion_control)
    watchdogs = [config.pfc.watchdog_ps for config in graph.switch_configs if config.pfc is not None]
    session.SetPauseWatchdog(min((limit for limit in watchdogs if limit), default=0))


def native_columns(schedule: Schedule) -> npt.NDArray[np.int32]:
    """The eight columns of a schedule one after the other, as ``Session.RegisterSchedule`` takes them.

    Shape ``(8 * messages,)``.
    """
    columns = (
        schedule.sender,
        schedule.receiver,
        schedule.step,
        schedule.first_block,
        schedule.block_count,
        schedule.reduces,
        schedule.wait_step,
        schedule.wait_count,
    )
    return np.concatenate(columns).astype(np.int32)
