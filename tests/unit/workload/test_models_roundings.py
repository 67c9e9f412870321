"""Numbers of models where something doesn't divide, or is shared: each by hand, and no other rounding gives it."""

from __future__ import annotations

import pytest
from support.models import BATCH, HEADS, HIDDEN, SEQUENCE, blocks, layer, small_gpt

from astra_ns3.config.model.parallel import Parallel
from astra_ns3.config.model.routing import Routing
from astra_ns3.config.training_plan import Item, Operation
from astra_ns3.workload.experts.group import ExpertGroup
from astra_ns3.workload.experts.router import Router
from astra_ns3.workload.models.planning import layers_of_parts

HEAD = HIDDEN // HEADS
BYTES = 2
"""Of a number in bfloat16."""


def operation(items: tuple[Item, ...], name: str) -> Operation:
    (found,) = [item for item in items if isinstance(item, Operation) and item.name == name]
    return found


@pytest.mark.parametrize(
    ("layers", "counts"), [(8, (2, 2, 2, 2)), (7, (2, 2, 2, 1)), (6, (1, 2, 2, 1)), (5, (1, 2, 1, 1))]
)
def test_the_last_part_gets_a_layer_fewer_before_the_first_and_these_before_inner_ones(
    layers: int, counts: tuple[int, ...]
) -> None:
    assert layers_of_parts(layers, Parallel(pipeline=4), "") == counts


@pytest.mark.parametrize(("kv_heads", "own"), [(16, 4), (4, 1), (2, 1), (1, 1)])
def test_an_npu_has_one_head_of_keys_and_values_at_least(kv_heads: int, own: int) -> None:
    plan = small_gpt({"kv_heads": kv_heads}, {"tensor": 4}).plan(4)
    made = operation(layer(plan).forward, "query key value")
    outputs = (HEADS // 4 + 2 * own) * HEAD
    assert made.flops == 2 * BATCH * SEQUENCE * HIDDEN * outputs


@pytest.mark.parametrize(("vocabulary", "rows"), [(1000, 250), (1001, 251), (1003, 251), (1004, 251)])
def test_rows_of_the_vocabulary_are_rounded_up(vocabulary: int, rows: int) -> None:
    plan = small_gpt({"vocabulary": vocabulary}, {"tensor": 4}).plan(4)
    (head,) = [block for block in blocks(plan) if block.name == "head"]
    products = [item for item in head.forward if isinstance(item, Operation) and item.flops]
    assert [product.flops for product in products] == [2 * BATCH * SEQUENCE * HIDDEN * rows]


@pytest.mark.parametrize(("kv_heads", "tensor", "own"), [(16, 1, 16), (4, 1, 4), (1, 1, 1), (4, 2, 2), (2, 4, 1)])
def test_fused_attention_moves_keys_and_values_of_their_own_heads_alone(kv_heads: int, tensor: int, own: int) -> None:
    """Queries and outputs of each head of queries; keys and values of each of theirs; back, all of that twice."""
    plan = small_gpt({"kv_heads": kv_heads, "fused_attention": True}, {"tensor": tensor}).plan(tensor)
    numbers = BATCH * SEQUENCE * 2 * HEAD * (HEADS // tensor + own)
    found = layer(plan)
    assert operation(found.forward, "attention").bytes == numbers * BYTES
    assert operation(found.input_gradient, "attention gradient").bytes == 2 * numbers * BYTES


def test_with_latent_attention_the_key_is_turned_once_for_all_heads() -> None:
    """Each head's query has a part that is turned, and all heads share one turned part of the key (DeepSeek-V2)."""
    sizes = {"query_rank": 192, "key_value_rank": 128, "plain_size": 64, "rotary_size": 32, "value_size": 64}
    for tensor in (1, 4):
        plan = small_gpt({"latent": sizes, "positions": "rotary"}, {"tensor": tensor}).plan(tensor)
        numbers = BATCH * SEQUENCE * (HEADS // tensor + 1) * 32
        assert operation(layer(plan).forward, "rotation").bytes == 2 * numbers * BYTES
        assert operation(layer(plan).input_gradient, "rotation gradient").bytes == 2 * numbers * BYTES


def test_without_latent_attention_queries_and_keys_are_turned_whole() -> None:
    plan = small_gpt({"kv_heads": 4, "positions": "rotary"}).plan(1)
    assert operation(layer(plan).forward, "rotation").bytes == 2 * BATCH * SEQUENCE * (HEADS + 4) * HEAD * BYTES


@pytest.mark.parametrize(
    ("tokens", "factor", "most"),
    [
        (100, 1.0, 34),  # 100 x 1 choices among 3 experts: 33.3
        (99, 1.0, 33),
        (100, 1.1, 37),  # 36.67
        (10, 1.5, 5),
    ],
)
def test_the_capacity_of_an_expert_is_rounded_up(tokens: int, factor: float, most: int) -> None:
    """All of a place's tokens want the same expert; what it takes is its capacity."""
    group = ExpertGroup(3, 1, 1, tokens)
    routed = Router(Routing(routing="zipf", skew=10.0, capacity=factor), group).layer(0)
    assert max(routed.rows) == most
    assert routed.dropped == tokens - most
