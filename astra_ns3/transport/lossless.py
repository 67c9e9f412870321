"""The memory of switches that PFC keeps, for the largest frame that any transport of the network sends."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from math import ceil

from astra_ns3.config.topology.switch import PfcConfig
from astra_ns3.errors import InputError, refuse, wrong
from astra_ns3.transport.network_outline import NetworkOutline, PortOutline, SwitchOutline
from astra_ns3.transport.transport import Transport
from astra_ns3.units import PS_PER_SECOND, format_rate

PAUSE_WIRE_BYTES = 84
"""A pause frame: 64 bytes (IEEE 802.3, 31B), preamble and gap."""
FRAMES_IN_FLIGHT = 3
"""A frame that the switch's own port is sending when the pause is due, and one that the sender can't stop. One more
comes while the sender makes up its mind (IEEE 802.1Q allows it about two frame times)."""


def largest_frame_bytes(transports: Iterable[Transport]) -> int:
    """The largest frame that any transport sends, as a buffer holds it."""
    return max(each.largest_frame_bytes for each in transports)


def largest_wire_bytes(transports: Iterable[Transport]) -> int:
    """The largest frame that any transport sends, preamble and gap counted."""
    return max(each.largest_wire_bytes for each in transports)


def headroom_bytes(rate_bps: int, delay_ps: int, largest_wire_bytes: int) -> int:
    """Return the bytes that can still arrive at a port after it decided to pause its sender, rounded up.

    The pause waits for a frame being sent and travels; the sender ends the frame it sends; what is on the line arrives:
    two delays' worth of bits, three frames and the pause frame itself.
    """
    on_the_line = -(-2 * delay_ps * rate_bps // (8 * PS_PER_SECOND))
    return on_the_line + FRAMES_IN_FLIGHT * largest_wire_bytes + PAUSE_WIRE_BYTES


def port_headroom_bytes(pfc: PfcConfig, port: PortOutline, largest_wire_bytes: int) -> int:
    """Headroom of each lossless priority of a port: as given, by a factor of rate x delay, or the exact sum.

    Without a given one it is for the highest rate and the longest delay that the line ever has.
    """
    if pfc.headroom_bytes is not None:
        return pfc.headroom_bytes
    rate_bps, delay_ps = max(port.rate_bps, port.most_rate_bps), max(port.delay_ps, port.most_delay_ps)
    if pfc.headroom_factor is not None:
        return ceil(pfc.headroom_factor * (rate_bps * delay_ps // (8 * PS_PER_SECOND)))
    return headroom_bytes(rate_bps, delay_ps, largest_wire_bytes)


def lossless_bytes(switch: SwitchOutline, largest_wire_bytes: int) -> int:
    """Return the bytes of a switch's buffer for headroom and reserve of all ports and lossless priorities."""
    pfc = switch.config.pfc
    if pfc is None:
        return 0
    each = (port_headroom_bytes(pfc, port, largest_wire_bytes) + pfc.reserve_bytes for port in switch.ports)
    return len(pfc.priorities) * sum(each)


def check_lossless(transports: Collection[Transport], outline: NetworkOutline) -> None:
    """Raise InputError if a switch has no room for a frame beside what PFC keeps, or would never let one in."""
    for switch in outline.switches:
        check_switch(switch, transports)


def holds_lossless(transports: Collection[Transport], outline: NetworkOutline) -> bool:
    """Return whether :func:`check_lossless` finds nothing wrong."""
    try:
        check_lossless(transports, outline)
    except InputError:
        return False
    return True


def check_switch(switch: SwitchOutline, transports: Collection[Transport]) -> None:
    """Raise InputError as :func:`check_lossless`, for one switch."""
    largest, on_line = largest_frame_bytes(transports), largest_wire_bytes(transports)
    size, needed = switch.config.buffer_bytes, lossless_bytes(switch, on_line)
    later = " at the highest rates and longest delays that events give" * any(
        port.most_rate_bps or port.most_delay_ps for port in switch.ports
    )
    refuse(
        needed + largest > size,
        f"key 'topology.switch.buffer': {size} bytes are less than the {needed} that headroom and reserve of "
        f"{len(switch.ports)} ports take{later}, and a frame of {largest}: raise buffer, or give pfc.headroom"
        if needed
        else f"key 'topology.switch.buffer': {size} bytes do not hold one frame of {largest} (payload and headers)",
    )
    for each in transports:
        check_entrance(switch, each.priority, each.largest_frame_bytes, on_line)


def check_entrance(switch: SwitchOutline, priority: int, frame: int, largest_wire_bytes: int) -> None:
    """Raise InputError if a frame isn't let into the empty switch, so that it would be lost for ever."""
    pfc, share = switch.config.pfc, switch.config.alpha
    shared = switch.config.buffer_bytes - lossless_bytes(switch, largest_wire_bytes)
    if pfc is None or priority not in pfc.priorities:
        if share is not None and frame > int(share * shared):
            raise wrong(
                f"key 'topology.switch.alpha': a frame of {frame} bytes is never let in: alpha {share:g} of {shared} "
                f"shared is {int(share * shared)}; raise alpha or buffer"
            )
        return
    for port in switch.ports:
        headroom, alpha = port_headroom_bytes(pfc, port, largest_wire_bytes), pfc.alpha_of(port.rate_bps)
        if max(0, frame - pfc.reserve_bytes) > min(shared, int(alpha * shared)) and frame > headroom:
            raise wrong(
                f"key 'topology.switch.pfc': a frame of {frame} bytes is never let in by a port of "
                f"{format_rate(port.rate_bps)}: reserve is {pfc.reserve_bytes}, alpha {alpha:g} of {shared} shared "
                f"{int(alpha * shared)}, headroom {headroom}; raise one of them"
            )
