"""Plans whose second iteration is faster than the first: which are played, and what is said of them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from support.plans import copies_alone

from astra_ns3.planning.bounds import Bound
from astra_ns3.planning.degrees import Choice, space_of
from astra_ns3.planning.iterations import affordable, fastest_next, may_gain
from astra_ns3.planning.search import Found, Played


def _found(choices: Mapping[Choice, int], cpu_seconds: float = 1.0) -> Found:
    played = {each: Played(time_ps, cpu_seconds) for each, time_ps in choices.items()}
    return Found(len(played), 0, played, {}, {}, (), 0)


def _stages(folder: Path) -> dict[int, Choice]:
    """The choices of one cell, by their stages of ZeRO."""
    request = copies_alone(folder)
    space = space_of(request.workload, request.npus, request.held)
    cells = [cell for shape in space.shapes for cell in space.cells(shape)]
    cell = next(each for each in cells if each.shape.recompute == "none")
    return {each.zero: each for each in space.choices(cell, space.workload.totals().layers)}


def test_the_first_fitting_stage_of_the_best_degrees_is_played_even_if_its_bound_ruled_it_out(tmp_path: Path) -> None:
    stages = _stages(tmp_path)
    found = _found({stages[3]: 1000})
    bounds = [Bound(each, 900, 1) for each in stages.values()]
    assert may_gain(found, bounds, lambda choice: True) == [stages[3], stages[1]]
    assert may_gain(found, bounds, lambda choice: choice.zero != 1) == [stages[3], stages[2]]
    assert may_gain(found, bounds, lambda choice: False) == []
    assert may_gain(found, [bounds[0], bounds[3]], lambda choice: True) == []
    assert may_gain(_found({stages[1]: 1000}), bounds, lambda choice: True) == [stages[1]]


def test_plans_far_behind_the_best_are_left_out(tmp_path: Path) -> None:
    mine, other = _stages(tmp_path), _stages(tmp_path)  # two cells
    bounds = [Bound(each, 900, 1) for each in (*mine.values(), *other.values())]
    near = may_gain(_found({mine[3]: 1000, other[3]: 1250}), bounds, lambda choice: True)
    assert near == [mine[3], mine[1], other[1]]
    assert may_gain(_found({mine[3]: 1000, other[3]: 1251}), bounds, lambda choice: True) == near[:2]


@pytest.mark.parametrize(
    ("searched", "limit", "count"),
    [(100, None, 3), (100, 36.0, 3), (100, 35.9, 2), (100, 24.0, 2), (100, 23.9, 0), (4, 13.0, 3), (4, 12.9, 2)],
)
def test_runs_take_a_quarter_of_the_cpu_time_or_what_is_left(
    tmp_path: Path, searched: int, limit: float | None, count: int
) -> None:
    """The best took 1 s, so one and two iterations of a plan take 3 s; the whole search took longer."""
    stages = _stages(tmp_path)
    played = {stages[3]: Played(1000, 1.0), stages[0]: Played(2000, searched - 1.0)}
    found = Found(2, 0, played, {}, {}, (), 0)
    assert len(affordable(found, [stages[3], stages[1], stages[2]], limit)) == count


def test_only_a_second_iteration_below_that_of_the_best_is_faster(tmp_path: Path) -> None:
    stages = _stages(tmp_path)
    assert fastest_next(stages[3], {stages[3]: 10, stages[1]: 9}) is stages[1]
    assert fastest_next(stages[3], {stages[3]: 10, stages[1]: 10}) is None
    assert fastest_next(stages[3], {stages[1]: 9}) is None
    assert fastest_next(None, {}) is None
