"""A NetworkBackend in pure Python: a message takes a time by its size, whatever else is on its way."""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from astra_ns3.collectives.schedule import Schedule
from astra_ns3.errors import LimitReached
from astra_ns3.network.api import EndpointModel, Limits, NetworkBackend, NetworkListener, PendingMessage


class _Part:
    """One rank's part of a running schedule."""

    def __init__(self, schedule: Schedule, rank: int) -> None:
        self.sends: dict[tuple[int, int], list[int]] = defaultdict(list)  # (step, receptions handled) -> rows
        self.unsent, self.unhandled = [], []
        self.left: dict[int, int] = {}  # step -> receptions to handle
        self.handled = 0  # of the present step
        self.early: dict[int, list[int]] = defaultdict(list)
        for row in range(schedule.messages):
            if schedule.sender[row] == rank:
                step = int(schedule.wait_step[row])
                self.sends[step, int(schedule.wait_count[row]) if step >= 0 else 0].append(row)
                self.unsent.append(row)
            elif schedule.receiver[row] == rank:
                self.left[int(schedule.step[row])] = self.left.get(int(schedule.step[row]), 0) + 1
                self.unhandled.append(row)
        self.left = dict(sorted(self.left.items()))


class FakeBackend(NetworkBackend):
    """``message_ps``: time of a message of so many bytes (default: latency and bandwidth).

    ``slowness[npu]`` multiplies what an NPU's messages take, ``extra_ps(sender, receiver)`` is added to it;
    ``lost(schedule, row)``: rows that never arrive.
    """

    npus = 0

    def __init__(
        self,
        npus: int,
        *,
        latency_ps: int = 1_000_000,
        ps_per_byte: int = 10,
        message_ps: Callable[[int], int] | None = None,
        endpoint: EndpointModel | None = None,
        slowness: Mapping[int, int] | None = None,
        extra_ps: Callable[[int, int], int] = lambda sender, receiver: 0,
        lost: Callable[[Schedule, int], bool] = lambda schedule, row: False,
    ) -> None:
        self.npus = npus
        self.launched: list[tuple[int, int, int]] = []  # time, npu, instance
        self.schedules: list[Schedule] = []
        self._message_ps = message_ps or (lambda bytes: latency_ps + bytes * ps_per_byte)
        self._endpoint = endpoint or EndpointModel()
        self._slowness = slowness or {}
        self._extra_ps = extra_ps
        self._lost = lost
        self._groups: list[list[int]] = []
        self._events: list[tuple[int, int, Callable[[], None]]] = []
        self._count = 0
        self._now_ps = 0
        self._stopped = False
        self._parts: dict[tuple[int, int], tuple[_Part, Schedule, list[int], int]] = {}
        self._before_launch: dict[tuple[int, int], list[int]] = defaultdict(list)

    def register_schedule(self, schedule: Schedule) -> int:
        self.schedules.append(schedule)
        return len(self.schedules) - 1

    def register_group(self, npus: Sequence[int]) -> int:
        self._groups.append(list(npus))
        return len(self._groups) - 1

    def launch(self, npu: int, schedule: int, group: int, instance: int, bytes: int) -> None:
        members, columns = self._groups[group], self.schedules[schedule]
        part = _Part(columns, members.index(npu))
        assert (npu, instance) not in self._parts, "launched twice"
        self._parts[npu, instance] = part, columns, members, bytes
        self.launched.append((self._now_ps, npu, instance))
        self._at(self._endpoint.delay_ps, lambda: self._send(npu, instance, -1, 0))
        for row in self._before_launch.pop((npu, instance), []):
            self._arrive(npu, instance, row)

    def call_later(self, npu: int, delay_ps: int, callback: Callable[[int], None]) -> None:
        self._at(delay_ps, lambda: callback(self._now_ps))

    def now_ps(self) -> int:
        return self._now_ps

    def run(self, listener: NetworkListener, limits: Limits) -> None:
        self._listener = listener
        while self._events and not self._stopped:
            time_ps, _, action = heapq.heappop(self._events)
            if limits.simulated_ps is not None and time_ps > limits.simulated_ps:
                self._now_ps = limits.simulated_ps
                raise LimitReached("simulated time")
            self._now_ps = time_ps
            action()

    def stop(self) -> None:
        self._stopped = True

    def pending(self, npu: int, instance: int) -> list[PendingMessage]:
        if (npu, instance) not in self._parts:
            return []
        part, columns, members, bytes = self._parts[npu, instance]
        sizes = columns.message_bytes(bytes)
        return [
            PendingMessage(
                members[columns.sender[row]],
                members[columns.receiver[row]],
                int(sizes[row]),
                int(columns.step[row]),
                sent,
            )
            for rows, sent in ((part.unhandled, True), (part.unsent, False))
            for row in rows
        ]

    def close(self, *, process_ends: bool = False) -> None:
        self._events.clear()

    def _at(self, delay_ps: int, action: Callable[[], None]) -> None:
        self._count += 1
        heapq.heappush(self._events, (self._now_ps + delay_ps, self._count, action))

    def _send(self, npu: int, instance: int, step: int, count: int) -> None:
        part, columns, members, bytes = self._parts[npu, instance]
        sizes = columns.message_bytes(bytes)
        for row in part.sends.pop((step, count), []):
            part.unsent.remove(row)
            receiver = members[columns.receiver[row]]
            delay_ps = self._message_ps(int(sizes[row])) * self._slowness.get(npu, 1) + self._extra_ps(npu, receiver)
            if not self._lost(columns, row):
                self._at(delay_ps, partial(self._arrive, receiver, instance, row))
        self._finish_if_done(npu, instance)

    def _arrive(self, npu: int, instance: int, row: int) -> None:
        if (npu, instance) not in self._parts:
            self._before_launch[npu, instance].append(row)
            return
        part, columns, _, bytes = self._parts[npu, instance]
        step = int(columns.step[row])
        if step != next(iter(part.left)):
            part.early[step].append(row)
            return
        delay_ps = self._endpoint.delay_ps
        if columns.reduces[row]:
            size = int(columns.message_bytes(bytes)[row])
            delay_ps += 3 * (size // self._endpoint.reduction_bytes_per_ns) * 1000
        self._at(delay_ps, lambda: self._handle(npu, instance, row))

    def _handle(self, npu: int, instance: int, row: int) -> None:
        part, columns, _, _ = self._parts[npu, instance]
        step = int(columns.step[row])
        part.unhandled.remove(row)
        part.left[step] -= 1
        part.handled += 1
        count = part.handled
        if not part.left[step]:
            del part.left[step]
            part.handled = 0
        self._send(npu, instance, step, count)
        if part.left and part.handled == 0:
            for early in part.early.pop(next(iter(part.left)), []):
                self._arrive(npu, instance, early)

    def _finish_if_done(self, npu: int, instance: int) -> None:
        part = self._parts[npu, instance][0]
        if not part.unsent and not part.unhandled:
            del self._parts[npu, instance]
            self._listener.phase_done(npu, instance, self._now_ps)
