"""``--comm-scale`` on the training of a model: all that is sent is scaled, gradients and weights like the rest."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from support.training import layer_of_all_kinds, plan_of, programs_of

from astra_ns3.config.training_plan import Degrees, Sharding, TrainingPlan
from astra_ns3.playing.dry_run.counting import counted_requests
from astra_ns3.workload.training.scaling import scaled_plan

DEGREES = Degrees(tensor=2, context=2, data=2, expert=2)


def sizes(plan: TrainingPlan) -> Counter[tuple[str, str, int]]:
    """Of every collective: kind, communicator and bytes, and how often."""
    found: Counter[tuple[str, str, int]] = Counter()
    for request, count in counted_requests(programs_of(plan)):
        assert request.communicator is not None
        found[request.kind.value, request.communicator.name, request.bytes] += count
    return found


def test_what_is_computed_again_is_exchanged_again_and_scaled() -> None:
    layer = layer_of_all_kinds(6400, 100)
    plan = plan_of(DEGREES, [[replace(layer, again=layer.forward)]])
    whole, quarter = sizes(plan), sizes(scaled_plan(plan, 0.25))
    assert whole.total() > sizes(plan_of(DEGREES, [[layer]])).total()
    assert quarter == Counter({(kind, name, size // 4): count for (kind, name, size), count in whole.items()})


@pytest.mark.parametrize("stage", range(4))
def test_gradients_and_weights_are_scaled_like_all_that_is_exchanged(stage: int) -> None:
    plan = plan_of(DEGREES, [[layer_of_all_kinds(6400, 100)] * 2], sharding=Sharding(stage))
    whole, quarter = sizes(plan), sizes(scaled_plan(plan, 0.25))
    assert len({name for _, name, _ in whole}) >= 4
    assert quarter == Counter({(kind, name, size // 4): count for (kind, name, size), count in whole.items()})
