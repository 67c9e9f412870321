"""One network plan: all that a network file comes to, worked out once and given to whoever needs it.

Validation, forecasts, pictures and every backend take it, so that the graph is built and the paths found once a run.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import overload

from astra_ns3.config.network.analytical_network import AnalyticalNetwork
from astra_ns3.config.network.file import AnyNetwork
from astra_ns3.config.network.packet_network import NetworkConfig, Observe
from astra_ns3.config.topology.switch import SwitchConfig
from astra_ns3.errors import InputError
from astra_ns3.network.api import EndpointModel
from astra_ns3.network.grid import NpuGrid, npu_grid
from astra_ns3.network.outline import network_shape, port_shape, transport_shapes, transport_switches
from astra_ns3.topology.changes import Change, Epoch, epochs
from astra_ns3.topology.graph import Graph, Link
from astra_ns3.topology.paths import longest_path, slowest_path
from astra_ns3.topology.registry import build_graph
from astra_ns3.topology.routes import RouteTables, shortest_paths
from astra_ns3.transport.marking import is_open, with_marking
from astra_ns3.transport.network_outline import NetworkShape, SwitchShape
from astra_ns3.transport.roce import RoceParameters, base_round_trip_ps, roce_frames, roce_line, roce_parameters
from astra_ns3.transport.tcp import TcpParameters, tcp_parameters
from astra_ns3.transport.tcp import base_round_trip_ps as tcp_round_trip_ps


@dataclass(frozen=True, eq=False)
class NetworkPlan:
    """A network with every number in force.

    ``graph``: its switches have the marking in force. ``tables``: the routes as ``topology.routing`` asks for them.
    ``longest``: the links of a shortest path of most links; ``slowest``: of one that takes as long as any.
    ``changes``: what changes and when; the graph is that before all of them, tables and numbers are those of the first
    epoch. ``endpoint``: what NPUs spend on messages. ``shape``: the outline of all; ``shapes``: by kind of transport
    what that travels over, where there are two. ``tcp``, ``roce``: the numbers of a transport that is used.
    """

    config: NetworkConfig
    graph: Graph
    tables: RouteTables
    longest: tuple[Link, ...]
    slowest: tuple[Link, ...]
    changes: tuple[Change, ...]
    endpoint: EndpointModel
    shape: NetworkShape
    shapes: Mapping[str, NetworkShape]
    tcp: TcpParameters | None
    roce: RoceParameters | None

    @property
    def transports(self) -> tuple[tuple[int, str], ...]:
        """NPUs along each dimension, the innermost first, with the transport between those that differ in it."""
        if self.config.transports is None:
            return ((len(self.graph.npu_host), self.config.transport.kind),)
        kinds = (transport.kind for transport in self.config.transports)
        return tuple(zip(self.config.dimensions, kinds, strict=True))

    @property
    def observe(self) -> Observe:
        """What is recorded of ports, connections and queue pairs while a run goes on."""
        return self.config.observe

    def epochs(self) -> Iterator[Epoch]:
        """The network between its changes, worked out one after the other; see :func:`topology.changes.epochs`."""
        return epochs(self.graph, self.changes, weighted=self.config.topology.routing.weighted)

    @cached_property
    def grid(self) -> NpuGrid:
        """What the analytical backends play instead; raises InputError for a topology that has no such grid."""
        return npu_grid(self.config, self.graph, self.longest)

    def shape_of(self, kind: str) -> NetworkShape:
        """What a transport travels over."""
        return self.shapes.get(kind, self.shape)


@dataclass(frozen=True, eq=False)
class AnalyticalPlan:
    """An analytical network: ``grid``, and what NPUs spend on messages. Its graph is hosts without links."""

    config: AnalyticalNetwork
    endpoint: EndpointModel

    @cached_property
    def graph(self) -> Graph:
        """A host for each NPU, and nothing between them."""
        npus = self.config.npus
        return Graph(npus, 0, (), tuple(range(npus)), ())

    @cached_property
    def grid(self) -> NpuGrid:
        """What is played: all that the file says."""
        return NpuGrid(self.config)


AnyPlan = NetworkPlan | AnalyticalPlan


@overload
def plan_network(
    config: NetworkConfig, endpoint: EndpointModel | None = None, changes: Sequence[Change] = ()
) -> NetworkPlan: ...
@overload
def plan_network(config: AnalyticalNetwork, endpoint: EndpointModel | None = None) -> AnalyticalPlan: ...
@overload
def plan_network(config: AnyNetwork, endpoint: EndpointModel | None = None) -> AnyPlan: ...
def plan_network(config: AnyNetwork, endpoint: EndpointModel | None = None, changes: Sequence[Change] = ()) -> AnyPlan:
    """Build the graph, find the routes, fill in what the file left open; by default NPUs spend nothing on messages.

    Raises InputError if the topology, a number or a change is impossible.
    """
    if isinstance(config, AnalyticalNetwork):
        if changes:
            raise InputError("an analytical network doesn't change: expected no changes, or a network of packets")
        return AnalyticalPlan(config, endpoint or EndpointModel())
    graph = build_graph(config.topology)
    weighted = config.topology.routing.weighted
    tables = _first_tables(graph, changes, weighted) if changes else shortest_paths(graph, weighted=weighted)
    longest = longest_path(graph, tables)
    slowest = slowest_path(graph, tables, longest)
    outline = network_shape(graph, slowest)
    shapes = transport_shapes(config, graph, tables)
    marked = _with_marking(config, graph, tables, outline, shapes)
    if marked is not graph:
        graph, outline = marked, network_shape(marked, slowest)
        shapes = transport_shapes(config, graph, tables)
    roce = config.roce
    return NetworkPlan(
        config=config,
        graph=graph,
        tables=tables,
        longest=longest,
        slowest=slowest,
        changes=tuple(changes),
        endpoint=endpoint or EndpointModel(),
        shape=outline,
        shapes=shapes,
        tcp=None if config.tcp is None else tcp_parameters(config.tcp),
        roce=None if roce is None else roce_parameters(roce, roce_line(roce, shapes.get("roce", outline))),
    )


def _first_tables(graph: Graph, changes: Sequence[Change], weighted: bool) -> RouteTables:
    """The tables of the first epoch, with the groups of all; raises InputError for an impossible change."""
    return next(epochs(graph, changes, weighted=weighted)).tables


def _with_marking(
    config: NetworkConfig, graph: Graph, tables: RouteTables, outline: NetworkShape, shapes: Mapping[str, NetworkShape]
) -> Graph:
    """The graph with the thresholds that the file leaves open; the same graph if it leaves none.

    A switch that only TCP passes has TCP's, all others have RoCE's where there is RoCE.
    """
    if not any(
        is_open(config, switch, kind) or switch.ecn == "off"
        for switch in graph.switch_configs
        for kind in ("tcp", "roce")
    ):
        return graph
    # A switch that NPU 0 doesn't see is taken for what one like it is, RoCE's if both have such.
    seen = transport_switches(config, graph, tables)
    seen_by_tcp = seen.get("tcp", frozenset()) - seen.get("roce", frozenset())
    unseen = set(range(graph.switches)).difference(*seen.values())
    like_tcp = set(shapes["tcp"].switches) - set(shapes["roce"].switches) if {"tcp", "roce"} <= shapes.keys() else set()
    usual = "tcp" if config.roce is None else "roce"
    round_trips = {kind: _round_trip_ps(config, shapes.get(kind, outline), kind) for kind in (usual, *shapes)}
    ports = [port_shape(link) for link in graph.links]
    made: dict[tuple[SwitchShape, str], SwitchConfig] = {}
    found: list[SwitchConfig] = []
    for number, switch in enumerate(graph.switch_configs):
        shape = SwitchShape(switch, tuple(sorted(ports[port.link] for port in graph.ports[graph.hosts + number])))
        only_tcp = number in seen_by_tcp or (number in unseen and shape in like_tcp)
        key = shape, kind = shape, "tcp" if only_tcp else usual
        if key not in made:
            made[key] = switch
            if switch.ecn == "off":
                made[key] = switch.model_copy(update={"ecn": None})
            elif is_open(config, switch, kind):
                made[key] = with_marking(config, shape, round_trips[kind], kind)
        found.append(made[key])
    marked = copy(graph)  # with all that it has already worked out of its links
    object.__setattr__(marked, "switch_configs", tuple(found))
    return marked


def _round_trip_ps(config: NetworkConfig, shape: NetworkShape, kind: str) -> int:
    if kind == "roce":
        assert config.roce is not None
        return base_round_trip_ps(roce_frames(config.roce), shape)
    assert config.tcp is not None
    return tcp_round_trip_ps(tcp_parameters(config.tcp), shape)
