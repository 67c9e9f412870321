"""Explanations name NPUs that are slowed down, and say how much sooner the run would end without that."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.fake_backend import FakeBackend
from support.recorded_run import write_table
from support.small_run import NPUS, small_run

import astra_ns3
from astra_ns3.config.compute_slowdown import STANDS_STILL
from astra_ns3.playing.slowdown.pace import Span
from astra_ns3.report.explanation.ahead import first_ahead
from astra_ns3.report.explanation.explain import explain
from astra_ns3.report.explanation.parts import COMPUTE, MESSAGE, OTHER, PHASE, STILL, Segment
from astra_ns3.report.explanation.slowed import (
    Slowed,
    computing_saved,
    since_still,
    slowed_npus,
    spans_of_npus,
    standing,
)
from astra_ns3.units import PS_PER_NS as NS

TWICE, WITHOUT = "with NPUs that compute twice as fast", "without slow NPUs"
STRAGGLERS = [
    {"npus": [0, "2-3"], "factor": 4.0, "from": "1us", "until": "2us"},
    {"factor": 0.5},
    {"npus": [1], "factor": 2.0},
]


def run(slowdown: Any, folder: Path | None = None) -> astra_ns3.Result:
    options: dict[str, Any] = {"record": ["timeline"], "output": folder} if folder else {}
    return astra_ns3.run(**small_run(), compute_slowdown=slowdown, **options)


def test_who_is_slowed_down_is_told_with_the_factor_and_the_time_and_who_is_faster_is_not() -> None:
    text = explain(run({"stragglers": STRAGGLERS})).text()
    told = "NPU 0, 2-3, computing 4 times as long from 1 us until 2 us; NPU 1, computing 2 times as long\n"
    assert f"slowed down  {told}" in text
    assert "slowed down" not in explain(run({"stragglers": STRAGGLERS[1:2]})).text()
    many = [{"npus": [npu], "factor": 2 + factor} for npu in range(NPUS) for factor in range(2)]
    assert "; and 4 more\n" in explain(run({"stragglers": many})).text()


@pytest.mark.parametrize(("waits_ps", "twice", "without"), [(0, 20, 0), (30, 50, 30), (1000, 80, 120)])
def test_a_late_npu_decides_as_far_as_messages_wait_for_those_ahead(waits_ps: int, twice: int, without: int) -> None:
    """A chain computes 40 ps. Another passes 160 ps of an NPU that takes 4 times as long, while messages wait."""
    slowed = slowed_npus(run({"stragglers": [{"npus": [3], "factor": 4}]}).metadata)
    chain = (Segment(COMPUTE, 0, 0, 40), Segment(MESSAGE, 0, 40, 200))
    ahead = (Segment(COMPUTE, 3, 0, 160), Segment(MESSAGE, 3, 160, 200))
    assert computing_saved(chain, ahead, waits_ps, slowed) == {TWICE: twice, WITHOUT: without}


@pytest.mark.parametrize(
    ("factor", "slow_ns", "end_ns", "twice_ns", "without_ns"),
    [
        (STANDS_STILL, (10, 1010), 1100, 50, 1000),
        (STANDS_STILL, (51, 1051), 1100, 1050, 1000),  # it ends before
        (1000, (10, 1010), 1099, 50, 999),
        (1000, (51, 1051), 1099, 1049, 999),  # it ends before
        (2, (10, 110), 150, 60, 50),
    ],
)
def test_slow_times_are_as_long_for_faster_npus(
    factor: float, slow_ns: tuple[int, int], end_ns: int, twice_ns: int, without_ns: int
) -> None:
    """NPU 3 computes for 5 ns, and then for 95 ns of its own pace."""
    slowed = [Slowed((3,), Span(slow_ns[0] * NS, slow_ns[1] * NS, Fraction(factor)))]
    chain = (Segment(COMPUTE, 3, 0, 5 * NS), Segment(COMPUTE, 3, 5 * NS, end_ns * NS))
    saved = computing_saved(chain, chain, 0, slowed, lambda _: range(NPUS))
    assert saved == {TWICE: pytest.approx(twice_ns * NS, abs=1), WITHOUT: pytest.approx(without_ns * NS, abs=1)}


@pytest.mark.parametrize(("due_ns", "half_end_ns"), [(150, 930), (130, 920), (105, 85)])
def test_what_comes_sooner_to_an_npu_that_stands_still_waits_longer(due_ns: int, half_end_ns: int) -> None:
    """NPU 0 computes for 100 ns, and half of that for what NPU 1 handles once it has stood still from 90 ns on.

    It computes 60 ns then. Its message comes 50 ns sooner, and so before NPU 1 stands still, if it came at 130 ns.
    """
    slowed = [Slowed((1,), Span(90 * NS, 900 * NS, Fraction(STANDS_STILL)))]
    chain = (
        Segment(COMPUTE, 0, 0, 100 * NS),
        Segment(MESSAGE, 0, 100 * NS, due_ns * NS),
        Segment(STILL, 1, due_ns * NS, 900 * NS),
        Segment(COMPUTE, 1, 900 * NS, 960 * NS),
    )
    assert computing_saved(chain, chain, 0, slowed, lambda _: range(NPUS))[TWICE] == pytest.approx(
        (960 - half_end_ns) * NS, abs=2
    )
    assert since_still(chain) == chain[3:]
    assert since_still(chain[:2]) == chain[:2]


@pytest.mark.parametrize("stands_ns", [(0, 80), (20, 60), (40, 140), (60, 130), (65, 1000), (150, 900), (10, 10)])
@pytest.mark.parametrize("kind", [MESSAGE, PHASE])
def test_a_message_that_comes_sooner_waits_for_an_npu_that_stands_still_then(
    kind: str, stands_ns: tuple[int, int]
) -> None:
    """NPU 0 computes for 100 ns; 40 ns later NPU 1 is to handle its message, and 50 ns later NPU 0 has the answer."""

    def times_ns(compute_ns: int) -> tuple[int, int]:
        """Return when NPU 1 handles the message, and when the answer comes."""
        due_ns = compute_ns + 40
        handled_ns = stands_ns[1] if stands_ns[0] <= due_ns < stands_ns[1] else due_ns
        return handled_ns, handled_ns + 50

    slowed = [Slowed((1,), Span(stands_ns[0] * NS, stands_ns[1] * NS, Fraction(STANDS_STILL)))]
    handled_ns, end_ns = times_ns(100)
    chain = [
        Segment(COMPUTE, 0, 0, 100 * NS),
        Segment(kind, 0, 100 * NS, (140 if kind == MESSAGE else handled_ns) * NS),
    ]
    if kind == MESSAGE and handled_ns > 140:
        chain.append(Segment(STILL, 1, 140 * NS, handled_ns * NS))
    chain.append(Segment(kind, 1, handled_ns * NS, end_ns * NS))
    true_ns = end_ns - times_ns(50)[1]
    # A phase doesn't tell whether it held the standing still, so that what is told is the least.
    least_ns = true_ns if kind == MESSAGE or stands_ns[1] <= 100 or stands_ns[0] > 190 else 0
    assert least_ns <= computing_saved(chain, chain, 0, slowed, lambda _: range(NPUS))[TWICE] // NS <= true_ns


@pytest.mark.parametrize(("members", "saved_ns"), [(range(3), 50), (range(4), 40)])
def test_a_chain_does_not_wait_for_an_npu_without_a_part_in_its_collectives(members: range, saved_ns: int) -> None:
    slowed = [Slowed((3,), Span(60 * NS, 100 * NS, Fraction(STANDS_STILL)))]
    chain = (Segment(COMPUTE, 0, 0, 100 * NS), Segment(MESSAGE, 0, 100 * NS, 140 * NS))
    assert computing_saved(chain, chain, 0, slowed, lambda _: members)[TWICE] == saved_ns * NS


@pytest.mark.parametrize(("last_ns", "saved_ns"), [(110, 5), (300, 10)])
def test_a_message_waits_for_one_npu_after_the_other_but_for_none_that_stood_still_beyond_its_end(
    last_ns: int, saved_ns: int
) -> None:
    """It would come at 65 ns, when NPU 1 stands still until 80, and by then NPU 2 until 105, NPU 3 until later."""
    stands_ns = {1: (60, 80), 2: (75, 105), 3: (103, last_ns)}
    slowed = [Slowed((npu,), Span(a * NS, b * NS, Fraction(STANDS_STILL))) for npu, (a, b) in stands_ns.items()]
    chain = (Segment(COMPUTE, 0, 0, 100 * NS), Segment(MESSAGE, 0, 100 * NS, 115 * NS))
    saved = computing_saved(chain, chain, 0, slowed, lambda _: range(NPUS))[TWICE]
    assert saved == saved_ns * NS


def test_what_was_not_followed_stays_as_it_is_without_slow_npus() -> None:
    slowed = [Slowed((1,), Span(100, 800, Fraction(STANDS_STILL)))]
    chain = (Segment(OTHER, 1, 0, 850), Segment(COMPUTE, 1, 850, 950))
    assert computing_saved(chain, chain, 0, slowed, lambda _: range(NPUS)) == {TWICE: 50, WITHOUT: 0}


def test_times_of_standing_still_that_meet_are_one() -> None:
    spans = [(5, 9), (20, 30), (8, 12), (30, 31), (40, None)]
    slowed = [Slowed((1,), Span(*each, Fraction(STANDS_STILL))) for each in spans]
    slowed += [Slowed((2,), Span(0, 50, Fraction(STANDS_STILL))), Slowed(None, Span(0, 99, Fraction(2)))]
    assert standing(spans_of_npus(slowed)(1)) == {12: 5, 31: 20}


def test_the_first_message_ahead_is_the_one_that_found_its_port_idle(tmp_path: Path) -> None:
    """Two ports of NPU 0: one sends messages 0 to 2 without a gap, then idles before 3; the other has 4 at once."""
    result = run(None, tmp_path)
    messages = {
        "source": np.zeros(5, np.int64),
        "start_ps": np.array([0, 5, 12, 50, 5]),
        "turn_ps": np.array([0, 5, 0, 0, 0]),
        "nic_queue_ps": np.array([0, 0, 8, 3, 0]),
        "serialisation_ps": np.array([10, 10, 10, 10, 90]),
        "later_ps": np.array([0, 0, 0, 0, 80]),
    }
    of_one_port = {name: column[:4] for name, column in messages.items()}
    assert first_ahead(result, of_one_port).tolist() == [0, 0, 0, 3]
    hops: dict[str, list[Any]] = {
        "message": [0, 1, 1, 2, 3, 4],
        "hop": [0, 0, 1, 0, 0, 0],
        "port": ["a", "a", "c", "a", "a", "b"],
    }
    write_table(tmp_path, "account_hops", hops)
    assert first_ahead(astra_ns3.Result.load(tmp_path), messages).tolist() == [0, 0, 0, 3, 4]


def test_without_accounts_what_faster_npus_save_is_told_as_the_least(tmp_path: Path) -> None:
    backend = FakeBackend(NPUS)
    options = {**small_run(), "backend": backend, "record": ["timeline"], "output": tmp_path}
    text = explain(astra_ns3.run(**options, compute_slowdown={"stragglers": [{"npus": [3], "factor": 2}]})).text()
    assert f"{TWICE}: at least, for it isn't known what messages waited for: run with" in text
