"""Turns the plan of a network into the arguments of a native session."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import chain, pairwise

import numpy as np
import numpy.typing as npt

from astra_ns3.config.topology.routing import VALIANT, RoutingConfig
from astra_ns3.config.topology.switch import PfcConfig, SwitchConfig
from astra_ns3.network.credit_lanes import credit_orders
from astra_ns3.network.door.description import Description, NativeValue
from astra_ns3.network.graph_outline import port_outline
from astra_ns3.network.plan import NetworkPlan
from astra_ns3.topology.changes import Epoch, Severed
from astra_ns3.topology.graph import Graph, Link
from astra_ns3.topology.lanes import Orders
from astra_ns3.topology.reducers import helper_players
from astra_ns3.topology.route_differences import epoch_difference
from astra_ns3.topology.routes import RouteTables, pinned_choices
from astra_ns3.transport.credits import next_lanes
from astra_ns3.transport.lossless import largest_frame_bytes, largest_wire_bytes, port_headroom_bytes
from astra_ns3.transport.transport import Transport

QUANTUM_BYTES = 2048
"""The bytes that a priority of weight one may send in its turn (DWRR); above the largest usual frame."""
_NO_PORT, _ANY_PORT = 0xFFFF, 0xFFFE
"""Instead of the number of a port."""
_Numbers = npt.NDArray[np.uint32]


def describe_network(description: Description, plan: NetworkPlan, seed: int) -> None:
    """Fill in hosts, switches, links, routes, NPUs and the transports; ``seed``: the run's."""
    describe_fabric(description, plan, plan.graph, seed)
    transports, graph = plan.transports.values(), plan.graph
    for npus, name in plan.transport_of_dimensions:
        description.add("dimension", {"npus": npus, "transport": name})
    for each in transports:
        description.transport(each.kind, {**each.native(plan.endpoint.delay_ps), **_controls(plan, each.kind)})
    watched = (switch.watchdog_ps for switch in graph.switch_configs)
    by_credit = any(switch.credits is not None for switch in graph.switch_configs)
    if by_credit or any(each.pauses_watched for each in transports):
        description.add("network", {"pauseWatchdogPs": min((limit for limit in watched if limit), default=0)})


def _controls(plan: NetworkPlan, transport: str) -> dict[str, float]:
    """Return what changes of a transport's congestion controls, each change behind a number of its own."""
    found: dict[str, float] = {}
    for number, change in enumerate(each for each in plan.controls if each.transport == transport):
        ends = {"time_ps": change.time_ps, "first_npu": change.first_npu, "last_npu": change.last_npu}
        found |= {f"changed.{number}.{name}": float(value) for name, value in {**ends, **change.numbers}.items()}
    return found


def describe_fabric(
    description: Description, plan: NetworkPlan, graph: Graph, seed: int, *, queues: bool = True
) -> None:
    """Fill in all but the transports; ``graph``: that of the plan, or one that differs in its switches' numbers.

    Without ``queues`` switches look at flows.
    """
    config, transports = plan.config, plan.transports.values()
    values: dict[str, NativeValue] = {
        "hosts": graph.hosts,
        "nicBufferBytes": graph.nic_buffer_bytes or 0,
        "timeRoundingPs": plan.time_rounding_ps,
        "hostOfNpu": _numbers([*graph.npu_host, *helper_players(graph)]),
        "reducers": len(helper_players(graph)),
        "switches": _switches(description, graph, transports),
        "links": _links(description, graph, largest_wire_bytes(transports), credit_orders(plan)),
        "nodeNames": _numbers(graph.node_ids or range(graph.nodes)),
    }
    description.add("network", values)
    _describe_routes(description, plan.tables)
    _describe_changes(description, plan)
    routing = config.topology.routing
    murmur = any(each.port_of_message for each in transports)
    _describe_routing(description, graph, plan.tables, routing, seed, murmur=murmur, queues=queues)
    description.endpoint(plan.endpoint)
    description.add("local", {"rateBps": graph.local.rate_bps, "delayPs": graph.local.delay_ps})


def _numbers(values: object) -> _Numbers:
    return np.ascontiguousarray(values, dtype=np.uint32)


def _switches(description: Description, graph: Graph, transports: Collection[Transport]) -> _Numbers:
    """Describe each kind of switch once; the kind of each switch."""
    at_enqueue = all(each.marks_at_enqueue for each in transports)
    kinds: dict[int, int] = {}
    for config in graph.switch_configs:
        if id(config) not in kinds:
            kinds[id(config)] = len(kinds)
            _describe_switch(description, config, _credit_values(config, transports), at_enqueue)
    return _numbers([kinds[id(config)] for config in graph.switch_configs])


def _credit_values(config: SwitchConfig, transports: Collection[Transport]) -> dict[str, NativeValue]:
    """Return the numbers of the credit that a switch gives, if it does."""
    if config.credits is None:
        return {}
    return {
        "creditBytes": config.credits.bytes_,
        "creditLargestBytes": largest_frame_bytes(transports),
        "creditUpdatePs": config.credits.update_ps,
        "nextLanes": _numbers(next_lanes(transports, config.credits.lanes)),
    }


def _describe_switch(
    description: Description, config: SwitchConfig, credit_values: dict[str, NativeValue], at_enqueue: bool
) -> None:
    """Numbers of a switch; ``at_enqueue``: when frames are marked unless the file says."""
    values: dict[str, NativeValue] = {"bufferBytes": config.buffer_bytes, "alpha": config.alpha or 0.0, **credit_values}
    values["cutThroughBytes"] = config.cut_through_bytes or 0
    if config.pfc is not None:
        values["losslessPriorities"] = sum(1 << priority for priority in config.pfc.priorities)
        values["reserveBytes"] = config.pfc.reserve_bytes
        values["resumeOffsetBytes"] = config.pfc.resume_offset_bytes
    if config.scheduler.weights:
        values["quantumBytes"] = _numbers([weight * QUANTUM_BYTES for weight in config.scheduler.weights])
    description.add("switchKind", values)
    for entry in config.marking:
        marking = {
            "rateBps": getattr(entry, "rate_bps", 0),
            "kminBytes": entry.kmin_bytes,
            "kmaxBytes": entry.kmax_bytes,
            "pmax": entry.pmax,
            "atEnqueue": at_enqueue if entry.at is None else entry.at == "enqueue",
        }
        description.add("marking", marking)


def _links(description: Description, graph: Graph, largest_wire_bytes: int, orders: Orders) -> _Numbers:
    """Describe each kind of link once; the nodes and the kind of each link, shape ``(links, 3)``."""
    switch_of = [None] * graph.hosts + [*graph.switch_configs]
    kinds: dict[tuple[float, ...], int] = {}
    found = []
    for number, link in enumerate(graph.links):
        near, far = switch_of[link.a], switch_of[link.b]
        by_credit = any(each is not None and each.credits is not None for each in (near, far))
        order = tuple(orders[number].tolist()) if by_credit else (0, 0)
        own = _own_port(graph, link, link.a), _own_port(graph, link, link.b)
        most = link.most_rate_bps, link.most_delay_ps
        key = (*most, link.rate_bps, link.delay_ps, link.error_rate, id(near), id(far), *order, *own)
        kind = kinds.get(key)
        if kind is None:
            kind = kinds[key] = len(kinds)
            values = _link_values(link, near, far, largest_wire_bytes)
            values |= {"creditOrder": order[0], "farCreditOrder": order[1]}
            description.add("linkKind", {**values, "ownPort": own[0], "farOwnPort": own[1]})
        found.append((link.a, link.b, kind))
    return _numbers(found)


def _own_port(graph: Graph, link: Link, node: int) -> int:
    """Return by which port of a node those control packets come that its port to a link sends first, as a NIC would.

    A shared NIC has those of its whole server, the router of a host those of the host.
    """
    if node in graph.injection_ports:
        return graph.injection_ports[node]
    is_nic = node >= graph.hosts and graph.leads_out(link) and not graph.is_outside(node)
    return _ANY_PORT if is_nic else _NO_PORT


def _link_values(
    link: Link, near: SwitchConfig | None, far: SwitchConfig | None, largest_wire_bytes: int
) -> dict[str, NativeValue]:
    values: dict[str, NativeValue] = {"rateBps": link.rate_bps, "delayPs": link.delay_ps, "errorRate": link.error_rate}
    outline = port_outline(link)
    if near is not None and near.pfc is not None:
        values["headroomBytes"] = port_headroom_bytes(near.pfc, outline, largest_wire_bytes)
        values["pfcAlpha"] = near.pfc.alpha_of(link.rate_bps)
    if far is not None and far.pfc is not None:
        values["farHeadroomBytes"] = port_headroom_bytes(far.pfc, outline, largest_wire_bytes)
        values["farPfcAlpha"] = far.pfc.alpha_of(link.rate_bps)
    return values


class _Tables:
    """Rows of a node and its arrays, of which each is handed over once, however many nodes have it."""

    def __init__(self) -> None:
        self._places: dict[int, int] = {}
        self._arrays: list[_Numbers] = []
        self._rows: list[tuple[int, ...]] = []

    def add(self, node: int, *arrays: _Numbers) -> None:
        """A row; the arrays must live until all are handed over."""
        self._rows.append((node, *(self._place(array) for array in arrays)))

    def values(self) -> dict[str, NativeValue]:
        """Return the native description."""
        return {
            "numbers": np.concatenate(self._arrays) if self._arrays else _numbers([]),
            "offsets": _numbers(np.cumsum([0, *map(len, self._arrays)])),
            "tables": _numbers(self._rows),
        }

    def _place(self, array: _Numbers) -> int:
        found = self._places.get(id(array))
        if found is None:
            found = self._places[id(array)] = len(self._arrays)
            self._arrays.append(array)
        return found


def _describe_routes(description: Description, tables: RouteTables) -> None:
    found = _Tables()
    for node, of in enumerate((*tables.hosts, *tables.switches)):
        if of is not None:
            found.add(node, of.set_of_group, of.set_offsets, of.set_ports, of.local_hosts, of.local_ports)
    description.add("routes", {"groupOfHost": tables.group_of_host, **found.values()})


def _describe_changes(description: Description, plan: NetworkPlan) -> None:
    """Return the differences of each epoch from the one before; the first differs from the network as it is built."""
    if not plan.changes:
        return
    built = Epoch(0, plan.graph, plan.tables, Severed(0, ()))
    for before, after in pairwise(chain([built], plan.epochs())):
        different = epoch_difference(before, after)
        links, found = different.links, _Tables()
        for of in different.routes:
            found.add(of.node, of.groups, of.sets, of.set_offsets, of.set_ports, of.local_hosts, of.local_ports)
        marked = different.markings
        if len(links.links) or different.routes or len(marked.nodes) or different.switches:
            values: dict[str, NativeValue] = {
                "timePs": different.time_ps,
                "links": links.links,
                "up": links.up,
                "silent": links.silent,
                "ratesBps": links.rates_bps,
                "delaysPs": links.delays_ps,
                "errorRates": links.error_rates,
                "storms": links.storms,
                "markedNodes": marked.nodes,
                "markedPorts": marked.ports,
                "kminBytes": marked.kmin_bytes,
                "kmaxBytes": marked.kmax_bytes,
                "pmax": marked.pmax,
            }
            memories = _memories(plan, after.graph, different.switches)
            description.add("change", {**values, **memories, **found.values()})


def _memories(plan: NetworkPlan, present: Graph, switches: Sequence[int]) -> dict[str, NativeValue]:
    """Return what the memories of some switches are, and what PFC keeps there for each port as it was built."""
    largest, graph = largest_wire_bytes(plan.transports.values()), plan.graph
    headrooms, alphas, counts = list[int](), list[float](), list[int]()
    configs = [present.switch_configs[number] for number in switches]
    for number, config in zip(switches, configs, strict=True):
        ports = [] if config.pfc is None else graph.ports[graph.hosts + number]
        counts.append(len(ports))
        for port in ports:
            assert config.pfc is not None
            link = graph.links[port.link]
            headrooms.append(port_headroom_bytes(config.pfc, port_outline(link), largest))
            alphas.append(config.pfc.alpha_of(link.rate_bps))
    pfcs = [config.pfc or PfcConfig() for config in configs]
    return {
        "bufferNodes": _numbers([graph.hosts + number for number in switches]),
        "bufferBytes": np.array([config.buffer_bytes for config in configs], dtype=np.int64),
        "reserveBytes": np.array([pfc.reserve_bytes for pfc in pfcs], dtype=np.int64),
        "resumeOffsetBytes": np.array([pfc.resume_offset_bytes for pfc in pfcs], dtype=np.int64),
        "bufferPorts": _numbers(counts),
        "headroomBytes": np.array(headrooms, dtype=np.int64),
        "pfcAlphas": np.array(alphas, dtype=np.float64),
    }


def _describe_routing(
    description: Description,
    graph: Graph,
    tables: RouteTables,
    routing: RoutingConfig,
    run_seed: int,
    *,
    murmur: bool,
    queues: bool,
) -> None:
    words = {"ecmp": "murmur" if murmur else "flow-hash", "adaptive": "load", "pinned": "pin", VALIANT: "detour"}
    values: dict[str, NativeValue] = {
        "kind": words.get(routing.kind, routing.kind),
        "random": routing.spray == "random",
        "seed": routing.hash_seed(run_seed),
        "flowletGapPs": routing.gap_ps,
        "countsFlows": not queues,
    }
    description.add("routing", values)
    for pin in routing.pins:
        choices = _numbers(pinned_choices(graph, tables, pin.sender, pin.receiver, pin.path))
        ends = {"fromHost": graph.npu_host[pin.sender], "toHost": graph.npu_host[pin.receiver]}
        description.add("pin", {**ends, "choices": choices})
