"""A sample of what ``python -m soak.told`` checks, and that a wrong figure is found."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from soak.told import told_of

from astra_ns3.report.explanation.what_ifs import WhatIf, what_ifs
from astra_ns3.units import format_time

SEEDS = (3, 8, 12, 13)


@pytest.mark.parametrize("seed", SEEDS)
def test_what_is_told_of_random_runs_is_true(seed: int, tmp_path: Path) -> None:
    found = told_of(seed, tmp_path)
    assert found is not None
    assert found[1] == []


def test_bounds_that_are_too_small_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def parts(*given: Any) -> tuple[WhatIf, ...]:
        return tuple(WhatIf(each.change, each.time_ps // 4) for each in what_ifs(*given))

    monkeypatch.setattr("astra_ns3.report.explanation.explain.what_ifs", parts)
    found = told_of(SEEDS[0], tmp_path)
    assert found is not None
    assert [fault for fault in found[1] if fault.startswith("explain: with lines twice as fast: saves ")]


def test_a_page_with_another_time_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("astra_ns3.report.page.sections.format_time", lambda ps: format_time(ps + ps // 100))
    found = told_of(SEEDS[0], tmp_path)
    assert found is not None
    assert [fault for fault in found[1] if fault.startswith("report: finish ")]
