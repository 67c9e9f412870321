"""Plans whose second iteration is faster than the first: which are played, and what is said of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from support.plans import copies_alone

from astra_ns3.planning.bounds import Bound
from astra_ns3.planning.degrees import Choice, Space, space_of
from astra_ns3.planning.iterations import fastest_next, is_affordable, likely, may_gain, next_search, second_ps
from astra_ns3.planning.search import Found, Played, Search


@pytest.fixture
def space(tmp_path: Path) -> Space:
    request = copies_alone(tmp_path)
    return space_of(request.workload, request.npus, request.held)


def _stages(space: Space) -> dict[int, Choice]:
    """The choices of one cell, by their stages of ZeRO; of other cells each time."""
    cell = next(cell for shape in space.shapes for cell in space.cells(shape))
    return {each.zero: each for each in space.choices(cell, space.workload.totals().layers)}


def _bounds(choices: Sequence[Choice], next_ps: int = 900, cpu_seconds: float = 1.0) -> list[Bound]:
    return [Bound(each, 950, 1, cpu_seconds, next_ps + number) for number, each in enumerate(choices)]


def _found(choices: Mapping[Choice, int], cpu_seconds: float = 1.0) -> Found:
    played = {each: Played(time_ps, cpu_seconds) for each, time_ps in choices.items()}
    bound_of = {each: Bound(each, 950, 1, 0.5) for each in choices}
    return Found(len(played), 0, played, bound_of, {}, (), 0)


def test_the_best_and_stages_that_gather_at_an_end_may_gain_if_their_bound_is_below_the_best(space: Space) -> None:
    stages = _stages(space)
    found = _found({stages[3]: 902})
    gain = may_gain(found, _bounds([stages[number] for number in (1, 0, 2, 3)]))
    assert [(each.choice.zero, each.time_ps) for each in gain] == [(1, 900), (3, 903)]
    assert may_gain(_found({stages[3]: 900}), _bounds(list(stages.values()))) == []
    assert may_gain(_found({}), _bounds(list(stages.values()))) == []
    own = may_gain(_found({stages[1]: 900}), _bounds([stages[1], stages[0]]))
    assert [each.choice for each in own] == [stages[1]]


def test_the_cpu_time_of_both_runs_is_guessed_by_what_the_search_took(space: Space) -> None:
    """A run took twice as long as was guessed; one and two iterations take three times as long."""
    stages = _stages(space)
    gain = may_gain(_found({stages[3]: 1000}), _bounds([stages[1], stages[3]], cpu_seconds=7.0))
    assert [each.cpu_seconds for each in gain] == [42.0, 42.0]


def test_the_first_fitting_stage_of_degrees_near_the_best_is_played_first(space: Space) -> None:
    mine, other = _stages(space), _stages(space)  # two cells
    bounds = _bounds([*mine.values(), *other.values()])
    found = _found({mine[3]: 1000, other[3]: 1250})
    assert likely(found, bounds, lambda choice: True) == [mine[3], mine[1], other[1]]
    assert likely(found, bounds, lambda choice: choice.zero != 1) == [mine[3], mine[2], other[2]]
    assert likely(found, bounds, lambda choice: False) == [mine[3]]
    far = _found({mine[3]: 1000, other[3]: 1251})
    assert likely(far, bounds, lambda choice: True) == [mine[3], mine[1]]
    assert likely(_found({mine[1]: 1000}), bounds, lambda choice: True) == [mine[1]]


def test_a_second_search_finds_the_best_of_second_iterations_and_leaves_what_is_bounded(space: Space) -> None:
    """Bounds of 900 and more; stages 1 and 2 take 906, so only what is bounded below is played; 2 needs less memory."""
    stages = [_stages(space) for _ in range(4)]
    bounds = _bounds([each for cell in stages for each in cell.values()])
    found = _found({stages[0][3]: 1000})
    following = next_search(space, found, bounds, Search(space, bounds, None, 1), 1, None)
    assert following is not None
    waiting, order = following.begin(), []
    while waiting:
        choice = waiting.pop(0)
        order.append(choice)
        waiting += following.ended(choice, Played(950 if choice.zero == 3 else 906, 1.0))
    assert order == [stages[0][3], stages[0][1], stages[0][2], stages[1][1]]
    ended = following.found()
    assert ended.best is stages[0][2]
    assert not ended.open
    assert next_search(space, _found({stages[0][3]: 1}), bounds, Search(space, bounds, None, 1), 1, None) is None


@pytest.mark.parametrize(
    ("searched", "limit", "affords"),
    [(100, None, True), (100, 20.0, True), (100, 19.9, False), (4, 9.0, True), (4, 8.9, False)],
)
def test_runs_take_a_quarter_of_the_cpu_time_or_what_is_left(
    space: Space, searched: int, limit: float | None, affords: bool
) -> None:
    """The best took 1 s, so two iterations take 2 s, and both runs of another plan 3 s; the search took longer."""
    stages = _stages(space)
    played = {stages[3]: Played(1000, 1.0), stages[0]: Played(2000, searched - 1.0)}
    found = Found(2, 0, played, {each: Bound(each, 900, 1, 0.5) for each in played}, {}, (), 0)
    bounds = _bounds(list(stages.values()))
    following = next_search(space, found, bounds, Search(space, bounds, None, 1), 1, limit)
    assert following is not None
    assert is_affordable(found, following) == affords


def test_a_second_iteration_is_what_two_runs_differ_by() -> None:
    assert second_ps(Played(10, 1.0), Played(19, 2.0)) == Played(9, 3.0)
    assert second_ps(Played(None, 1.0), Played(19, 2.0)) == Played(None, 3.0)
    assert second_ps(Played(10, 1.0), Played(None, 2.0)) == Played(None, 3.0)


def test_only_a_second_iteration_below_that_of_the_best_is_faster(space: Space) -> None:
    stages = _stages(space)
    assert fastest_next(stages[3], {stages[3]: 10, stages[1]: 9}) is stages[1]
    assert fastest_next(stages[3], {stages[3]: 10, stages[1]: 10}) is None
    assert fastest_next(stages[3], {stages[1]: 9}) is None
    assert fastest_next(None, {}) is None
