"""Plans whose next iteration may be faster than the first: ZeRO 1 and 2 gather updated weights at an iteration's end.

The first iteration waits there, and a next one computes meanwhile. The best plans are therefore played for two
iterations, with such a stage of ZeRO. Model limits: bounds and ranks are of the first iteration, so only plans that
have the degrees of one near the best are played.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from astra_ns3.planning.bounds import Bound
from astra_ns3.planning.degrees import Cell, Choice
from astra_ns3.planning.search import Found

ITERATIONS = (1, 2)
"""A plan is played for each of these numbers of iterations."""
_GATHER_AFTER_UPDATE = (1, 2)
_MOST = 4
_WITHIN = 1.25
"""So many times as long as the best a first iteration may take: gathering takes a smaller part of one."""
_MORE_TIME = 0.25
"""A part of the CPU time that these runs may take even if the search has used all of it."""


def may_gain(found: Found, bounds: Iterable[Bound], fits: Callable[[Choice], bool]) -> list[Choice]:
    """Return the best, and choices of like degrees whose next iteration may be faster than its; nothing if none may."""
    if found.best is None or found.best_ps is None:
        return []
    near = [choice for choice in found.ranked if (found.played[choice].time_ps or 0) <= _WITHIN * found.best_ps]
    others: dict[tuple[Cell, str, int], dict[int, Choice]] = {}
    for choice in (bound.choice for bound in bounds):
        others.setdefault(_degrees(choice), {})[choice.zero] = choice
    gain: list[Choice] = []
    for alike in (others[key] for key in dict.fromkeys(map(_degrees, near))):
        stages = (alike[zero] for zero in _GATHER_AFTER_UPDATE if zero in alike)
        gain += [] if len(gain) == _MOST or (fitting := next(filter(fits, stages), None)) is None else [fitting]
    return list(dict.fromkeys([found.best, *gain])) if gain else []


def _degrees(choice: Choice) -> tuple[Cell, str, int]:
    """Return all of a choice besides the stage of ZeRO."""
    return choice.cell, choice.schedule, choice.virtual_stages


def affordable(found: Found, asked: Sequence[Choice], cpu_seconds: float | None) -> list[Choice]:
    """Return the first of them whose runs take a quarter of the CPU time or what is left of it; None: no limit.

    None of them if only the best is left and others were asked for. A run is taken to cost what the best cost.
    """
    if cpu_seconds is None or found.best is None:
        return list(asked)
    each = sum(ITERATIONS) * found.played[found.best].cpu_seconds
    left = max(cpu_seconds - found.cpu_seconds, _MORE_TIME * cpu_seconds)
    kept = list(asked[: int(left / each)] if each else asked)
    return kept if len(kept) > 1 or len(asked) == 1 else []


def fastest_next(best: Choice | None, next_ps: Mapping[Choice, int]) -> Choice | None:
    """Return the choice whose second iteration is faster than that of the best; None: no such one is known."""
    if best is None or best not in next_ps:
        return None
    fastest = min(next_ps, key=lambda choice: next_ps[choice])
    return fastest if next_ps[fastest] < next_ps[best] else None
