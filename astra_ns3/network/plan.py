"""One network plan: all that a network file comes to, worked out once and given to whoever needs it.

Validation, forecasts, pictures and every backend take it, so that the graph is built and the paths found once a run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from functools import cached_property
from typing import overload

from astra_ns3.config.network.analytical_network import AnalyticalNetwork
from astra_ns3.config.network.file import AnyNetwork
from astra_ns3.config.network.packet_network import NetworkConfig, Observe
from astra_ns3.config.topology.routing import VALIANT
from astra_ns3.config.topology.switch import SwitchConfig
from astra_ns3.errors import refuse
from astra_ns3.frozen import dataclass, replace
from astra_ns3.network.api import EndpointModel
from astra_ns3.network.controls import ControlChange
from astra_ns3.network.graph_outline import network_outline_of, port_outline, transport_outlines, transport_switches
from astra_ns3.network.npu_grid import NpuGrid, npu_grid
from astra_ns3.topology.builders import build_graph
from astra_ns3.topology.changes import Change, Epoch, epochs, tables_before, with_most
from astra_ns3.topology.equal_ways import ways_differ
from astra_ns3.topology.files.analytical_grid import nic_lines
from astra_ns3.topology.graph import Graph, Link
from astra_ns3.topology.paths import longest_path, slowest_path
from astra_ns3.topology.reactions import Reaction
from astra_ns3.topology.routes import RouteTables, shortest_paths
from astra_ns3.transport.lossless import holds_lossless, largest_wire_bytes
from astra_ns3.transport.marking import with_marking
from astra_ns3.transport.network_outline import NetworkOutline, SwitchOutline
from astra_ns3.transport.transport import Transport
from astra_ns3.transport.transports import transports_on


@dataclass(frozen=True, eq=False)
class NetworkPlan:
    """A network with every number in force.

    ``graph``: its switches have the marking in force. ``tables``: the routes as ``topology.routing`` asks for them.
    ``longest``: the links of a shortest path of most links; ``slowest``: of one that takes as long as any.
    ``changes``: what changes and when; graph, tables and numbers are those before all of them. ``endpoint``: what NPUs
    spend on messages. ``outline``: that of all. ``transports``: by kind, each with the outline of what it travels over.
    ``reaction``: when turns of links are known; None: everywhere at once. ``controls``: numbers of congestion controls
    that change, and when. ``pair_bytes``: NPUs send each other at most so much while a run lasts; None: nobody knows.
    ``lacks_headroom``: PFC's is for what links have first, since buffers are too small for all that changes give them.
    """

    config: NetworkConfig
    graph: Graph
    tables: RouteTables
    longest: tuple[Link, ...]
    slowest: tuple[Link, ...]
    changes: tuple[Change, ...]
    endpoint: EndpointModel
    outline: NetworkOutline
    transports: Mapping[str, Transport]
    reaction: Reaction | None = None
    controls: tuple[ControlChange, ...] = ()
    pair_bytes: int | None = None
    lacks_headroom: bool = False

    @property
    def transport_of_dimensions(self) -> tuple[tuple[int, str], ...]:
        """NPUs along each dimension, the innermost first, with the transport between those that differ in it."""
        if self.config.transports is None:
            return ((len(self.graph.npu_host), self.config.transport.kind),)
        kinds = (transport.kind for transport in self.config.transports)
        return tuple(zip(self.config.dimensions, kinds, strict=True))

    @property
    def of_packets(self) -> NetworkPlan:
        """The plan of a network of packets."""
        return self

    @property
    def outermost(self) -> Transport:
        """The transport of the outermost dimension."""
        return self.transports[self.config.transport.kind]

    @property
    def time_rounding_ps(self) -> int:
        """Transmission times are multiples of this; 0: exact."""
        return max(each.time_rounding_ps for each in self.transports.values())

    @property
    def observe(self) -> Observe:
        """The records of ports, connections and queue pairs while a run goes on."""
        return self.config.observe

    def epochs(self) -> Iterator[Epoch]:
        """The network between its changes, worked out one after the other; see :func:`topology.changes.epochs`."""
        weighted = self.config.topology.routing.weighted
        return epochs(self.graph, self.changes, weighted=weighted, reaction=self.reaction)

    @cached_property
    def ways_differ(self) -> bool:
        """Whether equal ways between two hosts may have unlike lines; True where that isn't known."""
        return self.config.topology.routing.kind == VALIANT or ways_differ(self.graph, self.tables, self.changes)

    @cached_property
    def grid(self) -> NpuGrid:
        """Return the grid that analytical backends play instead; raises InputError for a topology that has none."""
        return npu_grid(self.config, self.graph, self.longest)

    @cached_property
    def queued_grid(self) -> NpuGrid:
        """Return the grid where messages queue: NPUs that share a NIC share its queue. Raises as :attr:`grid`."""
        return self.grid.sharing(nic_lines(self.config.topology))


@dataclass(frozen=True, eq=False)
class AnalyticalPlan:
    """An analytical network: ``grid``, and what NPUs spend on messages."""

    config: AnalyticalNetwork
    endpoint: EndpointModel

    @property
    def graph(self) -> Graph:
        """The grid's, without links."""
        return self.grid.graph

    @property
    def of_packets(self) -> None:
        """None: there are no packets."""
        return None

    @cached_property
    def grid(self) -> NpuGrid:
        """The network file."""
        return NpuGrid(self.config, reducing=self.config.reducing_switches)

    @property
    def queued_grid(self) -> NpuGrid:
        """The same: all lines are the NPUs' own."""
        return self.grid


AnyPlan = NetworkPlan | AnalyticalPlan


Changes = Sequence[Change] | Callable[[Graph], Sequence[Change]]
"""Changes of a network, or a function that gives them for its graph."""


@overload
def plan_network(
    config: NetworkConfig,
    endpoint: EndpointModel | None = None,
    changes: Changes = (),
    reaction: Reaction | None = None,
) -> NetworkPlan: ...
@overload
def plan_network(config: AnalyticalNetwork, endpoint: EndpointModel | None = None) -> AnalyticalPlan: ...
@overload
def plan_network(config: AnyNetwork, endpoint: EndpointModel | None = None) -> AnyPlan: ...
def plan_network(
    config: AnyNetwork,
    endpoint: EndpointModel | None = None,
    changes: Changes = (),
    reaction: Reaction | None = None,
) -> AnyPlan:
    """Build the graph, find the routes, fill in what the file left open; by default NPUs spend nothing on messages.

    Raises InputError if the topology, a number or a change is impossible.
    """
    if isinstance(config, AnalyticalNetwork):
        refuse(bool(changes), "an analytical network doesn't change: expected no changes, or a network of packets")
        return AnalyticalPlan(config, endpoint or EndpointModel())
    graph = build_graph(config.topology)
    if callable(changes):
        changes = changes(graph)
    weighted = config.topology.routing.weighted
    tables = (
        tables_before(graph, changes, weighted=weighted, reaction=reaction)
        if changes
        else shortest_paths(graph, weighted=weighted)
    )
    most = with_most(graph, changes)
    plan = _plan_of(config, most, tables, endpoint, tuple(changes), reaction)
    if most is not graph and not holds_lossless(plan.transports.values(), plan.outline):
        plan = replace(_plan_of(config, graph, tables, endpoint, tuple(changes), reaction), lacks_headroom=True)
    return plan


def _plan_of(
    config: NetworkConfig,
    graph: Graph,
    tables: RouteTables,
    endpoint: EndpointModel | None,
    changes: tuple[Change, ...],
    reaction: Reaction | None,
) -> NetworkPlan:
    longest = longest_path(graph, tables)
    slowest = slowest_path(graph, tables, longest)
    outline = network_outline_of(graph, slowest)
    transports = transports_on(config, outline, transport_outlines(config, graph, tables))
    marked = _with_marking(config, graph, tables, transports)
    if marked is not graph:
        graph, outline = marked, network_outline_of(marked, slowest)
        transports = transports_on(config, outline, transport_outlines(config, graph, tables))
    return NetworkPlan(
        config=config,
        graph=graph,
        tables=tables,
        longest=longest,
        slowest=slowest,
        changes=changes,
        endpoint=endpoint or EndpointModel(),
        outline=outline,
        transports=transports,
        reaction=reaction,
    )


def _with_marking(
    config: NetworkConfig, graph: Graph, tables: RouteTables, transports: Mapping[str, Transport]
) -> Graph:
    """The graph with the thresholds that the file leaves open; the same graph if it leaves none.

    A switch has those of the last of the transports that pass it.
    """
    ranked = tuple(transports.values())[::-1]
    if not any(
        switch.ecn == "off" or any(each.chooses_marking(switch) for each in ranked) for switch in graph.switch_configs
    ):
        return graph
    # A switch that NPU 0 doesn't see is taken for what one like it is.
    seen = transport_switches(config, graph, tables)
    unseen = set(range(graph.switches)).difference(*seen.values())
    all_see = len(seen) == len(ranked)
    like = {each.kind: frozenset(each.outline.switches if all_see else ()) for each in ranked}
    largest = largest_wire_bytes(ranked)
    ports = [port_outline(link) for link in graph.links]
    made: dict[tuple[SwitchOutline, str], SwitchConfig] = {}
    found: list[SwitchConfig] = []
    for number, switch in enumerate(graph.switch_configs):
        outline = SwitchOutline(switch, tuple(sorted(ports[port.link] for port in graph.ports[graph.hosts + number])))
        passing = (
            each
            for each in ranked
            if number in seen.get(each.kind, ()) or (number in unseen and outline in like[each.kind])
        )
        usual = next(passing, ranked[0])
        key = outline, usual.kind
        if key not in made:
            made[key] = switch
            if switch.ecn == "off":
                made[key] = switch.model_copy(update={"ecn": None})
            elif usual.chooses_marking(switch):
                made[key] = with_marking(outline, usual, largest)
        found.append(made[key])
    marked = copy(graph)  # with all that it has already worked out of its links
    object.__setattr__(marked, "switch_configs", tuple(found))
    return marked
