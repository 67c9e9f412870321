"""Other values of keys of a run's files, as ``--set`` and ``changes=`` give them; which file a key is of."""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from astra_ns3.config.core.changing import Setting, changed, telling_kinds
from astra_ns3.config.core.document import Document
from astra_ns3.config.core.model import ConfigModel, shown
from astra_ns3.config.core.placing import placed
from astra_ns3.config.core.plain import Json, JsonObject, dotted_keys
from astra_ns3.config.flow_list import FlowList
from astra_ns3.config.formats.hpcc_keys import KEYS as CONFIG_TXT_KEYS
from astra_ns3.config.graph_workload import GraphWorkload
from astra_ns3.config.network.analytical_network import AnalyticalNetwork, parse_analytical
from astra_ns3.config.network.file import NetworkFile
from astra_ns3.config.network.packet_network import NetworkConfig
from astra_ns3.config.system import SystemConfig
from astra_ns3.config.workload import Workload
from astra_ns3.errors import InputError, located, nearest, refuse, wrong
from astra_ns3.experiments.changes.documents import AnyConfig, document_of, given_of, parsed
from astra_ns3.experiments.changes.files import FILES, file_of
from astra_ns3.frozen import dataclass, field, replace
from astra_ns3.workload.files.workload_formats import AnyWorkload
from astra_ns3.workload.loops.loop_kinds import LOOPS, LoopOption
from astra_ns3.workload.models.workload import ModelWorkload

# Stands behind a file's name in messages about it; no folder, so that paths begin at the working folder.
_CHANGED = "(changed)"
_MOST_TOLD = 3


@dataclass(frozen=True)
class RunFiles:
    """The files of a run as they were read, before any option has a say.

    ``places``: each one's name in messages; ``flags``: of options, by the words that one may take for keys;
    ``changed``: what messages say behind the names of files with other values of keys.
    """

    workload: AnyWorkload
    system: SystemConfig
    network: NetworkFile
    places: Mapping[str, str]
    flags: Mapping[str, str] = field(default_factory=dict)
    changed: Mapping[str, str] = field(default_factory=dict)

    def with_changes(self, changes: Mapping[str, Json]) -> RunFiles:
        """Return the files with other values of keys, each a key of one file or ``FILE.key``.

        Raises InputError for a key that no file or more than one has, one that is given twice, and a bad value.
        """
        of_files = _by_file(self, changes)
        made: dict[str, Any] = {}  # what replace takes by name
        for file, settings in of_files.items():
            _check_has_keys(self._config(file), self.places[file])
            with _of_file(self.places[file], settings):
                made[file] = (
                    _network(self.network, settings) if file == "network" else _set(self._config(file), settings)
                )
        return replace(self, **made, changed={file: _label(settings) for file, settings in of_files.items()})

    @contextmanager
    def telling_changes(self) -> Iterator[None]:
        """Have messages of InputErrors that begin with a file's name say which of its keys have other values."""
        try:
            yield
        except InputError as error:
            for file, label in self.changed.items():
                place = self.places[file]
                if str(error).startswith(f"{place}: "):
                    raise wrong(f"{place} {label}{str(error).removeprefix(place)}") from error
            raise

    def _config(self, file: str) -> AnyConfig:
        if file == "network":
            return self.network.network
        return self.workload if file == "workload" else self.system

    def keys_of(self, file: str) -> JsonObject:
        """All that a file says as plain data, defaults written out; nothing of one that has no keys."""
        config = self._config(file)
        if isinstance(config, (FlowList, GraphWorkload)):
            return {}
        found = document_of(config)
        if file == "network" and self.network.document is not None and isinstance(config, AnalyticalNetwork):
            found = {**found, **_plain(self.network.document)}
        return found

    def names_of(self, file: str) -> set[str]:
        """The keys at the top of a file, those that it may have too."""
        config = self._config(file)
        model = config.file if isinstance(config, ModelWorkload) else config
        names = set(self.keys_of(file))
        if isinstance(model, ConfigModel):
            names |= {field.alias or name for name, field in type(model).model_fields.items()}
        return {name.replace("-", "_") for name in names}


def changed_workload(workload: AnyWorkload, place: str, changes: Mapping[str, Json]) -> AnyWorkload:
    """Return a workload alone with other values of keys, ``workload.KEY`` or ``KEY``; ``place``: its file.

    Raises InputError as :meth:`RunFiles.with_changes`, and for a key of another file.
    """
    settings = _settings_of("workload", changes)
    if not settings:
        return workload
    _check_has_keys(workload, place)
    with _of_file(place, settings):
        made: AnyWorkload = _set(workload, settings)
    return made


def changed_network(file: NetworkFile, place: str, changes: Mapping[str, Json]) -> NetworkFile:
    """Return a network's file alone with other values of keys, in the same way."""
    settings = _settings_of("network", changes)
    if not settings:
        return file
    with _of_file(place, settings):
        return _network(file, settings)


def _settings_of(only: str, changes: Mapping[str, Json]) -> list[Setting]:
    """Return the settings of a file; raises InputError for a key of another one, and for a key that is there twice."""
    said: dict[Hashable, str] = {}
    settings: list[Setting] = []
    for key, value in changes.items():
        file = file_of(key)
        refuse(file not in (None, only), f"'{key}' is a key of the {file}, expected one of the {only}")
        settings.append(Setting(tuple(key.split(".")[file is not None :]), value))
        check_once(said, settings[-1].meaning, key)
    return settings


def place_of(given: object, file: str) -> str:
    """Return what messages call one of the files: its path, or ``workload``, ``system`` or ``network``."""
    return os.fspath(given) if isinstance(given, (str, os.PathLike)) else file


def check_changes(changes: object) -> None:
    """Raise InputError unless ``changes`` is a mapping from names of keys."""
    if not isinstance(changes, Mapping):
        expected = "expected a mapping from keys, as network.topology.npus, to values"
        raise wrong(f"changes is {shown(changes)}, {expected}")
    for key in changes:
        refuse(
            not isinstance(key, str) or not all(key.split(".")),
            f"changes has the key {shown(key)}, expected names with dots, as network.topology.npus",
        )


def _by_file(files: RunFiles, changes: Mapping[str, Json]) -> dict[str, list[Setting]]:
    found: dict[str, list[Setting]] = {}
    said: dict[Hashable, str] = {}
    for key, value in changes.items():
        file = file_of(key)
        setting = Setting(tuple(key.split(".")[1:] if file else key.split(".")), value)
        file = file or _only_file(files, key)
        check_once(said, (file, setting.meaning), key)
        found.setdefault(file, []).append(setting)
    return found


def check_once(said: dict[Hashable, str], meaning: Hashable, key: str) -> None:
    """Raise InputError if a key of the same meaning is among those ``said``."""
    before = said.setdefault(meaning, key)
    refuse(before != key, f"'{key}' and '{before}' are one key; give it once")


def _check_has_keys(config: AnyConfig, place: str) -> None:
    if isinstance(config, (FlowList, GraphWorkload)):
        what = "list of flows" if isinstance(config, FlowList) else "workload of graphs"
        raise wrong(f"has no keys to change: it is a {what}", place)


@contextmanager
def _of_file(place: str, settings: Sequence[Setting]) -> Iterator[None]:
    """Put the file and its changed keys in front of the message of an InputError about these."""
    try:
        yield
    except InputError as error:
        words = str(error).removeprefix(f"{_CHANGED}: ")
        raise wrong(words, f"{place} {_label(settings)}") from error


def _label(settings: Sequence[Setting]) -> str:
    """Return what stands behind the name of a file with other values of keys."""
    keys = ", ".join(".".join(setting.keys) for setting in settings[:_MOST_TOLD])
    return f"(changed: {keys}{', ...' if settings[_MOST_TOLD:] else ''})"


def _only_file(files: RunFiles, key: str) -> str:
    """The file that has the key at its top; raises InputError unless there is one."""
    first = key.split(".")[0].replace("-", "_")
    having = [file for file in FILES if first in files.names_of(file)]
    if len(having) == 1:
        return having[0]
    if having:
        meant = " or ".join(f"{file}.{key}" for file in having)
        raise wrong(f"'{key}' is a key of the {' and the '.join(having)}; name the file: {meant}")
    flag = files.flags.get(key.replace("-", "_"))
    refuse(flag is not None, f"'{key}' is no key of a file but an option of its own: {flag}")
    refuse(
        key.upper() in CONFIG_TXT_KEYS,
        f"'{key}' is a key of a config.txt; set what it becomes, as network.transport.payload=4000",
    )
    raise wrong(f"'{key}' is no key of the workload, the system or the network{_meant(files, key)}")


def _meant(files: RunFiles, key: str) -> str:
    """The nearest key; of a word without dots those that end with it."""
    known = {f"{file}.{name}": name for file in FILES for name in dotted_keys(files.keys_of(file))}
    near = nearest(key, [*known, *known.values()])
    if near and "." in key:
        return near
    last = key.split(".")[-1].replace("-", "_")
    alike = [name for name in known if name.split(".")[-1].replace("-", "_") == last]
    if alike:
        words = ", ".join(f"'{name}'" for name in alike[:_MOST_TOLD])
        return f"; did you mean {words}{', ...' if alike[_MOST_TOLD:] else ''}?"
    return near


def _set(config: AnyConfig, settings: Sequence[Setting]) -> Any:  # of the class of config
    with located(_CHANGED):
        every = [*settings, *following(config, settings, Path())]
        data, _ = changed(given_of(config), document_of(config), every, Path())
    with telling_kinds(given_of(config), settings):
        made = parsed(config, data, _CHANGED, {})
    if isinstance(made, Workload):
        _check_read(made, settings)
    return made


def _check_read(workload: Workload, settings: Sequence[Setting]) -> None:
    """Raise InputError if a key has a value that the workload's loop never reads."""
    loop = LOOPS.get(workload.loop)
    for setting in settings:
        key = setting.meaning
        if loop and setting.value and key in {option.value for option in LoopOption if option not in loop.options}:
            meant = "; did you mean 'network.topology.npus'?" if key == LoopOption.NPUS.value else ""
            raise wrong(f"the loop {workload.loop} reads no key '{key}'{meant}")


def _network(file: NetworkFile, settings: list[Setting]) -> NetworkFile:
    made = with_own_keys(file.network, file.document, settings, _CHANGED)
    return replace(file, network=_set(file.network, settings) if made is None else made, document=None)


def following(config: AnyConfig, settings: Sequence[Setting], folder: Path) -> Iterator[Setting]:
    """Yield settings of the keys that a congestion control of another kind doesn't take over, but for given ones.

    ``folder``: where paths in the settings begin.
    """
    transports = config.each_transport if isinstance(config, NetworkConfig) else ()
    given = {setting.meaning for setting in settings}
    for setting in settings:
        place = setting.keys[: -2 if setting.keys[-1] == "kind" else -1]
        kind = setting.value.get("kind") if isinstance(setting.value, Mapping) else setting.value
        if setting.meaning.removesuffix(".kind").endswith("congestion_control") and isinstance(kind, str):
            for transport in transports:
                names = [name for name, value in transport.control_keys(placed(kind, folder)).items() if value is None]
                own = (Setting((*place, name), None) for name in names)
                yield from (each for each in own if each.meaning not in given)


def with_own_keys(
    network: AnyConfig, document: Document | None, settings: list[Setting], source: str
) -> AnalyticalNetwork | None:
    """Return an analytical network with other values of its file's own keys; None: the keys are ours.

    ``document``: the network's file; ``source``: for messages. Raises InputError.
    """
    data = {} if document is None or not isinstance(network, AnalyticalNetwork) else _plain(document)
    if {setting.keys[0].replace("-", "_") for setting in settings} & {key.replace("-", "_") for key in data}:
        return parse_analytical(Document(source, *changed(data, data, settings, Path())))
    return None


def _plain(document: Document) -> JsonObject:
    return dict(document.data) if isinstance(document.data, Mapping) else {}
