"""What a run records while it goes: switches it on in the session, fetches the tables and hands the rows on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from astra_ns3.config.network import Observe
from astra_ns3.errors import InputError
from astra_ns3.network.parquet import ParquetTables
from astra_ns3.network.recorded import FlowTable, PairTable, PortTable, RecordedTable
from astra_ns3.network.records import RecorderOptions
from astra_ns3.topology.graph import Graph
from astra_ns3.topology.ports import all_ports, port_name, resolve_ports

FLOWS, CONNECTIONS, QUEUES, QUEUE_PAIRS, PAUSES, UTILISATION = range(6)

QUANTITIES = {"congestion_window": 1, "rtt": 2, "retransmissions": 4, "timeouts": 8}
"""Names of what is recorded of a connection, and the native library's number of each."""

QUEUE_PAIR_QUANTITIES = {"rate": 1, "window": 2, "alpha": 4, "retransmissions": 8, "cnps": 16}
"""The same of a RoCE queue pair."""

QUANTITY_COLUMN = {1: "congestion_window_bytes", 2: "rtt_ps", 4: "retransmitted_bytes", 8: "timeouts"}
QUEUE_PAIR_COLUMN = {1: "rate_bps", 2: "window_bytes", 4: "alpha_millionths", 8: "retransmitted_bytes", 16: "cnps"}


class Recording:
    """Switches on what the options ask for; raises InputError for a port that does not exist.

    Without a directory nothing is recorded. Rows go to the options' sink, by default to Parquet files there.
    """

    def __init__(self, session: Any, graph: Graph, observe: Observe, options: RecorderOptions) -> None:
        self._session = session
        self._graph = graph
        self._tables: dict[int, RecordedTable] = {}
        queues = resolve_ports(graph, observe.queues)
        busy = resolve_ports(graph, observe.utilisation)
        captures = resolve_ports(graph, observe.pcap)
        directory = options.directory
        if directory is None:
            return
        self._sink = options.sink or ParquetTables(directory)
        if options.flows:
            session.RecordFlows()
            self._open(FLOWS, FlowTable())
        self._observe_pairs(observe)
        if queues:
            for node, port in queues:
                session.ObserveQueue(node, port, observe.queue_interval_ps)
            self._open_ports(QUEUES, "queues", "queue_bytes", queues)
        if observe.pauses:
            ports = all_ports(graph)
            for node, port in ports:
                session.ObservePauses(node, port)
            self._open_ports(PAUSES, "pauses", "paused_priorities", ports)
        if busy:
            for node, port in busy:
                session.ObserveUtilisation(node, port, observe.utilisation_interval_ps)
            self._open_ports(UTILISATION, "utilisation", "wire_bytes", busy)
        self._capture(captures, directory)

    def _observe_pairs(self, observe: Observe) -> None:
        if observe.connections:
            self._session.ObserveConnections(sum(QUANTITIES[name] for name in set(observe.connections)))
            self._open(CONNECTIONS, PairTable("connections", QUANTITY_COLUMN))
        if observe.queue_pairs:
            quantities = sum(QUEUE_PAIR_QUANTITIES[name] for name in set(observe.queue_pairs))
            self._session.ObserveQueuePairs(quantities, observe.queue_pair_interval_ps)
            self._open(QUEUE_PAIRS, PairTable("queue_pairs", QUEUE_PAIR_COLUMN))

    def _capture(self, ports: tuple[tuple[int, int], ...], directory: Path) -> None:
        for node, port in ports:
            path = directory / f"{_file_name(port_name(self._graph, node, port))}.pcap"
            self._session.WritePcap(node, port, str(path))

    def _open_ports(self, number: int, name: str, value: str, ports: tuple[tuple[int, int], ...]) -> None:
        self._open(number, PortTable(name, value, {key: port_name(self._graph, *key) for key in ports}))

    def _open(self, number: int, table: RecordedTable) -> None:
        self._tables[number] = table
        self._sink.open(table)

    def fetch(self, number: int) -> None:
        """Hand on the rows that wait in the session's table."""
        table = self._tables.get(number)
        if table is None:
            raise InputError(f"the session recorded a table {number} that nobody asked for")
        rows = int(self._session.GetRecordRows(number))
        columns = []
        for column in range(table.columns):
            view = self._session.GetRecordColumn(number, column)
            view.reshape((rows,))
            columns.append(np.array(np.frombuffer(view, dtype=np.int64, count=rows)))
        self._sink.write(table.name, columns)

    def close_captures(self) -> None:
        """Finish the captures, and tell of those that have not all of their packets."""
        missing = int(self._session.CloseCaptures())
        for number in range(missing):
            path = Path(str(self._session.GetFailedCapture(number)))
            self._sink.failed(path.name, "no room for all of its packets")

    def close(self) -> None:
        """Finish all tables."""
        if self._tables:
            self._sink.close()


def _file_name(port: str) -> str:
    return port.replace(":", "-")
