"""A network's graph in outline, for whoever judges a transport's numbers against it."""

from __future__ import annotations

from collections import Counter

from astra_ns3.topology.graph import Graph
from astra_ns3.topology.paths import longest_path
from astra_ns3.transport.shape import NetworkShape, PortShape, SwitchShape


def network_shape(graph: Graph) -> NetworkShape:
    """The outline of a graph; the path is one between two NPUs that are as many links apart as any."""
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
        path=tuple(PortShape(link.rate_bps, link.delay_ps, link.error_rate) for link in longest_path(graph)),
        nic_buffer_bytes=graph.nic_buffer_bytes,
    )
