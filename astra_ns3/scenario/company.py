"""The drivers of all tenants, played together on one network."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from functools import partial

from astra_ns3.config.core.forever import FOREVER
from astra_ns3.errors import BackendError, SimulationStalled
from astra_ns3.frozen import dataclass
from astra_ns3.network.api import Limits, NetworkBackend
from astra_ns3.network.instance import TenantBits
from astra_ns3.playing.drivers.driver import Driver, Heartbeat
from astra_ns3.scenario.tenant_network import TenantNetwork
from astra_ns3.scenario.times import PROGRAMS, Outcome, Times
from astra_ns3.scenario.timetable import Entry, Timetable
from astra_ns3.scenario.waiting_line import WaitingLine
from astra_ns3.units import format_time


@dataclass(frozen=True)
class Member:
    """A tenant that plays: its name, the network as it sees it, what plays its workload there, when, and how often.

    ``is_traffic``: it ends with the others. ``counts``: it tells of each pass that is done.
    """

    name: str
    network: NetworkBackend
    driver: Driver
    times: Times = Times()
    passes: int = 1
    is_traffic: bool = False
    counts: bool = False

    def passes_done(self, outcome: Outcome) -> int | None:
        """Return how many passes have been done, 0 of a job that never started; None: nobody has counted."""
        if outcome.ended_by == PROGRAMS:
            return self.passes
        known = self.counts or self.passes == 1 or outcome.start_ps is None
        return outcome.passes if known else None


def _checkpointed(driver: Driver) -> int:
    return driver.checkpointed


class Company:
    """All tenants of ``network``; its listener where there are several, or one that sees a part of it.

    ``on_heartbeat(time_ps, events)`` is called about ten times a second; what it raises ends the run. Progress is that
    of all tenants together. ``line``: where those who arrive wait for NPUs.
    """

    def __init__(
        self,
        network: NetworkBackend,
        members: Sequence[Member],
        bits: TenantBits,
        on_heartbeat: Heartbeat,
        line: WaitingLine | None = None,
    ) -> None:
        self.members = tuple(members)
        self._network = network
        self._bits = bits
        self.heartbeat = on_heartbeat
        self._failures: dict[int, str] = {}
        jobs = [member for member in members if not member.is_traffic]
        self._awaited = tuple(jobs or members)
        """Whose end the run waits for: traffic's only where there is nothing else."""
        self._views: list[TenantNetwork] = []
        entries = []
        for member in members:
            if isinstance(member.network, TenantNetwork):
                member.network.listener = member.driver
                self._views.append(member.network)
                times = member.times._replace(endless=True) if jobs and member.is_traffic else member.times
                driver = member.driver
                kept = partial(_checkpointed, driver)
                view = member.network
                entries.append(Entry(member.name, times, view, driver.start, driver.cut_off, kept, driver.resume))
        self._timetable = Timetable(entries, network.stop, line)

    def run(self, limits: Limits) -> None:
        """Run until every tenant has ended; raises SimulationStalled, and what :meth:`NetworkBackend.run` raises."""
        if not self._views:
            self.members[0].driver.run(limits)
            return
        self._timetable.begin(self._device_died)
        self._network.run(self, limits)
        for member, outcome in zip(self.members, self._timetable.outcomes(), strict=True):
            if outcome.ended_by is not None or outcome.start_ps is None:
                continue
            try:
                member.driver.check_finished()
            except SimulationStalled as error:
                raise SimulationStalled(f"job '{member.name}': {error}") from error
        if self._failures:
            failed = (f"job '{self.members[number].name}': {reason}" for number, reason in self._failures.items())
            raise BackendError("; ".join(failed))
        if self._timetable.stranded is not None:
            name, other = self._timetable.stranded
            raise SimulationStalled(f"job '{name}': waits for passes of job '{other}', which ended before")

    def transport_failed(self, instance: int, reason: str) -> None:
        """From the network: a transport gave up, with a message of an instance. Its job ends, and all others go on."""
        number = self._bits.tenant(instance)
        if self._views[number].end_ps is None and not self._timetable.fail(number):
            self._failures[number] = reason

    def _device_died(self, number: int) -> None:
        self._failures[number] = f"a device died (at {format_time(self._network.now_ps())})"

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
        """Return passes done, passes, steps done and steps of a pass, those of all that are awaited added up."""
        first = [member for member in self._awaited if member.times.restart_ps is None]
        members = [member for member in first if member.passes != FOREVER] or first[:1]
        done, passes, steps_done, steps = zip(*(member.driver.progress() for member in members), strict=True)
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

    def outcomes(self) -> tuple[Outcome, ...]:
        """Return what has become of each tenant by now."""
        if not self._views:
            only = self.members[0]
            done = only.driver.finished
            return (Outcome(0, PROGRAMS if done else None, only.passes if done else 0),)
        found = zip(self._timetable.outcomes(), self.members, strict=True)
        return tuple(outcome._replace(passes=member.passes_done(outcome)) for outcome, member in found)
