"""What PFC keeps of the switches' memory, for the largest frame that any transport of the network sends."""

from __future__ import annotations

from astra_ns3.config.network import NetworkConfig
from astra_ns3.errors import InputError
from astra_ns3.transport.roce import port_headroom_bytes, roce_parameters
from astra_ns3.transport.shape import NetworkShape, SwitchShape
from astra_ns3.transport.wire import frame_bytes, wire_bytes


def largest_frame_bytes(network: NetworkConfig) -> int:
    """The largest frame that any transport sends, as a buffer holds it."""
    tcp = 0 if network.tcp is None else frame_bytes(network.tcp.mtu_bytes)
    return max(tcp, 0 if network.roce is None else roce_parameters(network.roce).largest_frame_bytes)


def largest_wire_bytes(network: NetworkConfig) -> int:
    """The largest frame that any transport sends, preamble and gap counted."""
    tcp = 0 if network.tcp is None else wire_bytes(network.tcp.mtu_bytes)
    return max(tcp, 0 if network.roce is None else roce_parameters(network.roce).largest_wire_bytes)


def lossless_bytes(switch: SwitchShape, largest_wire_bytes: int) -> int:
    """What headroom and reserve of all ports and lossless priorities take of a switch's buffer."""
    pfc = switch.config.pfc
    if pfc is None:
        return 0
    each = (port_headroom_bytes(pfc, port, largest_wire_bytes) + pfc.reserve_bytes for port in switch.ports)
    return len(pfc.priorities) * sum(each)


def check_lossless(network: NetworkConfig, shape: NetworkShape) -> None:
    """Raise InputError if a switch has no room for a frame beside what PFC keeps."""
    largest, on_line = largest_frame_bytes(network), largest_wire_bytes(network)
    for switch in shape.switches:
        size, needed = switch.config.buffer_bytes, lossless_bytes(switch, on_line)
        if needed and needed + largest > size:
            raise InputError(
                f"key 'topology.switch.buffer': {size} bytes are less than the {needed} that headroom and reserve of "
                f"{len(switch.ports)} ports take, and a frame of {largest}: raise buffer, or give pfc.headroom"
            )
