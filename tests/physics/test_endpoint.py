"""NPUs of one host, endpoint delays and reductions: a network of whose time only a known constant is left.

The rules are those of ASTRA-sim 1.0, whose closed forms are in oracles/collective_times.py.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from oracles import collective_times
from support.star_network import Row, by_hand, one_message, play, star

from astra_ns3.collectives.lookup import lookup
from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.config.network.packet_network import NetworkConfig
from astra_ns3.network.api import EndpointModel

ENDPOINT_PS = 10_000
MESSAGE_PS = 700_000
REDUCED_BYTES = 550_000
"""A message of at least 500,000 bytes costs 3 ns to reduce; this fast a line carries it in less than half a ps."""


def one_host(npus: int, rate: str | int = 2**63 - 1) -> NetworkConfig:
    return star(npus, npus_per_host=npus, local={"rate": rate, "delay": f"{MESSAGE_PS}ps"})


def finish_ps(kind: CollectiveKind, algorithm: str, npus: int, bytes: int) -> int:
    schedule = lookup(kind, algorithm, npus)
    return play(one_host(npus), schedule, bytes, endpoint=EndpointModel(ENDPOINT_PS)).finish_ps


def constant(bytes: int) -> int:
    return MESSAGE_PS


@pytest.mark.parametrize("share", [1000, REDUCED_BYTES])
@pytest.mark.parametrize("npus", [2, 3, 8])
@pytest.mark.parametrize(
    ("kind", "oracle"),
    [
        (CollectiveKind.ALL_REDUCE, collective_times.ring_all_reduce),
        (CollectiveKind.REDUCE_SCATTER, collective_times.ring_reduce_scatter),
        (CollectiveKind.ALL_TO_ALL, collective_times.ring_all_to_all),
    ],
)
def test_ring(kind: CollectiveKind, oracle: Callable[..., int], npus: int, share: int) -> None:
    # The messages of a ring all-to-all carry up to n-1 blocks, so its time is only constant for small ones.
    bytes = (1000 if kind is CollectiveKind.ALL_TO_ALL else share) * npus
    assert finish_ps(kind, "ring", npus, bytes) == oracle(npus, bytes, constant, ENDPOINT_PS)


@pytest.mark.parametrize("npus", [2, 5])
def test_ring_all_gather(npus: int) -> None:
    expected_ps = collective_times.ring_all_gather(npus, REDUCED_BYTES, constant, ENDPOINT_PS)
    assert finish_ps(CollectiveKind.ALL_GATHER, "ring", npus, REDUCED_BYTES) == expected_ps


@pytest.mark.parametrize("window", [1, 3, 7])
@pytest.mark.parametrize("share", [1000, REDUCED_BYTES])
def test_direct(window: int, share: int) -> None:
    npus = 8
    reduce_ps = collective_times.direct_all_reduce(npus, share * npus, constant, ENDPOINT_PS, window)
    assert finish_ps(CollectiveKind.ALL_REDUCE, f"direct{window}", npus, share * npus) == reduce_ps
    exchange_ps = collective_times.direct_all_to_all(npus, share * npus, constant, ENDPOINT_PS, window)
    assert finish_ps(CollectiveKind.ALL_TO_ALL, f"direct{window}", npus, share * npus) == exchange_ps


@pytest.mark.parametrize("npus", [2, 4, 16])
@pytest.mark.parametrize("bytes", [1000, REDUCED_BYTES])
def test_double_binary_tree(npus: int, bytes: int) -> None:
    expected_ps = collective_times.double_binary_tree_all_reduce(npus, bytes, constant, ENDPOINT_PS)
    assert finish_ps(CollectiveKind.ALL_REDUCE, "doubleBinaryTree", npus, bytes) == expected_ps


@pytest.mark.parametrize("npus", [2, 8])
@pytest.mark.parametrize("bytes", [800, REDUCED_BYTES])
def test_halving_doubling(npus: int, bytes: int) -> None:
    expected_ps = collective_times.halving_doubling_all_reduce(npus, bytes, constant, ENDPOINT_PS)
    assert finish_ps(CollectiveKind.ALL_REDUCE, "halvingDoubling", npus, bytes) == expected_ps


def test_reduction_costs_by_the_speed_of_the_memory() -> None:
    rows = [Row(0, 1, reduces=True), Row(1, 0, 1, reduces=False, wait_step=0, wait_count=1)]
    played = play(one_host(2), by_hand(2, rows), 1999, endpoint=EndpointModel(ENDPOINT_PS, reduction_bytes_per_ns=100))
    reduced_ps = ENDPOINT_PS + MESSAGE_PS + ENDPOINT_PS + 3 * 19 * 1000
    assert played.done_ps(1) == reduced_ps
    assert played.done_ps(0) == reduced_ps + MESSAGE_PS + ENDPOINT_PS


def test_two_messages_of_a_step_are_handled_in_parallel() -> None:
    rows = [Row(0, 2, reduces=True), Row(1, 2, reduces=True)]
    endpoint = EndpointModel(ENDPOINT_PS, reduction_bytes_per_ns=1)
    played = play(one_host(3), by_hand(3, rows), 1000, endpoint=endpoint)
    assert played.done_ps(2) == ENDPOINT_PS + MESSAGE_PS + ENDPOINT_PS + 3 * 1000 * 1000


@pytest.mark.parametrize("size", [1, 1000, 12_345_678])
def test_a_local_message_takes_its_bits_and_the_delay_and_never_enters_the_fabric(size: int) -> None:
    played = play(one_host(2, "400Gbps"), one_message(), size)
    assert played.done_ps(1) == size * 20 + MESSAGE_PS
    assert all(port["sent_frames"] == port["highest_queue_bytes"] == 0 for port in played.ports.values())
    assert played.statistics["packets"] == played.statistics["connections"] == 0


def test_local_messages_of_one_npu_take_turns() -> None:
    played = play(one_host(3, "400Gbps"), by_hand(3, [Row(0, 1), Row(0, 2)]), 1000)
    assert played.done_ps(1) == 1000 * 20 + MESSAGE_PS
    assert played.done_ps(2) == 2 * 1000 * 20 + MESSAGE_PS


def test_only_messages_between_hosts_enter_the_fabric() -> None:
    """Ring of 4 NPUs on 2 hosts: of its four connections two lead to the other host."""
    size = 40_000
    network = star(4, npus_per_host=2)
    played = play(network, lookup(CollectiveKind.ALL_REDUCE, "ring", 4), size)
    assert played.statistics["connections"] == 2
    assert sorted(played.ports) == ["host0", "host1", "switch0:0", "switch0:1"]
    crossing = 6 * size // 4  # 2(n-1) messages of a n-th from each of the two NPUs whose successor is on the other host
    for host in ("host0", "host1"):
        assert crossing < played.ports[host]["sent_bytes"] < 1.1 * crossing
