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
# Fewer layers than this have a line each.
_LEAST = 4


def unnumbered(name: str) -> str:
    """Return a layer's name without its numbers, which all layers that are alike share."""
    return _NUMBER.sub("#", name)


def name_of_all(names: Sequence[str]) -> str:
    """Return one name for layers that are alike, such as ``layer 1-80``."""
    numbers = zip(*(_NUMBER.findall(name) for name in names), strict=True)
    ends = [(min(each, key=int), max(each, key=int)) for each in numbers]
    words = [least if least == most else f"{least}-{most}" for least, most in ends]
    return "".join(chain.from_iterable(zip_longest(_NUMBER.split(names[0]), words, fillvalue="")))


def together(rows: Iterable[Row], key: Callable[[Row], Hashable], size: Callable[[Row], float]) -> list[list[Row]]:
    """Return groups of rows with one key and about one size, few such rows apart; the largest sum first."""
    groups: dict[Hashable, list[list[Row]]] = {}
    for row in sorted(rows, key=size, reverse=True):
        same = groups.setdefault(key(row), [])
        if not same or _MOST_TIMES * size(row) < size(same[-1][0]):
            same.append([])
        same[-1].append(row)
    every = chain.from_iterable(groups.values())
    found = chain.from_iterable([group] if len(group) >= _LEAST else [[row] for row in group] for group in every)
    return sorted(found, key=lambda group: -sum(map(size, group)))
