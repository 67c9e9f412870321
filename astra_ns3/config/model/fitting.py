"""Whether a file is a model file, told without reading it as one."""

from __future__ import annotations

import re
from pathlib import Path

from astra_ns3.config.core.reading import read_text

_KEYS = re.compile(r"^(?:[ \t{]*\")?(kind|model)\"?[ \t]*:", re.MULTILINE)
# ``kind`` as the first key, behind comments and empty lines.
_BEGINNING = re.compile(r"\ufeff?(?:[ \t]*(?:#[^\n]*|---[^\n]*)?\n)*[ \t]*\{?\s*\"?kind\"?[ \t]*:")
_SUFFIXES = (".yaml", ".yml", ".json")


def fits_model(path: Path) -> bool:
    """Whether a file is, or is meant as, a model file: YAML that begins with ``kind``, or has it and ``model``."""
    if path.suffix.lower() not in _SUFFIXES or not path.is_file():
        return False
    text = read_text(path)
    return _BEGINNING.match(text) is not None or {"kind", "model"} <= set(_KEYS.findall(text))
