"""Who is in which group: against Megatron's rank = tp + TP * (dp + DP * pp), with ep = dp mod EP."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from math import prod

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astra_ns3.config.workload import ParallelGroup, Workload
from astra_ns3.errors import InputError
from astra_ns3.playing.loops.group_communicators import GroupCommunicators
from astra_ns3.system.groups import Grid
from astra_ns3.workload.loops.parallel_groups import parallel_groups
from astra_ns3.workload.loops.parallelism import parallelism_of

LOOP = "SIMAI_TRANSFORMER"
TENSOR, DATA = ParallelGroup.TENSOR, ParallelGroup.DATA
EXPERT, EXPERT_DATA = ParallelGroup.EXPERT, ParallelGroup.EXPERT_DATA


def _workload(tensor: int, experts: int = 1, stages: int = 1, npus: int | None = None) -> Workload:
    return Workload(
        LOOP,
        (),
        source="w",
        model_parallel_npus=tensor,
        expert_parallel_npus=experts,
        pipeline_stages=stages,
        npus=npus,
    )


def _found(workload: Workload, dimensions: tuple[int, ...], group: ParallelGroup) -> set[tuple[int, ...]]:
    groups = parallel_groups(workload, dimensions)
    communicators = GroupCommunicators(groups)
    world = Grid(groups.dimensions)
    found: set[tuple[int, ...]] = set()
    for number in range(groups.stages):
        grid = world.of(communicators.of(group, number))
        found |= {tuple(ranks) for ranks in grid.cosets(groups.ranges[group])}
    return found


def _expected(npus: int, key: Callable[[int], object]) -> set[tuple[int, ...]]:
    members = defaultdict(list)
    for rank in range(npus):
        members[key(rank)].append(rank)
    return {tuple(ranks) for ranks in members.values()}


def _keys(tensor: int, experts: int, data: int) -> dict[ParallelGroup, Callable[[int], object]]:
    def place(rank: int) -> tuple[int, int, int]:
        return rank % tensor, rank // tensor % data, rank // (tensor * data)

    return {
        TENSOR: lambda rank: place(rank)[1:],
        DATA: lambda rank: (place(rank)[0], place(rank)[2]),
        EXPERT: lambda rank: (place(rank)[0], place(rank)[1] // experts, place(rank)[2]),
        EXPERT_DATA: lambda rank: (place(rank)[0], place(rank)[1] % experts, place(rank)[2]),
    }


@st.composite
def _cases(draw: st.DrawFn) -> tuple[int, int, int, int, tuple[int, ...]]:
    """Sizes that are powers of two or three times that, on a network whose lower dimension is a power of two."""
    tensor, experts, stages = (2 ** draw(st.integers(0, 2)) for _ in range(3))
    per_expert = draw(st.sampled_from([1, 2, 3, 4]))
    npus = tensor * experts * per_expert * stages
    inner = draw(st.sampled_from([size for size in (1, 2, 4) if (tensor * experts) % size == 0]))
    return tensor, experts, stages, experts * per_expert, (inner, npus // inner)


@given(case=_cases(), flat=st.booleans())
def test_groups_are_megatrons(case: tuple[int, int, int, int, tuple[int, ...]], *, flat: bool) -> None:
    tensor, experts, stages, data, dimensions = case
    npus = prod(dimensions)
    workload = _workload(tensor, experts, stages)
    for group, key in _keys(tensor, experts, data).items():
        assert _found(workload, (npus,) if flat else dimensions, group) == _expected(npus, key)


def test_sixteen_npus_by_hand() -> None:
    """tp 2, ep 2, 4 NPUs of a data-parallel group, 2 stages: 0 to 7 and 8 to 15."""
    workload = _workload(2, 2, 2)
    assert _found(workload, (16,), TENSOR) == {(n, n + 1) for n in range(0, 16, 2)}
    assert _found(workload, (16,), DATA) == {(n, n + 2, n + 4, n + 6) for n in (0, 1, 8, 9)}
    assert _found(workload, (16,), EXPERT) == {(n, n + 2) for n in (0, 1, 4, 5, 8, 9, 12, 13)}
    assert _found(workload, (16,), EXPERT_DATA) == {(n, n + 4) for n in (0, 1, 2, 3, 8, 9, 10, 11)}


@pytest.mark.parametrize(("experts", "own"), [(1, False), (4, True), (8, True)])
def test_experts_that_are_shared_have_communicators_of_their_own(experts: int, *, own: bool) -> None:
    """Experts that every NPU has are parameters like others, whose gradients travel with theirs."""
    communicators = GroupCommunicators(parallel_groups(_workload(2, experts), (16,)))
    for group in (EXPERT, EXPERT_DATA):
        assert (communicators.of(group, 0) != communicators.of(DATA, 0)) == own


def test_a_data_parallel_collective_is_not_cut_at_the_experts() -> None:
    """On 16 NPUs in one dimension: groups of 2, and one dimension of 8 across them, though ep cuts it in 4 and 2."""
    groups = parallel_groups(_workload(2, 4), (16,))
    assert groups.dimensions == (2, 8, 1)
    assert groups.fine == (2, 4, 2)
    assert groups.ranges[DATA] == (1, 2)


def test_every_part_of_a_dimension_that_is_cut_has_its_bandwidth_and_algorithm() -> None:
    parallelism = parallelism_of(_workload(2, 2, 2), (4, 8))
    assert (parallelism.dimensions, parallelism.parts) == ((2, 2, 4, 2), (2, 2))
    assert parallelism.of_each((100.0, 25.0)) == (100.0, 100.0, 25.0, 25.0)


@pytest.mark.parametrize(
    ("workload", "dimensions", "message"),
    [
        (
            _workload(2, npus=16),
            (8,),
            "w: all_gpus is 16, but the network has 8 NPUs: edit all_gpus, or add --set workload.npus=8",
        ),
        (_workload(3), (8,), r"model_parallel_NPU_group 3 times pp 1 is 3, expected a divisor of the 8 NPUs"),
        (_workload(2, 1, 3), (8,), r"pp 3 is 6, expected a divisor"),
        (_workload(2, 3), (8,), r"ep is 3, expected a divisor of the 4 NPUs of a data-parallel group"),
        (_workload(2), (3, 4), r"don't fit dimensions of 3x4: 2 doesn't divide 3"),
    ],
)
def test_groups_that_do_not_divide_are_told_in_one_line(
    workload: Workload, dimensions: tuple[int, ...], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        parallel_groups(workload, dimensions)
