"""Chunks, groups, the phases of a chunk, and instance numbers: pure functions."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.system_parts import KINDS, request, system

from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.config.core.compatibility import OURS, PRESETS, Compatibility
from astra_ns3.config.system import SystemConfig
from astra_ns3.errors import InputError
from astra_ns3.network.instance import pack_instance, unpack_instance
from astra_ns3.system.chunking import chunk_sizes
from astra_ns3.system.collective_planner import CollectivePlanner
from astra_ns3.system.groups import Grid
from astra_ns3.system.launches import schedule_of
from astra_ns3.system.phases import Phase, PhasePlanner
from astra_ns3.system.route import Route

AR, RS, AG = CollectiveKind.ALL_REDUCE, CollectiveKind.REDUCE_SCATTER, CollectiveKind.ALL_GATHER
A2A = CollectiveKind.ALL_TO_ALL
PRESET = PRESETS["astra-sim-1.0"]


@settings(deadline=None)
@given(bytes=st.integers(0, 10**12), splits=st.integers(1, 300))
def test_chunks_add_up_are_even_and_never_empty(bytes: int, splits: int) -> None:
    sizes = chunk_sizes(bytes, splits)
    assert sum(sizes) == bytes
    assert len(sizes) == min(bytes, splits)
    assert not sizes or (min(sizes) >= 1 and max(sizes) - min(sizes) <= 1)


@settings(deadline=None)
@given(bytes=st.integers(0, 10**12), splits=st.integers(1, 300))
def test_truncated_chunks_are_equal_but_for_a_smaller_last_one(bytes: int, splits: int) -> None:
    sizes = chunk_sizes(bytes, splits, truncate=True)
    assert sum(sizes) == bytes
    assert set(sizes[:-1]) <= {max(bytes // splits, 1)}
    assert not sizes or 1 <= sizes[-1] <= max(bytes // splits, 1)


def test_a_remainder_makes_chunks_longer_by_a_byte_where_the_bounds_fall_or_one_more_chunk() -> None:
    assert chunk_sizes(10, 4) == [2, 3, 2, 3]
    assert chunk_sizes(1_000_001, 4, truncate=True) == [250_000] * 4 + [1]


def test_groups_of_a_grid_differ_in_their_dimensions_only() -> None:
    grid = Grid((2, 3, 2))
    assert grid.cosets((0,)) == [[0, 1], [2, 3], [4, 5], [6, 7], [8, 9], [10, 11]]
    assert grid.cosets((1,)) == [[0, 2, 4], [1, 3, 5], [6, 8, 10], [7, 9, 11]]
    assert grid.cosets((2, 0)) == [[0, 1, 6, 7], [2, 3, 8, 9], [4, 5, 10, 11]]
    assert grid.cosets((0, 1, 2)) == [list(range(12))]


def _phases(
    kind: CollectiveKind,
    bytes: int,
    dimensions: tuple[int, ...],
    config: SystemConfig,
    compatibility: Compatibility = OURS,
    sizes: tuple[int, ...] = (2, 4, 8),
    *,
    mirrored: bool = False,
) -> list[tuple[int, str, str, int]]:
    """(dimension, kind, algorithm, bytes that a rank brings) of each phase."""
    planner = PhasePlanner(config, Grid(sizes), compatibility)
    phases = planner.phases(kind, bytes, Route(dimensions, bytes, mirrored))
    return [(phase.dimensions[0], phase.kind.value, phase.algorithm, phase.bytes) for phase in phases]


def test_one_dimension_is_one_phase_with_the_algorithm_of_its_collective() -> None:
    config = system(reduce_scatter_implementation="direct", all_gather_implementation="direct3")
    planner = PhasePlanner(config, Grid((8,)), OURS)
    for kind, algorithm, left in ((AR, "ring", 100), (RS, "direct", 13), (AG, "direct3", 800), (A2A, "ring", 100)):
        assert planner.phases(kind, 100, Route((0,), 100)) == (Phase((0,), kind, algorithm, 100, left),)


def test_baseline_runs_the_whole_all_reduce_on_every_dimension() -> None:
    config = system("ring_direct_halvingDoubling")
    assert _phases(AR, 64, (0, 1, 2), config) == [
        (0, "ALLREDUCE", "ring", 64),
        (1, "ALLREDUCE", "direct", 64),
        (2, "ALLREDUCE", "halvingDoubling", 64),
    ]


def test_local_bandwidth_aware_scatters_up_reduces_on_the_last_and_gathers_down() -> None:
    config = system(
        "ring_ring_direct",
        collective_optimization="localBWAware",
        reduce_scatter_implementation="direct_direct_direct",
        all_gather_implementation="ring_direct_ring",
    )
    assert _phases(AR, 64, (0, 1, 2), config) == [
        (0, "REDUCESCATTER", "direct", 64),
        (1, "REDUCESCATTER", "direct", 32),
        (2, "ALLREDUCE", "direct", 8),
        (1, "ALLGATHER", "direct", 8),
        (0, "ALLGATHER", "ring", 32),
    ]
    assert [name for _, _, name, _ in _phases(AR, 64, (0, 1, 2), config, PRESET)] == [
        "ring", "ring", "direct", "ring", "ring"
    ]  # fmt: skip
    assert _phases(AR, 64, (1,), config) == [(1, "ALLREDUCE", "ring", 64)]


def test_a_mirrored_route_has_no_all_reduce() -> None:
    config = system("ring_ring_ring", collective_optimization="localBWAware")
    assert [(dimension, kind, bytes) for dimension, kind, _, bytes in
            _phases(AR, 64, (2, 0, 1), config, mirrored=True)] == [
        (2, "REDUCESCATTER", 64),
        (0, "REDUCESCATTER", 8),
        (1, "REDUCESCATTER", 4),
        (1, "ALLGATHER", 1),
        (0, "ALLGATHER", 4),
        (2, "ALLGATHER", 8),
    ]  # fmt: skip


def test_other_collectives_run_on_one_dimension_after_the_other_as_their_data_grow_or_shrink() -> None:
    config = system("ring_ring_ring", collective_optimization="localBWAware")
    assert [bytes for *_, bytes in _phases(RS, 64, (0, 1, 2), config)] == [64, 32, 8]
    assert [bytes for *_, bytes in _phases(AG, 3, (2, 1, 0), config)] == [3, 24, 96]
    assert [bytes for *_, bytes in _phases(A2A, 64, (0, 2), config)] == [64, 64]


def test_no_byte_is_lost_on_the_way_but_in_the_preset() -> None:
    config = system("ring_ring_ring", collective_optimization="localBWAware")
    assert [bytes for *_, bytes in _phases(AR, 101, (0, 1, 2), config)] == [101, 51, 13, 13, 51]
    assert [bytes for *_, bytes in _phases(AR, 101, (0, 1, 2), config, PRESET)] == [101, 50, 12, 12, 48]


def test_in_the_preset_a_tree_runs_an_all_reduce_of_all_data_whatever_is_asked() -> None:
    config = system("doubleBinaryTree_ring_ring", collective_optimization="localBWAware")
    assert _phases(AR, 64, (0, 1), config, PRESET) == [
        (0, "ALLREDUCE", "doubleBinaryTree", 64),
        (1, "ALLREDUCE", "ring", 64),
        (0, "ALLREDUCE", "doubleBinaryTree", 64),
    ]
    (phase,) = PhasePlanner(config, Grid((2, 4, 8)), OURS).phases(A2A, 64, Route((0,), 64))
    with pytest.raises(InputError, match="'doubleBinaryTree' can't do it"):
        schedule_of(phase, 2)


def test_a_flat_algorithm_is_one_phase_over_all_dimensions_asked_for() -> None:
    config = system("oneRing")
    planned = _planned(config, (2, 1, 8), OURS, None)
    assert planned == [[((0, 2), "oneRing", 0)]] * 4
    assert _planned(config, (2, 4, 8), OURS, (1, 2)) == [[((1, 2), "oneRing", 0)]] * 4
    assert _planned(config, (2, 4, 8), PRESET, (0,)) == [[((0, 1, 2), "oneRing", 0)]] * 4
    assert _planned(config, (2, 4, 8), PRESET, (1, 2)) == []


def test_a_flat_algorithm_has_no_place_in_an_all_reduce_by_dimensions() -> None:
    config = system("ring_ring_ring", collective_optimization="localBWAware", all_gather_implementation="oneRing")
    with pytest.raises(InputError, match=r"'all-gather-implementation': found 'oneRing', but an all-reduce by"):
        _phases(AR, 64, (0, 1, 2), config)


def _planned(
    config: SystemConfig,
    sizes: tuple[int, ...],
    compatibility: Compatibility,
    dimensions: tuple[int, ...] | None,
    kind: CollectiveKind = AR,
    bytes: int = 4096,
) -> list[list[tuple[tuple[int, ...], str, int]]]:
    """(dimensions, algorithm, queue) of each phase of each chunk."""
    planner = CollectivePlanner(config, Grid(sizes), compatibility)
    return [
        [(phase.dimensions, phase.algorithm, phase.queue) for phase in chunk]
        for chunk in planner.chunks(request(kind, bytes, dimensions), 0)
    ]


def test_dimensions_with_one_npu_and_those_not_asked_for_are_left_out() -> None:
    config = system("ring_ring_ring")
    assert _planned(config, (2, 1, 8), OURS, None)[0] == [((0,), "ring", 0), ((2,), "ring", 0)]
    assert _planned(config, (2, 1, 8), OURS, (1, 2))[0] == [((2,), "ring", 0)]
    for dimensions in ((1,), ()):
        assert _planned(config, (2, 1, 8), OURS, dimensions) == []
    assert _planned(config, (2, 1, 8), OURS, None, bytes=0) == []


def test_successive_phases_take_the_queues_in_turn_and_the_second_half_runs_rings_anticlockwise() -> None:
    config = system("ring_ring", collective_optimization="localBWAware", num_queues_per_dim=3)
    planner = CollectivePlanner(config, Grid((2, 2)), OURS)
    chunks = [planner.chunks(request(bytes=64), 0) for _ in range(2)]
    phases = [phase for collective in chunks for chunk in collective for phase in chunk]
    queues = [phase.queue for phase in phases if phase.dimensions == (0,)]
    assert queues == [0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0]
    assert {phase.queue for phase in phases if phase.anticlockwise} == {1, 2}


def test_the_two_trees_of_a_dimension_take_turns_over_all_its_phases() -> None:
    planner = CollectivePlanner(system("doubleBinaryTree", preferred_dataset_splits=3), Grid((4,)), OURS)
    turns = [[chunk[0].turn for chunk in planner.chunks(request(bytes=64), 0)] for _ in range(2)]
    assert turns == [[0, 1, 0], [1, 0, 1]]


@pytest.mark.parametrize("kind", list(KINDS))
@pytest.mark.parametrize("names", ["ring", "ring_ring_ring"])
def test_only_a_collective_that_is_issued_needs_an_algorithm_for_each_dimension(kind: str, names: str) -> None:
    config = system("ring_ring", **{f"{kind}-implementation": names})
    for name in KINDS:
        asked = CollectiveKind(name.upper().replace("-", ""))
        if name == kind:
            expected = rf"'{kind}-implementation': found {names.count('_') + 1} algorithms? \({names}\), expected 2"
            with pytest.raises(InputError, match=expected):
                _planned(config, (2, 4), OURS, None, asked)
        else:
            assert len(_planned(config, (2, 4), OURS, None, asked)) == 4


def test_a_window_wider_than_the_group_is_none() -> None:
    direct = schedule_of(Phase((0,), AR, "direct", 8, 8), 3)
    assert schedule_of(Phase((0,), AR, "direct7", 8, 8), 3) is direct
    assert schedule_of(Phase((0,), AR, "direct1", 8, 8), 3) is not direct


@settings(deadline=None)
@given(collective=st.integers(0, 2**31 - 1), chunk=st.integers(0, 2**24 - 1), phase=st.integers(0, 255))
def test_instance_numbers_fit_63_bits_and_unpack(collective: int, chunk: int, phase: int) -> None:
    instance = pack_instance(collective, chunk, phase)
    assert 0 <= instance < 2**63
    assert unpack_instance(instance) == (collective, chunk, phase)
