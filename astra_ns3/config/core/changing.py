"""Plain data of a configuration file with other values of some keys.

An entry of a list is named by its number, from 0, or by its name; ``*`` means all.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from astra_ns3.config.core.document import KeyPath
from astra_ns3.config.core.placing import placed
from astra_ns3.config.core.plain import Json
from astra_ns3.config.core.yaml_document import parse_yaml
from astra_ns3.errors import InputError, nearest, refuse, wrong

EVERY = "*"
"""Instead of a layer, or of another entry of a list: all of them."""
_LONGEST_SHOWN = 40
_Group = dict[str, Json] | list[Json]


class Setting(NamedTuple):
    """A value for what ``keys`` lead to from the top of a file; ``line`` of the file that says so, 0: unknown."""

    keys: tuple[str, ...]
    value: Json
    line: int = 0

    @property
    def meaning(self) -> str:
        """Return the key, in one spelling."""
        return ".".join(self.keys).replace("-", "_")


def settings_of(texts: Iterable[str], option: str = "--set") -> dict[str, Json]:
    """Return the values, as YAML reads them, of words ``KEY=VALUE`` of an option, by key.

    Raises InputError if one has another form, or a key stands twice.
    """
    found: dict[str, Json] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals or not key.strip():
            shown = text[:_LONGEST_SHOWN]
            raise wrong(f"{option} is '{shown}', expected KEY=VALUE, such as network.topology.link.rate=400Gbps")
        key = key.strip()
        refuse(
            key.replace("-", "_") in {known.replace("-", "_") for known in found},
            f"{option} {key}: the key is given twice",
        )
        document = parse_yaml(f"{json.dumps(key)}: {value}", f"{option} {key}").data
        if not isinstance(document, dict) or set(document) != {key}:
            raise wrong(f"{option} {key}: found more than one value")
        found[key] = document[key]
    return found


def setting_text(key: str, value: Json) -> str:
    """Return the words ``KEY=VALUE`` that :func:`settings_of` reads as this value."""
    plain = f"{key}={value}"
    with suppress(InputError):
        if isinstance(value, str) and settings_of([plain]) == {key: value}:
            return plain
    return f"{key}={json.dumps(value)}"


def changed(
    given: Mapping[str, Json], full: dict[str, Json], settings: Iterable[Setting], folder: Path
) -> tuple[dict[str, Json], dict[KeyPath, int]]:
    """Return ``given`` with other values of some keys, and on which line each changed key stands.

    ``full``: the same with all defaults, for the names and kinds of groups that ``given`` leaves out. ``folder``: where
    paths begin. Short keys are changed first, so a group may be replaced and then changed. Raises InputError.
    """
    data: dict[str, Json] = copy.deepcopy(dict(given))
    lines: dict[KeyPath, int] = {}
    for setting in sorted(settings, key=lambda setting: (len(setting.keys), setting.meaning)):
        for path in _set(data, full, list(setting.keys), (), setting.value, folder):
            lines[path] = setting.line
    return data, lines


@contextmanager
def telling_kinds(given: Mapping[str, Json], settings: Iterable[Setting]) -> Iterator[None]:
    """Say what to do if a group of another kind can't be read because of keys that ``given`` has for the kind before.

    Raises InputError.
    """
    try:
        yield
    except InputError as error:
        for setting in settings:
            *path, last = setting.keys
            group, dotted = _below(given, path), ".".join(path)
            if last != "kind" or not isinstance(group, Mapping):
                continue
            kept = [f"{dotted}.{name}" for name in group if name != last and f"'{dotted}.{name}'" in str(error)]
            if kept:
                before = f"kind {group[last]}" if last in group else "another kind"
                whole = f"change all of '{dotted}', such as {dotted}: {{kind: {setting.value}}}"
                told = f"key '{dotted}.kind': the file has {', '.join(kept)} for {before}; {whole}"
                raise wrong(str(error).partition("key '")[0] + told) from error
        raise


def _below(given: Json | Mapping[str, Json], path: Iterable[str]) -> Json | Mapping[str, Json]:
    """Return what keys lead to; None: there is nothing."""
    for key in path:
        given = given.get(key) if isinstance(given, Mapping) else None
    return given


def _set(data: _Group, full: Json, keys: list[str], path: KeyPath, value: Json, folder: Path) -> list[KeyPath]:
    """Set what ``keys`` lead to from ``data``, which stands at ``path``; the paths that were set."""
    if isinstance(data, list):
        return _set_in_list(data, full, keys, path, value, folder)
    name, rest = _name(keys[0], data, full), keys[1:]
    here = (*path, name)
    if not rest:
        data[name] = placed(value, folder, here)
        return [here]
    below = full.get(name) if isinstance(full, dict) else None
    inner = data.get(name)
    if not isinstance(inner, (dict, list)):
        _check_may_be_a_group(inner, below, here, rest)
        inner = data[name] = _group(inner, below)
    return _set(inner, below, rest, here, value, folder)


def _name(key: str, data: Mapping[str, Json], full: Json) -> str:
    """The key as the file spells it, ``-`` and ``_`` alike."""
    names = (*data, *(full if isinstance(full, dict) else ()))
    plain = key.replace("-", "_")
    return key if key in names else next((name for name in names if name.replace("-", "_") == plain), key)


def _check_may_be_a_group(value: Json, full: Json, path: KeyPath, keys: list[str]) -> None:
    """Raise InputError for keys below a word or a number that stands for no group."""
    plain = isinstance(value, (str, int, float)) and not isinstance(value, bool)
    if plain and not isinstance(full, (dict, list)):
        dotted = ".".join(map(str, path))
        message = f"key '{'.'.join((dotted, *keys))}': '{dotted}' is {value!r}, expected a group of keys"
        raise wrong(message)


def _group(value: Json, full: Json) -> _Group:
    """A group for keys to be set in, where the file has none: of the kind that is in force."""
    if isinstance(full, list):
        return copy.deepcopy(full)
    if isinstance(value, str) and isinstance(full, dict):
        return {"kind": value}
    return {"kind": full["kind"]} if isinstance(full, dict) and "kind" in full else {}


def _set_in_list(
    data: list[Json], full: Json, keys: list[str], path: KeyPath, value: Json, folder: Path
) -> list[KeyPath]:
    indices, rest = _entries(data, keys, path)
    found: list[KeyPath] = []
    for index in indices:
        here = (*path, index)
        if not rest:
            data[index] = placed(value, folder, here)
            found.append(here)
            continue
        below = full[index] if isinstance(full, list) and index < len(full) else None
        inner = data[index]
        if not isinstance(inner, (dict, list)):
            inner = data[index] = _group(inner, below)
        if len(indices) == 1 or _has(inner, rest):
            found += _set(inner, below, rest, here, value, folder)
    return found


def _has(entry: Json, keys: list[str]) -> bool:
    """Whether a size for all layers means this one: only passes with a collective have one."""
    if keys[-1] != "bytes" or len(keys) != 2 or not isinstance(entry, dict):
        return True
    part = entry.get(keys[0])
    return not isinstance(part, dict) or part.get("collective") is not None


def _entries(data: list[Json], keys: list[str], path: KeyPath) -> tuple[list[int], list[str]]:
    """The entries of a list that the first keys name: all, one by its number, or by its name, which may have dots."""
    if keys[0] == EVERY:
        return list(range(len(data))), keys[1:]
    names = [str(entry["name"]) if isinstance(entry, dict) and "name" in entry else "" for entry in data]
    for count in range(len(keys), 0, -1):
        name = ".".join(keys[:count])
        if name in names:
            return [index for index, each in enumerate(names) if each == name], keys[count:]
    if keys[0].isdigit() and int(keys[0]) < len(data):
        return [int(keys[0])], keys[1:]
    known = [name for name in names if name]
    allowed = f"0 to {len(data) - 1}, {EVERY}" + (f", or a name: {', '.join(known[:8])}" if known else "")
    raise wrong(
        f"key '{'.'.join(map(str, path))}': has no entry '{keys[0]}', expected {allowed}{nearest(keys[0], known)}"
    )
