"""Messages: a slice where each was sent, an instant where it was received, an arrow between them.

Signals are drawn alike on tracks of their own, and are no messages.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from astra_ns3.network.recorded import PARTS
from astra_ns3.report.players import Players, players_of
from astra_ns3.report.records import Recorded, table_of
from astra_ns3.report.signals import Signals, data_batches
from astra_ns3.report.tables import Records
from astra_ns3.report.timeline.programs import Npus
from astra_ns3.report.timeline.writer import TraceWriter

# Places of an NPU's tracks of messages, below all others.
_SENT, _RECEIVED = 20, 21
_TRACKS = {False: ("messages", _SENT, _RECEIVED), True: ("signals", _SENT + 2, _RECEIVED + 2)}
"""Whether it is a signal -> what its tracks are called, and their places."""
_NOTED = ("start_ps", "end_ps", "bytes", "collective", "chunk", "phase", "row")


def messages_of(records: Records) -> Recorded | None:
    """Return the table of messages: the accounts, which say more, or the flows; None: they were not recorded."""
    return table_of(records, "accounts") or table_of(records, "flows")


def write_messages(records: Records, writer: TraceWriter, npus: Npus, most: int) -> tuple[int, int]:
    """Write at most ``most`` messages, and as many signals, evenly among all in order of arrival.

    Return how many messages, and of how many.
    """
    table = messages_of(records)
    if table is None:
        return 0, 0
    every = sum(len(batch["bytes"]) for batch in data_batches(table, ("bytes",)))
    if most <= 0:
        return 0, every
    parts = [each.name for each in PARTS if each.name in table.columns]
    noted = [*_NOTED, *parts]
    keys, part_keys = ([writer.annotation(name) for name in names] for names in (_NOTED, parts))
    end_ps = writer.annotation("end_ps")
    players = players_of(records)
    to_npu, from_npu = (_Names(writer, way, players) for way in ("to", "from"))
    shown = 0
    for flow, is_signal, source, destination, values in _sampled(table, noted, every, most):
        start, end = values[0], values[1]
        what, sent, received = _TRACKS[is_signal]
        track = npus.lane(source, f"{what} sent", sent, start, end)
        notes = list(zip(keys, values[: len(_NOTED)], strict=False))
        notes += [(key, value) for key, value in zip(part_keys, values[len(_NOTED) :], strict=True) if value]
        writer.slice(track, to_npu[destination], start, end, notes, flow)
        arrived = npus.track(destination, f"{what} received", received)
        writer.instant(arrived, from_npu[source], end, ((end_ps, end),), flow)
        shown += not is_signal
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
) -> Iterator[tuple[int, bool, int, int, tuple[int, ...]]]:
    """Yield the row from 1, whether it is a signal, source, destination and the values of columns.

    ``every``: how many rows are messages; all others are signals.
    """
    names, begin, signals = ("source", "destination", *noted), 0, Signals.of(table)
    before, of = np.zeros(2, dtype=np.int64), np.array([every, table.rows - every])
    for batch in table.batches(names):
        signal = signals.among(batch).astype(np.int64)
        places = before[signal] + np.where(signal, np.cumsum(signal), np.cumsum(1 - signal))
        before += np.bincount(signal, minlength=2)
        whole = np.maximum(of[signal], most)
        kept = np.flatnonzero(places * most // whole > (places - 1) * most // whole)
        columns = [batch[name][kept].tolist() for name in names]
        rows, flags = (kept + begin + 1).tolist(), signal[kept].astype(bool).tolist()
        begin += len(signal)
        for row, is_signal, source, destination, *values in zip(rows, flags, *columns, strict=True):
            yield row, is_signal, source, destination, tuple(values)
