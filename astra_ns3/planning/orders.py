"""The numbers that bounds need of the order of a stage's work. They hold for passes of any length."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import cache

from astra_ns3.frozen import dataclass
from astra_ns3.workload.training.schedules import Position, Work, WorkKind, order_of

Passes = Mapping[tuple[WorkKind, int], int]
"""How many passes of each kind through each part of the model on a stage."""
_GRADIENTS = (WorkKind.BACKWARD, WorkKind.WEIGHT)
_BACK = (WorkKind.BACKWARD, WorkKind.INPUT)


@dataclass(frozen=True)
class OrderFacts:
    """The order of a stage's work in an iteration.

    ``splits``: whether gradients of weights are passes of their own. ``held``: of each part, for how many micro-batches
    activations are kept when they are kept for most; ``then``: the part whose backward pass comes next (None: another
    forward pass does). ``behind``: passes after the last that another stage waits for. ``last``: passes from the first
    on after which a part's gradients are complete.
    """

    splits: bool
    held: tuple[int, ...]
    then: int | None
    behind: Passes
    last: Passes


@cache
def order_facts(schedule: str, stages: int, parts: int, batches: int, stage: int) -> OrderFacts:
    """Return the facts of one stage's order; raises InputError if the numbers don't fit the schedule."""
    order = order_of(schedule, Position(stage, stages, parts, batches))
    held, most, full_at = [0] * parts, [0] * parts, 0
    for number, work in enumerate(order):
        if work.kind is WorkKind.FORWARD:
            held[work.chunk] += 1
            if sum(held) > sum(most):
                most, full_at = list(held), number
        elif work.kind in _GRADIENTS:
            held[work.chunk] -= 1
    following = order[full_at + 1] if full_at + 1 < len(order) else None
    then = following.chunk if following is not None and following.kind in _BACK else None
    awaited = max(number for number, work in enumerate(order) if work.kind in _BACK and work.chunk == 0)
    complete = {work.chunk: number for number, work in enumerate(order) if work.kind in _GRADIENTS}
    first = min(complete.values())
    return OrderFacts(
        any(work.kind is WorkKind.WEIGHT for work in order),
        tuple(most),
        then,
        _counted(order[awaited + 1 :]),
        _counted(order[first:]),
    )


def _counted(works: tuple[Work, ...]) -> Passes:
    return Counter((work.kind, work.chunk) for work in works)
