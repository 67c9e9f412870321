"""One queue of a dimension: its line, slots, and the launch order that all NPUs share."""

from __future__ import annotations

from random import Random
from sys import getrefcount

from hypothesis import given, settings
from hypothesis import strategies as st
from support.system_parts import task

from astra_ns3.system.dimension_queue import DimensionQueue
from astra_ns3.system.intra_dimension import by_priority
from astra_ns3.system.launch_order import LaunchOrder
from astra_ns3.system.task import Task


def _queue(order: LaunchOrder, slots: int = 1, npu: int = 0) -> DimensionQueue:
    return DimensionQueue(npu, order, slots, by_priority)


def _drain(queue: DimensionQueue) -> list[int]:
    started = []
    while (first := queue.start_next()) is not None:
        started.append(first.instance)
        queue.finish(first)
    return started


def test_higher_priority_goes_first_and_equals_in_order_of_arrival() -> None:
    queue = _queue(LaunchOrder())
    for instance, priority in ((10, 0), (20, 5), (11, 0), (21, 5), (30, 100)):
        queue.add(task(instance, priority))
    assert _drain(queue) == [30, 20, 21, 10, 11]


def test_what_runs_is_not_interrupted_and_slots_limit_it() -> None:
    queue = _queue(LaunchOrder(), slots=2)
    one, two, three, four = (task(number) for number in range(1, 5))
    for waiting in (one, two, three):
        queue.add(waiting)
    assert [queue.start_next(), queue.start_next(), queue.start_next()] == [one, two, None]
    urgent = task(5, priority=9)
    queue.add(urgent)
    assert queue.start_next() is None
    queue.finish(two)
    assert queue.start_next() is urgent
    queue.add(four)
    assert queue.running == (one, urgent)
    assert queue.waiting == (three, four)


def test_an_npu_follows_what_another_one_started_whatever_its_own_priorities() -> None:
    order = LaunchOrder()
    ahead, behind = _queue(order), _queue(order, npu=1)
    usual, urgent = task(1), task(2, priority=9)
    ahead.add(usual)
    assert ahead.start_next() is usual
    behind.add(usual)
    behind.add(urgent)
    assert behind.start_next() is usual


def test_an_npu_waits_for_the_chunk_that_is_next_in_order() -> None:
    order = LaunchOrder()
    ahead, behind = _queue(order), _queue(order, npu=1)
    usual, urgent = task(1), task(2, priority=9)
    ahead.add(usual)
    assert ahead.start_next() is usual
    behind.add(urgent)
    assert behind.start_next() is None
    assert behind.awaited() is usual
    behind.add(usual)
    assert behind.start_next() is usual


def test_the_log_forgets_what_all_npus_have_started() -> None:
    order = LaunchOrder()
    queues = _queue(order), _queue(order, npu=1)
    first = task(1)
    references = getrefcount(first)
    for queue in queues:
        queue.add(first)
    queues[0].start_next()
    assert (queues[0].awaited(), queues[1].awaited()) == (None, first)
    queues[1].start_next()
    assert queues[1].awaited() is None
    for queue in queues:
        queue.finish(first)
    assert getrefcount(first) == references


@settings(deadline=None)
@given(
    priorities=st.lists(st.integers(-3, 3), min_size=1, max_size=100),
    slots=st.integers(1, 4),
    seed=st.integers(0, 1000),
)
def test_npus_that_get_chunks_at_different_times_start_them_in_the_same_order(
    priorities: list[int], slots: int, seed: int
) -> None:
    choose = Random(seed).randrange
    order = LaunchOrder()
    queues = [_queue(order, slots, npu) for npu in range(3)]
    tasks = [task(number, priority) for number, priority in enumerate(priorities)]
    arrived = [0] * 3
    started: list[list[Task]] = [[] for _ in range(3)]
    while any(len(one) < len(tasks) for one in started):
        npu = choose(3)
        queue = queues[npu]
        if arrived[npu] < len(tasks):
            queue.add(tasks[arrived[npu]])
            arrived[npu] += 1
        while (first := queue.start_next()) is not None:
            started[npu].append(first)
        if queue.running:
            queue.finish(queue.running[choose(len(queue.running))])
            while (first := queue.start_next()) is not None:
                started[npu].append(first)
    assert started[0] == started[1] == started[2]
    assert sorted(one.instance for one in started[0]) == list(range(len(tasks)))
