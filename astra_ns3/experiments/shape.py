"""A network's graph in outline, for whoever judges a transport's numbers against it."""

from __future__ import annotations

from collections import Counter, deque

from astra_ns3.topology.graph import Graph
from astra_ns3.transport.shape import NetworkShape, PortShape, SwitchShape


def network_shape(graph: Graph) -> NetworkShape:
    """The outline of a graph; the path is the one from the first NPU's host to the host farthest from it in links."""
    shapes = [PortShape(link.rate_bps, link.delay_ps, link.error_rate) for link in graph.links]
    switches: dict[SwitchShape, None] = {}
    for number, config in enumerate(graph.switch_configs):
        ports = tuple(sorted(shapes[port.link] for port in graph.ports[graph.hosts + number]))
        switches[SwitchShape(config, ports)] = None
    hosts = {shapes[port.link] for host in set(graph.rank_host) for port in graph.ports[host]}
    return NetworkShape(
        npus=len(graph.rank_host),
        npus_per_host=max(Counter(graph.rank_host).values(), default=1),
        switches=tuple(switches),
        host_ports=tuple(sorted(hosts)),
        path=tuple(shapes[link] for link in _longest_path(graph)),
        nic_buffer_bytes=graph.nic_buffer_bytes,
    )


def _longest_path(graph: Graph) -> list[int]:
    """Links from the first NPU's host to the farthest host, in order; hosts pass nothing on."""
    start = graph.rank_host[0] if graph.rank_host else 0
    link_to: dict[int, tuple[int, int]] = {}
    waiting, farthest = deque([start]), start
    while waiting:
        node = waiting.popleft()
        farthest = node if node < graph.hosts else farthest
        for port in graph.ports[node] if node == start or node >= graph.hosts else ():
            if port.peer != start and port.peer not in link_to:
                link_to[port.peer] = (port.link, node)
                waiting.append(port.peer)
    path: list[int] = []
    while farthest != start:
        link, farthest = link_to[farthest]
        path.append(link)
    return path[::-1]
