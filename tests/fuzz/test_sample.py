"""A sample of what `make fuzz` plays: no traceback, no hang, every status as documented."""

from __future__ import annotations

from pathlib import Path

from fuzz.fuzzer import Fuzzer

CASES = 150
MODEL_CASES = 40
SECONDS = 30
SEED = 1


def test_mutated_inputs_end_with_a_documented_status_and_one_line(tmp_path: Path) -> None:
    fuzzer = Fuzzer(tmp_path, SEED)
    fuzzer.play(CASES, seconds=SECONDS)
    assert fuzzer.failures == []
    assert sum(fuzzer.statuses.values()) > 0
    assert fuzzer.statuses[2] > 0


def test_mutated_models_end_with_a_documented_status_and_one_line(tmp_path: Path) -> None:
    fuzzer = Fuzzer(tmp_path, SEED, models=True)
    fuzzer.play(MODEL_CASES, seconds=SECONDS)
    assert fuzzer.failures == []
    assert fuzzer.statuses[0] > 0
    assert fuzzer.statuses[2] > 0


def test_mutated_scenarios_end_with_a_documented_status_and_one_line(tmp_path: Path) -> None:
    fuzzer = Fuzzer(tmp_path, SEED, scenarios=True)
    fuzzer.play(MODEL_CASES, seconds=SECONDS)
    assert fuzzer.failures == []
    assert fuzzer.statuses[0] > 0
    assert fuzzer.statuses[2] > 0
