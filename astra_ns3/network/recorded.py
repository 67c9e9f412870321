"""What a run may stream while it goes on: tables of integers, described as plain data, and who takes their rows.

A backend opens a table, hands over rows in batches, column by column, and never knows where they go: into files
(:mod:`astra_ns3.network.parquet`) or to another process.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

Columns = list[npt.NDArray[np.int64]]


@dataclass(frozen=True)
class FlowTable:
    """One row per message, in the order of arrival.

    Columns handed over: source, destination, bytes, start, end, instance, row, time alone on the network.
    """

    name: str = "flows"
    columns: int = 8


@dataclass(frozen=True)
class PairTable:
    """What was observed of pairs of NPUs, one value a row: time, source, destination, quantity, value.

    ``quantities``: name of each quantity by its number.
    """

    name: str
    quantities: Mapping[int, str]
    columns: int = 5


@dataclass(frozen=True)
class PortTable:
    """One value of observed ports over time: time, node, port, value. ``value`` names the last column."""

    name: str
    value: str
    ports: Mapping[tuple[int, int], str]
    """Name of each port, by node and number."""
    columns: int = 4


RecordedTable = FlowTable | PairTable | PortTable


class TableSink(Protocol):
    """Takes the rows of tables that were opened; after :meth:`close` no more."""

    def open(self, table: RecordedTable) -> None:
        """Rows of ``table`` will come."""

    def write(self, name: str, columns: Columns) -> None:
        """Take rows of the table ``name``, given by column, each of shape ``(rows,)``."""

    def failed(self, file: str, reason: str) -> None:
        """A file that the backend writes itself (a capture) could not be written whole."""

    def close(self) -> None:
        """Finish everything; safe to call twice."""
