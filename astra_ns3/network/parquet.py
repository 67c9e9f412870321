"""Streams recorded tables into Parquet files, in bounded memory. pyarrow is loaded when the first table is opened."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import numpy as np

from astra_ns3.network.recorded import Column, Columns, Labels, Numbers, RecordedTable

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

_LOG = logging.getLogger(__name__)
GROUP_ROWS = 65_536
"""Rows of a row group, but for the last one; equal runs give equal files although their rows come in other batches."""


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
        self._guarded(table.name, lambda: self._writers.update({table.name: TableWriter(self._directory, table)}))

    def label(self, name: str, column: str, number: int, text: str) -> None:
        """A further text of a labelled column."""
        if name in self._writers:
            self._writers[name].label(column, number, text)

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


def _openable(path: Path) -> Path | BinaryIO:
    """The path, or the file opened: pyarrow takes no name that isn't UTF-8."""
    try:
        str(path).encode()
    except UnicodeEncodeError:
        return path.open("wb")
    return path


class TableWriter:
    """The Parquet file of a table, in row groups of :data:`GROUP_ROWS`, however the rows come."""

    def __init__(self, directory: Path, table: RecordedTable) -> None:
        import pyarrow.parquet as pq

        self._table = table
        self._labels = {
            column.name: _Labelled(table.labels.get(column.name, {})) for column in table.columns if column.labelled
        }
        self._schema = schema_of(table)
        self._waiting: list[Columns] = []
        self._waiting_rows = 0
        self._file = _openable(directory / table.file)
        self._writer: pq.ParquetWriter = pq.ParquetWriter(self._file, self._schema, compression="zstd")

    def label(self, column: str, number: int, text: str) -> None:
        """A further text of a labelled column."""
        self._labels[column].add(number, text)

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
            self._close_file()

    def abandon(self) -> None:
        """Finish the file as it is; what waits is lost."""
        self._waiting, self._waiting_rows = [], 0
        self._close_file()

    def _close_file(self) -> None:
        try:
            self._writer.close()
        finally:
            if not isinstance(self._file, Path):
                self._file.close()

    def _write_group(self, rows: int) -> None:
        whole = [np.concatenate(parts) for parts in zip(*self._waiting, strict=True)]
        self._waiting = [[column[rows:] for column in whole]]
        self._waiting_rows = len(whole[0]) - rows
        self._put([column[:rows] for column in whole])

    def _put(self, columns: Columns) -> None:
        """Write a row group."""
        import pyarrow as pa

        recorded = dict(zip(self._table.recorded, columns, strict=True))
        cells = {
            column.name: self._cells(column, [recorded[source] for source in column.sources])
            for column in self._table.columns
        }
        self._writer.write_table(pa.table(cells, schema=self._schema))

    def _cells(self, column: Column, sources: Columns) -> pa.DictionaryArray | Numbers:
        if column.labelled:
            return self._labels[column.name].array(sources, column.kind)
        (numbers,) = sources
        return numbers if column.made is None else column.made(numbers)


class _Labelled:
    """Texts in the place of numbers."""

    def __init__(self, labels: Labels) -> None:
        self._texts = list(labels.values())
        self._keys = _joined(list(np.array(list(labels), dtype=np.int64).T)) if labels else np.zeros(0, np.int64)
        self._order = np.argsort(self._keys)
        self._added: list[int] = []
        self._shown = len(self._texts)

    def add(self, number: int, text: str) -> None:
        """One more."""
        self._texts.append(text)
        self._added.append(number)

    def array(self, sources: Columns, kind: str) -> pa.DictionaryArray:
        """The texts of rows; raises KeyError for a row without one."""
        import pyarrow as pa

        if self._added:
            self._keys = np.append(self._keys, self._added)
            self._order = np.argsort(self._keys)
            self._added = []
        wanted = _joined(sources)
        places = np.searchsorted(self._keys, wanted, sorter=self._order)
        codes = self._order[np.minimum(places, len(self._order) - 1)]
        if (self._keys[codes] != wanted).any():
            raise KeyError(f"numbers without a text among {self._texts}")
        # A text may be known long before a row has it, which hangs on when rows were handed over.
        self._shown = max(self._shown, int(codes.max(initial=-1)) + 1)
        return pa.DictionaryArray.from_arrays(codes.astype(kind), self._texts[: self._shown])


def _joined(columns: Columns) -> Numbers:
    """One number for those of each row, which have 32 bits each if there are two."""
    return columns[0] if len(columns) == 1 else (columns[0] << 32) | columns[1]


def schema_of(table: RecordedTable) -> pa.Schema:
    """Names and types of a table's columns."""
    import pyarrow as pa

    def kind(column: Column) -> pa.DataType:
        plain = pa.type_for_alias(column.kind)
        return pa.dictionary(plain, pa.string()) if column.labelled else plain

    return pa.schema([(column.name, kind(column)) for column in table.columns])
