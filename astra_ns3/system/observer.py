"""The eye on NPU 0: how long its chunks wait and run, when its queues are busy, what it sends."""

from __future__ import annotations

from collections.abc import Sequence

from astra_ns3.network.records import DimensionTimes, LayerDetail, PhaseTimes
from astra_ns3.system.launches import Launch


class NpuObserver:
    """Sums per layer; a chunk is known by its instance number while it waits or runs."""

    def __init__(self, layers: int, dimensions: int) -> None:
        self._dimensions = dimensions
        self._since: dict[int, int] = {}
        self._phases: list[list[list[int]]] = [[] for _ in range(layers)]  # layer, phase: chunks, queue, network
        self._dimension_times = [[[0, 0] for _ in range(dimensions)] for _ in range(layers)]  # chunks, time
        self._chunks = [0] * layers
        self._queue_ps: dict[int, int] = {}
        self._held = [0] * dimensions
        self._busy: list[list[tuple[int, int]]] = [[] for _ in range(dimensions)]
        self._busy_since = [0] * dimensions
        self.sent_bytes = [0] * dimensions

    def created(self, layer: int, chunks: int) -> None:
        """A collective of ``layer`` was cut in so many chunks, which enter their queue at once."""
        self._chunks[layer] += chunks

    def entered(self, instance: int, dimension: int, time_ps: int) -> None:
        """A chunk joined the queue of a dimension."""
        self._since[instance] = time_ps
        if not self._held[dimension]:
            intervals = self._busy[dimension]
            adjoins = bool(intervals) and intervals[-1][1] == time_ps
            self._busy_since[dimension] = intervals.pop()[0] if adjoins else time_ps
        self._held[dimension] += 1

    def started(self, instance: int, time_ps: int) -> None:
        """A chunk got a slot."""
        self._queue_ps[instance] = time_ps - self._since[instance]
        self._since[instance] = time_ps

    def finished(self, instance: int, phase: int, layer: int, launch: Launch, time_ps: int) -> None:
        """A chunk finished phase number ``phase``, which was ``launch``."""
        run_ps = time_ps - self._since.pop(instance)
        phases = self._phases[layer]
        while len(phases) <= phase:
            phases.append([0, 0, 0])
        sums = phases[phase]
        sums[0] += 1
        sums[1] += self._queue_ps.pop(instance)
        sums[2] += max(run_ps - launch.overhead_ps, 0) // max(launch.steps, 1)
        times = self._dimension_times[layer][launch.dimension]
        times[0] += 1
        times[1] += run_ps
        self.sent_bytes[launch.dimension] += launch.sent_bytes
        self._held[launch.dimension] -= 1
        if not self._held[launch.dimension]:
            self._busy[launch.dimension].append((self._busy_since[launch.dimension], time_ps))

    def busy(self, now_ps: int) -> tuple[tuple[tuple[int, int], ...], ...]:
        """Busy intervals of each dimension; one that goes on ends now."""
        return tuple(
            (*intervals, (begin, now_ps)) if held and begin < now_ps else tuple(intervals)
            for intervals, begin, held in zip(self._busy, self._busy_since, self._held, strict=True)
        )

    def busy_changes(self, since: Sequence[int], now_ps: int) -> tuple[tuple[int, tuple[tuple[int, int], ...]], ...]:
        """Of each dimension a place, and the intervals of :meth:`busy` from there on; see SystemLayer.busy_changes."""
        changes = []
        for dimension, intervals in enumerate(self._busy):
            # The last interval may have been taken back to be prolonged, so it is told again.
            place = max(0, min(since[dimension] if since else 0, len(intervals)) - 1)
            begin = self._busy_since[dimension]
            goes_on = ((begin, now_ps),) if self._held[dimension] and begin < now_ps else ()
            changes.append((place, (*intervals[place:], *goes_on)))
        return tuple(changes)

    def details(self, names: list[str]) -> tuple[LayerDetail, ...]:
        """One row per layer."""
        return tuple(
            LayerDetail(
                name,
                self._chunks[layer],
                0,  # chunks enter their first queue when they are created
                tuple(PhaseTimes(*sums) for sums in self._phases[layer]),
                tuple(DimensionTimes(*times) for times in self._dimension_times[layer]),
            )
            for layer, name in enumerate(names)
        )
