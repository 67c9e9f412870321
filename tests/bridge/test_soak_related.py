"""Relations between random runs hold, and faults are seen; ``python -m soak.related`` plays any number of seeds."""

from __future__ import annotations

import pytest
from soak.related import RELATIONS, related
from support.lengths import some_slow

from astra_ns3 import units
from astra_ns3.config.system import SystemConfig

FIRST = 50_001
QUICK, MANY = 2, 25
"""Pairs of each relation, a quarter of a second of CPU time each."""
QUICK_PAIRS = [(name, QUICK) for name in RELATIONS]


def problems(name: str, pairs: int) -> list[str]:
    """What is wrong with the first pairs of a relation."""
    found = list(related(name, FIRST, pairs))
    assert len(found) == pairs
    return [f"seed {seed}: {problem}" for seed, each in found for problem in each]


@pytest.mark.parametrize(
    ("name", "pairs"), some_slow([*QUICK_PAIRS, *((name, MANY) for name in RELATIONS)], QUICK_PAIRS)
)
def test_relations_hold_between_random_runs(name: str, pairs: int) -> None:
    assert problems(name, pairs) == []


def test_a_unit_that_is_read_wrongly_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(units._TIME_UNITS, "us", 999_999)
    assert problems("other-units", QUICK)


def test_a_delay_that_no_key_tells_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """NPUs take 10 us for a message, whatever the system file says."""
    monkeypatch.setattr(SystemConfig, "scaled_endpoint_delay_ns", 10_000)
    assert problems("scaled", QUICK)
