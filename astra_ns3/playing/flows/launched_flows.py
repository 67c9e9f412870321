"""Flows that are launched one by one from here: those that wait for others, and all on a backend without a player."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from astra_ns3.config.flow_list import FlowList, Numbers
from astra_ns3.network.api import NetworkBackend
from astra_ns3.network.flow_player import NOT_YET, FlowPlayerSetup, Point
from astra_ns3.network.instance import unpack_instance
from astra_ns3.playing.flows.gates import OpenGates
from astra_ns3.playing.flows.goodput import DeliveryCurve
from astra_ns3.playing.flows.launching import FlowLauncher


class LaunchedFlows:
    """Plays one list of flows; fulfils :class:`~astra_ns3.network.flow_player.FlowPlayer`, and hears of phases."""

    def __init__(self, network: NetworkBackend, setup: FlowPlayerSetup) -> None:
        self._network = network
        self._setup = setup
        self._curve = DeliveryCurve()
        self._next = 0
        self._done: list[int] = []

    def add(self, flows: FlowList, *, last: bool) -> None:
        """Hand over the list, once; what comes in several parts is for backends that have a player."""
        assert last
        self._flows = flows
        self.starts_ps = np.full(len(flows), NOT_YET, dtype=np.int64)
        self.ends_ps = np.full(len(flows), NOT_YET, dtype=np.int64)
        self._launcher = FlowLauncher(self._network, flows, self._setup.schedule)
        self._gates = None if flows.waits_for is None else OpenGates(flows)
        free = np.arange(len(flows)) if self._gates is None else self._gates.open_from_the_start()
        self._order = free[np.argsort(flows.starts_ps[free], kind="stable")].astype(np.int32)

    def begin(self) -> None:
        """Put the first flow's start on the network's list of events."""
        self._wait_for_next(self._network.now_ps())

    def stop(self) -> None:
        """Start no more flows. The caller ignores deliveries that still come."""
        self._next = len(self._order)

    @property
    def delivered(self) -> int:
        """How many are delivered."""
        return len(self._done)

    def delivered_from(self, place: int) -> Numbers:
        """Return the delivered flows without the first ``place``."""
        return np.array(self._done[place:], dtype=np.int64)

    @property
    def curve(self) -> Sequence[Point]:
        """How much the network had delivered."""
        return self._curve.points

    def phase_done(self, npu: int, instance: int, time_ps: int) -> None:
        """From the network: one end of a flow is done; the destination's is its delivery."""
        flow, _, _ = unpack_instance(instance)
        if npu != self._flows.destinations[flow]:
            return
        self.ends_ps[flow] = time_ps
        self._done.append(flow)
        self._measure(time_ps)
        if len(self._done) == len(self._flows):
            self._setup.on_due(time_ps)
        elif self._gates is not None:
            for freed in self._gates.delivered(flow):
                self._start_freed(freed, time_ps)

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
        self.starts_ps[flow] = time_ps
        self._measure(time_ps)
        self._launcher.launch(flow)

    def _measure(self, time_ps: int) -> None:
        """Take down how much has been delivered by now, unless that was done just before."""
        if self._setup.measured and self._curve.due(time_ps):
            self._curve.take(time_ps, self._network.delivered_bytes() or 0)
