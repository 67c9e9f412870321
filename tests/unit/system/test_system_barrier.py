"""ASTRA-sim's barrier by itself."""

from __future__ import annotations

from astra_ns3.system.barrier import PhaseBarrier


def test_a_barrier_lets_go_in_the_order_of_arrival_and_of_each_phase_by_itself() -> None:
    barrier = PhaseBarrier()
    assert [list(barrier.arrive(rank, instance, 3)) for rank, instance in ((2, 7), (0, 8), (0, 7))] == [[], [], []]
    assert list(barrier.arrive(1, 7, 3)) == [2, 0, 1]
    assert list(barrier.arrive(2, 8, 3)) == []
    assert list(barrier.arrive(1, 8, 3)) == [0, 2, 1]
    assert list(barrier.arrive(1, 7, 3)) == []
