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
    groups differ. ``channels``: how many it stands for.
    """

    order: tuple[int, ...]
    costs: ChannelCosts
    channels: int = 1

    def members(self, group: Sequence[int]) -> tuple[int, ...]:
        """The NPUs that play ranks 0, 1, ..."""
        return tuple(group[place] for place in self.order)


def groups_of(dimensions: tuple[int, ...], channel: Channel | None, grid: Grid) -> tuple[tuple[int, ...], ...]:
    """The NPUs of each group over ``dimensions``, in the order of its schedule's ranks."""
    return tuple(map(tuple if channel is None else channel.members, grid.cosets(dimensions)))


def register_channels(
    network: NetworkBackend, grid: Grid, servers: Sequence[int], dimensions: tuple[int, ...], channel: Channel
) -> PerNpu[int]:
    """Return the network's number of each NPU's group over ``dimensions`` in a channel; ``servers``: of each NPU."""
    of_npu = per_npu(grid.communicator, grid.npus, 0)
    for group in grid.cosets(dimensions):
        members = channel.members(group)
        costs = replace(channel.costs, servers=tuple(servers[npu] for npu in members))
        number = network.register_channel(members, costs)
        for npu in members:
            of_npu[npu] = number
    return of_npu
