"""Tables of a run with several tenants: each row goes to the tenant it tells of, in the tenant's own numbers.

A tenant's table is called ``NAME/TABLE`` on its way to the files; tables without a tenant keep their name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from astra_ns3.network.instance import TenantBits
from astra_ns3.network.recorded import ACCOUNT_HOPS, ACCOUNTS, FLOWS, Columns, Numbers, RecordedTable, TableSink

_BETWEEN = "/"


class TenantTables:
    """A TableSink for what one tenant records; hands all on to ``sink`` under the tenant's ``name``."""

    def __init__(self, sink: TableSink, name: str) -> None:
        self._sink = sink
        self._name = name

    def open(self, table: RecordedTable) -> None:
        """Rows of ``table`` will come."""
        self._sink.open(replace(table, name=self._of(table.name)))

    def label(self, name: str, column: str, number: int, text: str) -> None:
        """Hand on a text."""
        self._sink.label(self._of(name), column, number, text)

    def write(self, name: str, columns: Columns) -> None:
        """Hand on rows."""
        self._sink.write(self._of(name), columns)

    def failed(self, file: str, reason: str) -> None:
        """A file could not be written whole."""
        self._sink.failed(self._of(file), reason)

    def close(self) -> None:
        """Whoever made ``sink`` closes it, for all tenants."""

    def _of(self, name: str) -> str:
        return f"{self._name}{_BETWEEN}{name}"


class SplitTables:
    """A TableSink that hands the rows of tables called ``NAME/TABLE`` to a tenant's own sink, all others to the
    network's; it closes all."""

    def __init__(self, network: TableSink, tenants: Mapping[str, TableSink]) -> None:
        self._network = network
        self._tenants = tenants

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

    def close(self) -> None:
        """No more rows will come."""
        for sink in (*self._tenants.values(), self._network):
            sink.close()

    def _of(self, name: str) -> tuple[TableSink, str]:
        """The sink of a table, and what the table is called there."""
        tenant, between, own = name.rpartition(_BETWEEN)
        return (self._tenants[tenant], own) if between else (self._network, name)


class NetworkTables:
    """A TableSink for what the network records; messages go to the tenant that sends them, all else on to ``sink``.

    ``tenants``: of each its name, its NPUs and its start.
    """

    def __init__(self, sink: TableSink, bits: TenantBits, tenants: Sequence[tuple[str, Sequence[int], int]]) -> None:
        self._sink = sink
        self._bits = bits
        self._own = [TenantTables(sink, name) for name, _, _ in tenants]
        self._starts_ps = [start_ps for _, _, start_ps in tenants]
        ranks = np.zeros(1 + max(max(npus) for _, npus, _ in tenants), dtype=np.int64)
        for _, npus, _ in tenants:
            ranks[list(npus)] = np.arange(len(npus))
        self._rank_of = ranks
        self._opened: dict[str, RecordedTable] = {}
        self._messages = _Messages(len(tenants))
        self._hops: list[Columns] = []

    def open(self, table: RecordedTable) -> None:
        """Rows of ``table`` will come."""
        if table.name not in (FLOWS.name, ACCOUNTS.name, ACCOUNT_HOPS.name):
            self._sink.open(table)
            return
        self._opened[table.name] = table
        for own in self._own:
            own.open(table)

    def label(self, name: str, column: str, number: int, text: str) -> None:
        """Hand on a text."""
        self._sink.label(name, column, number, text)

    def write(self, name: str, columns: Columns) -> None:
        """Hand on rows, each to its tenant."""
        if name not in self._opened:
            self._sink.write(name, columns)
        elif name == ACCOUNT_HOPS.name:
            self._hops.append(columns)
            self._write_hops()
        else:
            self._write_messages(name, columns)
            if self._hops:
                self._write_hops()

    def failed(self, file: str, reason: str) -> None:
        """A file could not be written whole."""
        self._sink.failed(file, reason)

    def close(self) -> None:
        """No more rows will come."""
        self._sink.close()

    def _write_messages(self, name: str, columns: Columns) -> None:
        recorded = self._opened[name].recorded
        found = dict(zip(recorded, columns, strict=True))
        tenants = found["instance"] >> self._bits.shift
        found["instance"] = found["instance"] & ((1 << self._bits.shift) - 1)
        for end in ("source", "destination"):
            found[end] = self._rank_of[found[end]]
        if name == ACCOUNTS.name:
            self._messages.add(tenants)
        for tenant in np.unique(tenants):
            start_ps = self._starts_ps[tenant]
            own = {column: numbers[tenants == tenant] for column, numbers in found.items()}
            own["start_ps"], own["end_ps"] = own["start_ps"] - start_ps, own["end_ps"] - start_ps
            self._own[tenant].write(name, [own[column] for column in recorded])

    def _write_hops(self) -> None:
        """Hand on the hops of messages whose rows have come; the network may hand over the hops first."""
        recorded = self._opened[ACCOUNT_HOPS.name].recorded
        hops = [np.concatenate(parts) for parts in zip(*self._hops, strict=True)]
        found = dict(zip(recorded, hops, strict=True))
        known = int(np.searchsorted(found["message"], self._messages.known))
        self._hops = [[column[known:] for column in hops]]
        found = {column: numbers[:known] for column, numbers in found.items()}
        if not known:
            return
        tenants, found["message"] = self._messages.taken(found["message"])
        for tenant in np.unique(tenants):
            own = {column: numbers[tenants == tenant] for column, numbers in found.items()}
            own["arrival_ps"] = own["arrival_ps"] - self._starts_ps[tenant]
            self._own[tenant].write(ACCOUNT_HOPS.name, [own[column] for column in recorded])


class _Messages:
    """Whose each message of the run is, by its row in accounts, and its row among those of its tenant.

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
        for tenant in np.unique(tenants):
            own = tenants == tenant
            numbers[own] = self._counts[tenant] + np.arange(own.sum())
            self._counts[tenant] += own.sum()
        self._tenants = np.concatenate([self._tenants, tenants])
        self._numbers = np.concatenate([self._numbers, numbers])

    def taken(self, messages: Numbers) -> tuple[Numbers, Numbers]:
        """Return the tenant of each of some messages, ascending, and its row there."""
        rows = messages - self._first
        found = self._tenants[rows], self._numbers[rows]
        gone = int(rows[-1])
        self._first += gone
        self._tenants, self._numbers = self._tenants[gone:], self._numbers[gone:]
        return found
