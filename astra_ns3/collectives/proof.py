"""Proof that a schedule does what its collective promises, without a network.

The executor plays the rows under the rules of :mod:`astra_ns3.collectives.schedule`, several times, each time with
sends and receptions delayed and reordered differently. Data are sets of contributions (a bit per rank): a receiver
that gets a block combines it with its own if no contribution is in both, and takes it over if all it holds is in it.
Anything else would count a contribution twice or lose one, and is an error; so is a row whose outcome depends on the
order of play, a block that brings nothing new, a rank that can't go on, and an end that isn't what was promised.
``Schedule.reduces`` is not data but a delay, and plays no part here.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from astra_ns3.collectives.schedule import Schedule
from astra_ns3.config.collective_kind import CollectiveKind
from astra_ns3.errors import AstraNs3Error


class ScheduleError(AstraNs3Error):
    """A schedule that doesn't do what its collective promises; the message names the row or the rank."""


@dataclass(frozen=True)
class Proof:
    """``combines``: whether the receiver of each row combines it with what it holds; shape ``(messages,)``."""

    combines: npt.NDArray[np.bool_]


_Holdings = list[dict[int, int]]  # of each rank: block -> contributions


def prove(
    schedule: Schedule,
    kind: CollectiveKind,
    *,
    owner: Sequence[int] | None = None,
    shuffles: int = 3,
    seed: int = 0,
) -> Proof:
    """Play ``schedule`` oldest first, newest first and in ``shuffles`` random orders.

    ``owner[rank]`` is the block that a rank brings to an all-gather or keeps of a reduce-scatter (default: its number).
    Raises :class:`ScheduleError`.
    """
    owned = list(range(schedule.ranks)) if owner is None else [int(block) for block in owner]
    _check_columns(schedule, kind)
    generator = random.Random(seed)
    choices: list[Callable[[int], int]] = [lambda _: 0, lambda actions: actions - 1]
    choices += [generator.randrange] * shuffles
    first: list[bool] | None = None
    for choose in choices:
        play = _Play(schedule, kind, _start(schedule, kind, owned), choose)
        play.run()
        _check_promise(schedule, kind, owned, play.holdings)
        if first is not None and first != play.combines:
            row = next(row for row, value in enumerate(first) if value != play.combines[row])
            raise ScheduleError(f"{schedule.name}: what row {row} does depends on the order of play")
        first = play.combines
    return Proof(np.array(first, dtype=np.bool_))


class _Play:
    """One order of play. An action is a row that may be sent, or one that has been sent and may be handled."""

    def __init__(
        self, schedule: Schedule, kind: CollectiveKind, holdings: _Holdings, choose: Callable[[int], int]
    ) -> None:
        self.holdings = holdings
        self.combines = [False] * schedule.messages
        self._schedule = schedule
        self._choose = choose
        self._private = kind is CollectiveKind.ALL_TO_ALL and schedule.expansion == 1
        self._columns = [
            column.tolist()
            for column in (
                schedule.sender,
                schedule.receiver,
                schedule.step,
                schedule.first_block,
                schedule.block_count,
            )
        ]
        self._waiting: dict[tuple[int, int, int], list[int]] = defaultdict(list)  # rank, step, count -> rows
        self._expected: list[dict[int, int]] = [{} for _ in range(schedule.ranks)]  # step -> receptions to come
        self._handled: dict[tuple[int, int], int] = defaultdict(int)
        self._early: dict[tuple[int, int], list[int]] = defaultdict(list)
        self._content: dict[int, dict[int, int]] = {}
        self._actions: list[int] = []
        self._left = 2 * schedule.messages

    def run(self) -> None:
        """Play to the end; raises ScheduleError at the first thing that is wrong."""
        waits = zip(self._schedule.wait_step.tolist(), self._schedule.wait_count.tolist(), strict=True)
        for row, (wait_step, wait_count) in enumerate(waits):
            if wait_step < 0:
                self._actions.append(row)
            else:
                self._waiting[self._columns[0][row], wait_step, wait_count].append(row)
            receiver, step = self._columns[1][row], self._columns[2][row]
            self._expected[receiver][step] = self._expected[receiver].get(step, 0) + 1
        self._expected = [dict(sorted(steps.items())) for steps in self._expected]
        while self._actions:
            place = self._choose(len(self._actions))
            self._actions[place], self._actions[-1] = self._actions[-1], self._actions[place]
            row = self._actions.pop()
            self._left -= 1
            if row in self._content:
                self._handle(row)
            else:
                self._send(row)
        if self._left:
            self._report_deadlock()

    def _send(self, row: int) -> None:
        sender, receiver, step, first, count = (column[row] for column in self._columns)
        base = sender * self._schedule.blocks if self._private else 0
        held = self.holdings[sender]
        content = {base + block: held.get(base + block, 0) for block in range(first, first + count)}
        missing = [block for block, contributions in content.items() if not contributions]
        if missing:
            raise ScheduleError(f"{self._name(row)}: rank {sender} sends block {missing[0]}, which it doesn't hold")
        self._content[row] = content
        if step == next(iter(self._expected[receiver])):
            self._actions.append(row)
        else:
            self._early[receiver, step].append(row)

    def _handle(self, row: int) -> None:
        receiver, step = self._columns[1][row], self._columns[2][row]
        outcomes = {self._merge(row, receiver, block, came) for block, came in self._content.pop(row).items()}
        if len(outcomes) > 1:
            raise ScheduleError(f"{self._name(row)} combines some blocks and copies others")
        self.combines[row] = outcomes.pop()
        self._handled[receiver, step] += 1
        self._actions += self._waiting.pop((receiver, step, self._handled[receiver, step]), [])
        steps = self._expected[receiver]
        steps[step] -= 1
        if not steps[step]:
            del steps[step]
            if steps:
                self._actions += self._early.pop((receiver, next(iter(steps))), [])

    def _merge(self, row: int, receiver: int, block: int, came: int) -> bool:
        held = self.holdings[receiver].get(block, 0)
        if held | came == held:
            raise ScheduleError(f"{self._name(row)}: block {block} brings nothing that rank {receiver} hasn't got")
        if held & came and held | came != came:
            raise ScheduleError(f"{self._name(row)}: block {block} would count contributions twice or lose some")
        self.holdings[receiver][block] = held | came
        return bool(held) and not held & came

    def _report_deadlock(self) -> None:
        waiting = [
            f"rank {rank} for {count} of step {step}" for (rank, step, count), rows in self._waiting.items() if rows
        ]
        raise ScheduleError(f"{self._schedule.name}: deadlock; {', '.join(waiting[:4]) or 'messages never handled'}")

    def _name(self, row: int) -> str:
        return f"{self._schedule.name}: row {row} (rank {self._columns[0][row]} to {self._columns[1][row]})"


def _start(schedule: Schedule, kind: CollectiveKind, owned: Sequence[int]) -> _Holdings:
    ranks, blocks = schedule.ranks, schedule.blocks
    if kind is CollectiveKind.ALL_GATHER:
        return [{owned[rank]: 1 << rank} for rank in range(ranks)]
    if kind is CollectiveKind.ALL_TO_ALL:
        return [{rank * ranks + block: 1 << rank for block in range(ranks)} for rank in range(ranks)]
    return [dict.fromkeys(range(blocks), 1 << rank) for rank in range(ranks)]


def _check_promise(schedule: Schedule, kind: CollectiveKind, owned: Sequence[int], holdings: _Holdings) -> None:
    ranks = schedule.ranks
    everyone = (1 << ranks) - 1
    wanted: dict[int, int]
    for rank, held in enumerate(holdings):
        if kind is CollectiveKind.ALL_REDUCE:
            wanted = dict.fromkeys(range(schedule.blocks), everyone)
        elif kind is CollectiveKind.REDUCE_SCATTER:
            wanted = {owned[rank]: everyone}
        elif kind is CollectiveKind.ALL_GATHER:
            wanted = {block: 1 << source for source, block in enumerate(owned)}
        else:
            wanted = {source * ranks + rank: 1 << source for source in range(ranks)}
        for block, contributions in wanted.items():
            lacking = contributions & ~held.get(block, 0)
            if lacking:
                source = (lacking & -lacking).bit_length() - 1
                raise ScheduleError(f"{schedule.name}: rank {rank} ends without rank {source}'s part of block {block}")


def _check_columns(schedule: Schedule, kind: CollectiveKind) -> None:
    ranks, blocks = schedule.ranks, schedule.blocks
    if schedule.messages == 0:
        return
    expansions = {CollectiveKind.ALL_GATHER: (ranks,), CollectiveKind.ALL_TO_ALL: (1, ranks)}.get(kind, (1,))
    in_range = np.ones(schedule.messages, dtype=np.bool_)
    for column in (schedule.sender, schedule.receiver):
        in_range &= (column >= 0) & (column < ranks)
    block_fits = (schedule.first_block >= 0) & (schedule.block_count > 0)
    block_fits &= schedule.first_block + schedule.block_count <= blocks
    if not np.all(in_range & (schedule.sender != schedule.receiver) & block_fits & (schedule.step >= 0)):
        raise ScheduleError(f"{schedule.name}: a rank, a block or a step is out of range")
    if np.any((schedule.wait_step >= 0) & (schedule.wait_count < 1)):
        raise ScheduleError(f"{schedule.name}: a row waits for a step but for no message")
    if schedule.expansion not in expansions:
        raise ScheduleError(f"{schedule.name}: expansion is {schedule.expansion}, expected one of {expansions}")
    parts = ranks * schedule.expansion if kind is CollectiveKind.ALL_TO_ALL else ranks
    if kind is not CollectiveKind.ALL_REDUCE and blocks != parts:
        raise ScheduleError(f"{schedule.name}: {blocks} blocks, expected {parts}")
