"""Where a chunk that comes to a queue of one dimension joins the line: before which of those that wait.

A rule is a function of what runs, what waits (both in order), and the newcomer. It gives an index into what waits, and
the first of those starts when a slot is free. The rules are ASTRA-sim 1.0's. All but ``by_priority`` order
reduce-scatters and all-gathers only: other phases always join by priority.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence

from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.errors import wrong
from astra_ns3.system.own_policies import find_policy, is_own
from astra_ns3.system.task import Task

JoinRule = Callable[[Sequence[Task], Sequence[Task], Task], int]

_HALVES = frozenset((CollectiveKind.REDUCE_SCATTER, CollectiveKind.ALL_GATHER))


def by_priority(running: Sequence[Task], waiting: Sequence[Task], newcomer: Task) -> int:
    """The higher priority first, equals in order of arrival."""
    if not waiting or waiting[-1].priority >= newcomer.priority:
        return len(waiting)
    return bisect_right(waiting, -newcomer.priority, key=lambda task: -task.priority)


def alternating(running: Sequence[Task], waiting: Sequence[Task], newcomer: Task) -> int:
    """Reduce-scatters and all-gathers take turns, behind those of a higher priority."""
    if newcomer.kind not in _HALVES:
        return _behind_equals(waiting, newcomer)
    begin, last = 0, None
    if running and waiting:  # who waits behind one that runs keeps that place, whoever comes
        begin, last = 1, waiting[0].kind
    for index in range(begin, len(waiting)):
        before, last = last, waiting[index].kind
        if waiting[index].priority <= newcomer.priority and {before, last} != _HALVES:
            return index
    return len(waiting)


def smallest_first(running: Sequence[Task], waiting: Sequence[Task], newcomer: Task) -> int:
    """Less data first; among equals the newer first. A chunk with one phase to follow goes last."""
    if newcomer.kind not in _HALVES:
        return _behind_equals(waiting, newcomer)
    if newcomer.phases_left == 1:
        return len(waiting)
    for index, task in enumerate(waiting):
        if task.bytes >= newcomer.bytes:
            return index
    return len(waiting)


def fewest_phases_first(running: Sequence[Task], waiting: Sequence[Task], newcomer: Task) -> int:
    """Fewer phases to follow first; among equals the newer first."""
    if newcomer.kind not in _HALVES:
        return _behind_equals(waiting, newcomer)
    for index, task in enumerate(waiting):
        if task.phases_left >= newcomer.phases_left:
            return index
    return len(waiting)


INTRA_DIMENSION: Mapping[str, JoinRule] = {
    "FIFO": by_priority,
    "RG": alternating,
    "SCF": smallest_first,
    "smallestFirst": smallest_first,
    "lessRemainingPhaseFirst": fewest_phases_first,
}


def join_rule(name: str) -> JoinRule:
    """The rule called ``name``; a user's own is checked at each use. Raises InputError."""
    rule = find_policy(name, INTRA_DIMENSION)
    return _checked(name, rule) if is_own(name) else rule


def _checked(name: str, rule: JoinRule) -> JoinRule:
    def join(running: Sequence[Task], waiting: Sequence[Task], newcomer: Task) -> int:
        place = rule(tuple(running), tuple(waiting), newcomer)
        if not isinstance(place, int) or not 0 <= place <= len(waiting):
            raise wrong(f"policy '{name}' gave {place!r}, expected a place in the line: 0 to {len(waiting)}")
        return place

    return join


def _behind_equals(waiting: Sequence[Task], newcomer: Task) -> int:
    """By priority in a line that need not be in that order."""
    for index, task in enumerate(waiting):
        if task.priority < newcomer.priority:
            return index
    return len(waiting)
