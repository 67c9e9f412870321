"""Experts that aren't chosen alike, in the plan of a model and when it is played."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.models import flops
from support.training import play

from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.config.core.document import Document
from astra_ns3.config.model.file import parse_model_file
from astra_ns3.config.training_plan import Block, Exchange, Group, Item, Operation, TrainingPlan, Uneven
from astra_ns3.errors import InputError
from astra_ns3.playing.training.model_summary import summary_of
from astra_ns3.report.workload.model import model_document
from astra_ns3.workload.experts.skew import expert_skew
from astra_ns3.workload.models.work import iteration_work
from astra_ns3.workload.models.workload import ModelWorkload

HIDDEN, WIDTH, COUNT, ACTIVE, SEQUENCE, PLACES = 512, 1024, 16, 2, 256, 4
ROW_BYTES = HIDDEN * 2


def workload(tensor: int = 1, sequence: bool = False, **routing: Any) -> ModelWorkload:
    """Four layers, the first without experts, which four NPUs share."""
    experts = {"count": COUNT, "active": ACTIVE, "feed_forward": WIDTH, "first_dense": 1, **routing}
    model = {"layers": 4, "hidden": HIDDEN, "heads": 8, "vocabulary": 1024, "experts": experts}
    data = {
        "kind": "transformer",
        "name": "small",
        "model": model,
        "training": {"sequence": SEQUENCE, "micro_batches": 2},
        "parallel": {"tensor": tensor, "sequence": sequence, "expert": PLACES},
    }
    return ModelWorkload(parse_model_file(Document("small.yaml", data)), "small.yaml")


def layer(plan: TrainingPlan, number: int = 1) -> Block:
    return next(block for chunk in plan.chunks for block in chunk if block.name == f"layer {number}")


def all_to_alls(items: tuple[Item, ...]) -> list[Exchange]:
    return [item for item in items if isinstance(item, Exchange) and item.kind is CollectiveKind.ALL_TO_ALL]


def expert_flops(items: tuple[Item, ...], place: int) -> int:
    """Of products of experts on a place."""
    found = (item.operations[place] if isinstance(item, Uneven) else item for item in items)
    return sum(item.flops for item in found if isinstance(item, Operation) and item.name.startswith("experts"))


def turned(counts: Any) -> Any:
    return tuple(zip(*counts, strict=True))


@pytest.mark.parametrize(("tensor", "sequence"), [(1, False), (2, False), (2, True)])
def test_tokens_go_to_their_experts_and_the_same_way_back(tensor: int, sequence: bool) -> None:
    plan = workload(tensor, sequence, routing="zipf", skew=1.2).plan(PLACES * tensor)
    block = layer(plan)
    there, back = all_to_alls(block.forward)
    rows = SEQUENCE // (tensor if sequence else 1) * ACTIVE
    assert there.group is Group.EXPERT
    assert there.counts is not None
    assert [sum(row) for row in there.counts] == [rows * ROW_BYTES] * PLACES
    assert (there.bytes, back.counts) == (rows * ROW_BYTES, turned(there.counts))
    assert back.counts is not None
    assert back.bytes == max(map(sum, back.counts))
    assert [each.counts for each in all_to_alls(block.input_gradient)] == [there.counts, back.counts]
    assert block.expert_load is not None
    received = [sum(column) // ROW_BYTES for column in turned(there.counts)]
    assert list(block.expert_load.rows) == received


@pytest.mark.parametrize(("tensor", "sequence"), [(1, False), (2, False), (2, True)])
def test_each_place_computes_its_rows_and_all_together_what_they_would_if_all_were_alike(
    tensor: int, sequence: bool
) -> None:
    even = layer(workload(tensor, sequence).plan(PLACES * tensor))
    plan = workload(tensor, sequence, routing="zipf", skew=1.2).plan(PLACES * tensor)
    skewed = layer(plan)
    assert skewed.expert_load is not None
    rows = skewed.expert_load.rows
    for part in ("forward", "input_gradient", "weight_gradient"):
        of_places = [expert_flops(getattr(skewed, part), place) for place in range(PLACES)]
        whole = PLACES * expert_flops(getattr(even, part), 0)
        assert sum(of_places) == whole
        assert of_places == [whole * own // sum(rows) for own in rows]
    assert skewed.parameters == even.parameters
    assert skewed.expert_parameters == even.expert_parameters


def test_layers_have_popular_experts_of_their_own_and_those_without_experts_have_none() -> None:
    plan = workload(routing="zipf").plan(PLACES)
    assert layer(plan, 0).expert_load is None
    assert layer(plan, 1).forward != layer(plan, 2).forward


def test_experts_that_are_chosen_alike_have_no_counts() -> None:
    block = layer(workload().plan(PLACES))
    assert [exchange.counts for exchange in all_to_alls(block.forward)] == [None, None]
    assert block.expert_load is None


def test_a_limit_of_nodes_makes_each_way_one_by_gates() -> None:
    plan = workload(routing="zipf", node_limit=1, npus_per_node=2).plan(PLACES)
    there, back = all_to_alls(layer(plan).forward)
    assert (there.relay is not None, back.counts) == (True, turned(there.counts))
    assert all_to_alls(layer(plan).input_gradient) == [there, back]


def test_scaled_ways_by_gates_keep_what_crosses_within_what_is_for_the_nodes() -> None:
    for scale in (0.5, 0.0101, 1e-9):
        plan = workload(routing="zipf", node_limit=1, npus_per_node=2).scaled(scale).plan(PLACES)
        there, _ = all_to_alls(layer(plan).forward)
        assert there.relay is not None
        assert there.counts is not None
        for nodes, places in zip(there.relay.crossing, there.counts, strict=True):
            for node, size in enumerate(nodes):
                assert max(places[2 * node : 2 * node + 2]) <= size <= sum(places[2 * node : 2 * node + 2])


def test_choices_above_the_capacity_are_neither_sent_nor_computed() -> None:
    block = layer(workload(routing="zipf", skew=1.2, capacity=1.0).plan(PLACES))
    there = all_to_alls(block.forward)[0]
    assert block.expert_load is not None
    assert there.counts is not None
    kept = sum(block.expert_load.rows)
    assert sum(map(sum, there.counts)) == kept * ROW_BYTES
    assert kept + block.expert_load.dropped == PLACES * SEQUENCE * ACTIVE


@pytest.mark.parametrize("scale", [0.5, 2.0, 1e-9])
def test_scaled_counts_keep_their_shares_and_none_gets_lost(scale: float) -> None:
    whole = all_to_alls(layer(workload(routing="zipf").plan(PLACES)).forward)[0]
    scaled = all_to_alls(layer(workload(routing="zipf").scaled(scale).plan(PLACES)).forward)[0]
    assert whole.counts is not None
    assert scaled.counts == tuple(
        tuple(max(1, int(size * scale)) if size else 0 for size in row) for row in whole.counts
    )
    assert scaled.bytes == max(map(sum, scaled.counts))


def test_large_tokens_stay_whole_when_they_are_scaled() -> None:
    """A token has 1,024 bytes here; 0.999 of it are 1,022."""
    scaled = all_to_alls(layer(workload(routing="zipf").scaled(0.999).plan(PLACES)).forward)[0]
    assert scaled.counts is not None
    assert {size % 1022 for row in scaled.counts for size in row} == {0}


def test_nodes_and_tensor_groups_that_do_not_fit_are_refused() -> None:
    with pytest.raises(InputError, match=r"npus_per_node is 3, expected a multiple of parallel.tensor, 2"):
        workload(tensor=2, node_limit=1, npus_per_node=3).plan(PLACES * 2)


def test_a_place_whose_experts_nobody_chooses_computes_nothing(tmp_path: Path) -> None:
    file = tmp_path / "counts.csv"
    file.write_text("expert,tokens\n" + "".join(f"{expert},10\n" for expert in range(4, 16)))
    found = [item for item in layer(workload(routing=str(file)).plan(PLACES)).forward if isinstance(item, Uneven)]
    assert {(each.operations[0].flops, each.operations[0].bytes, each.operations[0].time_ps) for each in found} == {
        (0, 0, 0)
    }
    assert all(operation.bytes for each in found for operation in each.operations[1:])


def test_each_npu_computes_what_its_place_has() -> None:
    """Of 16 NPUs in two stages, with two in a tensor group and four that share experts. A flop or a byte takes a ps."""
    model = workload(tensor=2, sequence=True, routing="zipf", skew=1.5)
    file = model.file.model_copy(update={"parallel": model.file.parallel.model_copy(update={"pipeline": 2})})
    plan = ModelWorkload(file, "small.yaml").plan(2 * PLACES * 2)
    records = play(plan)
    assert records.complete
    for stage in range(2):
        for place in range(PLACES):
            expected = sum(
                max(operation.flops, operation.bytes)
                for chunk in plan.stage(stage)
                for block in chunk
                for items in (block.forward, block.input_gradient, block.weight_gradient)
                for item in items
                for operation in _operations(item, place)
            )
            first = (stage * PLACES + place) * 2
            found = {records.npus[npu].compute_ps for npu in (first, first + 1)}
            updates = {time_ps - plan.micro_batches * expected for time_ps in found}
            assert updates == {_update_ps(plan, stage)}


def _operations(item: Item, place: int) -> list[Operation]:
    if isinstance(item, Uneven):
        return [item.operations[place]]
    return [item] if isinstance(item, Operation) else []


def _update_ps(plan: TrainingPlan, stage: int) -> int:
    """Gradients are read, weights and states both ways: 2 + 2 (2 + 12) bytes of each parameter."""
    blocks = [block for chunk in plan.stage(stage) for block in chunk]
    return 30 * sum(block.parameters + block.expert_parameters for block in blocks)


def computed(found: ModelWorkload) -> int:
    """FLOPs of an iteration as its plan has them, on all places, for all micro-batches."""
    plan = found.plan(PLACES)
    passes = [(block.forward, block.input_gradient, block.weight_gradient) for chunk in plan.chunks for block in chunk]
    items = tuple(item for block in passes for each in block for item in each)
    done = (item.operations[place] if isinstance(item, Uneven) else item for place in range(PLACES) for item in items)
    return plan.micro_batches * flops(tuple(done))


@pytest.mark.parametrize("capacity", [1.25, 0.25])
def test_model_flops_leave_out_what_capacities_drop(capacity: float) -> None:
    every, capped = (workload(routing="zipf", skew=1.2, capacity=most) for most in (None, capacity))
    work = iteration_work(capped, capped.plan(PLACES))
    left_out = computed(every) - computed(capped)
    assert iteration_work(every, every.plan(PLACES)).flops - work.flops == left_out > 0
    shown = (model_document(summary_of(each, [PLACES]))["flops_per_iteration"] for each in (every, capped))
    assert next(shown) - next(shown) == left_out
    layers = expert_skew(capped.plan(PLACES))
    dropped = sum(layer.dropped for layer in layers)
    assert work.dropped_share == dropped / (len(layers) * PLACES * SEQUENCE * ACTIVE)
