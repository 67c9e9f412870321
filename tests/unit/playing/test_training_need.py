"""Collectives of a model's training go in the order in which they are needed, whatever the policy of the system.

A flop takes a picosecond, a message 1 ns and a picosecond a byte; all collectives of a test share one queue.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.training import block, plan_of, play, programs_of

from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.config.training_plan import Degrees, Elements, Exchange, Group, Sharding, TrainingPlan
from astra_ns3.system.policies import HIGHEST_PRIORITY
from astra_ns3.system.request import CollectiveRequest, Handle

POLICIES = ["LIFO", "FIFO"]


def _plan(stage: int, **keys: object) -> TrainingPlan:
    """Seven layers, whose weights take longer to gather than they take to compute, on four NPUs."""
    layers = [block(f"layer {number}", 2_000, 2_000, 2_000, 8_000) for number in range(7)]
    sharding = Sharding(stage, **keys)  # type: ignore[arg-type]
    return plan_of(Degrees(data=4), [layers], micro_batches=3, sharding=sharding, elements=Elements(2, 2))


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("splits", [1, 4])
def test_deeper_prefetch_is_never_slower(policy: str, splits: int) -> None:
    ends_ps = [
        play(_plan(3, prefetch=prefetch), passes=2, policy=policy, splits=splits).finish_ps for prefetch in (1, 2, 4, 7)
    ]
    assert ends_ps == sorted(ends_ps, reverse=True)


@pytest.mark.parametrize("splits", [1, 4])
def test_weights_of_zero_1_come_as_soon_under_lifo_as_under_fifo(splits: int) -> None:
    lifo, fifo = (play(_plan(1), passes=2, policy=policy, splits=splits).finish_ps for policy in POLICIES)
    assert lifo == fifo


@pytest.mark.parametrize("stage", [1, 3])
def test_a_blocks_own_exchanges_go_before_weights_in_their_order_and_these_before_gradients(stage: int) -> None:
    gather = Exchange(CollectiveKind.ALL_GATHER, Group.CONTEXT, 4_000)
    plan = replace(_plan(stage), degrees=Degrees(context=2, data=2))
    layers = tuple(replace(each, forward=(gather, *each.forward)) for each in plan.chunks[0])
    requests = _requests(replace(plan, chunks=(layers,)))
    weights = [_priority(request) for request in requests if request.label.part == "weights"]
    assert weights == sorted(set(weights), reverse=True)
    assert all(_priority(request) > max(weights) for request in requests if request.label.part == "forward")
    gradients = [request.policy for request in requests if request.label.part == "gradient"]
    assert gradients
    assert set(gradients) == {None}
    many = 1_000_000
    assert min(weights) > many, "the system's own policies count up or down from 0"


def _requests(plan: TrainingPlan) -> list[CollectiveRequest]:
    """Of an NPU, in two iterations."""
    programs = programs_of(plan, passes=2)
    program = programs.program(programs.roles[0])
    found: list[CollectiveRequest] = []
    handle: Handle | None = None
    while True:
        try:
            operation = program.send(handle)
        except StopIteration:
            return found
        handle = None
        if isinstance(operation, CollectiveRequest):
            found.append(operation)
            handle = Handle(0, 0, operation, 0, done=True)


def _priority(request: CollectiveRequest) -> int:
    assert request.policy is not None
    return HIGHEST_PRIORITY if request.policy == "HIGHEST" else int(request.policy)
