"""When a pass counts as done: all NPUs have gone on, and all that was posted in it has ended."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.network.records import Label
from astra_ns3.playing.player.passes import PassCounter
from astra_ns3.system.request import CollectiveRequest, Handle


def request(iteration: int) -> CollectiveRequest:
    return CollectiveRequest(CollectiveKind.ALL_REDUCE, 8, Label(iteration, 0, "gradient"))


def cohort(npus: int, *iterations: int) -> Any:
    """NPUs in step, whose program posts something in these iterations."""
    operations: Iterator[CollectiveRequest] = map(request, iterations)
    place = SimpleNamespace(read=lambda: next(operations, None))
    return SimpleNamespace(npus=range(npus), iteration=0, place=place)


def test_a_pass_waits_for_all_npus_and_for_all_that_was_posted_in_it() -> None:
    told: list[int] = []
    counter = PassCounter(3, 2, told.append)
    handles: list[Handle] = []

    def post_all(npus: Any, turns: Any, operation: Any) -> list[Handle]:
        handles.append(Handle(0, len(handles), operation, 0, done=False))
        return handles[-1:]

    post = counter.counting(post_all)
    one, two = cohort(1, 0, 1), cohort(2, 0, 1)
    for each in (one, two):
        operation = counter.read(each)
        assert isinstance(operation, CollectiveRequest)
        post([0], [0], operation)
    first, second = handles
    counter.read(one)
    counter.handle_done(first)
    counter.read(two)
    assert told == []
    counter.handle_done(second)
    assert told == [1]
    assert counter.read(one) is counter.read(two) is None
    assert told == [1, 2]


def test_a_pass_that_ends_before_an_earlier_one_counts_at_once() -> None:
    told: list[int] = []
    counter = PassCounter(1, 2, told.append)
    handles = [Handle(0, number, request(number), 0, done=False) for number in (0, 1)]
    waiting = iter(handles)
    post = counter.counting(lambda *_: [next(waiting)])
    only = cohort(1, 0, 1)
    for number in (0, 1):
        counter.read(only)
        post([0], [0], request(number))
    counter.read(only)
    counter.handle_done(handles[1])
    assert told == [1]
    counter.handle_done(handles[0])
    assert told == [1, 2]
