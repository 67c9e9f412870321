"""How many tokens each expert got, from a CSV: ``expert,tokens``, and optionally ``layer`` and ``source``.

Lines with a ``source``, a place in the group that shares the experts, say what that place's tokens chose; with a
``layer`` what those of that layer did. Experts, places and layers count from 0; experts that don't occur get nothing.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from astra_ns3.config.core.reading import read_text
from astra_ns3.errors import Where, check_known, wrong
from astra_ns3.units import counted
from astra_ns3.workload.experts.shares import Shares

COLUMNS = ("layer", "source", "expert", "tokens")
_NEEDED = ("expert", "tokens")
_MOST_DIGITS = 15


class CountsFile:
    """The content of a file, for so many experts and places; raises InputError with file and line."""

    def __init__(self, path: str, experts: int, places: int) -> None:
        self._path = path
        self._experts, self._places = experts, places
        self._tokens: dict[tuple[int, int], Shares] = {}
        self._has: set[str] = set()
        for number, cells in self._lines():
            self._add(number, cells)
        self._tokens = {key: found.clip(min=0) for key, found in self._tokens.items()}

    def shares(self, layer: int, place: int) -> Shares:
        """The share of each expert; all together are 1."""
        key = layer if "layer" in self._has else -1, place if "source" in self._has else -1
        found = self._tokens.get(key)
        if found is None or not found.any():
            words = [f"{name} {part}" for name, part in zip(("layer", "source"), key, strict=True) if part >= 0]
            raise wrong(f"no tokens of {' and '.join(words) or 'any expert'}", self._path)
        shares: Shares = found / found.sum()
        return shares

    def _lines(self) -> Iterator[tuple[int, dict[str, str]]]:
        text = read_text(Path(self._path)).splitlines()
        lines = ((number, line) for number, line in enumerate(text, 1) if line.strip() and not line.startswith("#"))
        number, header = next(lines, (1, ""))
        names = [name.strip().lower() for name in header.split(",")]
        self._check_header(number, names)
        for number, line in lines:
            cells = [cell.strip() for cell in next(csv.reader([line]))]
            if len(cells) != len(names):
                raise wrong(
                    f"found {counted(len(cells), 'column')}, expected {', '.join(names)}", Where(self._path, number)
                )
            yield number, dict(zip(names, cells, strict=True))

    def _check_header(self, number: int, names: list[str]) -> None:
        for name in names:
            check_known("column", name, COLUMNS, Where(self._path, number))
        missing = [name for name in _NEEDED if name not in names]
        if missing or len(set(names)) < len(names):
            what = f"lacks {', '.join(missing)}" if missing else "names a column twice"
            raise wrong(f"the header {what}; columns: {', '.join(COLUMNS)}", Where(self._path, number))
        self._has = set(names)

    def _add(self, number: int, cells: dict[str, str]) -> None:
        expert = self._whole(number, "expert", cells["expert"], self._experts)
        tokens = self._whole(number, "tokens", cells["tokens"], None)
        layer = self._whole(number, "layer", cells["layer"], None) if "layer" in cells else -1
        place = self._whole(number, "source", cells["source"], self._places) if "source" in cells else -1
        known = self._tokens.setdefault((layer, place), np.full(self._experts, -1.0))
        if known[expert] >= 0:
            raise wrong(f"expert {expert} has been given before", Where(self._path, number))
        known[expert] = tokens

    def _whole(self, number: int, what: str, word: str, below: int | None) -> int:
        if word.isascii() and word.isdigit() and len(word) <= _MOST_DIGITS and (below is None or int(word) < below):
            return int(word)
        most = "0" if below is None else f"0 to {below - 1}"
        raise wrong(
            f"{what} is '{word}', expected a whole number from {most}{' on' if below is None else ''}",
            Where(self._path, number),
        )
