"""Relations between random runs hold, and faults are seen; ``python -m soak.related`` plays any number of seeds."""

from __future__ import annotations

from pathlib import Path

import pytest
from soak.idle_keys import changes_nothing
from soak.keys import keys_of
from soak.related import RELATIONS, related
from soak.users import Asked
from support.lengths import some_slow

from astra_ns3 import units
from astra_ns3.config.system import SystemConfig
from astra_ns3.experiments import inputs

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


@pytest.mark.parametrize("is_told", [True, False])
def test_a_key_that_changes_nothing_without_a_word_is_seen(
    is_told: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A loop has no nodes that could be replayed."""
    if not is_told:
        monkeypatch.setattr(inputs, "idle_system_keys", lambda *_: [])
    work = "MODEL\n1\nonly -1 5 ALLREDUCE 4000 1 NONE 0 1 NONE 0 0\n"
    system = {"scheduling-policy": "LIFO", "preferred-dataset-splits": 1, "all-reduce-implementation": "ring"}
    link, switch = {"rate": "100Gbps", "delay": "500ns"}, {"buffer": "1GB", "pfc": {}}
    network = {"topology": {"kind": "single-switch", "npus": 4, "link": link, "switch": switch}, "transport": "roce"}
    run = Asked(work, system, network, {"backend": "flow"})
    key = next(each for each in keys_of(run) if each[0][-1] == "replay-only")
    base = run.play(tmp_path / "base", output=tmp_path / "out", record=("timeline", "flows"))
    found = changes_nothing(run, base, key, tmp_path)
    assert found == ["system.replay-only on flow: False and [True] make one run"] * (not is_told)
