"""What a run has done by now, cheap enough to be told all the time: only what has changed since it was told last."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from astra_ns3.network.api import NetworkBackend
from astra_ns3.network.collective_records import CollectiveColumns, CollectiveRecords
from astra_ns3.network.records import (
    FlowTotals,
    LayerDetail,
    LayerTimes,
    NpuRecord,
    RoleTimes,
    RunRecords,
)
from astra_ns3.playing.drivers.driver import Driver

MOST_SHARE = 0.01
"""Of the wall time that may go into taking snapshots: a large run takes them more rarely."""

Intervals = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Snapshot:
    """Changes since the last one. ``npus``: shape ``(npus, 4)``, see Driver.totals."""

    npus: npt.NDArray[np.int64]
    layers: tuple[LayerTimes, ...]
    details: tuple[LayerDetail, ...]
    collectives: CollectiveRecords
    busy: Sequence[tuple[int, Intervals]]
    sent_bytes: tuple[int, ...]
    reported_npu: int
    roles: tuple[RoleTimes, ...]
    flows: FlowTotals | None
    statistics: Mapping[str, Any]
    switch_ports: Sequence[Mapping[str, Any]]


class SnapshotTaker:
    """Takes snapshots of a run, at most :data:`MOST_SHARE` of the time."""

    def __init__(self, driver: Driver, network: NetworkBackend, clock: Callable[[], float] = time.perf_counter) -> None:
        self._driver = driver
        self._peek = network.peek
        self._clock = clock
        self._collectives = 0
        self._intervals: tuple[int, ...] = ()
        self._next_at = 0.0
        self._first = True

    def take_if_due(self) -> Snapshot | None:
        """A snapshot, unless the last ones took too much of the time."""
        begin = self._clock()
        if begin < self._next_at:
            return None
        snapshot = self._take()
        end = self._clock()
        # The first one says nothing of the cost: the bridge prepares each of its calls once.
        self._next_at = end if self._first else end + (end - begin) / MOST_SHARE
        self._first = False
        return snapshot

    def _take(self) -> Snapshot:
        driver = self._driver
        self._collectives, collectives = driver.collective_changes(self._collectives)
        busy = driver.busy_changes(self._intervals)
        self._intervals = tuple(place + len(intervals) for place, intervals in busy)
        statistics, ports = self._peek()
        return Snapshot(
            npus=driver.totals(),
            layers=driver.layers(),
            details=driver.details(),
            collectives=collectives,
            busy=busy,
            sent_bytes=driver.sent_bytes,
            reported_npu=driver.reported_npu,
            roles=driver.roles(),
            flows=driver.flow_totals(),
            statistics=statistics,
            switch_ports=ports,
        )


class Accumulated:
    """What all snapshots together say of a run."""

    def __init__(self) -> None:
        self._last: Snapshot | None = None
        self._collectives = CollectiveColumns()
        self._busy: list[list[tuple[int, int]]] = []

    def add(self, snapshot: Snapshot) -> None:
        """Take a snapshot in, in the order in which they were taken."""
        self._last = snapshot
        self._collectives.update(snapshot.collectives)
        if not self._busy:
            self._busy = [[] for _ in snapshot.busy]
        for intervals, (place, changed) in zip(self._busy, snapshot.busy, strict=True):
            intervals[place:] = changed

    @property
    def last(self) -> Snapshot | None:
        """The newest snapshot; None: there was none."""
        return self._last

    def records(self) -> RunRecords:
        """The records of the run, as of the newest snapshot, which there must be."""
        snapshot = self._last
        assert snapshot is not None
        npus = tuple(
            NpuRecord(npu, finish_ps, compute_ps, exposed_ps, bool(done))
            for npu, (finish_ps, compute_ps, exposed_ps, done) in enumerate(snapshot.npus.tolist())
        )
        return RunRecords(
            complete=False,
            finish_ps=max(npu.finish_ps for npu in npus),
            npus=npus,
            layers=snapshot.layers,
            details=snapshot.details,
            collectives=self._collectives.all(),
            busy=tuple(map(tuple, self._busy)),
            sent_bytes=snapshot.sent_bytes,
            reported_npu=snapshot.reported_npu,
            roles=snapshot.roles,
            flows=snapshot.flows,
        )
