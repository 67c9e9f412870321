"""A network's transports against the rest of the network, whichever transports these are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set

from astra_ns3.config.network.packet_network import NetworkConfig
from astra_ns3.errors import refuse
from astra_ns3.transport.credits import check_credits
from astra_ns3.transport.lossless import check_entrance, check_lossless, largest_frame_bytes, largest_wire_bytes
from astra_ns3.transport.network_outline import NetworkOutline
from astra_ns3.transport.transport import Transport

ONLY_OWN: frozenset[int | None] = frozenset({None})
"""The priorities of tenants of which none asks for one."""


def check_transports(
    network: NetworkConfig,
    outline: NetworkOutline,
    transports: Mapping[str, Transport],
    priorities: frozenset[int | None] = ONLY_OWN,
) -> list[str]:
    """Warnings about numbers that can't be meant, each one line; raises InputError for what is impossible.

    ``outline``: the outline of all. ``transports``: by kind. ``priorities``: those that tenants ask for, None: of the
    transport.
    """
    every = transports.values()
    check_lossless(every, outline)
    warnings = [*check_credits(every, outline), *_cut_through_warnings(largest_frame_bytes(every), outline)]
    # Where all NPUs share one host nothing travels, and there is no path to judge by.
    for each in (each for each in every if each.outline.path):
        warnings += [*each.can_lose(sends=None in priorities), *each.check(network, largest_wire_bytes(every))]
    own = {each.priority for each in every if None in priorities}
    return [*warnings, *_pause_warnings({*own, *(each for each in priorities if each is not None)}, outline)]


def check_priority(priority: int, outline: NetworkOutline, transports: Mapping[str, Transport]) -> list[str]:
    """Return warnings about a priority that a tenant asks for; raises InputError if a transport has none."""
    without = [each.kind for each in transports.values() if not each.has_priorities]
    refuse(bool(without), f"priority {priority} has no meaning with transport {' or '.join(without)}, expected roce")
    refuse(
        any(switch.config.credits is not None for switch in outline.switches),
        f"priority {priority} stands beside switch.credits, whose lanes are priorities; expected one of them",
    )
    on_line = largest_wire_bytes(transports.values())
    lossy = set[tuple[int, ...]]()
    for switch in outline.switches:
        for each in transports.values():
            check_entrance(switch, priority, each.largest_frame_bytes, on_line)
        pfc = switch.config.pfc
        if pfc is not None and priority not in pfc.priorities:
            lossy.add(pfc.priorities)
    return [
        f"pfc of a switch holds for priority {', '.join(map(str, each))}, messages have {priority}, so their packets "
        f"can be lost; set pfc: {{priorities: {sorted({*each, priority})}}}"
        for each in sorted(lossy)
    ]


def _pause_warnings(data: Set[int], outline: NetworkOutline) -> Iterator[str]:
    """PFC for priorities that no data have."""
    for priorities in sorted({each.config.pfc.priorities for each in outline.switches if each.config.pfc is not None}):
        if data.isdisjoint(priorities):
            yield (
                f"switch.pfc pauses priority {', '.join(map(str, priorities))}, and data have "
                f"{', '.join(map(str, sorted(data)))}: nothing is paused, packets can be lost, and its headroom only "
                f"takes room; set pfc: {{priorities: {sorted(data)}}}"
            )


def _cut_through_warnings(largest: int, outline: NetworkOutline) -> Iterator[str]:
    """Switches that wait for as many bytes of a frame as the largest has."""
    for head in sorted({switch.config.cut_through_bytes or 0 for switch in outline.switches}):
        if head >= largest:
            yield (
                f"switch.cut_through {head} bytes has no effect: no frame has more than {largest}, so each is stored; "
                "lower it"
            )
