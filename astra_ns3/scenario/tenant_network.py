"""A network as one of its tenants sees it: ranks, instance numbers and time are the tenant's own.

This is the one place that translates: ranks of the tenant to NPUs of the network, the tenant's instance numbers to
those of the run, and the tenant's time, which begins at its start, to simulated time.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Sequence

import numpy as np
import numpy.typing as npt

from astra_ns3.collectives.schedule import Schedule
from astra_ns3.config.flow_list import FlowList, Numbers
from astra_ns3.frozen import replace
from astra_ns3.network.api import Limits, NetworkBackend, NetworkListener, PendingMessage
from astra_ns3.network.channel import ChannelCosts
from astra_ns3.network.floor.carried import CarriedBytes, Launch
from astra_ns3.network.flow_player import FlowPlayer, FlowPlayerSetup, Point
from astra_ns3.network.instance import TenantBits

FIRST_CONNECTIONS = 64
"""From this number on, connections are a tenant's own; below are those of a collective library's channels."""

_FLOW_BITS = 16
"""Connections of two NPUs that a tenant's list of flows may have of its own."""


def _nobody_asks(_passes: int) -> None:
    """Nobody asks for a tenant's passes."""


class _FlowsOfRanks:
    """A player of flows that name ranks; ``npus``: the NPU of each."""

    def __init__(self, player: FlowPlayer, npus: npt.NDArray[np.int32]) -> None:
        self._player = player
        self._npus = npus
        self.begin = player.begin
        self.stop = player.stop
        self.delivered_from = player.delivered_from

    def add(self, flows: FlowList, *, last: bool) -> None:
        """Hand over flows."""
        sources, destinations = self._npus[flows.sources], self._npus[flows.destinations]
        self._player.add(replace(flows, sources=sources, destinations=destinations, npus=0), last=last)

    @property
    def starts_ps(self) -> Numbers:
        """When each flow began."""
        return self._player.starts_ps

    @property
    def ends_ps(self) -> Numbers:
        """When each flow was delivered."""
        return self._player.ends_ps

    @property
    def delivered(self) -> int:
        """How many are delivered."""
        return self._player.delivered

    @property
    def curve(self) -> Sequence[Point]:
        """How much the measured ranks had received, over time."""
        return self._player.curve


class TenantNetwork(NetworkBackend):
    """``network`` as the tenant of number ``tenant`` sees it, on ``npus`` and from ``start_ps`` on.

    A tenant that has stopped hears no more, and its clock stands still: what others do later leaves its records as they
    are. ``on_stop`` is called when it stops, ``on_passes`` when it has done more passes; ``listener`` is told of what
    concerns it. ``started``: whether its time has begun to run. ``shared``: other tenants may have some of its NPUs.
    ``priority``: in which its messages travel; None: in that of the network's transport.
    """

    npus = 0

    def __init__(
        self,
        network: NetworkBackend,
        tenant: int,
        npus: Sequence[int],
        start_ps: int,
        bits: TenantBits,
        *,
        shared: bool = False,
        priority: int | None = None,
    ) -> None:
        self.npus = len(npus)
        self.on_stop: Callable[[], None] = network.stop
        self.on_passes: Callable[[int], None] = _nobody_asks
        self.started = False
        self.start_ps = start_ps
        self._network = network
        self._tenant = tenant
        self.bind_ranks(npus)
        self._bits = bits
        self._shared = shared
        self._priority = priority
        self.connections = 0
        """Which connections of a pair of NPUs its messages take; 0: those that everybody has."""
        self._stopped_ps: int | None = None
        self._deaf = False
        self._players: list[FlowPlayer] = []
        self._registered_groups: set[int] = set()
        self.listener: NetworkListener | None = None

    def register_schedule(self, schedule: Schedule) -> int:
        """Hand a schedule to the network."""
        return self._network.register_schedule(schedule)

    def register_group(self, npus: Sequence[int]) -> int:
        """Name a group of the tenant's ranks."""
        return self.register_group_on(npus, 0, None)

    def register_delayed_group(self, npus: Sequence[int], delay_ps: int) -> int:
        """Name a group of the tenant's ranks, with an endpoint delay of its own."""
        return self.register_group_on(npus, 0, delay_ps)

    def register_group_on(self, npus: Sequence[int], connections: int, delay_ps: int | None) -> int:
        """Name a group of the tenant's ranks, on connections of its own."""
        own = (self.connections << _FLOW_BITS) + connections if connections else self.connections
        return self._prioritised(self._network.register_group_on(self._on_network(npus), own, delay_ps))

    def _on_network(self, ranks: Sequence[int]) -> list[int]:
        """Return the network's numbers of ranks, and of reducers and storage hosts, which are everybody's."""
        return [self._npus[rank] if rank < self.npus else rank for rank in ranks]

    def register_channel(self, npus: Sequence[int], channel: ChannelCosts) -> int:
        """Name a group of the tenant's ranks that play a channel of a collective library."""
        if self.connections:  # its channels have connections of their own, too
            channel = replace(channel, channel=self.connections * FIRST_CONNECTIONS + channel.channel)
        return self._prioritised(self._network.register_channel(self._on_network(npus), channel))

    def _prioritised(self, group: int) -> int:
        """Return a group of the network, whose messages are the tenant's and travel in its priority."""
        self._registered_groups.add(group)
        if self._priority is not None:
            self._network.set_priority(group, self._priority)
        return group

    def launch(self, npu: int, schedule: int, group: int, instance: int, bytes: int) -> None:
        """Start a rank's part of a phase now."""
        self._network.launch(self._npus[npu], schedule, group, self._bits.of(self._tenant, instance), bytes)

    def launch_all(self, rows: Sequence[Launch]) -> None:
        """Start many ranks' parts, in their order."""
        npus, tenant, of = self._npus, self._tenant, self._bits.of
        self._network.launch_all(
            [(npus[rank], schedule, group, of(tenant, own), bytes) for rank, schedule, group, own, bytes in rows]
        )

    def call_later(self, npu: int, delay_ps: int, callback: Callable[[int], None]) -> None:
        """Call ``callback`` with the tenant's time after a delay."""
        self._network.call_later(self._npus[npu], delay_ps, lambda time_ps: self._call(callback, time_ps))

    def now_ps(self) -> int:
        """Return the time since the tenant's start, at most that of its end; 0 before it."""
        if self._stopped_ps is not None:
            return self._stopped_ps
        return max(self._network.now_ps() - self.start_ps, 0) if self.started else 0

    def shared(self, key: Hashable) -> dict[int, int]:
        """Return numbers that all tenants share under a key."""
        return self._network.shared(key)

    def npu_of(self, rank: int) -> int:
        """Return the network's number of a rank."""
        return self._network.npu_of(self._npus[rank])

    def run_ps(self) -> int:
        """Return the simulated time, whenever the tenant has started."""
        return self._network.run_ps()

    @property
    def delivers_whole(self) -> bool:
        """As the network, unless its NPUs get others' bytes, too."""
        return self._shared or self._network.delivers_whole

    def flow_player(self, setup: FlowPlayerSetup) -> FlowPlayer | None:
        """Return who starts flows of the tenant's ranks inside the network."""
        npus = np.array(self._npus, dtype=np.int32)
        own = replace(
            setup,
            on_due=lambda time_ps: self._call(setup.on_due, time_ps),
            measured=[self._npus[rank] for rank in setup.measured],
            first_instance=self._bits.of(self._tenant, setup.first_instance),
            tenant_bit=self._bits.shift,
            connections=self.connections,
            priority=self._priority,
        )
        player = self._network.flow_player(own)
        if player is None:
            return None
        self._players.append(player)
        return _FlowsOfRanks(player, npus)

    def delivered_bytes(self, npus: Sequence[int] | None = None) -> int | None:
        """Return the bytes of messages that some of the tenant's ranks, or all, have got."""
        return self._network.delivered_bytes(self._npus if npus is None else [self._npus[rank] for rank in npus])

    def carried(
        self, groups: Collection[int] | None = None, players: Collection[FlowPlayer] | None = None
    ) -> CarriedBytes | None:
        """Return what the network's NPUs have sent each other for this tenant."""
        own = self._registered_groups if groups is None else groups
        return self._network.carried(own, self._players if players is None else players)

    @property
    def bound_to(self) -> Sequence[int]:
        """The NPU of each rank; none as long as nobody knows them."""
        return self._npus

    @property
    def end_ps(self) -> int | None:
        """The simulated time at which the tenant has stopped; None: it goes on."""
        return None if self._stopped_ps is None else self.start_ps + self._stopped_ps

    def bind_ranks(self, npus: Sequence[int]) -> None:
        """Say which NPU each rank is, where nobody knew when the tenant was made."""
        self._npus = list(npus)
        self._rank = {npu: rank for rank, npu in enumerate(npus)}

    def stop(self) -> None:
        """Take the tenant's end down; the network goes on for the others."""
        if self._stopped_ps is None:
            self._stopped_ps = self.now_ps()
            self.on_stop()

    def halt(self) -> None:
        """Stop the tenant from outside: it begins nothing more, and doesn't hear what else happens at this moment."""
        self._deaf = True
        for player in self._players:
            player.stop()
        if not self._players:  # flows under way have nothing more to send
            self._network.abandon(range(self._bits.of(self._tenant, 0), self._bits.of(self._tenant + 1, 0)))
        self._stopped_ps = self.now_ps() if self.started else 0

    def passes_done(self, passes: int) -> None:
        """From the tenant's driver: all its NPUs have done so many passes."""
        self.on_passes(passes)

    def pending(self, npu: int, instance: int) -> list[PendingMessage]:
        """Return what a rank still has to send or receive in an instance; reducers keep the network's numbers."""
        found = self._network.pending(self._npus[npu], self._bits.of(self._tenant, instance))
        place = self._rank.get
        return [
            replace(each, sender=place(each.sender, each.sender), receiver=place(each.receiver, each.receiver))
            for each in found
        ]

    def hand_over_rows(self) -> None:
        """Hand on what the network has recorded so far."""
        self._network.hand_over_rows()

    def run(self, listener: NetworkListener, limits: Limits) -> None:
        """Play the network until this tenant stops, or until no event is left."""
        self.listener, self.started = listener, True
        self._network.run(self, limits)

    def close(self, *, process_ends: bool = False) -> None:
        """Close the network, for all tenants."""
        self._network.close(process_ends=process_ends)

    def start(self, start: Callable[[], None]) -> None:
        """Call ``start()`` at the tenant's start."""
        if self.start_ps:
            self._network.call_later(self._first_npu, self.start_ps, lambda _: self._begin(start))
        else:
            self._begin(start)

    def start_now(self, start: Callable[[], None]) -> None:
        """Call ``start()``, and have the tenant's time begin."""
        self.start_ps = self._network.now_ps()
        self._begin(start)

    def start_in(self, delay_ps: int, start: Callable[[], None]) -> None:
        """Call ``start()`` in so long, and have the tenant's time begin then."""
        self.start_ps = self._network.now_ps() + delay_ps
        self._network.call_later(self._first_npu, delay_ps, lambda _: self._begin(start))

    def call_at(self, time_ps: int, callback: Callable[[], None]) -> None:
        """Call ``callback()`` at a time of the run; before the run begins."""
        self._network.call_later(self._first_npu, time_ps, lambda _: callback())

    @property
    def _first_npu(self) -> int:
        """The NPU that the network's calls belong to."""
        return self._npus[0] if self._npus else 0

    def _begin(self, start: Callable[[], None]) -> None:
        if self._stopped_ps is None:
            self.started = True
            start()

    def phase_done(self, npu: int, instance: int, time_ps: int) -> None:
        """From the network: one of the tenant's NPUs has finished a phase."""
        assert self.listener is not None
        if self._hears(time_ps):
            self.listener.phase_done(self._rank[npu], self._bits.own(instance), time_ps - self.start_ps)

    def phases_done(self, npus: Sequence[int], instances: Sequence[int], time_ps: int) -> None:
        """From the network: some of the tenant's NPUs have finished phases, at one moment and in this order."""
        together = getattr(self.listener, "phases_done", None)
        if together is None:
            for npu, instance in zip(npus, instances, strict=True):
                self.phase_done(npu, instance, time_ps)
        elif self._hears(time_ps):
            own = self._bits.own
            together([self._rank[npu] for npu in npus], list(map(own, instances)), time_ps - self.start_ps)

    def heartbeat(self, time_ps: int, events: int) -> None:
        """From the network: a tenth of a second has passed."""
        assert self.listener is not None
        self.listener.heartbeat(time_ps, events)

    def _hears(self, time_ps: int) -> bool:
        """Whether the tenant has not stopped before a simulated time."""
        return self._stopped_ps is None or (not self._deaf and time_ps - self.start_ps <= self._stopped_ps)

    def _call(self, callback: Callable[[int], None], time_ps: int) -> None:
        if self._hears(time_ps):
            callback(time_ps - self.start_ps)
