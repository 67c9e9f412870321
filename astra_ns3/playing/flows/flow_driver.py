"""Plays a list of flows: each starts at its time, or when those before it have been delivered. No object per flow."""

from __future__ import annotations

from functools import partial

import numpy as np
import numpy.typing as npt

from astra_ns3.config.flow_list import FlowList
from astra_ns3.errors import SimulationStalled
from astra_ns3.network.api import NetworkBackend
from astra_ns3.network.instance import pack_instance, unpack_instance
from astra_ns3.network.recorded import TableSink
from astra_ns3.network.records import (
    Chain,
    FlowTotals,
    NpuRecord,
    RunRecords,
)
from astra_ns3.playing.drivers.driver import Driver, Heartbeat
from astra_ns3.playing.flows.completions import Completions, Ideal, not_known
from astra_ns3.playing.flows.flow_totals import flow_totals
from astra_ns3.playing.flows.gates import OpenGates
from astra_ns3.playing.flows.goodput import DeliveryCurve, at_mean_rates
from astra_ns3.playing.flows.launching import FlowLauncher
from astra_ns3.units import format_bytes, format_time


class FlowDriver(Driver):
    """All of ``flows`` on ``network``; it is the network's listener.

    ``ideal``: what each would take alone, for the slowdown. ``completions_to``: takes a row of each that is delivered.
    ``on_heartbeat(time_ps, events)`` is called about ten times a second; what it raises ends the run. Raises InputError
    if the network lacks an NPU.
    """

    def __init__(
        self,
        network: NetworkBackend,
        flows: FlowList,
        *,
        ideal: Ideal = not_known,
        on_heartbeat: Heartbeat | None = None,
        report_npu: int = 0,
        completions_to: TableSink | None = None,
    ) -> None:
        flows.check_npus(network.npus)
        self._network = network
        self._flows = flows
        self._reported = report_npu
        self._on_heartbeat = on_heartbeat
        self._launcher = FlowLauncher(network, flows)
        self._completions = Completions(flows, ideal, completions_to)
        self._gates = None if flows.waits_for is None else OpenGates(flows)
        free = np.arange(len(flows)) if self._gates is None else self._gates.open_from_the_start()
        self._order = free[np.argsort(flows.starts_ps[free], kind="stable")].astype(np.int32)
        self._next = 0
        self._curve = DeliveryCurve()
        self._left = len(flows)
        self._started = False

    def start(self) -> None:
        """Put the first flow's start on the network's list of events; once."""
        if not self._started:
            self._started = True
            self._wait_for_next(self._network.now_ps())

    def check_finished(self) -> None:
        """Raise SimulationStalled, saying which is left, unless every flow is delivered."""
        if self._left:
            raise SimulationStalled(describe_stall(self._network, self._flows, self._completions))

    def phase_done(self, npu: int, instance: int, time_ps: int) -> None:
        """From the network: one end of a flow is done; the destination's is its delivery."""
        flow, _, _ = unpack_instance(instance)
        if npu != self._flows.destinations[flow]:
            return
        self._completions.ended(flow, time_ps)
        self._measure(time_ps)
        self._left -= 1
        if not self._left:
            self._network.stop()
        elif self._gates is not None:
            for freed in self._gates.delivered(flow):
                self._start_freed(freed, time_ps)

    def hand_over_rows(self) -> None:
        """Hand on all that was recorded so far, so that it is safe if this process dies."""
        self._network.hand_over_rows()
        self._completions.hand_over()

    def close_journal(self) -> None:
        """Nothing more will happen: hand all on."""
        self._completions.hand_over()

    def progress(self) -> tuple[int, int, int, int]:
        """Lists done, lists (one), flows delivered, flows."""
        return int(self.finished), 1, self._completions.delivered, len(self._flows)

    def records(self) -> RunRecords:
        """All that is known by now; ``complete`` once every flow is delivered."""
        npus = tuple(
            NpuRecord(npu, finish_ps, compute_ps, exposed_ps, bool(done))
            for npu, (finish_ps, compute_ps, exposed_ps, done) in enumerate(self.totals().tolist())
        )
        return RunRecords(
            complete=self.finished,
            finish_ps=max(npu.finish_ps for npu in npus),
            npus=npus,
            layers=(),
            details=(),
            collectives=(),
            busy=(),
            sent_bytes=self.sent_bytes,
            reported_npu=self._reported,
            flows=self.flow_totals(),
        )

    @property
    def chain(self) -> Chain:
        """The last of the starts that the list itself has."""
        flow = int(self._flows.starts_ps.argmax())
        time_ps, source = int(self._flows.starts_ps[flow]), int(self._flows.sources[flow])
        return Chain(time_ps, source, f"the start of flow {flow} on NPU {{}}")

    def flow_totals(self) -> FlowTotals:
        """The totals of the flows so far."""
        completions = self._completions
        goodput = (
            at_mean_rates(completions.starts_ps, completions.ends_ps, self._flows.sizes_bytes)
            if self._network.delivers_whole
            else self._curve.intervals(self._network.now_ps(), self._network.delivered_bytes() or 0)
        )
        return flow_totals(self._flows, completions.starts_ps, completions.ends_ps, completions.ideal_ps, goodput)

    def totals(self) -> npt.NDArray[np.int64]:
        """The totals of every NPU by now, shape ``(npus, 4)``: finish, compute and exposed time, whether it is done.

        An NPU is done when all flows from and to it are delivered; then its finish is the last delivery.
        """
        npus, ends_ps = self._network.npus, self._completions.ends_ps
        found = np.zeros((npus, 4), dtype=np.int64)
        left = np.zeros(npus, dtype=np.int64)
        for ends in (self._flows.sources, self._flows.destinations):
            np.maximum.at(found[:, 0], ends, np.maximum(ends_ps, 0))
            left += np.bincount(ends[ends_ps < 0], minlength=npus)
        found[left > 0, 0] = self._network.now_ps()
        found[:, 2] = found[:, 0]
        found[:, 3] = left == 0
        return found

    @property
    def sent_bytes(self) -> tuple[int, ...]:
        """Bytes of the delivered flows that the reported NPU has sent."""
        flows, delivered = self._flows, self._completions.ends_ps >= 0
        return (int(flows.sizes_bytes[(flows.sources == self._reported) & delivered].sum()),)

    def oldest_collective(self) -> tuple[str, int] | None:
        """The flow that started first of those on their way, and when."""
        completions = self._completions
        on_their_way = np.flatnonzero((completions.starts_ps >= 0) & (completions.ends_ps < 0))
        if not len(on_their_way):
            return None
        flow = int(on_their_way[np.argmin(completions.starts_ps[on_their_way])])
        return f"flow {flow}", int(completions.starts_ps[flow])

    def _wait_for_next(self, now_ps: int) -> None:
        """Have the next flow in order of time started; one event at a time is on the network's list."""
        if self._next < len(self._order):
            flow = self._order[self._next]
            delay_ps = max(int(self._flows.starts_ps[flow]) - now_ps, 0)
            self._network.call_later(int(self._flows.sources[flow]), delay_ps, self._start_due)

    def _start_due(self, time_ps: int) -> None:
        while self._next < len(self._order):
            flow = int(self._order[self._next])
            if self._flows.starts_ps[flow] > time_ps:
                break
            self._next += 1
            self._launch(flow, time_ps)
        self._wait_for_next(time_ps)

    def _start_freed(self, flow: int, time_ps: int) -> None:
        """Start a flow whose gate has opened, now or at its start."""
        delay_ps = int(self._flows.starts_ps[flow]) - time_ps
        if delay_ps > 0:
            self._network.call_later(int(self._flows.sources[flow]), delay_ps, partial(self._launch, flow))
        else:
            self._launch(flow, time_ps)

    def _launch(self, flow: int, time_ps: int) -> None:
        self._completions.started(flow, time_ps)
        self._measure(time_ps)
        self._launcher.launch(flow)

    def _measure(self, time_ps: int) -> None:
        """Take down how much has been delivered by now, unless that was done just before."""
        if not self._network.delivers_whole and self._curve.due(time_ps):
            self._curve.take(time_ps, self._network.delivered_bytes() or 0)


def describe_stall(network: NetworkBackend, flows: FlowList, completions: Completions) -> str:
    """Return which flows are left when nothing happens any more: of those on their way, the first that started."""
    left = len(flows) - completions.delivered
    on_their_way = np.flatnonzero((completions.starts_ps >= 0) & (completions.ends_ps < 0))
    stuck = f"nothing is left to happen at {format_time(network.now_ps())} but {left} of {len(flows)} flows are left"
    if not len(on_their_way):
        return stuck
    flow = int(on_their_way[np.argmin(completions.starts_ps[on_their_way])])
    source, destination = int(flows.sources[flow]), int(flows.destinations[flow])
    unsent = network.pending(source, pack_instance(flow, 0, 0))
    how = "has not been sent" if unsent else "was sent and has not arrived"
    return (
        f"{stuck}: {flows.where(flow)}, {format_bytes(int(flows.sizes_bytes[flow]))} from NPU {source} to NPU "
        f"{destination}, {how}"
    )
