"""Transformers with experts: what they send and compute, by formulas written here."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from support.models import BATCH, HIDDEN, LAYERS, SEQUENCE, exchanged, exchanges, layer, small_gpt

from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.config.training_plan import Block, Group, Item, Operation, TrainingPlan, Uneven
from astra_ns3.errors import InputError

EXPERTS, ACTIVE, WIDTH = 8, 2, 512
ALL_TO_ALL = CollectiveKind.ALL_TO_ALL


def plan_of(experts: dict[str, Any] | None = None, *, npus: int = 8, **parallel: Any) -> TrainingPlan:
    """A small GPT with experts."""
    keys = {"count": EXPERTS, "active": ACTIVE, "feed_forward": WIDTH, **(experts or {})}
    return small_gpt({"experts": keys, "biases": False}, parallel).plan(npus)


def in_place(item: Item, place: int) -> Item:
    """What a place of a group does of it."""
    return item.operations[place] if isinstance(item, Uneven) else item


def expert_flops(block: Block, place: int = 0) -> int:
    """Of the products of experts in a forward pass."""
    done = (in_place(item, place) for item in block.forward)
    return sum(item.flops for item in done if isinstance(item, Operation) and item.name.startswith("experts "))


@pytest.mark.parametrize("expert", [1, 2, 8])
def test_tokens_go_to_their_experts_and_back_in_each_direction(expert: int) -> None:
    found = layer(plan_of(expert=expert))
    sent = BATCH * SEQUENCE * ACTIVE * HIDDEN * 2
    expected = Counter({(ALL_TO_ALL, sent): 2} if expert > 1 else {})
    assert exchanged(found.forward, Group.EXPERT) == expected
    assert exchanged(found.input_gradient, Group.EXPERT) == expected
    assert found.expert_parameters == EXPERTS // expert * 2 * HIDDEN * WIDTH
    assert expert_flops(found) == BATCH * SEQUENCE * ACTIVE * 2 * 2 * HIDDEN * WIDTH


@pytest.mark.parametrize("expert", [1, 4])
def test_a_product_of_experts_moves_the_weights_of_each_of_them(expert: int) -> None:
    """Rows in, rows out, and the matrix of every expert that the NPU has; numbers of two bytes."""
    (up,) = [item for item in layer(plan_of(expert=expert)).forward if getattr(item, "name", "") == "experts up"]
    rows, own = BATCH * SEQUENCE * ACTIVE, EXPERTS // expert
    assert isinstance(up, Operation)
    assert up.bytes == 2 * (rows * (HIDDEN + WIDTH) + own * HIDDEN * WIDTH)


def test_a_tensor_group_sends_its_own_tokens_and_gathers_what_each_got() -> None:
    tensor = 2
    found = layer(plan_of(tensor=tensor, sequence=True, expert=4))
    sent = BATCH * SEQUENCE // tensor * ACTIVE * HIDDEN * 2
    assert exchanged(found.forward, Group.EXPERT) == Counter({(ALL_TO_ALL, sent): 2})
    whole = BATCH * SEQUENCE * HIDDEN * 2
    attention = {(CollectiveKind.ALL_GATHER, whole // tensor): 1, (CollectiveKind.REDUCE_SCATTER, whole): 1}
    routed = {(CollectiveKind.ALL_GATHER, sent): 1, (CollectiveKind.REDUCE_SCATTER, sent * tensor): 1}
    assert exchanged(found.forward, Group.TENSOR) == Counter(attention) + Counter(routed)
    assert expert_flops(found) == BATCH * SEQUENCE * ACTIVE * 2 * 2 * HIDDEN * WIDTH // tensor


def test_first_layers_without_experts_have_an_ordinary_network() -> None:
    plan = plan_of({"first_dense": 1, "every": 2}, expert=8)
    with_experts = [number for number in range(LAYERS) if layer(plan, number).expert_parameters]
    assert with_experts == [2]
    assert layer(plan, 1).parameters - layer(plan, 2).parameters == 2 * HIDDEN * 4 * HIDDEN - EXPERTS * HIDDEN


def test_uneven_routing_keeps_all_rows_and_the_way_back_is_the_way_there_turned_round() -> None:
    found = layer(plan_of({"routing": "zipf", "skew": 1.2}, expert=4))
    row = HIDDEN * 2
    there, back = exchanges(found.forward, Group.EXPERT)
    assert there.counts is not None
    assert back.counts == tuple(zip(*there.counts, strict=True))
    assert {sum(sent) for sent in there.counts} == {BATCH * SEQUENCE * ACTIVE * row}
    received = [sum(column) // row for column in zip(*there.counts, strict=True)]
    assert len(set(received)) > 1
    assert found.expert_load is not None
    assert list(found.expert_load.rows) == received
    assert [expert_flops(found, place) for place in range(4)] == [rows * 4 * HIDDEN * WIDTH for rows in received]
    assert [item.counts for item in exchanges(found.input_gradient, Group.EXPERT)] == [there.counts, back.counts]


def test_a_capacity_drops_what_is_above_it() -> None:
    found = layer(plan_of({"routing": "zipf", "skew": 1.2, "capacity": 1.0}, expert=8))
    assert found.expert_load is not None
    places, choices = 8, BATCH * SEQUENCE * ACTIVE
    assert found.expert_load.dropped > 0
    assert sum(found.expert_load.rows) + found.expert_load.dropped == places * choices
    assert max(found.expert_load.rows) <= places * choices // EXPERTS


def test_a_node_limit_sends_by_way_of_each_node() -> None:
    found = layer(plan_of({"node_limit": 1, "npus_per_node": 2}, expert=4))
    there, back = exchanges(found.forward, Group.EXPERT)
    assert there.relay is not None
    assert back.relay is not None
    # Every token goes to one node, once, and home again.
    assert {sum(row) for row in there.relay.crossing} == {BATCH * SEQUENCE * HIDDEN * 2}
    assert back.relay == replace(there.relay, gathers=True)
    assert there.counts is not None
    assert back.counts == tuple(zip(*there.counts, strict=True))


@pytest.mark.parametrize("form", [{}, {"form": "normal"}])
def test_numbers_on_the_way_have_their_own_size(form: dict[str, str]) -> None:
    """FP8 with four bytes for 128 numbers, whose last group may be smaller; BF16 on the way back."""
    there_bytes, back_bytes = HIDDEN + -(-HIDDEN // 128) * 4, 2 * HIDDEN
    keys = {"dispatch": {**form, "values": "fp8", "overhead": "40us"}, **({"npus_per_node": 2} if form else {})}
    found = layer(plan_of(keys, expert=4))
    there, back = exchanges(found.forward, Group.EXPERT)
    if there.counts is None or back.counts is None:
        rows = BATCH * SEQUENCE * ACTIVE
        assert (there.bytes, back.bytes) == (rows * there_bytes, rows * back_bytes)
    else:
        assert {size % there_bytes for row in there.counts for size in row} == {0}
        turned = zip(*there.counts, strict=True)
        assert back.counts == tuple(tuple(size // there_bytes * back_bytes for size in row) for row in turned)
    starts = [item for item in found.forward if isinstance(item, Operation) and item.name == "dispatch overhead"]
    assert [item.time_ps for item in starts] == [40_000_000] * 2


def test_nodes_that_end_inside_a_tensor_group_are_refused() -> None:
    with pytest.raises(InputError, match=r"npus_per_node is 3, expected a multiple of parallel\.tensor, 2"):
        plan_of({"node_limit": 1, "npus_per_node": 3}, tensor=2, sequence=True, expert=4)
