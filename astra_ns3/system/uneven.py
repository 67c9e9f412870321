"""The plan of an all-to-all with counts: chunks of tables, each one phase over the whole group.

A chunk cuts every count alike. Where all counts are multiples of a unit, such as a token's bytes, each chunk has its
part of every unit, so that one schedule plays them all. Where the unit has fewer bytes than there are chunks, each
count is cut by itself. Nothing is lost to rounding: the chunks of a count add up to it. Where rows go by way of
gates, there is one chunk, which is cut in pieces.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd
from typing import NamedTuple

from astra_ns3.collectives.relayed import relayed_all_to_all
from astra_ns3.collectives.schedule import Schedule
from astra_ns3.collectives.uneven import Parts, are_sent, check_parts, uneven_all_to_all
from astra_ns3.config.core.algorithm_names import parse_name
from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.errors import refuse, wrong
from astra_ns3.frozen import replace
from astra_ns3.system.chunking import chunk_sizes
from astra_ns3.system.phases import Phase
from astra_ns3.system.request import CollectiveRequest


class UnevenChunk(NamedTuple):
    """``units``: what each place of a group has for each; ``unit_bytes``: of a unit."""

    units: Parts
    unit_bytes: int


def most_bytes(counts: Parts) -> int:
    """Return the bytes of the place that has most, its own share included: a request's ``bytes`` with these counts."""
    return max((sum(row) for row in counts), default=0)


def uneven_chunks(counts: Parts, splits: int) -> list[UnevenChunk]:
    """At most ``splits`` chunks, none of nothing."""
    units, unit_bytes = _in_units(counts)
    if not unit_bytes:
        return []
    if unit_bytes >= splits:
        return [UnevenChunk(units, size) for size in chunk_sizes(unit_bytes, splits)]
    chunks = []
    number = min(splits, max(max(row) for row in counts))
    for chunk in range(number):
        table = tuple(tuple((chunk + 1) * each // number - chunk * each // number for each in row) for row in counts)
        chunks.append(_in_units(table))
    return chunks


def uneven_phases(
    request: CollectiveRequest, dimensions: tuple[int, ...], ranks: int, algorithms: Sequence[str], splits: int
) -> list[Phase]:
    """The one phase of each chunk that sends anything, in a group of ``ranks`` over ``dimensions``. Raises InputError.

    ``algorithms``: those of the system file for all-to-alls, of each of the grid's dimensions or a flat one for all.
    """
    counts = request.counts
    assert counts is not None
    refuse(
        request.kind is not CollectiveKind.ALL_TO_ALL,
        f"{request.kind.name.lower()} with counts: only an all_to_all can have them",
    )
    check_parts(counts, ranks)
    if request.bytes != most_bytes(counts):
        raise wrong(
            f"all_to_all of {request.bytes} bytes with counts: expected the {most_bytes(counts)} bytes of the place "
            "that has most, its own share included"
        )
    names = [algorithms[place] for place in dimensions] if len(algorithms) > max(dimensions) else algorithms[:1]
    for name in names:
        parsed = parse_name(name)
        refuse(
            parsed.base != "direct" or parsed.window is not None,
            f"key 'all-to-all-implementation': found '{name}', but an all_to_all with counts (uneven experts or "
            "tables) runs as 'direct' only, over all dimensions at once",
        )
    phases: list[Phase] = []
    if request.relay is not None:
        schedule, unit_bytes = uneven_schedule(request)
        made = [(schedule, unit_bytes)] if schedule.messages else []
    else:
        chunks = uneven_chunks(counts, splits)
        made = [(uneven_all_to_all(units), size) for units, size in chunks if are_sent(units)]
    for schedule, unit_bytes in made:
        size = schedule.blocks * unit_bytes
        phases.append(Phase(dimensions, request.kind, names[0], size, size, schedule))
    return phases


def uneven_schedule(request: CollectiveRequest) -> tuple[Schedule, int]:
    """All messages of a request with counts in one chunk, and the bytes of a block."""
    counts, relay = request.counts, request.relay
    assert counts is not None
    tables, unit_bytes = _in_units(counts if relay is None else counts + relay.crossing)
    ranks = len(counts)
    parts = tables[:ranks]
    if relay is None:
        return uneven_all_to_all(parts), max(1, unit_bytes)
    return relayed_all_to_all(parts, replace(relay, crossing=tables[ranks:])), max(1, unit_bytes)


def _in_units(counts: Parts) -> UnevenChunk:
    """The counts in the largest unit that they are all multiples of; 0 bytes if all are 0."""
    unit = gcd(*(each for row in counts for each in row))
    if unit <= 1:
        return UnevenChunk(counts, unit)
    return UnevenChunk(tuple(tuple(each // unit for each in row) for row in counts), unit)
