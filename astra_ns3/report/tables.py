"""What pictures and timelines read of a run: run.json, its CSV tables, its Parquet tables by column.

:class:`~astra_ns3.experiments.result.Result` fulfils :class:`Records`; nothing here knows how a run was made.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from astra_ns3.errors import InputError
from astra_ns3.network.backends import abilities_of

Numbers = npt.NDArray[np.int64]

HOW_TO_RECORD: Mapping[str, str] = {
    "flows": "--record flows",
    "completions": "--record flows",
    "layers": "--record layers",
    "accounts": "--record accounts",
    "account_hops": "--record accounts",
    "operations": "--record timeline",
    "phases": "--record timeline",
    "connections": "observe.connections in the network file",
    "queue_pairs": "observe.queue_pairs in the network file",
    "queues": "observe.queues in the network file",
    "pauses": "observe.pauses in the network file",
    "utilisation": "observe.utilisation in the network file",
}
"""What a run has to be given for a table to be there."""


_OF_PACKETS = ("accounts", "account_hops", "connections", "queue_pairs", "queues", "pauses", "utilisation")
"""Tables of packets, ports and connections, which an analytical network has none of."""


class Records(Protocol):
    """A run that is over."""

    @property
    def metadata(self) -> Mapping[str, Any]:
        """All of run.json."""

    @property
    def folder(self) -> Path | None:
        """Where the run was saved; None if it was not."""

    def rows(self, name: str) -> list[dict[str, str]]:
        """Rows of the CSV file ``name`` as text."""

    def file(self, name: str) -> Path:
        """Where the file ``name`` lies; raises InputError if there is none."""


@dataclass(frozen=True, eq=False)
class Words:
    """A column of texts: ``texts[codes[i]]`` stands in row i."""

    codes: Numbers
    texts: tuple[str, ...]


def recorded(records: Records, table: str) -> Path | None:
    """The Parquet file of a table, as ``flows``; None if the run did not record it."""
    name = f"{table}.parquet"
    try:
        return records.file(name)
    except InputError:
        if name in records.metadata["files"]:
            raise
        return None


_OF_LOOPS = ("layers", "operations", "phases")
"""Tables of what NPUs do in a training loop or a graph."""


class Told(Protocol):
    """A run of which run.json is at hand."""

    @property
    def metadata(self) -> Mapping[str, Any]:
        """All of run.json."""


def is_of_flows(records: Told) -> bool:
    """Whether a run's workload is a list of flows."""
    return "flows" in records.metadata


def is_analytical(records: Told) -> bool:
    """Whether a run's messages went by formula, without packets."""
    return not abilities_of(records.metadata.get("backend")).packets


def how_to_record(records: Told, table: str) -> str:
    """What the same workload has to be run with for a table to be there."""
    how = HOW_TO_RECORD[table]
    if table in _OF_PACKETS and is_analytical(records):
        return f"a network of packets (--backend ns3) and {how}"
    return how


def could_record(records: Told, table: str) -> bool:
    """Whether the same run could have rows of a table.

    Nothing is paused without PFC, flows have no layers, and an analytical network has no packets.
    """
    if table in _OF_PACKETS and is_analytical(records):
        return False
    if is_of_flows(records) and table in _OF_LOOPS:
        return False
    return table != "pauses" or _has_pfc(records.metadata["network"])


def _has_pfc(group: object) -> bool:
    if isinstance(group, Mapping):
        return group.get("pfc") is not None or any(_has_pfc(value) for value in group.values())
    return isinstance(group, list) and any(_has_pfc(value) for value in group)


def recorded_file(records: Records, table: str) -> Path:
    """The same; raises InputError, which says how to record it, if there is none."""
    path = recorded(records, table)
    if path is None:
        where = records.folder or "this run"
        raise InputError(f"{where}: {table} were not recorded: run again with {how_to_record(records, table)}")
    return path


def numbers(records: Records, table: str, *columns: str) -> tuple[Numbers, ...]:
    """Columns of whole numbers of a recorded table, each ``(rows,)``."""
    read = _read(records, table, list(columns))
    return tuple(read.column(name).to_numpy().astype(np.int64) for name in columns)


def words(records: Records, table: str, column: str) -> Words:
    """A column of texts of a recorded table."""
    import pyarrow as pa

    cells = _read(records, table, [column]).column(column).combine_chunks()
    if isinstance(cells, pa.ChunkedArray):
        cells = cells.chunk(0) if cells.num_chunks else pa.array([], pa.dictionary(pa.int32(), pa.string()))
    coded = cells if isinstance(cells, pa.DictionaryArray) else cells.dictionary_encode()
    codes = coded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    return Words(codes, tuple(coded.dictionary.to_pylist()))


def batches(records: Records, table: str, columns: list[str], rows: int = 65_536) -> Iterator[Any]:
    """A recorded table in Arrow's record batches of at most ``rows`` rows, in order."""
    import pyarrow.parquet as pq

    path = recorded_file(records, table)
    with _reading(path), pq.ParquetFile(path) as file:
        yield from file.iter_batches(rows, columns=columns)


def columns_of(records: Records, table: str) -> tuple[str, ...]:
    """Names of a recorded table's columns."""
    import pyarrow.parquet as pq

    path = recorded_file(records, table)
    with _reading(path):
        return tuple(pq.read_schema(path).names)


def rows_of(records: Records, table: str) -> int:
    """How many rows a recorded table has."""
    import pyarrow.parquet as pq

    path = recorded_file(records, table)
    with _reading(path):
        return int(pq.read_metadata(path).num_rows)


def names_of(runs: Sequence[Records]) -> list[str]:
    """What a person calls each run: its name, its folder's where names are alike, a number before it if both are."""
    names = [str(run.metadata["run_name"]) for run in runs]
    if len(set(names)) == len(names):
        return names
    folders = [run.folder.name if run.folder is not None else "" for run in runs]
    if len(set(folders)) == len(folders):
        return [folder or name for folder, name in zip(folders, names, strict=True)]
    return [f"{number}: {folder or name}" for number, (folder, name) in enumerate(zip(folders, names, strict=True), 1)]


def _read(records: Records, table: str, columns: list[str]) -> Any:
    import pyarrow.parquet as pq

    path = recorded_file(records, table)
    with _reading(path):
        return pq.read_table(path, columns=columns)


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    """Raise InputError for a table that is there and can't be read."""
    import pyarrow as pa

    try:
        yield
    except (OSError, pa.ArrowException) as error:
        raise InputError(f"{path}: cannot be read: {' '.join(str(error).split())}") from error
