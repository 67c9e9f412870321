"""Flows beside packets: the quick rows of docs/flow.md's table lie within their targets."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
from flow_error import QUICK, Case, cases, row, within

CASES = [case for case in cases() if case.name in QUICK]


def test_all_quick_rows_are_in_the_table() -> None:
    assert {case.name for case in CASES} == QUICK


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_finish_of_flows_is_near_that_of_packets(case: Case) -> None:
    values = row(case)
    assert within(values), values
