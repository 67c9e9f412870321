"""A network's transport against the rest of the network, whichever transport it is."""

from __future__ import annotations

from collections.abc import Mapping

from astra_ns3.config.network.packet_network import NetworkConfig
from astra_ns3.transport.lossless import check_lossless, largest_frame_bytes, largest_wire_bytes
from astra_ns3.transport.network_outline import NetworkShape
from astra_ns3.transport.roce_check import check_roce
from astra_ns3.transport.tcp import check_tcp

_OVERTAKING = ("spray", "adaptive", "flowlet")


def check_transport(
    network: NetworkConfig, shape: NetworkShape, parts: Mapping[str, NetworkShape] | None = None
) -> list[str]:
    """Warnings about numbers that can't be meant, each one line; raises InputError for what is impossible.

    ``parts``: what the transport of a kind travels over, where that isn't all of ``shape``.
    """
    seen = {} if parts is None else parts
    warnings: list[str] = []
    check_lossless(network, shape)
    warnings += _cut_through_warnings(network, shape)
    tcp_shape, roce_shape = seen.get("tcp", shape), seen.get("roce", shape)
    # Where all NPUs share one host nothing travels, and there is no path to judge by.
    if network.tcp is not None and tcp_shape.path:
        warnings += check_tcp(network.tcp, tcp_shape)
    if network.roce is not None and roce_shape.path:
        warnings += [*check_roce(network.roce, roce_shape, largest_wire_bytes(network)), *_reordering_warnings(network)]
    return warnings


def _cut_through_warnings(network: NetworkConfig, shape: NetworkShape) -> list[str]:
    """Switches that wait for as many bytes of a frame as the largest has."""
    largest = largest_frame_bytes(network)
    heads = {switch.config.cut_through_bytes or 0 for switch in shape.switches}
    return [
        f"switch.cut_through {head} bytes has no effect: no frame has more than {largest}, so each is stored; lower it"
        for head in sorted(heads)
        if head >= largest
    ]


def _reordering_warnings(network: NetworkConfig) -> list[str]:
    """Routing that lets packets overtake each other, with a reliability that takes that for loss."""
    routing = network.topology.routing.kind
    if network.roce is None or routing not in _OVERTAKING:
        return []
    reliability = network.roce.reliability
    if reliability.kind == "selective-repeat" and (reliability.reordering_packets or routing == "flowlet"):
        return []
    return [
        f"routing {routing} lets packets overtake each other, which {reliability.kind} takes for losses: use "
        "reliability {kind: selective-repeat, reordering_packets: 64}"
    ]
