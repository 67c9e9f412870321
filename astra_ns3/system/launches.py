"""From a phase to what is handed to the network; each schedule and group is handed over once."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache, partial

import numpy as np
import numpy.typing as npt

from astra_ns3.collectives.double_binary_tree import UP
from astra_ns3.collectives.lookup import cuts_in_ranks, is_in_network, lookup, variants
from astra_ns3.collectives.schedule import Schedule, Tell, silent
from astra_ns3.collectives.volume import RankCosts, rank_costs
from astra_ns3.config.core.algorithm_names import parse_name
from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.config.core.compatibility import Compatibility
from astra_ns3.config.system import SystemConfig
from astra_ns3.frozen import dataclass
from astra_ns3.network.api import NetworkBackend
from astra_ns3.network.channel import ChannelCosts
from astra_ns3.system.channels import register_channels
from astra_ns3.system.communicator import PerNpu, per_npu
from astra_ns3.system.groups import Grid, register_groups
from astra_ns3.system.in_network import in_network_plays
from astra_ns3.system.phases import Phase
from astra_ns3.units import PS_PER_NS


@dataclass(frozen=True, eq=False)
class Launch:
    """One phase of one chunk.

    ``schedules``, ``groups``: of each NPU; ``costs``: those of an NPU. ``messages``: how many the schedule has, of
    unlike ones the largest. ``endpoint_delay_ns``: of each step. ``channel``: what a collective library's channel
    costs, the schedule that it plays, and that one's number.
    """

    dimension: int
    schedules: PerNpu[int]
    groups: PerNpu[int]
    bytes: int
    costs: Callable[[int], RankCosts]
    messages: int = 0
    endpoint_delay_ns: int = 0
    channel: tuple[ChannelCosts, Schedule, int] | None = None

    def sends_alike(self, other: Launch, npus: Iterable[int]) -> bool:
        """Whether these NPUs can't tell its messages from those of another."""
        alike = self.messages == other.messages and self.dimension == other.dimension
        return alike and all(self.costs(npu)[:2] == other.costs(npu)[:2] for npu in npus)


class ScheduleNumbers:
    """The network's number of each schedule, which is handed over once."""

    def __init__(self, network: NetworkBackend) -> None:
        self._network = network
        self._known: dict[int, tuple[Schedule, int]] = {}

    def number(self, schedule: Schedule) -> int:
        """The number of ``schedule``."""
        # The schedule is kept beside its number, since a dead one's id may be used again.
        if id(schedule) not in self._known:
            self._known[id(schedule)] = schedule, self._network.register_schedule(schedule)
        return self._known[id(schedule)][1]


class LaunchTable:
    """The launches of all phases that occur on one grid; ``is_part``: of fewer than all NPUs."""

    def __init__(
        self,
        network: NetworkBackend,
        config: SystemConfig,
        grid: Grid,
        compatibility: Compatibility,
        schedules: ScheduleNumbers,
        *,
        is_part: bool = False,
    ) -> None:
        self._grid = grid
        self._truncates = compatibility.truncate_messages
        self._reduction_bytes_per_ns = config.reduction_bytes_per_ns
        self._endpoint_delay_ns = config.scaled_endpoint_delay_ns
        own_delay_ps = None
        if is_part and compatibility.group_endpoint_delay_ns is not None:
            self._endpoint_delay_ns = compatibility.group_endpoint_delay_ns
            own_delay_ps = self._endpoint_delay_ns * PS_PER_NS
        self._rules, self._is_part = compatibility, is_part
        self._charged: dict[int, tuple[Schedule, Schedule]] = {}
        self._groups = cache(partial(register_groups, network, grid, own_delay_ps))
        self._of_channel = cache(partial(register_channels, network, grid, config.servers))
        self._schedules = schedules
        self._network = network
        self._trees, self._storage = config.reduction_trees, config.storage_hosts
        self._players: dict[tuple[int, ...], int] = {}
        self.launch = cache(self._launch)

    def _launch(self, phase: Phase) -> Launch:
        """Return the launch of a phase."""
        if is_in_network(phase.algorithm):
            return self._in_network(phase)
        ranks = self._grid.ranks_in(phase.dimensions)
        schedule = self._played(phase, schedule_of(phase, ranks))
        bytes = phase.bytes
        # An all-gather's messages are what a rank brings, whole (semantics 4).
        truncates = self._truncates and cuts_in_ranks(phase.algorithm) and phase.schedule is None
        if truncates and phase.kind is not CollectiveKind.ALL_GATHER:
            bytes = max(bytes - bytes % ranks, 1)
        groups = self._groups(phase.dimensions) if phase.channel is None else self._channels(phase)

        @cache
        def costs(npu: int) -> RankCosts:
            place = self._grid.place(npu, phase.dimensions)
            rank = place if phase.channel is None else phase.channel.order.index(place)
            return rank_costs(schedule, rank, bytes, self._reduction_bytes_per_ns)

        delay_ns = self._endpoint_delay_ns
        number = self._schedules.number(schedule)
        numbers = per_npu(self._grid.communicator, self._grid.npus, number)
        channel = None if phase.channel is None else (phase.channel.costs, schedule, number)
        return Launch(phase.dimensions[0], numbers, groups, bytes, costs, schedule.messages, delay_ns, channel)

    def _in_network(self, phase: Phase) -> Launch:
        """Return the launch of a phase that switches reduce."""
        numbers = per_npu(self._grid.communicator, self._grid.npus, 0)
        groups = per_npu(self._grid.communicator, self._grid.npus, 0)
        schedule_of_npu: dict[int, tuple[Schedule, int]] = {}
        for schedule, players in in_network_plays(phase, self._grid, self._trees, self._storage):
            if players not in self._players:
                self._players[players] = self._network.register_group(players)
            for rank, npu in enumerate(players[: schedule.ranks - schedule.helpers]):
                numbers[npu], groups[npu] = self._schedules.number(schedule), self._players[players]
                schedule_of_npu[npu] = schedule, rank

        @cache
        def costs(npu: int) -> RankCosts:
            return rank_costs(*schedule_of_npu[npu], phase.bytes, self._reduction_bytes_per_ns)

        messages = max(schedule.messages for schedule, _ in schedule_of_npu.values())
        delay_ns = self._endpoint_delay_ns
        return Launch(phase.dimensions[0], numbers, groups, phase.bytes, costs, messages, delay_ns)

    def _channels(self, phase: Phase) -> PerNpu[int]:
        assert phase.channel is not None
        return self._of_channel(phase.dimensions, phase.channel)

    def _played(self, phase: Phase, schedule: Schedule) -> Schedule:
        """Return what is really played of an algorithm's schedule, by another simulator's rules."""
        charged = self._rows_charged(phase, schedule)
        if charged is None:
            return schedule
        if id(schedule) not in self._charged:
            self._charged[id(schedule)] = schedule, schedule.reducing(charged)
        return self._charged[id(schedule)][1]

    def _rows_charged(self, phase: Phase, schedule: Schedule) -> npt.NDArray[np.bool_] | None:
        """Return which messages another simulator charges a reduction delay; None: those whose data is added up."""
        name = parse_name(phase.algorithm).base if phase.schedule is None else None
        if name == "halvingDoubling" and self._rules.first_halving_reduces_nothing:
            return schedule.reduces & (schedule.step > 0)
        if name == "doubleBinaryTree" and self._rules.trees_reduce_downwards:
            return schedule.reduces | np.isin(schedule.receiver, schedule.receiver[schedule.step == UP])
        twice = self._is_part and self._rules.direct_reduces_twice_in_groups and phase.kind is CollectiveKind.ALL_REDUCE
        return np.ones(schedule.messages, dtype=np.bool_) if name == "direct" and twice and schedule.ranks > 2 else None


def schedule_of(phase: Phase, ranks: int, tell: Tell = silent) -> Schedule:
    """The schedule that a group of ``ranks`` plays in a phase; raises InputError. ``tell``: see :func:`lookup`."""
    if phase.schedule is not None:
        return phase.schedule
    algorithm = _fitting(phase.algorithm, ranks)
    return lookup(phase.kind, algorithm, ranks, phase.turn, anticlockwise=phase.anticlockwise, tell=tell)


def turns(phase: Phase) -> int:
    """Between how many schedules the chunks of a phase take turns."""
    return variants(phase.kind, phase.algorithm)


def _fitting(algorithm: str, ranks: int) -> str:
    """A window wider than the other ranks is none."""
    window = parse_name(algorithm).window
    return algorithm if window is None or window < ranks else algorithm.removesuffix(str(window))
