"""The bookkeeper of checkpoints against Daly's formula."""

from __future__ import annotations

from statistics import fmean

import pytest
from oracles.checkpoints import Training, daly_mean, daly_optimum, drawn

DRAWS = 10_000
ITERATION, STORE, LOAD = 5_000, 4_000, 3_000
MEAN = 600_000
"""Between failures, in the same unit."""
PASSES = 600
CLOSE = 0.01


def mean_end(every: int, draws: int = DRAWS) -> float:
    training = Training(PASSES, every, ITERATION, STORE, LOAD, after=0)
    return fmean(training.end(drawn(seed, MEAN))[0] for seed in range(draws))


def test_the_bookkeepers_mean_is_dalys() -> None:
    every = round(daly_optimum(STORE, MEAN) / ITERATION)
    expected = daly_mean(PASSES * ITERATION, every * ITERATION, STORE, LOAD, MEAN)
    assert mean_end(every) == pytest.approx(expected, rel=CLOSE)


def test_dalys_optimum_beats_half_and_twice_the_interval() -> None:
    every = round(daly_optimum(STORE, MEAN) / ITERATION)
    best, *others = (mean_end(number, 1_000) for number in (every, every // 2, 2 * every))
    assert best < min(others)
