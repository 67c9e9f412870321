"""Explanations name NPUs that are slowed down, and say how much sooner the run would end without that."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from support.small_run import NPUS, small_run

import astra_ns3
from astra_ns3.config.compute_slowdown import STANDS_STILL, ComputeSlowdown
from astra_ns3.playing.slowdown.pace import Span
from astra_ns3.report.explanation.explain import explain
from astra_ns3.report.explanation.slowed import Slowed, slowness_of, spans_of_npus, standing
from astra_ns3.report.explanation.what_ifs import Slowness

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


@pytest.mark.parametrize(
    ("stragglers", "factor"), [(STRAGGLERS[1:2], Fraction(1)), (STRAGGLERS[1:], Fraction(2)), (STRAGGLERS, None)]
)
def test_computations_take_at_most_as_long_as_all_slowdowns_together_make_them(
    stragglers: list[dict[str, Any]], factor: Fraction | None
) -> None:
    """One is for a while; the factor of one half slows nobody. With LIFO, NPUs wait for more than that."""
    slowdown = ComputeSlowdown.model_validate({"stragglers": stragglers}).document()
    metadata = run(None).metadata
    metadata["compute_slowdown"] = slowdown
    for policy, expected in (("FIFO", factor), ("LIFO", None if factor != 1 else factor)):
        metadata["system"] = {**metadata["system"], "scheduling-policy": policy}
        assert slowness_of(metadata) == Slowness(expected)


def test_times_of_standing_still_that_meet_are_one() -> None:
    spans = [(5, 9), (20, 30), (8, 12), (30, 31), (40, None)]
    slowed = [Slowed((1,), Span(*each, Fraction(STANDS_STILL))) for each in spans]
    slowed += [Slowed((2,), Span(0, 50, Fraction(STANDS_STILL))), Slowed(None, Span(0, 99, Fraction(2)))]
    assert standing(spans_of_npus(slowed)(1)) == {12: 5, 31: 20}
