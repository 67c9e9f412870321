"""One line under Poisson arrivals against the closed forms of queues, each with its discipline named.

Deviations are those of means of correlated times: a tenth of the mean for 20,000 flows at these loads.
"""

from __future__ import annotations

import pytest
from oracles.queueing import (
    md1_mean,
    md1_percentile,
    md1_waits_no_longer,
    mm1_mean,
    mm1_percentile,
    sharing_mean_slowdown,
)
from support.queueing import CASES, measured

LOADS = (0.3, 0.5, 0.7)
SHORT, LONG, SEEDS = 20_000, 1_000_000, 10
TOLERANCE, TAIL_TOLERANCE = 0.05, 0.1
"""Of 20,000 flows."""
LONG_TOLERANCE, LONG_TAIL_TOLERANCE = 0.02, 0.04
"""Of ten seeds of a million flows."""
IN_LINE = [name for name in CASES if "first come" in name]
SHARING = [name for name in CASES if "sharing" in name]


def test_the_closed_forms_agree_where_they_meet() -> None:
    """Nobody waits with the probability that the line is idle; the mean is the integral of waiting longer."""
    for load in LOADS:
        assert md1_waits_no_longer(load, 0) == pytest.approx(1 - load)
        steps = 4_000
        waits = sum(1 - md1_waits_no_longer(load, (step + 0.5) * 18 / steps) for step in range(steps)) * 18 / steps
        assert 1 + waits == pytest.approx(md1_mean(load), rel=1e-3)
        assert md1_percentile(load, 99) < mm1_percentile(load, 99)


@pytest.mark.parametrize("load", LOADS)
@pytest.mark.parametrize("name", IN_LINE)
def test_a_line_serves_messages_in_the_order_of_their_starts(name: str, load: float) -> None:
    found = measured(CASES[name], load, SHORT, seed=1)
    mean, tail = _expected(name, load)
    assert found.load == pytest.approx(load, rel=0.02)
    assert found.mean == pytest.approx(mean, rel=TOLERANCE)
    assert found.p99 == pytest.approx(tail, rel=TAIL_TOLERANCE)


@pytest.mark.parametrize("load", LOADS)
@pytest.mark.parametrize("name", SHARING)
def test_flows_share_a_line_so_that_slowdown_hangs_on_the_load_alone(name: str, load: float) -> None:
    found = measured(CASES[name], load, SHORT, seed=1)
    assert found.slowdown == pytest.approx(sharing_mean_slowdown(load), rel=TOLERANCE)


@pytest.mark.slow
@pytest.mark.parametrize("load", LOADS)
@pytest.mark.parametrize("name", CASES)
def test_ten_seeds_of_a_million_flows(name: str, load: float) -> None:
    every = [measured(CASES[name], load, LONG, seed) for seed in range(1, SEEDS + 1)]
    mean, p99, slowdown, offered = (sum(column) / SEEDS for column in zip(*every, strict=True))
    assert offered == pytest.approx(load, rel=0.01)
    if name in SHARING:
        assert slowdown == pytest.approx(sharing_mean_slowdown(load), rel=LONG_TOLERANCE)
        return
    assert mean == pytest.approx(_expected(name, load)[0], rel=LONG_TOLERANCE)
    assert p99 == pytest.approx(_expected(name, load)[1], rel=LONG_TAIL_TOLERANCE)


def _expected(name: str, load: float) -> tuple[float, float]:
    """Mean and p99 of the time in the queue."""
    if "M/M/1" in name:
        return mm1_mean(load), mm1_percentile(load, 99)
    return md1_mean(load), md1_percentile(load, 99)
