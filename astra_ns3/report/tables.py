"""The tables of a run that reports read: which it has, and how it would have the others.

:class:`~astra_ns3.experiments.result.Result` fulfils :class:`Records`; nothing here knows how a run was made.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

import numpy as np
import numpy.typing as npt

from astra_ns3.config.core.plain import Json
from astra_ns3.errors import InputError, refuse, wrong
from astra_ns3.network.backends import abilities_of
from astra_ns3.network.run_document import EventDocument, FileDocument, RunDocument
from astra_ns3.user_code import a_kind_of

Numbers = npt.NDArray[np.int64]

HOW_TO_RECORD: Mapping[str, str] = {
    "flows": "--record flows",
    "completions": "--record flows",
    "layers": "--record layers",
    "accounts": "--record accounts",
    "account_hops": "--record accounts",
    "operations": "--record timeline",
    "phases": "--record timeline",
    "channels": "--record timeline",
    "channel_rows": "--record timeline",
    "connections": "observe.connections in the network file",
    "queue_pairs": "observe.queue_pairs in the network file",
    "queues": "observe.queues in the network file",
    "pauses": "observe.pauses in the network file",
    "utilisation": "observe.utilisation in the network file",
}
"""The option that a run has to be given for a table to be there."""


PACKETS_NEEDED = "a network of packets (--backend ns3)"

# Tables of packets, ports and connections, which an analytical network has none of.
_OF_PACKETS = ("accounts", "account_hops", "connections", "queue_pairs", "queues", "pauses", "utilisation")


def check_results(*given: object) -> None:
    """Raise InputError for what is no result: the path of one, say."""
    for one in given:
        words = f"found {a_kind_of(one)}, expected a Result, such as astra_ns3.Result.load(FOLDER)"
        refuse(not hasattr(one, "metadata"), words)


class Records(Protocol):
    """A run that is over."""

    @property
    def metadata(self) -> RunDocument:
        """All of run.json."""

    @property
    def events(self) -> Sequence[EventDocument]:
        """The events of the run's network."""

    @property
    def network_finish_ps(self) -> int:
        """When the run ended; of a scenario's job when the scenario did."""

    @property
    def scenario_keys(self) -> FileDocument | None:
        """The keys of its scenario's file; None: it has none."""

    @property
    def chosen_seed(self) -> int | None:
        """Its seed, or, for a job's that follows from that of its scenario's run, the latter."""

    @property
    def folder(self) -> Path | None:
        """Where the run was saved; None if it was not."""

    def rows(self, name: str) -> list[dict[str, str]]:
        """Rows of the CSV file ``name`` as text."""

    def file(self, name: str) -> Path:
        """Where the file ``name`` lies; raises InputError if there is none."""


def recorded(records: Records, table: str) -> Path | None:
    """Return the Parquet file of a table, as ``flows``; None if the run did not record it.

    Raises InputError, which says how to record it again, if the file is gone.
    """
    name = f"{table}.parquet"
    try:
        return records.file(name)
    except InputError as error:
        if name not in records.metadata["files"]:
            return None
        words = f"there is no {name}, which its run.json lists: run again with {how_to_record(records, table)}"
        raise wrong(words, records.folder or "this run") from error


# Tables of what NPUs do in a training loop or a graph.
_OF_LOOPS = ("layers", "operations", "phases", "channels", "channel_rows")


class Told(Protocol):
    """A run of which run.json is at hand."""

    @property
    def metadata(self) -> RunDocument:
        """All of run.json."""


def is_of_flows(records: Told) -> bool:
    """Whether a run's workload is a list of flows."""
    return "flows" in records.metadata


def is_of_graphs(records: Told) -> bool:
    """Whether a run's workload is one of graphs."""
    return str(records.metadata["workload"].get("loop", "")).endswith(" graphs")


def is_analytical(records: Told) -> bool:
    """Whether a run's messages went by formula, without packets."""
    return not abilities_of(records.metadata.get("backend")).packets


def _needs_packets(records: Told, table: str) -> bool:
    """Whether the backend of a run would need packets for a table."""
    fills = abilities_of(records.metadata.get("backend")).fills
    return table in _OF_PACKETS and is_analytical(records) and table not in fills


def how_to_record(records: Told, *tables: str) -> str:
    """Return what the same workload has to be run with for one of the tables to be there."""
    how = in_words((HOW_TO_RECORD[table] for table in tables), " or ")
    packets = all(_needs_packets(records, table) for table in tables)
    return f"{PACKETS_NEEDED} and {how}" if packets else how


def in_words(ways: Iterable[str], between: str) -> str:
    """Return ways of recording tables, each once, and the network file once where several stand in it."""
    return between.join(dict.fromkeys(ways)).replace(f" in the network file{between}observe.", f"{between}observe.")


def could_record(records: Told, table: str) -> bool:
    """Whether the same run could have rows of a table.

    Nothing is stopped without PFC or credits, flows have no layers, and an analytical network has no packets.
    """
    if _needs_packets(records, table) or (table in _OF_LOOPS and is_of_flows(records)):
        return False
    return table != "pauses" or bool(stopped_by(records))


def stopped_by(records: Told, pfc: str = "PFC", credit: str = "credits") -> str:
    """Return what stops ports of a run's network: ``pfc``, ``credit``, both, or nothing."""
    words = {"pfc": pfc, "credits": credit}
    return " or ".join(words[key] for key in words if _has(records.metadata["network"], key))


def _has(group: Json, key: str) -> bool:
    """Whether a group, or one inside of it, has a value of a key."""
    if isinstance(group, Mapping):
        return group.get(key) is not None or any(_has(value, key) for value in group.values())
    return isinstance(group, list) and any(_has(value, key) for value in group)


def names_of(runs: Sequence[Records]) -> list[str]:
    """Return a name for each run: its own, its folder's where names are alike, a number before it if both are."""
    names = [name_of(run) for run in runs]
    if len(set(names)) == len(names):
        return names
    folders = [_folder_of(run) for run in runs]
    if len(set(folders)) == len(folders):
        return [folder or name for folder, name in zip(folders, names, strict=True)]
    return [f"{number}: {folder or name}" for number, (folder, name) in enumerate(zip(folders, names, strict=True), 1)]


def name_of(run: Records) -> str:
    """Return the name of a run; of a scenario's job the job's name stands behind, if it is another one."""
    name = str(run.metadata["run_name"])
    job = run.metadata["job"]["name"] if "job" in run.metadata else name
    return name if job == name else f"{name}/{job}"


def name_with_folder(run: Records) -> str:
    """Return the name of a run, and in brackets its folder if that has another name."""
    name, folder = name_of(run), _folder_of(run)
    return f"{name} ({folder})" if folder not in ("", name) else name


def _folder_of(run: Records) -> str:
    """Return the name of a run's folder, of a job after the scenario's; empty if the run was not saved."""
    if run.folder is None:
        return ""
    folder = run.folder.absolute()
    return f"{folder.parent.name}/{folder.name}" if "job" in run.metadata else folder.name
