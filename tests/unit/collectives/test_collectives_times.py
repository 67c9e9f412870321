"""Schedules played without congestion take the times of the closed forms."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import collective_times
from oracles.collective_volumes import ROUNDS
from support.fake_backend import FakeBackend

from astra_ns3.collectives.lookup import lookup, pairs
from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.network.api import EndpointModel, Limits

LATENCY_PS = 1_000_000
PS_PER_BYTE = 80
# Large enough for two or more reductions' worth of 500000 bytes in a share.
shares = st.integers(1, 3_000_000)
endpoints = st.integers(0, 20_000)


class _Ends:
    """Listens for the ends of one phase."""

    def __init__(self) -> None:
        self.ends_ps: dict[int, int] = {}

    def phase_done(self, rank: int, instance: int, time_ps: int) -> None:
        self.ends_ps[rank] = time_ps

    def heartbeat(self, time_ps: int, events: int) -> None: ...


def _message_ps(bytes: int) -> int:
    return LATENCY_PS + bytes * PS_PER_BYTE


def _play(
    kind: CollectiveKind, algorithm: str, ranks: int, bytes: int, endpoint_ps: int, variant: int = 0
) -> list[int]:
    """When each rank is done."""
    network = FakeBackend(ranks, message_ps=_message_ps, endpoint=EndpointModel(endpoint_ps))
    schedule = network.register_schedule(lookup(kind, algorithm, ranks, variant))
    group = network.register_group(range(ranks))
    for rank in range(ranks):
        network.launch(rank, schedule, group, 1, bytes)
    listener = _Ends()
    network.run(listener, Limits())
    return [listener.ends_ps[rank] for rank in range(ranks)]


@pytest.mark.parametrize(
    ("kind", "oracle"),
    [
        (CollectiveKind.ALL_REDUCE, collective_times.ring_all_reduce),
        (CollectiveKind.REDUCE_SCATTER, collective_times.ring_reduce_scatter),
        (CollectiveKind.ALL_GATHER, collective_times.ring_all_gather),
        (CollectiveKind.ALL_TO_ALL, collective_times.ring_all_to_all),
    ],
)
@settings(deadline=None)
@given(ranks=st.integers(2, 7), share=shares, endpoint_ps=endpoints)
def test_ring_takes_the_time_of_its_messages_in_sequence(
    kind: CollectiveKind, oracle: Callable[..., int], ranks: int, share: int, endpoint_ps: int
) -> None:
    bytes = ranks * share
    expected = oracle(ranks, bytes, _message_ps, endpoint_ps)
    assert _play(kind, "ring", ranks, bytes, endpoint_ps) == [expected] * ranks


@settings(deadline=None)
@given(ranks=st.integers(2, 8), share=shares, endpoint_ps=endpoints, data=st.data())
def test_direct_takes_the_time_of_its_batches(ranks: int, share: int, endpoint_ps: int, data: st.DataObject) -> None:
    window, bytes = data.draw(st.integers(1, ranks - 1)), ranks * share
    for kind, oracle in (
        (CollectiveKind.ALL_REDUCE, collective_times.direct_all_reduce),
        (CollectiveKind.ALL_TO_ALL, collective_times.direct_all_to_all),
    ):
        expected = oracle(ranks, bytes, _message_ps, endpoint_ps, window)
        assert _play(kind, f"direct{window}", ranks, bytes, endpoint_ps) == [expected] * ranks


@settings(deadline=None)
@given(levels=st.integers(1, 4), share=shares, endpoint_ps=endpoints)
def test_halving_doubling_takes_the_time_of_its_messages_in_sequence(levels: int, share: int, endpoint_ps: int) -> None:
    ranks = 2**levels
    expected = collective_times.halving_doubling_all_reduce(ranks, ranks * share, _message_ps, endpoint_ps)
    played = _play(CollectiveKind.ALL_REDUCE, "halvingDoubling", ranks, ranks * share, endpoint_ps)
    assert played == [expected] * ranks


@settings(deadline=None)
@given(levels=st.integers(1, 4), bytes=shares, endpoint_ps=endpoints, variant=st.integers(0, 1))
def test_tree_takes_its_height_twice(levels: int, bytes: int, endpoint_ps: int, variant: int) -> None:
    ranks = 2**levels
    expected = collective_times.double_binary_tree_all_reduce(ranks, bytes, _message_ps, endpoint_ps)
    played = _play(CollectiveKind.ALL_REDUCE, "doubleBinaryTree", ranks, bytes, endpoint_ps, variant)
    assert max(played) == expected


@pytest.mark.parametrize(("kind", "name"), pairs(), ids=[f"{kind.name.lower()}-{name}" for kind, name in pairs()])
def test_with_messages_that_all_take_as_long_every_algorithm_takes_its_rounds(kind: CollectiveKind, name: str) -> None:
    network = FakeBackend(8, message_ps=lambda bytes: LATENCY_PS)
    schedule, group = network.register_schedule(lookup(kind, name, 8)), network.register_group(range(8))
    for rank in range(8):
        network.launch(rank, schedule, group, 1, 1000)
    listener = _Ends()
    network.run(listener, Limits())
    assert sorted(listener.ends_ps) == list(range(8))
    assert max(listener.ends_ps.values()) == ROUNDS[kind.name.lower(), name](8) * LATENCY_PS
