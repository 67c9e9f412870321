"""Snapshots of a run that goes on. Each has only the changes since the one before, so that telling them is cheap."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from astra_ns3.frozen import dataclass
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
from astra_ns3.scenario.times import Outcome

MOST_SHARE = 0.01
"""The share of the wall time for taking snapshots: a large run takes them more rarely."""

Intervals = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class TenantSnapshot:
    """A tenant's changes since the last one. ``npus``: shape ``(npus, 4)``, see Driver.totals."""

    npus: npt.NDArray[np.int64]
    layers: tuple[LayerTimes, ...]
    details: tuple[LayerDetail, ...]
    collectives: CollectiveRecords
    busy: Sequence[tuple[int, Intervals]]
    sent_bytes: tuple[int, ...]
    reported_npu: int
    roles: tuple[RoleTimes, ...]
    flows: FlowTotals | None


@dataclass(frozen=True)
class Snapshot:
    """All tenants' changes since the last one, and the network's counters."""

    tenants: tuple[TenantSnapshot, ...]
    statistics: Mapping[str, int | float]
    switch_ports: Sequence[Mapping[str, str | int]]
    outcomes: tuple[Outcome, ...] = ()
    """The outcome of each tenant by now."""


class SnapshotTaker:
    """Takes snapshots of a run, at most :data:`MOST_SHARE` of the time."""

    def __init__(
        self,
        drivers: Iterable[Driver],
        network: NetworkBackend,
        clock: Callable[[], float] = time.perf_counter,
        outcomes: Callable[[], tuple[Outcome, ...]] = tuple,
    ) -> None:
        self._tenants = [_TenantTaker(driver) for driver in drivers]
        self._peek = network.peek
        self._clock = clock
        self._outcomes = outcomes
        self._next_at = 0.0
        self._first = True

    def take_if_due(self) -> Snapshot | None:
        """A snapshot, unless the last ones took too much of the time."""
        begin = self._clock()
        if begin < self._next_at:
            return None
        statistics, ports = self._peek()
        snapshot = Snapshot(tuple(tenant.take() for tenant in self._tenants), statistics, ports, self._outcomes())
        end = self._clock()
        # The first one says nothing of the cost: the bridge prepares each of its calls once.
        self._next_at = end if self._first else end + (end - begin) / MOST_SHARE
        self._first = False
        return snapshot


class _TenantTaker:
    """Takes the part of a snapshot that one driver knows."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver
        self._collectives = 0
        self._intervals: tuple[int, ...] = ()

    def take(self) -> TenantSnapshot:
        """Return what has changed since the last time."""
        driver = self._driver
        self._collectives, collectives = driver.collective_changes(self._collectives)
        busy = driver.busy_changes(self._intervals)
        self._intervals = tuple(index + len(intervals) for index, intervals in busy)
        return TenantSnapshot(
            npus=driver.totals(),
            layers=driver.layers(),
            details=driver.details(),
            collectives=collectives,
            busy=busy,
            sent_bytes=driver.sent_bytes,
            reported_npu=driver.reported_npu,
            roles=driver.roles(),
            flows=driver.flow_totals(),
        )


class Accumulated:
    """All snapshots of a run, put together; ``last``: the newest (None: there was none)."""

    def __init__(self) -> None:
        self.last: Snapshot | None = None
        self._tenants: list[_Tenant] = []

    def add(self, snapshot: Snapshot) -> None:
        """Take a snapshot in, in the order in which they were taken."""
        self.last = snapshot
        if not self._tenants:
            self._tenants = [_Tenant() for _ in snapshot.tenants]
        for tenant, own in zip(self._tenants, snapshot.tenants, strict=True):
            tenant.add(own)

    def records(self) -> tuple[RunRecords, ...]:
        """The records of each tenant, as of the newest snapshot, which there must be."""
        assert self.last is not None
        return tuple(tenant.records(own) for tenant, own in zip(self._tenants, self.last.tenants, strict=True))


class _Tenant:
    """All snapshots of one tenant, put together."""

    def __init__(self) -> None:
        self._collectives = CollectiveColumns()
        self._busy: list[list[tuple[int, int]]] = []

    def add(self, snapshot: TenantSnapshot) -> None:
        """Take the tenant's part of a snapshot in."""
        self._collectives.update(snapshot.collectives)
        if not self._busy:
            self._busy = [[] for _ in snapshot.busy]
        for intervals, (index, changed) in zip(self._busy, snapshot.busy, strict=True):
            intervals[index:] = changed

    def records(self, snapshot: TenantSnapshot) -> RunRecords:
        """Return the records of the tenant, of which ``snapshot`` is the newest."""
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
