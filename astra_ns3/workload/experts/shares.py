"""From shares to whole numbers of tokens."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from astra_ns3.errors import refuse

Shares = npt.NDArray[np.float64]
Counts = npt.NDArray[np.int64]

_ALMOST = 1e-9


def zipf_shares(experts: int, exponent: float, seed: int, layer: int) -> Shares:
    """Shares of experts that sum to 1: the k-th most popular has one in proportion to k to the power ``-exponent``.

    Which expert is the k-th is drawn for each layer. Source: G. K. Zipf, "Human Behavior and the Principle of Least
    Effort", 1949.
    """
    shares = np.arange(1, experts + 1, dtype=np.float64) ** -exponent
    order = np.random.default_rng((seed, layer)).permutation(experts)
    placed = np.empty(experts)
    placed[order] = shares / shares.sum()
    return placed


def chosen(shares: Shares, active: int) -> Shares:
    """The part of all tokens that chooses each expert, when each chooses ``active`` different ones.

    In proportion to the shares, but nowhere above 1: what is above it goes to the others, in proportion, as inclusion
    probabilities of sampling in proportion to size are made. Raises InputError if fewer experts have a share.
    """
    able = int(np.count_nonzero(shares))
    refuse(able < active, f"{able} experts get tokens, and each token goes to {active} different ones")
    parts = np.zeros_like(shares)
    full = np.zeros(len(shares), dtype=np.bool_)
    while True:
        left = active - int(full.sum())
        rest = np.where(full, 0.0, shares)
        parts = np.where(full, 1.0, rest * (left / rest.sum() if left else 0.0))
        above = ~full & (parts > 1 + _ALMOST)
        if not above.any():
            return np.minimum(parts, 1.0)
        full |= above


def whole(parts: Shares, tokens: int, total: int, first: int = 0) -> Counts:
    """``parts`` of ``tokens`` as whole numbers that sum to ``total``, none above ``tokens``.

    Rounded down, and the largest remainders up (Hamilton's method); of equal ones those from number ``first`` on.
    """
    exact = parts * tokens
    counts = np.minimum(np.floor(exact + _ALMOST * tokens), tokens).astype(np.int64)
    turned = (np.arange(len(parts)) - first) % len(parts)
    remainders = np.round(exact - counts, 6)
    order = np.lexsort((turned, -remainders))
    able = order[counts[order] < tokens]
    counts[able[: total - int(counts.sum())]] += 1
    return counts
