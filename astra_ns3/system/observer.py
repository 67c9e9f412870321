"""The eye on one NPU: how long its chunks wait and run, when its queues are busy, what it sends."""

from __future__ import annotations

from collections.abc import Sequence

from astra_ns3.network.records import DimensionTimes, LayerDetail, PhaseTimes
from astra_ns3.system.launches import Launch
from astra_ns3.units import PS_PER_NS


class _LayerChunks:
    """A layer's chunks on the NPU."""

    def __init__(self, dimensions: int) -> None:
        self.chunks = 0
        self.creation_ps = 0
        self.phases: list[list[int]] = []  # chunks, time in the queue, time in the network
        self.dimensions = [[0, 0] for _ in range(dimensions)]  # chunks, time


class NpuObserver:
    """Sums per layer of ``npu``; a chunk is known by its instance number while it waits or runs."""

    def __init__(self, npu: int, layers: int, dimensions: int) -> None:
        self._npu = npu
        self._since: dict[int, int] = {}
        self._layers: dict[int | str, _LayerChunks] = {layer: _LayerChunks(dimensions) for layer in range(layers)}
        self._queue_ps: dict[int, int] = {}
        self._held = [0] * dimensions
        self._busy: list[list[tuple[int, int]]] = [[] for _ in range(dimensions)]
        self._busy_since = [0] * dimensions
        self.sent_bytes = [0] * dimensions

    def created(self, layer: int | str, chunks: int) -> None:
        """A collective of ``layer`` was cut in so many chunks."""
        self._of(layer).chunks += chunks

    def held(self, layer: int | str, time_ps: int) -> None:
        """Chunks of ``layer`` entered their queues later than they were created, by ``time_ps`` in all."""
        self._of(layer).creation_ps += time_ps

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

    def finished(self, instance: int, phase: int, layer: int | str, launch: Launch, time_ps: int) -> None:
        """A chunk finished phase number ``phase``, which was ``launch``."""
        run_ps = time_ps - self._since.pop(instance)
        sums = self._of(layer)
        while len(sums.phases) <= phase:
            sums.phases.append([0, 0, 0])
        costs = launch.costs(self._npu)
        of_phase = sums.phases[phase]
        of_phase[0] += 1
        of_phase[1] += self._queue_ps.pop(instance)
        overhead_ns = (costs.receive_steps + 1) * launch.endpoint_delay_ns + costs.reduction_ns
        of_phase[2] += max(run_ps - overhead_ns * PS_PER_NS, 0) // max(costs.receive_steps, 1)
        times = sums.dimensions[launch.dimension]
        times[0] += 1
        times[1] += run_ps
        self.sent_bytes[launch.dimension] += costs.sent_bytes
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
        """For each dimension, a place and the intervals of :meth:`busy` from there on; see SystemLayer.busy_changes."""
        changes = []
        for dimension, intervals in enumerate(self._busy):
            # The last interval may have been taken back to be prolonged, so it is told again.
            place = max(0, min(since[dimension] if since else 0, len(intervals)) - 1)
            begin = self._busy_since[dimension]
            goes_on = ((begin, now_ps),) if self._held[dimension] and begin < now_ps else ()
            changes.append((place, (*intervals[place:], *goes_on)))
        return tuple(changes)

    def details(self, names: Sequence[str]) -> tuple[LayerDetail, ...]:
        """A row per layer of the workload, whose ``names`` are given, and for each other name."""
        return tuple(
            LayerDetail(
                names[layer] if isinstance(layer, int) else layer,
                sums.chunks,
                sums.creation_ps,
                tuple(PhaseTimes(*of_phase) for of_phase in sums.phases),
                tuple(DimensionTimes(*times) for times in sums.dimensions),
            )
            for layer, sums in self._layers.items()
        )

    def _of(self, layer: int | str) -> _LayerChunks:
        if layer not in self._layers:
            self._layers[layer] = _LayerChunks(len(self.sent_bytes))
        return self._layers[layer]
