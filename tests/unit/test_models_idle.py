"""Keys of a model file that change nothing are told, with the reason; those that do, or that nobody gave, are not."""

from __future__ import annotations

from typing import Any

import pytest
from support.models import small_gpt


def told(parallel: dict[str, Any], npus: int = 1) -> str:
    """The warning, without the keys' file."""
    found = [each for each in small_gpt({}, parallel).warnings(npus) if "without effect" in each]
    assert len(found) <= 1
    return found[0].split("without effect: ")[1] if found else ""


@pytest.mark.parametrize(
    ("parallel", "npus", "expected"),
    [
        ({"sequence": True}, 1, "parallel.sequence (tensor is 1)"),
        ({"gather_inputs_again": True, "tensor": 2}, 2, "parallel.gather_inputs_again (sequence is off)"),
        ({"overlap_tensor": True}, 1, "parallel.overlap_tensor (tensor is 1)"),
        ({"context_by": "all-gather"}, 1, "parallel.context_by (context is 1)"),
        ({"bucket": "1MB"}, 1, "parallel.bucket (nobody else has the same weights)"),
        ({"overlap": False}, 1, "parallel.overlap (nobody else has the same weights)"),
        ({"prefetch": 3, "keep_gathered": True, "zero": 2}, 2, "parallel.prefetch (zero is 2), parallel.keep_gathered"),
    ],
)
def test_a_key_without_effect_is_told_with_its_reason(parallel: dict[str, Any], npus: int, expected: str) -> None:
    assert told(parallel, npus).startswith(expected)


def test_keys_that_count_and_keys_that_nobody_gave_are_not_told() -> None:
    assert told({}) == ""
    assert told({"tensor": 2, "sequence": True, "gather_inputs_again": False, "overlap_tensor": True}, 2) == ""
    assert told({"bucket": "1MB", "overlap": False, "zero": 3, "prefetch": 2, "keep_gathered": True}, 2) == ""
    assert told({"context": 2, "context_by": "ring"}, 2) == ""
