"""Tables of a run with several tenants: each row goes to the tenant it tells of, in the tenant's own numbers.

A tenant's table is called ``NAME/TABLE`` on its way to the files; tables without a tenant keep their name.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from astra_ns3.network.instance import TenantBits
from astra_ns3.network.recorded import (
    ACCOUNT_HOPS,
    ACCOUNT_SERVED,
    ACCOUNTS,
    CONNECTIONS,
    FLOWS,
    OF_JOB,
    QUEUE_PAIRS,
    SAME_JOB,
    Columns,
    Numbers,
    RecordedTable,
    TableSink,
    of_job,
)

_BETWEEN = "/"
# Tables whose rows are about two NPUs of one tenant.
_OF_TENANTS = (FLOWS, ACCOUNTS, ACCOUNT_HOPS, ACCOUNT_SERVED, CONNECTIONS, QUEUE_PAIRS)
NOBODY = -1
"""Whose a row is that no tenant gets."""
# Their columns that are points in time.
_MOMENTS = ("time_ps", "start_ps", "end_ps", "arrival_ps")


class _Renamed(ABC):
    """A TableSink that hands each table on to the sink it is for, under its name there."""

    def open(self, table: RecordedTable) -> None:
        """Rows of ``table`` will come."""
        sink, name = self._of(table.name)
        sink.open(replace(table, name=name))

    def label(self, name: str, column: str, number: int, text: str) -> None:
        """Hand on a text."""
        sink, own = self._of(name)
        sink.label(own, column, number, text)

    def write(self, name: str, columns: Columns) -> None:
        """Hand on rows."""
        sink, own = self._of(name)
        sink.write(own, columns)

    def failed(self, file: str, reason: str) -> None:
        """A file could not be written whole."""
        sink, own = self._of(file)
        sink.failed(own, reason)

    @abstractmethod
    def _of(self, name: str) -> tuple[TableSink, str]:
        """The sink of a table, and what the table is called there."""


class TableOwner(NamedTuple):
    """A tenant to whom rows may belong: its name, its job's name, its NPUs and its start as far as they are known."""

    name: str
    job: str
    npus: Sequence[int]
    start_ps: int


class TenantTables(_Renamed):
    """A TableSink for what one tenant records; hands all on to ``sink`` under the tenant's ``name``.

    Each table has a column with the name of its ``job``.
    """

    def __init__(self, sink: TableSink, name: str, job: str) -> None:
        self._sink = sink
        self._name = name
        self._job = job

    def open(self, table: RecordedTable) -> None:
        """Rows of ``table`` will come."""
        super().open(of_job(table, self._job))

    def write(self, name: str, columns: Columns) -> None:
        """Hand on rows."""
        super().write(name, [np.zeros(len(columns[0]), dtype=np.int64), *columns])

    def close(self) -> None:
        """Whoever made ``sink`` closes it, for all tenants."""

    def _of(self, name: str) -> tuple[TableSink, str]:
        return self._sink, f"{self._name}{_BETWEEN}{name}"


class SplitTables(_Renamed):
    """A TableSink that hands the rows of tables called ``NAME/TABLE`` to a tenant's own sink, all others to the
    network's; it closes all."""

    def __init__(self, network: TableSink, tenants: Mapping[str, TableSink]) -> None:
        self._network = network
        self._tenants = tenants

    def close(self) -> None:
        """Close the tables: no more rows will come."""
        for sink in (*self._tenants.values(), self._network):
            sink.close()

    def _of(self, name: str) -> tuple[TableSink, str]:
        tenant, between, own = name.rpartition(_BETWEEN)
        return (self._tenants[tenant], own) if between else (self._network, name)


class NetworkTables:
    """A TableSink for what the network records; what is about two NPUs goes to their tenant, all else on to ``sink``.

    ``start_ps(tenant)`` says when each has started, where ``tenants`` can't. ``shared``: numbers of those whose NPUs
    others may have, too; rows that name two NPUs and nothing else are theirs if no other tenant has both.
    ``arriving``: numbers of those whose NPUs ``npus_of(tenant)`` says once they have started; others may have these
    before and after them. ``npus``: how many the network has, if they may be any; behind them are ``reducers``, which
    have one number for all. A tenant that has ended, by
    ``end_ps(tenant)``, gets no rows of what its transports still do: alone, the run ends with the tenant.
    """

    def __init__(
        self,
        sink: TableSink,
        bits: TenantBits,
        tenants: Sequence[TableOwner],
        shared: Collection[int] = (),
        arriving: Collection[int] = (),
        npus: int = 0,
        reducers: int = 0,
    ) -> None:
        self.end_ps: Callable[[int], int | None] = lambda _: None
        self.start_ps: Callable[[int], int] = lambda tenant: tenants[tenant].start_ps
        self._sink = sink
        self._bits = bits
        self._own = [TenantTables(sink, each.name, each.job) for each in tenants]
        most = max(npus, 1 + max(max(each.npus) for each in tenants))
        ranks, self._tenant_of = np.full((2, most + reducers), NOBODY, dtype=np.int64)
        ranks[most:] = np.arange(most, most + reducers)
        self._first_reducer = most
        self.npus_of: Callable[[int], Sequence[int]] = lambda tenant: tenants[tenant].npus
        self._rank_of = {tenant: ranks.copy() for tenant in shared}
        """The rank of each NPU in each tenant that may share it; all others have theirs in one table."""
        self._ranks = ranks
        self._arriving = frozenset(arriving)
        self._to_come = sorted(arriving)
        for tenant, each in enumerate(tenants):
            if tenant in self._arriving:
                continue
            self._rank_of.get(tenant, ranks)[list(each.npus)] = np.arange(len(each.npus))
            if tenant not in shared:
                self._tenant_of[list(each.npus)] = tenant
        self._names = [each.job for each in tenants]
        self._opened: dict[str, RecordedTable] = {}
        self._following = {table.name: _Following(len(tenants)) for table in (ACCOUNT_HOPS, ACCOUNT_SERVED)}

    def open(self, table: RecordedTable) -> None:
        """Rows of ``table`` will come."""
        if table.name not in {each.name for each in _OF_TENANTS}:
            self._sink.open(table)
            return
        self._opened[table.name] = table
        if table.name == ACCOUNT_SERVED.name:
            table = replace(table, columns=(OF_JOB, *table.columns)).labelled(
                OF_JOB.name, {**{(number,): name for number, name in enumerate(self._names)}, (NOBODY,): ""}
            )
        for own in self._own:
            own.open(table)

    def label(self, name: str, column: str, number: int, text: str) -> None:
        """Hand on a text."""
        self._sink.label(name, column, number, text)

    def write(self, name: str, columns: Columns) -> None:
        """Hand on rows, each to its tenant."""
        if name not in self._opened:
            self._sink.write(name, columns)
        elif name in self._following:
            self._following[name].waiting.append(columns)
            self._write_following(name)
        else:
            self._write_pairs(name, columns)
            for following in self._following:
                self._write_following(following)

    def failed(self, file: str, reason: str) -> None:
        """A file could not be written whole."""
        self._sink.failed(file, reason)

    def close(self) -> None:
        """Close the tables: no more rows will come."""
        self._sink.close()

    def _write_pairs(self, name: str, columns: Columns) -> None:
        """Hand on rows about messages, connections or queue pairs."""
        found = dict(zip(self._opened[name].recorded, columns, strict=True))
        moments = found["end_ps" if "end_ps" in found else "time_ps"]
        self._look_who_has_come()
        if "instance" in found:
            tenants = found["instance"] >> self._bits.shift
            found["instance"] = found["instance"] & ((1 << self._bits.shift) - 1)
        else:
            tenants = self._of_pairs(found["source"], found["destination"], moments)
        for end in ("source", "destination"):
            found[end] = self._rank_in(tenants, found[end])
        for tenant in range(len(self._own)):
            end_ps = self.end_ps(tenant)
            if end_ps is not None:
                tenants = np.where((tenants == tenant) & (moments > end_ps), NOBODY, tenants)
        if name == ACCOUNTS.name:
            for following in self._following.values():
                following.messages.add(tenants)
        self._hand_on(name, found, tenants)

    def _look_who_has_come(self) -> None:
        """Take down the NPUs of those that have started since the last time."""
        for tenant in self._to_come:
            npus = self.npus_of(tenant)
            if npus:
                self._rank_of[tenant] = np.where(np.arange(len(self._ranks)) < self._first_reducer, NOBODY, self._ranks)
                self._rank_of[tenant][list(npus)] = np.arange(len(npus))
        self._to_come = [tenant for tenant in self._to_come if tenant not in self._rank_of]

    def _of_pairs(self, sources: Numbers, destinations: Numbers, moments: Numbers) -> Numbers:
        """Return the first tenant that has both NPUs of each pair at a moment; between two reducers that is nobody.

        Those that share NPUs with all others come last, and only once they have started.
        """
        of_reducer = np.array([ends >= self._first_reducer for ends in (sources, destinations)])
        of_source, of_destination = (self._tenant_of[ends] for ends in (sources, destinations))
        found = np.where(of_reducer[0], of_destination, of_source)
        found = np.where(of_reducer.any(axis=0) | (of_source == of_destination), found, NOBODY)
        for tenant in sorted(self._rank_of, key=lambda tenant: tenant not in self._arriving):
            ranks = self._rank_of[tenant]
            has = (ranks[sources] != NOBODY) & (ranks[destinations] != NOBODY)
            has &= moments >= self.start_ps(tenant)
            if tenant in self._arriving:
                end_ps = self.end_ps(tenant)
                has &= end_ps is None or moments <= end_ps
            found = np.where((found == NOBODY) & has, tenant, found)
        return found

    def _rank_in(self, tenants: Numbers, npus: Numbers) -> Numbers:
        """Return the rank of each NPU in its tenant."""
        found = self._ranks[npus]
        for tenant in self._rank_of.keys() & np.unique(tenants).tolist():
            found = np.where(tenants == tenant, self._rank_of[tenant][npus], found)
        return found

    def _write_following(self, name: str) -> None:
        """Hand on rows about messages whose own rows have come; the network may hand these over later."""
        following = self._following[name]
        if not following.waiting:
            return
        rows = [np.concatenate(parts) for parts in zip(*following.waiting, strict=True)]
        found = dict(zip(self._opened[name].recorded, rows, strict=True))
        known = int(np.searchsorted(found["message"], following.messages.known))
        following.waiting = [[column[known:] for column in rows]]
        if known:
            found = {column: numbers[:known] for column, numbers in found.items()}
            tenants, found["message"] = following.messages.taken(found["message"])
            self._hand_on(name, self._in_their_numbers(found, tenants) if "instance" in found else found, tenants)

    def _in_their_numbers(self, found: Mapping[str, Numbers], waiting: Numbers) -> dict[str, Numbers]:
        """Return rows about messages that those of tenants ``waiting`` waited behind, with whose these are, in the
        numbers of who that is."""
        named = found["instance"] >= 0
        own = {**found, "instance": np.where(named, found["instance"] & ((1 << self._bits.shift) - 1), NOBODY)}
        tenants = np.where(named, found["instance"] >> self._bits.shift, NOBODY)
        tenants = np.where(found["instance"] == SAME_JOB, waiting, tenants)
        for end in ("source", "destination"):
            own[end] = np.where(named, self._rank_in(tenants, found[end]), NOBODY)
        return {OF_JOB.name: tenants, **own}

    def _hand_on(self, name: str, found: Mapping[str, Numbers], tenants: Numbers) -> None:
        """Hand the rows of each tenant to it, in its own time."""
        for tenant in np.unique(tenants[tenants != NOBODY]):
            own = {column: numbers[tenants == tenant] for column, numbers in found.items()}
            for moment in own.keys() & _MOMENTS:
                own[moment] = own[moment] - self.start_ps(tenant)
            self._own[tenant].write(name, list(own.values()))


class _Following:
    """Rows of a table about messages: those that wait for the rows of their messages, and whose these are."""

    def __init__(self, tenants: int) -> None:
        self.messages = _Messages(tenants)
        self.waiting: list[Columns] = []


class _Messages:
    """The tenant of each message of the run, by its row in accounts, and its row among those of its tenant.

    Messages are asked for in their order, and forgotten once a later one is.
    """

    def __init__(self, tenants: int) -> None:
        self._counts = np.zeros(tenants, dtype=np.int64)
        self._first = 0
        self._tenants = np.zeros(0, dtype=np.int64)
        self._numbers = np.zeros(0, dtype=np.int64)

    @property
    def known(self) -> int:
        """How many messages have come."""
        return self._first + len(self._tenants)

    def add(self, tenants: Numbers) -> None:
        """Take down whose the next messages are."""
        numbers = np.zeros(len(tenants), dtype=np.int64)
        for tenant in np.unique(tenants[tenants != NOBODY]):
            own = tenants == tenant
            numbers[own] = self._counts[tenant] + np.arange(own.sum())
            self._counts[tenant] += own.sum()
        self._tenants = np.concatenate([self._tenants, tenants])
        self._numbers = np.concatenate([self._numbers, numbers])

    def taken(self, messages: Numbers) -> tuple[Numbers, Numbers]:
        """Return, for each of ``messages`` (ascending), its tenant and its row in that tenant's table."""
        rows = messages - self._first
        found = self._tenants[rows], self._numbers[rows]
        gone = int(rows[-1])
        self._first += gone
        self._tenants, self._numbers = self._tenants[gone:], self._numbers[gone:]
        return found
