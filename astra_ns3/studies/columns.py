"""Names of the columns of axes: as ``names`` says, or the last words of an axis' key, as many as tell keys apart."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
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
    """Return the short names of keys of files, with as many words before them as no other key or column has."""
    every = list(keys)
    taken = {*given, *RESERVED, *MEASURES}
    return {
        key: next((name for name in _ends(key) if name not in taken and not _is_end(name, every, key)), key)
        for key in every
    }


def _ends(key: str) -> Iterator[str]:
    """Yield the short name of a key, and then each longer end of the key."""
    words = key.split(".")
    least = short_key(key).count(".") + 1
    yield from (".".join(words[-count:]) for count in range(least, len(words) + 1))


def _is_end(name: str, keys: Iterable[str], but: str) -> bool:
    """Return whether another key ends with these words."""
    return any(f".{key}".endswith(f".{name}") for key in keys if key != but)
