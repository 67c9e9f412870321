"""Keys of a run that a study may change: its options by name, and any key of its three files, dotted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from astra_ns3.config.core.plain import Json
from astra_ns3.config.model.file import KINDS
from astra_ns3.config.network.packet_network import NetworkConfig
from astra_ns3.config.system import SystemConfig
from astra_ns3.errors import nearest, wrong
from astra_ns3.experiments.changes.files import FILES, file_of
from astra_ns3.experiments.option import options_of
from astra_ns3.experiments.request import RunRequest

# Options of a run that a point doesn't have, and what to do instead.
_NOT_OF_A_STUDY: Mapping[str, str] = {
    "seed": "use 'seeds' of the study or of a part",
    "limits": "use 'limits' of the study",
    "output": "a study has one folder for all, named when it is started",
    "overwrite": "finished points are never run again",
    "progress": "a study has its own",
    "live": "a study has its own",
    "changes": "name the keys of the files themselves, as network.topology.npus",
    "isolated": "every point has a process of its own",
}
_ALL = tuple(one.name for one in options_of(RunRequest))
SCENARIO = "scenario"
"""The option that names a scenario's file, whose keys a study may change, too."""
FILES_OF_POINTS = (*FILES, SCENARIO)
OPTIONS = (*(name for name in _ALL if name not in _NOT_OF_A_STUDY), SCENARIO)
"""The options that a study may change, the files first."""
FILE_OPTIONS = tuple(one.name for one in options_of(RunRequest) if "PathLike" in one.annotation and one.name in OPTIONS)
"""Keys that name one more file."""
_FLAGS = {
    flag.names.split()[-1].lstrip("-").replace("-", "_"): one.name
    for one in options_of(RunRequest)
    for flag in one.flags
}


def option_named(key: str) -> str | None:
    """The option that a key names by its Python name or by its flag, ``-`` and ``_`` alike; None if none."""
    plain = key.replace("-", "_")
    return plain if plain in OPTIONS else _FLAGS.get(plain) if _FLAGS.get(plain) in OPTIONS else None


def check_changes(changes: Iterable[str], refused: Mapping[str, str]) -> None:
    """Raise InputError for a key that names an option of ``refused``, with what is said there."""
    for key in changes:
        name = option_named(key)
        if name is not None and name in refused:
            raise wrong(f"key '{key}': {refused[name]}")


def is_key(key: str) -> bool:
    """Whether a study can change what the key names."""
    return file_of(key, FILES_OF_POINTS) is not None or option_named(key) is not None


def lacks_key(axis: str, values: object) -> bool:
    """Whether an axis has plain values, which are of a key, and isn't called as one."""
    if isinstance(values, Mapping) or is_key(axis) or not isinstance(values, Iterable):
        return False
    return not all(isinstance(each, Mapping) and each for each in values)


def why_no_key(key: str) -> str:
    """Why a study can't change what the key names: a message."""
    plain = key.replace("-", "_")
    for word in (plain, _FLAGS.get(plain, "")):
        if word in _NOT_OF_A_STUDY:
            return f"a study can't set this option; {_NOT_OF_A_STUDY[word]}"
    first, dot, rest = key.partition(".")
    if first in FILES_OF_POINTS and dot:
        return f"has nothing {'between two dots' if rest.strip('.') else 'behind its dot'}, expected names"
    if dot:
        meant, files = _meant(key) or nearest(first, FILES_OF_POINTS), ", ".join(f"{file}." for file in FILES_OF_POINTS)
        return f"is no key of a file: expected one that begins with {files}{meant}"
    return (
        f"is no option of a run, expected one of {', '.join(OPTIONS)}, or a key of a file, as network.topology.npus"
        f"{nearest(key, (*OPTIONS, *FILES))}"
    )


def _meant(key: str) -> str:
    """Return the key of a file that a key is meant to be: behind another word for the file, or without one."""
    for rest in (key.partition(".")[2], key):
        for file, models in (("workload", KINDS.values()), ("system", (SystemConfig,)), ("network", (NetworkConfig,))):
            names = {field.alias or name for model in models for name, field in model.model_fields.items()}
            if rest.partition(".")[0].replace("-", "_") in names:
                return f"; did you mean '{file}.{rest}'?"
    return ""


def as_text(value: Json) -> str:
    """A value as a label: as one writes it in a study."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, (list, tuple)):
        return ", ".join(as_text(each) for each in value)
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {as_text(each)}" for key, each in value.items())
    return f"{value:g}" if isinstance(value, float) else str(value)
