"""Transformers with experts: what they send and compute, by formulas written here."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
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


def test_a_node_limit_sends_by_way_of_each_node(tmp_path: Path) -> None:
    found = layer(plan_of({"node_limit": 1, "npus_per_node": 2}, expert=4))
    across, within, back_within, back_across = exchanges(found.forward, Group.EXPERT)
    assert across.counts is not None
    # Every token goes to one node, once.
    assert {sum(row) for row in across.counts} == {BATCH * SEQUENCE * HIDDEN * 2}
    assert within.counts is not None
    nodes = [0, 0, 1, 1]
    assert all(not size or nodes[a] == nodes[b] for a, row in enumerate(within.counts) for b, size in enumerate(row))
    assert back_within.counts == tuple(zip(*within.counts, strict=True))
    assert back_across.counts == tuple(zip(*across.counts, strict=True))


def test_nodes_that_end_inside_a_tensor_group_are_refused() -> None:
    with pytest.raises(InputError, match=r"npus_per_node is 3, expected a multiple of parallel\.tensor, 2"):
        plan_of({"node_limit": 1, "npus_per_node": 3}, tensor=2, sequence=True, expert=4)
