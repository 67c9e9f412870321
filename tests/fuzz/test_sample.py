"""A sample of what `make fuzz` plays: no traceback, no hang, every status as documented."""

from __future__ import annotations

from pathlib import Path

import pytest

from fuzz.fuzzer import Fuzzer

CASES = 60
CASES_OF_A_KIND = 15
SECONDS = 30
SEED = 1


def test_mutated_inputs_end_with_a_documented_status_and_one_line(tmp_path: Path) -> None:
    fuzzer = Fuzzer(tmp_path, SEED)
    fuzzer.play(CASES, seconds=SECONDS)
    assert fuzzer.failures == []
    assert sum(fuzzer.statuses.values()) > 0
    assert fuzzer.statuses[2] > 0


@pytest.mark.parametrize("what", ["models", "scenarios"])
def test_mutated_files_of_a_kind_end_with_a_documented_status_and_one_line(what: str, tmp_path: Path) -> None:
    fuzzer = Fuzzer(tmp_path, SEED, **{what: True})
    fuzzer.play(CASES_OF_A_KIND, seconds=SECONDS)
    assert fuzzer.failures == []
    assert fuzzer.statuses[0] > 0
    assert fuzzer.statuses[2] > 0
