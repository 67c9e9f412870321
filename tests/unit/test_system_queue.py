"""Queues of one dimension: priority order, slots, and the launch order that all NPUs share."""

from __future__ import annotations

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from astra_ns3.system.launch_order import LaunchOrder
from astra_ns3.system.npu import DimensionQueue


def _drain(queue: DimensionQueue) -> list[int]:
    started = []
    while (instance := queue.start_next()) is not None:
        started.append(instance)
        queue.finish(instance)
    return started


def test_higher_priority_goes_first_and_equals_in_order_of_arrival() -> None:
    queue = DimensionQueue(LaunchOrder(), slots=1)
    for instance, priority in ((10, 0), (20, 5), (11, 0), (21, 5), (30, 100)):
        queue.add(instance, priority)
    assert _drain(queue) == [30, 20, 21, 10, 11]


def test_what_runs_is_not_interrupted_and_slots_limit_it() -> None:
    queue = DimensionQueue(LaunchOrder(), slots=2)
    for instance in (1, 2, 3):
        queue.add(instance, 0)
    assert [queue.start_next(), queue.start_next(), queue.start_next()] == [1, 2, None]
    queue.add(4, 9)
    assert queue.start_next() is None
    queue.finish(2)
    assert queue.start_next() == 4
    assert queue.running == {1, 4}
    assert queue.waiting == {3}


def test_an_npu_follows_what_another_one_started_whatever_its_own_priorities() -> None:
    order = LaunchOrder()
    ahead, behind = DimensionQueue(order, slots=1), DimensionQueue(order, slots=1)
    ahead.add(1, 0)
    assert ahead.start_next() == 1
    behind.add(1, 0)
    behind.add(2, 9)
    assert behind.start_next() == 1


def test_an_npu_waits_for_the_chunk_that_is_next_in_order() -> None:
    order = LaunchOrder()
    ahead, behind = DimensionQueue(order, slots=1), DimensionQueue(order, slots=1)
    ahead.add(1, 0)
    assert ahead.start_next() == 1
    behind.add(2, 9)
    assert behind.start_next() is None
    assert behind.awaited() == 1
    behind.add(1, 0)
    assert behind.start_next() == 1


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
    queues = [DimensionQueue(order, slots) for _ in range(3)]
    arrived = [0] * 3
    started: list[list[int]] = [[] for _ in range(3)]
    while any(len(one) < len(priorities) for one in started):
        npu = choose(3)
        queue = queues[npu]
        if arrived[npu] < len(priorities):
            queue.add(arrived[npu], priorities[arrived[npu]])
            arrived[npu] += 1
        while (instance := queue.start_next()) is not None:
            started[npu].append(instance)
        if queue.running:
            queue.finish(min(queue.running))
            while (instance := queue.start_next()) is not None:
                started[npu].append(instance)
    assert started[0] == started[1] == started[2]
    assert sorted(started[0]) == list(range(len(priorities)))
