"""The proof of schedules whose ranks bring parts of different sizes (``Schedule.parts``).

A part goes as a whole or not at all, so parts are the proof's blocks: number ``sender * ranks + receiver``.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from astra_ns3.collectives.schedule import Schedule, ScheduleError
from astra_ns3.config.core.collective_kind import CollectiveKind


def check_parts_column(schedule: Schedule, kind: CollectiveKind) -> None:
    """Raise ScheduleError for parts that the schedule's data can't hold, or of another collective."""
    parts = schedule.parts
    if parts is None:
        return
    name, ranks = schedule.name, schedule.ranks
    if kind is not CollectiveKind.ALL_TO_ALL or schedule.expansion != 1:
        raise ScheduleError(f"{name}: only an all-to-all of expansion 1 has parts")
    if parts.shape != (ranks, ranks) or np.any(parts < 0):
        raise ScheduleError(f"{name}: the parts are no table of {ranks} x {ranks} sizes")
    if int(parts.sum(axis=1).max(initial=0)) > schedule.blocks:
        raise ScheduleError(f"{name}: a rank's parts have more than the {schedule.blocks} blocks of its data")


def start_parts(schedule: Schedule) -> list[dict[int, int]]:
    """For each rank the parts that it brings: number -> its contribution, a bit per rank."""
    ranks = schedule.ranks
    return [
        {rank * ranks + to: 1 << rank for to in np.flatnonzero(row).tolist()}
        for rank, row in enumerate(_parts(schedule))
    ]


def wanted_parts(schedule: Schedule, rank: int) -> dict[int, int]:
    """The blocks that each sender has for ``rank``, itself included."""
    senders = np.flatnonzero(_parts(schedule)[:, rank]).tolist()
    return {sender * schedule.ranks + rank: 1 << sender for sender in senders}


def carried_parts(schedule: Schedule) -> list[list[int]]:
    """The parts that each row carries, of its sender's own; raises ScheduleError if it cuts one."""
    table = _parts(schedule).tolist()
    starts = [_starts(row) for row in table]
    carried = []
    rows = zip(schedule.sender.tolist(), schedule.first_block.tolist(), schedule.block_count.tolist(), strict=True)
    for row, (sender, first, count) in enumerate(rows):
        block, numbers = first, []
        while block < first + count and block in starts[sender]:
            receiver = starts[sender][block]
            numbers.append(sender * schedule.ranks + receiver)
            block += table[sender][receiver]
        if block != first + count:
            raise ScheduleError(
                f"{schedule.name}: row {row} carries blocks {first} to {first + count - 1} of rank {sender}, "
                "which are no whole parts"
            )
        carried.append(numbers)
    return carried


def part_sizes(schedule: Schedule) -> npt.NDArray[np.int64]:
    """Size of each part, in blocks, by its number."""
    return _parts(schedule).reshape(-1)


def _starts(row: list[int]) -> dict[int, int]:
    """The first block of each part of a rank -> whom it is for."""
    found, block = {}, 0
    for receiver, size in enumerate(row):
        if size:
            found[block] = receiver
        block += size
    return found


def _parts(schedule: Schedule) -> npt.NDArray[np.int64]:
    assert schedule.parts is not None
    return schedule.parts
