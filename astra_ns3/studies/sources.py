"""The files of a study's points, each read once, and each set of changes made once."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path

from astra_ns3.config.core.changing import changed, telling_kinds
from astra_ns3.config.core.document import Document, KeyPath
from astra_ns3.config.core.placing import names_files, placed
from astra_ns3.config.core.plain import Json
from astra_ns3.config.formats.analytical import analytical_version
from astra_ns3.config.graph_workload import GraphWorkload
from astra_ns3.config.network.analytical_network import parse_analytical
from astra_ns3.config.network.file import read_network_file
from astra_ns3.config.system import SystemConfig
from astra_ns3.errors import InputError, located, of_type, refuse, wrong
from astra_ns3.experiments.changes.documents import AnyConfig, document_of, given_of, parsed
from astra_ns3.experiments.changes.setting import following, with_own_keys
from astra_ns3.frozen import dataclass
from astra_ns3.studies.changes import Change
from astra_ns3.system.file import parse_system, read_system
from astra_ns3.workload.files.chakra.trace import is_chakra
from astra_ns3.workload.files.workload_formats import read_workload

USUAL_COMPAT = "none"


@dataclass(frozen=True)
class Source:
    """The content of a file of a run, and the preset of rules and the warnings that come with its format."""

    config: AnyConfig
    compat: str = USUAL_COMPAT
    warnings: tuple[str, ...] = ()
    document: Document | None = None
    """The network's file, if its keys are read as they are."""


def _network(path: str) -> Source:
    file = read_network_file(path)
    return Source(file.network, file.compat or USUAL_COMPAT, file.warnings, file.document)


def _workload(path: str) -> Source:
    found = read_workload(path)
    if isinstance(found, GraphWorkload):  # its files are read while it is played, perhaps from another folder
        found = read_workload(Path.cwd() / path)
    return Source(found)


_READERS: Mapping[str, Callable[[str], Source]] = {
    "workload": _workload,
    "system": lambda path: Source(read_system(path)),
    "network": _network,
}


class Sources:
    """Reads files and makes changes to them, and remembers both."""

    def __init__(self, study: str, folder: Path) -> None:
        """``study``: its file, for messages; ``folder``: where its paths begin."""
        self._study = study
        self._folder = folder
        self._read: dict[tuple[str, str], Source] = {}
        self._changed: dict[tuple[int, str], Source | InputError] = {}

    def get(self, kind: str, chosen: Change, changes: list[Change]) -> Source:
        """Return what the file, or the mapping, that ``chosen`` names says after the changes.

        ``kind``: workload, system or network. Raises InputError: file, line and key.
        """
        read = self._of(kind, chosen)
        if not changes:
            return read
        said = {change.meaning: change.value for change in changes}
        key = (id(read), json.dumps(said, sort_keys=True))
        if key not in self._changed:
            try:
                self._changed[key] = self._made(read, changes)
            except InputError as error:
                self._changed[key] = error
        found = self._changed[key]
        if isinstance(found, InputError):
            raise found
        return found

    def _of(self, kind: str, chosen: Change) -> Source:
        """Return what is read, before any change."""
        value = chosen.value
        inline = isinstance(value, Mapping)
        key = (kind, json.dumps(value, sort_keys=True) if inline else str(value))
        if key not in self._read:
            self._read[key] = self._inline(kind, chosen) if inline else self._file(kind, chosen)
        return self._read[key]

    def _file(self, kind: str, chosen: Change) -> Source:
        words = f"key '{chosen.key}' is {chosen.value!r}, expected a path"
        path = os.path.normpath(self._folder / of_type(chosen.value, str, words, self._place(chosen)))
        is_prefix = kind == "workload" and is_chakra(Path(path))
        refuse(
            not os.path.lexists(path) and not is_prefix,
            f"key '{chosen.key}': {path}: no such file",
            self._place(chosen),
        )
        here = os.path.relpath(path)
        source = _READERS[kind](here if not here.startswith("..") else path)
        return self._absolute(source)

    def _absolute(self, source: Source) -> Source:
        """Return the source with absolute paths: a worker may stand in another folder."""
        given = given_of(source.config)
        if not names_files(given):
            return source
        config = parsed(source.config, placed(given, Path.cwd()), self._study, {})
        return Source(config, source.compat, source.warnings)

    def _inline(self, kind: str, chosen: Change) -> Source:
        """A system or a network that the study's file holds."""
        data = placed(chosen.value, self._folder)
        source = self._place(chosen)
        if kind == "system":
            return Source(parse_system(data, source))
        if kind == "network":
            from astra_ns3.config.network.packet_network import parse_network

            document = Document(source, data)
            if analytical_version(data) is not None:
                return Source(parse_analytical(document), document=document)
            return Source(parse_network(data, source))
        raise wrong(f"key '{chosen.key}': found a mapping, expected the path of a workload file", source)

    def _made(self, read: Source, changes: list[Change]) -> Source:
        lines: dict[KeyPath, int]
        with located(self._place(changes[0])):
            settings = [change.setting for change in changes]
            every = [*settings, *following(read.config, settings, self._folder)]
            data, lines = changed(given_of(read.config), document_of(read.config), every, self._folder)
        known = {path: line for path, line in lines.items() if line}
        for path, line in list(known.items()):  # what is wrong with a group is what was changed in it
            for length in range(len(path)):
                known.setdefault(path[:length], line)
        keys = ", ".join(change.key for change in changes)
        try:
            own = with_own_keys(read.config, read.document, settings, self._study)
            with telling_kinds(given_of(read.config), settings):
                made = parsed(read.config, data, self._study, known) if own is None else own
        except InputError as error:
            if str(error).startswith(self._study):
                raise
            raise wrong(f"{keys}: {error}", self._place(changes[0])) from error
        if isinstance(made, SystemConfig) and made.source is not None:
            made = made.read_from(f"{made.source} (changed: {keys})")
        return Source(made, read.compat, read.warnings)

    def _place(self, change: Change) -> str:
        return f"{self._study}:{change.line}" if change.line else self._study


def summary_of(value: Json) -> str:
    """A value of a file's key as a label: a path without folders and ending."""
    return Path(value).stem if isinstance(value, str) else str(value)
