"""A training that fits is tight from 80% of an NPU's memory on."""

from __future__ import annotations

import pytest

from astra_ns3.workload.memory.room import is_tight, memory_text, roomy_bytes

GB = 10**9


@pytest.mark.parametrize(
    ("needed", "capacity", "expected"),
    [
        (64 * GB - 1, 80 * GB, False),
        (64 * GB, 80 * GB, True),
        (80 * GB, 80 * GB, True),
        (80 * GB + 1, 80 * GB, False),  # it doesn't fit
        (8, 11, False),  # 80% are 8.8 bytes
        (9, 11, True),
        (None, 80 * GB, None),
        (64 * GB, None, None),
    ],
)
def test_what_fits_is_tight_from_80_percent_on(needed: int | None, capacity: int | None, expected: bool | None) -> None:
    assert is_tight(needed, capacity) is expected


def test_a_cell_names_what_is_tight() -> None:
    assert memory_text(64 * GB, tight=is_tight(64 * GB, 80 * GB)) == "64 GB tight"
    assert memory_text(64 * GB, tight=None) == "64 GB"
    assert roomy_bytes(80 * GB) == 64 * GB
