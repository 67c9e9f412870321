"""Best splits of money over dimensions, by hand: what each dimension carries, and the closed forms that follow.

A hierarchical all-reduce of S bytes over dimensions of n1, n2, ... NPUs scatters, reduces and gathers: dimension i
carries 2 (ni - 1) / ni of S / (n1 ... n(i-1)). Bytes b on a line of rate r, at a price p of a unit of rate:

* one after the other, sum b / r is least for a given sum p r where r goes as sqrt(b / p) (Cauchy and Schwarz), and is
  (sum sqrt(b p))^2 over that money;
* side by side, max b / r is least where all b / r are equal, and is sum b p over that money.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt


def carried_bytes(sizes: Sequence[int], size_bytes: float) -> list[float]:
    """Return what an NPU sends in each dimension, the innermost first."""
    found = []
    for size in sizes:
        found.append(2 * (size - 1) / size * size_bytes)
        size_bytes /= size
    return found


def one_chunk_rates(carried: Sequence[float], prices: Sequence[float], money: float) -> list[float]:
    """Return the best rates where dimensions work one after the other."""
    weights = [sqrt(each / price) for each, price in zip(carried, prices, strict=True)]
    scale = money / sum(weight * price for weight, price in zip(weights, prices, strict=True))
    return [weight * scale for weight in weights]


def pipelined_rates(carried: Sequence[float], prices: Sequence[float], money: float) -> list[float]:
    """Return the best rates where all dimensions work at once."""
    scale = money / sum(each * price for each, price in zip(carried, prices, strict=True))
    return [each * scale for each in carried]


def best_money(computed_seconds: float, money_seconds: float, fixed: float) -> float:
    """Return the money for bandwidth of the best performance per cost, where messages follow computations.

    Time is T + K / c for money c besides ``fixed`` F. (F + c) (T + K / c) is least at c = sqrt(F K / T).
    """
    return sqrt(fixed * money_seconds / computed_seconds)
