"""Transformers of any keys: what NPUs compute and hold together is the whole model's; nothing is lost in a cut."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from support.models import blocks, flops, model_of

from astra_ns3.config.model.transformer import TransformerFile
from astra_ns3.playing.dry_run.deadlock import check_programs
from astra_ns3.playing.training.making import training_programs
from astra_ns3.workload.models.workload import ModelWorkload

LATENT = {"query_rank": 32, "key_value_rank": 16, "plain_size": 16, "rotary_size": 8, "value_size": 16}
EXPERTS = {"count": 8, "active": 2, "feed_forward": 64}
Keys = dict[str, Any]


@st.composite
def models(draw: st.DrawFn) -> ModelWorkload:
    """A small transformer whose sizes every degree divides."""
    degrees = st.sampled_from((1, 2, 4))
    tensor, context, pipeline = draw(degrees), draw(degrees), draw(st.sampled_from((1, 2)))
    model: Keys = {"layers": draw(st.integers(4, 7)), "hidden": 64, "heads": 16, "vocabulary": 256}
    if draw(st.booleans()):
        model["latent"] = {**LATENT, "query_rank": draw(st.sampled_from((0, 32)))}
    else:
        model |= {"kv_heads": 16, "query_key_norm": draw(st.booleans())}
    with_experts = draw(st.booleans())
    if with_experts:
        experts: Keys = {"shared": draw(st.integers(0, 2)), "first_dense": draw(st.integers(0, 2))}
        experts["shared_gate"] = bool(experts["shared"]) and draw(st.booleans())
        model["experts"] = {**EXPERTS, **experts, "every": draw(st.integers(1, 2))}
    for key in ("gated", "tied_embeddings", "biases", "dropout", "fused_attention", "embedding_norm", "pooler"):
        model[key] = draw(st.booleans())
    if "latent" not in model and draw(st.booleans()):
        model["biases"] = "query_key_value"
    model["norm"] = draw(st.sampled_from(("rms", "layer")))
    parallel: Keys = {
        "tensor": tensor,
        "context": context,
        "pipeline": pipeline,
        "virtual_stages": draw(st.sampled_from((1, 2))) if pipeline > 1 else 1,
        "sequence": draw(st.booleans()),
        "overlap_tensor": draw(st.booleans()),
        "context_by": draw(st.sampled_from(("ring", "all-gather", "all-to-all"))),
        "expert": draw(degrees) if with_experts else 1,
    }
    parallel["schedule"] = "interleaved" if parallel["virtual_stages"] > 1 else draw(st.sampled_from(("1f1b", "gpipe")))
    training: Keys = {
        "sequence": 64,
        "micro_batches": 2 * pipeline,
        "recompute": draw(st.sampled_from(("none", "selective", "full"))),
    }
    return model_of({"kind": "transformer", "name": "any", "model": model, "training": training, "parallel": parallel})


@settings(max_examples=60, deadline=None)
@given(models())
def test_a_copy_computes_and_holds_the_whole_model_and_comes_to_its_end(model: ModelWorkload) -> None:
    npus = model.least_npus
    plan, totals, file = model.plan(npus), model.totals(), model.file
    assert isinstance(file, TransformerFile)
    tensor, context, expert = plan.degrees.tensor, plan.degrees.context, plan.degrees.expert
    forward = sum(flops(block.forward, context) for block in blocks(plan)) * tensor * context
    pooled = 2 * file.model.hidden**2 * file.model.pooler
    # What every NPU of a group does for itself: the pooler; and unless tokens are split, routers and short vectors.
    assert forward >= totals.forward_flops
    if tensor == 1 or file.parallel.sequence:
        assert forward - totals.forward_flops == pooled * (tensor * context - 1)
    held = sum(tensor * (block.parameters + expert * block.expert_parameters) for block in blocks(plan))
    assert held - tensor * plan.tied_parameters >= totals.parameters
    if tensor == 1:
        assert held - plan.tied_parameters == totals.parameters
    check_programs(training_programs(plan, model.clock(), 1, (npus,)))


@settings(max_examples=40, deadline=None)
@given(models())
def test_what_is_computed_again_isn_t_kept(model: ModelWorkload) -> None:
    """Whatever is recomputed, what is kept and what is made again are together what is kept without."""
    plan = model.plan(model.least_npus)
    training = model.file.training.model_copy(update={"recompute": "none"})
    whole = ModelWorkload(model.file.model_copy(update={"training": training})).plan(model.least_npus)
    for block, kept in zip(blocks(plan), blocks(whole), strict=True):
        assert block.activation_bytes + block.again_bytes == kept.activation_bytes
        assert 0 <= block.activation_bytes <= kept.activation_bytes
        assert bool(block.again) == bool(block.again_bytes)
