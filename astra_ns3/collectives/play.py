"""One play of a schedule, for its proof: its rows are sent and handled in an order that the caller chooses."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

import numpy as np

from astra_ns3.collectives.agenda import Agenda
from astra_ns3.collectives.holdings import Carried, Holdings
from astra_ns3.collectives.schedule import Schedule, ScheduleError


class Play:
    """An action is a row that may be sent, or one that has been sent and may be handled.

    ``carried[row]``: the blocks of a row with the contributions that the schedule claims (0 if it says none).
    ``agenda``: empty; which of the actions comes next.
    """

    def __init__(self, schedule: Schedule, carried: list[Carried], holdings: Holdings, agenda: Agenda) -> None:
        self.combines = [False] * schedule.messages
        self._schedule = schedule
        self._carried = carried
        self._holdings = holdings
        self._agenda = agenda
        self._sender, self._receiver = schedule.sender.tolist(), schedule.receiver.tolist()
        self._step = schedule.step.tolist()
        # For each rank how many receptions each step has; in each of its lanes the steps in order, and the first that
        # isn't over.
        self._expected = _receptions(schedule)
        self._lanes = schedule.lanes
        self._steps = [
            [step for step in steps if step % self._lanes == lane]
            for steps in self._expected
            for lane in range(self._lanes)
        ]
        self._first = [0] * len(self._steps)
        self._since = self._guaranteed_steps()
        self._waiting: dict[tuple[int, int, int], list[int]] = defaultdict(list)  # rank, step, count -> rows
        self._handled: dict[tuple[int, int], int] = defaultdict(int)
        self._early: dict[tuple[int, int], list[int]] = defaultdict(list)
        self._content: dict[int, Carried] = {}
        self._left = 2 * schedule.messages

    def run(self) -> None:
        """Play to the end; raises ScheduleError at the first thing that is wrong."""
        waits = zip(self._schedule.wait_step.tolist(), self._schedule.wait_count.tolist(), strict=True)
        for row, (wait_step, wait_count) in enumerate(waits):
            if wait_step < 0:
                self._agenda.add(row)
            else:
                self._waiting[self._sender[row], wait_step, wait_count].append(row)
        while self._agenda:
            row = self._agenda.take()
            self._left -= 1
            if row in self._content:
                self._handle(row)
            else:
                self._send(row)
        if self._left:
            self._report_deadlock()

    def _send(self, row: int) -> None:
        receiver, step = self._receiver[row], self._step[row]
        self._content[row] = self._holdings.take(
            self._name(row), self._sender[row], self._since[row], self._carried[row]
        )
        player = receiver * self._lanes + step % self._lanes
        if step == self._steps[player][self._first[player]]:
            self._agenda.add(row)
        else:
            self._early[receiver, step].append(row)

    def _handle(self, row: int) -> None:
        receiver, step = self._receiver[row], self._step[row]
        self.combines[row] = self._holdings.give(self._name(row), receiver, step, self._content.pop(row))
        self._handled[receiver, step] += 1
        self._add(self._waiting.pop((receiver, step, self._handled[receiver, step]), ()))
        if self._handled[receiver, step] == self._expected[receiver][step]:
            player = receiver * self._lanes + step % self._lanes
            self._first[player] += 1
            if self._first[player] < len(self._steps[player]):
                self._add(self._early.pop((receiver, self._steps[player][self._first[player]]), ()))

    def _add(self, rows: Iterable[int]) -> None:
        for row in rows:
            self._agenda.add(row)

    def _guaranteed_steps(self) -> list[int]:
        """For each row the last step whose receptions its sender has all handled when the row may be sent."""
        waits = zip(self._sender, self._schedule.wait_step.tolist(), self._schedule.wait_count.tolist(), strict=True)
        return [
            step if step < 0 or count >= self._expected[rank].get(step, 0) else step - 1 for rank, step, count in waits
        ]

    def _report_deadlock(self) -> None:
        waiting = [
            f"rank {rank} for {count} of step {step}" for (rank, step, count), rows in self._waiting.items() if rows
        ]
        raise ScheduleError(f"{self._schedule.name}: deadlock; {', '.join(waiting[:4]) or 'messages never handled'}")

    def _name(self, row: int) -> str:
        return f"{self._schedule.name}: row {row} (rank {self._sender[row]} to {self._receiver[row]})"


def _receptions(schedule: Schedule) -> list[dict[int, int]]:
    """For each rank its steps, in order, with the number of receptions in each."""
    expected: list[dict[int, int]] = [{} for _ in range(schedule.ranks)]
    order = np.lexsort((schedule.step, schedule.receiver))
    for receiver, step in zip(schedule.receiver[order].tolist(), schedule.step[order].tolist(), strict=True):
        expected[receiver][step] = expected[receiver].get(step, 0) + 1
    return expected
