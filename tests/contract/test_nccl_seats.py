"""A group of GPUs plays by NCCL's rules as servers do that have no other GPUs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from support.seated_gpus import SERVERS, network_of

from astra_ns3.config.nccl import NcclConfig
from astra_ns3.config.network.packet_network import NetworkConfig
from astra_ns3.experiments.nccl.bench import BenchRow, Case, bench

MIB = 1 << 20


def members(seats: Sequence[Sequence[int]], gpus: int = 8) -> tuple[int, ...]:
    """NPUs that have some GPUs in each of the servers; ``seats`` has those of one or several, which servers repeat."""
    return tuple(server * gpus + gpu for server in range(SERVERS) for gpu in seats[server % len(seats)])


def played(operation: str, network: NetworkConfig, case: Case, **table: Any) -> BenchRow:
    (row,) = bench(operation, [case], network, NcclConfig(**table), backend="flow", seed=1)
    return row


@pytest.mark.parametrize("operation", ["all_reduce", "alltoall", "all_gather"])
@pytest.mark.parametrize(
    "seats",
    [
        [(0, 2, 4, 6)],
        [(1, 3, 5, 7)],
        [(1, 2, 5, 6)],
        [(6, 4, 2, 0)],
        [(0, 2, 4, 6), (1, 3, 5, 7)],  # other GPUs in each second server
        [(0, 6)],
        [(3, 4)],
        [(0, 2, 5)],
        [(6,)],
    ],
)
def test_gpus_with_a_nic_each_are_as_fast_as_a_server_without_the_others(
    operation: str, seats: list[tuple[int, ...]]
) -> None:
    """NCCL leaves out GPUs that aren't in the communicator (ncclTopoTrimSystem): the machines are the same for it."""
    found = played(operation, network_of(8, 4), Case(32 * MIB, members(seats)))
    alone = played(operation, network_of(len(seats[0]), len(seats[0])), Case(32 * MIB))
    assert found.channels == alone.channels
    assert found.time_us == pytest.approx(alone.time_us, rel=0.01)


@pytest.mark.parametrize("operation", ["all_reduce", "alltoall"])
@pytest.mark.parametrize("seats", [(2, 3), (4, 5, 6, 7), (2, 3, 6, 7), (5, 4)])
def test_gpus_that_share_nics_are_as_fast_as_the_first_ones_that_do(operation: str, seats: tuple[int, ...]) -> None:
    first = played(operation, network_of(8, 4), Case(32 * MIB, members([range(len(seats))])))
    assert played(operation, network_of(8, 4), Case(32 * MIB, members([seats]))).time_us == first.time_us


def test_data_groups_of_p4d_under_tensor_parallelism_use_all_lines() -> None:
    """Two groups at once on four NICs of 100 Gb/s: together at most 50 GB/s, and each half of it."""
    network = network_of(8, 4, 100, 1958)
    groups = members([(0, 2, 4, 6)]), members([(1, 3, 5, 7)])
    for operation in ("all_gather", "reduce_scatter"):
        row = played(operation, network, Case(128 * MIB, groups[0], (groups[1],)), version="2.21", server="p4d")
        assert 25 * 0.9 <= row.bus_gbytes_per_s <= 25
