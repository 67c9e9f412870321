"""The common part of drivers that hand communication to a system layer: how they run, and what they tell of it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

from astra_ns3.network.collective_records import CollectiveRecords
from astra_ns3.network.records import (
    LayerDetail,
    NpuRecord,
    RunRecords,
)
from astra_ns3.playing.drivers.driver import Driver, Intervals
from astra_ns3.system.journal import Journal
from astra_ns3.system.layer import SystemLayer


class Recorded(Protocol):
    """The work of an NPU."""

    def record(self, now_ps: int) -> NpuRecord:
        """Its totals until now."""


class SystemDriver(Driver, ABC):
    """A :class:`~astra_ns3.playing.drivers.driver.Driver` but for the workload itself; the network's listener."""

    _system: SystemLayer
    _journal: Journal | None

    @abstractmethod
    def _each_npu(self) -> Sequence[Recorded]:
        """The record keeper of each NPU, in order."""

    def phase_done(self, npu: int, instance: int, time_ps: int) -> None:
        """From the network: an NPU finished a phase of a chunk."""
        self._system.phase_done(npu, instance, time_ps)

    def _npus_done(self, npus: int) -> None:
        self._left -= npus
        if not self._left:
            self._network.stop()

    def records(self) -> RunRecords:
        """All that is known by now; ``complete`` once every NPU is done."""
        now_ps = self._network.now_ps()
        npus = tuple(npu.record(now_ps) for npu in self._each_npu())
        return RunRecords(
            complete=self.finished,
            finish_ps=max(npu.finish_ps for npu in npus),
            npus=npus,
            layers=self.layers(),
            details=self._system.details(),
            collectives=self._system.history.all(),
            busy=self._system.busy(),
            sent_bytes=self._system.sent_bytes,
            reported_npu=self._reported,
            roles=self.roles(),
        )

    def totals(self) -> npt.NDArray[np.int64]:
        """The totals of every NPU by now, shape ``(npus, 4)``: finish, compute and exposed time, whether it is done."""
        now_ps = self._network.now_ps()
        records = (npu.record(now_ps) for npu in self._each_npu())
        return np.array([(r.finish_ps, r.compute_ps, r.exposed_ps, r.done) for r in records], dtype=np.int64)

    def hand_over_rows(self) -> None:
        """Hand on all that was recorded so far, so that it is safe if this process dies."""
        self._network.hand_over_rows()
        if self._journal is not None:
            self._journal.hand_over()

    def details(self) -> tuple[LayerDetail, ...]:
        """Chunk times of the reported NPU, a row per layer."""
        return self._system.details()

    @property
    def sent_bytes(self) -> tuple[int, ...]:
        """Bytes that the reported NPU sent in each dimension, in phases that it finished."""
        return self._system.sent_bytes

    def collective_changes(self, since: int) -> tuple[int, CollectiveRecords]:
        """As :meth:`History.changes`."""
        return self._system.history.changes(since)

    def busy_changes(self, since: Sequence[int]) -> tuple[tuple[int, Intervals], ...]:
        """As :meth:`SystemLayer.busy_changes`."""
        return self._system.busy_changes(since)

    def oldest_collective(self) -> tuple[str, int] | None:
        """As :meth:`SystemLayer.oldest_collective`."""
        return self._system.oldest_collective()
