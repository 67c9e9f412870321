"""Over which dimensions each pass of a layer communicates, and how groups of NPUs cut the grid."""

from __future__ import annotations

from math import prod

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.config.workload import Layer, Pass, PassKind, Workload
from astra_ns3.errors import InputError
from astra_ns3.playing.dry_run.counting import collective_requests
from astra_ns3.playing.loops.loop_programs import Programs
from astra_ns3.playing.loops.unissued import uncomputed_passes, unissued_collectives
from astra_ns3.workload.grids.npu_groups import split_dimensions
from astra_ns3.workload.loops.parallelism import parallelism_of

GATHER = Pass(1, CollectiveKind.ALL_GATHER, 10)


def _layer(policy: str | None = None) -> Layer:
    return Layer("layer", GATHER, GATHER, GATHER, policy=policy)


def _covered(workload: Workload, layer: int, dimensions: tuple[int, ...]) -> tuple[tuple[int, ...] | None, ...]:
    """Dimensions of a layer's forward, input-gradient and weight-gradient collective."""
    rows = parallelism_of(workload, dimensions).layers
    kinds = (PassKind.FORWARD, PassKind.INPUT_GRADIENT, PassKind.WEIGHT_GRADIENT)
    return tuple(rows[layer][kind] for kind in kinds)


BY_LOOP = [
    ("DATA", ((), (), None)),
    ("MICRO", ((), (), None)),
    ("MODEL", (None, None, ())),
    ("DISTRIBUTED_INFERENCE", (None, None, ())),
    ("HYBRID_DATA_MODEL", ((0,), (0,), (1, 2))),
    ("HYBRID_MODEL_DATA", ((1, 2), (1, 2), (0,))),
]


@pytest.mark.parametrize(("loop", "expected"), BY_LOOP)
def test_each_loop_has_its_dimensions(loop: str, expected: tuple[tuple[int, ...] | None, ...]) -> None:
    assert _covered(Workload(loop, (_layer(),)), 0, (4, 2, 8)) == expected


@pytest.mark.parametrize(("policy", "expected"), BY_LOOP)
def test_a_customised_layer_has_the_dimensions_of_the_loop_it_names(
    policy: str, expected: tuple[tuple[int, ...] | None, ...]
) -> None:
    workload = Workload("HYBRID_CUSTOMIZED", (_layer("MODEL"), _layer(policy)))
    assert _covered(workload, 0, (4, 2, 8)) == (None, None, ())
    assert _covered(workload, 1, (4, 2, 8)) == expected


def test_layer_0_of_dlrm_goes_over_all_dimensions_and_the_others_reduce_gradients_only() -> None:
    workload = Workload("HYBRID_DLRM", (_layer(), _layer(), _layer()), last_bottom_layer=0)
    assert _covered(workload, 0, (4, 2)) == (None, None, None)
    assert _covered(workload, 1, (4, 2)) == ((), (), None)


def test_a_customised_layer_without_a_known_policy_is_an_input_error() -> None:
    with pytest.raises(InputError, match=r"w: policy 'DATTA' of layer 'layer' is not one of .*mean 'DATA'\?"):
        parallelism_of(Workload("HYBRID_CUSTOMIZED", (_layer("DATTA"),), source="w"), (4,))
    with pytest.raises(InputError, match="policy 'None' of layer 'layer'"):
        parallelism_of(Workload("HYBRID_CUSTOMIZED", (_layer(),)), (4,))


def test_what_goes_over_no_dimension_of_more_than_one_npu_is_a_warning() -> None:
    workload = Workload("HYBRID_DATA_MODEL", (_layer(), _layer()), source="w")
    among_one = (
        "w: the weight gradient ALLGATHER of 2 layers: 'layer', 'layer' goes over no dimension of more than one NPU, "
        "so nothing is sent"
    )
    never = "w: loop HYBRID_DATA_MODEL never issues the input gradient ALLGATHER of layer 'layer'"
    assert unissued_collectives(workload, (8,)) == unissued_collectives(workload, (8, 1)) == [never, among_one]
    assert unissued_collectives(workload, (4, 2)) == [never]
    assert unissued_collectives(workload, (1,)) == unissued_collectives(workload, (1, 1)) == [never]
    transformer = Workload("HYBRID_TRANSFORMER", (_layer(),), model_parallel_npus=8, source="w")
    assert [line.split(" ALL")[0] for line in unissued_collectives(transformer, (8,))] == ["w: the weight gradient"]
    assert unissued_collectives(transformer, (16,)) == []


def test_a_loop_without_groups_ignores_those_of_the_loop_before() -> None:
    workload = Workload("DATA", (_layer(),), model_parallel_npus=4)
    assert parallelism_of(workload, (8,)) == parallelism_of(Workload("DATA", (_layer(),)), (8,))


def test_compute_times_that_a_loop_never_plays_are_a_warning() -> None:
    layers = (_layer(), _layer())

    def told(loop: str, bottom: int | None = None, npus: int | None = None) -> list[str]:
        workload = Workload(loop, layers, last_bottom_layer=bottom, model_parallel_npus=npus, source="w")
        return uncomputed_passes(workload, (8,))

    both, second = "2 layers: 'layer', 'layer'", "layer 'layer'"
    backward = [f"weight gradient of {both}", f"input gradient of {second}"]
    assert told("MICRO") == [
        f"w: loop MICRO leaves out the compute time of the {part}" for part in [f"forward of {both}", *backward]
    ]
    assert told("DISTRIBUTED_INFERENCE") == [
        f"w: loop DISTRIBUTED_INFERENCE leaves out the compute time of the {part}" for part in backward
    ]
    for loop in ("DATA", "MODEL", "HYBRID_DATA_MODEL", "HYBRID_MODEL_DATA"):
        assert told(loop) == []
    assert told("HYBRID_DLRM", bottom=0) == told("HYBRID_TRANSFORMER", npus=8) == []
    nothing = Pass(0, CollectiveKind.ALL_REDUCE, 10)
    assert uncomputed_passes(Workload("MICRO", (Layer("layer", nothing, nothing, nothing),)), (8,)) == []


def test_what_is_issued_names_its_dimensions() -> None:
    workload = Workload("HYBRID_CUSTOMIZED", (_layer("DATA"), _layer("HYBRID_DATA_MODEL")))
    requests = collective_requests(Programs.of(workload, 1, (4, 2)))
    assert [(request.label.layer, request.label.part, request.dimensions) for request in requests] == [
        (0, "forward", ()),
        (1, "forward", (0,)),
        (1, "input gradient", (0,)),
        (1, "weight gradient", (1,)),
        (0, "weight gradient", None),
    ]


@pytest.mark.parametrize(
    ("dimensions", "group", "expected", "cut"),
    [
        ((8,), 1, ((8,), (), (0,)), None),
        ((8,), 8, ((8,), (0,), ()), None),
        ((8,), 4, ((4, 2), (0,), (1,)), 0),
        ((2, 8, 2), 4, ((2, 2, 4, 2), (0, 1), (2, 3)), 1),
        ((2, 8, 2), 16, ((2, 8, 2), (0, 1), (2,)), None),
        ((2, 8, 2), 32, ((2, 8, 2), (0, 1, 2), ()), None),
        ((4, 1, 6), 12, ((4, 1, 3, 2), (0, 1, 2), (3,)), 2),
    ],
)
def test_a_group_takes_the_lowest_dimensions_and_cuts_the_one_it_ends_in(
    dimensions: tuple[int, ...], group: int, expected: tuple[tuple[int, ...], ...], cut: int | None
) -> None:
    split = split_dimensions(dimensions, group)
    assert tuple(split) == expected
    assert split.cut(dimensions) == cut


@pytest.mark.parametrize(("dimensions", "group"), [((4,), 3), ((4,), 8), ((3, 4), 4), ((2, 6), 8), ((4,), 0)])
def test_a_group_that_does_not_fit_is_an_input_error(dimensions: tuple[int, ...], group: int) -> None:
    with pytest.raises(InputError, match=f"^w: model_parallel_NPU_group is {group}, "):
        parallelism_of(Workload("HYBRID_TRANSFORMER", (_layer(),), source="w", model_parallel_npus=group), dimensions)


@given(st.lists(st.integers(1, 6), min_size=1, max_size=4), st.integers(1, 100))
def test_every_group_has_its_size_and_no_npu_is_lost(dimensions: list[int], group: int) -> None:
    try:
        split = split_dimensions(dimensions, group)
    except InputError:
        return
    sizes = split.logical_dimensions
    assert prod(sizes) == prod(dimensions)
    assert prod(sizes[dimension] for dimension in split.model_dimensions) == group
    assert (*split.model_dimensions, *split.data_dimensions) == tuple(range(len(sizes)))
    assert len(sizes) - len(dimensions) == (split.cut(dimensions) is not None)


def test_a_transformers_activations_stay_in_the_group() -> None:
    workload = Workload("HYBRID_TRANSFORMER", (_layer(),), model_parallel_npus=4)
    parallelism = parallelism_of(workload, (2, 8))
    assert (parallelism.dimensions, parallelism.cut) == ((2, 2, 4), 1)
    assert parallelism.of_each((100.0, 25.0)) == (100.0, 25.0, 25.0)
    assert _covered(workload, 0, (2, 8)) == ((0, 1), (0, 1), (2,))
    assert _covered(workload, 0, (4, 8)) == ((0,), (0,), (1,))
