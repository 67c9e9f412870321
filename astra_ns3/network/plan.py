"""One network plan: all that a network file comes to, worked out once and given to whoever needs it.

Validation, forecasts, pictures and every backend take it, so that the graph is built and the paths found once a run.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass
from functools import cached_property

from astra_ns3.config.network.packet_network import NetworkConfig, Observe
from astra_ns3.config.topology.switch import SwitchConfig
from astra_ns3.network.api import EndpointModel
from astra_ns3.network.grid import NpuGrid, npu_grid
from astra_ns3.network.outline import network_shape, port_shape, transport_shapes
from astra_ns3.topology.graph import Graph, Link
from astra_ns3.topology.paths import longest_path
from astra_ns3.topology.registry import build_graph
from astra_ns3.topology.routes import RouteTables, shortest_paths
from astra_ns3.transport.marking import is_open, with_marking
from astra_ns3.transport.network_outline import NetworkShape, PortShape, SwitchShape
from astra_ns3.transport.roce import RoceParameters, base_round_trip_ps, roce_frames, roce_line, roce_parameters
from astra_ns3.transport.tcp import TcpParameters, tcp_parameters
from astra_ns3.transport.tcp import base_round_trip_ps as tcp_round_trip_ps


@dataclass(frozen=True, eq=False)
class NetworkPlan:
    """A network with every number in force.

    ``graph``: its switches have the marking in force. ``tables``: the routes as ``topology.routing`` asks for them.
    ``longest``: the links of a longest shortest path. ``endpoint``: what NPUs spend on messages. ``shape``: the outline
    of all of it; ``shapes``: by kind of transport what that travels over, where there are two. ``tcp``, ``roce``: the
    numbers of a transport that is used.
    """

    config: NetworkConfig
    graph: Graph
    tables: RouteTables
    longest: tuple[Link, ...]
    endpoint: EndpointModel
    shape: NetworkShape
    shapes: Mapping[str, NetworkShape]
    tcp: TcpParameters | None
    roce: RoceParameters | None

    @property
    def transports(self) -> tuple[tuple[int, str], ...]:
        """NPUs along each dimension, the innermost first, with the transport between those that differ in it."""
        if self.config.transports is None:
            return ((len(self.graph.rank_host), self.config.transport.kind),)
        kinds = (transport.kind for transport in self.config.transports)
        return tuple(zip(self.config.dimensions, kinds, strict=True))

    @property
    def observe(self) -> Observe:
        """What is recorded of ports, connections and queue pairs while a run goes on."""
        return self.config.observe

    @cached_property
    def grid(self) -> NpuGrid:
        """What the analytical backends play instead; raises InputError for a topology that has no such grid."""
        return npu_grid(self.config, self.graph, self.longest)

    def shape_of(self, kind: str) -> NetworkShape:
        """What a transport travels over."""
        return self.shapes.get(kind, self.shape)


def plan_network(config: NetworkConfig, endpoint: EndpointModel | None = None) -> NetworkPlan:
    """Build the graph, find the routes, fill in what the file left open; by default NPUs spend nothing on messages.

    Raises InputError if the topology or a number is impossible.
    """
    graph = build_graph(config.topology)
    tables = shortest_paths(graph, weighted=config.topology.routing.weighted)
    longest = longest_path(graph, tables)
    outline = network_shape(graph, longest)
    shapes = transport_shapes(config, graph, tables)
    marked = _with_marking(config, graph, shapes.get("roce", outline))
    if marked is not graph:
        graph, outline = marked, network_shape(marked, longest)
        shapes = transport_shapes(config, graph, tables)
    roce = config.roce
    return NetworkPlan(
        config=config,
        graph=graph,
        tables=tables,
        longest=longest,
        endpoint=endpoint or EndpointModel(),
        shape=outline,
        shapes=shapes,
        tcp=None if config.tcp is None else tcp_parameters(config.tcp),
        roce=None if roce is None else roce_parameters(roce, roce_line(roce, shapes.get("roce", outline))),
    )


def _with_marking(config: NetworkConfig, graph: Graph, shape: NetworkShape) -> Graph:
    """The graph with the thresholds that the file leaves open; the same graph if it leaves none."""
    if not any(is_open(config, switch) or switch.ecn == "off" for switch in graph.switch_configs):
        return graph
    round_trip_ps = _round_trip_ps(config, shape)
    ports = [port_shape(link) for link in graph.links]
    made: dict[tuple[int, tuple[PortShape, ...]], SwitchConfig] = {}
    found: list[SwitchConfig] = []
    for number, switch in enumerate(graph.switch_configs):
        own = tuple(sorted(ports[port.link] for port in graph.ports[graph.hosts + number]))
        key = id(switch), own
        if key not in made:
            made[key] = switch
            if switch.ecn == "off":
                made[key] = switch.model_copy(update={"ecn": None})
            elif is_open(config, switch):
                made[key] = with_marking(config, SwitchShape(switch, own), round_trip_ps)
        found.append(made[key])
    marked = copy(graph)  # with all that it has already worked out of its links
    object.__setattr__(marked, "switch_configs", tuple(found))
    return marked


def _round_trip_ps(config: NetworkConfig, shape: NetworkShape) -> int:
    if config.roce is not None:
        return base_round_trip_ps(roce_frames(config.roce), shape)
    assert config.tcp is not None
    return tcp_round_trip_ps(tcp_parameters(config.tcp), shape)
