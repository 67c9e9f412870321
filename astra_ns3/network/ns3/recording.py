"""What a run writes while it goes: fetches the session's tables and streams them to their files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from astra_ns3.config.network import Observe
from astra_ns3.errors import InputError
from astra_ns3.network.ns3.records import (
    QUANTITIES,
    QUEUE_PAIR_QUANTITIES,
    FlowWriter,
    PairWriter,
    PortWriter,
    connection_writer,
    queue_pair_writer,
)
from astra_ns3.network.records import RecorderOptions
from astra_ns3.topology.graph import Graph
from astra_ns3.topology.ports import all_ports, port_name, resolve_ports

FLOWS, CONNECTIONS, QUEUES, QUEUE_PAIRS, PAUSES, UTILISATION = range(6)


class Recording:
    """Switches on what the options ask for and owns the files; raises InputError for a port that does not exist.

    Without a directory nothing is recorded.
    """

    def __init__(self, session: Any, graph: Graph, observe: Observe, options: RecorderOptions) -> None:
        self._session = session
        self._writers: dict[int, FlowWriter | PairWriter | PortWriter] = {}
        queues = resolve_ports(graph, observe.queues)
        busy = resolve_ports(graph, observe.utilisation)
        captures = resolve_ports(graph, observe.pcap)
        directory = options.directory
        if directory is None:
            return
        if options.flows:
            session.RecordFlows()
            self._writers[FLOWS] = FlowWriter(directory)
        self._observe_pairs(observe, directory)
        if queues:
            for node, port in queues:
                session.ObserveQueue(node, port, observe.queue_interval_ps)
            self._writers[QUEUES] = PortWriter(directory / "queues.parquet", "queue_bytes", _names(graph, queues))
        if observe.pauses:
            ports = all_ports(graph)
            for node, port in ports:
                session.ObservePauses(node, port)
            self._writers[PAUSES] = PortWriter(directory / "pauses.parquet", "paused_priorities", _names(graph, ports))
        if busy:
            for node, port in busy:
                session.ObserveUtilisation(node, port, observe.utilisation_interval_ps)
            self._writers[UTILISATION] = PortWriter(
                directory / "utilisation.parquet", "wire_bytes", _names(graph, busy)
            )
        for node, port in captures:
            path = directory / f"{_file_name(port_name(graph, node, port))}.pcap"
            session.WritePcap(node, port, str(path))

    def _observe_pairs(self, observe: Observe, directory: Path) -> None:
        if observe.connections:
            self._session.ObserveConnections(sum(QUANTITIES[name] for name in set(observe.connections)))
            self._writers[CONNECTIONS] = connection_writer(directory)
        if observe.queue_pairs:
            quantities = sum(QUEUE_PAIR_QUANTITIES[name] for name in set(observe.queue_pairs))
            self._session.ObserveQueuePairs(quantities, observe.queue_pair_interval_ps)
            self._writers[QUEUE_PAIRS] = queue_pair_writer(directory)

    def fetch(self, table: int) -> None:
        """Write the rows that wait in the session's ``table``."""
        writer = self._writers.get(table)
        if writer is None:
            raise InputError(f"the session recorded a table {table} that nobody asked for")
        rows = int(self._session.GetRecordRows(table))
        columns = []
        for column in range(writer.columns):
            view = self._session.GetRecordColumn(table, column)
            view.reshape((rows,))
            columns.append(np.array(np.frombuffer(view, dtype=np.int64, count=rows)))
        writer.write(columns)

    def close(self) -> None:
        """Finish all files."""
        for writer in self._writers.values():
            writer.close()


def _file_name(port: str) -> str:
    return port.replace(":", "-")


def _names(graph: Graph, ports: tuple[tuple[int, int], ...]) -> dict[tuple[int, int], str]:
    return {key: port_name(graph, *key) for key in ports}
