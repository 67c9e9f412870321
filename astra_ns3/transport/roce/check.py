"""RoCE against its network: what cannot work is refused, what can hardly be meant is warned of."""

from __future__ import annotations

from astra_ns3.config.topology.idle_lines import transmission_ps
from astra_ns3.config.topology.routing import PARTING
from astra_ns3.config.transports.roce import Reliability, RoceTransport
from astra_ns3.errors import refuse
from astra_ns3.transport.network_outline import NetworkOutline, SwitchOutline
from astra_ns3.transport.roce.control_check import control_warnings, marking_warnings, unmarked_warnings
from astra_ns3.transport.roce.idle_keys import idle_key_warnings
from astra_ns3.transport.roce.parameters import (
    RoceParameters,
    base_round_trip_ps,
    window_bytes,
)
from astra_ns3.units import format_bytes, format_rate, format_time

# So many packets may overtake one before it counts as lost, where the window has twice as many.
_TOLERANCE = 64


def check_roce(
    transport: RoceTransport, parameters: RoceParameters, outline: NetworkOutline, largest_wire_bytes: int
) -> list[str]:
    """Warnings about numbers that can't be meant, each one line; ``largest_wire_bytes``: of any frame on the network.

    Raises InputError for combinations that are impossible. Model limits: the round trip is that of the longest path on
    an idle network; the longest queue is that of all windows towards one host, or the buffer.
    """
    slowest = min(outline.host_ports).rate_bps
    refuse(
        parameters.minimum_rate_bps > slowest,
        f"key 'transport.minimum_rate': {format_rate(parameters.minimum_rate_bps)} is above the "
        f"{format_rate(slowest)} of a host's link",
    )
    _check_rounding(parameters, outline)
    warnings = list(unmarked_warnings(transport.congestion_control, outline.switches))
    for switch in outline.switches:
        _check_buffer(switch, parameters)
        warnings += marking_warnings(switch, largest_wire_bytes, parameters.priority)
    warnings += [*window_warnings(transport, parameters, outline), *_timer_warnings(parameters, outline)]
    warnings += _tolerance_warnings(parameters, outline)
    warnings += [*control_warnings(parameters, outline), *idle_key_warnings(transport, parameters, outline)]
    return list(dict.fromkeys(warnings))


def _check_rounding(parameters: RoceParameters, outline: NetworkOutline) -> None:
    fastest = max(port.rate_bps for port in (*outline.host_ports, *outline.path))
    packet_ps = transmission_ps(parameters.largest_wire_bytes, fastest)
    refuse(
        parameters.time_rounding_ps > packet_ps,
        f"key 'transport.time_rounding': {format_time(parameters.time_rounding_ps)} is above the "
        f"{format_time(packet_ps)} of a full packet at {format_rate(fastest)}, which would take no time or far too "
        "long; expected a small part of it",
    )


def _check_buffer(switch: SwitchOutline, parameters: RoceParameters) -> None:
    size, largest = switch.config.buffer_bytes, parameters.largest_frame_bytes
    refuse(
        size < largest,
        f"key 'topology.switch.buffer': {size} bytes do not hold one frame of {largest} (payload and headers)",
    )
    for port in switch.ports:
        switch.config.ecn_of(port.rate_bps)


def lossless_warnings(parameters: RoceParameters, outline: NetworkOutline, *, sends: bool) -> list[str]:
    """Return warnings of switches that aren't lossless; ``sends``: whether data have the transport's own priority.

    :func:`astra_ns3.transport.check.check_priority` tells of other priorities that PFC doesn't hold for.
    """
    found = [_lossless_warnings(switch, parameters) for switch in outline.switches if sends or not switch.config.pfc]
    return list(dict.fromkeys(words for each in found for words in each))


def _lossless_warnings(switch: SwitchOutline, parameters: RoceParameters) -> list[str]:
    pfc = switch.config.pfc
    if switch.config.keeps(parameters.priority) or parameters.reliability == "selective-repeat":
        return []
    if pfc is None:
        why = "a switch has no pfc and no credits"
    else:
        listed = ", ".join(map(str, pfc.priorities))
        why = f"pfc of a switch holds for priority {listed}, data have {parameters.priority}"
    return [
        f"{why}, so packets can be lost, and {parameters.reliability} sends all that followed a lost one again: "
        "add pfc, or use reliability selective-repeat"
    ]


def window_warnings(transport: RoceTransport, parameters: RoceParameters, outline: NetworkOutline) -> list[str]:
    """Return warnings of windows that let out too little or too much."""
    window = window_bytes(parameters, outline)
    if window > 0 and transport.congestion_control.moves_window(parameters.control_parameters):
        return []  # a window that moves is only the first
    if window == 0:
        if parameters.window_of_path or not parameters.congestion_control.startswith("hpcc"):
            return []
        return [
            f"congestion_control {parameters.congestion_control} without a window does not bound what is in flight "
            "while its telemetry is under way: set window: bdp"
        ]
    packets = -(-window // parameters.payload_bytes)  # the last may reach beyond it
    packet_ps = transmission_ps(parameters.largest_wire_bytes, outline.slowest_bps)
    others = min(parameters.ack_every, packets) - 1  # that the first one's acknowledgement waits for
    round_trip_ps = base_round_trip_ps(parameters, outline) + others * packet_ps + 2 * outline.slower_way_ps
    window_ps = packets * packet_ps
    queue_pairs = parameters.queue_pairs_per_pair
    if queue_pairs * window_ps >= round_trip_ps:
        return []
    together = "one queue pair reaches" if queue_pairs == 1 else f"the {queue_pairs} queue pairs of two NPUs reach"
    every = f" with ack_every {parameters.ack_every}" if others else ""
    every += " on the slowest of equally short ways" if outline.slower_way_ps else ""
    return [
        f"window {format_bytes(window)} cannot fill the link: it is sent in {format_time(window_ps)} "
        f"and acknowledged after {format_time(round_trip_ps)}{every}, so {together} "
        f"{100 * queue_pairs * window_ps // round_trip_ps}% of the rate"
    ]


def _timer_warnings(parameters: RoceParameters, outline: NetworkOutline) -> list[str]:
    round_trip_ps = base_round_trip_ps(parameters, outline)
    refuse(
        parameters.timeout_ps <= round_trip_ps,
        f"key 'transport.reliability.timeout': {format_time(parameters.timeout_ps)} is not above the "
        f"{format_time(round_trip_ps)} in which a packet is acknowledged on the idle network",
    )
    longest_ps = round_trip_ps + longest_drain_ps(parameters, outline)
    if parameters.timeout_ps >= longest_ps:
        return []
    return [
        f"timeout {format_time(parameters.timeout_ps)} is shorter than the {format_time(longest_ps)} of a round trip "
        "behind a full queue: packets that only wait will be sent again; raise reliability.timeout or set a window"
    ]


def longest_drain_ps(parameters: RoceParameters, outline: NetworkOutline) -> int:
    """The time a port needs for the longest queue it can have: every window towards one host, or the buffer."""
    largest = outline.largest_buffer_bytes
    window = parameters.queue_pairs_per_pair * window_bytes(parameters, outline)
    pairs = (outline.npus - outline.npus_per_host) * outline.npus_per_host
    queue = largest if window == 0 else min(largest, window * pairs)
    return transmission_ps(queue, outline.slowest_bps)


def _tolerance_warnings(parameters: RoceParameters, outline: NetworkOutline) -> list[str]:
    packets, tolerated = _window_packets(parameters, outline), parameters.reordering_packets
    if packets == 0 or tolerated < packets:
        return []
    return [
        f"reordering_packets {tolerated} is not below the {packets} packets of a window, so no packet behind a lost "
        f"one shows the loss, and each waits for the timeout of {format_time(parameters.timeout_ps)}: set "
        f"reordering_packets: {_fitting_tolerance(packets)}"
    ]


def _window_packets(parameters: RoceParameters, outline: NetworkOutline) -> int:
    """Return how many packets a window lets out before an acknowledgement; 0: any number."""
    return -(-window_bytes(parameters, outline) // parameters.payload_bytes)


def _fitting_tolerance(packets: int) -> int:
    """Return a tolerance that half a window of so many packets shows; 0: no window."""
    return min(_TOLERANCE, packets // 2) if packets else _TOLERANCE


def reordering_warnings(
    reliability: Reliability, routing: str, parameters: RoceParameters, outline: NetworkOutline
) -> list[str]:
    """Routing that lets packets overtake each other, with a reliability that takes that for loss."""
    waits = reliability.kind == "selective-repeat" and (reliability.reordering_packets or routing == "flowlet")
    if waits or routing not in PARTING:
        return []
    tolerance = _fitting_tolerance(_window_packets(parameters, outline))
    return [
        f"routing {routing} lets packets overtake each other, which {reliability.kind} takes for losses: use "
        f"reliability {{kind: selective-repeat, reordering_packets: {tolerance}}}"
    ]
