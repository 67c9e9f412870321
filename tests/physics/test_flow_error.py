"""Flows beside packets: the quick rows of docs/flow.md's table lie within their targets."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

import pytest
from support.pages import ROOT

sys.path.insert(0, str(ROOT / "benchmarks"))
TABLE: Any = import_module("flow_error")
sys.path.remove(str(ROOT / "benchmarks"))
CASES = {case.name: case for case in TABLE.cases() if case.name in TABLE.QUICK}


def test_all_quick_rows_are_in_the_table() -> None:
    assert set(CASES) == TABLE.QUICK


@pytest.mark.parametrize("name", CASES)
def test_the_finish_of_flows_is_near_that_of_packets(name: str) -> None:
    values = TABLE.row(CASES[name])
    assert TABLE.within(values), values
