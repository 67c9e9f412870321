"""How many of PAT's trees go at once, by hand from the words of NCCL's ``collectives.h``."""

from __future__ import annotations

import pytest

from astra_ns3.nccl.chunks import pat_trees

KIB = 1 << 10


@pytest.mark.parametrize(
    ("ranks", "part", "found"),
    [
        # A slot of 64 KiB has room for 64 pieces of 1 KiB, and half of the ranks are fewer.
        (16, KIB, (8, 8)),
        (64, KIB, (32, 32)),
        # 8 slots for pieces that fill them; with few ranks half of these.
        (64, 64 * KIB, (8, 1)),
        (10, 64 * KIB, (8, 1)),
        (8, 64 * KIB, (4, 1)),
        # A piece of 20 KiB: three fit, a power of two is 2, and 8 slots of 2.
        (256, 20 * KIB, (16, 2)),
        (5, KIB, (2, 2)),
        (2, KIB, (1, 1)),
    ],
)
def test_trees_fill_the_slots_of_a_channel(ranks: int, part: int, found: tuple[int, int]) -> None:
    assert pat_trees(ranks, 64 * KIB, part) == found
