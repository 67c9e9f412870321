"""What a run writes while it goes: fetches the session's tables and streams them to their files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from astra_ns3.config.network import Observe
from astra_ns3.errors import InputError
from astra_ns3.network.ns3.records import QUANTITIES, ConnectionWriter, FlowWriter, QueueWriter
from astra_ns3.network.records import RecorderOptions
from astra_ns3.topology.graph import Graph
from astra_ns3.topology.ports import port_name, resolve_ports

FLOWS, CONNECTIONS, QUEUES = 0, 1, 2


class Recording:
    """Switches on what the options ask for and owns the files; raises InputError for a port that does not exist.

    Without a directory nothing is recorded.
    """

    def __init__(self, session: Any, graph: Graph, observe: Observe, options: RecorderOptions) -> None:
        self._session = session
        self._writers: dict[int, FlowWriter | ConnectionWriter | QueueWriter] = {}
        queues = resolve_ports(graph, observe.queues)
        captures = resolve_ports(graph, observe.pcap)
        if options.directory is None:
            return
        if options.flows:
            session.RecordFlows()
            self._writers[FLOWS] = FlowWriter(options.directory)
        if observe.connections:
            session.ObserveConnections(sum(QUANTITIES[name] for name in set(observe.connections)))
            self._writers[CONNECTIONS] = ConnectionWriter(options.directory)
        if queues:
            self._observe_queues(graph, queues, observe.queue_interval_ps, options.directory)
        for node, port in captures:
            path = options.directory / f"{_file_name(port_name(graph, node, port))}.pcap"
            session.WritePcap(node, port, str(path))

    def _observe_queues(
        self, graph: Graph, queues: tuple[tuple[int, int], ...], interval_ps: int, directory: Path
    ) -> None:
        for node, port in queues:
            self._session.ObserveQueue(node, port, interval_ps)
        self._writers[QUEUES] = QueueWriter(directory, {key: port_name(graph, *key) for key in queues})

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
