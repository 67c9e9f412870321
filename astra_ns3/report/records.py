"""What the report and comparisons read of a run besides what pictures do: recorded tables in batches.

A recorded table may have more rows than memory holds, so it is read a batch at a time, only the columns asked for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from astra_ns3.errors import InputError
from astra_ns3.report.tables import Records, recorded
from astra_ns3.units import PS_PER_US

END_TO_END, NPUS, COLLECTIVES, SWITCH = "EndToEnd.csv", "npus.csv", "collectives.csv", "switch.csv"
_ROWS_IN_A_BATCH = 65_536

Batch = Mapping[str, npt.NDArray[Any]]


def place_of(run: Records) -> str:
    """Where a run lies: its folder, or its name if it was not saved."""
    return str(run.metadata["run_name"]) if run.folder is None else str(run.folder)


def ps_of(microseconds: str) -> int | None:
    """A cell of a CSV file in microseconds, which has six decimals, as whole picoseconds; None for an empty cell."""
    return int(Decimal(microseconds) * PS_PER_US) if microseconds else None


class Recorded:
    """A recorded table of a run, read in batches."""

    def __init__(self, path: Path) -> None:
        """``path`` of a Parquet file; raises InputError if it can't be read."""
        import pyarrow as pa
        from pyarrow import parquet

        try:
            self._file = parquet.ParquetFile(path)
        except (OSError, pa.ArrowException) as error:
            raise InputError(f"{path}: cannot be read: {error}") from error

    @property
    def rows(self) -> int:
        """How many there are."""
        return int(self._file.metadata.num_rows)

    @property
    def columns(self) -> list[str]:
        """Their names."""
        return list(self._file.schema_arrow.names)

    def batches(self, columns: Sequence[str]) -> Iterator[Batch]:
        """The columns asked for, of some rows after the other; texts as arrays of objects."""
        for batch in self._file.iter_batches(_ROWS_IN_A_BATCH, columns=list(columns)):
            yield {name: np.asarray(batch.column(name).to_pandas()) for name in columns}

    def whole(self, columns: Sequence[str], most_rows: int) -> dict[str, npt.NDArray[Any]]:
        """The columns of every k-th row, k such that there are at most ``most_rows``."""
        step, done = max(1, -(-self.rows // most_rows)), 0
        parts: dict[str, list[npt.NDArray[Any]]] = {name: [] for name in columns}
        for batch in self.batches(columns):
            for name in columns:
                parts[name].append(batch[name][-done % step :: step])
            done += len(batch[columns[0]])
        return {name: np.concatenate(found) if found else np.zeros(0) for name, found in parts.items()}


def table_of(run: Records, name: str) -> Recorded | None:
    """The recorded table ``name``, as ``flows``; None if the run has none."""
    path = recorded(run, name)
    return None if path is None else Recorded(path)


def by_value(column: npt.NDArray[Any]) -> Iterator[tuple[Any, npt.NDArray[np.int64]]]:
    """Each value of a column and the rows that have it, in order."""
    import pandas as pd

    codes, values = pd.factorize(column)
    order = np.argsort(codes, kind="stable")
    bounds = np.searchsorted(codes[order], np.arange(1, len(values)))
    yield from zip(values.tolist(), np.split(order, bounds), strict=True) if len(column) else ()
