"""How long credit takes to come back on the links of a run."""

from __future__ import annotations

from astra_ns3.config.network.packet_network import NetworkConfig
from astra_ns3.frozen import replace
from astra_ns3.network.graph_outline import port_outline
from astra_ns3.report.network_of import network_of
from astra_ns3.report.own_bytes import full_frame_bytes
from astra_ns3.report.tables import Records
from astra_ns3.topology.builders import build_graph
from astra_ns3.transport.credits import round_trips
from astra_ns3.transport.wire import PREAMBLE_AND_GAP_BYTES


def credit_round_trips(run: Records) -> tuple[float, float]:
    """Return how many times as long as a lane sends all its credit the first of it takes to come back, and with faster
    lines.

    It is that of the link where this is most, 0 without credit; then the same with lines twice as fast.
    """
    network = network_of(run.metadata)
    if not isinstance(network, NetworkConfig):
        return 0, 0
    graph, on_line = build_graph(network.topology), full_frame_bytes(run)
    largest, most = on_line - PREAMBLE_AND_GAP_BYTES, (0.0, 0.0)
    for switch, config in enumerate(graph.switch_configs):
        if config.credits is None:
            continue
        for link in {graph.links[port.link] for port in graph.ports[graph.hosts + switch]}:
            ports = (port_outline(link), port_outline(replace(link, rate_bps=2 * link.rate_bps)))
            now, twice = (round_trips(port, config.credits, largest, on_line) for port in ports)
            most = max(most, (now, twice))
    return most
