"""Flows beside packets: quick cases lie within their targets, and docs/flow.md has what the file of all cases says."""

from __future__ import annotations

import csv
import sys
from importlib import import_module
from typing import Any

import pytest
from support.documents.pages import ROOT, text_of
from support.lengths import some_slow

sys.path.insert(0, str(ROOT / "benchmarks"))
TABLE: Any = import_module("flow_error")
sys.path.remove(str(ROOT / "benchmarks"))
CASES = {case.name: case for case in TABLE.cases() if case.name in TABLE.QUICK}


def test_all_quick_rows_are_in_the_table() -> None:
    assert set(CASES) == TABLE.QUICK


@pytest.mark.parametrize("name", some_slow(CASES, ["none, switch 16, ring", "hpcc, switch 16, all-to-all"]))
def test_the_finish_of_flows_is_near_that_of_packets(name: str) -> None:
    values = TABLE.row(CASES[name])
    assert TABLE.within(values), values


def test_the_page_has_the_summary_of_all_cases() -> None:
    with (ROOT / "docs" / "tables" / "flow-error.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [each["case"] for each in rows] == [case.name for case in TABLE.cases()]
    assert "\n".join(TABLE.summary(rows)) in text_of("docs/flow.md")


def test_a_seed_draws_the_same_cases_and_a_model_in_every_fourth_turn() -> None:
    drawn, again, other = (list(TABLE.drawn(24, seed)) for seed in (3, 3, 4))
    assert drawn == again != other
    assert [case.suffix for case in drawn] == [".txt"] * 18 + [".yaml"] * 6
