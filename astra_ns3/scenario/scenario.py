"""A scenario: a network, what changes in it, and the tenants that share it."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from astra_ns3.errors import refuse, wrong
from astra_ns3.frozen import dataclass, replace
from astra_ns3.network.api import NetworkBackend
from astra_ns3.network.backends import Ideal
from astra_ns3.network.instance import TenantBits
from astra_ns3.network.plan import AnyPlan
from astra_ns3.network.recorded import TableSink
from astra_ns3.network.run_document import TenantDocument
from astra_ns3.scenario.arriving_network import ArrivingNetwork
from astra_ns3.scenario.placement import places_of
from astra_ns3.scenario.tenant import After, Restart
from astra_ns3.scenario.tenant_network import FIRST_CONNECTIONS, TenantNetwork
from astra_ns3.scenario.tenant_tables import NetworkTables, TableOwner, TenantTables
from astra_ns3.scenario.times import Times
from astra_ns3.scenario.waiting_line import Berth, WaitingLine
from astra_ns3.topology.changes import Change


@dataclass(frozen=True)
class Tenancy:
    """Where and when a tenant plays: ``npus[i]`` is the NPU of rank i; ``dimensions``: its logical grid.

    ``bandwidths``: of each dimension, in the network's own unit; None: nobody knows. ``is_traffic``: whether it is
    other traffic, which ends with the jobs and may have their NPUs.
    """

    name: str
    npus: tuple[int, ...]
    start_ps: int
    dimensions: tuple[int, ...]
    bandwidths: tuple[float, ...] | None
    after: After | None = None
    """The end or the passes that the start waits for; ``start_ps`` counts from there."""
    end_ps: int | None = None
    endless: bool = False
    """Whether it plays until all that are not have ended."""
    is_traffic: bool = False
    berth: Berth | None = None
    """The chooser of NPUs for a job that arrives; ``npus`` are those that it would have alone."""
    restart_ps: int | None = None
    """The time after which a further try begins once the try before it has failed."""
    fails_ps: tuple[int, ...] = ()
    """Times of the run at which a device of its job dies."""
    job: str = ""
    """The name of its job, which all its tries have; empty: its own."""
    restart: Restart | None = None
    """How its job begins again, the same of all tries. None: it doesn't."""
    priority: int | None = None
    """In which its messages travel; None: in that of the network's transport."""

    @property
    def times(self) -> Times:
        """When it plays."""
        arrives = self.berth is not None
        return Times(self.start_ps, self.after, self.end_ps, self.endless, arrives, self.restart_ps, self.fails_ps)

    @property
    def job_name(self) -> str:
        """The name of its job."""
        return self.job or self.name

    def tried_again(self, name: str, times: Times) -> Tenancy:
        """Return a further try, with a name of its own."""
        again = replace(self, name=name, job=self.job_name, start_ps=times.start_ps, after=times.after)
        return replace(again, restart_ps=times.restart_ps, fails_ps=())

    @property
    def as_traffic(self) -> Tenancy:
        """Return it as other traffic, whose ranks have one dimension."""
        return replace(self, dimensions=(len(self.npus),), bandwidths=None, is_traffic=True)

    def document(self) -> TenantDocument:
        """Return the same as plain data."""
        found = self.times.document()
        npus = list(self.npus) if self.berth is None else []
        found |= {"name": self.job_name, "npus": npus, "dimensions": list(self.dimensions)}
        if self.priority is not None:
            found["priority"] = self.priority
        if self.restart is not None:
            found |= {"restart_after_ps": self.restart.after_ps, "most_restarts": self.restart.at_most}
            found |= {"fails_ps": list(self.restart.fails_ps)} if self.restart.fails_ps else {}
        return {**found, **_traffic(self.is_traffic)}

    def whole(self, npus: int) -> bool:
        """Whether it is all of a network of ``npus`` NPUs, in their order, from the begin on."""
        return self.npus == tuple(range(npus)) and self.times == Times()


@dataclass(frozen=True)
class Scenario:
    """Tenants on the network of ``plan``, each with its NPUs; raises InputError if two have an NPU in common."""

    plan: AnyPlan
    tenants: tuple[Tenancy, ...]

    def __post_init__(self) -> None:
        check_apart(self.tenants)

    @property
    def changes(self) -> tuple[Change, ...]:
        """Return the changes of the network while it is played."""
        packets = self.plan.of_packets
        return () if packets is None else packets.changes

    @property
    def bits(self) -> TenantBits:
        """How instance numbers name the tenants."""
        return TenantBits(len(self.tenants))

    @property
    def is_a_run(self) -> bool:
        """Whether the one tenant is a run's, without a name, on all of the network: nothing has to be translated."""
        return (
            len(self.tenants) == 1 and not self.tenants[0].name and self.tenants[0].whole(len(self.plan.graph.npu_host))
        )

    def views(self, network: NetworkBackend, tables: TableSink | None = None) -> list[NetworkBackend]:
        """Return the network as each tenant sees it; ``tables``: what takes the network's rows."""
        if self.is_a_run:
            return [network]
        shared = any(tenant.is_traffic for tenant in self.tenants)
        views = [
            TenantNetwork(
                network, number, tenant.npus, tenant.start_ps, self.bits, shared=shared, priority=tenant.priority
            )
            if tenant.berth is None
            else ArrivingNetwork(network, number, len(tenant.npus), tenant.start_ps, self.bits)
            for number, tenant in enumerate(self.tenants)
        ]
        for number, view in zip(self._own_connections(), views, strict=True):
            view.connections = 0 if number is None else FIRST_CONNECTIONS + number
        if isinstance(tables, NetworkTables):
            tables.start_ps = lambda tenant: views[tenant].start_ps
            tables.end_ps = lambda tenant: views[tenant].end_ps
            tables.npus_of = lambda tenant: views[tenant].bound_to if views[tenant].started else ()
        return [*views]

    def _own_connections(self) -> list[int | None]:
        """For each tenant, which connections are its own, from 0; None: it has those that everybody has.

        They decide on the ways that ECMP takes, so those of traffic follow from names, in any order of the file.
        """
        places = [number for number, tenant in enumerate(self.tenants) if tenant.is_traffic]
        by_name = sorted(places, key=lambda number: self.tenants[number].name)
        of_traffic = dict(zip(by_name, places, strict=True))
        return [
            of_traffic.get(number, number if tenant.berth is not None or tenant.restart_ps is not None else None)
            for number, tenant in enumerate(self.tenants)
        ]

    def network_tables(self, sink: TableSink | None) -> TableSink | None:
        """Return what takes the rows of the network's tables and hands them to ``sink``, split by tenant."""
        if sink is None or self.is_a_run:
            return sink
        shared = [number for number, each in enumerate(self.tenants) if each.is_traffic]
        again = {each.job for each in self.tenants if each.job}
        arriving = [
            number for number, each in enumerate(self.tenants) if each.berth is not None or each.job_name in again
        ]
        tenants = [TableOwner(each.name, each.job_name, each.npus, each.start_ps) for each in self.tenants]
        npus = len(self.plan.graph.npu_host)
        beyond = len(self.plan.graph.player_host) - npus
        return NetworkTables(sink, self.bits, tenants, shared, arriving, npus, beyond)

    def tenant_tables(self, tenant: int, sink: TableSink | None) -> TableSink | None:
        """Return what takes the rows that a tenant's driver records and hands them to ``sink``."""
        own = self.tenants[tenant]
        return sink if sink is None or self.is_a_run else TenantTables(sink, own.name, own.job_name)

    def ideal_of(self, tenant: int, ideal: Ideal | None) -> Ideal | None:
        """Return the network's ``ideal`` as a tenant asks for it, by ranks."""
        if ideal is None or self.is_a_run:
            return ideal
        if self.tenants[tenant].berth is not None:
            return None
        npus = np.array(self.tenants[tenant].npus, dtype=np.int32)
        return lambda sources, destinations, sizes: ideal(npus[sources], npus[destinations], sizes)


def waiting_line(scenario: Scenario) -> WaitingLine | None:
    """Return the line in which jobs that arrive wait for the NPUs of no other job; None: none arrives."""
    berths = {number: each.berth for number, each in enumerate(scenario.tenants) if each.berth is not None}
    if not berths:
        return None
    graph = scenario.plan.graph
    held = {npu for each in scenario.tenants if each.berth is None and not each.is_traffic for npu in each.npus}
    return WaitingLine(places_of(graph), set(range(len(graph.npu_host))) - held, berths)


def _traffic(is_traffic: bool) -> TenantDocument:
    return {"traffic": True} if is_traffic else {}


def check_apart(tenants: Sequence[Tenancy]) -> None:
    """Raise InputError if two tenants have a name or an NPU in common."""
    owner: dict[int, str] = {}
    names: set[str] = set()
    for tenant in tenants:
        refuse(tenant.name in names, f"two tenants are called '{tenant.name}', expected a name of its own for each")
        names.add(tenant.name)
        if tenant.is_traffic or tenant.berth is not None or tenant.restart_ps is not None:
            continue
        for npu in tenant.npus:
            if npu in owner:
                raise wrong(f"tenants '{owner[npu]}' and '{tenant.name}' both have NPU {npu}, expected one of them")
        owner.update(dict.fromkeys(tenant.npus, tenant.name))


def tenancy_of(
    name: str,
    npus: Sequence[int] | None,
    start_ps: int,
    dimensions: Sequence[int] | None,
    grid: Sequence[int],
    bandwidths: Sequence[float] | None,
) -> Tenancy:
    """Return where and when a tenant plays on a network with ``grid`` NPUs along its dimensions. Raises InputError."""
    there = prod(grid)
    if npus is None:
        npus = range(there)
        dimensions = grid if dimensions is None else dimensions
    _check_npus(name, npus, there)
    refuse(
        isinstance(start_ps, bool) or not isinstance(start_ps, int) or start_ps < 0,
        f"tenant '{name}': start_ps is {start_ps!r}, expected a number of picoseconds, from 0 on",
    )
    if dimensions is None:
        cut, kept = _cut(npus, grid)
        known = None if bandwidths is None or kept is None else tuple(bandwidths[number] for number in kept)
        return Tenancy(name, tuple(npus), start_ps, cut, known)
    refuse(
        prod(dimensions) != len(npus),
        f"tenant '{name}': dimensions {tuple(dimensions)} make {prod(dimensions)} NPUs, it has {len(npus)}",
    )
    known = None if bandwidths is None or tuple(dimensions) != tuple(grid) else tuple(bandwidths)
    return Tenancy(name, tuple(npus), start_ps, tuple(dimensions), known)


def _check_npus(name: str, npus: Sequence[int], there: int) -> None:
    for npu in npus:
        if isinstance(npu, bool) or not isinstance(npu, int) or not 0 <= npu < there:
            raise wrong(f"tenant '{name}': NPU {npu!r} is not one of the network's {there}, 0 to {there - 1}")
    refuse(not npus, f"tenant '{name}' has no NPUs, expected at least one")
    refuse(len(set(npus)) < len(npus), f"tenant '{name}' has an NPU twice, expected each once")


def _cut(npus: Sequence[int], grid: Sequence[int]) -> tuple[tuple[int, ...], list[int] | None]:
    """Return the grid that NPUs are within the network's, without dimensions of one, and which dimensions are left.

    NPUs that are no grid, or not in its order, have one dimension that is none of the network's.
    """
    coordinates = np.unravel_index(np.array(npus), tuple(grid)[::-1])[::-1]
    values = [np.unique(along) for along in coordinates]
    sizes = [len(each) for each in values]
    strides = np.cumprod([1, *grid[:-1]])
    in_order = np.zeros(1, dtype=np.int64)
    for each, stride in zip(values, strides, strict=True):
        in_order = (in_order[None, :] + (each * stride)[:, None]).reshape(-1)
    if not np.array_equal(in_order, npus):
        return (len(npus),), None
    kept = [number for number, size in enumerate(sizes) if size > 1]
    if not kept:
        return (1,), [0]
    return tuple(sizes[number] for number in kept), kept
