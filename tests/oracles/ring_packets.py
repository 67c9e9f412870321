"""Packets of a ring all-reduce over RoCE, event by event, below leaf switches and one spine; apart from the program.

An NPU works on one chunk at a time. It sends a step's message when it has the message of the step before. Its NIC sends
acknowledgements first, then packets of its messages, in an order to choose:

* ``in a row``: one message after the other;
* ``by age``: in turn by age, oldest first and all around. A message that comes is next after the youngest. The known
  codes of HPCC and ASTRA-sim have this order, for queue pairs stand in a list in the order in which they are made;
* ``as they come``: in turn as deficit round robin's active list (Shreedhar, Varghese, SIGCOMM 1995). A message joins it
  at the end, and anew when a packet of it has left.

Switches store and forward, first in, first out. No packet is lost or held back. Times are picoseconds.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Literal

from oracles.roce_times import ACK, HEADERS, Star, wire

_Place = tuple[str, int]
Order = Literal["in a row", "by age", "as they come"]


@dataclass
class _Message:
    age: int
    chunk: int
    step: int
    left: int


@dataclass
class _Npu:
    acks: deque[int] = field(default_factory=deque)
    active: deque[_Message] = field(default_factory=deque)
    sent: _Message | None = None
    last_age: int = -1
    busy: bool = False
    chunk: int = 0
    step: int = 0
    handling: bool = False
    arrived: set[tuple[int, int]] = field(default_factory=set)


@dataclass
class RingPackets:
    """The ring of all hosts in their order; ``line`` has rate and delay of every line."""

    leaves: int
    hosts: int
    chunks: int
    message_bytes: int
    payload: int
    line: Star
    endpoint_ps: int
    order: Order

    def finish_ps(self) -> int:
        """When the last NPU has the last message of its last chunk."""
        self._npus = [_Npu() for _ in range(self.leaves * self.hosts)]
        self._steps = 2 * (len(self._npus) - 1)
        self._free: dict[tuple[_Place, _Place], int] = {}
        self._events: list[tuple[int, bool, int, Callable[..., None], Any]] = []
        self._ages, self._places, self._now = count(), count(), 0
        for npu in range(len(self._npus)):
            self._after(self.endpoint_ps, self._send, npu)
        while self._events:
            self._now, _, _, act, what = heapq.heappop(self._events)
            act(*what)
        assert all(npu.chunk == self.chunks for npu in self._npus)
        return self._finish_ps

    def _after(self, delay_ps: int, act: Callable[..., None], *what: Any) -> None:
        # At one moment, a NIC takes its next packet before messages come.
        late = act != self._idle
        heapq.heappush(self._events, (self._now + delay_ps, late, next(self._places), act, what))

    def _send(self, number: int) -> None:
        npu = self._npus[number]
        npu.active.append(_Message(next(self._ages), npu.chunk, npu.step, self.message_bytes))
        self._serve(number)
        self._receive(number)

    def _serve(self, number: int) -> None:
        npu = self._npus[number]
        if npu.busy:
            return
        if npu.acks:
            self._put(number, npu.acks.popleft(), ACK, None)
            return
        if npu.sent:
            npu.active.append(npu.sent) if self.order == "as they come" else npu.active.appendleft(npu.sent)
            npu.sent = None
        if npu.active:
            message = npu.active[0]
            if self.order == "by age":
                message = min(npu.active, key=lambda each: (each.age <= npu.last_age, each.age))
            npu.active.remove(message)
            npu.last_age = message.age
            packet = min(self.payload, message.left)
            message.left -= packet
            npu.sent = message if message.left else None
            last = (message.chunk, message.step) if message.left == 0 else ()
            self._put(number, (number + 1) % len(self._npus), packet + HEADERS, last)

    def _put(self, number: int, to: int, size: int, last: tuple[int, ...] | None) -> None:
        """On the NIC's line; ``last``: None for an acknowledgement, else the message that ends."""
        self._npus[number].busy = True
        took_ps = self.line.line_ps(wire(size))
        ways: list[_Place] = [("leaf", number // self.hosts), ("leaf", to // self.hosts), ("host", to)]
        way = [ways[0], ways[2]] if ways[0] == ways[1] else [ways[0], ("spine", 0), *ways[1:]]
        self._after(took_ps, self._idle, number)
        self._after(took_ps + self.line.delay_ps, self._forward, way, size, number, last)

    def _idle(self, number: int) -> None:
        self._npus[number].busy = False
        self._serve(number)

    def _forward(self, way: list[_Place], size: int, source: int, last: tuple[int, ...] | None) -> None:
        """The first place of ``way`` has the whole packet."""
        if len(way) > 1:
            port = way[0], way[1]
            self._free[port] = max(self._free.get(port, 0), self._now) + self.line.line_ps(wire(size))
            self._after(self._free[port] - self._now + self.line.delay_ps, self._forward, way[1:], size, source, last)
        elif last is not None:
            npu = self._npus[way[0][1]]
            npu.acks.append(source)
            self._serve(way[0][1])
            npu.arrived.update([last] if last else [])  # type: ignore[list-item]
            self._receive(way[0][1])

    def _receive(self, number: int) -> None:
        npu = self._npus[number]
        if not npu.handling and (npu.chunk, npu.step) in npu.arrived:
            npu.handling = True
            self._after(self.endpoint_ps, self._received, number)

    def _received(self, number: int) -> None:
        npu = self._npus[number]
        npu.handling, npu.step = False, npu.step + 1
        if npu.step < self._steps:
            self._send(number)
            return
        npu.chunk, npu.step, self._finish_ps = npu.chunk + 1, 0, self._now
        if npu.chunk < self.chunks:
            npu.handling = True  # until the next chunk begins
            self._after(self.endpoint_ps, self._begin, number)

    def _begin(self, number: int) -> None:
        self._npus[number].handling = False
        self._send(number)
