"""How close a run came to its floor, in words."""

from __future__ import annotations

from typing import Any

import pytest

from astra_ns3.report.floor_text import allowed_rows


@pytest.mark.parametrize(
    ("share", "rows"),
    [
        (1.22, [("speed", "82% of what the lines allow (leaf 3's uplinks)")]),
        (300.0, [("speed", "0.3% of what the lines allow (leaf 3's uplinks)")]),
        (0.25, [("below the floor", "0.25 of the 4 us that leaf 3's uplinks need")]),
    ],
)
def test_a_floor_is_told_in_one_row(share: float, rows: list[tuple[str, str]]) -> None:
    floor: Any = {"time_ps": 4_000_000, "where": "leaf 3's uplinks", "bytes": 1, "bytes_per_ns": 1.0, "share": share}
    assert allowed_rows(_document(floor)) == rows


def test_a_chain_of_computations_is_told_as_such() -> None:
    floor: Any = {"time_ps": 4_000_000, "kind": "chain", "where": "what NPU 7 computes", "share": 1.25}
    assert allowed_rows(_document(floor)) == [("speed", "80% of what any network allows (what NPU 7 computes: 4 us)")]


@pytest.mark.parametrize(("job", "left_out"), [({}, False), ({"after": "a"}, True), ({"arrival_ps": 0}, True)])
def test_a_scenario_whose_jobs_wait_for_others_says_that_its_floor_has_no_waits(job: Any, left_out: bool) -> None:
    floor: Any = {"time_ps": 4_000_000, "where": "leaf 3's uplinks", "bytes": 1, "bytes_per_ns": 1.0, "share": 1.25}
    document: Any = {**_document(floor), "jobs": [{"name": "a"}, {"name": "b", **job}]}
    ((_, words),) = allowed_rows(document)
    assert words.endswith("(leaf 3's uplinks), without jobs' waits for each other") == left_out


def test_a_jobs_floor_says_whose_numbers_its_npus_have() -> None:
    floor: Any = {"time_ps": 4_000_000, "where": "the lines out of NPU 3", "share": 1.25}
    document: Any = {**_document(floor), "job": {"name": "a"}}
    said = "80% of what the lines allow (the lines out of NPU 3; NPUs as the network numbers them)"
    assert allowed_rows(document) == [("speed", said)]


def test_no_row_without_a_floor_or_an_end() -> None:
    assert allowed_rows(_document(None)) == []
    floor: Any = {"time_ps": 4_000_000, "where": "leaf 3's uplinks", "bytes": 1, "bytes_per_ns": 1.0, "share": None}
    assert allowed_rows(_document(floor)) == []


def _document(floor: Any) -> Any:
    return {"floor": floor}
