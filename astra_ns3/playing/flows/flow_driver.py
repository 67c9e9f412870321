"""Plays lists of flows: each starts at its time, or when those before it have been delivered. No object per flow.

Flows that wait for nothing but time are the backend's to start, where it has a player; others are launched from here.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from astra_ns3.config.flow_list import FlowList, joined
from astra_ns3.errors import SimulationStalled
from astra_ns3.network.api import NetworkBackend
from astra_ns3.network.flow_player import FlowPlayer, FlowPlayerSetup
from astra_ns3.network.instance import pack_instance
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
from astra_ns3.playing.flows.goodput import at_mean_rates, intervals_of
from astra_ns3.playing.flows.launched_flows import LaunchedFlows
from astra_ns3.system.messages import message_schedule
from astra_ns3.units import format_bytes, format_time


class FlowDriver(Driver):
    """All of ``flows`` on ``network``; it is the network's listener.

    ``more``: lists of flows that follow, without end, each from the start of the one before on; their numbers go on.
    ``ideal``: what each would take alone, for the slowdown. ``completions_to``: takes a row of each that is delivered.
    ``on_heartbeat(time_ps, events)`` is called about ten times a second; what it raises ends the run. Raises InputError
    if the network lacks an NPU.
    """

    def __init__(
        self,
        network: NetworkBackend,
        flows: FlowList,
        *,
        more: Iterator[FlowList] | None = None,
        ideal: Ideal = not_known,
        on_heartbeat: Heartbeat | None = None,
        report_npu: int = 0,
        completions_to: TableSink | None = None,
    ) -> None:
        flows.check_npus(network.npus)
        self._network = network
        self._flows = flows
        self._more = more
        self._reported = report_npu
        self._on_heartbeat = on_heartbeat
        self._ideal = ideal
        self._ideal_ps = ideal(flows.sources, flows.destinations, flows.sizes_bytes)
        self._completions = Completions(completions_to)
        schedule = network.register_schedule(message_schedule())
        measured = () if network.delivers_whole else tuple(range(network.npus))
        setup = FlowPlayerSetup(schedule, self._due, measured)
        own = network.flow_player(setup) if flows.starts_at_times else None
        self._launched = launched = LaunchedFlows(network, setup)
        self._player: FlowPlayer = launched if own is None else own
        self._player.add(flows, last=more is None)
        self._cut_off = False
        self._started = False

    def start(self) -> None:
        """Put the first flow's start on the network's list of events; once."""
        if not self._started:
            self._started = True
            self._player.begin()

    def check_finished(self) -> None:
        """Raise SimulationStalled, saying which is left, unless every flow is delivered."""
        if not self.finished:
            raise SimulationStalled(describe_stall(self._network, self._flows, self._player))

    def cut_off(self) -> None:
        """Others have ended, and with them what these flows are for."""
        self._cut_off = True

    @property
    def finished(self) -> bool:
        """Whether all flows are delivered, or nobody waits for them any more."""
        return self._cut_off or (self._more is None and self._player.delivered == len(self._flows))

    def phase_done(self, npu: int, instance: int, time_ps: int) -> None:
        """From the network: one end of a flow is done."""
        self._launched.phase_done(npu, instance, time_ps)

    def hand_over_rows(self) -> None:
        """Hand on all that was recorded so far, so that it is safe if this process dies."""
        self._network.hand_over_rows()
        self._completions.hand_over(self._flows, self._player, self._ideal_ps)

    def close_journal(self) -> None:
        """Nothing more will happen: hand all on."""
        self._completions.hand_over(self._flows, self._player, self._ideal_ps)

    def progress(self) -> tuple[int, int, int, int]:
        """Lists done, lists (one), flows delivered, flows."""
        return int(self.finished), 1, self._player.delivered, len(self._flows)

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
        """The last of the starts that the list itself has; none of flows that nobody waited for."""
        if self._cut_off:
            return Chain()
        flow = int(self._flows.starts_ps.argmax())
        time_ps, source = int(self._flows.starts_ps[flow]), int(self._flows.sources[flow])
        return Chain(time_ps, source, f"the start of flow {flow} on NPU {{}}")

    def flow_totals(self) -> FlowTotals | None:
        """The totals of the flows so far; of flows that may never start, those of the flows that have."""
        flows, ideal_ps = self._flows, self._ideal_ps
        starts_ps, ends_ps = self._player.starts_ps, self._player.ends_ps
        if self._cut_off or self._more is not None:
            begun = np.flatnonzero(starts_ps >= 0)
            if not len(begun):
                return None
            starts_ps, ends_ps, ideal_ps, flows = starts_ps[begun], ends_ps[begun], ideal_ps[begun], flows.some(begun)
        goodput = (
            at_mean_rates(starts_ps, ends_ps, flows.sizes_bytes)
            if self._network.delivers_whole
            else intervals_of(self._player.curve, self._network.now_ps(), self._network.delivered_bytes() or 0)
        )
        return flow_totals(flows, starts_ps, ends_ps, ideal_ps, goodput, self._ideal)

    def totals(self) -> npt.NDArray[np.int64]:
        """The totals of every NPU by now, shape ``(npus, 4)``: finish, compute and exposed time, whether it is done.

        An NPU is done when all flows from and to it are delivered; then its finish is the last delivery.
        """
        npus, ends_ps = self._network.npus, self._player.ends_ps
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
        flows, delivered = self._flows, self._player.ends_ps >= 0
        return (int(flows.sizes_bytes[(flows.sources == self._reported) & delivered].sum()),)

    def oldest_collective(self) -> tuple[str, int] | None:
        """The flow that started first of those on their way, and when."""
        flow = _oldest(self._player)
        return None if flow is None else (f"flow {flow}", int(self._player.starts_ps[flow]))

    def _due(self, _: int) -> None:
        """All flows are delivered, or the last that is known has begun."""
        if self._more is None:
            self._network.stop()
            return
        more = next(self._more)
        self._flows = joined(self._flows, more)
        self._ideal_ps = np.concatenate(
            [self._ideal_ps, self._ideal(more.sources, more.destinations, more.sizes_bytes)]
        )
        self._player.add(more, last=False)


def _oldest(player: FlowPlayer) -> int | None:
    """Return the flow that started first of those on their way; None: there is none."""
    starts_ps = player.starts_ps
    on_their_way = np.flatnonzero((starts_ps >= 0) & (player.ends_ps < 0))
    return int(on_their_way[np.argmin(starts_ps[on_their_way])]) if len(on_their_way) else None


def describe_stall(network: NetworkBackend, flows: FlowList, player: FlowPlayer) -> str:
    """Return which flows are left when nothing happens any more: of those on their way, the first that started."""
    left = len(flows) - player.delivered
    flow = _oldest(player)
    stuck = f"nothing is left to happen at {format_time(network.now_ps())} but {left} of {len(flows)} flows are left"
    if flow is None:
        return stuck
    source, destination = int(flows.sources[flow]), int(flows.destinations[flow])
    unsent = network.pending(source, pack_instance(flow, 0, 0))
    how = "has not been sent" if unsent else "was sent and has not arrived"
    return (
        f"{stuck}: {flows.where(flow)}, {format_bytes(int(flows.sizes_bytes[flow]))} from NPU {source} to NPU "
        f"{destination}, {how}"
    )
