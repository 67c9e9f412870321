"""Which algorithm can do which collective, by the names of ASTRA-sim's system files.

``ring``, ``direct`` (or ``directN`` with a window of N messages), ``doubleBinaryTree``, ``halvingDoubling``. The
``one...`` spellings (``oneRing``) mean one flat group of all NPUs, which is the same thing on one dimension.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from astra_ns3.collectives.direct import direct_all_gather, direct_all_reduce, direct_all_to_all, direct_reduce_scatter
from astra_ns3.collectives.double_binary_tree import max_tree_all_reduce, min_tree_all_reduce
from astra_ns3.collectives.halving_doubling import (
    halving_doubling_all_gather,
    halving_doubling_all_reduce,
    halving_doubling_reduce_scatter,
)
from astra_ns3.collectives.ring import ring_all_gather, ring_all_reduce, ring_all_to_all, ring_reduce_scatter
from astra_ns3.collectives.schedule import Schedule
from astra_ns3.config.collective_kind import CollectiveKind
from astra_ns3.errors import InputError, nearest

Builder = Callable[..., Schedule]


@dataclass(frozen=True)
class Algorithm:
    """``builders``: for each collective the variants, between which chunks take turns, of ``ranks -> Schedule``."""

    builders: Mapping[CollectiveKind, tuple[Builder, ...]]
    takes_window: bool = False
    needs_power_of_two: bool = False


ALGORITHMS: Mapping[str, Algorithm] = {
    "ring": Algorithm(
        {
            CollectiveKind.ALL_REDUCE: (ring_all_reduce,),
            CollectiveKind.REDUCE_SCATTER: (ring_reduce_scatter,),
            CollectiveKind.ALL_GATHER: (ring_all_gather,),
            CollectiveKind.ALL_TO_ALL: (ring_all_to_all,),
        }
    ),
    "direct": Algorithm(
        {
            CollectiveKind.ALL_REDUCE: (direct_all_reduce,),
            CollectiveKind.REDUCE_SCATTER: (direct_reduce_scatter,),
            CollectiveKind.ALL_GATHER: (direct_all_gather,),
            CollectiveKind.ALL_TO_ALL: (direct_all_to_all,),
        },
        takes_window=True,
    ),
    "doubleBinaryTree": Algorithm({CollectiveKind.ALL_REDUCE: (max_tree_all_reduce, min_tree_all_reduce)}),
    "halvingDoubling": Algorithm(
        {
            CollectiveKind.ALL_REDUCE: (halving_doubling_all_reduce,),
            CollectiveKind.REDUCE_SCATTER: (halving_doubling_reduce_scatter,),
            CollectiveKind.ALL_GATHER: (halving_doubling_all_gather,),
        },
        needs_power_of_two=True,
    ),
}


@lru_cache(maxsize=64)
def lookup(kind: CollectiveKind, algorithm: str, ranks: int, variant: int = 0) -> Schedule:
    """The schedule of a collective; ``variant`` is a chunk's number, any non-negative integer.

    Raises :class:`~astra_ns3.errors.InputError` for an unknown algorithm and for what an algorithm can't do.
    """
    entry, builders, window = _find(kind, algorithm)
    if ranks < 1:
        raise InputError(f"{algorithm}: a collective needs at least 1 rank, got {ranks}")
    if entry.needs_power_of_two and ranks & (ranks - 1):
        raise InputError(
            f"{algorithm}: the number of ranks must be a power of two, got {ranks}; use 'ring' or 'direct'"
        )
    if window is not None and ranks > 1 and not 1 <= window <= ranks - 1:
        raise InputError(f"{algorithm}: the window must be 1 to {ranks - 1} messages for {ranks} ranks, got {window}")
    builder = builders[variant % len(builders)]
    return builder(ranks) if window is None else builder(ranks, window)


def variants(kind: CollectiveKind, algorithm: str) -> int:
    """Between how many schedules the chunks of a collective take turns."""
    return len(_find(kind, algorithm)[1])


def _find(kind: CollectiveKind, algorithm: str) -> tuple[Algorithm, tuple[Builder, ...], int | None]:
    name, window = _parse(algorithm)
    entry = ALGORITHMS.get(name)
    if entry is None or (window is not None and not entry.takes_window):
        allowed = sorted(ALGORITHMS)
        raise InputError(
            f"{kind.name.lower()}: algorithm '{algorithm}' is not one of {', '.join(allowed)} (directN: a window of N)"
            f"{nearest(name, allowed)}"
        )
    builders = entry.builders.get(kind)
    if builders is None:
        able = sorted(other for other, candidate in ALGORITHMS.items() if kind in candidate.builders)
        raise InputError(f"{kind.name.lower()}: algorithm '{algorithm}' can't do it; those that can: {', '.join(able)}")
    return entry, builders, window


def _parse(algorithm: str) -> tuple[str, int | None]:
    match = re.fullmatch(r"(?:one(?=[A-Z]))?([A-Za-z]+)(\d+)?", algorithm)
    if match is None:
        return algorithm, None
    name, digits = match.groups()
    return name[0].lower() + name[1:], None if digits is None else int(digits)
