"""Proof that a schedule does what its collective promises, without a network.

The rows are played under the rules of :mod:`astra_ns3.collectives.schedule`, several times, each time with sends and
receptions delayed and reordered differently (once, where the order can't make a difference). Data are sets of
contributions (a bit per rank), and what receivers do with them is in :mod:`astra_ns3.collectives.holdings`. A
contribution counted twice or lost is an error. So is a row whose outcome depends on the order of play, a block that
brings nothing new, a rank that can't go on, and an end that isn't what was promised. ``Schedule.reduces`` is not data
but a delay, and plays no part here. In an uneven all-to-all a part stands for its blocks.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from astra_ns3.collectives.agenda import orders
from astra_ns3.collectives.holdings import (
    ArrivalHoldings,
    Carried,
    Holdings,
    KnownHoldings,
    MergedHoldings,
)
from astra_ns3.collectives.play import Play
from astra_ns3.collectives.promise import PARTED, own_blocks, start, wanted
from astra_ns3.collectives.schedule import Schedule, ScheduleError
from astra_ns3.collectives.uneven_proof import carried_parts, check_parts_column, part_sizes
from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.frozen import dataclass

__all__ = ["Proof", "ScheduleError", "prove"]


@dataclass(frozen=True)
class Proof:
    """``combines``: whether the receiver of each row combines it with what it holds; shape ``(messages,)``.

    Of barriers and of schedules that say which contributions they carry it is not known, and False.
    """

    combines: npt.NDArray[np.bool_]


def prove(
    schedule: Schedule,
    kind: CollectiveKind,
    *,
    owner: Sequence[int] | None = None,
    shuffles: int = 3,
    seed: int = 0,
    tell: Callable[[int, int], None] = lambda _play, _plays: None,
) -> Proof:
    """Play ``schedule`` in row order, against it and in ``shuffles`` random orders.

    ``tell(play, plays)`` is called before each play, which count from 1.
    ``owner[rank]`` is the part that a rank brings to an all-gather or keeps of a reduce-scatter (default: its number).
    Raises :class:`ScheduleError`.
    """
    owned = list(range(schedule.ranks)) if owner is None else [int(part) for part in owner]
    _check_columns(schedule, kind)
    carried = _carried(schedule, kind)
    _check_partial_waits(schedule, carried)
    first: list[bool] | None = None
    makers = orders(shuffles, seed)
    if not _holdings_class(schedule, kind).order_matters:
        makers = makers[:1]
    for number, make_agenda in enumerate(makers, 1):
        tell(number, len(makers))
        holdings = _holdings_class(schedule, kind)(start(schedule, kind, owned), helpers=schedule.helpers)
        play = Play(schedule, carried, holdings, make_agenda())
        play.run()
        _check_promise(schedule, kind, owned, holdings)
        if first is not None and first != play.combines:
            row = next(row for row, value in enumerate(first) if value != play.combines[row])
            raise ScheduleError(f"{schedule.name}: what row {row} does depends on the order of play")
        first = play.combines
    return Proof(np.array(first, dtype=np.bool_))


def _holdings_class(
    schedule: Schedule, kind: CollectiveKind
) -> type[ArrivalHoldings] | type[KnownHoldings] | type[MergedHoldings]:
    if kind is CollectiveKind.BARRIER:
        return ArrivalHoldings
    if schedule.content is not None and schedule.content.contributors is not None:
        return KnownHoldings
    return MergedHoldings


def _carried(schedule: Schedule, kind: CollectiveKind) -> list[Carried]:
    """The blocks that each row carries, by the numbers of :mod:`astra_ns3.collectives.promise`."""
    content = schedule.content
    if content is not None:
        blocks, offsets = content.blocks.tolist(), content.offsets.tolist()
        contributors = content.contributors or (0,) * len(blocks)
        return [list(zip(blocks[begin:end], contributors[begin:end], strict=True)) for begin, end in pairwise(offsets)]
    if schedule.parts is not None:
        return [[(part, 0) for part in parts] for parts in carried_parts(schedule)]
    private = kind is CollectiveKind.ALL_TO_ALL and schedule.expansion == 1
    base = schedule.sender * schedule.blocks if private else np.zeros_like(schedule.sender)
    firsts, counts = (base + schedule.first_block).tolist(), schedule.block_count.tolist()
    return [[(block, 0) for block in range(first, first + count)] for first, count in zip(firsts, counts, strict=True)]


def _check_partial_waits(schedule: Schedule, carried: list[Carried]) -> None:
    """A row that waits for some of a step's messages, whichever come first, must not send what these bring.

    Plays show this as well, but only in the orders that matter, of which there may be few.
    """
    if schedule.content is not None and schedule.content.contributors is not None:
        return  # what such a row may count on is checked exactly
    received: dict[tuple[int, int], list[int]] = defaultdict(list)
    for row, key in enumerate(zip(schedule.receiver.tolist(), schedule.step.tolist(), strict=True)):
        received[key].append(row)
    brought: dict[tuple[int, int], set[int]] = {}
    waits = zip(schedule.sender.tolist(), schedule.wait_step.tolist(), schedule.wait_count.tolist(), strict=True)
    for row, (sender, step, count) in enumerate(waits):
        if step < 0 or count >= len(received[sender, step]):
            continue
        if (sender, step) not in brought:
            brought[sender, step] = {block for other in received[sender, step] for block, _ in carried[other]}
        shared = brought[sender, step].intersection(block for block, _ in carried[row])
        if shared and schedule.block_count[row]:
            raise ScheduleError(
                f"{schedule.name}: row {row} sends block {min(shared)} after {count} of the messages of step {step}, "
                "and what it is then depends on the order of play"
            )


def _check_promise(schedule: Schedule, kind: CollectiveKind, owned: Sequence[int], holdings: Holdings) -> None:
    for rank in range(schedule.ranks):
        for block, contributions in wanted(schedule, kind, owned, rank).items():
            lacking = holdings.lacks(rank, block, contributions)
            if lacking:
                source = (lacking & -lacking).bit_length() - 1
                what = "signal" if kind is CollectiveKind.BARRIER else f"part of block {block}"
                raise ScheduleError(f"{schedule.name}: rank {rank} ends without rank {source}'s {what}")


def _check_columns(schedule: Schedule, kind: CollectiveKind) -> None:
    ranks, blocks = schedule.ranks, schedule.blocks
    if schedule.messages == 0:
        return
    in_range = np.ones(schedule.messages, dtype=np.bool_)
    for column in (schedule.sender, schedule.receiver):
        in_range &= (column >= 0) & (column < ranks)
    block_fits = (schedule.first_block >= 0) & (schedule.block_count >= 0)
    block_fits &= schedule.first_block + schedule.block_count <= blocks
    if not np.all(in_range & (schedule.sender != schedule.receiver) & block_fits & (schedule.step >= 0)):
        raise ScheduleError(f"{schedule.name}: a rank, a block or a step is out of range")
    if np.any((schedule.wait_step >= 0) & (schedule.wait_count < 1)):
        raise ScheduleError(f"{schedule.name}: a row waits for a step but for no message")
    if schedule.lanes > 1 and _holdings_class(schedule, kind) is not MergedHoldings:
        raise ScheduleError(f"{schedule.name}: has {schedule.lanes} lanes, expected 1 where rows say what they carry")
    ranks -= schedule.helpers
    expansions = {CollectiveKind.ALL_GATHER: (ranks,), CollectiveKind.ALL_TO_ALL: (1, ranks)}.get(kind, (1,))
    if schedule.expansion not in expansions:
        raise ScheduleError(f"{schedule.name}: expansion is {schedule.expansion}, expected one of {expansions}")
    parts = ranks * schedule.expansion if kind is CollectiveKind.ALL_TO_ALL else ranks
    check_parts_column(schedule, kind)
    if kind in PARTED and blocks % parts and schedule.parts is None:
        raise ScheduleError(f"{schedule.name}: {blocks} blocks, expected a multiple of {parts}")
    if kind is CollectiveKind.BARRIER and blocks != 1:
        raise ScheduleError(f"{schedule.name}: {blocks} blocks, expected 1 of a barrier")
    _check_content(schedule, kind)


def _check_content(schedule: Schedule, kind: CollectiveKind) -> None:
    content = schedule.content
    if content is None:
        return
    numbers = own_blocks(schedule) * schedule.ranks if kind is CollectiveKind.ALL_TO_ALL else schedule.blocks
    numbers = numbers if schedule.parts is None else schedule.ranks**2
    unfit = f"{schedule.name}: the content of a row has not as many blocks as the row"
    offsets = content.offsets
    if len(offsets) != schedule.messages + 1 or offsets[0] < 0 or np.any(np.diff(offsets) < 0):
        raise ScheduleError(unfit)
    if len(content.blocks) != offsets[-1] or np.any((content.blocks < 0) | (content.blocks >= numbers)):
        raise ScheduleError(f"{schedule.name}: a block of the content is out of range")
    sizes = np.ones(numbers, dtype=np.int64) if schedule.parts is None else part_sizes(schedule)
    blocks_before = np.concatenate([[0], np.cumsum(sizes[content.blocks])])
    if content.weighs and np.any(np.diff(blocks_before[offsets]) != schedule.block_count):
        raise ScheduleError(unfit)
    if content.contributors is not None and len(content.contributors) != len(content.blocks):
        raise ScheduleError(f"{schedule.name}: the content has not as many contributors as blocks")
