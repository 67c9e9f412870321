"""Keys of a model file that change nothing are told, with the reason; those that do, or that nobody gave, are not."""

from __future__ import annotations

from typing import Any

import pytest
from support.models import GPT, model_of, small_gpt


def told(parallel: dict[str, Any], npus: int = 1) -> str:
    """The warning, without the keys' file."""
    found = [each for each in small_gpt({"fused_attention": True}, parallel).warnings(npus) if "without effect" in each]
    assert len(found) <= 1
    return found[0].split("without effect: ")[1] if found else ""


@pytest.mark.parametrize(
    ("parallel", "npus", "expected"),
    [
        ({"sequence": True}, 1, "parallel.sequence (tensor is 1)"),
        ({"gather_inputs_again": True, "tensor": 2}, 2, "parallel.gather_inputs_again (sequence is off)"),
        ({"gather_inputs_again": False, "tensor": 2}, 2, "parallel.gather_inputs_again (sequence is off)"),
        ({"overlap_tensor": True}, 1, "parallel.overlap_tensor (tensor is 1)"),
        ({"context_by": "all-gather"}, 1, "parallel.context_by (context is 1)"),
        ({"bucket": "1MB"}, 1, "parallel.bucket (nobody else has the same weights)"),
        ({"overlap": False}, 1, "parallel.overlap (nobody else has the same weights)"),
        ({"zero": 3, "tensor": 2}, 2, "parallel.zero (nobody else has the same weights)"),
        ({"prefetch": 3, "keep_gathered": True, "zero": 2}, 2, "parallel.prefetch (zero is 2), parallel.keep_gathered"),
    ],
)
def test_a_key_without_effect_is_told_with_its_reason(parallel: dict[str, Any], npus: int, expected: str) -> None:
    assert told(parallel, npus).startswith(expected)


def test_keys_that_count_and_keys_that_nobody_gave_are_not_told() -> None:
    assert told({}) == ""
    assert told({"tensor": 2, "sequence": True, "gather_inputs_again": False, "overlap_tensor": True}, 2) == ""
    assert told({"bucket": "1MB", "overlap": False, "zero": 3, "prefetch": 2, "keep_gathered": True}, 2) == ""
    assert told({"context": 2, "context_by": "ring"}, 2) == ""
    assert told({"zero": 1}, 2) == told({"zero": 0, "tensor": 2}, 2) == ""


@pytest.mark.parametrize(("by", "expected"), [("ring", True), ("all-gather", False)])
def test_attention_of_a_ring_is_fused_whatever_the_file_says_and_keeps_no_scores(by: str, expected: bool) -> None:
    found = small_gpt({"fused_attention": False}, {"context": 2, "context_by": by}, recompute="selective").warnings(2)
    reason = "a ring's attention keeps no scores"
    told_of = [f"training.recompute: selective ({reason})", f"model.fused_attention ({reason})"]
    assert [any(key in each for each in found) for key in told_of] == [expected, expected]


def test_zero_shards_what_lies_beyond_the_device_also_where_nobody_has_the_same_weights() -> None:
    def told_of(offload: dict[str, Any]) -> bool:
        data = {"kind": "transformer", "name": "m", "model": GPT, "training": {"sequence": 64, "micro_batches": 2}}
        data |= {"parallel": {"pipeline": 2, "zero": 3}, "offload": offload}
        return any("parallel.zero" in words for words in model_of(data).warnings(2))

    assert told_of({})
    assert not told_of({"weights": {"to": "remote"}})


ROUTED = {"count": 8, "active": 2, "feed_forward": 256}
BY_NODE = {"dispatch": {"form": "normal"}, "npus_per_node": 2}
LOW_LATENCY = {"form": "low-latency"}


@pytest.mark.parametrize(
    ("experts", "expert", "expected"),
    [
        ({"routing": "zipf", "skew": 2, "seed": 3}, 1, "routing (expert is 1), skew (expert is 1), seed (expert is 1)"),
        ({"node_limit": 1, "npus_per_node": 1}, 1, "node_limit (expert is 1), npus_per_node (expert is 1)"),
        ({"seed": 3}, 4, "seed (nothing is drawn)"),
        ({"capacity": 1.0}, 4, "capacity (all experts are chosen alike)"),
        ({"routing": "zipf", "skew": 0, "seed": 2}, 4, "seed (nothing is drawn)"),
        ({"dispatch": LOW_LATENCY, "npus_per_node": 2}, 4, "npus_per_node (dispatch.form isn't normal)"),
        ({"dispatch": LOW_LATENCY, "npus_per_node": 2, "node_limit": 1}, 4, ""),
        ({"capacity": 0.5}, 1, ""),
        ({"routing": "zipf", "skew": 2, "seed": 3}, 4, ""),
        ({"routing": "zipf", "capacity": 1.5, "seed": 3}, 1, ""),
        ({"routing": "zipf", "capacity": 3.9}, 4, ""),
        ({"routing": "zipf", "capacity": 4.0}, 4, "capacity (no expert is chosen so often)"),
        ({**BY_NODE, "node_limit": 2}, 4, "node_limit (experts are on no more nodes)"),
        ({**BY_NODE, "node_limit": 1}, 4, ""),
        ({"node_limit": 2, "npus_per_node": 2}, 4, ""),
        ({}, 4, ""),
    ],
)
def test_keys_of_routing_without_effect_are_told(experts: dict[str, Any], expert: int, expected: str) -> None:
    model = small_gpt({"experts": {**ROUTED, **experts}}, {"expert": expert})
    (words,) = [each.split("without effect: ")[1] for each in model.warnings(4) if "without effect" in each] or [""]
    assert words.replace("model.experts.", "") == expected


@pytest.mark.parametrize(
    ("experts", "expected"),
    [({}, True), ({"first_dense": 1}, False), ({"every": 2}, False), (None, False)],
)
def test_the_width_of_a_dense_layer_is_told_where_all_layers_have_experts(
    experts: dict[str, Any] | None, expected: bool
) -> None:
    changes = {} if experts is None else {"experts": {**ROUTED, **experts}}
    models = [small_gpt({**changes, "feed_forward": width}, {}) for width in (256, 512)]
    told_of = "model.feed_forward (every layer has experts instead)"
    assert [any(told_of in words for words in model.warnings(1)) for model in models] == [expected, expected]
    small, large = (model.totals().parameters for model in models)
    assert (small == large) == expected


@pytest.mark.parametrize(
    ("experts", "expected"),
    [
        ({}, True),
        ({"capacity": 0.5}, True),
        ({"node_limit": 1, "npus_per_node": 2}, False),
        ({"npus_per_node": 2, "dispatch": {"form": "normal"}}, False),
    ],
)
def test_pieces_are_told_where_no_message_is_cut(experts: dict[str, Any], expected: bool) -> None:
    dispatch = {**experts.get("dispatch", {}), "pieces": 4}
    model = small_gpt({"experts": {**ROUTED, **experts, "dispatch": dispatch}}, {"expert": 4})
    told_of = "model.experts.dispatch.pieces (dispatch.form isn't normal)"
    assert any(told_of in words for words in model.warnings(4)) == expected


def test_a_study_of_forms_of_dispatch_may_keep_the_key_of_nodes() -> None:
    plans = [
        small_gpt({"experts": {**ROUTED, "dispatch": LOW_LATENCY, **keys}}, {"expert": 4}).plan(4)
        for keys in ({}, {"npus_per_node": 2})
    ]
    assert plans[0].chunks == plans[1].chunks


@pytest.mark.parametrize("changes", [{"capacity": 1.0}, {"capacity": 2.0}, {"seed": 5}, {"capacity": 1.0, "seed": 4}])
def test_a_key_of_routing_that_is_told_changes_no_row(changes: dict[str, Any]) -> None:
    usual, found = (
        small_gpt({"experts": {**ROUTED, **keys}}, {"expert": 4}).plan(4).chunks[0][1] for keys in ({}, changes)
    )
    assert found == usual


def test_a_capacity_of_all_tokens_of_a_place_changes_no_row() -> None:
    """Each of 8 experts, of which a token goes to 2, gets at most all tokens, 4 times its even share."""
    usual, found = (
        small_gpt({"experts": {**ROUTED, "routing": "zipf", "skew": 10, **keys}}, {"expert": 4}).plan(4).chunks[0][1]
        for keys in ({}, {"capacity": 4.0})
    )
    assert found == usual
