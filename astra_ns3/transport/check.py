"""A network's transports against the rest of the network, whichever transports these are."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from astra_ns3.config.network.packet_network import NetworkConfig
from astra_ns3.transport.credits import check_credits
from astra_ns3.transport.lossless import check_lossless, largest_frame_bytes, largest_wire_bytes
from astra_ns3.transport.network_outline import NetworkOutline
from astra_ns3.transport.transport import Transport


def check_transports(network: NetworkConfig, outline: NetworkOutline, transports: Mapping[str, Transport]) -> list[str]:
    """Warnings about numbers that can't be meant, each one line; raises InputError for what is impossible.

    ``outline``: the outline of all. ``transports``: by kind.
    """
    every = transports.values()
    check_lossless(every, outline)
    warnings = [*check_credits(every, outline), *_cut_through_warnings(largest_frame_bytes(every), outline)]
    # Where all NPUs share one host nothing travels, and there is no path to judge by.
    for each in (each for each in every if each.outline.path):
        warnings += each.check(network, largest_wire_bytes(every))
    return [*warnings, *_pause_warnings(every, outline)]


def _pause_warnings(transports: Collection[Transport], outline: NetworkOutline) -> Iterator[str]:
    """PFC for priorities that no transport's data have."""
    data = {each.priority for each in transports}
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
