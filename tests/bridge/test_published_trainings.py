"""Published iterations of large models: ours are those of docs/tables. The long ones are slow."""

from __future__ import annotations

import csv
import sys
from importlib import import_module
from typing import Any

import pytest
from support.documents.pages import ROOT, text_of

sys.path.insert(0, str(ROOT / "benchmarks"))
TRAININGS: Any = import_module("published_trainings")
PLANS: Any = import_module("published_plans")
sys.path.remove(str(ROOT / "benchmarks"))
ROWS = {row.name: row for row in TRAININGS.rows()}
QUICK = ("22B, full", "22B, selective", "1.7B")


def told() -> dict[str, tuple[str, ...]]:
    """The rows of the table, by their first cell."""
    with (ROOT / "docs" / "tables" / "published-trainings.csv").open(encoding="utf-8", newline="") as file:
        titles, *found = (tuple(row) for row in csv.reader(file))
    assert titles == TRAININGS.TITLES
    return {row[0]: row for row in found}


def test_every_row_stands_in_the_table_and_the_page_has_a_link_to_it() -> None:
    assert set(ROWS) == told().keys()
    assert "(tables/published-trainings.csv)" in text_of("docs/validation.md")


def test_theirs_are_the_times_that_their_papers_tell() -> None:
    # By hand: 96 B s l h^2 (1 + s/(6h) + V/(16 l h)) over GPUs x TFLOP/s; table 5 as printed; 430 TFLOP/s of 6 x 405
    # billion parameters and attention for 16.8 million tokens.
    operations = 96 * 512 * 2048 * 24 * 2304**2 * (1 + 2048 / 13824 + 51200 / (16 * 24 * 2304))
    assert ROWS["1.7B"].seconds == pytest.approx(operations / (32 * 137e12), rel=1e-9)
    assert [ROWS[f"175B, {words}"].seconds for words in ("full", "selective")] == [18.13, 13.75]
    tokens, parameters = 64 * 32 * 8192, 405.85e9 - 128256 * 16384  # of the embedding no product is made
    attention = 12 * 126 * 16384 * 8192
    expected = tokens * (6 * parameters + attention) / (8192 * 430e12)
    assert ROWS["Llama-3 405B, 8,192"].seconds == pytest.approx(expected, rel=0.01)


@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.slow] * (name not in QUICK)) for name in ROWS])
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_an_iteration_is_the_one_that_the_table_tells(name: str) -> None:
    row = ROWS[name]
    result = TRAININGS.played(row)
    assert result.complete
    assert told()[name] == TRAININGS.cells(row, result.finish_ps / 1e12)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_row_of_published_plans_is_a_run_of_their_degrees_above_its_bound() -> None:
    case = PLANS.case_named("1.7B")
    bounds = PLANS.bounds_of(case, case.held, case.gpus)
    assert all(each.choice.cell.degrees.npus == 32 and each.choice.zero == 0 for each in bounds)
    theirs = next(each for each in bounds if case.is_theirs(each.choice))
    assert (theirs.choice.cell.degrees.tensor, theirs.choice.cell.degrees.pipeline) == (1, 1)
    row = PLANS.played(case, theirs)
    assert float(row["bound_s"]) <= float(row["time_s"]) <= 1.1 * case.seconds
    assert row["npus_played"] == 32


def test_a_large_plan_is_played_with_eight_servers_a_stage_and_what_bounds_say_it_lacks() -> None:
    case = PLANS.case_named("18.4B")
    bounds = PLANS.bounds_of(case, {**case.held, "parallel.tensor": 8, "training.micro_batch": 16}, case.gpus)
    theirs = next(each for each in bounds if case.is_theirs(each.choice))
    size = PLANS.size_of(case, theirs)
    assert (size.npus, size.samples) == (64, 1024 * 8 // 32)  # 8 of 32 copies
    # A ring's all-reduce over n servers carries 2 (n - 1) / n of the gradients: 31/32 of them instead of 7/8.
    assert 0 < size.lacking_ps < 0.02 * theirs.time_ps


def test_a_plan_fits_where_megatrons_update_does() -> None:
    """18.4 billion parameters of 20 bytes are 92 GB for each of four NPUs, and 46 GB for each of eight."""
    case = PLANS.case_named("18.4B")
    of_four = PLANS.bounds_of(case, {**case.held, **PLANS.degrees_of(2, 2), "training.micro_batch": 1}, case.gpus)
    assert [PLANS.fits(case, each.choice) for each in of_four] == [0] * len(of_four)
    of_eight = PLANS.bounds_of(case, {**case.held, **PLANS.degrees_of(8, 1), "training.micro_batch": 1}, case.gpus)
    assert PLANS.fits(case, of_eight[0].choice) == pytest.approx(18.4e9 / 8 * 20, rel=0.02)
