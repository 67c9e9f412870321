"""The work that is ready while a schedule or a program is played for its proof, and the order in which it is done.

Items are numbers; taking one costs no more than the logarithm of how many there are.
"""

from __future__ import annotations

import heapq
import random
from collections.abc import Callable
from typing import Protocol


class Agenda(Protocol):
    """Numbers to be taken out again, in an order of its own."""

    def add(self, item: int) -> None:
        """Put ``item`` in."""

    def take(self) -> int:
        """Take the next one out."""

    def __len__(self) -> int:
        """Number of rows in it."""


class LowestFirst:
    """The lowest number is next."""

    def __init__(self) -> None:
        self._heap: list[int] = []

    def add(self, item: int) -> None:
        """Put ``item`` in."""
        heapq.heappush(self._heap, item)

    def take(self) -> int:
        """Take the lowest out."""
        return heapq.heappop(self._heap)

    def __len__(self) -> int:
        return len(self._heap)


class HighestFirst:
    """The highest number is next."""

    def __init__(self) -> None:
        self._lowest_first = LowestFirst()

    def add(self, item: int) -> None:
        """Put ``item`` in."""
        self._lowest_first.add(-item)

    def take(self) -> int:
        """Take the highest out."""
        return -self._lowest_first.take()

    def __len__(self) -> int:
        return len(self._lowest_first)


class Shuffled:
    """Every number may be next."""

    def __init__(self, generator: random.Random) -> None:
        self._generator = generator
        self._items: list[int] = []

    def add(self, item: int) -> None:
        """Put ``item`` in."""
        self._items.append(item)

    def take(self) -> int:
        """Take any out."""
        place = self._generator.randrange(len(self._items))
        self._items[place], self._items[-1] = self._items[-1], self._items[place]
        return self._items.pop()

    def __len__(self) -> int:
        return len(self._items)


def orders(shuffles: int, seed: int) -> list[Callable[[], Agenda]]:
    """Makers of agendas: lowest first, highest first, and ``shuffles`` random ones."""
    generator = random.Random(seed)
    return [LowestFirst, HighestFirst, *[lambda: Shuffled(generator)] * shuffles]
