"""How large the chunks of NCCL's trees are, by hand."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.nccl.chunks import chunk_bytes
from astra_ns3.nccl.communicator import Communicator

KIB, MIB = 1 << 10, 1 << 20


@pytest.mark.parametrize(("version", "expected"), [("2.18", 64), ("2.21", 64), ("2.22", 512), ("2.30", 512)])
def test_trees_with_simple_halve_chunks_until_2_21(
    make: Callable[..., Communicator], version: str, expected: int
) -> None:
    """Two servers of 8 are 8 hops deep. A channel's 1 MiB is fewer than 32 chunks of 128 KiB, and at least 8 of 64."""
    communicator = make("h100", 2, 8, version)
    assert chunk_bytes(communicator, CollectiveKind.ALL_REDUCE, "Tree", "Simple", MIB) == expected * KIB
