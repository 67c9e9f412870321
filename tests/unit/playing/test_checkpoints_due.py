"""Checkpoints after a time: which one is due beside one that is still on its way."""

from __future__ import annotations

import pytest

from astra_ns3.network.records import Label
from astra_ns3.playing.player.checkpoints import Checkpoints
from astra_ns3.playing.programs.operations import Store


def due(checkpoints: Checkpoints, iteration: int, time_ps: int, *, behind: bool = True) -> list[bool]:
    """What both NPUs hear that come to a checkpoint at a time."""
    store = Store(8, Label(iteration), interval_ps=10, behind=behind)
    return [checkpoints.is_due(store, time_ps) for _ in range(2)]


@pytest.mark.parametrize("told_first", [False, True])
def test_one_that_becomes_whole_at_the_very_moment_holds_the_next_back_in_whatever_order_they_are_told(
    told_first: bool,
) -> None:
    checkpoints = Checkpoints(2)
    checkpoints.begin(0)
    assert due(checkpoints, 0, 9) == [False, False]
    assert due(checkpoints, 1, 10) == [True, True]
    checkpoints.stored(1, 22)
    assert due(checkpoints, 2, 24) == [False, False]
    assert checkpoints.passes == 0
    if told_first:
        checkpoints.stored(1, 25)
    assert due(checkpoints, 3, 25) == [False, False]
    if not told_first:
        checkpoints.stored(1, 25)
    assert checkpoints.passes == 2
    assert due(checkpoints, 4, 26) == [True, True]


def test_without_going_on_behind_it_the_next_is_due_after_its_time_alone() -> None:
    checkpoints = Checkpoints(2)
    checkpoints.begin(0)
    assert due(checkpoints, 0, 10, behind=False) == [True, True]
    assert due(checkpoints, 1, 20, behind=False) == [True, True]
