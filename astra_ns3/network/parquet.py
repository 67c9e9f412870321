"""Streams recorded tables into Parquet files, in bounded memory. pyarrow is loaded when the first table is opened."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from astra_ns3.network.instance import unpack_instances
from astra_ns3.network.recorded import Columns, FlowTable, PairTable, PortTable, RecordedTable

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

_LOG = logging.getLogger(__name__)
GROUP_ROWS = 65_536
"""Of a row group, but for the last one; equal runs give equal files although their rows come in other batches."""


class ParquetTables:
    """A TableSink that writes each table into ``directory``.

    A file that can't be written (a full disk) ends no run: it is noted in :attr:`failures`, what fitted stays, and the
    table's further rows are left out.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._writers: dict[str, TableWriter] = {}
        self.failures: dict[str, str] = {}
        """Why a file could not be written whole, by its name."""

    def open(self, table: RecordedTable) -> None:
        """Make the file of ``table``."""
        self._guarded(table.name, lambda: self._writers.update({table.name: writer_of(table, self._directory)}))

    def write(self, name: str, columns: Columns) -> None:
        """Append rows."""
        if name in self._writers:
            self._guarded(name, lambda: self._writers[name].write(columns))

    def close(self) -> None:
        """Finish all files; safe to call twice."""
        for name in list(self._writers):
            self._guarded(name, self._writers[name].close)
        self._writers.clear()

    def failed(self, file: str, reason: str) -> None:
        """Note a file that somebody else could not write whole."""
        if file not in self.failures:
            self.failures[file] = reason
            _LOG.warning("%s can't be written: %s; the run goes on without it", file, reason)

    def _guarded(self, name: str, action: Callable[[], object]) -> None:
        try:
            action()
        except OSError as error:
            self._abandon(name)
            self.failed(f"{name}.parquet", reason_of(error))

    def _abandon(self, name: str) -> None:
        """Give a table up; finishing its file gives back what it holds, even if there is no room for its end."""
        writer = self._writers.pop(name, None)
        if writer is not None:
            try:
                writer.abandon()
            except (OSError, ValueError):  # pyarrow has closed the file, or can't end it
                _LOG.debug("%s: its end could not be written either", name)


def reason_of(error: OSError) -> str:
    """Why a file could not be written, in the system's words."""
    # pyarrow's own words hide the number of the system's among them
    return os.strerror(error.errno) if error.errno else " ".join(str(error).split())


class TableWriter:
    """One Parquet file with a fixed schema, in row groups of :data:`GROUP_ROWS`, however the rows come."""

    columns = 0
    """How many columns :meth:`write` takes."""

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        import pyarrow.parquet as pq

        self._schema = schema
        self._waiting: list[Columns] = []
        self._waiting_rows = 0
        self._writer: pq.ParquetWriter = pq.ParquetWriter(path, schema, compression="zstd")

    @property
    def schema(self) -> pa.Schema:
        """Names and types of the file's columns."""
        return self._schema

    def write(self, columns: Columns) -> None:
        """Append rows, given by column."""
        self._waiting.append(columns)
        self._waiting_rows += len(columns[0])
        while self._waiting_rows >= GROUP_ROWS:
            self._write_group(GROUP_ROWS)

    def close(self) -> None:
        """Write what waits and finish the file."""
        try:
            if self._waiting_rows:
                self._write_group(self._waiting_rows)
        finally:
            self._writer.close()

    def abandon(self) -> None:
        """Finish the file as it is; what waits is lost."""
        self._waiting, self._waiting_rows = [], 0
        self._writer.close()

    def _write_group(self, rows: int) -> None:
        whole = [np.concatenate(parts) for parts in zip(*self._waiting, strict=True)]
        self._waiting = [[column[rows:] for column in whole]]
        self._waiting_rows = len(whole[0]) - rows
        self._put([column[:rows] for column in whole])

    def _put(self, columns: Columns) -> None:
        """Write a row group."""
        raise NotImplementedError

    def _append(self, columns: dict[str, Any]) -> None:
        import pyarrow as pa

        self._writer.write_table(pa.table(columns, schema=self._schema))


class FlowWriter(TableWriter):
    """``flows.parquet``."""

    columns = FlowTable.columns
    """As :class:`FlowTable` has them."""

    def __init__(self, directory: Path) -> None:
        import pyarrow as pa

        names = ["source", "destination", "collective", "chunk", "phase", "row"]
        fields = [(name, pa.int32()) for name in names]
        fields += [(name, pa.int64()) for name in ("bytes", "start_ps", "end_ps", "ideal_ps")]
        super().__init__(directory / "flows.parquet", pa.schema(fields))

    def _put(self, columns: Columns) -> None:
        source, destination, size, start, end, instance, row, ideal = columns
        collective, chunk, phase = unpack_instances(instance)
        self._append(
            {
                "source": source,
                "destination": destination,
                "collective": collective,
                "chunk": chunk,
                "phase": phase,
                "row": row,
                "bytes": size,
                "start_ps": start,
                "end_ps": end,
                "ideal_ps": ideal,
            }
        )


class PairWriter(TableWriter):
    """``connections.parquet`` and ``queue_pairs.parquet``."""

    columns = PairTable.columns
    """Time, source, destination, quantity, value."""

    def __init__(self, path: Path, quantities: dict[int, str]) -> None:
        """``quantities``: name of each of the native library's numbers."""
        import pyarrow as pa

        self._quantities = dict(sorted(quantities.items()))
        fields = [
            ("time_ps", pa.int64()),
            ("source", pa.int32()),
            ("destination", pa.int32()),
            ("quantity", pa.dictionary(pa.int8(), pa.string())),
            ("value", pa.int64()),
        ]
        super().__init__(path, pa.schema(fields))

    def _put(self, columns: Columns) -> None:
        import pyarrow as pa

        time, source, destination, quantity, value = columns
        codes = np.searchsorted(list(self._quantities), quantity).astype(np.int8)
        names = pa.DictionaryArray.from_arrays(codes, list(self._quantities.values()))
        self._append({"time_ps": time, "source": source, "destination": destination, "quantity": names, "value": value})


class PortWriter(TableWriter):
    """``queues.parquet``, ``pauses.parquet`` and ``utilisation.parquet``."""

    columns = PortTable.columns
    """Time, node, port, value."""

    def __init__(self, path: Path, value: str, port_names: dict[tuple[int, int], str]) -> None:
        """``value`` names the last column, ``port_names`` the port of each node and number."""
        import pyarrow as pa

        self._value = value
        self._names = list(port_names.values())
        self._codes = {port: code for code, port in enumerate(port_names)}
        fields = [
            ("time_ps", pa.int64()),
            ("port", pa.dictionary(pa.int32(), pa.string())),
            (value, pa.int64()),
        ]
        super().__init__(path, pa.schema(fields))

    def _put(self, columns: Columns) -> None:
        import pyarrow as pa

        time, node, port, value = columns
        codes = np.array([self._codes[key] for key in zip(node.tolist(), port.tolist(), strict=True)], dtype=np.int32)
        names = pa.DictionaryArray.from_arrays(codes, self._names)
        self._append({"time_ps": time, "port": names, self._value: value})


def writer_of(table: RecordedTable, directory: Path) -> TableWriter:
    """The writer of a table's file in ``directory``."""
    if isinstance(table, FlowTable):
        return FlowWriter(directory)
    path = directory / f"{table.name}.parquet"
    if isinstance(table, PairTable):
        return PairWriter(path, dict(table.quantities))
    return PortWriter(path, table.value, dict(table.ports))
