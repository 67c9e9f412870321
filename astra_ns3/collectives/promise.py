"""The promise of each collective: the data that ranks hold at its start, and the data they must hold at its end.

Blocks are those of the schedule; in an all-to-all they are numbered through all ranks' data, in rank order. With k
blocks for each rank, rank r's part are the blocks ``owned[r] * k`` to ``owned[r] * k + k - 1``. In an uneven all-to-all
(``Schedule.parts``) the parts themselves stand for their blocks (:mod:`astra_ns3.collectives.uneven_proof`).
"""

from __future__ import annotations

from collections.abc import Sequence

from astra_ns3.collectives.schedule import Schedule
from astra_ns3.collectives.uneven_proof import start_parts, wanted_parts
from astra_ns3.config.core.collective_kind import CollectiveKind

_ROOT = 0
#: Kinds whose data are cut in one part for each rank.
PARTED = (CollectiveKind.REDUCE_SCATTER, CollectiveKind.ALL_GATHER, CollectiveKind.ALL_TO_ALL)


def start(schedule: Schedule, kind: CollectiveKind, owned: Sequence[int]) -> list[dict[int, int]]:
    """For each rank what it brings: block -> contributions, a bit per rank."""
    members = schedule.ranks - schedule.helpers
    return [*_start(schedule, kind, owned, range(members)), *({} for _ in range(schedule.helpers))]


def _start(schedule: Schedule, kind: CollectiveKind, owned: Sequence[int], ranks: range) -> list[dict[int, int]]:
    """Return for each member what it brings."""
    if kind is CollectiveKind.ALL_GATHER:
        return [dict.fromkeys(_part(schedule, owned[rank]), 1 << rank) for rank in ranks]
    if schedule.parts is not None:
        return start_parts(schedule)
    if kind is CollectiveKind.ALL_TO_ALL:
        own = own_blocks(schedule)
        return [dict.fromkeys(range(rank * own, (rank + 1) * own), 1 << rank) for rank in ranks]
    blocks = range(schedule.blocks)
    if kind in (CollectiveKind.BROADCAST, CollectiveKind.POINT_TO_POINT):
        return [dict.fromkeys(blocks, 1) if rank == _ROOT else {} for rank in ranks]
    return [dict.fromkeys(blocks, 1 << rank) for rank in ranks]


def wanted(schedule: Schedule, kind: CollectiveKind, owned: Sequence[int], rank: int) -> dict[int, int]:
    """Return the blocks that ``rank`` must hold at the end, each with its contributions."""
    ranks = schedule.ranks - schedule.helpers
    if rank >= ranks:
        return {}
    everyone = (1 << ranks) - 1
    if kind in (CollectiveKind.ALL_REDUCE, CollectiveKind.BARRIER):
        return dict.fromkeys(range(schedule.blocks), everyone)
    if kind is CollectiveKind.REDUCE:
        return dict.fromkeys(range(schedule.blocks), everyone) if rank == _ROOT else {}
    if kind is CollectiveKind.REDUCE_SCATTER:
        return dict.fromkeys(_part(schedule, owned[rank]), everyone)
    if kind is CollectiveKind.ALL_GATHER:
        return {block: 1 << source for source in range(ranks) for block in _part(schedule, owned[source])}
    if schedule.parts is not None:
        return wanted_parts(schedule, rank)
    if kind is CollectiveKind.ALL_TO_ALL:
        own = own_blocks(schedule)
        part = own // ranks
        return {source * own + rank * part + index: 1 << source for source in range(ranks) for index in range(part)}
    is_reached = kind is CollectiveKind.BROADCAST or rank == ranks - 1
    return dict.fromkeys(range(schedule.blocks), 1) if is_reached else {}


def own_blocks(schedule: Schedule) -> int:
    """In an all-to-all, the blocks that a rank's own data are cut in."""
    return schedule.blocks // schedule.expansion


def _part(schedule: Schedule, place: int) -> range:
    size = schedule.blocks // (schedule.ranks - schedule.helpers)
    return range(place * size, (place + 1) * size)
