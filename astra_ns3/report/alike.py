"""Layers that are alike, such as a model's blocks: one line tells of all. Their names differ in numbers alone."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Sequence
from itertools import chain, zip_longest
from typing import TypeVar

Row = TypeVar("Row")
_NUMBER = re.compile(r"\d+")
# Layers that took less than a half of the longest one's time stay apart: a single slow layer must be seen.
_MOST_TIMES = 2
_FEW = 2


def unnumbered(name: str) -> str:
    """Return a layer's name without its numbers, which all layers that are alike share."""
    return _NUMBER.sub("#", name)


def name_of_all(names: Sequence[str]) -> str:
    """Return one name for layers that are alike, such as ``layer 1-80``."""
    numbers = zip(*(map(int, _NUMBER.findall(name)) for name in names), strict=True)
    words = [_in_words(sorted(set(each))) for each in numbers] if len(set(names)) > 1 else _NUMBER.findall(names[0])
    return "".join(chain.from_iterable(zip_longest(_NUMBER.split(names[0]), words, fillvalue="")))


def _in_words(numbers: Sequence[int]) -> str:
    """Return one or two numbers, or of more the least and the largest."""
    return ", ".join(map(str, numbers)) if len(numbers) <= _FEW else f"{numbers[0]}-{numbers[-1]}"


def together(rows: Iterable[Row], key: Callable[[Row], Hashable], size: Callable[[Row], float]) -> list[list[Row]]:
    """Return groups of rows that have the same key and about the same size; the group with the largest sum first."""
    groups: dict[Hashable, list[list[Row]]] = {}
    for row in sorted(rows, key=size, reverse=True):
        same = groups.setdefault(key(row), [])
        if not same or _MOST_TIMES * size(row) < size(same[-1][0]):
            same.append([])
        same[-1].append(row)
    return sorted(chain.from_iterable(groups.values()), key=lambda group: -sum(map(size, group)))
