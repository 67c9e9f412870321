"""Names of the columns of axes: as ``names`` says, or by the last words of the key that an axis changes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

from astra_ns3.experiments.changes.files import file_of
from astra_ns3.studies.keys import FILES_OF_POINTS
from astra_ns3.studies.measures import MEASURES

RESERVED = ("part", "seed", "seeds", "status", "address", "error")
"""Names of columns that an axis can't have."""
# Last words of keys that need the one before.
_SAYS_LITTLE = ("kind", "name", "bytes", "*")


class _Part(Protocol):
    @property
    def axes(self) -> Mapping[str, object]: ...

    @property
    def names(self) -> Mapping[str, str]: ...


class _Study(Protocol):
    @property
    def names(self) -> Mapping[str, str]: ...

    @property
    def parts(self) -> Mapping[str, _Part]: ...


def columns_of(study: _Study, part: _Part) -> dict[str, str]:
    """Return the column of each axis of a part, by its key. Two keys of a study never share a short name."""
    names = {**study.names, **part.names}
    every = {key: None for each in study.parts.values() for key in each.axes}
    given = {name for each in study.parts.values() for name in (*study.names.values(), *each.names.values())}
    short = _short_names(every, given)
    return {key: names.get(key, short[key]) for key in part.axes}


def short_key(key: str) -> str:
    """The last word of a key of a file, with the one before where it says little by itself."""
    if file_of(key, FILES_OF_POINTS) is None:
        return key
    words = key.split(".")[1:]
    count = 2 if words[-1] in _SAYS_LITTLE or words[-1].isdigit() else 1
    return ".".join(words[-count:])


def _short_names(keys: Iterable[str], given: set[str]) -> dict[str, str]:
    """Return the short names of keys of files, unless another key or a column has the same; else the key."""
    short = {key: short_key(key) for key in keys}
    every = list(short.values())
    taken = {*given, *RESERVED, *MEASURES}
    return {key: key if every.count(name) > 1 or name in taken else name for key, name in short.items()}
