"""Things that can hardly be meant about a network's wires and buffers, whatever is sent over them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from astra_ns3.config.topology.routing import ADAPTIVE, VALIANT, RoutingConfig
from astra_ns3.topology.graph import Graph, Link
from astra_ns3.topology.paths import cut_through_of, longest_path, round_trip_ps, slowest_path
from astra_ns3.topology.ports import node_name
from astra_ns3.topology.routes import RouteTables, shortest_paths
from astra_ns3.units import PS_PER_SECOND, format_bytes, format_rate, format_time


def check_topology(
    graph: Graph,
    packet_wire_bytes: int,
    ack_wire_bytes: int,
    *,
    shares_evenly: bool = True,
    tables: RouteTables | None = None,
    slowest: Sequence[Link] | None = None,
) -> list[str]:
    """Warnings, each one line: equally short ways of unequal rate, switches whose buffer is below rate x round trip.

    ``shares_evenly``: equally short ways get as much traffic. ``tables``, ``slowest``: unweighted routes and a path
    that takes as long as any, if they are known. Raises InputError naming two hosts if NPUs can't reach each other.
    """
    tables = tables or shortest_paths(graph)
    warnings = unequal_ways(graph, tables) if shares_evenly else []
    if slowest is None:
        slowest = slowest_path(graph, tables, longest_path(graph, tables))
    round_trip = round_trip_ps(slowest, packet_wire_bytes, ack_wire_bytes, cut_through_of(graph, slowest))
    return [*warnings, *_small_buffers(graph, round_trip)]


def unequal_ways(graph: Graph, tables: RouteTables) -> list[str]:
    """Return a warning, one line, of the first node with equally short ways of unequal rate; none without one."""
    rates_of = graph.adjacency.rates_bps
    for node in range(graph.nodes):
        routes = tables.hosts[node] if node < graph.hosts else tables.switches[node - graph.hosts]
        if routes is None:
            continue
        rates = rates_of[graph.adjacency.of(node)]
        for begin, end in zip(routes.set_offsets[:-1].tolist(), routes.set_offsets[1:].tolist(), strict=True):
            ways = sorted(set(rates[routes.set_ports[begin:end]].tolist()))
            if len(ways) > 1:
                where = node_name(graph, node)
                return [
                    f"{where} has equally short ways of {format_rate(ways[0])} and {format_rate(ways[-1])} "
                    "(there may be more such) and shares traffic evenly: the slower is the limit; see routing.weighted"
                ]
    return []


def narrows(graph: Graph) -> bool:
    """Return whether some switch may get more from below than its lines up carry, or has neighbours in its own row.

    A switch's row is its distance from the nearest NPU; storage hosts and reducers don't count.
    """
    ports, hosts = graph.adjacency, {*graph.npu_host}
    row, edge = dict.fromkeys(hosts, 0), sorted(hosts)
    for node in edge:  # which grows
        for peer in ports.peers[ports.of(node)].tolist():
            if peer >= graph.hosts and peer not in row:
                row[peer] = row[node] + 1
                edge.append(peer)
    for node in edge[len(hosts) :]:
        up_bps = below_bps = 0
        for peer, rate_bps in zip(ports.peers[ports.of(node)].tolist(), ports.rates_bps[ports.of(node)], strict=True):
            if peer not in row:
                continue
            if row[peer] == row[node]:
                return True
            up_bps, below_bps = (
                up_bps + (row[peer] > row[node]) * rate_bps,
                below_bps + (row[peer] < row[node]) * rate_bps,
            )
        if 0 < up_bps < below_bps:
            return True
    return False


def idle_routing(routing: RoutingConfig, choosing: Iterable[str], graph: Graph, tables: RouteTables) -> list[str]:
    """Return a warning of keys that choose among ways where there is no choice, or weigh equal ones.

    ``choosing``: keys of other parts of the network's file that choose ways, too, by other hashes of a flow.
    """
    choosing = [*choosing]
    own = {"kind": routing.kind != "ecmp", "seed": routing.seed is not None}
    keys = [*(f"topology.routing.{key}" for key, given in own.items() if given), *choosing]
    idle: list[str] = []
    if keys and routing.kind != VALIANT and not tables.branch:
        idle.append(f"{', '.join(keys)} (no two ways between nodes are equally short)")
    elif (
        choosing and routing.kind in ("spray", ADAPTIVE) and all(len(ports) < 2 for ports in graph.ports[: graph.hosts])
    ):
        idle.append(f"{', '.join(choosing)} (with {routing.kind}, no hash chooses a way)")
    if routing.weighted and not unequal_ways(graph, tables):
        idle.append("topology.routing.weighted (equally short ways have equal rates)")
    return [f"without effect: {', '.join(idle)}"] if idle else []


def _small_buffers(graph: Graph, round_trip: int) -> list[str]:
    rates_of = graph.adjacency.rates_bps
    for switch, buffer_bytes in enumerate(graph.switch_buffer_bytes):
        rates = rates_of[graph.adjacency.of(graph.hosts + switch)]
        if len(rates) == 0 or graph.switch_configs[switch].credits is not None:  # nothing is lost there
            continue
        rate = int(rates.max())
        product = rate * round_trip // (8 * PS_PER_SECOND)
        if buffer_bytes < product:
            where = node_name(graph, graph.hosts + switch)
            return [
                f"the buffer of {where}, {format_bytes(buffer_bytes)}, is below the {format_bytes(product)} "
                f"that a port of {format_rate(rate)} sends in one round trip, {format_time(round_trip)}: after a loss "
                "one flow can't use it fully"
            ]
    return []
