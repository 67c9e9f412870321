"""Paths in what a study writes, as seen from the study's folder: its files are equal wherever that folder lies."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

_UP = "../"
_UPWARDS = re.compile(rf"({re.escape(_UP)})+")
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


def document_from_the_study(document: Any, places: Places) -> Any:  # as JSON is read
    """Return a document with all paths in its texts, and in its keys, as seen from the study's folder."""
    if isinstance(document, dict):
        return {from_the_study(key, places): document_from_the_study(each, places) for key, each in document.items()}
    if isinstance(document, list):
        return [document_from_the_study(each, places) for each in document]
    return from_the_study(document, places) if isinstance(document, str) else document
