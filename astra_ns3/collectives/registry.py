"""The schedule of a collective by the names of ASTRA-sim's system files, and what can be asked for.

``ring``, ``biRing``, ``direct`` (or ``directN`` with a window of N messages), ``doubleBinaryTree``, ... as in
:data:`~astra_ns3.collectives.algorithms.ALGORITHMS`. The ``one...`` spellings (``oneRing``) mean one flat group of all
NPUs, which is the same schedule over more ranks. ``file:PATH`` is a schedule that the user wrote, ``FILE.py:name`` a
function that gives one for any number of ranks.
"""

from __future__ import annotations

import re
from functools import lru_cache

from astra_ns3.collectives.algorithms import ALGORITHMS, Algorithm, Builder
from astra_ns3.collectives.own_algorithms import own_schedule
from astra_ns3.collectives.schedule import Schedule
from astra_ns3.collectives.schedule_files import Tell, load_schedule_cached, silent
from astra_ns3.config.algorithm_names import FILE_PREFIX
from astra_ns3.config.collective_kind import CollectiveKind
from astra_ns3.errors import InputError, nearest
from astra_ns3.user_code import FORM, user_part

_TREE = "doubleBinaryTree"
# What a tree stands in for in ASTRA-sim 1.0, which runs an all-reduce on it whatever is asked.
_TREE_STANDS_IN_FOR = (CollectiveKind.REDUCE_SCATTER, CollectiveKind.ALL_GATHER, CollectiveKind.ALL_TO_ALL)


def lookup(
    kind: CollectiveKind,
    algorithm: str,
    ranks: int,
    variant: int = 0,
    *,
    anticlockwise: bool = False,
    tree_for_every_collective: bool = False,
    tell: Tell = silent,
) -> Schedule:
    """The schedule of a collective; ``variant`` is a chunk's number, any non-negative integer.

    With ``anticlockwise`` one-way rings run the other way, and nothing else changes. With
    ``tree_for_every_collective`` a tree asked for a reduce-scatter, an all-gather or an all-to-all gives an all-reduce,
    as in ASTRA-sim 1.0 (semantics.md 4). ``tell`` hears of the proof of a user's file. Raises
    :class:`~astra_ns3.errors.InputError` for an unknown algorithm and for what an algorithm can't do.
    """
    if ranks < 1:
        raise InputError(f"{algorithm}: a collective needs at least 1 rank, got {ranks}")
    own = user_part(algorithm)
    if own is not None:
        return own_schedule(own, kind, ranks)
    if algorithm.startswith(FILE_PREFIX):
        return _from_file(kind, algorithm.removeprefix(FILE_PREFIX), ranks, tell)
    kind = played_kind(kind, algorithm, tree_for_every_collective=tree_for_every_collective)
    turn = variant % variants(kind, algorithm)
    return _build(kind, algorithm, ranks, turn, anticlockwise)


def variants(kind: CollectiveKind, algorithm: str, *, tree_for_every_collective: bool = False) -> int:
    """Between how many schedules the chunks of a collective take turns."""
    if algorithm.startswith(FILE_PREFIX) or user_part(algorithm) is not None:
        return 1
    kind = played_kind(kind, algorithm, tree_for_every_collective=tree_for_every_collective)
    return len(_find(kind, algorithm)[1])


def played_kind(kind: CollectiveKind, algorithm: str, *, tree_for_every_collective: bool = False) -> CollectiveKind:
    """The collective that is really run: an all-reduce where a tree stands in for another one, else ``kind``."""
    if tree_for_every_collective and kind in _TREE_STANDS_IN_FOR and _parse(algorithm)[0] == _TREE:
        return CollectiveKind.ALL_REDUCE
    return kind


def pairs() -> list[tuple[CollectiveKind, str]]:
    """Every collective with each algorithm that can do it, in the order of the enumeration and of the registry."""
    return [(kind, name) for kind in CollectiveKind for name, entry in ALGORITHMS.items() if kind in entry.builders]


@lru_cache(maxsize=64)
def _build(kind: CollectiveKind, algorithm: str, ranks: int, turn: int, anticlockwise: bool) -> Schedule:
    entry, builders, window = _find(kind, algorithm)
    if anticlockwise and entry.anticlockwise:
        builders = ALGORITHMS[entry.anticlockwise].builders[kind]
    if entry.needs_power_of_two and ranks & (ranks - 1):
        others = [name for able, name in pairs() if able is kind and not ALGORITHMS[name].needs_power_of_two]
        raise InputError(
            f"{algorithm}: the number of ranks must be a power of two, got {ranks}; for any number: {', '.join(others)}"
        )
    if window is not None and ranks > 1 and not 1 <= window <= ranks - 1:
        raise InputError(f"{algorithm}: the window must be 1 to {ranks - 1} messages for {ranks} ranks, got {window}")
    builder = builders[turn]
    return builder(ranks) if window is None else builder(ranks, window)


def _from_file(kind: CollectiveKind, path: str, ranks: int, tell: Tell) -> Schedule:
    schedule, promised = load_schedule_cached(path, tell)
    if promised is not kind:
        raise InputError(f"{path}: is a schedule for {promised.name.lower()}, not for {kind.name.lower()}")
    if schedule.ranks != ranks:
        raise InputError(f"{path}: is a schedule for {schedule.ranks} ranks, and is asked to run on {ranks}")
    return schedule


def _find(kind: CollectiveKind, algorithm: str) -> tuple[Algorithm, tuple[Builder, ...], int | None]:
    name, window = _parse(algorithm)
    entry = ALGORITHMS.get(name)
    if entry is None or (window is not None and not entry.windowed):
        allowed = sorted(ALGORITHMS)
        raise InputError(
            f"{kind.name.lower()}: algorithm '{algorithm}' is not one of {', '.join(allowed)} "
            f"(directN: a window of N; file:PATH, {FORM}: your own){nearest(name, allowed)}"
        )
    builders = entry.builders.get(kind)
    if builders is None:
        able = sorted(other for other, candidate in ALGORITHMS.items() if kind in candidate.builders)
        raise InputError(f"{kind.name.lower()}: algorithm '{algorithm}' can't do it; those that can: {', '.join(able)}")
    if window is not None and kind not in entry.windowed:
        raise InputError(f"{algorithm}: {kind.name.lower()} has no answers to fill a window with; use '{name}'")
    return entry, builders, window


def _parse(algorithm: str) -> tuple[str, int | None]:
    match = re.fullmatch(r"(?:one(?=[A-Z]))?([A-Za-z]+)(\d{1,9})?", algorithm)
    if match is None:
        return algorithm, None
    name, digits = match.groups()
    return name[0].lower() + name[1:], None if digits is None else int(digits)
