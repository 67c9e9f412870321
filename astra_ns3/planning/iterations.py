"""Plans whose next iteration may be faster than the first: ZeRO 1 and 2 gather updated weights at an iteration's end.

The first iteration waits there, and a next one computes meanwhile. So a second search, over these stages of ZeRO, plays
one and two iterations; the difference of both is what a second takes. Bounds are those of many iterations. Model
limits: with other stages a second iteration is taken to last as long as the first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from astra_ns3.frozen import replace
from astra_ns3.planning.bounds import Bound
from astra_ns3.planning.degrees import Cell, Choice, Space
from astra_ns3.planning.search import Found, Played, Search

ITERATIONS = (1, 2)
"""A plan is played for each of these numbers of iterations."""
_GATHER_AFTER_UPDATE = (1, 2)
_MOST_LIKELY = 4
_WITHIN = 1.25
"""So many times as long as the best a first iteration may take: gathering takes a smaller part of one."""
_MORE_TIME = 0.25
"""A part of the CPU time that these runs may take even if the search has used all of it."""


def may_gain(found: Found, bounds: Sequence[Bound]) -> list[Bound]:
    """Return bounds on a next iteration of the best, and of choices that may be faster there; nothing if none may."""
    if found.best is None or found.best_ps is None:
        return []
    guessed = sum(found.bound_of[choice].cpu_seconds for choice in found.played)
    worth = sum(ITERATIONS) * (found.cpu_seconds / guessed if guessed else 1.0)
    gain = [
        replace(each, time_ps=each.next_ps, cpu_seconds=worth * each.cpu_seconds)
        for each in bounds
        if each.choice is found.best or (each.choice.zero in _GATHER_AFTER_UPDATE and each.next_ps < found.best_ps)
    ]
    return gain if any(each.choice.zero in _GATHER_AFTER_UPDATE for each in gain) else []


def likely(found: Found, gain: Sequence[Bound], fits: Callable[[Choice], bool]) -> list[Choice]:
    """Return the best, and choices that have the degrees of one near it: the first to play."""
    assert found.best is not None
    assert found.best_ps is not None
    near = [choice for choice in found.ranked if (found.played[choice].time_ps or 0) <= _WITHIN * found.best_ps]
    others: dict[tuple[Cell, str, int], dict[int, Choice]] = {}
    for choice in (bound.choice for bound in gain):
        others.setdefault(_degrees(choice), {})[choice.zero] = choice
    first = {found.best: None}
    for alike in (others.get(key, {}) for key in dict.fromkeys(map(_degrees, near))):
        stages = [alike[zero] for zero in _GATHER_AFTER_UPDATE if zero in alike]
        if len(first) <= _MOST_LIKELY and (fitting := next(filter(fits, stages), None)) is not None:
            first[fitting] = None
    return list(first)


def next_search(
    space: Space,
    found: Found,
    bounds: Sequence[Bound],
    search: Search,
    together: int,
    cpu_seconds: float | None,
) -> Search | None:
    """Return the search over next iterations; None: no choice may be faster there. ``search``: what found ``found``."""
    gain = may_gain(found, bounds)
    if not gain:
        return None
    left = None if cpu_seconds is None else max(cpu_seconds - found.cpu_seconds, _MORE_TIME * cpu_seconds)
    first = likely(found, gain, search.fits)
    return Search(space, gain, search.capacity_bytes, together, left, first)


def is_affordable(found: Found, following: Search) -> bool:
    """Return whether the best and one more may be played; each is taken to cost what the best cost."""
    assert found.best is not None
    others = len(following.first) > 1
    each = found.played[found.best].cpu_seconds
    needed = ITERATIONS[-1] * each + (sum(ITERATIONS) * each if others else 0)
    return following.cpu_seconds is None or needed <= following.cpu_seconds


def second_ps(one: Played, two: Played) -> Played:
    """Return how a second iteration did, of runs of one and of two."""
    cpu_seconds = one.cpu_seconds + two.cpu_seconds
    if one.time_ps is None or two.time_ps is None:
        return Played(None, cpu_seconds)
    return Played(two.time_ps - one.time_ps, cpu_seconds)


def fastest_next(best: Choice | None, next_ps: Mapping[Choice, int]) -> Choice | None:
    """Return the choice whose second iteration is faster than that of the best; None: no such one is known."""
    if best is None or best not in next_ps:
        return None
    fastest = min(next_ps, key=lambda choice: next_ps[choice])
    return fastest if next_ps[fastest] < next_ps[best] else None


def _degrees(choice: Choice) -> tuple[Cell, str, int]:
    """Return all of a choice besides the stage of ZeRO."""
    return choice.cell, choice.schedule, choice.virtual_stages
