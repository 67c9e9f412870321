"""Who goes first: the priority that a collective, and all its chunks, get when it is issued.

Higher goes first, equals in order of arrival; what runs is never interrupted. One counter serves all policies, so
that they mix as in ASTRA-sim 1.0: LIFO counts up (the latest goes first), FIFO counts down.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from astra_ns3.system.request import CollectiveRequest

#: Above every number that counting reaches.
HIGHEST_PRIORITY = 100_000_000

#: From the counter and what is asked for to a priority and the counter after it.
Policy = Callable[[int, CollectiveRequest], tuple[int, int]]


def lifo(counter: int, request: CollectiveRequest) -> tuple[int, int]:
    """The latest collective goes first."""
    return counter, counter + 1


def fifo(counter: int, request: CollectiveRequest) -> tuple[int, int]:
    """The earliest collective goes first."""
    return counter, counter - 1


def explicit(counter: int, request: CollectiveRequest) -> tuple[int, int]:
    """In order of arrival, behind those to which the workload gives a priority (``comm_priority`` of graphs)."""
    return 0, counter


def highest(counter: int, request: CollectiveRequest) -> tuple[int, int]:
    """Before all others."""
    return HIGHEST_PRIORITY, counter


USUAL_POLICIES: Mapping[str, Policy] = {"LIFO": lifo, "FIFO": fifo, "EXPLICIT": explicit}
"""Policies that a system file may name for all collectives."""
POLICIES: Mapping[str, Policy] = {**USUAL_POLICIES, "HIGHEST": highest}
"""Policies that a request may name for itself."""
