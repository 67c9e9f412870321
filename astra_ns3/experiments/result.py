"""A finished (or stopped) run: its times, its tables, and all that is needed to do it again."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, overload

from astra_ns3.config.core.json_reading import reading_json
from astra_ns3.errors import failing, refuse, wrong
from astra_ns3.experiments.astra_sim_tables import BACKEND_END_TO_END, DETAILED, END_TO_END, UTILIZATION_SUFFIX
from astra_ns3.experiments.described.csv_tables import CSV_ASKED, explained_csv
from astra_ns3.experiments.flow_tables import FLOW_COMPLETION, GOODPUT
from astra_ns3.experiments.forecasting.foreseen import EXPERTS, MEMORY
from astra_ns3.experiments.layer_table import LAYERS
from astra_ns3.experiments.metadata import FORMAT_VERSION
from astra_ns3.experiments.replacing import whole_run
from astra_ns3.experiments.run_tables import COLLECTIVES, NPUS, SWITCH
from astra_ns3.experiments.store import FORMAT, SCENARIO_FORMAT, SEEDS_FORMAT, tenant_folder
from astra_ns3.experiments.tables import as_given
from astra_ns3.frozen import dataclass, field
from astra_ns3.network.recorded import (
    ACCOUNT_HOPS,
    ACCOUNT_SERVED,
    ACCOUNTS,
    CHANNEL_ROWS,
    CHANNELS,
    COMPLETIONS,
    CONNECTIONS,
    FLOWS,
    NODES,
    OPERATIONS,
    PAUSES,
    PHASES,
    QUEUE_PAIRS,
    QUEUES,
    UTILISATION,
    RecordedTable,
)
from astra_ns3.network.run_document import EventDocument, FileDocument, RunDocument
from astra_ns3.report.records import on_clock_of
from astra_ns3.scenario.tenant import mixed_seed
from astra_ns3.units import PS_PER_NS, format_time
from astra_ns3.whole_file import RUN_FILE

if TYPE_CHECKING:
    import pandas as pd

    from astra_ns3.report.pictures.accessor import Plots

_NAME_COLUMNS = ("job", "layer name", "run name")


@dataclass(frozen=True)
class Files:
    """The tables of a run: in memory (``texts``), in a folder, or both."""

    texts: Mapping[str, str] = field(default_factory=dict)
    folder: Path | None = None

    def text(self, name: str) -> str:
        """Content of the text file ``name``; raises InputError if there is none."""
        if name in self.texts:
            return self.texts[name]
        with failing((OSError, UnicodeDecodeError), f"{self.folder}/{name}: cannot be read"):
            return self.path(name).read_text(encoding="utf-8")

    def has(self, name: str) -> bool:
        """Whether there is a file ``name``."""
        return name in self.texts or (self.folder is not None and (self.folder / name).is_file())

    def path(self, name: str) -> Path:
        """Where the file ``name`` lies; raises InputError if the run has none."""
        if self.folder is None or not (self.folder / name).is_file():
            expected = f" expected {CSV_ASKED[name]}" if name in CSV_ASKED else ""
            raise wrong(f"there is no {name}; was it recorded?{expected}", self.folder or "this run")
        return self.folder / name


def explained(table: RecordedTable) -> str:
    """Return the words of a recorded table and of its columns, a line each."""
    lines = [f"{column.name}{f' ({column.unit})' * bool(column.unit)}: {column.words}" for column in table.columns]
    return "\n".join([f"{table.file}: {table.words}.", "", *lines])


def saved(path: Path, expected: str) -> tuple[RunDocument, Files]:
    """Return run.json and the files of what is saved in a folder; raises InputError if that isn't of a format."""
    read_from = whole_run(path)  # what a kill in the middle of --overwrite left is read all the same
    file = read_from / RUN_FILE
    refuse(not path.exists(), "there is no such folder", path)
    if not file.is_file():
        raise wrong(f"is not the folder of a run: it has no {RUN_FILE}{_runs_below(path)}", path)
    with failing((OSError, UnicodeError), "cannot be read", file):
        text = file.read_text(encoding="utf-8")
    with reading_json(os.fspath(file)):
        metadata: RunDocument = json.loads(text)
        json.dumps(metadata, allow_nan=False)  # raises for numbers that JSON hasn't, as Infinity
    if not isinstance(metadata, dict) or metadata.get("format") != expected:
        raise wrong(_other_format(path, file, metadata, expected))
    if metadata.get("format_version") != FORMAT_VERSION:
        found = metadata.get("format_version")
        raise wrong(f"format_version is {found!r}, this program reads {FORMAT_VERSION}", file)
    jobs = metadata.get("jobs", [])
    for job in (metadata.get("job"), *(jobs if isinstance(jobs, list) else ())):
        if isinstance(job, dict) and "lost_ps" in job:  # its name in older results
            job.setdefault("last_try_ps", job.pop("lost_ps"))
    return metadata, Files(folder=read_from)


def _runs_below(path: Path) -> str:
    """Return which runs lie in a folder, or a study's, that is none itself, and what to do; nothing without runs."""
    folders = sorted(file.parent for deep in ("*", "points/*") for file in path.glob(f"{deep}/{RUN_FILE}"))
    if not folders:
        return ""
    told = {"means.csv": "has means and deviations over seeds", "index.html": "is the page of all"}
    words = [f"{path / name} {what}" for name, what in told.items() if (path / name).is_file()]
    listed = ", ".join([f"astra-ns3 runs {path} lists them", *words])
    return f"; runs lie in it: name one, as {folders[0]} ({listed})"


def jobs_of(metadata: Mapping[str, object], file: Path) -> list[str]:
    """Return the names of the jobs of a scenario's run.json; raises InputError if it has none."""
    jobs = metadata.get("jobs")
    names = [job.get("name") if isinstance(job, dict) else None for job in jobs] if isinstance(jobs, list) else []
    found = [name for name in names if isinstance(name, str)]
    if not found or len(found) < len(names):
        raise wrong("'jobs' is no list of jobs with a name each; a version of this program before had other keys", file)
    return found


def _other_format(path: Path, file: Path, metadata: object, expected: str) -> str:
    """Return what is wrong with a run.json that isn't of a format."""
    found = metadata if isinstance(metadata, dict) else {}
    if found.get("format") == SEEDS_FORMAT:
        one = f"{path}/seed-{found.get('seed', 1)}"
        return f"{path}: holds the runs of several seeds, whose mean and deviation {file} has; name one, as {one}"
    if found.get("format") == SCENARIO_FORMAT:
        names = ", ".join(tenant_folder(path, name).name for name in jobs_of(found, file))
        return f"{path}: holds the results of several jobs; name one of its folders: {names}"
    return f"{file}: was not written by this program: 'format' is not '{expected}'"


class Frame:
    """A table of a :class:`Result` as its attribute."""

    def __init__(self, table: RecordedTable | str) -> None:
        """``table``: one that was recorded, or the name of a CSV file."""
        self._table = table
        self.__doc__ = explained_csv(table) if isinstance(table, str) else explained(table)

    @overload
    def __get__(self, result: None, owner: type[Result]) -> Frame: ...

    @overload
    def __get__(self, result: Result, owner: type[Result]) -> pd.DataFrame: ...

    def __get__(self, result: Result | None, owner: type[Result]) -> pd.DataFrame | Frame:
        """The table, read when it is first asked for; raises InputError if there is none."""
        return self if result is None else result.frame(self._table)

    def __set__(self, result: Result, value: object) -> NoReturn:
        """A result stays what it is."""
        raise AttributeError("a result's tables can't be set")


class Result:
    """The result of :func:`astra_ns3.run`; :meth:`load` reads one back from its folder.

    Tables are pandas DataFrames with units in their column names, read on first use; don't change them in place.
    """

    def __init__(
        self, metadata: RunDocument, files: Files, folder: Path | None = None, network: Result | None = None
    ) -> None:
        """``folder``: where the run was saved, if it was. ``network``: has the tables that all tenants share."""
        self._metadata = metadata
        self._files = files
        self._folder = folder
        self._network = network
        self._frames: dict[str, pd.DataFrame] = {}

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> Result:
        """Read the run that ``folder`` holds; raises InputError if it holds none."""
        path = Path(folder)
        metadata, files = saved(path, FORMAT)
        if "job" not in metadata:
            return cls(metadata, files, path)
        return cls(metadata, files, path, Result(*saved(path.parent, SCENARIO_FORMAT), path.parent))

    def beside(self, network: Result) -> Result:
        """Return this result of a tenant with the tables of its network, which all tenants share."""
        return Result(self._metadata, self._files, self._folder, network)

    @property
    def hook(self) -> Any:  # whatever a user returned
        """The return value of the hook's end function if that is JSON, else None."""
        return self._metadata.get("hook_result")

    def __repr__(self) -> str:
        state = "complete" if self.complete else "incomplete"
        return f"<Result {self._metadata['run_name']!r}: {state}, finish {format_time(self.finish_ps)}>"

    @property
    def metadata(self) -> RunDocument:
        """All of run.json: configuration, seed, versions, cost, warnings."""
        return self._metadata

    @property
    def events(self) -> Sequence[EventDocument]:
        """The network's events, of a scenario's job those of the scenario; empty where nothing changes."""
        return self.of_run.get("events", ())

    @property
    def network_finish_ps(self) -> int:
        """When the run ended; of a scenario's job when the scenario did."""
        return int(self.of_run["finish_ps"])

    @property
    def of_run(self) -> RunDocument:
        """All of run.json of the run; of a scenario's job that of the scenario."""
        return (self._network or self)._metadata

    @property
    def scenario_keys(self) -> FileDocument | None:
        """The scenario file's keys that aren't at their defaults, of a scenario or its job; None: there is no file."""
        return self.of_run.get("scenario_keys")

    @property
    def chosen_seed(self) -> int | None:
        """The seed; of a scenario's job that has none of its own, from which its seed follows, that of the run."""
        seed = self._metadata.get("seed")
        of_run = None if self._network is None else self._network._metadata.get("seed")
        return of_run if of_run and seed == mixed_seed(of_run, self._metadata["job"]["name"]) else seed

    @property
    def folder(self) -> Path | None:
        """Where the run was saved; None if it was not."""
        return self._folder

    @property
    def complete(self) -> bool:
        """Whether all NPUs came to the end of the workload."""
        return bool(self._metadata["complete"])

    @property
    def finish_ps(self) -> int:
        """When the last NPU finished; in an incomplete run, the simulated time reached."""
        return int(self._metadata["finish_ps"])

    @property
    def finish_ns(self) -> float:
        """:attr:`finish_ps` in nanoseconds."""
        return self.finish_ps / PS_PER_NS

    @property
    def end_to_end(self) -> pd.DataFrame:
        """EndToEnd.csv: a row per layer, of the reported NPU."""
        return self._microsecond_frame(END_TO_END)

    @property
    def detailed(self) -> pd.DataFrame:
        """detailed.csv: mean delays of a layer's chunks on the reported NPU."""
        return self._microsecond_frame(DETAILED)

    npus = Frame(NPUS)
    collectives = Frame(COLLECTIVES)
    switches = Frame(SWITCH)
    flows = Frame(FLOWS)
    completions = Frame(COMPLETIONS)
    flow_completion = Frame(FLOW_COMPLETION)
    goodput = Frame(GOODPUT)
    memory = Frame(MEMORY)
    experts = Frame(EXPERTS)
    accounts = Frame(ACCOUNTS)
    account_hops = Frame(ACCOUNT_HOPS)
    account_served = Frame(ACCOUNT_SERVED)
    layers = Frame(LAYERS)
    connections = Frame(CONNECTIONS)
    queues = Frame(QUEUES)
    queue_pairs = Frame(QUEUE_PAIRS)
    pauses = Frame(PAUSES)
    utilisation = Frame(UTILISATION)
    operations = Frame(OPERATIONS)
    phases = Frame(PHASES)
    channels = Frame(CHANNELS)
    channel_rows = Frame(CHANNEL_ROWS)
    nodes = Frame(NODES)

    @property
    def backend_end_to_end(self) -> pd.DataFrame:
        """backend_end_to_end.csv, one row: times in microseconds, payload of the reported NPU in MiB."""
        return self._frame(BACKEND_END_TO_END, {"CommsTime": "CommsTime_us", **_BACKEND_UNITS})

    @property
    def dimension_utilization(self) -> pd.DataFrame:
        """Percent of each window of 10 us in which the reported NPU had something in the dimension's queue."""
        names = [name for name in self._metadata["files"] if name.endswith(UTILIZATION_SUFFIX)]
        name = names[0] if names else f"run{UTILIZATION_SUFFIX}"
        columns = next(csv.reader(io.StringIO(self._having(name).text(name))))
        dimensions = {column: f"{column.split()[0]}_percent" for column in columns if column.endswith(" util")}
        return self._frame(name, {" time (us) ": "time_us", **dimensions})

    @property
    def plot(self) -> Plots:
        """Pictures of this run as Figures of matplotlib: ``result.plot.layers()``, and so on.

        ``dir(result.plot)`` names them.
        """
        from astra_ns3.report.pictures.accessor import Plots

        return Plots(self)

    def file(self, name: str) -> Path:
        """Where the file ``name`` of the run, or of a job's network, lies; raises InputError if it has none."""
        return self._having(name).path(name)

    def rows(self, name: str) -> list[dict[str, str]]:
        """Rows of the CSV file ``name`` as text, without pandas."""
        read = csv.DictReader(io.StringIO(self._having(name).text(name)))
        return [{name: as_given(cell) for name, cell in row.items()} for row in read]

    def frame(self, table: RecordedTable | str) -> pd.DataFrame:
        """A recorded table, or that of a CSV file; raises InputError if there is none."""
        return self._frame(table) if isinstance(table, str) else self._parquet(table)

    def _having(self, name: str) -> Files:
        """The files in which ``name`` is: the tenant's own, or the network's."""
        network = None if self._network is None or self._files.has(name) else self._network._files
        return network if network is not None and network.has(name) else self._files

    def _microsecond_frame(self, name: str) -> pd.DataFrame:
        """A table of ASTRA-sim's: all but its first two columns are microseconds."""
        columns = next(csv.reader(io.StringIO(self._having(name).text(name))))
        snake = {column: column.replace(" ", "_") for column in columns}
        return self._frame(name, {old: new if old in _NAME_COLUMNS else f"{new}_us" for old, new in snake.items()})

    def _frame(self, name: str, rename: Mapping[str, str] | None = None) -> pd.DataFrame:
        if name not in self._frames:
            import pandas as pd

            text = self._having(name).text(name)
            with failing(ValueError, f"{self._files.folder}/{name}: cannot be read"):
                frame = pd.read_csv(io.StringIO(text), dtype=_TEXT_COLUMNS, keep_default_na=False, na_values=[""])
            for column in frame.columns.intersection([*_TEXT_COLUMNS]):
                frame[column] = frame[column].map(as_given, na_action="ignore")
            unnamed = [column for column in frame.columns if str(column).startswith("Unnamed:")]
            self._frames[name] = frame.drop(columns=unnamed).rename(columns=dict(rename or {}))
        return self._frames[name]

    def _parquet(self, table: RecordedTable) -> pd.DataFrame:
        name = table.file
        if name not in self._frames:
            files = self._having(name)
            if not files.has(name):
                where = self._folder or f"run '{self._metadata['run_name']}'"
                raise wrong(f"there is no {name}; was it recorded? expected {table.asked}", where)
            self._frames[name] = on_clock_of(self._metadata, table.name, files.path(name)).frame()
        return self._frames[name]


_BACKEND_UNITS = {
    "ComputeTime": "ComputeTime_us",
    "ExposedCommsTime": "ExposedCommsTime_us",
    "TotalPayloadSize": "TotalPayloadSize_MiB",
    **{f"PayloadSize_Dim{dimension}": f"PayloadSize_Dim{dimension}_MiB" for dimension in range(7)},
}
_TEXT_COLUMNS = dict.fromkeys((*_NAME_COLUMNS, "layer", "part", "kind", "algorithm", "RunName", "link_to"), str)
