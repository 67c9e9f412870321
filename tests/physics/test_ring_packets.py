"""Ring all-reduces in many chunks against packets played apart: messages share a NIC, or go one after the other."""

from __future__ import annotations

from typing import get_args

import pytest
from oracles.ring_packets import Order, RingPackets
from oracles.roce_times import Star
from support.roce_network import roce_network
from support.small_run import small_system

import astra_ns3
from astra_ns3.workload.files.astra_sim import parse_workload

LINE = Star(100 * 10**9, 500_000)
LINK = {"rate": "100Gbps", "delay": "500ns"}
BYTES = 2**20
TOLERANCE = 0.001
"""What happens at one moment may come in another order."""


def played_ps(leaves: int, hosts: int, chunks: int, payload: int, order: Order) -> int:
    shape = {"kind": "leaf-spine", "leaves": leaves, "spines": 1, "hosts_per_leaf": hosts, "uplink": LINK, "link": LINK}
    return astra_ns3.run(
        workload=parse_workload(f"MICRO\n1\none -1 0 NONE 0 0 NONE 0 0 ALLREDUCE {BYTES} 0\n", "one.txt"),
        system=small_system(**{"preferred-dataset-splits": chunks}),
        network=roce_network(
            {**shape, "switch": {"buffer": "1GB"}},
            congestion_control="none",
            payload=payload,
            queue_pairs="per-pair" if order == "in a row" else "per-message",
            round_robin="by-age" if order == "by age" else "as-ready",
        ),
    ).finish_ps


@pytest.mark.parametrize("order", get_args(Order))
@pytest.mark.parametrize(
    ("leaves", "hosts", "chunks", "payload"),
    [
        (2, 4, 4, 1000),
        (2, 8, 4, 1000),
        (2, 8, 8, 1000),
        (4, 8, 4, 1000),
        (2, 8, 8, 256),
        (2, 4, 16, 1000),
        (4, 4, 8, 4096),
    ],
)
def test_a_ring_takes_as_long_as_its_packets_played_apart(
    leaves: int, hosts: int, chunks: int, payload: int, order: Order
) -> None:
    message_bytes = BYTES // chunks // (leaves * hosts)
    oracle = RingPackets(leaves, hosts, chunks, message_bytes, payload, LINE, 10_000, order)
    assert played_ps(leaves, hosts, chunks, payload, order) == pytest.approx(oracle.finish_ps(), rel=TOLERANCE)


def test_messages_bunch_if_one_that_comes_is_next_after_the_youngest() -> None:
    """By age a ring takes more than twice as long; messages that join at the end cost it a fifth."""
    in_a_row, by_age, as_they_come = (
        RingPackets(4, 8, 4, BYTES // 4 // 32, 1000, LINE, 10_000, order).finish_ps() for order in get_args(Order)
    )
    assert by_age > 2 * in_a_row
    assert in_a_row < as_they_come < 1.25 * in_a_row
