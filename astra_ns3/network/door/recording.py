"""What a run records while it goes: describes it, fetches the tables from the session and hands the rows on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np
import numpy.typing as npt

from astra_ns3.config.network.packet_network import Observe
from astra_ns3.errors import InputError
from astra_ns3.network.door.library import load
from astra_ns3.network.door.session import Description, Session, Struct, numbers_of
from astra_ns3.network.parquet import ParquetTables
from astra_ns3.network.recorded import FlowTable, PairTable, PortTable, RecordedTable
from astra_ns3.network.records import RecorderOptions
from astra_ns3.topology.graph import Graph
from astra_ns3.topology.ports import all_ports, port_name, resolve_ports

QUANTITIES = {
    "congestion_window": ("CONGESTION_WINDOW", "congestion_window_bytes"),
    "rtt": ("ROUND_TRIP_TIME", "rtt_ps"),
    "retransmissions": ("RETRANSMISSION", "retransmitted_bytes"),
    "timeouts": ("TIMEOUT", "timeouts"),
}
"""What is recorded of a connection: its name in C++, and that of its column."""

QUEUE_PAIR_QUANTITIES = {
    "rate": ("QUEUE_PAIR_RATE", "rate_bps"),
    "window": ("QUEUE_PAIR_WINDOW", "window_bytes"),
    "alpha": ("QUEUE_PAIR_ALPHA", "alpha_millionths"),
    "retransmissions": ("QUEUE_PAIR_RETRANSMISSION", "retransmitted_bytes"),
    "cnps": ("QUEUE_PAIR_CNP", "cnps"),
}
"""The same of a RoCE queue pair."""

Quantities = Mapping[str, tuple[str, str]]
Ports = tuple[tuple[int, int], ...]


class Recording:
    """Describes what the options ask for, and takes its rows; raises InputError for a port that does not exist.

    Without a directory nothing is recorded. Rows go to the options' sink, by default to Parquet files there.
    """

    def __init__(self, description: Description, graph: Graph, observe: Observe, options: RecorderOptions) -> None:
        self._description = description
        self._graph = graph
        self._native = load()
        self._tables: dict[int, RecordedTable] = {}
        queues = resolve_ports(graph, observe.queues)
        busy = resolve_ports(graph, observe.utilisation)
        captures = resolve_ports(graph, observe.pcap)
        directory = options.directory
        if directory is None:
            return
        self._sink = options.sink or ParquetTables(directory)
        if options.flows:
            self._observe(flows=True)
            self._open(self._native.FLOW_RECORDS, FlowTable())
        self._observe_pairs(observe)
        if queues:
            self._observe(queues=_flat(queues), queueIntervalPs=observe.queue_interval_ps)
            self._open_ports(self._native.QUEUE_RECORDS, "queues", "queue_bytes", queues)
        if observe.pauses:
            ports = all_ports(graph)
            self._observe(pauses=_flat(ports))
            self._open_ports(self._native.PAUSE_RECORDS, "pauses", "paused_priorities", ports)
        if busy:
            self._observe(utilisation=_flat(busy), utilisationIntervalPs=observe.utilisation_interval_ps)
            self._open_ports(self._native.UTILISATION_RECORDS, "utilisation", "wire_bytes", busy)
        self._capture(captures, directory)

    def _observe(self, **values: object) -> Struct:
        return self._description.part("observation", values)

    def _observe_pairs(self, observe: Observe) -> None:
        if observe.connections:
            self._observe(connectionQuantities=self._sum(QUANTITIES, observe.connections))
            columns = self._columns(QUANTITIES)
            self._open(self._native.CONNECTION_RECORDS, PairTable("connections", columns))
        if observe.queue_pairs:
            quantities = self._sum(QUEUE_PAIR_QUANTITIES, observe.queue_pairs)
            self._observe(queuePairQuantities=quantities, queuePairIntervalPs=observe.queue_pair_interval_ps)
            columns = self._columns(QUEUE_PAIR_QUANTITIES)
            self._open(self._native.QUEUE_PAIR_RECORDS, PairTable("queue_pairs", columns))

    def _sum(self, quantities: Quantities, names: Iterable[str]) -> int:
        return sum(int(getattr(self._native, quantities[name][0])) for name in set(names))

    def _columns(self, quantities: Quantities) -> dict[int, str]:
        return {int(getattr(self._native, native)): column for native, column in quantities.values()}

    def _capture(self, ports: Ports, directory: Path) -> None:
        for node, port in ports:
            path = directory / f"{_file_name(port_name(self._graph, node, port))}.pcap"
            self._description.add("Capture", {"node": node, "port": port, "path": str(path)}, to=self._observe())

    def _open_ports(self, number: int, name: str, value: str, ports: Ports) -> None:
        self._open(number, PortTable(name, value, {key: port_name(self._graph, *key) for key in ports}))

    def _open(self, number: int, table: RecordedTable) -> None:
        self._tables[int(number)] = table
        self._sink.open(table)

    def fetch(self, session: Session, number: int) -> None:
        """Hand on the rows that wait in the session's table."""
        table = self._tables.get(number)
        if table is None:
            raise InputError(f"the session recorded a table {number} that nobody asked for")
        rows = int(session.GetRecordRows(number))
        columns = [numbers_of(session.GetRecordColumn(number, column), rows) for column in range(table.columns)]
        self._sink.write(table.name, columns)

    def close_captures(self, session: Session) -> None:
        """Finish the captures, and tell of those that have not all of their packets."""
        missing = int(session.CloseCaptures())
        for number in range(missing):
            path = Path(str(session.GetFailedCapture(number)))
            self._sink.failed(path.name, "no room for all of its packets")

    def close(self) -> None:
        """Finish all tables."""
        if self._tables:
            self._sink.close()


def _file_name(port: str) -> str:
    return port.replace(":", "-")


def _flat(ports: Ports) -> npt.NDArray[np.uint32]:
    """Node and number of each port, one after the other."""
    return np.array(ports, dtype=np.uint32).reshape(-1)
