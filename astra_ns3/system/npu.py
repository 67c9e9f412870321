"""What one NPU holds of one dimension: the chunks that wait there, and those that run."""

from __future__ import annotations

import heapq

from astra_ns3.system.launch_order import LaunchOrder

_SPARE = 64


class DimensionQueue:
    """Waiting chunks by priority, and ``slots`` places to run in; see :mod:`astra_ns3.system.launch_order`."""

    __slots__ = ("_arrivals", "_heap", "_order", "_position", "_running", "_slots", "_waiting")

    def __init__(self, order: LaunchOrder, slots: int) -> None:
        self._order = order
        self._slots = slots
        self._position = 0
        self._running: set[int] = set()
        self._arrivals = 0
        self._waiting: set[int] = set()
        self._heap: list[tuple[int, int, int]] = []

    @property
    def running(self) -> frozenset[int]:
        """The chunks that run."""
        return frozenset(self._running)

    @property
    def waiting(self) -> frozenset[int]:
        """The chunks that wait for a slot or their turn."""
        return frozenset(self._waiting)

    def add(self, instance: int, priority: int) -> None:
        """A chunk enters the queue: behind those of its priority, before those of a lower one."""
        self._waiting.add(instance)
        heapq.heappush(self._heap, (-priority, self._arrivals, instance))
        self._arrivals += 1

    def start_next(self) -> int | None:
        """Take the chunk to start now; None if no slot is free or none may start."""
        if len(self._running) >= self._slots or not self._waiting:
            return None
        instance = self._order.at(self._position)
        if instance is None:
            instance = self._first_waiting()
            self._order.append(instance)
        elif instance not in self._waiting:
            return None
        self._waiting.discard(instance)
        self._drop_stale()
        self._position += 1
        self._running.add(instance)
        return instance

    def finish(self, instance: int) -> None:
        """A running chunk has finished its phase."""
        self._running.remove(instance)

    def awaited(self) -> int | None:
        """The chunk that must start before any other here; None if the NPU may choose."""
        return self._order.at(self._position)

    def _first_waiting(self) -> int:
        while True:
            instance = heapq.heappop(self._heap)[2]
            if instance in self._waiting:  # else it was started as the log said
                return instance

    def _drop_stale(self) -> None:
        """Keep what the log started from piling up in the heap of an NPU that never chooses."""
        if len(self._heap) > 2 * len(self._waiting) + _SPARE:
            self._heap = [entry for entry in self._heap if entry[2] in self._waiting]
            heapq.heapify(self._heap)
