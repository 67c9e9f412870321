"""Who is in which group of a training: against Megatron's order of ranks, on networks of any dimensions."""

from __future__ import annotations

from math import prod

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astra_ns3.config.training_plan import Degrees, Group
from astra_ns3.errors import InputError
from astra_ns3.playing.training.places import Among, Places
from astra_ns3.system.groups import Grid


def _places(degrees: Degrees, dimensions: tuple[int, ...]) -> Places:
    return Places(degrees, dimensions, "w")


def _found(places: Places, among: Among | None) -> set[tuple[int, ...]]:
    if among is None:
        return set()
    grid = Grid(places.cut.dimensions).of(among.communicator)
    return {tuple(ranks) for ranks in grid.cosets(among.dimensions)}


def _expected(degrees: Degrees, group: Group) -> set[tuple[int, ...]]:
    """Ranks with the same coordinates but for the group's own, of a rank cut into all of its coordinates."""
    members: dict[object, list[int]] = {}
    for rank in range(degrees.npus):
        inner, tensor = divmod(rank, degrees.tensor)
        stage, gradient = divmod(inner, degrees.context * degrees.data)
        data, context = divmod(gradient, degrees.context)
        same_experts, expert = divmod(gradient, degrees.expert)
        rest = {
            Group.TENSOR: (gradient,),
            Group.CONTEXT: (tensor, data),
            Group.DATA: (tensor, context),
            Group.GRADIENT: (tensor,),
            Group.EXPERT: (tensor, same_experts),
            Group.EXPERT_GRADIENT: (tensor, expert),
        }[group]
        members.setdefault((stage, rest), []).append(rank)
    return {tuple(ranks) for ranks in members.values() if len(ranks) > 1}


@st.composite
def _cases(draw: st.DrawFn) -> tuple[Degrees, tuple[int, ...]]:
    """Degrees from 1 to 4, and a network whose dimensions end where groups do, or have several of these in one."""
    tensor, context, data, pipeline = (draw(st.integers(1, 4)) for _ in range(4))
    expert = draw(st.sampled_from([n for n in range(1, context * data + 1) if context * data % n == 0]))
    degrees = Degrees(tensor, context, data, pipeline, expert)
    factors = draw(st.sampled_from([(tensor, context, data, pipeline), (tensor, expert, -1, pipeline)]))
    sizes = [context * data // expert if factor < 0 else factor for factor in factors]
    dimensions = [1]
    for size in sizes:
        if draw(st.booleans()):
            dimensions.append(size)
        else:
            dimensions[-1] *= size
    return degrees, tuple(dimensions)


@given(case=_cases())
def test_groups_are_megatrons(case: tuple[Degrees, tuple[int, ...]]) -> None:
    degrees, dimensions = case
    try:
        places = _places(degrees, dimensions)
    except InputError as error:
        # Context and experts may cut a dimension where the other one's groups go on.
        assert degrees.context > 1
        assert degrees.expert > 1
        assert "don't fit dimensions" in str(error)  # noqa: PT017
        return
    assert prod(places.cut.dimensions) == degrees.npus
    for group in Group:
        found = [_found(places, places.among(group, stage)) for stage in range(degrees.pipeline)]
        assert set().union(*found) == _expected(degrees, group)
    last = (degrees.pipeline - 1) * degrees.stage_npus
    pairs = {(npu, npu + last) for npu in range(degrees.stage_npus)} if last else set()
    assert _found(places, places.ends()) == pairs


def test_a_group_has_one_dimension_in_each_of_the_networks_that_it_reaches_into() -> None:
    """32 NPUs in 16 and 2: tensor 2, context 2, data 4, expert 4, 2 stages.

    In the first dimension tensor begins at 1, context, gradient and expert at 2, data at 4, experts' gradient at 8.
    """
    places = _places(Degrees(2, 2, 4, 2, 4), (16, 2))
    assert (places.cut.dimensions, places.cut.parts) == ((2, 2, 2, 2, 2), (4, 1))
    own = {group: places.among(group, 1) for group in Group}
    sizes = {group: among.communicator.sizes for group, among in own.items() if among is not None}
    numbers = {group: among.dimensions for group, among in own.items() if among is not None}
    assert sizes == {
        Group.TENSOR: (2, 8, 1, 1, 1),
        Group.CONTEXT: (2, 2, 4, 1, 1),
        Group.DATA: (1, 4, 4, 1, 1),
        Group.GRADIENT: (2, 8, 1, 1, 1),
        Group.EXPERT: (2, 4, 2, 1, 1),
        Group.EXPERT_GRADIENT: (1, 1, 8, 2, 1),
    }
    assert numbers == {
        Group.TENSOR: (0,),
        Group.CONTEXT: (1,),
        Group.DATA: (2,),
        Group.GRADIENT: (1,),
        Group.EXPERT: (1,),
        Group.EXPERT_GRADIENT: (3,),
    }


def test_a_group_in_two_dimensions_of_the_network_goes_over_both() -> None:
    places = _places(Degrees(tensor=2, data=8), (4, 4))
    gradient = places.among(Group.GRADIENT, 0)
    assert gradient is not None
    assert (places.cut.dimensions, places.cut.parts) == ((2, 2, 4), (2, 1))
    assert gradient.dimensions == (1, 2)


def test_neighbours_in_a_ring_of_contexts_are_the_next_and_the_one_before() -> None:
    places = _places(Degrees(tensor=2, context=3, data=2, pipeline=2), (24,))
    assert places.turned(Group.CONTEXT, 0, 1).ranks == (2, 3, 4, 5, 0, 1, 8, 9, 10, 11, 6, 7)
    assert places.turned(Group.CONTEXT, 1, -1).ranks == (16, 17, 12, 13, 14, 15, 22, 23, 18, 19, 20, 21)
    assert places.places_in(Group.CONTEXT) == (0, 0, 1, 1, 2, 2, 0, 0, 1, 1, 2, 2)


@pytest.mark.parametrize(
    ("degrees", "dimensions", "message"),
    [
        (Degrees(2, 1, 3), (8,), "w: tensor 2 x context 1 x data 3 x pipeline 1 is 6 NPUs, but the network has 8"),
        (
            Degrees(2, 1, 6),
            (3, 4),
            "w: .* 3x4: 2 doesn't divide 3; dimensions of 2x6 would fit",
        ),
        (
            Degrees(2, 3, 2),
            (4, 3),
            "w: groups of tensor 2 x context 3 = 6 NPUs .*: 4 doesn't divide 6; dimensions of 2x3x2 would fit",
        ),
        (Degrees(1, 1, 6, 2, 2), (3, 4), "w: groups of expert 2 = 2 NPUs don't fit dimensions of 3x4"),
        (Degrees(1, 1, 2, 6), (3, 4), "w: groups of data 2 = 2 NPUs don't fit dimensions of 3x4"),
    ],
)
def test_degrees_that_do_not_fit_are_told_in_one_line(
    degrees: Degrees, dimensions: tuple[int, ...], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        _places(degrees, dimensions)
