"""A network's graph in outline, for whoever judges a transport's numbers against it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from astra_ns3.config.network.packet_network import NetworkConfig
from astra_ns3.frozen import replace
from astra_ns3.topology.graph import Graph, Link
from astra_ns3.topology.pair_delays import longest_delay_ps
from astra_ns3.topology.paths import cut_through_of, longest_path, path, path_links, slowest_path
from astra_ns3.topology.ports import nic_ports
from astra_ns3.topology.routes import RouteTables, shortest_paths
from astra_ns3.transport.network_outline import NetworkOutline, PortOutline, SwitchOutline


def network_outline_of(graph: Graph, slowest: Sequence[Link] | None = None) -> NetworkOutline:
    """The outline of a graph; ``slowest``: the links of a path that takes as long as any, if known."""
    hosts = sorted(set(graph.npu_host))
    if slowest is None:
        tables = shortest_paths(graph)
        slowest = slowest_path(graph, tables, longest_path(graph, tables))
    outline = _outline(graph, len(graph.npu_host), range(graph.switches), hosts, slowest)
    if len({link.delay_ps for link in graph.links}) < 2:
        return outline
    return replace(outline, slower_way_ps=max(longest_delay_ps(graph) - sum(link.delay_ps for link in slowest), 0))


def transport_outlines(
    network: NetworkConfig, graph: Graph, tables: RouteTables | None = None
) -> Mapping[str, NetworkOutline]:
    """By kind, what each of several transports travels over from NPU 0; nothing if there is one transport.

    ``tables``: the routes, if known. Model limits: all NPUs are taken to see what NPU 0 sees.
    """
    npus = _npus_by_transport(network)
    if not npus:
        return {}
    tables = tables or shortest_paths(graph)
    return {kind: _seen_from_first(graph, tables, others) for kind, others in npus.items() if others}


def transport_switches(network: NetworkConfig, graph: Graph, tables: RouteTables) -> Mapping[str, frozenset[int]]:
    """By kind, the switches that each of several transports passes on its way from NPU 0; nothing if there is one."""
    return {
        kind: frozenset(_switches(graph, tables, others))
        for kind, others in _npus_by_transport(network).items()
        if others
    }


def _npus_by_transport(network: NetworkConfig) -> Mapping[str, list[int]]:
    """The NPUs to which NPU 0 has each of several transports."""
    if network.transports is None or len(network.each_transport) == 1:
        return {}
    npus: dict[str, list[int]] = {}
    for transport, others in zip(network.transports, _nearest_others(network.dimensions), strict=True):
        npus.setdefault(transport.kind, []).extend(others)
    return npus


def _switches(graph: Graph, tables: RouteTables, npus: Sequence[int]) -> list[int]:
    """Switches on shortest paths from NPU 0 to others."""
    source = graph.npu_host[0]
    targets = {graph.npu_host[npu] for npu in npus} - {source}
    nodes = {node for target in targets for node in _between(graph, tables, source, target)}
    return sorted(node - graph.hosts for node in nodes if node >= graph.hosts)


def _nearest_others(dimensions: Sequence[int]) -> list[range]:
    """For each dimension, the NPUs that differ from NPU 0 in it and in no higher one."""
    block, found = 1, []
    for size in dimensions:
        found.append(range(block, block * size))
        block *= size
    return found


def _seen_from_first(graph: Graph, tables: RouteTables, npus: Sequence[int]) -> NetworkOutline:
    """The outline of what lies between NPU 0 and others."""
    source = graph.npu_host[0]
    targets = sorted({graph.npu_host[npu] for npu in npus} - {source})
    paths = [path_links(graph, path(graph, tables, source, target)) for target in targets]
    return _outline(
        graph,
        len(npus) + 1,
        _switches(graph, tables, npus),
        [source, *targets],
        max(paths, key=lambda links: (sum(link.delay_ps for link in links), len(links)), default=()),
    )


def _between(graph: Graph, tables: RouteTables, source: int, target: int) -> set[int]:
    """All nodes of the shortest paths from one host to another."""
    found, waiting = {source}, [source]
    while waiting:
        node = waiting.pop()
        for port in tables.towards(node, target) if node != target else ():
            peer = graph.ports[node][port].peer
            if peer not in found:
                found.add(peer)
                waiting.append(peer)
    return found


def _outline(
    graph: Graph, npus: int, switches: Iterable[int], hosts: Iterable[int], slowest: Sequence[Link]
) -> NetworkOutline:
    port_outlines = [port_outline(link) for link in graph.links]
    hosts = list(hosts)
    # What stays inside a server passes none of its NICs.
    outside = nic_ports(graph, hosts) if any(graph.leads_out(link) for link in slowest) else []
    nics = {graph.ports[node][port].link for node, port in outside if node >= graph.hosts}
    outlines: dict[SwitchOutline, None] = {}
    for number in switches:
        ports = tuple(sorted(port_outlines[port.link] for port in graph.ports[graph.hosts + number]))
        outlines[SwitchOutline(graph.switch_configs[number], ports)] = None
    return NetworkOutline(
        npus=npus,
        npus_per_host=max(Counter(graph.npu_host).values(), default=1),
        switches=tuple(outlines),
        host_ports=tuple(sorted({port_outlines[port.link] for host in hosts for port in graph.ports[host]})),
        path=tuple(port_outline(link) for link in slowest),
        nic_buffer_bytes=graph.nic_buffer_bytes,
        cut_through=cut_through_of(graph, slowest),
        shared_nics=tuple(sorted({port_outlines[link] for link in nics})),
    )


def port_outline(link: Link) -> PortOutline:
    """One direction of a link."""
    return PortOutline(link.rate_bps, link.delay_ps, link.error_rate, link.most_rate_bps, link.most_delay_ps)
