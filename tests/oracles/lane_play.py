"""Plays the rows of a schedule with lanes in a random order, by the words of ``astra_ns3/collectives/schedule.py``.

It shares no code with the package's own play: each rank looks at all its rows again and again.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

from astra_ns3.collectives.schedule import Schedule


@dataclass(frozen=True)
class Happening:
    """A row is sent, or its receiver has handled it."""

    is_sent: bool
    row: int


def happenings(schedule: Schedule, seed: int, *, lazy: bool = False) -> Iterator[Happening]:
    """What happens until nothing can happen any more; ``lazy``: nothing is handled while something can be sent."""
    dice, lanes = random.Random(seed), schedule.lanes
    rows = list(
        zip(
            schedule.sender.tolist(),
            schedule.receiver.tolist(),
            schedule.step.tolist(),
            schedule.wait_step.tolist(),
            schedule.wait_count.tolist(),
            strict=True,
        )
    )
    unsent, under_way = set(range(len(rows))), set[int]()
    left = [[row for row in range(len(rows)) if rows[row][1] == rank] for rank in range(schedule.ranks)]
    handled: dict[tuple[int, int], int] = {}

    def may_send(row: int) -> bool:
        sender, _, _, wait, count = rows[row]
        return bool(wait < 0 or handled.get((sender, wait), 0) >= count)

    def may_handle(row: int) -> bool:
        _, receiver, step, _, _ = rows[row]
        return all(rows[other][2] >= step or rows[other][2] % lanes != step % lanes for other in left[receiver])

    while True:
        sends = sorted(filter(may_send, unsent))
        handles = [] if lazy and sends else sorted(filter(may_handle, under_way))
        if not sends and not handles:
            return
        choice = dice.randrange(len(sends) + len(handles))
        if choice < len(sends):
            row = sends[choice]
            unsent.remove(row)
            under_way.add(row)
            yield Happening(is_sent=True, row=row)
            continue
        row = handles[choice - len(sends)]
        _, receiver, step, _, _ = rows[row]
        under_way.remove(row)
        left[receiver].remove(row)
        handled[receiver, step] = handled.get((receiver, step), 0) + 1
        yield Happening(is_sent=False, row=row)


def most_under_way(schedule: Schedule, seed: int, *, lazy: bool = False) -> int:
    """The most messages with data that were ever sent from one rank to another and not handled there; all rows ran."""
    now: dict[tuple[int, int, int], int] = {}
    most, ended = 0, 0
    for each in happenings(schedule, seed, lazy=lazy):
        row, ended = each.row, ended + (not each.is_sent)
        if schedule.block_count[row] == 0:
            continue
        lane = int(schedule.step[row]) % schedule.lanes
        key = int(schedule.sender[row]), int(schedule.receiver[row]), lane
        now[key] = now.get(key, 0) + (1 if each.is_sent else -1)
        most = max(most, now[key])
    assert ended == schedule.messages
    return most
