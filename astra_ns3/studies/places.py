"""Paths in what a study writes, as seen from the study's folder: its files are equal wherever that folder lies."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

_UP = "../"
Places = tuple[tuple[str, str], ...]
"""How paths begin, as they were read, and as seen from the study's folder; the longest first."""


def places_of(folder: Path, document: object) -> Places:
    """Return how paths of a study's files begin; ``document``: what the study says, whose paths may lead upwards."""
    found: dict[str, str] = {}
    above = folder.absolute()
    for level in range(max(_levels(document), default=0) + 1):
        if above == above.parent:
            break
        for name in (os.path.normpath(above), os.path.relpath(above)):
            if not name.startswith("."):
                found[f"{name}/"] = _UP * level
        above = Path(os.path.normpath(above)).parent
    return tuple(sorted(found.items(), key=lambda place: -len(place[0])))


def _levels(value: object) -> Iterator[int]:
    if isinstance(value, Mapping):
        for each in value.values():
            yield from _levels(each)
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from _levels(each)
    elif isinstance(value, str):
        yield len(re.match(r"(\.\./)*", value)[0]) // len(_UP)  # type: ignore[index]  # it matches nothing, too


def from_the_study(value: Any, places: Places) -> Any:  # plain data, of the kind of value
    """Return plain data with all paths as seen from the study's folder, those within words too."""
    if isinstance(value, Mapping):
        return {key: from_the_study(each, places) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [from_the_study(each, places) for each in value]
    if isinstance(value, str):
        for begin, seen in places:
            value = re.sub(rf"(?<![\w./-]){re.escape(begin)}", seen, value)
    return value
