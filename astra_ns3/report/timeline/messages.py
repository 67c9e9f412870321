"""Messages: a slice where each was sent, an instant where it was received, an arrow between them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from astra_ns3.report.tables import Records, batches, columns_of, recorded, rows_of
from astra_ns3.report.timeline.programs import Npus
from astra_ns3.report.timeline.writer import TraceWriter

_SENT, _RECEIVED = 20, 21
"""Places of an NPU's tracks of messages, below all others."""
_NOTED = ("start_ps", "end_ps", "bytes", "collective", "chunk", "phase", "row")


def table_of(records: Records) -> str | None:
    """Which table has the messages: the accounts, which say more, or the flows; None: they were not recorded."""
    return next((table for table in ("accounts", "flows") if recorded(records, table) is not None), None)


def write_messages(records: Records, writer: TraceWriter, npus: Npus, most: int) -> tuple[int, int]:
    """At most ``most`` of the messages, evenly among all in order of arrival; returns how many, and of how many."""
    table = table_of(records)
    every = 0 if table is None else rows_of(records, table)
    if table is None or most <= 0:
        return 0, every
    parts = [name for name in columns_of(records, table) if name.endswith("_ps")][2:] if table == "accounts" else []
    noted = [*_NOTED, *parts]
    keys, part_keys = ([writer.annotation(name) for name in names] for names in (_NOTED, parts))
    end_ps = writer.annotation("end_ps")
    count = int(records.metadata["npus"])
    to_npu = [writer.name(f"to NPU {npu}") for npu in range(count)]
    from_npu = [writer.name(f"from NPU {npu}") for npu in range(count)]
    shown = 0
    for flow, source, destination, values in _sampled(records, table, noted, every, most):
        start, end = values[0], values[1]
        track = npus.lane(source, "messages sent", _SENT, start, end)
        notes = list(zip(keys, values[: len(_NOTED)], strict=False))
        notes += [(key, value) for key, value in zip(part_keys, values[len(_NOTED) :], strict=True) if value]
        writer.slice(track, to_npu[destination], start, end, notes, flow)
        arrived = npus.track(destination, "messages received", _RECEIVED)
        writer.instant(arrived, from_npu[source], end, ((end_ps, end),), flow)
        shown += 1
    return shown, every


def _sampled(
    records: Records, table: str, noted: list[str], every: int, most: int
) -> Iterator[tuple[int, int, int, tuple[int, ...]]]:
    """Number of the message from 1, source, destination and the values of columns."""
    begin = 0
    for batch in batches(records, table, ["source", "destination", *noted]):
        places = np.arange(begin, begin + batch.num_rows, dtype=np.int64)
        begin += batch.num_rows
        if every > most:
            kept = (places + 1) * most // every > places * most // every
            places, batch = places[kept], batch.take(np.flatnonzero(kept))
        columns: list[list[Any]] = [batch.column(name).to_pylist() for name in ("source", "destination", *noted)]
        for place, source, destination, *values in zip(places.tolist(), *columns, strict=True):
            yield place + 1, source, destination, tuple(values)
