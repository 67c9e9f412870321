"""Other values of keys of a scenario's file, as ``--set scenario.KEY=VALUE`` and a study give them."""

from __future__ import annotations

import os
from collections.abc import Hashable, Mapping, Sequence
from pathlib import Path

from astra_ns3.config.core.changing import Setting, changed
from astra_ns3.config.core.document import Document
from astra_ns3.config.core.model import validated
from astra_ns3.config.core.plain import Json
from astra_ns3.config.scenario.file import ScenarioConfig, ScenarioFile
from astra_ns3.errors import located
from astra_ns3.experiments.changes.files import FILES
from astra_ns3.experiments.changes.setting import check_once
from astra_ns3.frozen import replace

SCENARIO = "scenario"
"""The name in front of a key of the scenario's file."""
_KEYS = {*ScenarioConfig.model_fields} - {*FILES}
"""Keys at the top of the file that no other file of a run has."""
_FILES = ("network", "workload", "system", "compute_slowdown", "groups")
_ARRIVALS = "arrivals"
_FILES_OF_ARRIVALS = ("file", "system")


def scenario_changes(changes: Mapping[str, Json]) -> tuple[list[Setting], dict[str, Json]]:
    """Return the changes of the scenario's own keys, and all others."""
    own, others = list[Setting](), dict[str, Json]()
    said: dict[Hashable, str] = {}
    for key, value in changes.items():
        words = str(key).split(".")
        named = words[0] == SCENARIO and len(words) > 1
        if (named or words[0] in _KEYS) and all(words):
            own.append(Setting(tuple(words[named:]), value))
            check_once(said, own[-1].meaning, key)
        else:
            others[key] = value
    return own, others


def changed_scenario(file: ScenarioFile, settings: Sequence[Setting], folder: Path, where: str) -> ScenarioFile:
    """Return a scenario with other values of some keys; ``folder``: where paths among these begin.

    Raises InputError, which begins with ``where`` for a key that cannot be reached.
    """
    data: dict[str, Json] = dict(file.document.data) if isinstance(file.document.data, Mapping) else {}
    with located(where):
        if isinstance(data.get(_ARRIVALS), str):  # a table alone; so that another of its keys may be changed
            data[_ARRIVALS] = {"file": data[_ARRIVALS]}
        placed = [setting._replace(value=_placed(setting, folder)) for setting in settings]
        data, _ = changed(data, data, placed, folder)
    document = Document(file.document.source, data, file.document.lines)
    return replace(file, config=validated(ScenarioConfig, document), document=document)


def _placed(setting: Setting, folder: Path) -> Json:
    """Return a value; paths of files as seen from anywhere."""
    name, value = setting.keys[-1].replace("-", "_"), setting.value
    if name == _ARRIVALS:
        keys = {"file": value} if isinstance(value, str) else value
        if not isinstance(keys, Mapping):
            return value
        return {key: _beside(each, folder) if key in _FILES_OF_ARRIVALS else each for key, each in keys.items()}
    of_arrivals = _ARRIVALS in setting.keys and name in _FILES_OF_ARRIVALS
    return _beside(value, folder) if of_arrivals or name in _FILES else value


def _beside(value: Json, folder: Path) -> Json:
    return os.path.normpath(Path.cwd() / folder / value) if isinstance(value, str) else value
