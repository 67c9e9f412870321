"""Best-first search: it finds the best whatever times are drawn above the bounds, and says what it left open."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.lengths import some_slow
from support.plans import Case, one_switch, rings, small_llama

from astra_ns3.errors import InputError
from astra_ns3.frozen import replace
from astra_ns3.planning.bounds import Bound
from astra_ns3.planning.degrees import Choice, Space
from astra_ns3.planning.frontier import frontier_figure
from astra_ns3.planning.page import Shown, Told, sections
from astra_ns3.planning.plan import Plan
from astra_ns3.planning.search import Found, Played, Search
from astra_ns3.report.figures.figure import Curve
from astra_ns3.workload.memory.peaks import memory_of
from astra_ns3.workload.models.changes import changed

HELD = {"parallel.zero": 0}
CASE = Case(small_llama(samples=4), rings(), one_switch(4))


@pytest.fixture(scope="module")
def space() -> Space:
    return CASE.space


@pytest.fixture(scope="module")
def choices(space: Space) -> list[Choice]:
    return CASE.choices(space)


def played(search: Search, times: Mapping[Choice, int], seconds: float = 1.0) -> Found:
    """The search, with one choice ending after the other."""
    waiting = search.begin()
    while waiting:
        choice = waiting.pop(0)
        waiting += search.ended(choice, Played(times[choice], seconds))
    return search.found()


def drawn(rng: random.Random, choices: Sequence[Choice]) -> tuple[list[Bound], dict[Choice, int]]:
    """Bounds, and times above them."""
    bounds = [Bound(choice, rng.randint(1000, 3000), 1, rng.uniform(0.1, 2)) for choice in choices]
    return bounds, {each.choice: round(each.time_ps * rng.uniform(1, 2)) for each in bounds}


@pytest.mark.parametrize("seeds", some_slow([range(50), range(50, 200)], [range(50)]), ids=["50", "150 more"])
def test_the_best_is_found_in_200_searches(space: Space, choices: list[Choice], seeds: range) -> None:
    for seed in seeds:
        rng = random.Random(seed)
        bounds, times = drawn(rng, choices)
        found = played(Search(space, bounds, None, rng.randint(1, 3)), times)
        assert found.best_ps == min(times.values())
        assert found.gap == 0
        assert not found.open
        assert len(found.played) + found.pruned == len(choices)
        assert all(times[choice] >= found.best_ps for choice in choices)
        assert {each for each in choices if found.best_ps > next(b.time_ps for b in bounds if b.choice is each)} <= set(
            found.played
        )


def test_a_limit_leaves_choices_open_and_says_how_much_faster_one_may_be(space: Space, choices: list[Choice]) -> None:
    bounds = [Bound(choice, 1000 + number, 1, 1.0) for number, choice in enumerate(choices)]
    times = {each.choice: 2000 + each.time_ps for each in bounds}
    found = played(Search(space, bounds, None, 1, cpu_seconds=3.5), times)
    assert [times[choice] for choice in found.played] == [3000, 3001, 3002]
    assert found.best_ps == 3000
    assert len(found.open) == len(choices) - 3
    assert found.gap == pytest.approx(1 - 1003 / 3000)


def test_the_picture_has_bounds_in_the_units_of_what_was_played(space: Space, choices: list[Choice]) -> None:
    """Two were played, of which the slower one needs more memory; of a third there is the bound alone."""
    left = Bound(choices[2], 3_500_000_000, 6 * 10**9)
    plan: Any = Plan(None, space, Found(3, 0, {}, {}, {}, (left,), 0), 0.0, None)  # type: ignore[arg-type]
    rows: list[dict[str, Any]] = [
        {"plan": "fast", "time_us": 4000.0, "npu_memory_bytes": 8 * 10**9},
        {"plan": "slow", "time_us": 5000.0, "npu_memory_bytes": 9 * 10**9},
    ]
    (panel,) = frontier_figure(plan, rows).panels
    drawn = [(np.asarray(each.x).tolist(), np.asarray(each.y).tolist()) for each in panel.series if type(each) is Curve]
    assert drawn == [([6.0], [3.5]), ([8.0, 9.0], [4.0, 5.0]), ([8.0], [4.0])]
    assert (panel.x.unit, panel.y.unit) == ("GB", "ms")
    assert panel.y.name == "time of the first iteration"  # a next one may be faster


def test_columns_of_numbers_alone_are_set_right_on_a_page(tmp_path: Path) -> None:
    lines = [["data 2", "1.2 ms", "3 GB", "-"], ["data 4", "-0.1 ms", "unknown", ""]]
    told = Told("mine", [], "", [Shown("", ["plan", "time", "memory", "more"], lines)])
    heads = re.findall(r"<th( class=.number.)?>(\w+)", str(sections(told, tmp_path / "none.svg")))
    assert [(name, bool(right)) for right, name in heads] == [
        ("plan", False),
        ("time", True),
        ("memory", False),
        ("more", True),
    ]


def test_a_bound_that_is_the_best_time_is_not_played(space: Space, choices: list[Choice]) -> None:
    """At its best such a choice is as fast."""
    bounds = [Bound(choice, 1000 * number, 1) for number, choice in enumerate(choices[:3], start=1)]
    found = played(Search(space, bounds, None, 1), dict.fromkeys(choices[:3], 2000))
    assert (list(found.played), found.pruned) == ([choices[0]], 2)


def test_the_least_bound_that_is_left_is_of_a_choice_that_fits(space: Space, choices: list[Choice]) -> None:
    """Bounds on memory let all pass; a run of the first one left needs more than an NPU has."""

    def needed(choice: Choice) -> int:
        plan = changed(space.workload, choice.keys).plan(space.npus)
        return max(stage.peak.usage.total_bytes for stage in memory_of(plan))

    by_memory = sorted(choices, key=needed)
    small, other, large = by_memory[0], by_memory[1], by_memory[-1]
    bounds = [Bound(large, 1000, 1, 1.0), Bound(other, 1500, 1, 1.0), Bound(small, 1800, 1, 1.0)]
    search = Search(space, bounds, needed(large) - 1, 1, cpu_seconds=0.5, first=(small,))
    found = played(search, {small: 2000})
    assert ([each.choice for each in found.open], found.too_large, found.pruned) == ([other], 1, 0)
    assert found.gap == pytest.approx(1 - 1500 / 2000)


def test_what_is_still_running_counts_towards_the_limit(space: Space, choices: list[Choice]) -> None:
    """Two of a second each fit into 2.5 seconds side by side, a third doesn't; only the first bound is the least."""
    bounds = [Bound(choice, 1000 * number, 1, 1.0) for number, choice in enumerate(choices[:4], start=1)]
    assert Search(space, bounds, None, 3, cpu_seconds=2.5).begin() == choices[:2]


def test_with_a_limit_the_cheapest_of_nearly_the_least_bounds_goes_first(space: Space, choices: list[Choice]) -> None:
    bounds = [Bound(choice, 1000 + number, 1, 100.0 - number) for number, choice in enumerate(choices[:99])]
    bounds.append(Bound(choices[99], 5000, 1, 0.5))
    (first,) = Search(space, bounds, None, 1, cpu_seconds=50.0).begin()
    assert first is choices[98]


@pytest.mark.parametrize(
    ("limit", "own", "begun"),
    [(6.5, False, [0, 1, 2]), (5.9, False, [0, 1]), (0.5, False, [0]), (6.5, True, [3, 0]), (4.5, True, [3])],
)
def test_the_cheapest_are_begun_side_by_side_within_the_limit(
    space: Space, choices: list[Choice], limit: float, own: bool, begun: list[int]
) -> None:
    """They take 1, 2, 3 and 4 seconds; the first is begun in any case, as something has to be played."""
    bounds = [Bound(choice, 1000 + number, 1, 1.0 + number) for number, choice in enumerate(choices[:4])]
    first = [choices[3]] if own else []
    assert Search(space, bounds, None, 4, limit, first).begin() == [choices[number] for number in begun]


def test_the_files_own_degrees_go_first(space: Space, choices: list[Choice]) -> None:
    bounds = [Bound(choice, 1000 + number, 1) for number, choice in enumerate(choices)]
    assert Search(space, bounds, None, 2, first=[choices[7]]).begin() == [choices[7], choices[0]]
    assert Search(space, bounds, None, 2, 1e9, first=[choices[7]]).begin()[0] is choices[7]


def test_what_playing_takes_is_learned(space: Space, choices: list[Choice]) -> None:
    """Each takes ten times as long as was guessed, so only one more is begun within the limit."""
    bounds = [Bound(choice, 1000 + number, 1, 1.0) for number, choice in enumerate(choices)]
    times = {each.choice: 9000 for each in bounds}
    assert len(played(Search(space, bounds, None, 1, cpu_seconds=25.0), times, seconds=10.0).played) == 2


def test_a_run_that_fails_is_no_best_and_does_not_prune(space: Space, choices: list[Choice]) -> None:
    bounds = [Bound(choice, 1000 + number, 1) for number, choice in enumerate(choices[:3])]
    search = Search(space, bounds, None, 1)
    (first,) = search.begin()
    (second,) = search.ended(first, Played(None, 1.0))
    assert search.ended(second, Played(1001, 1.0)) == []
    found = search.found()
    assert found.ranked == [second]
    assert found.pruned == 1


def test_what_does_not_fit_is_never_played(space: Space, choices: list[Choice]) -> None:
    """By the memory of a run, where the bound alone would let it pass."""
    needed = {
        choice: max(
            stage.peak.usage.total_bytes for stage in memory_of(changed(space.workload, choice.keys).plan(space.npus))
        )
        for choice in choices
    }
    capacity = sorted(needed.values())[len(choices) // 2]
    bounds = [Bound(choice, 1000 + number, 1) for number, choice in enumerate(choices)]
    found = played(Search(space, bounds, capacity, 1), dict.fromkeys(choices, 10**6))
    assert set(found.played) == {choice for choice in choices if needed[choice] <= capacity}
    assert found.too_large == sum(each > capacity for each in needed.values())


def test_a_model_that_fits_nowhere_says_what_would_make_it_fit(space: Space, choices: list[Choice]) -> None:
    bounds = [Bound(choice, 1000, 5_000_000 + number) for number, choice in enumerate(choices)]
    with pytest.raises(
        InputError, match=r"fits none of \d+ plans on 4 NPUs of 1 MB: the least is 5 MB \(.*\); expected"
    ):
        Search(space, bounds, 1_000_000, 1, cpu_seconds=1.0).begin()


def test_a_model_that_fits_nowhere_with_held_keys_says_that_others_may_help(
    space: Space, choices: list[Choice]
) -> None:
    held, some = replace(space, held=HELD), [choice for choice in choices if not choice.zero]
    with pytest.raises(InputError, match=r"fewer samples an iteration, or other keys held by --hold$"):
        Search(held, [Bound(choice, 1000, 5_000_000) for choice in some], 1_000_000, 1).begin()


def test_a_search_that_is_stopped_tells_its_bounds_and_what_it_has_not_looked_at(
    space: Space, choices: list[Choice]
) -> None:
    """Two run at once: when the first ends at 1.5 us, a third begins, and all but six are pruned or too large."""
    many = len(choices)
    bounds = [Bound(choice, 10**6 * (1 + number), 1) for number, choice in enumerate(choices)]
    search = Search(space, bounds, None, 2)
    first, second = search.begin()
    assert search.so_far() == (
        f"{many} plans: 0 too large for an NPU, 0 pruned by their bounds, 0 played, 2 begun, {many - 2} not looked at; "
        f"none has ended; each takes at least 1 us ({first.name})"
    )
    (third,) = search.ended(first, Played(5_500_000, 1.0))
    assert [second, third] == choices[1:3]
    assert search.so_far() == (
        f"{many} plans: 0 too large for an NPU, {many - 5} pruned by their bounds, 1 played, 2 begun, 2 not looked at; "
        f"the best {first.name}: 5.5 us; every other takes at least 2 us ({second.name})"
    )


def test_where_memory_rules_most_plans_out_a_stopped_search_says_how_to_look_at_fewer(
    space: Space, choices: list[Choice]
) -> None:
    for large, hint in ((len(choices) // 2, False), (len(choices) // 2 + 1, True)):
        bounds = [Bound(choice, 1000, 10**15 if place < large else 1) for place, choice in enumerate(choices)]
        for held, keys in (
            ({}, "parallel.zero=3 or --hold training.recompute=full"),
            (HELD, "training.recompute=full"),
        ):
            search = Search(replace(space, held=held), bounds, 10**14, 1)
            search.begin()
            assert (f"too much memory: --hold {keys} looks" in search.so_far()) == hint


def test_one_run_at_once_begins_with_the_files_own_and_the_cheapest_too(space: Space, choices: list[Choice]) -> None:
    """As several at once do: the cheapest of nearly the least bounds is second, and the least bound third."""
    bounds = [Bound(choice, 1000 + number, 1, 10.0 - number) for number, choice in enumerate(choices[:6])]
    times = {each.choice: 5000 - each.time_ps for each in bounds}
    found = played(Search(space, bounds, None, 1, 100.0, [choices[2]]), times)
    assert list(found.played)[:3] == [choices[2], choices[5], choices[0]]
