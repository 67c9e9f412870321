"""What a stage computes, issues and waits for, against tables written by hand."""

from __future__ import annotations

from typing import Any

import pytest
from support.training import FlopClock, block, lines, plan_of, programs_of, takes, trace

from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.config.training_plan import (
    Block,
    Degrees,
    Elements,
    Exchange,
    Group,
    Operation,
    OperationKind,
    Ring,
    Sharding,
    TrainingPlan,
    Uneven,
)
from astra_ns3.config.workload import PassKind
from astra_ns3.errors import InputError
from astra_ns3.network.records import Label
from astra_ns3.playing.programs.operations import Compute, Wait
from astra_ns3.playing.training.training_programs import TrainingPrograms
from astra_ns3.system.request import Handle, MessageRequest
from astra_ns3.workload.computing.clock import KeepingClock

AG, RS, AR, AA = (
    CollectiveKind.ALL_GATHER,
    CollectiveKind.REDUCE_SCATTER,
    CollectiveKind.ALL_REDUCE,
    CollectiveKind.ALL_TO_ALL,
)
PLAIN = Elements(weight=2, gradient=4, optimizer=12)


def test_1f1b_on_two_stages() -> None:
    plan = plan_of(Degrees(pipeline=2), [[block("a", 1)], [block("b", 1)]], micro_batches=3)
    assert trace(programs_of(plan), 0) == lines(
        """
        compute f0.0; send activation.0; compute f0.1; send activation.1
        receive gradient.0; wait gradient.0; compute i0.0; compute w0.0
        compute f0.2; send activation.2
        receive gradient.1; wait gradient.1; compute i0.1; compute w0.1
        receive gradient.2; wait gradient.2; compute i0.2; compute w0.2
        wait activation.0; wait activation.1; wait activation.2
        """
    )
    assert trace(programs_of(plan), 1) == lines(
        """
        receive activation.0; wait activation.0; compute f1.0; compute i1.0; compute w1.0; send gradient.0
        receive activation.1; wait activation.1; compute f1.1; compute i1.1; compute w1.1; send gradient.1
        receive activation.2; wait activation.2; compute f1.2; compute i1.2; compute w1.2; send gradient.2
        wait gradient.0; wait gradient.1; wait gradient.2
        """
    )


def test_interleaved_parts_go_around_from_the_last_stage_to_the_first() -> None:
    """Layers 0 and 2 are on stage 0, 1 and 3 on stage 1."""
    chunks = [[block(name, 1)] for name in "abcd"]
    plan = plan_of(Degrees(pipeline=2), chunks, micro_batches=2, schedule="interleaved")
    assert trace(programs_of(plan), 1) == lines(
        """
        receive activation.0; wait activation.0; compute f1.0; send activation.0
        receive activation.1; wait activation.1; compute f1.1; send activation.1
        receive activation.0; wait activation.0; compute f3.0
        compute i3.0; compute w3.0; send gradient.0
        receive activation.1; wait activation.1; compute f3.1
        compute i3.1; compute w3.1; send gradient.1
        receive gradient.0; wait gradient.0; compute i1.0; compute w1.0; send gradient.0
        receive gradient.1; wait gradient.1; compute i1.1; compute w1.1; send gradient.1
        wait activation.0; wait activation.1; wait gradient.0; wait gradient.1; wait gradient.0; wait gradient.1
        """
    )


def test_zero_bubble_sends_gradients_of_inputs_before_it_computes_those_of_weights() -> None:
    plan = plan_of(
        Degrees(data=2, pipeline=2),
        [[block("a", 1, parameters=10)], [block("b", 1, parameters=10)]],
        micro_batches=2,
        schedule="zero-bubble",
    )
    assert trace(programs_of(plan), 1) == lines(
        """
        receive activation.0; wait activation.0; compute f1.0; compute i1.0; send gradient.0
        receive activation.1; wait activation.1; compute f1.1; compute i1.1; send gradient.1
        compute w1.0
        compute w1.1; issue gradient 1.1 ALLREDUCE 20
        wait gradient.0; wait gradient.1; wait gradient 1.1; compute update
        """
    )


def test_exchanges_are_waited_for_at_once_or_at_the_end_of_the_blocks_pass() -> None:
    """Tensor parallelism in two, as a transformer's: an all-gather before, a reduce-scatter behind.

    The backward pass has its last reduce-scatter behind the gradient of the weights. Operations that follow each other
    are one; what goes among one NPU, or has no bytes, is left out.
    """
    gather, alone = Exchange(AG, Group.TENSOR, 8), Exchange(AA, Group.EXPERT, 64)
    layer = Block(
        "a",
        forward=(gather, takes(2), alone, takes(3), Exchange(AR, Group.TENSOR, 0), Exchange(RS, Group.TENSOR, 16)),
        input_gradient=(gather, takes(5), Exchange(RS, Group.TENSOR, 16, waited=False)),
        weight_gradient=(takes(7),),
        again=(gather, takes(4)),
    )
    plan = plan_of(Degrees(tensor=2), [[layer]])
    expected = """
        issue f0.0 ALLGATHER 8; wait f0.0; compute f0.0; issue f0.0 REDUCESCATTER 16; wait f0.0
        issue again0.0 ALLGATHER 8; wait again0.0; compute again0.0
        issue i0.0 ALLGATHER 8; wait i0.0; compute i0.0; issue i0.0 REDUCESCATTER 16; {}
        """
    assert trace(programs_of(plan)) == lines(expected.format("compute w0.0; wait i0.0"))
    plan = plan_of(Degrees(tensor=2), [[layer]], schedule="zero-bubble")
    assert trace(programs_of(plan)) == lines(expected.format("wait i0.0; compute w0.0"))
    assert _times_ps(programs_of(plan)) == [5, 4, 5, 7]


def _times_ps(programs: TrainingPrograms) -> list[int]:
    return [step.time_ps for step in programs.scripts[0].chunks[0][0].__dict__.values() for step in _computing(step)]


def _computing(steps: Any) -> list[Any]:
    return [step for step in steps if hasattr(step, "times_ps")] if isinstance(steps, tuple) else []


def test_in_a_ring_each_turn_is_computed_while_a_part_goes_on() -> None:
    def steps(home_bytes: int) -> list[str]:
        ring = Ring(Group.CONTEXT, takes(5), 64, home_bytes)
        return trace(programs_of(plan_of(Degrees(context=3), [[Block("a", (ring,))]])))

    turn = "send f0.0; receive f0.0; compute f0.0; wait f0.0; wait f0.0;"
    assert steps(0) == lines(2 * turn + "compute f0.0")
    assert steps(32) == lines(3 * turn)


def test_a_ring_without_neighbours_or_bytes_only_computes() -> None:
    ring = Ring(Group.CONTEXT, takes(5), 64)
    assert trace(programs_of(plan_of(Degrees(tensor=3), [[Block("a", (ring,))]]))) == ["compute f0.0"]
    silent = Ring(Group.CONTEXT, takes(5), 0)
    programs = programs_of(plan_of(Degrees(context=3), [[Block("a", (silent,))]]))
    assert next(programs.program(programs.roles[0])) == Compute(Label(0, 0, PassKind.FORWARD, 0), 15)


def test_an_uneven_operation_takes_in_each_place_of_the_stage_what_its_place_in_the_group_says() -> None:
    """Tensor 2, expert 2, and two groups of these: places 0 and 1 have the first experts, 2 and 3 the second, ...."""
    uneven = Uneven(Group.EXPERT, (takes(10), takes(30)))
    programs = programs_of(plan_of(Degrees(tensor=2, data=4, expert=2), [[Block("a", (takes(1), uneven, takes(2)))]]))
    operation = next(programs.program(programs.roles[0]))
    assert isinstance(operation, Compute)
    assert (operation.time_ps, operation.times_ps) == (33, (13, 13, 33, 33, 13, 13, 33, 33))


def test_an_uneven_operation_says_what_each_place_does() -> None:
    plan = plan_of(Degrees(data=4), [[Block("a", (Uneven(Group.GRADIENT, (takes(1), takes(2))),))]])
    programs = programs_of(plan)
    with pytest.raises(InputError, match="2 operations for the 4 places of a group 'gradient', expected one for each"):
        trace(programs)


def test_layers_that_are_alike_are_timed_once() -> None:
    clock = FlopClock()
    layers = [block(f"layer {number}", 1, 2, 3) for number in range(5)]
    programs = TrainingPrograms.of(plan_of(Degrees(), [layers], micro_batches=4), clock, 2, (1,))
    trace(programs)
    assert [operation.flops for operation in clock.asked] == [1, 2, 3]


def test_times_that_operations_bring_are_scaled_by_the_clock_too() -> None:
    given = Operation("given", OperationKind.MATMUL, time_ps=100)
    plan = plan_of(Degrees(), [[Block("a", (given, takes(10)))]])
    programs = TrainingPrograms.of(plan, KeepingClock(FlopClock(), 0.5), 1, (1,))
    assert next(programs.program(programs.roles[0])) == Compute(Label(0, 0, PassKind.FORWARD, 0), 55)


LAYERS = (block("a", 1, parameters=10), block("b", 1), block("c", 1, parameters=7))
FORWARDS = "compute f0.{0}; compute f1.{0}; compute f2.{0}"


def _sharded(stage: int, **keys: Any) -> TrainingPlan:
    degrees = Degrees(data=3)
    sharding = Sharding(stage, **keys)
    return plan_of(degrees, [LAYERS], micro_batches=2, sharding=sharding, elements=PLAIN)


def test_gradients_are_all_reduced_as_they_come_in_the_last_micro_batch() -> None:
    """Layers of 10, 0 and 7 parameters, 4 bytes each."""
    assert trace(programs_of(_sharded(0))) == lines(
        f"""
        {FORWARDS.format(0)}; compute i2.0; compute w2.0; compute i1.0; compute w1.0; compute i0.0; compute w0.0
        {FORWARDS.format(1)}; compute i2.1; compute w2.1; issue gradient 2.1 ALLREDUCE 28; compute i1.1; compute w1.1
        compute i0.1; compute w0.1; issue gradient 0.1 ALLREDUCE 40
        wait gradient 2.1; wait gradient 0.1; compute update
        """
    )


def test_without_overlap_gradients_go_when_all_is_computed() -> None:
    assert trace(programs_of(_sharded(0, overlap=False)))[-5:] == lines(
        "issue gradient 2 ALLREDUCE 28; issue gradient 0 ALLREDUCE 40; wait gradient 2; wait gradient 0; compute update"
    )


def test_a_bucket_goes_when_it_is_full_and_at_the_end_of_the_model() -> None:
    """29 bytes are more than the last layer's 28; 28 aren't."""
    assert [step for step in trace(programs_of(_sharded(0, bucket_bytes=29))) if "gradient" in step] == lines(
        "issue gradient 0.1 ALLREDUCE 68; wait gradient 0.1"
    )
    assert len([step for step in trace(programs_of(_sharded(0, bucket_bytes=28))) if "issue" in step]) == 2


def test_zero_1_scatters_gradients_and_gathers_weights_for_whom_needs_them_next() -> None:
    """Shards are of 4 and 3 parameters, so vectors of 12 and 9."""
    assert trace(programs_of(_sharded(1), passes=2)) == lines(
        f"""
        {FORWARDS.format(0)}; compute i2.0; compute w2.0; compute i1.0; compute w1.0; compute i0.0; compute w0.0
        {FORWARDS.format(1)}; compute i2.1; compute w2.1; issue gradient 2.1 REDUCESCATTER 36
        compute i1.1; compute w1.1; compute i0.1; compute w0.1; issue gradient 0.1 REDUCESCATTER 48
        wait gradient 2.1; wait gradient 0.1; compute update
        issue weights 0 ALLGATHER 8; issue weights 2 ALLGATHER 6
        wait weights 0; compute f0.0; compute f1.0; wait weights 2; compute f2.0
        compute i2.0; compute w2.0; compute i1.0; compute w1.0; compute i0.0; compute w0.0
        {FORWARDS.format(1)}; compute i2.1; compute w2.1; issue gradient 2.1 REDUCESCATTER 36
        compute i1.1; compute w1.1; compute i0.1; compute w0.1; issue gradient 0.1 REDUCESCATTER 48
        wait gradient 2.1; wait gradient 0.1; compute update
        issue weights 0 ALLGATHER 8; issue weights 2 ALLGATHER 6; tail weights 0; tail weights 2
        """
    )


def test_zero_1_without_overlap_waits_for_weights_at_once() -> None:
    assert trace(programs_of(_sharded(1, overlap=False)))[-4:] == lines(
        "issue weights 0 ALLGATHER 8; wait weights 0; issue weights 2 ALLGATHER 6; wait weights 2"
    )


def test_zero_2_scatters_each_micro_batchs_gradients() -> None:
    steps = trace(programs_of(_sharded(2)))
    assert [step for step in steps if step.startswith("issue")] == lines(
        """
        issue gradient 2.0 REDUCESCATTER 36; issue gradient 0.0 REDUCESCATTER 48
        issue gradient 2.1 REDUCESCATTER 36; issue gradient 0.1 REDUCESCATTER 48
        issue weights 0 ALLGATHER 8; issue weights 2 ALLGATHER 6
        """
    )


@pytest.mark.parametrize("schedule", ["1f1b", "zero-bubble"])
def test_zero_2_without_overlap_waits_for_each_micro_batchs_gradients_behind_its_pass(schedule: str) -> None:
    plan = plan_of(
        Degrees(data=2, pipeline=2),
        [[block("a", 1, parameters=10)], [block("b", 1, parameters=10)]],
        micro_batches=2,
        schedule=schedule,
        sharding=Sharding(2, overlap=False),
        elements=PLAIN,
    )
    steps = [step for step in trace(programs_of(plan), 1) if not step.startswith(("receive", "wait activation"))]
    scattered = "issue gradient 1.{0} REDUCESCATTER 40; wait gradient 1.{0}"
    first, second = scattered.format(0), scattered.format(1)
    passes = {
        "1f1b": f"""
            compute f1.0; compute i1.0; compute w1.0; send gradient.0; {first}
            compute f1.1; compute i1.1; compute w1.1; send gradient.1; {second}
            """,
        "zero-bubble": f"""
            compute f1.0; compute i1.0; send gradient.0; compute f1.1; compute i1.1; send gradient.1
            compute w1.0; {first}; compute w1.1; {second}
            """,
    }
    end = "wait gradient.0; wait gradient.1; compute update; issue weights 1 ALLGATHER 10; wait weights 1"
    assert steps == lines(passes[schedule]) + lines(end)


def test_zero_3_gathers_weights_one_block_ahead_before_each_use() -> None:
    assert trace(programs_of(_sharded(3))) == lines(
        """
        issue weights 0.0 ALLGATHER 8; issue weights 2.0 ALLGATHER 6; wait weights 0.0; compute f0.0; compute f1.0
        issue weights 2.0 ALLGATHER 6; wait weights 2.0; compute f2.0
        issue weights 0.0 ALLGATHER 8; wait weights 2.0; compute i2.0; compute w2.0
        issue gradient 2.0 REDUCESCATTER 36; compute i1.0; compute w1.0
        issue weights 0.1 ALLGATHER 8; wait weights 0.0; compute i0.0; compute w0.0; issue gradient 0.0 REDUCESCATTER 48
        issue weights 2.1 ALLGATHER 6; wait weights 0.1; compute f0.1; compute f1.1
        issue weights 2.1 ALLGATHER 6; wait weights 2.1; compute f2.1
        issue weights 0.1 ALLGATHER 8; wait weights 2.1; compute i2.1; compute w2.1
        issue gradient 2.1 REDUCESCATTER 36; compute i1.1; compute w1.1
        wait weights 0.1; compute i0.1; compute w0.1; issue gradient 0.1 REDUCESCATTER 48
        wait gradient 2.0; wait gradient 0.0; wait gradient 2.1; wait gradient 0.1; compute update
        """
    )


def test_zero_3_without_prefetch_waits_for_each_gather_and_keeps_weights_where_asked() -> None:
    steps = trace(programs_of(_sharded(3, prefetch=0, keeps_gathered=True)))
    assert steps[:6] == lines(
        "issue weights 0.0 ALLGATHER 8; wait weights 0.0; compute f0.0; compute f1.0; issue weights 2.0 ALLGATHER 6; "
        "wait weights 2.0"
    )
    assert [step for step in steps if "issue weights" in step] == lines(
        "issue weights 0.0 ALLGATHER 8; issue weights 2.0 ALLGATHER 6; issue weights 0.1 ALLGATHER 8; "
        "issue weights 2.1 ALLGATHER 6"
    )


def test_a_table_that_the_head_uses_too_is_gathered_once_a_micro_batch() -> None:
    """FSDP has both in one group, which stays from the forward to the backward pass: a table, a layer and a head."""
    head = Block("head", (takes(1),), parameters=7, tied_parameters=10)
    layers = [block("table", 1, 1, 1, 10), block("layer", 1, 1, 1, 7), head]
    for prefetch in (0, 1):
        plan = plan_of(Degrees(data=2), [layers], micro_batches=2, sharding=Sharding(3, prefetch=prefetch))
        steps = [step for step in trace(programs_of(plan)) if step.startswith("issue weights")]
        found = [step.split()[2] for step in steps]
        assert found == ["0.0", "1.0", "2.0", "2.0", "1.0", "0.1", "1.1", "2.1", "2.1", "1.1"]


def test_weights_that_another_micro_batch_still_needs_are_not_gathered_again() -> None:
    """GPipe on one stage: both micro-batches go forward before either comes back."""
    sharding = Sharding(3, keeps_gathered=True)
    plan = plan_of(Degrees(data=2), [LAYERS], micro_batches=2, sharding=sharding, schedule="gpipe")
    assert len([step for step in trace(programs_of(plan)) if "issue weights" in step]) == 2


def test_experts_gradients_go_among_those_with_the_same_experts() -> None:
    layer = Block("a", (takes(1),), parameters=10, expert_parameters=9)
    programs = programs_of(plan_of(Degrees(data=4, expert=2), [[layer]], elements=PLAIN))
    reduced = [bucket.reduce for bucket in programs.scripts[0].chunks[0][0].buckets]
    assert [(each.bytes, each.group) for each in reduced if each is not None] == [
        (40, Group.GRADIENT),
        (36, Group.EXPERT_GRADIENT),
    ]


def test_the_first_and_the_last_stage_add_up_the_gradient_of_the_embedding_that_both_have() -> None:
    chunks = [[block(name, 1, parameters=12)] for name in "abc"]
    for stage, bytes in ((0, 20), (1, 12)):
        plan = plan_of(Degrees(data=2, pipeline=3), chunks, tied_parameters=5, sharding=Sharding(stage), elements=PLAIN)
        ends = [[step for step in trace(programs_of(plan), stage) if "gradient ALL" in step] for stage in range(3)]
        assert ends == [[f"issue gradient ALLREDUCE {bytes}"], [], [f"issue gradient ALLREDUCE {bytes}"]]
        last = trace(programs_of(plan), 2)
        assert last.index(f"issue gradient ALLREDUCE {bytes}") > last.index("wait gradient 2.0")
        assert last.index("wait gradient") < last.index("compute update")


def test_the_update_moves_gradients_once_and_weights_and_states_twice() -> None:
    """17 parameters, or shards of 6: 4 + 2 x (2 + 12) bytes each."""
    for stage, parameters in ((0, 17), (1, 6), (2, 6), (3, 6)):
        update = programs_of(_sharded(stage)).scripts[0].update
        assert update is not None
        assert update.time_ps == parameters * 32


def test_stages_have_something_to_send() -> None:
    plan = plan_of(Degrees(pipeline=2), [[block("a")], [block("b")]], boundary_bytes=0)
    with pytest.raises(InputError, match=r"small\.yaml: stages send each other 0 bytes, expected at least 1"):
        programs_of(plan)


@pytest.mark.parametrize("schedule", ["gpipe", "1f1b", "interleaved", "zero-bubble"])
def test_the_progress_of_a_stage_goes_from_pass_to_pass_of_its_blocks(schedule: str) -> None:
    """Stage 0 has 2 blocks, forward and backward (in two steps with a zero bubble) for 4 micro-batches."""
    blocks = [block(name, 1, 1, 1, 10) for name in "abcd"]
    chunks = [[each] for each in blocks] if schedule == "interleaved" else [blocks[:2], blocks[2:]]
    programs = programs_of(plan_of(Degrees(pipeline=2), chunks, micro_batches=4, schedule=schedule))
    labels = [operation.label for operation in _played(programs) if isinstance(operation, Compute)]
    steps = [programs.step_of(label) for label in labels]
    assert programs.steps == 2 * 4 * (3 if schedule == "zero-bubble" else 2)
    assert list(dict.fromkeys(steps)) == list(range(programs.steps + 1))  # the last is the update
    assert steps == sorted(steps)


def _played(programs: TrainingPrograms) -> list[Any]:
    """What stage 0 does if all is done at once."""
    program, answer, operations = programs.program(programs.roles[0]), None, []
    while True:
        try:
            operations.append(program.send(answer))
        except StopIteration:
            return operations
        answer = None if isinstance(operations[-1], Compute | Wait) else DONE


DONE = Handle(0, 0, MessageRequest(0, 0, 1, "", Label()), 0, done=True)
