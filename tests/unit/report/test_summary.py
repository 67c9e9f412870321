"""Rows of a run's table at the borders: one frame that was dropped, memory that is full to the last byte."""

from __future__ import annotations

from typing import Any

import pytest
from support.small_run import small_run

from astra_ns3 import run
from astra_ns3.network.run_document import ForeseenDocument
from astra_ns3.report.foreseen_text import foreseen_rows
from astra_ns3.report.summary import run_text


def test_a_single_loss_has_a_row_and_what_never_happened_has_none() -> None:
    result = run(**small_run())
    document: Any = {**result.metadata, "statistics": {**result.metadata["statistics"], "timeouts": 1, "pauses": 0}}
    rows = [line.rsplit(maxsplit=1) for line in run_text(document, None).splitlines()]
    assert ["timeouts", "1"] in rows
    assert not any(name.startswith("pauses") for name, *_ in filter(None, rows))


def test_exposed_times_of_layers_are_said_to_be_those_of_the_first_that_was_waited_for() -> None:
    assert "largest exposed communication, by layer first waited for" in run_text(run(**small_run()).metadata, None)


@pytest.mark.parametrize(
    ("capacity", "begins"),
    [
        (9, "doesn't fit: at most 10 B of 9 B"),
        (10, "tight (real peaks are some GB higher): at most 10 B of 10 B"),
        (13, "at most 10 B of 13 B"),
    ],
)
def test_a_stage_fits_that_fills_memory_to_the_last_byte(capacity: int, begins: str) -> None:
    sizes = [{"peak_bytes": peak, "weights_bytes": peak - 1, "states_bytes": 1} for peak in (8, 10, 9)]
    stages = [{"stage": str(number), "when": "the update", **each} for number, each in enumerate(sizes)]
    document: Any = {"memory_by_stage": {"capacity_bytes": capacity, "stages": stages}}
    found: ForeseenDocument = document
    assert foreseen_rows(found) == [("memory of an NPU", f"{begins} on stage 1: weights 9 B, states 1 B")]


def test_nothing_is_listed_of_a_stage_that_holds_nothing() -> None:
    stage = {"stage": "0", "when": "", "peak_bytes": 0, "weights_bytes": 0}
    document: Any = {"memory_by_stage": {"capacity_bytes": 9, "stages": [stage]}}
    assert foreseen_rows(document) == [("memory of an NPU", "at most 0 B of 9 B")]
