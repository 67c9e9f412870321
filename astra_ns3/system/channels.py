"""Channels of a collective library as the system layer hands them to the network."""

from __future__ import annotations

from collections.abc import Sequence

from astra_ns3.frozen import dataclass, replace
from astra_ns3.network.api import NetworkBackend
from astra_ns3.network.channel import ChannelCosts
from astra_ns3.system.communicator import PerNpu, per_npu
from astra_ns3.system.groups import Grid


@dataclass(frozen=True)
class Channel:
    """A channel that plays a phase.

    ``order[rank]``: the place in its group of who plays a rank of the schedule. ``costs``: without servers, in which
    groups differ. ``channels``: how many it stands for. ``reducers``: of each group, switches that reduce, the last
    players; ``beside``: for each of them, the place in a group of an NPU in its server, -1 for one between servers.
    """

    order: tuple[int, ...]
    costs: ChannelCosts
    channels: int = 1
    reducers: tuple[tuple[int, ...], ...] = ()
    beside: tuple[int, ...] = ()

    def members(self, group: Sequence[int]) -> tuple[int, ...]:
        """The NPUs that play ranks 0, 1, ..."""
        return tuple(group[place] for place in self.order)

    def players(self, number: int, group: Sequence[int]) -> tuple[int, ...]:
        """All players of a group: NPUs, then reducers; ``number``: which group it is."""
        return (*self.members(group), *(self.reducers[number] if self.reducers else ()))

    def servers(self, group: Sequence[int], servers: Sequence[int]) -> tuple[int, ...]:
        """The server of each player of a group; ``servers``: of each NPU. Switches between servers are in none."""
        of_none = max(servers) + 1
        return tuple(servers[group[place]] if place >= 0 else of_none for place in (*self.order, *self.beside))


def groups_of(dimensions: tuple[int, ...], channel: Channel | None, grid: Grid) -> tuple[tuple[int, ...], ...]:
    """The NPUs of each group over ``dimensions``, in the order of its schedule's ranks."""
    groups = grid.cosets(dimensions)
    if channel is None:
        return tuple(map(tuple, groups))
    return tuple(channel.players(number, group) for number, group in enumerate(groups))


def register_channels(
    network: NetworkBackend, grid: Grid, servers: Sequence[int], dimensions: tuple[int, ...], channel: Channel
) -> PerNpu[int]:
    """Return the network's number of each NPU's group over ``dimensions`` in a channel; ``servers``: of each NPU."""
    of_npu = per_npu(grid.communicator, grid.npus, 0)
    for place, group in enumerate(grid.cosets(dimensions)):
        costs = replace(channel.costs, servers=channel.servers(group, servers))
        number = network.register_channel(channel.players(place, group), costs)
        for npu in group:
            of_npu[npu] = number
    return of_npu
