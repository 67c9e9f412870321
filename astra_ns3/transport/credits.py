"""Credits of links against the frames of the transports that use them."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from astra_ns3.config.topology.switch import PRIORITIES, CreditsConfig
from astra_ns3.errors import refuse
from astra_ns3.transport.lossless import largest_frame_bytes, largest_wire_bytes
from astra_ns3.transport.network_outline import NetworkOutline, PortOutline, SwitchOutline
from astra_ns3.transport.transport import Transport
from astra_ns3.units import PS_PER_SECOND, format_bytes, format_rate, format_time

_KEY = "key 'topology.switch.credits"


def first_lanes(transports: Collection[Transport]) -> list[int]:
    """Return the lanes that frames start in: the priorities in use."""
    return sorted({priority for each in transports for priority in (each.priority, *each.answer_priorities)})


def lanes_in_use(transports: Collection[Transport], lanes: int) -> list[int]:
    """Return the lanes that any frame may be in."""
    return sorted({first + more for first in first_lanes(transports) for more in range(lanes)})


def next_lanes(transports: Collection[Transport], lanes: int) -> list[int]:
    """Return the lane that follows each of the 8 lanes; itself where none does."""
    used = lanes_in_use(transports, lanes)
    ends = {first + lanes - 1 for first in first_lanes(transports)}
    starts = {first + more for first in first_lanes(transports) for more in range(lanes - 1)}
    return [lane + 1 if lane in used and (lane not in ends or lane in starts) else lane for lane in range(PRIORITIES)]


def loop_ps(port: PortOutline, given: CreditsConfig, wire_bytes: int) -> int:
    """Return the time from a frame's first bit until its credit is back, where the next switch sends it on at once.

    Its bytes on this line and, at the same rate, on the next, the way there and back, and the update.
    """
    on_line = -(-wire_bytes * 8 * PS_PER_SECOND // port.rate_bps)
    return 2 * on_line + 2 * port.delay_ps + given.update_ps


def check_credits(transports: Collection[Transport], outline: NetworkOutline) -> Iterator[str]:
    """Yield warnings, each one line; raises InputError for what is impossible."""
    by_credit = [switch for switch in outline.switches if switch.config.credits is not None]
    if not by_credit:
        return
    refuse(
        any(each.time_rounding_ps for each in transports),
        f"{_KEY}': stands beside transport.time_rounding, which is for networks with PFC; leave one of them out",
    )
    largest = largest_frame_bytes(transports)
    for switch in by_credit:
        assert switch.config.credits is not None
        _check_switch(switch, switch.config.credits, transports, largest)
        yield from credit_warnings(transports, switch)


def _check_switch(switch: SwitchOutline, given: CreditsConfig, transports: Collection[Transport], largest: int) -> None:
    refuse(
        given.bytes_ < largest,
        f"{_KEY}.bytes': {given.bytes_} bytes are less than the largest frame, {largest}, which could never be "
        f"sent: raise bytes to {largest} at least",
    )
    top = first_lanes(transports)[-1]
    refuse(
        top + given.lanes > PRIORITIES,
        f"{_KEY}.lanes': {given.lanes} lanes from priority {top} on reach lane {top + given.lanes - 1}, and lanes "
        f"are 0 to {PRIORITIES - 1}: lower lanes, or the priority to {PRIORITIES - given.lanes} at most",
    )
    used = len(lanes_in_use(transports, given.lanes))
    needed, size = len(switch.ports) * used * given.bytes_, switch.config.buffer_bytes
    refuse(
        needed > size,
        f"key 'topology.switch.buffer': {size} bytes are less than the {needed} of {used} lanes of "
        f"{len(switch.ports)} ports with {given.bytes_} bytes each: raise buffer, or lower credits.bytes",
    )


def credit_warnings(transports: Collection[Transport], switch: SwitchOutline) -> Iterator[str]:
    """Yield warnings of credits of a switch that run out before the first of them is back."""
    given = switch.config.credits
    if given is None:
        return
    largest, on_line = largest_frame_bytes(transports), largest_wire_bytes(transports)
    for port in sorted(set(switch.ports)):
        loop = loop_ps(port, given, on_line)
        frames = given.bytes_ // largest
        sent_ps = frames * on_line * 8 * PS_PER_SECOND // port.rate_bps
        if sent_ps < loop:
            yield (
                f"credits {format_bytes(given.bytes_)} of ports of {format_rate(port.rate_bps)} are below a round "
                f"trip's worth: a lane sends {frames} frames in {format_time(sent_ps)} and has the first credit back "
                f"after {format_time(loop)}, so it reaches {100 * sent_ps // loop}% of the rate"
            )
