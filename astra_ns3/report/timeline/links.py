"""Links: how busy each port was and how long its queue, as counters; when PFC stopped it, as slices."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from astra_ns3.report.ports import levels, paces
from astra_ns3.report.records import SWITCH, end_of, needed, start_of, table_of
from astra_ns3.report.tables import Records, recorded
from astra_ns3.report.timeline.writer import TraceWriter
from astra_ns3.units import PS_PER_SECOND, parse_time_ps

_TABLES = ("utilisation", "queues", "pauses")
_PRIORITIES = 8


class Ports:
    """The group of tracks of each port that has rows, by level of the network."""

    def __init__(self, records: Records, writer: TraceWriter, number: int) -> None:
        """``number``: the place of the network among the groups."""
        self._writer = writer
        self._groups: dict[str, int] = {}
        self._tracks: dict[tuple[str, str], int] = {}
        self._peers = {row["port"]: row["link_to"] for row in records.rows(SWITCH)}
        used = {port for table in _TABLES for port in _ports_with_rows(records, table)}
        if used:
            network = writer.process("network", number)
            ordered = [port for level in levels(records, used) for port in level.ports]
            for rank, port in enumerate(ordered):
                self._groups[port] = writer.track(network, f"{port} to {self._peers[port]}", rank)

    def counter(self, port: str, name: str, unit: str) -> int:
        """A counter of a port."""
        if (port, name) not in self._tracks:
            self._tracks[port, name] = self._writer.counter(self._groups[port], name, unit)
        return self._tracks[port, name]

    def track(self, port: str, name: str) -> int:
        """A track of a port."""
        if (port, name) not in self._tracks:
            self._tracks[port, name] = self._writer.track(self._groups[port], name)
        return self._tracks[port, name]


def write_links(records: Records, writer: TraceWriter, number: int) -> None:
    """All that was observed of ports."""
    ports = Ports(records, writer, number)
    if recorded(records, "utilisation") is not None:
        _write_utilisation(records, writer, ports)
    if recorded(records, "queues") is not None:
        for time_ps, port, queue_bytes in _rows(records, "queues", "queue_bytes"):
            writer.count(ports.counter(port, "queue", "B"), time_ps, queue_bytes)
    if recorded(records, "pauses") is not None:
        _write_pauses(records, writer, ports)


def _write_utilisation(records: Records, writer: TraceWriter, ports: Ports) -> None:
    """Percent of the link's rate then, or Gb/s where that isn't known; 0 in intervals without a row."""
    interval_ps = parse_time_ps(records.metadata["network"]["observe"]["utilisation_interval"])
    rates, end_ps = paces(records), records.network_finish_ps - start_of(records.metadata)
    until: dict[str, int] = {}
    for time_ps, port, wire_bytes in _rows(records, "utilisation", "wire_bytes"):
        name, unit = ("utilisation", "%") if port in rates else ("sent", "Gb/s")
        counter = ports.counter(port, name, unit)
        start_ps = max(0, time_ps - interval_ps)
        if port in until and start_ps > until[port]:
            writer.count(counter, until[port], 0.0)
        begin_ps = time_ps - interval_ps
        until_ps = end_ps if begin_ps < end_ps < time_ps else time_ps
        bits_per_second = 8 * wire_bytes * PS_PER_SECOND / (until_ps - begin_ps)
        mean_bps = rates[port].mean_bps(*np.array([[begin_ps], [until_ps]]))[0] if port in rates else 0
        writer.count(counter, start_ps, bits_per_second * (100 / mean_bps if mean_bps else 1e-9))
        until[port] = time_ps
    for port, end_ps in until.items():
        writer.count(ports.counter(port, "utilisation" if port in rates else "sent", ""), end_ps, 0.0)


def _write_pauses(records: Records, writer: TraceWriter, ports: Ports) -> None:
    """A slice for as long as the same priorities are stopped; the run's end ends those that still are."""
    start_ps, end_ps = writer.annotation("start_ps"), writer.annotation("end_ps")
    stopped: dict[str, tuple[int, int]] = {}

    def end(port: str, until: int) -> None:
        since, priorities = stopped.pop(port)
        notes = ((start_ps, since), (end_ps, until))
        writer.slice(ports.track(port, "paused"), writer.name(_paused(priorities)), since, until, notes)

    for time_ps, port, priorities in _rows(records, "pauses", "paused_priorities"):
        if port in stopped:
            end(port, time_ps)
        if priorities:
            stopped[port] = time_ps, priorities
    for port in list(stopped):
        end(port, max(end_of(records.metadata), stopped[port][0]))


def _paused(priorities: int) -> str:
    """Which priorities are stopped, in words."""
    numbers = [str(number) for number in range(_PRIORITIES) if priorities >> number & 1]
    return f"priority {', '.join(numbers)}"


def _ports_with_rows(records: Records, name: str) -> set[str]:
    table = table_of(records, name)
    return {port for (port,) in table.tuples("port")} if table else set()


def _rows(records: Records, table: str, value: str) -> Iterator[tuple[Any, ...]]:  # as the table has them
    """Time, port and value of each row; the times of a port ascend."""
    return needed(records, table).tuples("time_ps", "port", value)
