"""Random numbers of a case, all from its seed."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from typing import Any, TypeVar

T = TypeVar("T")


class Draw(random.Random):
    """``seed`` alone decides what is drawn, in the order in which it is asked for."""

    def pick(self, *options: T) -> T:
        """One of them, all alike."""
        return options[self.randrange(len(options))]

    def chance(self, probability: float) -> bool:
        """Whether something so likely happens."""
        return self.random() < probability

    def weighted(self, weights: Mapping[T, float]) -> T:
        """One of the keys, each as often as its value says."""
        return self.choices(list(weights), list(weights.values()))[0]

    def between(self, lowest: float, highest: float) -> int:
        """A whole number, whose logarithm is even."""
        return round(math.exp(self.uniform(math.log(lowest), math.log(highest))))

    def some(self, probability: float, **keys: Any) -> dict[str, Any]:
        """Each key with that probability."""
        return {key: value for key, value in keys.items() if self.chance(probability)}


def split_of(draw: Draw, number: int, *, several: bool) -> list[int]:
    """``number`` as a product of one to three factors above 1 (1 itself if it is 1), ``several`` if it can be."""
    factors: list[int] = []
    while len(factors) < 2 and ((several and not factors) or draw.chance(0.5)):
        divisors = [each for each in range(2, number // 2 + 1) if number % each == 0]
        if not divisors:
            break
        factors.append(draw.pick(*divisors))
        number //= factors[-1]
    return [*factors, number]
