"""Digests of the content of files that a run's inputs name, so that two runs of other content can be told apart."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

from astra_ns3.config.core.algorithm_names import FILE_PREFIX
from astra_ns3.config.core.plain import Json
from astra_ns3.config.flow_list import FlowList
from astra_ns3.config.flow_stream import FlowStream
from astra_ns3.config.graph_workload import GraphWorkload
from astra_ns3.errors import InputError
from astra_ns3.experiments.changes.documents import document_of
from astra_ns3.experiments.inputs import Inputs
from astra_ns3.user_code import user_part
from astra_ns3.user_files import files_taken_in
from astra_ns3.workload.files.workload_formats import AnyWorkload

_CODE = (".py", ".hpp", ".hh", ".h")
_PIECE = 1 << 20
_GROUPS = "communicator groups"
"""Whatever file they are from, which a workload of graphs doesn't know."""
_MOST_TRACES = 16
"""More have one digest together, by the name that they share."""


def input_files(inputs: Inputs) -> dict[str, str]:
    """Return the SHA-256 of each file that the inputs name, by its name without folders.

    Users' modules and headers that code takes in count with it. Two files of one name have one digest together, as many
    traces have. A workload's text, a system file and a network file have none, for run.json has what they say.
    """
    network, system = inputs.network.document(), inputs.system.document()
    groups: dict[str, dict[Path, None]] = {}
    for name, path in [*_of_workload(inputs.workload), *_named(_paths(system)), *_named(_paths(network))]:
        groups.setdefault(name, {})[path.resolve()] = None
    found = {name: _digest(list(each)) for name, each in groups.items()}
    if isinstance(inputs.workload, GraphWorkload) and inputs.workload.groups:
        members = repr(sorted(inputs.workload.groups.items()))
        found[_GROUPS] = hashlib.sha256(members.encode()).hexdigest()
    return {name: digest for name, digest in found.items() if digest}


def _of_workload(workload: AnyWorkload) -> list[tuple[str, Path]]:
    """Return the files of a workload, or those that it names, by what they are called."""
    if isinstance(workload, GraphWorkload):
        files = dict.fromkeys(Path(workload.file_of(npu)) for npu in range(workload.npus))
        together = Path(workload.source).name
        return _named(files) if len(files) <= _MOST_TRACES else [(together, path) for path in files]
    if isinstance(workload, FlowList):
        return [(Path(workload.source).name, Path(workload.source))]
    if isinstance(workload, FlowStream):
        return []
    return _named(_paths({key: value for key, value in document_of(workload).items() if key != "source"}))


def _named(paths: Iterable[Path]) -> list[tuple[str, Path]]:
    return [(path.name, path) for path in paths]


def _paths(value: Json) -> Iterator[Path]:
    """Yield the files that plain data name: code, schedules, graphs, tables."""
    if isinstance(value, Mapping):
        if value.get("kind") == "file" and isinstance(value.get("path"), str):
            yield Path(str(value["path"]))
        for each in value.values():
            yield from _paths(each)
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from _paths(each)
    elif isinstance(value, str):
        part = user_part(value, compiled=True)
        _, prefix, rest = value.partition(FILE_PREFIX)
        if part is not None:
            yield Path(part.file)
        elif prefix or Path(value).is_absolute():  # a schedule, or a table that a model file names
            yield Path(rest or value)


def _digest(paths: list[Path]) -> str:
    """Return the digest of files' content in their order, empty if none of them is a file."""
    found = hashlib.sha256()
    known = False
    for path in paths:
        with suppress(OSError, ValueError, InputError):  # a user's workload may name what is no file
            if path.is_file():
                for digest in _each(path):
                    found.update(digest)
                known = True
    return found.hexdigest() if known else ""


def _each(path: Path) -> list[bytes]:
    """Return the digests of a file and of what it takes in."""
    if path.suffix in _CODE:
        return [hashlib.sha256(content).digest() for content in files_taken_in(path).values()]
    there = path.stat()
    return [_digest_of(path, there.st_size, there.st_mtime_ns)]


@lru_cache(maxsize=4096)
def _digest_of(path: Path, _size: int, _time_ns: int) -> bytes:
    """Return the digest of a file as it is at present, read piece by piece: once for all jobs and tries of a run."""
    found = hashlib.sha256()
    with path.open("rb") as file:
        while piece := file.read(_PIECE):
            found.update(piece)
    return found.digest()
