"""Signals among recorded messages: one byte without data, beside the data that other messages of a collective carry.

A table of messages doesn't say which rows of a schedule they are of. A message of one byte counts as a signal if its
collective has larger messages. Model's limit: data of one byte count as signals where blocks of a collective are so
small that some have one byte and others two.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import numpy.typing as npt

from astra_ns3.report.records import Batch, Recorded
from astra_ns3.report.tables import Numbers

COLUMNS = ("collective", "bytes")
_SIGNAL_BYTES = 1


class Signals:
    """Knows which messages are signals, by all messages of their collectives, piece by piece."""

    def __init__(self, every_message: Iterable[Batch]) -> None:
        self._largest: Numbers = np.zeros(0, dtype=np.int64)
        for batch in every_message:
            self._add(batch)

    @classmethod
    def of(cls, table: Recorded) -> Signals:
        """Return the signals of a table; one without collectives, as of a list of flows, has none."""
        return cls(table.batches(COLUMNS) if columns_of(table) else ())

    def among(self, messages: Batch) -> npt.NDArray[np.bool_]:
        """Return which of some messages of the table are signals."""
        one_byte: npt.NDArray[np.bool_] = messages["bytes"] == _SIGNAL_BYTES
        if not len(self._largest) or not one_byte.any():
            return np.zeros_like(one_byte)
        found: npt.NDArray[np.bool_] = one_byte & (self._largest[messages["collective"]] > _SIGNAL_BYTES)
        return found

    def _add(self, batch: Batch) -> None:
        missing = int(batch["collective"].max(initial=-1)) + 1 - len(self._largest)
        self._largest = np.pad(self._largest, (0, max(0, missing)))
        np.maximum.at(self._largest, batch["collective"], batch["bytes"])


def columns_of(table: Recorded) -> tuple[str, ...]:
    """Return the columns of a table that tell signals from other messages; nothing without collectives."""
    return COLUMNS if set(COLUMNS) <= set(table.columns) else ()


def data_batches(table: Recorded, columns: Sequence[str]) -> Iterator[Batch]:
    """Yield columns of a table of messages, without the rows that are signals, piece by piece."""
    signals = Signals.of(table)
    for batch in table.batches([*dict.fromkeys((*columns, *columns_of(table)))]):
        kept = ~signals.among(batch) if columns_of(table) else slice(None)
        yield {name: batch[name][kept] for name in columns}


def without_signals(
    table: Recorded, columns: Sequence[str], most_rows: int | None = None
) -> tuple[dict[str, Numbers], int]:
    """Return columns of messages, without those that are signals, and how many these are; ``most_rows`` as a table."""
    wanted = dict.fromkeys((*columns, *columns_of(table)))
    messages = table.whole([*wanted], most_rows)
    signals = Signals.of(table).among(messages)
    return {name: messages[name][~signals] for name in columns}, int(signals.sum())
