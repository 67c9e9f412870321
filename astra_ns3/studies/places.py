"""Paths in what a study writes, as seen from the study's folder: its files are equal wherever that folder lies."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

_UP = "../"
_UPWARDS = re.compile(rf"({re.escape(_UP)})+")
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
Places = tuple[tuple[str, str], ...]
"""How paths begin, as they were read, and as seen from the study's folder; the longest first."""


def places_of(folder: Path, said: str) -> Places:
    """Return how paths of a study's files begin; ``said``: what the study says, whose paths may lead upwards."""
    found: dict[str, str] = {}
    above = folder.absolute()
    levels = max((len(match[0]) // len(_UP) for match in _UPWARDS.finditer(said)), default=0)
    for level in range(levels + 1):
        if above == above.parent:
            break
        for name in (os.path.normpath(above), os.path.relpath(above)):
            if not name.startswith("."):
                found[f"{name}/"] = _UP * level
        above = Path(os.path.normpath(above)).parent
    return tuple(sorted(found.items(), key=lambda place: -len(place[0])))


def from_the_study(text: str, places: Places) -> str:
    """Return a text with all paths as seen from the study's folder."""
    for begin, seen in places:
        text = re.sub(rf"(?<![\w./-]){re.escape(begin)}", seen, text)
    return text


def json_from_the_study(text: str, places: Places) -> str:
    """Return JSON with all paths in its strings as seen from the study's folder."""
    return _STRING.sub(lambda found: json.dumps(from_the_study(json.loads(found[0]), places)), text)
