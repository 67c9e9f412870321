"""The schedule of a collective by the names of ASTRA-sim's system files, and what can be asked for.

``ring``, ``biRing``, ``direct`` (or ``directN`` with a window of N messages), ``doubleBinaryTree``, ... as in
:data:`~astra_ns3.collectives.algorithms.ALGORITHMS`. The ``one...`` spellings (``oneRing``) mean one flat group of all
NPUs, which is the same schedule over more ranks. ``file:PATH`` is a schedule that the user wrote, ``FILE.py:name`` a
function that gives one for any number of ranks.
"""

from __future__ import annotations

from functools import lru_cache, partial

from astra_ns3.collectives.algorithms import ALGORITHMS, Algorithm, Builder
from astra_ns3.collectives.columns import empty
from astra_ns3.collectives.confirmed import confirmed
from astra_ns3.collectives.in_network import IN_NETWORK
from astra_ns3.collectives.schedule import Schedule, Tell, silent
from astra_ns3.config.core.algorithm_names import FILE_PREFIX, parse_name, split_names
from astra_ns3.config.core.collective_kind import ROOTED, CollectiveKind
from astra_ns3.config.core.model import shown
from astra_ns3.errors import nearest, refuse, wrong
from astra_ns3.units import counted
from astra_ns3.user_code import FORM

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
    tell: Tell = silent,
) -> Schedule:
    """The schedule of a collective; ``variant`` is a chunk's number, any non-negative integer.

    With ``anticlockwise`` one-way rings run the other way, and nothing else changes. ``tell`` hears of the proof of a
    user's file. Raises :class:`~astra_ns3.errors.InputError` for an unknown algorithm and for what an algorithm can't
    do.
    """
    refuse(ranks < 1, f"a collective needs at least 1 rank, got {ranks}", algorithm)
    name = parse_name(algorithm)
    if name.own is not None:
        from astra_ns3.collectives.own_algorithms import own_schedule

        return own_schedule(name.own, kind, ranks)
    if name.path is not None:
        return _from_file(kind, name.path, ranks, tell)
    return _build(kind, algorithm, ranks, variant % variants(kind, algorithm), anticlockwise)


def variants(kind: CollectiveKind, algorithm: str) -> int:
    """Between how many schedules the chunks of a collective take turns."""
    base = parse_name(algorithm).base
    return 1 if base is None or base in IN_NETWORK else len(_find(kind, algorithm)[1])


def played_kind(kind: CollectiveKind, algorithm: str, *, tree_for_every_collective: bool) -> CollectiveKind:
    """The collective that is really run: ``kind``, but an all-reduce if a tree is asked for another one and trees are
    for every collective, as in ASTRA-sim 1.0 (semantics.md 4)."""
    if tree_for_every_collective and kind in _TREE_STANDS_IN_FOR and parse_name(algorithm).base == _TREE:
        return CollectiveKind.ALL_REDUCE
    return kind


def algorithm_names(value: object) -> tuple[str, ...]:
    """``ring_direct3`` or a list to one name for each dimension, or ``oneRing`` for all; raises ValueError."""
    given = split_names(value) if isinstance(value, str) else value
    if not isinstance(given, (list, tuple)) or not given:
        raise ValueError(f"found {shown(value)}, expected one algorithm for each dimension, joined by '_'")
    for name in given:
        if not isinstance(name, str) or not _is_known(name):
            names = *ALGORITHMS, *IN_NETWORK
            hint = nearest(str(name), (*names, "oneRing", "oneDirect", "oneHalvingDoubling"))
            allowed = f"{', '.join(names)}, direct<window>, one<Algorithm>, {FILE_PREFIX}PATH, {FORM}"
            raise ValueError(f"found {name!r}, allowed: {allowed}{hint}")
        if parse_name(name).flat and len(given) > 1:
            raise ValueError(f"found {shown(value)}, but {name!r} is for all dimensions and stands alone")
    return tuple(given)


def is_in_network(algorithm: str) -> bool:
    """Whether an algorithm is played by switches that reduce."""
    return parse_name(algorithm).base in IN_NETWORK


def cuts_in_ranks(algorithm: str) -> bool:
    """Whether an algorithm of ours cuts the data into as many parts as there are ranks."""
    entry = ALGORITHMS.get(parse_name(algorithm).base or "")
    return entry is not None and entry.cuts_in_ranks


def pairs() -> list[tuple[CollectiveKind, str]]:
    """Return every collective with each algorithm that can do it, in the order of the enumeration and of the table."""
    return [(kind, name) for kind in CollectiveKind for name, entry in ALGORITHMS.items() if kind in entry.builders]


@lru_cache(maxsize=64)
def _build(kind: CollectiveKind, algorithm: str, ranks: int, turn: int, anticlockwise: bool) -> Schedule:
    entry, builders, window = _find(kind, algorithm)
    if anticlockwise and entry.anticlockwise:
        builders = ALGORITHMS[entry.anticlockwise].builders[kind]
    if entry.needs_power_of_two and ranks & (ranks - 1):
        others = [name for able, name in pairs() if able is kind and not ALGORITHMS[name].needs_power_of_two]
        raise wrong(
            f"the number of ranks must be a power of two, got {ranks}; for any number: {', '.join(others)}", algorithm
        )
    refuse(
        window is not None and ranks > 1 and not 1 <= window <= ranks - 1,
        f"the window must be 1 to {ranks - 1} messages for {ranks} ranks, got {window}",
        algorithm,
    )
    builder = builders[turn] if window is None else partial(builders[turn], window=window)
    if ranks == 1:
        return empty(builder(2).name)
    return confirmed(builder(ranks)) if kind in ROOTED else builder(ranks)


def _from_file(kind: CollectiveKind, path: str, ranks: int, tell: Tell) -> Schedule:
    from astra_ns3.collectives.schedule_files import load_schedule_cached

    schedule, promised = load_schedule_cached(path, tell)
    refuse(promised is not kind, f"is a schedule for {promised.name.lower()}, not for {kind.name.lower()}", path)
    made = counted(schedule.ranks, "rank")
    refuse(schedule.ranks != ranks, f"is a schedule for {made}, and is asked to run on {ranks}", path)
    return schedule


def _find(kind: CollectiveKind, algorithm: str) -> tuple[Algorithm, tuple[Builder, ...], int | None]:
    base, window, *_ = parse_name(algorithm)
    name = str(base)
    if name in IN_NETWORK:
        raise wrong("needs switches that reduce, and is planned for the NPUs of a network", algorithm)
    entry = ALGORITHMS.get(name)
    if entry is None or (window is not None and not entry.windowed):
        allowed = sorted(ALGORITHMS)
        raise wrong(
            f"algorithm '{algorithm}' is not one of {', '.join(allowed)} "
            f"(directN: a window of N; file:PATH, {FORM}: your own){nearest(name, allowed)}",
            kind.name.lower(),
        )
    builders = entry.builders.get(kind)
    if builders is None:
        able = sorted(other for other, candidate in ALGORITHMS.items() if kind in candidate.builders)
        raise wrong(f"algorithm '{algorithm}' can't do it; those that can: {', '.join(able)}", kind.name.lower())
    refuse(
        window is not None and kind not in entry.windowed,
        f"{kind.name.lower()} has no answers to fill a window with; use '{name}'",
        algorithm,
    )
    return entry, builders, window


def _is_known(algorithm: str) -> bool:
    name = parse_name(algorithm)
    if name.base is None:
        return name.own is not None or bool(name.path)
    if name.base in IN_NETWORK:
        return name.window is None
    entry = ALGORITHMS.get(name.base)
    return entry is not None and (name.window is None or (name.window > 0 and bool(entry.windowed)))
