"""The longest path through things of which each comes after others: what no run that plays them can be faster than."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from graphlib import TopologicalSorter
from typing import TypeVar

Node = TypeVar("Node", bound=Hashable)


def longest_ps(
    before: Mapping[Node, Iterable[Node]],
    took_ps: Mapping[Node, int],
    one_of: Mapping[Node, Iterable[Node]] | None = None,
) -> int:
    """``before``: what each comes after, all of it; ``one_of``: of which one is enough; ``took_ps``: 0 if not there."""
    enough = one_of or {}
    ends_ps: dict[Node, int] = {}
    order = TopologicalSorter({node: [*before[node], *enough.get(node, ())] for node in before})
    for node in order.static_order():
        begins_ps = [0, *(ends_ps[each] for each in before.get(node, ()))]
        if node in enough:
            begins_ps.append(min(ends_ps[each] for each in enough[node]))
        ends_ps[node] = max(begins_ps) + took_ps.get(node, 0)
    return max(ends_ps.values(), default=0)
