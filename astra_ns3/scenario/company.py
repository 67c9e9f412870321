"""The drivers of all tenants, played together on one network."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from astra_ns3.errors import SimulationStalled
from astra_ns3.frozen import dataclass
from astra_ns3.network.api import Limits, NetworkBackend
from astra_ns3.network.instance import TenantBits
from astra_ns3.playing.drivers.driver import Driver, Heartbeat
from astra_ns3.scenario.tenant_network import TenantNetwork


@dataclass(frozen=True)
class Member:
    """A tenant that plays: its name, the network as the tenant sees it, and what plays its workload there.

    ``is_traffic``: the tenant ends with the others.
    """

    name: str
    network: NetworkBackend
    driver: Driver
    is_traffic: bool = False


class Company:
    """All tenants of ``network``; its listener where there are several, or one that sees a part of it.

    ``on_heartbeat(time_ps, events)`` is called about ten times a second; what it raises ends the run. Progress is that
    of all tenants together.
    """

    def __init__(
        self, network: NetworkBackend, members: Sequence[Member], bits: TenantBits, on_heartbeat: Heartbeat
    ) -> None:
        self.members = tuple(members)
        self._network = network
        self._bits = bits
        self.heartbeat = on_heartbeat
        jobs = [member for member in members if not member.is_traffic]
        self._awaited = tuple(jobs or members)
        """Whose end the run waits for: traffic's only where there is nothing else."""
        self._left = len(self._awaited)
        self._views: list[TenantNetwork] = []
        for member in members:
            if isinstance(member.network, TenantNetwork):
                member.network.listener = member.driver
                member.network.on_stop = self._stopped if member in self._awaited else _nothing
                self._views.append(member.network)

    def run(self, limits: Limits) -> None:
        """Run until every tenant has ended; raises SimulationStalled, and what :meth:`NetworkBackend.run` raises."""
        if not self._views:
            self.members[0].driver.run(limits)
            return
        for view, member in zip(self._views, self.members, strict=True):
            view.start(member.driver.start)
        self._network.run(self, limits)
        for member in self.members:
            try:
                member.driver.check_finished()
            except SimulationStalled as error:
                raise SimulationStalled(f"tenant '{member.name}': {error}") from error

    def phase_done(self, npu: int, instance: int, time_ps: int) -> None:
        """From the network: an NPU finished a phase of a chunk."""
        self._views[self._bits.tenant(instance)].phase_done(npu, instance, time_ps)

    def phases_done(self, npus: Sequence[int], instances: Sequence[int], time_ps: int) -> None:
        """From the network: NPUs have finished phases at one moment; each tenant hears of its own in their order."""
        heard: defaultdict[int, tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
        for npu, instance in zip(npus, instances, strict=True):
            of_npus, of_instances = heard[self._bits.tenant(instance)]
            of_npus.append(npu)
            of_instances.append(instance)
        for tenant, (of_npus, of_instances) in heard.items():
            self._views[tenant].phases_done(of_npus, of_instances, time_ps)

    def progress(self) -> tuple[int, int, int, int]:
        """Return passes done, passes, steps done and steps of a pass, those of tenants that are awaited added up."""
        done, passes, steps_done, steps = zip(*(member.driver.progress() for member in self._awaited), strict=True)
        return sum(done), sum(passes), sum(steps_done), sum(steps)

    def computed_ps(self) -> int:
        """Return for how long the first ranks of all tenants have computed until now."""
        return sum(member.driver.computed_ps() for member in self.members)

    def oldest_collective(self) -> tuple[str, int] | None:
        """Return what of all that goes on was begun first, in words, and when by its tenant's clock; None: nothing."""
        found = [(member, oldest) for member in self.members if (oldest := member.driver.oldest_collective())]
        if not found:
            return None
        member, (words, time_ps) = min(found, key=lambda each: each[1][1])
        return (words if len(self.members) == 1 else f"{member.name}: {words}"), time_ps

    def hand_over_rows(self) -> None:
        """Hand on all that was recorded so far, so that it is safe if this process dies."""
        for member in self.members:
            member.driver.hand_over_rows()

    def close_journals(self) -> None:
        """Nothing more will happen: write down what NPUs are busy with, and hand all on."""
        for member in self.members:
            member.driver.close_journal()

    def _stopped(self) -> None:
        """A tenant has ended; with the last one the run does."""
        self._left -= 1
        if not self._left:
            for member in self.members:
                if member not in self._awaited:
                    member.driver.cut_off()
            self._network.stop()


def _nothing() -> None:
    """Traffic has ended before the jobs, which go on."""
