"""A network as a job sees it whose NPUs are chosen when it starts: until then the job only names groups of ranks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from astra_ns3.network.api import NetworkBackend
from astra_ns3.network.channel import ChannelCosts
from astra_ns3.network.floor.carried import Launch
from astra_ns3.network.instance import TenantBits
from astra_ns3.scenario.tenant_network import TenantNetwork


class ArrivingNetwork(TenantNetwork):
    """``network`` as a tenant of so many ranks sees it, which :meth:`bind` tells its NPUs before it starts.

    Groups have numbers of the tenant's own: the network hears of them once their NPUs are known. A tenant on NPUs that
    others had before has connections of its own, as a program that starts opens new ones.
    """

    def __init__(self, network: NetworkBackend, tenant: int, ranks: int, arrival_ps: int, bits: TenantBits) -> None:
        super().__init__(network, tenant, (), arrival_ps, bits, shared=True)
        self.npus = ranks
        self._registered: list[Callable[[], int]] = []
        self._groups: list[int] = []

    def bind(self, npus: Sequence[int], *, unused: bool) -> None:
        """Choose the NPU of each rank, once, at the present time; ``unused``: nobody had any of them before."""
        self.bind_ranks(npus)
        if unused:
            self.connections = 0
        self._groups = [register() for register in self._registered]

    def register_group_on(self, npus: Sequence[int], connections: int, delay_ps: int | None) -> int:
        """Name a group of the tenant's ranks, on connections of its own."""
        return self._register(partial(super().register_group_on, npus, connections, delay_ps))

    def register_channel(self, npus: Sequence[int], channel: ChannelCosts) -> int:
        """Name a group of the tenant's ranks that play a channel of a collective library."""
        return self._register(partial(super().register_channel, npus, channel))

    def launch(self, npu: int, schedule: int, group: int, instance: int, bytes: int) -> None:
        """Start a rank's part of a phase now."""
        super().launch(npu, schedule, self._groups[group], instance, bytes)

    def launch_all(self, rows: Sequence[Launch]) -> None:
        """Start many ranks' parts, in their order."""
        groups = self._groups
        super().launch_all([(rank, schedule, groups[group], own, size) for rank, schedule, group, own, size in rows])

    def _register(self, register: Callable[[], int]) -> int:
        self._registered.append(register)
        if self.bound_to:
            self._groups.append(register())
        return len(self._registered) - 1
