"""Orders of micro-batches: against tables written by hand, and what they keep and leave idle against formulas."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.training import block, plan_of, play, programs_of

from astra_ns3.config.training_plan import Degrees, TrainingPlan
from astra_ns3.errors import InputError
from astra_ns3.playing.dry_run.deadlock import check_programs
from astra_ns3.workload.training.schedules import SCHEDULES, Position, WorkKind, order_of

LETTERS = {WorkKind.FORWARD: "F", WorkKind.BACKWARD: "B", WorkKind.INPUT: "I", WorkKind.WEIGHT: "W"}
F_PS, I_PS, W_PS = 5_000, 7_000, 3_000


def _written(schedule: str, stage: int, stages: int, chunks: int, micro_batches: int) -> str:
    """``F0 F1 B0 ...``, with the part of the model as a letter where there are several."""
    order = order_of(schedule, Position(stage, stages, chunks, micro_batches))
    return " ".join(
        f"{LETTERS[work.kind]}{'abc'[work.chunk] if chunks > 1 else ''}{work.micro_batch}" for work in order
    )


@pytest.mark.parametrize(
    ("schedule", "position", "order"),
    [
        ("gpipe", (0, 2, 1, 3), "F0 F1 F2 B2 B1 B0"),
        ("gpipe", (1, 2, 1, 3), "F0 F1 F2 B2 B1 B0"),
        ("gpipe", (0, 2, 2, 2), "Fa0 Fa1 Fb0 Fb1 Bb1 Bb0 Ba1 Ba0"),
        ("1f1b", (0, 3, 1, 4), "F0 F1 F2 B0 F3 B1 B2 B3"),
        ("1f1b", (1, 3, 1, 4), "F0 F1 B0 F2 B1 F3 B2 B3"),
        ("1f1b", (2, 3, 1, 4), "F0 B0 F1 B1 F2 B2 F3 B3"),
        ("1f1b", (0, 4, 1, 2), "F0 F1 B0 B1"),
        ("interleaved", (0, 2, 2, 4), "Fa0 Fa1 Fb0 Fb1 Fa2 Bb0 Fa3 Bb1 Fb2 Ba0 Fb3 Ba1 Bb2 Bb3 Ba2 Ba3"),
        ("interleaved", (1, 2, 2, 4), "Fa0 Fa1 Fb0 Bb0 Fb1 Bb1 Fa2 Ba0 Fa3 Ba1 Fb2 Bb2 Fb3 Bb3 Ba2 Ba3"),
        ("interleaved", (0, 2, 2, 2), "Fa0 Fa1 Fb0 Fb1 Bb0 Bb1 Ba0 Ba1"),
        ("interleaved", (0, 1, 3, 1), "Fa0 Fb0 Fc0 Bc0 Bb0 Ba0"),
        ("zero-bubble", (0, 3, 1, 4), "F0 F1 F2 I0 W0 F3 I1 W1 I2 W2 I3 W3"),
        ("zero-bubble", (1, 3, 1, 4), "F0 F1 I0 F2 I1 W0 F3 I2 W1 I3 W2 W3"),
        ("zero-bubble", (2, 3, 1, 4), "F0 I0 F1 I1 F2 I2 W0 F3 I3 W1 W2 W3"),
    ],
)
def test_a_stage_works_in_the_order_of_the_papers_figures(
    schedule: str, position: tuple[int, int, int, int], order: str
) -> None:
    assert _written(schedule, *position) == order


@st.composite
def _positions(draw: st.DrawFn) -> tuple[str, Position]:
    schedule = draw(st.sampled_from(list(SCHEDULES)))
    stages = draw(st.integers(1, 5))
    chunks = draw(st.integers(2, 4)) if schedule == "interleaved" else 1
    batches = draw(st.integers(1, 9)) * (stages if schedule == "interleaved" else 1)
    return schedule, Position(draw(st.integers(0, stages - 1)), stages, chunks, batches)


@given(case=_positions())
def test_every_micro_batch_goes_forward_and_then_backward_once(case: tuple[str, Position]) -> None:
    schedule, at = case
    order = order_of(schedule, at)
    kinds = ["forward", "input", "weight"] if schedule == "zero-bubble" else ["forward", "backward"]
    each = [(kind, chunk, batch) for kind in kinds for chunk in range(at.chunks) for batch in range(at.micro_batches)]
    assert Counter((work.kind.value, work.chunk, work.micro_batch) for work in order) == Counter(each)
    place = {(work.kind.value, work.chunk, work.micro_batch): number for number, work in enumerate(order)}
    for before, after in pairwise(kinds):
        for _, chunk, batch in (key for key in each if key[0] == before):
            assert place[before, chunk, batch] < place[after, chunk, batch]


@given(case=_positions())
def test_a_stage_keeps_as_many_micro_batches_as_the_papers_say(case: tuple[str, Position]) -> None:
    """GPipe all; 1F1B as many as stages are left; ZB-H1 as many as there are stages, whichever it is."""
    schedule, at = case
    kept = most = 0
    for work in order_of(schedule, at):
        kept += {WorkKind.FORWARD: 1, WorkKind.INPUT: 0}.get(work.kind, -1)
        most = max(most, kept)
    left = at.stages - at.stage
    bound = {
        "gpipe": at.micro_batches,
        "1f1b": left,
        "zero-bubble": at.stages,
        "interleaved": 2 * (left - 1) + (at.chunks - 1) * at.stages + 1,
    }[schedule]
    assert most == min(bound, at.micro_batches * at.chunks)


def _ideal_finish_ps(plan: TrainingPlan) -> int:
    """The finish where whatever is sent is there at once, which is the longest chain of computations then."""
    finish_ps = play(plan, ideal=True).finish_ps
    assert check_programs(programs_of(plan)).time_ps == finish_ps
    return finish_ps


@pytest.mark.parametrize("batches", [3, 6])
@pytest.mark.parametrize("stages", [1, 2, 3])
@pytest.mark.parametrize("schedule", ["gpipe", "1f1b"])
def test_the_bubble_is_p_minus_1_of_m_plus_p_minus_1(schedule: str, stages: int, batches: int) -> None:
    plan = plan_of(
        Degrees(pipeline=stages),
        [[block("layer", F_PS, I_PS, W_PS)]] * stages,
        micro_batches=batches,
        schedule=schedule,
    )
    finish_ps = _ideal_finish_ps(plan)
    busy_ps = batches * (F_PS + I_PS + W_PS)
    assert Fraction(finish_ps - busy_ps, finish_ps) == Fraction(stages - 1, batches + stages - 1)


@pytest.mark.parametrize(("stages", "chunks", "batches"), [(2, 2, 2), (2, 3, 4), (3, 2, 6), (4, 2, 4)])
def test_the_interleaved_bubble_is_p_minus_1_over_v_m_of_the_ideal(stages: int, chunks: int, batches: int) -> None:
    plan = plan_of(
        Degrees(pipeline=stages),
        [[block("layer", F_PS, I_PS, W_PS)]] * (stages * chunks),
        micro_batches=batches,
        schedule="interleaved",
    )
    finish_ps = _ideal_finish_ps(plan)
    ideal_ps = batches * chunks * (F_PS + I_PS + W_PS)
    assert Fraction(finish_ps - ideal_ps, ideal_ps) == Fraction(stages - 1, chunks * batches)


@pytest.mark.parametrize(("stages", "batches"), [(2, 2), (2, 5), (3, 4), (4, 8)])
def test_zb_h1s_bubble_lacks_two_gradients_of_weights_for_each_stage(stages: int, batches: int) -> None:
    """(p - 1)(T_F + T_B - T_W) of the paper, where 1F1B has (p - 1)(T_F + T_B + T_W); T_W is the shortest here."""
    plan = plan_of(
        Degrees(pipeline=stages),
        [[block("layer", F_PS, I_PS, W_PS)]] * stages,
        micro_batches=batches,
        schedule="zero-bubble",
    )
    finish_ps = _ideal_finish_ps(plan)
    assert finish_ps == batches * (F_PS + I_PS + W_PS) + (stages - 1) * (F_PS + I_PS - W_PS)


@pytest.mark.parametrize(
    ("schedule", "position", "message"),
    [
        ("1f1b", (0, 2, 2, 4), "w: schedule '1f1b' with 2 virtual stages, expected 1, or schedule 'interleaved'"),
        ("zero-bubble", (0, 2, 3, 4), "w: schedule 'zero-bubble' with 3 virtual stages, expected 1"),
        ("interleaved", (0, 2, 1, 4), "w: schedule 'interleaved' with 1 virtual stage, expected at least 2"),
        ("interleaved", (0, 3, 2, 4), "w: schedule 'interleaved' with 4 micro-batches, expected a multiple of the 3"),
        ("1f1", (0, 2, 1, 4), "w: schedule '1f1' is not one of gpipe, 1f1b, .*; did you mean '1f1b'"),
    ],
)
def test_numbers_that_do_not_fit_a_schedule_are_told(
    schedule: str, position: tuple[int, int, int, int], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        order_of(schedule, Position(*position), "w")
