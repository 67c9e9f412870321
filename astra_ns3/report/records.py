"""The one reader of recorded tables of a run, and what cells of its CSV files say.

A recorded table may have more rows than memory holds, so it is read a batch at a time, only the columns asked for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from decimal import Decimal
from functools import cached_property
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from astra_ns3.config.workload import PassKind
from astra_ns3.errors import wrong
from astra_ns3.network.run_document import EventDocument, RunDocument
from astra_ns3.report.tables import Records, how_to_record, is_of_graphs, recorded
from astra_ns3.units import PS_PER_US

if TYPE_CHECKING:
    import pandas as pd

END_TO_END, NPUS, COLLECTIVES, SWITCH = "EndToEnd.csv", "npus.csv", "collectives.csv", "switch.csv"
OF_MODELS = ("weight gradient and update", "gradients and weights")
ENDED_BY = {
    "others": "by others",
    "time": "by its end",
    "transport": "by its transport, which gave up",
    "device": "by a device that died",
}
_ROWS_IN_A_BATCH = 65_536

Array = npt.NDArray[Any]  # a column of numbers or of texts
Batch = Mapping[str, Array]


def place_of(run: Records) -> str:
    """Return where a run lies: its folder, or its name if it was not saved."""
    return str(run.metadata["run_name"]) if run.folder is None else str(run.folder)


def start_of(metadata: RunDocument) -> int:
    """Return from when on a run's tables count: the start of a job, of one that began again that of its last try."""
    job = metadata.get("job") or {}
    return (job.get("start_ps") or 0) + job.get("last_try_ps", 0)


def time_of(*runs: Records) -> str:
    """Return what an axis with times of a run's tables is called; ``runs``: all that share it."""
    jobs = [run.metadata.get("job") or {} for run in runs if start_of(run.metadata)]
    last = "last try" if any(job.get("last_try_ps") for job in jobs) else "job"
    return f"time from the start of the {last}" if jobs else "time"


def last_try(metadata: RunDocument) -> str:
    """Return of which try a run's tables are, behind its name; nothing for what never began again."""
    restarts = (metadata.get("job") or {}).get("restarts")
    return f", try {restarts + 1}" if restarts else ""


def dimension_name(metadata: RunDocument, number: int) -> str:
    """Return which dimension of the network, or part of one, phases have by their table; -1: they are messages."""
    if number < 0:
        return "messages"
    names = metadata.get("dimensions")
    return f"dimension {number}" if names is None else names[number]


def never_started(metadata: RunDocument) -> bool:
    """Return whether these are results of a job that waited for its start until the run's end, so it has no times."""
    return (metadata.get("job") or {}).get("start_ps", 0) is None


def end_of(metadata: RunDocument) -> int:
    """Return when a run was done, as its tables count."""
    return int(metadata["finish_ps"]) - (metadata.get("job") or {}).get("last_try_ps", 0)


def stop_of(metadata: RunDocument) -> str | None:
    """Return why a run was stopped before its end, and a job before that of its programs; None: it was not.

    Other traffic has no end but that of the jobs, or of its own flows.
    """
    job = metadata.get("job") or {}
    by = None if job.get("traffic") else ENDED_BY.get(job.get("ended_by") or "")
    if metadata["stopped"] is not None:
        return metadata["stopped"]["message"]
    if by is not None:
        return f"the job was ended {by}"
    return None if metadata["complete"] else "not all NPUs were done"


def changes_of(run: Records) -> list[EventDocument]:
    """Return the events of a run's network; of a job without those that other NPUs alone feel.

    An NPU that goes down may take the switch of its host along.
    """
    npus = (run.metadata.get("job") or {}).get("npus")
    return [
        event for event in run.events if npus is None or "npu" not in event or event["npu"] in npus or "up" in event
    ]


def rows_of_layers(run: Records) -> list[tuple[Mapping[str, str], int]]:
    """Return the rows of ``EndToEnd.csv``, each with the exposed time of its layer, which run.json has in this order.

    Layers may share a name.
    """
    exposed_ps = (each["exposed_ps"] for each in run.metadata["exposed_by_layer"])
    return list(zip(run.rows(END_TO_END), exposed_ps, strict=False))  # the steps of the loop have no row


def layers_of_other_parts(run: Records) -> frozenset[str]:
    """Return the layers with collectives of other parts than the three passes, as a pipeline's messages are.

    What such a layer exposed beside the passes need not have come after the last one.
    """
    return frozenset(row["layer"] for row in run.rows(COLLECTIVES) if row["part"] not in set(PassKind))


def shown_part(run: Records, part: str) -> str:
    """Return what words and pictures call a part of a layer's work: nothing in graphs, whose tables have "forward"."""
    return "" if part == PassKind.FORWARD and is_of_graphs(run) else part


def pass_words(run: Records, name: str) -> tuple[str, str]:
    """Return what computing and waiting in a pass's columns of ``EndToEnd.csv`` are called.

    The columns of a model's weight gradients have its update, too, and waits for gradients and weights.
    """
    called = shown_part(run, name)
    return OF_MODELS if name == PassKind.WEIGHT_GRADIENT and "memory_by_stage" in run.metadata else (called, called)


def ps_of(microseconds: str) -> int | None:
    """Return a CSV file's cell in microseconds, with six decimals, as whole picoseconds; None if it is empty."""
    return int(Decimal(microseconds) * PS_PER_US) if microseconds else None


def _readable(path: Path) -> Path | BytesIO:
    """The path, or what is in the file: pyarrow takes no name that isn't UTF-8."""
    try:
        str(path).encode()
    except UnicodeEncodeError:
        return BytesIO(path.read_bytes())
    return path


class Recorded:
    """A recorded table of a run, of which only what is asked for is read."""

    def __init__(self, path: Path) -> None:
        """``path`` of a Parquet file; raises InputError, as all that reads does, if it can't be read."""
        from pyarrow import parquet

        self._path = path
        with self._reading():
            self._file = parquet.ParquetFile(_readable(path))

    @property
    def rows(self) -> int:
        """How many there are."""
        return int(self._file.metadata.num_rows)

    @property
    def columns(self) -> list[str]:
        """Their names."""
        return list(self._file.schema_arrow.names)

    def batches(self, columns: Sequence[str]) -> Iterator[Batch]:
        """Yield the columns asked for, of some rows after the other: whole numbers as int64, texts as objects."""
        with self._reading():
            for batch in self._file.iter_batches(_ROWS_IN_A_BATCH, columns=list(columns)):
                yield {name: _array(batch.column(name).to_pandas()) for name in columns}

    def whole(self, columns: Sequence[str], most_rows: int | None = None) -> dict[str, Array]:
        """Return the columns of every k-th row, k such that there are at most ``most_rows``; of all rows if None."""
        step, done = max(1, -(-self.rows // (most_rows or self.rows or 1))), 0
        parts: dict[str, list[Array]] = {name: [] for name in columns}
        for batch in self.batches(columns):
            for name in columns:
                parts[name].append(batch[name][-done % step :: step])
            done += len(batch[columns[0]])
        return {name: np.concatenate(found) if found else np.zeros(0, np.int64) for name, found in parts.items()}

    def tuples(self, *columns: str) -> Iterator[tuple[Any, ...]]:  # numbers and texts: a type for each column
        """Yield the rows, of each the columns asked for."""
        for batch in self.batches(columns):
            yield from zip(*(batch[name].tolist() for name in columns), strict=True)

    def texts(self, column: str) -> list[str]:
        """Return the texts that a column knows, whether a row has them or not."""
        with self._reading():
            cells = self._file.read(columns=[column]).column(column).dictionary_encode().unify_dictionaries()
            return list(cells.chunk(0).dictionary.to_pylist()) if cells.num_chunks else []

    def frame(self) -> pd.DataFrame:
        """Return all of it."""
        with self._reading():
            found: pd.DataFrame = self._file.read().to_pandas()
        return found

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """Raise InputError for a damaged file, which fails in whatever part of pyarrow reads it first."""
        try:
            yield
        except Exception as error:
            raise wrong(f"cannot be read: {' '.join(str(error).split())}", self._path) from error


class SinceStart(Recorded):
    """A table of the network's ports on the clock of a job that starts later: its times count from the job's start.

    :meth:`frame` has earlier rows, too, with times below 0. Elsewhere they are left out; where rows hold until the next
    one of their port, the last of these stands at 0.
    """

    def __init__(self, path: Path, start_ps: int, *, holds: bool) -> None:
        """``start_ps``: when the job starts. ``holds``: whether a row holds until the next one of its port."""
        super().__init__(path)
        self._start_ps = start_ps
        self._holds = holds

    @cached_property
    def rows(self) -> int:
        """How many there are from the job's start on."""
        return sum(len(batch["time_ps"]) for batch in self.batches(["time_ps"]))

    def batches(self, columns: Sequence[str]) -> Iterator[Batch]:
        """Yield the columns asked for, from the job's start on."""
        held: dict[str, Batch] = {}
        batch: Batch = {}
        for batch in super().batches(list(dict.fromkeys([*columns, "time_ps", "port"]))):
            moved = {**batch, "time_ps": batch["time_ps"] - self._start_ps}
            before, later = np.flatnonzero(moved["time_ps"] <= 0), np.flatnonzero(moved["time_ps"] > 0)
            last = dict(zip(batch["port"][before].tolist(), before, strict=True)) if self._holds else {}
            moved["time_ps"] = np.maximum(moved["time_ps"], 0)
            held |= {port: {name: moved[name][row : row + 1] for name in moved} for port, row in last.items()}
            begun = [held.pop(port) for port in dict.fromkeys(batch["port"][later].tolist()) if port in held]
            yield _behind(begun, {name: moved[name][later] for name in columns})
        if held:
            yield _behind(list(held.values()), {name: batch[name][:0] for name in columns})

    def frame(self) -> pd.DataFrame:
        """Return all of it."""
        found = super().frame()
        found["time_ps"] -= self._start_ps
        return found


def _behind(rows: Sequence[Batch], batch: Batch) -> Batch:
    """Return some rows, and a batch behind them."""
    return {name: np.concatenate([*(row[name] for row in rows), column]) for name, column in batch.items()}


_OF_PORTS = {"queues": True, "pauses": True, "utilisation": False}
"""Tables of the network that all jobs share; whether a row holds until the next one of its port."""


def on_clock_of(metadata: RunDocument, name: str, path: Path) -> Recorded:
    """Return the table ``name`` in ``path``; one of all jobs' network with the times of the job of ``metadata``."""
    start_ps = start_of(metadata)
    return SinceStart(path, start_ps, holds=_OF_PORTS[name]) if start_ps and name in _OF_PORTS else Recorded(path)


def _array(column: npt.ArrayLike) -> Array:
    found = np.asarray(column)
    return found.astype(np.int64, copy=False) if found.dtype.kind in "iu" else found


def table_of(run: Records, name: str) -> Recorded | None:
    """Return the recorded table ``name``, as ``flows``; None if the run has none."""
    path = recorded(run, name)
    return None if path is None else on_clock_of(run.metadata, name, path)


def needed(run: Records, name: str) -> Recorded:
    """Return the recorded table ``name``; raises InputError, which says how to record it, if the run has none."""
    found = table_of(run, name)
    if found is None:
        where = run.folder or "this run"
        raise wrong(f"{name} were not recorded: run again with {how_to_record(run, name)}", where)
    return found


def by_value(column: Array) -> Iterator[tuple[Any, npt.NDArray[np.int64]]]:  # a number or a text
    """Yield each value of a column and the rows that have it, in order."""
    import pandas as pd

    codes, values = pd.factorize(column)
    order = np.argsort(codes, kind="stable")
    bounds = np.searchsorted(codes[order], np.arange(1, len(values)))
    yield from zip(values.tolist(), np.split(order, bounds), strict=True) if len(column) else ()
