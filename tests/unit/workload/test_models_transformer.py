"""Transformers by their numbers: parameters and operations as published, bytes and memory by formulas written here."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from math import prod
from typing import Any

import pytest
from support.models import BATCH, HIDDEN, LAYERS, SEQUENCE, VOCABULARY, blocks, exchanged, flops, layer
from support.models import small_gpt as workload

from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.config.training_plan import Exchange, Group, Operation, OperationKind, Ring
from astra_ns3.errors import InputError
from astra_ns3.playing.dry_run.counting import counted_requests
from astra_ns3.playing.training.making import training_programs
from astra_ns3.playing.training.model_summary import summary_of
from astra_ns3.report.workload.model import model_document
from astra_ns3.workload.models.workload import ModelWorkload


def test_flops_of_an_iteration_with_full_recomputing_are_those_of_narayanan_2021() -> None:
    """96 B s l h^2 (1 + s / 6h + V / 16 l h): section 5.1 of the paper."""
    plan = workload(recompute="full", micro_batches=3).plan(1)
    layers, hidden, vocabulary = LAYERS, HIDDEN, VOCABULARY
    sequences = BATCH * plan.micro_batches
    inside = 1 + Fraction(SEQUENCE, 6 * hidden) + Fraction(vocabulary, 16 * layers * hidden)
    published = 96 * sequences * SEQUENCE * layers * hidden**2 * inside
    passes = [
        flops(items)
        for block in blocks(plan)
        for items in (block.forward, block.again, block.input_gradient, block.weight_gradient)
    ]
    assert plan.micro_batches * sum(passes) == published


@pytest.mark.parametrize("parallel", [{}, {"data": 4}, {"tensor": 2, "pipeline": 2, "data": 2}])
def test_what_all_npus_compute_again_in_an_iteration_is_the_layers_forward_pass(parallel: dict[str, int]) -> None:
    """24 s l h^2 (1 + s / 6h) for each sequence: a quarter of what Narayanan et al. have for the layers."""
    npus = prod(parallel.values())
    document = model_document(summary_of(workload(parallel=parallel, recompute="full", micro_batches=3), [npus]))
    sequences = BATCH * 3 * parallel.get("data", 1)
    again = 24 * sequences * SEQUENCE * LAYERS * HIDDEN**2 * (1 + Fraction(SEQUENCE, 6 * HIDDEN))
    assert document["recomputed_flops_per_iteration"] == again


def test_totals_have_three_quarters_of_the_layers_flops_and_all_of_the_logits() -> None:
    layers, hidden, vocabulary = LAYERS, HIDDEN, VOCABULARY
    per_sequence = 72 * SEQUENCE * layers * hidden**2 * (1 + Fraction(SEQUENCE, 6 * hidden))
    assert workload().totals().training_flops == per_sequence + 6 * SEQUENCE * hidden * vocabulary


@pytest.mark.parametrize("tensor", [1, 2, 8])
def test_without_sequence_parallelism_a_layer_all_reduces_twice_each_way(tensor: int) -> None:
    found = layer(workload(parallel={"tensor": tensor}).plan(tensor))
    whole = BATCH * SEQUENCE * 1024 * 2
    expected = Counter({(CollectiveKind.ALL_REDUCE, whole): 2} if tensor > 1 else {})
    assert exchanged(found.forward, Group.TENSOR) == expected
    assert exchanged(found.input_gradient, Group.TENSOR) == expected
    assert exchanged(found.weight_gradient, Group.TENSOR) == Counter()


def test_with_sequence_parallelism_a_layer_gathers_and_scatters_twice_each_way() -> None:
    whole = BATCH * SEQUENCE * 1024 * 2
    expected = Counter({(CollectiveKind.ALL_GATHER, whole // 4): 2, (CollectiveKind.REDUCE_SCATTER, whole): 2})
    for again in (False, True):
        keys = {"tensor": 4, "sequence": True, "gather_inputs_again": again}
        found = layer(workload(parallel=keys).plan(4))
        assert exchanged(found.forward, Group.TENSOR) == expected
        more = Counter({(CollectiveKind.ALL_GATHER, whole // 4): 2 * again})
        assert exchanged(found.input_gradient, Group.TENSOR) == expected + more


def test_sums_of_a_tensor_group_may_go_on_beside_gradients_of_weights() -> None:
    """The sum of each half is followed by the gradients of the half's weights, and waited for at the end."""
    parallel = {"tensor": 4, "sequence": True, "gather_inputs_again": False}
    plain, hidden = (layer(workload(parallel={**parallel, "overlap_tensor": on}).plan(4)) for on in (False, True))
    assert hidden.forward == plain.forward
    assert hidden.weight_gradient == ()
    done = [*plain.input_gradient, *plain.weight_gradient]
    assert Counter(replace(item, waited=True) if isinstance(item, Exchange) else item for item in done) == Counter(
        replace(item, waited=True) if isinstance(item, Exchange) else item for item in hidden.input_gradient
    )
    sums = [place for place, item in enumerate(hidden.input_gradient) if isinstance(item, Exchange) and not item.waited]
    names = [
        [item.name for item in hidden.input_gradient[place + 1 : place + 3] if isinstance(item, Operation)]
        for place in sums
    ]
    assert names == [
        ["feed-forward down weight gradient", "feed-forward up weight gradient"],
        ["attention output weight gradient", "query key value weight gradient"],
    ]


@pytest.mark.parametrize(
    ("parallel", "bytes_per_number"),
    [
        ({}, lambda t, score: 34 + score),
        ({"tensor": 4}, lambda t, score: 10 + Fraction(24 + score, t)),
        ({"tensor": 4, "sequence": True}, lambda t, score: Fraction(34 + score, t)),
        # Inputs of both halves' first products, 2 bytes a number, are whole where they aren't gathered again.
        (
            {"tensor": 4, "sequence": True, "gather_inputs_again": False},
            lambda t, score: 4 + Fraction(30 + score, t),
        ),
    ],
)
def test_a_layer_keeps_the_activations_of_korthikanti_2022(parallel: dict[str, Any], bytes_per_number: Any) -> None:
    """s b h (34 + 5 a s / h) bytes, and table 2 with tensor and sequence parallelism."""
    tensor = parallel.get("tensor", 1)
    hidden, score = 1024, Fraction(5 * 16 * SEQUENCE, 1024)
    numbers = SEQUENCE * BATCH * hidden
    every = workload(parallel=parallel).plan(tensor)
    assert layer(every).activation_bytes == numbers * bytes_per_number(tensor, score)
    selective = workload(parallel=parallel, recompute="selective").plan(tensor)
    assert layer(selective).activation_bytes == numbers * bytes_per_number(tensor, 0)
    assert layer(selective).again_bytes == numbers * score / tensor
    full = layer(workload(parallel=parallel, recompute="full").plan(tensor))
    assert full.activation_bytes == 2 * numbers // (tensor if parallel.get("sequence") else 1)
    assert full.activation_bytes + full.again_bytes == layer(every).activation_bytes


@pytest.mark.parametrize("again", [False, True])
def test_inputs_of_experts_are_kept_whole_or_gathered_again(again: bool) -> None:
    """Each token goes to 2 of 4 experts: so many rows of the tensor group's 4, or a quarter and one gather more."""
    model = {"experts": {"count": 4, "active": 2, "feed_forward": 256}}
    keys = {"tensor": 4, "sequence": True}
    kept, found = (layer(workload(model, {**keys, "gather_inputs_again": on}).plan(4)) for on in (True, again))
    rows = 2 * BATCH * SEQUENCE
    attention = 2 * BATCH * SEQUENCE * 1024 * 3 // 4
    assert found.activation_bytes - kept.activation_bytes == (0 if again else rows * 1024 * 2 * 3 // 4 + attention)
    more = exchanged(found.input_gradient, Group.TENSOR) - exchanged(found.forward, Group.TENSOR)
    assert more[CollectiveKind.ALL_GATHER, rows * 1024 * 2 // 4] == again


@pytest.mark.parametrize(("gated", "read"), [(False, 1), (True, 2)])
def test_an_activation_moves_what_it_reads_and_writes_and_its_gradient_what_both_have(gated: bool, read: int) -> None:
    """A gated one reads two numbers for each that it writes; its gradient reads those and the output's, writes two."""
    found = layer(workload({"gated": gated}).plan(1))
    outputs = BATCH * SEQUENCE * 4 * HIDDEN * 2  # 2 bytes a number
    moved = {
        item.name: item.bytes
        for item in (*found.forward, *found.input_gradient)
        if isinstance(item, Operation) and item.name.startswith("feed-forward activation")
    }
    assert moved == {
        "feed-forward activation": (read + 1) * outputs,
        "feed-forward activation gradient": (read + 1 + read) * outputs,
    }


def test_ring_attention_sends_keys_and_values_round_and_home_with_their_gradients() -> None:
    context = 4
    found = layer(workload({"fused_attention": True, "kv_heads": 4}, {"context": context}).plan(context))
    part = 2 * 4 * 64 * BATCH * SEQUENCE // context * 2  # keys and values of 4 heads of 64 numbers, 2 bytes each
    (ring,) = (item for item in found.forward if isinstance(item, Ring))
    (back,) = (item for item in found.input_gradient if isinstance(item, Ring))
    assert (ring.bytes, ring.home_bytes) == (part, 0)
    assert (back.bytes, back.home_bytes) == (part, part)
    alone = layer(workload({"fused_attention": True, "kv_heads": 4}).plan(1))
    (whole,) = (item for item in alone.forward if isinstance(item, Operation) and item.kind is OperationKind.ATTENTION)
    assert ring.operation.flops * context * context == whole.flops


def test_parameters_of_all_npus_of_a_copy_are_the_models_and_what_each_has() -> None:
    tensor, pipeline = 4, 2
    found = workload(parallel={"tensor": tensor, "pipeline": pipeline})
    plan = found.plan(tensor * pipeline)
    hidden = 1024
    # What every NPU of a tensor group has: two normalisations and two biases a layer, the last one, and positions.
    repeated = (tensor - 1) * (4 * 6 * hidden + 2 * hidden + 512 * hidden)
    tied = 51200 * hidden
    assert plan.tied_parameters * tensor == tied
    held = tensor * sum(block.parameters for block in blocks(plan))
    assert held == found.totals().parameters + repeated + tied


def test_masked_scores_are_skipped_in_a_fused_kernel_alone() -> None:
    with pytest.raises(InputError, match=r"skip_masked.*is on, expected off: without fused_attention"):
        workload({"skip_masked": True, "fused_attention": False})
    workload({"skip_masked": True, "fused_attention": True})


@pytest.mark.parametrize("fused", [False, True])
def test_selective_recomputing_beside_a_fused_kernel_is_warned_of(fused: bool) -> None:
    found = workload({"fused_attention": fused}, recompute="selective").warnings(1)
    assert any("without effect: training.recompute: selective" in each for each in found) == fused


@pytest.mark.parametrize(
    ("model", "per_layer"),
    [
        # Two normalisations with scale and shift, and the biases behind the two sums.
        ({}, 6 * 1024),
        ({"norm": "rms", "biases": False}, 2 * 1024),
        # Experts' biases aren't; a router's weights are.
        ({"norm": "rms", "biases": False, "experts": {"count": 8, "active": 2, "feed_forward": 64}}, (2 + 8) * 1024),
        # Short vectors of 64 + 32 + 8 numbers, of which all but the last 8 are normalised.
        (
            {
                "norm": "rms",
                "biases": False,
                "latent": {
                    "query_rank": 64,
                    "key_value_rank": 32,
                    "plain_size": 16,
                    "rotary_size": 8,
                    "value_size": 16,
                },
            },
            (2 + 64 + 32 + 8) * 1024 + 64 + 32,
        ),
        # A gate of the shared experts is a vector more.
        (
            {
                "norm": "rms",
                "biases": "query_key_value",
                "experts": {"count": 8, "active": 2, "feed_forward": 64, "shared": 1, "shared_gate": True},
            },
            (2 + 8 + 1) * 1024,
        ),
    ],
)
def test_with_the_sequence_split_gradients_of_what_everybody_has_are_summed(
    model: dict[str, Any], per_layer: int
) -> None:
    found = workload(model, {"tensor": 4, "sequence": True}).plan(4)
    assert layer(found).summed_parameters == per_layer
    whole = workload(model, {"tensor": 4}).plan(4)
    assert [block.summed_parameters for block in blocks(whole)] == [0] * len(blocks(whole))
    requests = counted_requests(training_programs(found, workload(model).clock(), 3, (4,)))
    (summed,) = ((each, times) for each, times in requests if each.label.layer == "own tokens")
    norms = 2 if model.get("norm") != "rms" else 1  # the final one
    assert summed[0].bytes == 2 * (per_layer * 4 + norms * 1024)
    assert summed[1] == 3


@pytest.mark.parametrize("sequence", [False, True])
def test_gradients_of_scales_that_all_heads_share_are_summed_with_and_without_the_sequence_split(
    sequence: bool,
) -> None:
    keys = {"norm": "rms", "biases": False, "query_key_norm": True}
    found = workload(keys, {"tensor": 4, "sequence": sequence}).plan(4)
    size = head_size_of(workload(keys))
    assert layer(found).summed_parameters == 2 * size + (2 * 1024 if sequence else 0)
    assert layer(workload(keys).plan(1)).summed_parameters == 0


def head_size_of(model: ModelWorkload) -> int:
    """Of the 1,024 numbers of a token, the share of a head."""
    heads: int = model.file.document()["model"]["heads"]
    return 1024 // heads


def test_biases_of_queries_keys_and_values_alone_are_no_others() -> None:
    plain, some, every = (
        workload({"biases": biases}).totals().parameters for biases in (False, "query_key_value", True)
    )
    layers = workload({}).totals().layers
    # Of a plain layer: three vectors, then one behind attention, four and one of the network.
    assert some - plain == layers * 3 * 1024
    assert every - some == layers * (1 + 4 + 1) * 1024
