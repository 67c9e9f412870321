"""A sample of what ``make soak`` plays: random cases across all features, none of which may end as it must not."""

from __future__ import annotations

import json
import runpy
from pathlib import Path

from support.command import NEEDS_HEADERS, Command

CASES = 15
LEAST_PAUSED = 8
TIMEOUT_SECONDS = 300
"""A hang must not hold up the tests for ever; the sample takes a quarter of a minute."""


def play_soak() -> None:
    """As ``python -m soak``."""
    runpy.run_module("soak", run_name="__main__")


@NEEDS_HEADERS
def test_a_sample_of_random_cases_has_no_fault_and_pauses(tmp_path: Path) -> None:
    """In a process of its own, which forks one for each case."""
    report = tmp_path / "report.json"
    words = ("--no-fixed", f"--seeds={CASES}", f"--report={report}")
    played = Command(words, program=play_soak, headers=True).finish(TIMEOUT_SECONDS)
    assert played.returncode == 0, played.stdout + played.stderr
    counts = json.loads(report.read_text(encoding="utf-8"))
    assert counts["runs"] == CASES
    assert counts["faulty"] == 0
    assert counts["paused"] >= LEAST_PAUSED
    assert set(counts["ends"]) <= {"finished", "deadlock named"}
