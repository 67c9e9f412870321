"""Memory of a training by stage: published figures of ZeRO and of activations, schedules by formula, what is told."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from astra_ns3.config.core.document import Document
from astra_ns3.config.model.file import parse_model_file
from astra_ns3.config.training_plan import (
    Block,
    Degrees,
    Elements,
    Group,
    Operation,
    OperationKind,
    Ring,
    Sharding,
    TrainingPlan,
)
from astra_ns3.workload.memory.peaks import memory_of, memory_warnings, moment_words
from astra_ns3.workload.memory.stage import Moment, stage_memory
from astra_ns3.workload.memory.usage import Usage
from astra_ns3.workload.models.workload import ModelWorkload, read_model
from astra_ns3.workload.training.schedules import WorkKind

KEPT = 1000
"""Bytes of activations of a block and a micro-batch."""


def plan_of(
    stages: int = 1, virtual: int = 1, blocks: int = 1, *, data: int = 1, expert: int = 1, **keys: Any
) -> TrainingPlan:
    """``blocks`` alike in each part; of a block 100 parameters in 300 bytes of weights and gradients."""
    block = keys.pop("block", Block("layer", (), parameters=100, activation_bytes=KEPT))
    chunks = tuple(
        tuple(replace(block, name=f"layer {part * blocks + place}") for place in range(blocks))
        for part in range(stages * virtual)
    )
    elements = keys.pop("elements", Elements(1, 2, 4))
    degrees = Degrees(data=data, pipeline=stages, expert=expert)
    return TrainingPlan("m", "m.yaml", degrees, chunks, boundary_bytes=1, elements=elements, **keys)


def peak(plan: TrainingPlan, stage: int, part: str) -> int:
    found: list[int] = [getattr(moment.usage, part) for moment in stage_memory(plan, stage).moments]
    return max(found)


# Weights, gradients and states


@pytest.mark.parametrize(("stage", "gigabytes"), [(0, 120.0), (1, 31.4), (2, 16.6), (3, 1.9)])
def test_states_of_7_5_billion_parameters_on_64_npus_are_those_of_rajbhandari_2020(
    stage: int, gigabytes: float
) -> None:
    """Figure 1 of the paper: mixed precision with Adam, 2 + 2 + 12 bytes a parameter."""
    block = Block("all", (), parameters=7_500_000_000)
    plan = plan_of(data=64, block=block, elements=Elements(), sharding=Sharding(stage))
    usage = stage_memory(plan, 0).moments[-1].usage
    assert (usage.weights + usage.gradients + usage.optimizer) / 1e9 == pytest.approx(gigabytes, abs=0.05)


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 3), st.integers(1, 8), st.integers(0, 1000), st.integers(0, 1000))
def test_experts_are_shared_by_those_that_have_the_same_ones(stage: int, copies: int, dense: int, experts: int) -> None:
    """Four NPUs share the experts, so ``copies`` have the same ones, and all have the same dense weights."""
    block = Block("all", (), parameters=dense, expert_parameters=experts)
    plan = plan_of(data=4 * copies, expert=4, block=block, sharding=Sharding(stage))
    own = -(-dense // (4 * copies)) + -(-experts // copies)
    whole = dense + experts
    expected = Usage(
        weights=own if stage == 3 else whole,
        gradients=2 * (own if stage >= 2 else whole),
        optimizer=4 * (own if stage >= 1 else whole),
    )
    assert stage_memory(plan, 0).moments[-1].usage == expected


@pytest.mark.parametrize("servers", [1, 3])
def test_parameter_servers_have_the_states_and_workers_none(servers: int) -> None:
    workers, servers_memory = memory_of(plan_of(blocks=2, data=4, servers=servers))
    assert workers.moments[-1].usage == Usage(weights=200, gradients=400)
    part = -(-200 // servers)
    assert servers_memory.name == "servers"
    assert servers_memory.peak.usage == Usage(part, 2 * part, 4 * part)


# Activations by schedule


@pytest.mark.parametrize("stages", [1, 2, 4, 8])
@pytest.mark.parametrize("batches", [1, 4, 8, 16])
def test_gpipe_keeps_all_micro_batches_and_1f1b_as_many_as_stages_follow(stages: int, batches: int) -> None:
    for stage in range(stages):
        gpipe = plan_of(stages, blocks=3, schedule="gpipe", micro_batches=batches)
        one = plan_of(stages, blocks=3, schedule="1f1b", micro_batches=batches)
        assert peak(gpipe, stage, "activations") == 3 * KEPT * batches
        assert peak(one, stage, "activations") == 3 * KEPT * min(batches, stages - stage)


@pytest.mark.parametrize(("stages", "virtual"), [(2, 2), (4, 2), (4, 3), (8, 4)])
def test_interleaving_keeps_what_korthikanti_2022_say_on_the_first_stage(stages: int, virtual: int) -> None:
    """Section 4.2.3: activations of L (1 + (p - 1) / (p m)) layers, m being the parts of the model on each stage."""
    plan = plan_of(stages, virtual, blocks=5, schedule="interleaved", micro_batches=4 * stages)
    layers = 5 * stages * virtual
    assert peak(plan, 0, "activations") == KEPT * (layers + layers * (stages - 1) // (stages * virtual))


@pytest.mark.parametrize("stages", [2, 4])
def test_zb_h1_keeps_no_more_than_the_first_stage_of_1f1b(stages: int) -> None:
    plan = plan_of(stages, schedule="zero-bubble", micro_batches=8)
    for stage in range(stages):
        assert peak(plan, stage, "activations") == KEPT * stages


@settings(deadline=None, max_examples=60)
@given(
    st.sampled_from(("gpipe", "1f1b", "interleaved", "zero-bubble")),
    st.integers(1, 4),
    st.integers(1, 3),
    st.booleans(),
    st.booleans(),
    st.integers(0, 3),
    st.integers(0, 3),
)
def test_after_an_iteration_only_the_states_are_left(
    schedule: str, stages: int, blocks: int, keeps: bool, overlap: bool, prefetch: int, zero: int
) -> None:
    block = Block("b", (), parameters=100, activation_bytes=KEPT, again_bytes=70)
    sharding = Sharding(zero, bucket_bytes=300, overlap=overlap, prefetch=prefetch, keeps_gathered=keeps)
    virtual = 2 if schedule == "interleaved" else 1
    plan = plan_of(
        stages, virtual, blocks, data=4, block=block, schedule=schedule, micro_batches=2 * stages, sharding=sharding
    )
    for memory in memory_of(plan):
        *passes, update = memory.moments
        assert update.work is None
        assert update.usage[3:] == (0,) * (len(update.usage) - 3)
        assert all(min(moment.usage) >= 0 for moment in passes)
        assert len(passes) == plan.micro_batches * virtual * (3 if schedule == "zero-bubble" else 2)


def test_what_is_computed_again_is_there_for_one_block_at_a_time() -> None:
    block = Block("b", (), activation_bytes=KEPT, again_bytes=7 * KEPT)
    plan = plan_of(2, blocks=4, block=block, micro_batches=4)
    assert peak(plan, 0, "recomputed") == 7 * KEPT
    assert stage_memory(plan, 0).peak.usage.total_bytes == 2 * 4 * KEPT + 7 * KEPT


@pytest.mark.parametrize(("heads", "hidden", "saved"), [(96, 12288, 0.70), (128, 20480, 0.65)], ids=["GPT-3", "MT-NLG"])
def test_selective_recomputing_saves_what_korthikanti_2022_say(heads: int, hidden: int, saved: float) -> None:
    """Section 5: 70% of the activations of GPT-3 and 65% of those of MT-NLG 530B, of 2,048 tokens."""
    kept = {}
    for recompute in ("none", "selective"):
        shape = {"layers": 8, "hidden": hidden, "heads": heads, "vocabulary": 51200, "norm": "layer", "biases": True}
        shape |= {"dropout": True, "fused_attention": False, "positions": 2048, "tied_embeddings": True}
        data = {
            "kind": "transformer",
            "name": "m",
            "model": shape,
            "training": {"sequence": 2048, "micro_batches": 8, "recompute": recompute},
            "parallel": {"tensor": 8, "sequence": True, "pipeline": 4},
        }
        plan = ModelWorkload(parse_model_file(Document("m.yaml", data)), "m.yaml").plan(32)
        kept[recompute] = peak(plan, 1, "activations")  # of a stage without embedding and head
    assert 1 - kept["selective"] / kept["none"] == pytest.approx(saved, abs=0.005)


def test_a_ring_brings_the_keys_and_values_of_the_next() -> None:
    turn = Ring(Group.CONTEXT, Operation("attention", OperationKind.ATTENTION), 500)
    back = replace(turn, home_bytes=500)
    memory = stage_memory(plan_of(block=Block("b", (turn,), (back,))), 0)
    assert [moment.usage.ring for moment in memory.moments] == [500, 1000, 0]


# ZeRO's buffers


@pytest.mark.parametrize("prefetch", [0, 1, 3])
def test_weights_are_gathered_for_a_block_and_those_ahead_of_it(prefetch: int) -> None:
    plan = plan_of(blocks=6, data=4, sharding=Sharding(3, prefetch=prefetch))
    assert peak(plan, 0, "gathered") == 100 * (1 + prefetch)
    assert peak(replace(plan, sharding=Sharding(2, prefetch=prefetch)), 0, "gathered") == 0


def test_weights_that_are_kept_are_those_of_all_blocks_until_the_backward_pass() -> None:
    plan = plan_of(2, blocks=6, data=4, micro_batches=4, sharding=Sharding(3, prefetch=0, keeps_gathered=True))
    memory = stage_memory(plan, 0)
    assert [moment.usage.gathered for moment in memory.moments] == [600] * 8 + [0]


def test_nobody_gathers_what_nobody_else_has() -> None:
    assert peak(plan_of(blocks=6, data=1, sharding=Sharding(3)), 0, "gathered") == 0


@pytest.mark.parametrize(
    ("sharding", "expected"),
    [
        (Sharding(1), 0),  # gradients are whole anyway
        (Sharding(2), 2 * 200),  # that of a block, and of the block before, which is on its way
        (Sharding(2, bucket_bytes=600), 2 * 600),
        (Sharding(2, bucket_bytes=10**6), 6 * 200),
        (Sharding(2, overlap=False), 6 * 200),
    ],
)
def test_gradients_that_are_kept_in_shards_are_whole_until_a_bucket_has_gone(sharding: Sharding, expected: int) -> None:
    """Six blocks of 200 bytes of gradient."""
    plan = plan_of(blocks=6, data=4, micro_batches=3, block=Block("b", (), parameters=100), sharding=sharding)
    assert peak(plan, 0, "buckets") == expected


def test_without_overlap_gradients_of_a_micro_batchs_pass_are_whole_until_it_has_ended() -> None:
    """Two parts of three blocks on each of two stages, 200 bytes of gradient a block."""
    keys: dict[str, Any] = {
        "schedule": "interleaved",
        "sharding": Sharding(2, overlap=False),
        "micro_batches": 4,
        "data": 4,
    }
    plan = plan_of(2, 2, 3, block=Block("b", (), parameters=100), **keys)
    moments = [moment for moment in stage_memory(plan, 0).moments if moment.work is not None]
    backward = [moment.work.kind is WorkKind.BACKWARD for moment in moments if moment.work is not None]
    assert [moment.usage.buckets for moment in moments] == [3 * 200 if back else 0 for back in backward]


@pytest.mark.parametrize(
    ("sharding", "gathered", "waiting"),
    [
        (Sharding(1), 0, 0),
        (Sharding(2), 0, 200),
        (Sharding(2, overlap=False), 0, 200),
        (Sharding(3, prefetch=0), 100, 200),
        (Sharding(3, prefetch=0, keeps_gathered=True), 100, 200),
    ],
)
def test_a_table_that_the_head_uses_too_is_whole_there_and_so_is_its_gradient_until_the_embeddings(
    sharding: Sharding, gathered: int, waiting: int
) -> None:
    """A head without weights of its own behind a table of 100 parameters, and two blocks without any."""
    table, empty = Block("table", (), parameters=100), Block("layer", ())
    blocks = (table, empty, empty, replace(empty, name="head", tied_parameters=100))
    keys: dict[str, Any] = {"elements": Elements(1, 2, 4), "sharding": sharding, "micro_batches": 2}
    moments = stage_memory(TrainingPlan("m", "m.yaml", Degrees(data=4), (blocks,), **keys), 0).moments
    assert [moment.usage.gathered for moment in moments] == [gathered] * 4 + [0]
    assert [moment.usage.buckets for moment in moments][1::2] == [waiting] * 2
    assert [moment.usage.buckets for moment in moments][::2] == [0] * 3


def test_a_table_that_the_head_uses_too_is_there_while_layers_go_backwards() -> None:
    """FSDP has both in one group, which stays until the embedding's backward; layers have most to compute again."""
    table, layer = Block("table", (), parameters=100), Block("layer", (), parameters=10, again_bytes=1000)
    blocks = (table, layer, layer, Block("head", (), tied_parameters=100))
    keys: dict[str, Any] = {"elements": Elements(1, 2, 4), "sharding": Sharding(3, prefetch=0)}
    _, backward, _ = stage_memory(TrainingPlan("m", "m.yaml", Degrees(data=4), (blocks,), **keys), 0).moments
    assert (backward.block, backward.usage.gathered) == ("layer", 100 + 10)


@pytest.mark.parametrize("zero", [2, 3])
def test_tying_saves_what_is_kept_of_the_heads_weights_and_no_more(zero: int) -> None:
    """Gemma's table, 256,000 by 2,048, on 16 NPUs: its gathered copy and its gradient are there tied or not."""

    def peak_of(tied: bool) -> Usage:
        shape = {"layers": 18, "hidden": 2048, "heads": 8, "vocabulary": 256_000, "tied_embeddings": tied}
        data = {"kind": "transformer", "name": "m", "model": shape, "parallel": {"zero": zero}}
        data |= {"training": {"sequence": 4096, "micro_batches": 4}, "compute": {"device": "h100"}}
        plan = ModelWorkload(parse_model_file(Document("m.yaml", data)), "m.yaml").plan(16)
        return stage_memory(plan, 0).peak.usage

    tied, own = peak_of(tied=True), peak_of(tied=False)
    saved = {part: getattr(own, part) - getattr(tied, part) for part in Usage._fields}
    head = 256_000 * 2048
    assert saved == {
        **dict.fromkeys(Usage._fields, 0),
        "weights": 2 * head // (16 if zero == 3 else 1),
        "gradients": 2 * head // 16,
        "optimizer": 12 * head // 16,
    }


# What is told


def test_a_stage_that_does_not_fit_is_told_with_its_largest_part() -> None:
    plan = plan_of(4, blocks=10, micro_batches=8, memory_bytes=25_000)
    (warning,) = memory_warnings(plan, memory_of(plan))
    # 700 bytes of a block's states and 1,000 of each of four micro-batches
    assert warning == (
        "m.yaml: stage 0 needs 47 KB of memory, more than the 25 KB of an NPU, of it 40 KB for activations "
        "(forward of micro-batch 3, layer 9); so do 2 other stages"
    )
    assert memory_warnings(replace(plan, memory_bytes=47_000), memory_of(plan)) == []
    assert memory_warnings(replace(plan, memory_bytes=None), memory_of(plan)) == []


def test_moments_are_told_in_words() -> None:
    first, *_, update = stage_memory(plan_of(schedule="zero-bubble"), 0).moments
    assert moment_words(first) == "forward of micro-batch 0, layer 0"
    assert moment_words(update) == "the update"
    assert isinstance(first, Moment)


# Models that were trained


@pytest.mark.parametrize(
    ("name", "npus", "most_used"),
    [
        ("gpt-3-175b", 1024, 0.8),  # Narayanan et al., 2021, on A100 of 80 GB
        ("transformer-1t", 3072, 0.8),  # there, table 1
        ("llama-3-405b", 16384, 0.95),  # "The Llama 3 Herd of Models", 3.3.2: 8K tokens without recomputing, 80 GB
        ("turing-nlg-17b", 256, 0.8),  # V100 of 32 GB
    ],
)
def test_models_fit_where_they_were_published_to_be_trained(name: str, npus: int, most_used: float) -> None:
    """With room for what isn't counted, but not by so much that something large could be missing."""
    path = Path(__file__).parents[3] / "inputs" / "workload" / "models" / f"{name}.yaml"
    plan = read_model(path).plan(npus)
    assert plan.memory_bytes is not None
    fullest = max(stage.peak.usage.total_bytes for stage in memory_of(plan))
    assert 0.5 < fullest / plan.memory_bytes < most_used
