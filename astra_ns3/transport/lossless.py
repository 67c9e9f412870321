"""What PFC keeps of the switches' memory, for the largest frame that any transport of the network sends."""

from __future__ import annotations

from collections.abc import Iterator

from astra_ns3.config.network.packet_network import NetworkConfig
from astra_ns3.errors import InputError
from astra_ns3.transport.network_outline import NetworkShape, SwitchShape
from astra_ns3.transport.roce import port_headroom_bytes, roce_frames
from astra_ns3.transport.wire import frame_bytes, wire_bytes
from astra_ns3.units import format_rate

_TCP_PRIORITY = 0


def largest_frame_bytes(network: NetworkConfig) -> int:
    """The largest frame that any transport sends, as a buffer holds it."""
    tcp = 0 if network.tcp is None else frame_bytes(network.tcp.mtu_bytes)
    return max(tcp, 0 if network.roce is None else roce_frames(network.roce).largest_frame_bytes)


def largest_wire_bytes(network: NetworkConfig) -> int:
    """The largest frame that any transport sends, preamble and gap counted."""
    tcp = 0 if network.tcp is None else wire_bytes(network.tcp.mtu_bytes)
    return max(tcp, 0 if network.roce is None else roce_frames(network.roce).largest_wire_bytes)


def lossless_bytes(switch: SwitchShape, largest_wire_bytes: int) -> int:
    """What headroom and reserve of all ports and lossless priorities take of a switch's buffer."""
    pfc = switch.config.pfc
    if pfc is None:
        return 0
    each = (port_headroom_bytes(pfc, port, largest_wire_bytes) + pfc.reserve_bytes for port in switch.ports)
    return len(pfc.priorities) * sum(each)


def check_lossless(network: NetworkConfig, shape: NetworkShape) -> None:
    """Raise InputError if a switch has no room for a frame beside what PFC keeps, or would never let one in."""
    largest, on_line = largest_frame_bytes(network), largest_wire_bytes(network)
    for switch in shape.switches:
        size, needed = switch.config.buffer_bytes, lossless_bytes(switch, on_line)
        if needed and needed + largest > size:
            raise InputError(
                f"key 'topology.switch.buffer': {size} bytes are less than the {needed} that headroom and reserve of "
                f"{len(switch.ports)} ports take, and a frame of {largest}: raise buffer, or give pfc.headroom"
            )
        for priority, frame in _frames(network):
            _check_entrance(switch, priority, frame, on_line)


def _frames(network: NetworkConfig) -> Iterator[tuple[int, int]]:
    """Priority and bytes of the largest data frame of each transport."""
    if network.tcp is not None:
        yield _TCP_PRIORITY, frame_bytes(network.tcp.mtu_bytes)
    if network.roce is not None:
        yield network.roce.priority, roce_frames(network.roce).largest_frame_bytes


def _check_entrance(switch: SwitchShape, priority: int, frame: int, largest_wire_bytes: int) -> None:
    """Raise InputError if a frame isn't let into the empty switch, so that it would be lost for ever."""
    pfc, share = switch.config.pfc, switch.config.alpha
    shared = switch.config.buffer_bytes - lossless_bytes(switch, largest_wire_bytes)
    if pfc is None or priority not in pfc.priorities:
        if share is not None and frame > int(share * shared):
            raise InputError(
                f"key 'topology.switch.alpha': a frame of {frame} bytes is never let in: alpha {share:g} of {shared} "
                f"shared is {int(share * shared)}; raise alpha or buffer"
            )
        return
    for port in switch.ports:
        headroom, alpha = port_headroom_bytes(pfc, port, largest_wire_bytes), pfc.alpha_of(port.rate_bps)
        if max(0, frame - pfc.reserve_bytes) > min(shared, int(alpha * shared)) and frame > headroom:
            raise InputError(
                f"key 'topology.switch.pfc': a frame of {frame} bytes is never let in by a port of "
                f"{format_rate(port.rate_bps)}: reserve is {pfc.reserve_bytes}, alpha {alpha:g} of {shared} shared "
                f"{int(alpha * shared)}, headroom {headroom}; raise one of them"
            )
