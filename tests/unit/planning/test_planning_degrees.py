"""All ways to cut a model: none is missing, none is there twice, and each trains on as many samples."""

from __future__ import annotations

from collections import Counter
from itertools import product
from typing import Any

import pytest
from support.plans import Case, one_switch, rings, small_llama

from astra_ns3.config.core.plain import Json
from astra_ns3.errors import InputError
from astra_ns3.planning.degrees import divisors, is_as_in, space_of
from astra_ns3.workload.models.changes import changed
from astra_ns3.workload.models.workload import ModelWorkload

NPUS, SAMPLES = 4, 2
POWERS = (1, 2, 4)
SCHEDULES = ("gpipe", "1f1b", "interleaved", "zero-bubble")


def case_of(workload: ModelWorkload, npus: int = NPUS) -> Case:
    return Case(workload, rings(), one_switch(npus))


def key_of(workload: ModelWorkload) -> tuple[object, ...]:
    """What tells plans apart, read off the file itself."""
    cut, training = workload.file.parallel, workload.file.training
    again = getattr(training, "recompute", "none")
    words = (cut.tensor, cut.sequence, cut.context, cut.pipeline, cut.virtual_stages, cut.schedule, cut.expert)
    return (*words, cut.zero, training.micro_batch, again)


def accepted(workload: ModelWorkload, keys: dict[str, Json]) -> ModelWorkload | None:
    try:
        found = changed(workload, keys)
        found.plan(NPUS)
    except InputError:
        return None
    return found


def all_by_brute_force(base: ModelWorkload, experts: tuple[int, ...]) -> set[tuple[object, ...]]:
    """Every set of keys that the model's file and its planning accept, without those that say the same twice."""
    found, layers = set(), base.totals().layers
    degrees = product(POWERS, POWERS, POWERS, experts)
    orders = list(product(SCHEDULES, (1, 2, 4), (0, 1, 2, 3), (False, True)))
    for (tensor, context, pipeline, expert), (schedule, virtual, zero, sequence) in product(degrees, orders):
        if NPUS % (tensor * context * pipeline) or (virtual > 1) != (schedule == "interleaved"):
            continue
        says_nothing = (
            (sequence and tensor == 1)
            or (zero and tensor * pipeline == NPUS)
            or (pipeline == 1 and schedule != "1f1b")
            or (virtual > 1 and layers % (pipeline * virtual))
        )
        for micro_batch, again in product(POWERS, ("none", "full")) if not says_nothing else ():
            cut = {"tensor": tensor, "context": context, "pipeline": pipeline, "expert": expert, "zero": zero}
            keys: dict[str, Any] = {f"parallel.{name}": value for name, value in cut.items()}
            keys |= {"parallel.schedule": schedule, "parallel.virtual_stages": virtual, "parallel.sequence": sequence}
            made = accepted(base, {**keys, "training.micro_batch": micro_batch, "training.recompute": again})
            if made is not None:
                found.add(key_of(made))
    return found


EXPERTS = {"experts": {"count": 2, "active": 1, "feed_forward": 64}}


@pytest.mark.parametrize(
    ("model", "experts"), [({}, (1,)), ({"layers": 3, "heads": 2}, (1,)), ({"layers": 2, **EXPERTS}, (1, 2, 4))]
)
def test_choices_are_all_that_the_file_and_its_planning_accept(model: dict[str, Any], experts: tuple[int, ...]) -> None:
    base = small_llama(model, samples=SAMPLES)
    case = case_of(base)
    space = case.space
    found = Counter(key_of(changed(space.workload, choice.keys)) for choice in case.choices(space))
    assert set(found) == all_by_brute_force(base, experts)
    assert max(found.values()) == 1


def test_selective_recomputing_is_a_choice_where_scores_are_kept() -> None:
    kept = case_of(small_llama({"fused_attention": False}, samples=SAMPLES))
    again = {choice.cell.shape.recompute for choice in kept.choices(kept.space)}
    assert again == {"none", "selective", "full"}
    fused = case_of(small_llama(samples=SAMPLES))
    assert {choice.cell.shape.recompute for choice in fused.choices(fused.space)} == {"none", "full"}


def test_each_choice_has_a_name_of_its_own_and_trains_on_as_many_samples() -> None:
    case = case_of(small_llama({"experts": {"count": 4, "active": 1, "feed_forward": 64}}, samples=8))
    space = case.space
    choices = case.choices(space)
    assert len({choice.name for choice in choices}) == len(choices)
    for choice in choices[::7]:
        plan = changed(space.workload, choice.keys).plan(NPUS)
        assert plan.micro_batches * choice.cell.shape.file.training.micro_batch * plan.degrees.data == 8


def test_a_name_says_what_is_cut_and_leaves_out_what_is_not() -> None:
    case = case_of(small_llama(samples=4))
    names = {choice.name for choice in case.choices(case.space)}
    assert "data 4, micro-batch 1" in names
    assert "tensor 2 sequence, pipeline 2 1f1b, micro-batch 4, recompute full" in names
    assert "pipeline 2 x 2 interleaved, data 2, zero 1, micro-batch 1" in names


def test_samples_are_those_of_the_files_own_degrees() -> None:
    training = {"sequence": 256, "micro_batch": 2, "micro_batches": 3}
    given = small_llama(parallel={"tensor": 2})
    workload = changed(
        given, {f"training.{name}": value for name, value in training.items()} | {"training.global_batch": None}
    )
    assert space_of(workload, 8).samples == 2 * 3 * 4  # of a micro-batch, micro-batches, copies of the model


def test_degrees_that_do_not_fit_ask_for_the_samples() -> None:
    workload = changed(
        small_llama(parallel={"tensor": 4}), {"training.global_batch": None, "training.micro_batches": 2}
    )
    with pytest.raises(InputError, match=r"divisor of the 6 there are.*name training.global_batch"):
        space_of(workload, 6)


def test_a_given_number_of_samples_needs_no_degrees_that_fit() -> None:
    assert space_of(small_llama(parallel={"tensor": 4}, samples=12), 6).samples == 12


@pytest.mark.parametrize(
    ("key", "value"), [("offload.optimizer", {"to": "remote"}), ("offload.weights", {}), ("checkpoint", {"every": 1})]
)
def test_memory_beyond_the_device_has_no_plan(key: str, value: dict[str, object]) -> None:
    name, _, part = key.partition(".")
    with pytest.raises(InputError, match=rf"small.yaml: key '{key}': plans have all memory on the device"):
        space_of(small_llama(**{name: {part: value} if part else value}), 4)


def test_parameter_servers_have_no_plan() -> None:
    with pytest.raises(InputError, match=r"small.yaml: key 'parallel.servers': found 1, expected 0"):
        space_of(small_llama(parallel={"servers": 1}), 5)


def test_divisors_ascend() -> None:
    assert divisors(12) == (1, 2, 3, 4, 6, 12)


HELD = {"parallel.tensor": 2, "parallel.sequence": True, "parallel.zero": 1, "training.recompute": "full"}


@pytest.mark.parametrize("held", [{key: value} for key, value in HELD.items()] + [HELD, {"parallel.schedule": "gpipe"}])
def test_choices_with_held_keys_are_those_of_all_that_have_them(held: dict[str, Json]) -> None:
    case = case_of(small_llama(samples=SAMPLES))
    names = {choice.name for choice in case.choices(case.space) if held.items() <= choice.keys.items()}
    assert names
    held_space = space_of(case.workload, NPUS, held)
    assert {choice.name for choice in case.choices(held_space)} == names


def test_a_key_that_is_never_chosen_can_not_be_held() -> None:
    with pytest.raises(InputError, match=r"key 'parallel.tensr' is not one of .*; did you mean 'parallel.tensor'\?"):
        space_of(small_llama(), NPUS, {"parallel.tensr": 2})


@pytest.mark.parametrize(
    ("parallel", "name"),
    [
        ({}, "data 4, micro-batch 1"),
        ({"tensor": 2, "sequence": True, "zero": 2}, "tensor 2 sequence, data 2, zero 2, micro-batch 1"),
        ({"sequence": True, "schedule": "gpipe"}, "data 4, micro-batch 1"),
        ({"pipeline": 2, "schedule": "gpipe"}, "pipeline 2 gpipe, data 2, micro-batch 1"),
        ({"tensor": 4, "zero": 3}, "tensor 4, micro-batch 1"),
    ],
)
def test_the_degrees_of_the_file_are_one_choice(parallel: dict[str, Any], name: str) -> None:
    """Keys that change nothing, such as ZeRO where nobody has the same weights, don't count."""
    workload = small_llama(samples=4, parallel=parallel)
    case = case_of(workload)
    assert [choice.name for choice in case.choices(case.space) if is_as_in(choice, workload)] == [name]


@pytest.mark.parametrize(
    ("cut", "layers"),
    [
        ({"pipeline": 2}, [3, 1]),
        ({"pipeline": 4, "schedule": "gpipe"}, [0, 2, 1, 1]),
        ({"pipeline": 2, "virtual_stages": 3, "schedule": "interleaved"}, [1, 1, 1, 1, 0, 0]),
    ],
)
def test_layers_of_parts_stay_as_the_file_has_them_where_a_choice_has_as_many(
    cut: dict[str, Any], layers: list[int]
) -> None:
    workload = small_llama(samples=4, parallel={**cut, "layers_per_part": layers})
    case = case_of(workload)
    space = case.space
    plans = {each: changed(space.workload, each.keys) for each in case.choices(space)}
    (own,) = (each for each in plans if is_as_in(each, workload))
    assert plans[own].plan(NPUS).chunks == workload.plan(NPUS).chunks
    assert f" of {'+'.join(map(str, layers))} layers," in own.name
    found = {(each.file.parallel.parts, each.file.parallel.layers_per_part) for each in plans.values()}
    assert found == {(parts, tuple(layers) if parts == len(layers) else None) for parts in {1, 2, 4, len(layers)}}


def test_layers_of_parts_that_do_not_add_up_are_refused() -> None:
    with pytest.raises(InputError, match=r"layers_per_part has 2 entries of together 5 layers, expected 2 .* 4"):
        space_of(small_llama(parallel={"pipeline": 2, "layers_per_part": [3, 2]}), NPUS)
