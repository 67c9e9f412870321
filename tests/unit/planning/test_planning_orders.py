"""What bounds know of the orders of pipelines."""

from __future__ import annotations

import pytest

from astra_ns3.planning.orders import order_facts
from astra_ns3.workload.training.schedules import WorkKind

STAGES, BATCHES = 4, 8


@pytest.mark.parametrize("stage", range(STAGES))
def test_one_forward_one_backward_keeps_as_many_as_stages_follow(stage: int) -> None:
    facts = order_facts("1f1b", STAGES, 1, BATCHES, stage)
    assert facts.held == (STAGES - stage,)
    assert facts.then == 0
    assert not facts.splits
    assert facts.behind == {}
    assert facts.last == {(WorkKind.BACKWARD, 0): 1}


def test_gpipe_keeps_all_micro_batches() -> None:
    assert order_facts("gpipe", STAGES, 1, BATCHES, 2).held == (BATCHES,)


@pytest.mark.parametrize("stage", range(STAGES))
def test_zero_bubble_leaves_gradients_of_weights_for_the_end(stage: int) -> None:
    facts = order_facts("zero-bubble", STAGES, 1, BATCHES, stage)
    assert facts.splits
    assert facts.behind == {(WorkKind.WEIGHT, 0): stage + 1}


@pytest.mark.parametrize("stage", range(STAGES))
def test_interleaving_keeps_what_it_begins_before_the_first_backward_pass(stage: int) -> None:
    """Narayanan et al. 2021, section 2.2: 2 (p - s - 1) + (v - 1) p passes ahead, and the one that is under way."""
    facts = order_facts("interleaved", STAGES, 2, BATCHES, stage)
    assert sum(facts.held) == 2 * (STAGES - stage - 1) + STAGES + 1
    first = facts.last
    assert sum(first.values()) > 1  # the second part's gradients are complete before the first part's
