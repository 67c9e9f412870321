"""Recording of a run: describes the tables, fetches them from the session and hands the rows on."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from pathlib import Path

import numpy as np
import numpy.typing as npt

from astra_ns3.config.network.packet_network import Observe
from astra_ns3.errors import BackendError, ResultsNotSaved, refuse
from astra_ns3.network.backends import Ideal
from astra_ns3.network.door.description import Description, NativeValue
from astra_ns3.network.door.library import load
from astra_ns3.network.door.reducers import ReducerPlayers
from astra_ns3.network.door.session import Session, numbers_of
from astra_ns3.network.parquet import ParquetTables
from astra_ns3.network.recorded import (
    ACCOUNT_HOPS,
    ACCOUNT_SERVED,
    ACCOUNTS,
    CONNECTIONS,
    FLOWS,
    IDEAL,
    PAUSES,
    QUEUE_PAIRS,
    QUEUES,
    UTILISATION,
    Labels,
    RecordedTable,
)
from astra_ns3.network.records import RecorderOptions
from astra_ns3.topology.graph import Graph
from astra_ns3.topology.ports import all_ports, port_name, resolve_ports

QUANTITIES = {
    "congestion_window": ("CONGESTION_WINDOW", "congestion_window_bytes"),
    "rtt": ("ROUND_TRIP_TIME", "rtt_ps"),
    "retransmissions": ("RETRANSMISSION", "retransmitted_bytes"),
    "timeouts": ("TIMEOUT", "timeouts"),
}
"""Quantities that are recorded of a connection: the name in C++, and that in its column."""

QUEUE_PAIR_QUANTITIES = {
    "rate": ("QUEUE_PAIR_RATE", "rate_bps"),
    "window": ("QUEUE_PAIR_WINDOW", "window_bytes"),
    "alpha": ("QUEUE_PAIR_ALPHA", "alpha_millionths"),
    "retransmissions": ("QUEUE_PAIR_RETRANSMISSION", "retransmitted_bytes"),
    "cnps": ("QUEUE_PAIR_CNP", "cnps"),
}
"""The same of a RoCE queue pair."""

_PLAYERS = frozenset({"source", "destination", "served_source", "served_destination"})
"""Recorded columns that name who sends or receives."""
Quantities = Mapping[str, tuple[str, str]]
Ports = tuple[tuple[int, int], ...]


class Recording:
    """Describes what the options ask for, and takes its rows; raises InputError for a port that does not exist.

    Without a directory nothing is recorded. Rows go to the options' sink, by default to Parquet files there.
    ``ideal``: makes what tells times alone, by the outside numbers of :class:`ReducerPlayers`; None: nobody knows.
    """

    def __init__(
        self,
        description: Description,
        graph: Graph,
        observe: Observe,
        options: RecorderOptions,
        ideal: Callable[[], Ideal] | None = None,
    ) -> None:
        self._description = description
        self._ideal: Ideal | None = None
        self._reducers = ReducerPlayers(graph)
        self._graph = graph
        self._native = load()
        self._opened: dict[str, RecordedTable] = {}
        self._numbered: dict[int, tuple[RecordedTable, list[int]]] = {}  # with the places of its columns
        queues = resolve_ports(graph, observe.queues)
        busy = resolve_ports(graph, observe.utilisation)
        self._captures = resolve_ports(graph, observe.pcap)
        directory = options.directory
        if directory is None:
            return
        self._sink = options.sink or ParquetTables(directory)
        if ideal is not None and (options.flows or options.accounts):
            self._ideal = ideal()
        if options.flows:
            self._observe(flows=True)
            self._open(FLOWS)
        if options.accounts:
            self._observe(accounts=True, jobBit=options.job_bit)
            self._open(ACCOUNTS)
            self._open_ports(ACCOUNT_HOPS, all_ports(graph))
            self._open(ACCOUNT_SERVED)
        self._observe_table(CONNECTIONS, QUANTITIES, observe.connections)
        self._observe_table(QUEUE_PAIRS, QUEUE_PAIR_QUANTITIES, observe.queue_pairs, observe.queue_pair_interval_ps)
        if queues:
            self._observe(queues=_flat(queues), queueIntervalPs=observe.queue_interval_ps)
            self._open_ports(QUEUES, queues)
        if observe.pauses:
            ports = all_ports(graph)
            self._observe(pauses=_flat(ports))
            self._open_ports(PAUSES, ports)
        if busy:
            self._observe(utilisation=_flat(busy), utilisationIntervalPs=observe.utilisation_interval_ps)
            self._open_ports(UTILISATION, busy)
        self._capture(directory)

    def _observe(self, **values: NativeValue) -> None:
        self._description.add("observation", values)

    def _observe_table(
        self, table: RecordedTable, quantities: Quantities, names: Collection[str], interval_ps: int = 0
    ) -> None:
        """Have a transport fill its table with the quantities of these names."""
        if not names:
            return
        asked = sum(int(getattr(self._native, quantities[name][0])) for name in set(names))
        self._description.add("table", {"table": table.name, "quantities": asked, "intervalPs": interval_ps})
        labels: Labels = {(int(getattr(self._native, native)),): column for native, column in quantities.values()}
        self._open(table.labelled("quantity", labels))

    def _capture(self, directory: Path) -> None:
        for node, port in self._captures:
            path = directory / f"{port_name(self._graph.hosts, node, port).replace(':', '-')}.pcap"
            try:
                path.touch()
            except OSError as error:
                raise ResultsNotSaved(f"{path}: cannot be written: {error.strerror}") from error
            self._description.add("capture", {"node": node, "port": port, "path": str(path)})

    def _open_ports(self, table: RecordedTable, ports: Ports) -> None:
        self._open(table.labelled("port", {key: port_name(self._graph.hosts, *key) for key in ports}))

    def _open(self, table: RecordedTable) -> None:
        self._opened[table.name] = table
        self._sink.open(table)

    def begin(self, session: Session) -> None:
        """Find the opened tables and their columns in the session; raises BackendError for what it lacks."""
        if not self._opened:
            return
        described = [line.split() for line in str(session.DescribeTables()).splitlines()]
        for table in self._opened.values():
            number = _place(table.name, [name for name, *_ in described], "table")
            columns = described[number][1:]
            native = (column for column in table.recorded if column != IDEAL.name)
            places = [_place(column, columns, f"column of {table.name}") for column in native]
            self._numbered[number] = table, places

    def fetch(self, session: Session, number: int) -> None:
        """Hand on the rows that wait in the session's table."""
        refuse(number not in self._numbered, f"the session recorded a table {number} that nobody asked for")
        table, places = self._numbered[number]
        rows = int(session.GetRecordRows(number))
        columns = [numbers_of(session.GetRecordColumn(number, place), rows) for place in places]
        native = [name for name in table.recorded if name != IDEAL.name]
        named = {
            name: self._reducers.named(column) if name in _PLAYERS else column
            for name, column in zip(native, columns, strict=True)
        }
        if IDEAL.name in table.recorded:
            source, destination = (named[end].astype(np.int32) for end in ("source", "destination"))
            sizes = named["bytes"]
            named[IDEAL.name] = np.zeros_like(sizes) if self._ideal is None else self._ideal(source, destination, sizes)
        self._sink.write(table.name, [named[name] for name in table.recorded])

    def end(self, session: Session) -> None:
        """Fetch the last rows, finish the captures, and tell of those that have not all of their packets."""
        if self._opened:
            session.FlushRecords()
        missing = int(session.CloseCaptures()) if self._captures else 0
        for number in range(missing):
            path = Path(str(session.GetFailedCapture(number)))
            self._sink.failed(path.name, "no room for all of its packets")

    def close(self) -> None:
        """Finish all tables."""
        if self._opened:
            self._sink.close()


def _place(name: str, names: list[str], what: str) -> int:
    if name not in names:
        raise BackendError(f"the native library records no {what} '{name}', it has {', '.join(names)}")
    return names.index(name)


def _flat(ports: Ports) -> npt.NDArray[np.uint32]:
    """Node and number of each port, one after the other."""
    return np.array(ports, dtype=np.uint32).reshape(-1)
