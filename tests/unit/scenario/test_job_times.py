"""When jobs start and end: after each other, after passes, at a time, with the others; and what can't be is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from support.fake_backend import FakeBackend
from support.small_run import small_network, small_system, small_workload

import astra_ns3
from astra_ns3 import ScenarioResult, Tenant
from astra_ns3.config.core.forever import FOREVER
from astra_ns3.errors import InputError, SimulationStalled
from astra_ns3.experiments.play import play as play_all
from astra_ns3.frozen import replace
from astra_ns3.scenario.tenant import After, Restart
from astra_ns3.workload.files.astra_sim import parse_workload

NPUS = 16
US = 1_000_000
Command = Callable[..., Any]


def job(name: str, first: int, **more: Any) -> Tenant:
    """A job of the small training on four NPUs."""
    return Tenant(name, range(first, first + 4), small_workload(), small_system(), **more)


def play(*jobs: Tenant, **options: Any) -> ScenarioResult:
    network = small_network(npus=NPUS)
    return astra_ns3.run_scenario(network=network, tenants=jobs, backend=FakeBackend(NPUS), **options)


def alone_ps(passes: int = 1) -> int:
    """What so many passes take of a job without others."""
    return play(job("alone", 0, passes=passes)).finish_ps


def course(result: ScenarioResult, name: str) -> tuple[Any, ...]:
    (found,) = (each for each in result.metadata["jobs"] if each["name"] == name)
    return found["start_ps"], found["finish_ps"], found["ended_by"], found["passes_done"], found["complete"]


def test_a_job_starts_at_the_picosecond_when_another_has_ended_or_so_long_after() -> None:
    result = play(
        job("a", 0, start_ps=7),
        job("b", 4, after=After("a")),
        job("c", 8, after=After("b"), start_ps=3 * US),
    )
    once = alone_ps()
    assert course(result, "a") == (7, once, "programs", 1, True)
    assert course(result, "b") == (7 + once, once, "programs", 1, True)
    assert course(result, "c") == (7 + 2 * once + 3 * US, once, "programs", 1, True)
    assert result.finish_ps == 7 + 3 * once + 3 * US
    starts = [row["start_us"] for row in result.rows("jobs.csv")]
    assert [round(float(start) * US) for start in starts] == [7, 7 + once, 7 + 2 * once + 3 * US]


@pytest.mark.parametrize("passes", [1, 2, 3])
def test_a_job_starts_when_another_has_done_so_many_passes(passes: int) -> None:
    result = play(job("a", 0, passes=3), job("b", 4, after=After("a", passes), start_ps=5))
    # A pass is over with its last collective, as a run of so many passes is.
    assert course(result, "b")[0] == alone_ps(passes) + 5
    assert course(result, "a") == (0, alone_ps(3), "programs", 3, True)


def test_a_job_for_ever_is_ended_by_the_others_and_tells_how_many_passes_it_has_done() -> None:
    result = play(job("a", 0, passes=2, start_ps=1), job("noise", 4, passes=FOREVER))
    both = alone_ps(2)
    assert course(result, "a") == (1, both, "programs", 2, True)
    # Two passes had ended a picosecond before.
    assert course(result, "noise") == (0, both + 1, "others", 2, True)
    assert (result.complete, result.finish_ps) == (True, both + 1)
    own = result.tenants["noise"].metadata
    assert (own["passes"], own["npus_done"], own["job"]["ended_by"]) == (2, 0, "others")
    assert own.get("throughput") is None


def test_a_job_is_stopped_at_its_end_and_others_may_wait_for_that() -> None:
    stop_ps = alone_ps(2) + 12345
    result = play(job("a", 0, passes=FOREVER, end_ps=stop_ps), job("b", 4, after=After("a")))
    assert course(result, "a") == (0, stop_ps, "time", 2, True)
    assert course(result, "b") == (stop_ps, alone_ps(), "programs", 1, True)


def test_an_end_before_the_start_that_another_job_decides_leaves_a_job_out() -> None:
    result = play(job("a", 0, passes=3), job("b", 4, after=After("a"), end_ps=5), job("c", 8, after=After("b")))
    assert course(result, "b") == (None, 0, "time", 0, True)
    assert course(result, "c")[0] == 5
    assert [row["start_us"] for row in result.rows("jobs.csv")][1] == ""


def test_a_job_that_never_starts_has_done_no_pass_and_has_not_begun_again() -> None:
    b = job("b", 4, after=After("a"), end_ps=5, passes=2, restart=Restart(after_ps=5, at_most=2))
    result = play(job("a", 0, passes=3), b)
    found: Any = result.metadata["jobs"][1]
    names = ("start_ps", "passes_done", "restarts", "resumed_passes", "last_try_ps")
    assert [found[name] for name in names] == [None, 0, 0, 0, 0]


def test_a_job_that_waits_for_passes_which_another_never_does_is_told_and_noise_ends() -> None:
    jobs = [
        job("a", 0, passes=9, end_ps=alone_ps(1) + 1),
        job("b", 4, after=After("a", 2)),
        job("noise", 8, passes=FOREVER),
    ]
    with pytest.raises(SimulationStalled, match=r"^job 'b': waits for passes of job 'a', which ended before") as raised:
        play(*jobs)
    result = raised.value.result
    assert [each["ended_by"] for each in result.metadata["jobs"]] == ["time", None, "others"]
    assert not result.complete


def test_a_scenario_ends_no_earlier_than_its_network_is_known_to_have_got(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that dies later than the last record of a job still tells the time that it had reached."""
    reached = 10 * alone_ps()
    monkeypatch.setattr(
        "astra_ns3.experiments.run.play", lambda *arguments: replace(play_all(*arguments), reached_ps=reached)
    )
    assert play(job("a", 0)).metadata["finish_ps"] == reached


def test_the_pass_that_is_watched_changes_nothing() -> None:
    watched = play(job("a", 0, passes=3), job("b", 4, after=After("a", 2)), record=("timeline",))
    plain = play(job("a", 0, passes=3), record=("timeline",))
    for name in ("npus", "collectives", "operations", "phases"):
        one, other = (getattr(each.tenants["a"], name) for each in (watched, plain))
        by = [*one.columns]
        assert one.sort_values(by, ignore_index=True).equals(other.sort_values(by, ignore_index=True)), name


REFUSED = [
    ({"after": After("c")}, {}, "tenant 'b': starts after 'c', which is no job; expected a, b"),
    ({"after": After("b")}, {}, "tenant 'b': starts after itself: b after b; expected a time in one of them"),
    ({"after": After("a")}, {"after": After("b", 1)}, "tenant 'a': starts after itself: a after b after a"),
    ({"after": After("a", 4)}, {}, "tenant 'b': starts after 4 passes of 'a', which plays 3; expected no more"),
    ({"after": After("a")}, {"passes": FOREVER}, "tenant 'b': starts after 'a', which plays for ever; expected passes"),
    ({"passes": FOREVER}, {"passes": FOREVER}, "tenant 'a': plays for ever, and no job ends; expected"),
    ({"end_ps": 5, "start_ps": 5}, {}, "tenant 'b': ends before it starts"),
]


@pytest.mark.parametrize(("b", "a", "words"), REFUSED)
def test_times_that_can_t_be_are_refused(b: dict[str, Any], a: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError) as raised:
        play(job("a", 0, **{"passes": 3, **a}), job("b", 4, **b))
    assert str(raised.value).startswith(words)
    assert "\n" not in str(raised.value)


def test_passes_that_take_no_time_are_not_played_for_ever() -> None:
    idle = parse_workload("DATA\n1\nidle -1 0 NONE 0 0 NONE 0 0 NONE 0 0\n")
    with pytest.raises(InputError, match="plays for ever, and its passes take no time"):
        play(job("a", 0), Tenant("b", range(4, 8), idle, small_system(), passes=FOREVER))


def test_a_micro_benchmark_for_ever_plays_its_passes_one_after_another() -> None:
    micro = parse_workload("MICRO\n1\nring -1 0 NONE 0 0 NONE 0 0 ALLREDUCE 4000 0\n")
    once = astra_ns3.run_scenario(
        network=small_network(npus=NPUS),
        tenants=[Tenant("m", range(4), micro, small_system())],
        backend=FakeBackend(NPUS),
    ).finish_ps
    result = play(job("a", 0, passes=5), Tenant("m", range(4, 8), micro, small_system(), passes=FOREVER))
    assert course(result, "m")[3] == result.finish_ps // once > 2
