"""Messages: a slice where each was sent, an instant where it was received, an arrow between them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from astra_ns3.network.recorded import PARTS
from astra_ns3.report.players import Players, players_of
from astra_ns3.report.records import Recorded, table_of
from astra_ns3.report.tables import Records
from astra_ns3.report.timeline.programs import Npus
from astra_ns3.report.timeline.writer import TraceWriter

# Places of an NPU's tracks of messages, below all others.
_SENT, _RECEIVED = 20, 21
_NOTED = ("start_ps", "end_ps", "bytes", "collective", "chunk", "phase", "row")


def messages_of(records: Records) -> Recorded | None:
    """Return the table of messages: the accounts, which say more, or the flows; None: they were not recorded."""
    return table_of(records, "accounts") or table_of(records, "flows")


def write_messages(records: Records, writer: TraceWriter, npus: Npus, most: int) -> tuple[int, int]:
    """Write at most ``most`` messages, evenly among all in order of arrival; return how many, and of how many."""
    table = messages_of(records)
    every = 0 if table is None else table.rows
    if table is None or most <= 0:
        return 0, every
    parts = [each.name for each in PARTS if each.name in table.columns]
    noted = [*_NOTED, *parts]
    keys, part_keys = ([writer.annotation(name) for name in names] for names in (_NOTED, parts))
    end_ps = writer.annotation("end_ps")
    players = players_of(records)
    to_npu, from_npu = (_Names(writer, way, players) for way in ("to", "from"))
    shown = 0
    for flow, source, destination, values in _sampled(table, noted, every, most):
        start, end = values[0], values[1]
        track = npus.lane(source, "messages sent", _SENT, start, end)
        notes = list(zip(keys, values[: len(_NOTED)], strict=False))
        notes += [(key, value) for key, value in zip(part_keys, values[len(_NOTED) :], strict=True) if value]
        writer.slice(track, to_npu[destination], start, end, notes, flow)
        arrived = npus.track(destination, "messages received", _RECEIVED)
        writer.instant(arrived, from_npu[source], end, ((end_ps, end),), flow)
        shown += 1
    return shown, every


class _Names(dict[int, int]):
    """The writer's numbers of the names of players."""

    def __init__(self, writer: TraceWriter, way: str, players: Players) -> None:
        super().__init__()
        self._writer, self._way, self._players = writer, way, players

    def __missing__(self, player: int) -> int:
        self[player] = number = self._writer.name(f"{self._way} {self._players.name(player)}")
        return number


def _sampled(
    table: Recorded, noted: list[str], every: int, most: int
) -> Iterator[tuple[int, int, int, tuple[int, ...]]]:
    """Yield the number of the message from 1, source, destination and the values of columns."""
    names, begin = ("source", "destination", *noted), 0
    for batch in table.batches(names):
        places = np.arange(begin, begin + len(batch["source"]), dtype=np.int64)
        begin += len(places)
        kept = np.flatnonzero((places + 1) * most // every > places * most // every) if every > most else slice(None)
        columns = [batch[name][kept].tolist() for name in names]
        for place, source, destination, *values in zip(places[kept].tolist(), *columns, strict=True):
            yield place + 1, source, destination, tuple(values)
