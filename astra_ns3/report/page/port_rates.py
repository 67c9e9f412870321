"""The rate of each port, worked out again from the network that run.json holds."""

from __future__ import annotations

from astra_ns3.config.network.packet_network import NetworkConfig
from astra_ns3.report.page.network_of import network_of
from astra_ns3.report.records import Run
from astra_ns3.topology.ports import port_name
from astra_ns3.topology.registry import build_graph


def port_rates(run: Run) -> dict[str, int]:
    """Bits per second by port; nothing if the network can't be told from run.json alone."""
    config = network_of(run.metadata)
    if not isinstance(config, NetworkConfig):
        return {}
    graph = build_graph(config.topology)
    return {
        port_name(graph, node, place): graph.links[port.link].rate_bps
        for node, ports in enumerate(graph.ports)
        for place, port in enumerate(ports)
    }
