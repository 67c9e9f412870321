"""Collectives over several dimensions: groups, times, queues, the barrier, and that nothing ever stalls."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import collective_times
from support.fake_backend import FakeBackend
from support.system_parts import request, system

from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.config.core.compatibility import OURS, PRESETS, Compatibility
from astra_ns3.config.system import SystemConfig
from astra_ns3.network.api import EndpointModel, Limits
from astra_ns3.network.instance import unpack_instance
from astra_ns3.system.inter_dimension import INTER_DIMENSION
from astra_ns3.system.intra_dimension import INTRA_DIMENSION
from astra_ns3.system.launch_order import LaunchOrder
from astra_ns3.system.layer import SystemLayer
from astra_ns3.system.request import CollectiveRequest, Handle

ENDPOINT_PS = 10_000
AR, RS, AG = CollectiveKind.ALL_REDUCE, CollectiveKind.REDUCE_SCATTER, CollectiveKind.ALL_GATHER
A2A = CollectiveKind.ALL_TO_ALL
PRESET = PRESETS["astra-sim-1.0"]


def _message_ps(bytes: int) -> int:
    return 1_000_000 + 10 * bytes


class _Run:
    """A system layer whose NPUs issue collectives, ``begin_ps(rank, number)`` after they were free to.

    They are free to issue the next one at once, or, where ``waits``, when the last one is done.
    """

    def __init__(
        self,
        config: SystemConfig,
        sizes: tuple[int, ...],
        *requests: CollectiveRequest,
        compatibility: Compatibility = OURS,
        begin_ps: Callable[[int, int], int] = lambda rank, number: 0,
        waits: Sequence[bool] = (),
        **options: Any,
    ) -> None:
        self.ends: list[tuple[int, int, int]] = []  # time, rank, collective
        self.npus = prod(sizes)
        self.network = FakeBackend(self.npus, message_ps=_message_ps, endpoint=EndpointModel(ENDPOINT_PS), **options)
        self.system = SystemLayer(
            self.network, config, sizes, ["layer"], self._ended,
            compatibility=compatibility, bandwidths=[1.0 + dimension for dimension in range(len(sizes))],
        )  # fmt: skip
        self._requests, self._begin_ps = requests, begin_ps
        self._waits = [*waits, *[False] * len(requests)]
        self._blocked: dict[Handle, int] = {}
        for rank in range(self.npus):
            self._go_on(rank, 0)
        self.network.run(self, Limits())

    def phase_done(self, rank: int, instance: int, time_ps: int) -> None:
        self.system.phase_done(rank, instance, time_ps)

    def heartbeat(self, time_ps: int, events: int) -> None: ...

    def started(self, rank: int) -> list[tuple[int, int, int, int]]:
        """Time, collective, chunk and phase of each launch of a rank, in order."""
        return [(time_ps, *unpack_instance(number)) for time_ps, who, number in self.network.launched if who == rank]

    def _go_on(self, rank: int, number: int) -> None:
        if number < len(self._requests):
            self.network.call_later(rank, self._begin_ps(rank, number), lambda time_ps: self._issue(rank, number))

    def _issue(self, rank: int, number: int) -> None:
        handle = self.system.issue(rank, self._requests[number])
        if self._waits[number] and not handle.done:
            self._blocked[handle] = number + 1
        else:
            self._go_on(rank, number + 1)

    def _ended(self, handle: Handle, time_ps: int) -> None:
        self.ends.append((time_ps, handle.npu, handle.collective))
        if handle in self._blocked:
            self._go_on(handle.npu, self._blocked.pop(handle))


def _ring(ranks: int, bytes: int, kind: CollectiveKind = AR) -> int:
    """Time of a ring from the formula: k messages, each after an endpoint delay, and one delay at the end."""
    message, count = {
        AR: (bytes // ranks, 2 * (ranks - 1)),
        RS: (bytes // ranks, ranks - 1),
        AG: (bytes, ranks - 1),
        A2A: (bytes // ranks, ranks * (ranks - 1) // 2),
    }[kind]
    return count * (ENDPOINT_PS + _message_ps(message)) + ENDPOINT_PS


def test_the_formula_is_that_of_the_oracle() -> None:
    assert _ring(4, 400) == collective_times.ring_all_reduce(4, 400, _message_ps, ENDPOINT_PS)


@pytest.mark.parametrize("compatibility", [OURS, PRESET], ids=["ours", "preset"])
def test_an_all_reduce_takes_the_sum_of_its_phases(compatibility: Compatibility) -> None:
    baseline = system("ring_ring", preferred_dataset_splits=1)
    aware = system("ring_ring", preferred_dataset_splits=1, collective_optimization="localBWAware")
    expected = {
        "baseline": _ring(2, 2400) + _ring(3, 2400),
        "aware": _ring(2, 2400, RS) + _ring(3, 1200) + _ring(2, 1200, AG),
    }
    for name, config in (("baseline", baseline), ("aware", aware)):
        run = _Run(config, (2, 3), request(bytes=2400), compatibility=compatibility)
        assert sorted(run.ends) == [(expected[name], rank, 0) for rank in range(6)]


@pytest.mark.parametrize(("kind", "sizes"), [(RS, [2400, 1200]), (AG, [2400, 7200]), (A2A, [2400, 2400])])
def test_other_collectives_take_the_sum_of_their_phases(kind: CollectiveKind, sizes: list[int]) -> None:
    run = _Run(system("ring_ring", preferred_dataset_splits=1), (2, 3), request(kind, 2400))
    dimensions = (3, 2) if kind is AG else (2, 3)
    expected = sum(_ring(ranks, bytes, kind) for ranks, bytes in zip(dimensions, sizes, strict=True))
    assert {time_ps for time_ps, _, _ in run.ends} == {expected}


def test_a_collective_on_some_dimensions_stays_in_its_groups() -> None:
    run = _Run(system("ring_ring_ring", preferred_dataset_splits=1), (2, 3, 2), request(bytes=600, dimensions=(1,)))
    assert {time_ps for time_ps, _, _ in run.ends} == {_ring(3, 600)}
    (record,) = run.system.history.all()
    assert (record.ranks, record.algorithm) == (3, "ring")
    assert run.system.sent_bytes == (0, 4 * 200, 0)


def test_a_flat_ring_joins_all_npus_in_the_order_of_their_ranks() -> None:
    run = _Run(system("oneRing", preferred_dataset_splits=1), (2, 3), request(bytes=600))
    assert {time_ps for time_ps, _, _ in run.ends} == {_ring(6, 600)}


def test_chunks_of_a_pipeline_run_on_all_dimensions_at_once() -> None:
    # The second chunk is one phase behind the first; what waited for the slot starts before the next phase.
    run = _Run(system("direct_direct", preferred_dataset_splits=2), (2, 2), request(bytes=400))
    phase_ps = 2 * _message_ps(100) + 3 * ENDPOINT_PS
    assert run.started(0) == [
        (0, 0, 0, 0), (phase_ps, 0, 1, 0), (phase_ps, 0, 0, 1), (2 * phase_ps, 0, 1, 1)
    ]  # fmt: skip
    assert run.system.busy() == (((0, 2 * phase_ps),), ((phase_ps, 3 * phase_ps),))


def test_each_queue_of_a_dimension_runs_its_part_of_the_active_chunks() -> None:
    config = system(preferred_dataset_splits=6, active_chunks_per_dimension=3, num_queues_per_dim=2)
    run = _Run(config, (4,), request(bytes=2400))
    chunk_ps = _ring(4, 400)
    assert [(time_ps, chunk) for time_ps, _, chunk, _ in run.started(0)] == [
        (0, 0), (0, 1), (0, 2), (0, 3), (chunk_ps, 4), (chunk_ps, 5)
    ]  # fmt: skip


def test_groups_and_schedules_are_handed_over_once() -> None:
    run = _Run(system("ring_ring", preferred_dataset_splits=3), (2, 3), *[request(bytes=600 + n) for n in range(4)])
    assert len(run.network.schedules) == 2


def test_at_the_barrier_all_npus_go_on_when_the_last_has_finished() -> None:
    # In dimension 0 the two NPUs of the slow group take twice as long; without a barrier the others go on at once.
    config = system("ring_ring", preferred_dataset_splits=1)
    slow = {0: 2, 1: 2}
    first_ps, slow_ps = _ring(2, 400), 2 * (ENDPOINT_PS + 2 * _message_ps(200)) + ENDPOINT_PS
    free = _Run(config, (2, 2), request(bytes=400), slowness=slow)
    held = _Run(config, (2, 2), request(bytes=400), slowness=slow, compatibility=Compatibility(phase_barrier=True))
    assert [free.started(rank)[1][0] for rank in range(4)] == [slow_ps, slow_ps, first_ps, first_ps]
    assert [held.started(rank)[1][0] for rank in range(4)] == [slow_ps] * 4
    assert len({time_ps for time_ps, _, _ in held.ends}) == 1


def _unequal(run_system: SystemConfig, **options: Any) -> _Run:
    """ASTRA-sim's issue 370: fewer active chunks than splits, rings on two dimensions, unequal delays."""
    return _Run(
        run_system,
        (4, 4),
        request(bytes=16_000),
        request(bytes=16_000),
        extra_ps=lambda sender, receiver: 3_000_000 * (sender % 4) + 500_000 * (receiver // 4),
        begin_ps=lambda rank, number: 700_000 * (rank % 3),
        **options,
    )


@pytest.mark.parametrize("active", [1, 2, 3])
@pytest.mark.parametrize("inter", ["baseline", "roundRobin", "themis"])
def test_fewer_active_chunks_than_splits_on_rings_with_unequal_delays_run(active: int, inter: str) -> None:
    config = system(
        "ring_ring",
        preferred_dataset_splits=4,
        active_chunks_per_dimension=active,
        collective_optimization="localBWAware",
        inter_dimension_scheduling=inter,
    )
    assert len(_unequal(config).ends) == 2 * 16


def test_without_the_shared_order_such_a_system_stalls(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LaunchOrder, "append", lambda order, task: None)
    config = system("ring_ring", collective_optimization="localBWAware", inter_dimension_scheduling="roundRobin")
    assert len(_unequal(config).ends) < 2 * 16


systems = st.builds(
    lambda algorithms, **keys: system("_".join(algorithms), **keys),
    st.lists(st.sampled_from(["ring", "direct", "direct2", "biRing"]), min_size=3, max_size=3),
    scheduling_policy=st.sampled_from(["LIFO", "FIFO"]),
    preferred_dataset_splits=st.integers(1, 6),
    active_chunks_per_dimension=st.integers(1, 4),
    num_queues_per_dim=st.integers(1, 3),
    collective_optimization=st.sampled_from(["baseline", "localBWAware"]),
    intra_dimension_scheduling=st.sampled_from(sorted(INTRA_DIMENSION)),
    inter_dimension_scheduling=st.sampled_from(sorted(INTER_DIMENSION)),
)
requests = st.builds(
    request,
    st.sampled_from([AR, RS, AG, A2A]),
    st.integers(1, 5000),
    st.none() | st.sampled_from([(0,), (1,), (0, 1), (1, 2), (0, 2)]),
    st.none() | st.sampled_from(["LIFO", "FIFO", "HIGHEST", 5]),
)


@settings(max_examples=60, deadline=None)
@given(
    config=systems,
    sizes=st.tuples(st.integers(1, 3), st.integers(1, 3), st.integers(1, 3)),
    asked=st.lists(requests, min_size=1, max_size=4),
    waits=st.lists(st.booleans(), min_size=4, max_size=4),
    barrier=st.booleans(),
    seed=st.integers(0, 10_000),
)
def test_no_system_ever_stalls_and_all_npus_start_the_same(
    config: SystemConfig,
    sizes: tuple[int, int, int],
    asked: list[CollectiveRequest],
    waits: list[bool],
    barrier: bool,
    seed: int,
) -> None:
    """Delays of pairs of NPUs and the times at which NPUs issue are random, so that NPUs drift apart."""
    ranks = prod(sizes)
    choose = Random(seed).randrange
    extra = [[choose(4_000_000) for _ in range(ranks)] for _ in range(ranks)]
    begins = [[choose(5_000_000) for _ in asked] for _ in range(ranks)]
    run = _Run(
        config,
        sizes,
        *asked,
        compatibility=PRESET if barrier else OURS,
        extra_ps=lambda sender, receiver: extra[sender][receiver],
        begin_ps=lambda rank, number: begins[rank][number],
        waits=waits,
    )
    issued = run.system.history.all()
    assert len(run.ends) == len(issued) * ranks
    assert all(record.end_ps is not None for record in issued)
    for rank in range(ranks):
        assert not run.system.running(rank)
        assert not run.system.waiting(rank)
        assert sorted(begun[1:] for begun in run.started(rank)) == sorted(begun[1:] for begun in run.started(0))
