"""Chunking, priorities, planning and instance numbers: pure functions."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from astra_ns3.config.collective_kind import CollectiveKind
from astra_ns3.config.system import SystemConfig, parse_system
from astra_ns3.errors import InputError
from astra_ns3.network.instance import pack_instance, unpack_instance
from astra_ns3.system.chunking import chunk_sizes
from astra_ns3.system.planner import Phase, collective_volume, plan
from astra_ns3.system.policies import POLICIES


def _system(**changes: Any) -> SystemConfig:
    keys = {
        "scheduling-policy": "LIFO",
        "preferred-dataset-splits": 4,
        "all-reduce-implementation": "ring",
        "reduce-scatter-implementation": "direct",
        "all-gather-implementation": "direct3",
        "all-to-all-implementation": "direct",
    }
    return parse_system(keys | {name.replace("_", "-"): value for name, value in changes.items()})


@settings(deadline=None)
@given(bytes=st.integers(0, 10**12), splits=st.integers(1, 300))
def test_chunks_add_up_are_even_and_never_empty(bytes: int, splits: int) -> None:
    sizes = chunk_sizes(bytes, splits)
    assert sum(sizes) == bytes
    assert len(sizes) == min(bytes, splits)
    assert not sizes or (min(sizes) >= 1 and max(sizes) - min(sizes) <= 1)


def test_a_remainder_makes_chunks_longer_by_a_byte_where_the_bounds_fall() -> None:
    assert chunk_sizes(10, 4) == [2, 3, 2, 3]


def test_lifo_counts_up_fifo_down_on_one_counter_and_highest_leaves_it_alone() -> None:
    counter, priorities = 0, []
    for policy in ("LIFO", "LIFO", "FIFO", "HIGHEST", "FIFO", "LIFO"):
        priority, counter = POLICIES[policy](counter)
        priorities.append(priority)
    assert priorities == [0, 1, 2, 100_000_000, 1, 0]


def test_one_dimension_is_one_phase_with_the_algorithm_of_its_collective() -> None:
    for kind, algorithm in (
        (CollectiveKind.ALL_REDUCE, "ring"),
        (CollectiveKind.REDUCE_SCATTER, "direct"),
        (CollectiveKind.ALL_GATHER, "direct3"),
        (CollectiveKind.ALL_TO_ALL, "direct"),
    ):
        assert plan(kind, 100, (8,), _system()) == [Phase(0, kind, algorithm, 100)]


def test_one_npu_has_no_phase() -> None:
    assert plan(CollectiveKind.ALL_REDUCE, 100, (1,), _system()) == []


@pytest.mark.parametrize("dimensions", [(), (2, 4)])
def test_algorithms_that_do_not_match_the_dimensions_are_an_input_error(dimensions: tuple[int, ...]) -> None:
    with pytest.raises(InputError, match=f"found 1 algorithms .*expected {len(dimensions)}"):
        plan(CollectiveKind.ALL_REDUCE, 100, dimensions, _system())


def test_several_dimensions_are_not_supported_yet() -> None:
    both = {
        f"{name}_implementation": "ring_ring" for name in ("all_reduce", "reduce_scatter", "all_gather", "all_to_all")
    }
    with pytest.raises(InputError, match=r"several dimensions \(2x4 NPUs\) are not supported yet"):
        plan(CollectiveKind.ALL_REDUCE, 100, (2, 4), _system(**both))


def test_volume_counts_messages_and_bytes_of_all_npus() -> None:
    # 4 chunks of 24 bytes, a ring of 8: 2 * 7 messages of 3 bytes from each NPU
    volume = collective_volume(CollectiveKind.ALL_REDUCE, 96, (8,), _system())
    assert (volume.chunks, volume.messages, volume.bytes) == (4, 4 * 8 * 14, 4 * 8 * 14 * 3)


def test_volume_of_a_tree_is_that_of_its_edges() -> None:
    system = _system(all_reduce_implementation="doubleBinaryTree", preferred_dataset_splits=5)
    volume = collective_volume(CollectiveKind.ALL_REDUCE, 7, (6,), system)
    assert (volume.chunks, volume.messages, volume.bytes) == (5, 5 * 2 * 5, 7 * 2 * 5)


def test_nothing_to_do_has_no_volume() -> None:
    for bytes, dimensions in ((0, (8,)), (100, (1,))):
        volume = collective_volume(CollectiveKind.ALL_REDUCE, bytes, dimensions, _system())
        assert (volume.messages, volume.bytes) == (0, 0)


@settings(deadline=None)
@given(collective=st.integers(0, 2**31 - 1), chunk=st.integers(0, 2**24 - 1), phase=st.integers(0, 255))
def test_instance_numbers_fit_63_bits_and_unpack(collective: int, chunk: int, phase: int) -> None:
    instance = pack_instance(collective, chunk, phase)
    assert 0 <= instance < 2**63
    assert unpack_instance(instance) == (collective, chunk, phase)
