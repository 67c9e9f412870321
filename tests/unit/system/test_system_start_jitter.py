"""Random delays before phases: within their bounds, from the seed alone, and kept apart from the order of events."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from support.fake_backend import FakeBackend
from support.small_run import NPUS, small_run, small_system

import astra_ns3
from astra_ns3.errors import InputError
from astra_ns3.network.instance import pack_instance
from astra_ns3.system.start_jitter import StartJitter

JITTER_NS = 700


class NotingBackend(FakeBackend):
    """Notes when each rank could have launched each phase: the time of the call that asks for the delay."""

    def __init__(self) -> None:
        super().__init__(NPUS)
        self.delays: list[int] = []

    def call_later(self, rank: int, delay_ps: int, callback: Callable[[int], None]) -> None:
        if "SystemLayer._start" in repr(callback):
            self.delays.append(delay_ps)
        super().call_later(rank, delay_ps, callback)


def run(jitter_ns: int, seed: int = 1) -> tuple[NotingBackend, int]:
    backend = NotingBackend()
    arguments = small_run() | {"backend": backend, "system": small_system(**{"start-jitter": jitter_ns})}
    return backend, astra_ns3.run(**arguments, seed=seed).finish_ps


def test_delays_fill_their_range_evenly() -> None:
    jitter = StartJitter(9, seed=3)
    drawn = [jitter.delay_ps(rank, pack_instance(0, chunk, 0)) for rank in range(100) for chunk in range(100)]
    counts = np.bincount(drawn)
    assert len(counts) == 10
    assert abs(counts - 1000).max() < 5 * 30  # five standard deviations of a binomial count


def test_a_delay_depends_on_seed_rank_and_phase() -> None:
    places = [(seed, rank, instance) for seed in (1, 2) for rank in (0, 1) for instance in (0, 1, 256, 2**32)]
    drawn = {StartJitter(10**12, seed).delay_ps(rank, instance) for seed, rank, instance in places}
    assert len(drawn) == len(places)


def test_each_npu_waits_before_each_phase() -> None:
    backend, _ = run(JITTER_NS)
    assert len(backend.delays) == len(backend.launched) == NPUS * 4  # two collectives of two chunks
    assert 0 <= min(backend.delays) < max(backend.delays) <= JITTER_NS * 1000
    assert len(set(backend.delays)) == len(backend.delays)


def test_without_jitter_nothing_is_scheduled_for_it() -> None:
    assert run(0)[0].delays == []


def test_the_same_seed_gives_the_same_run_and_another_seed_another() -> None:
    assert run(JITTER_NS)[1] == run(JITTER_NS)[1] != run(JITTER_NS, seed=2)[1]
    assert run(0)[1] == run(0, seed=2)[1]


def test_jitter_makes_a_run_longer_by_no_more_than_it_is_for_each_phase() -> None:
    without, late = run(0)[1], run(JITTER_NS)[1]
    assert without < late <= without + 4 * JITTER_NS * 1000


@pytest.mark.parametrize("value", [-1, 0.5, "1us"])
def test_jitter_is_a_whole_number_of_nanoseconds(value: object) -> None:
    with pytest.raises(InputError, match="start-jitter"):
        small_system(**{"start-jitter": value})
