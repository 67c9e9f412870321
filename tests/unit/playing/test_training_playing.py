"""Trainings played: what goes over the network against formulas, times by hand, and any product of degrees."""

from __future__ import annotations

from math import prod

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.training import block, plan_of, play, programs_of, takes

from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.config.training_plan import (
    Block,
    Degrees,
    Elements,
    Exchange,
    Group,
    Operation,
    Ring,
    Sharding,
    TrainingPlan,
    Uneven,
)
from astra_ns3.playing.dry_run.deadlock import check_programs

PARAMETERS = 144
"""Of each layer; all groups of up to 16 NPUs below divide them."""
BYTES = 2 * PARAMETERS
MESSAGE_PS = 1_000
"""What a message takes besides a picosecond a byte, see ``play``."""


def _sharded(stage: int, npus: int, micro_batches: int = 1, **keys: object) -> TrainingPlan:
    layers = [block(name, 100, 100, 100, PARAMETERS) for name in "abc"]
    sharding = Sharding(stage, **keys)  # type: ignore[arg-type]
    return plan_of(
        Degrees(data=npus), [layers], micro_batches=micro_batches, sharding=sharding, elements=Elements(2, 2)
    )


@pytest.mark.parametrize(("stage", "times"), [(0, 2), (1, 2), (2, 2), (3, 3)])
@pytest.mark.parametrize("npus", [2, 3, 4])
def test_an_npu_sends_two_or_in_zero_3_three_times_the_parameters(stage: int, times: int, npus: int) -> None:
    """But for the share that it has itself (S. Rajbhandari et al., 2020)."""
    assert sum(play(_sharded(stage, npus)).sent_bytes) == times * 3 * BYTES * (npus - 1) // npus


@pytest.mark.parametrize(
    ("stage", "keeps_gathered", "times"),
    [(0, False, 2), (1, False, 2), (2, False, 4 + 1), (3, False, 12), (3, True, 8)],
)
def test_with_micro_batches_what_is_sharded_is_sent_for_each(stage: int, keeps_gathered: bool, times: int) -> None:
    """4 of them on 4 NPUs; in stage 2 four reduce-scatters and one all-gather of weights."""
    plan = _sharded(stage, 4, 4, keeps_gathered=keeps_gathered)
    assert sum(play(plan).sent_bytes) == times * 3 * BYTES * 3 // 4


@pytest.mark.parametrize("home_bytes", [0, 320, 640])
def test_ring_attention_sends_keys_and_values_to_all_others_and_gradients_home(home_bytes: int) -> None:
    """On n NPUs n - 1 turns of keys and values, and n of their gradients."""
    layer = Block("attention", (Ring(Group.CONTEXT, takes(1), 640, home_bytes),))
    plan = plan_of(Degrees(tensor=2, context=4), [[layer]], micro_batches=3)
    assert sum(play(plan).sent_bytes) == 3 * (3 * 640 + 4 * home_bytes)


def test_a_ring_hides_what_is_shorter_than_its_computation() -> None:
    """Messages of 640 bytes take 1,640 ps: hidden behind 2,000 ps, and not behind 1,000, but in the last turn."""
    for compute_ps, finish_ps in ((2_000, 4 * 2_000), (1_000, 3 * 1_640 + 1_000)):
        plan = plan_of(Degrees(context=4), [[Block("attention", (Ring(Group.CONTEXT, takes(compute_ps), 640),))]])
        assert play(plan).finish_ps == finish_ps


def test_gradients_overlap_with_the_backward_pass() -> None:
    """On 2 NPUs: 288 bytes are all-reduced in two messages of 144, in 2,288 ps; layers take 5,000 ps a pass.

    The first two go while the next layers are computed, the last one is exposed; without overlap all are. The update
    takes a picosecond a byte: 3 times 144 parameters of 2 + 2 (2 + 12) bytes.
    """
    layers = [block(name, 5_000, 2_500, 2_500, PARAMETERS) for name in "abc"]
    update_ps = 3 * PARAMETERS * 30
    for overlap, exposed in ((True, 1), (False, 3)):
        plan = plan_of(Degrees(data=2), [layers], sharding=Sharding(overlap=overlap))
        assert play(plan).finish_ps == 6 * 5_000 + exposed * (2 * MESSAGE_PS + BYTES) + update_ps


def test_without_overlap_shards_of_gradients_stop_each_micro_batch() -> None:
    """ZeRO-2 on 2 NPUs: three reduce-scatters of 1,144 ps behind each micro-batch's pass, and all-gathers at the end.

    On GPipe's two stages of a layer each, the last stage begins its second backward pass behind the first one's
    reduce-scatter.
    """
    message_ps = MESSAGE_PS + BYTES // 2
    layers = [block(name, 5_000, 2_500, 2_500, PARAMETERS) for name in "abc"]
    sharding = Sharding(2, overlap=False)
    alone = plan_of(Degrees(data=2), [layers], micro_batches=4, sharding=sharding)
    assert play(alone).finish_ps == 4 * (6 * 5_000 + 3 * message_ps) + 3 * PARAMETERS // 2 * 30 + 3 * message_ps
    stages = plan_of(
        Degrees(data=2, pipeline=2), [layers[:1], layers[1:2]], micro_batches=2, schedule="gpipe", sharding=sharding
    )
    hop_ps = MESSAGE_PS + 1_000
    passes_ps = 5_000 + hop_ps + 4 * 5_000 + message_ps + hop_ps + 5_000
    assert play(stages).finish_ps == passes_ps + message_ps + PARAMETERS // 2 * 30 + message_ps


def test_weights_are_gathered_while_the_block_before_is_computed() -> None:
    """ZeRO-3 on 2 NPUs: an all-gather takes 1,144 ps, and a reduce-scatter, too.

    With prefetch the first gather and the last reduce-scatter are exposed. Without, all six gathers are, and the other
    two reduce-scatters, too: the gather of the next block is asked for behind them, and comes behind them.
    """
    message_ps = MESSAGE_PS + BYTES // 2
    layers = [block(name, 5_000, 2_500, 2_500, PARAMETERS) for name in "abc"]
    update_ps = 3 * PARAMETERS // 2 * 30
    for prefetch, exposed in ((1, 2), (0, 9)):
        plan = plan_of(Degrees(data=2), [layers], sharding=Sharding(3, prefetch=prefetch))
        assert play(plan).finish_ps == 6 * 5_000 + exposed * message_ps + update_ps


def test_stages_wait_for_messages_of_their_neighbours() -> None:
    """Two stages and micro-batches of GPipe, a message 2,000 ps, passes of 10,000 ps: four in a row, and two ways."""
    plan = plan_of(
        Degrees(pipeline=2),
        [[block(name, 10_000, 6_000, 4_000)] for name in "ab"],
        micro_batches=2,
        schedule="gpipe",
    )
    assert play(plan).finish_ps == (2 + 1) * 2 * 10_000 + 2 * (MESSAGE_PS + 1_000)


@st.composite
def _plans(draw: st.DrawFn) -> tuple[TrainingPlan, tuple[int, ...]]:
    """Any product of degrees on at most 12 NPUs, on a network of one to five dimensions."""
    degree = st.sampled_from([1, 1, 2, 2, 3, 4])
    tensor, context, data, pipeline = draw(
        st.tuples(degree, degree, degree, degree).filter(lambda found: prod(found) <= 12)
    )
    expert = draw(st.sampled_from([n for n in (1, 2, 3, 4) if context * data % n == 0]))
    schedule = draw(st.sampled_from(["gpipe", "1f1b", "interleaved", "zero-bubble"]))
    chunks = 2 if schedule == "interleaved" else 1
    batches = draw(st.integers(1, 3)) * (pipeline if schedule == "interleaved" else 1)
    kinds = st.sampled_from([CollectiveKind.ALL_REDUCE, CollectiveKind.REDUCE_SCATTER, CollectiveKind.ALL_GATHER])
    exchange = st.builds(Exchange, kinds, st.sampled_from(list(Group)), st.just(BYTES), st.booleans())
    ring = st.builds(Ring, st.just(Group.CONTEXT), st.just(takes(7)), st.just(100), st.booleans())
    uneven = st.just(Uneven(Group.EXPERT, tuple(takes(1000 * place) for place in range(expert))))
    items = st.lists(exchange | ring | uneven | st.builds(takes, st.integers(0, 3000)), max_size=3).map(tuple)
    parameters = st.sampled_from([0, PARAMETERS])
    layer = st.builds(
        Block, st.just("layer"), items, items, items, items, parameters, parameters, summed_parameters=parameters
    )
    parts = draw(
        st.lists(st.lists(layer, min_size=1, max_size=2), min_size=pipeline * chunks, max_size=pipeline * chunks)
    )
    sharding = draw(
        st.builds(
            Sharding,
            st.integers(0, 3),
            st.sampled_from([None, 300, 10_000]),
            st.booleans(),
            st.integers(0, 2),
            st.just(False),
        )
    )
    plan = plan_of(
        Degrees(tensor, context, data, pipeline, expert),
        parts,
        micro_batches=batches,
        schedule=schedule,
        sharding=sharding,
        tied_parameters=draw(parameters),
        elements=Elements(2, 2),
    )
    nested = context == 1 or expert == 1
    sizes = [tensor, context, data, pipeline] if nested else [tensor, context * data, pipeline]
    dimensions = [1]
    for size in sizes:
        if draw(st.booleans()):
            dimensions.append(size)
        else:
            dimensions[-1] *= size
    return plan, tuple(dimensions)


def _sent_by_an_npu(plan: TrainingPlan, stage: int) -> int:
    """What an NPU of a stage sends in an iteration, by formula."""
    degrees, batches = plan.degrees, plan.micro_batches
    total = 0
    for number in range(stage, len(plan.chunks), degrees.pipeline):
        for each in plan.chunks[number]:
            for item in (*each.forward, *each.again, *each.input_gradient, *each.weight_gradient):
                if isinstance(item, Exchange):
                    total += batches * _collective(item.kind, item.bytes, degrees.size(item.group))
                elif isinstance(item, Ring) and degrees.context > 1:
                    total += batches * ((degrees.context - 1) * item.bytes + degrees.context * item.home_bytes)
            for parameters, group in (
                (each.parameters, Group.GRADIENT),
                (each.expert_parameters, Group.EXPERT_GRADIENT),
            ):
                once = 2 * parameters * (degrees.size(group) - 1) // degrees.size(group)
                times = {0: 2, 1: 2, 2: batches + 1, 3: 3 * batches}[plan.sharding.stage]
                total += times * once
        if degrees.pipeline > 1:
            neighbours = (number > 0) + (number < len(plan.chunks) - 1)
            total += batches * plan.boundary_bytes * neighbours
    summed = sum(each.summed_parameters for chunk in plan.stage(stage) for each in chunk)
    summed_bytes = 2 * summed // (degrees.gradient if plan.sharding.stage >= 2 else 1)
    total += _collective(CollectiveKind.ALL_REDUCE, summed_bytes, degrees.tensor)
    if degrees.pipeline > 1 and stage in (0, degrees.pipeline - 1):
        own = degrees.gradient if plan.sharding.stage else 1
        total += 2 * plan.tied_parameters // own
    return total


def _collective(kind: CollectiveKind, bytes: int, npus: int) -> int:
    if kind is CollectiveKind.ALL_GATHER:
        return bytes * (npus - 1)
    times = 2 if kind is CollectiveKind.ALL_REDUCE else 1
    return times * bytes * (npus - 1) // npus


@settings(max_examples=20)
@given(case=_plans(), passes=st.integers(1, 2), system=st.sampled_from([("FIFO", 1), ("LIFO", 2)]))
def test_any_product_of_degrees_comes_to_its_end_with_all_its_bytes_and_times(
    case: tuple[TrainingPlan, tuple[int, ...]], passes: int, system: tuple[str, int]
) -> None:
    plan, dimensions = case
    policy, splits = system
    records = play(plan, passes, dimensions, policy=policy, splits=splits)
    assert records.complete
    chain = check_programs(programs_of(plan, passes, dimensions))
    assert chain.time_ps <= play(plan, passes, dimensions, ideal=True, policy=policy, splits=splits).finish_ps
    assert all(npu.compute_ps + npu.exposed_ps == npu.finish_ps for npu in records.npus)
    assert sum(records.sent_bytes) == passes * _sent_by_an_npu(plan, 0)
    computed = [npu.compute_ps for npu in records.npus]
    assert computed == [passes * _computed_ps(plan, npu) for npu in range(len(computed))]


def _computed_ps(plan: TrainingPlan, npu: int) -> int:
    total = updated = 0
    degrees = plan.degrees
    stage, place = divmod(npu, degrees.stage_npus)
    for each in [each for chunk in plan.stage(stage) for each in chunk]:
        for item in (*each.forward, *each.again, *each.input_gradient, *each.weight_gradient):
            if isinstance(item, Ring):
                total += item.operation.flops * degrees.context
            elif isinstance(item, Uneven):
                total += 1000 * (place // degrees.tensor % degrees.expert)
            elif isinstance(item, Operation):
                total += item.flops
        share, experts = (degrees.gradient, degrees.gradient // degrees.expert) if plan.sharding.stage else (1, 1)
        updated += each.parameters // share + each.expert_parameters // experts
    return plan.micro_batches * total + 30 * updated
