"""Two transports on one network: each message goes over that of the highest dimension in which its ends differ."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from oracles.roce_times import Star
from support.many_networks import NETWORKS, small_dlrm, system_for
from support.star_network import Played, Row, by_hand, play
from support.transports import transport_of

import astra_ns3
from astra_ns3.config.network.packet_network import NetworkConfig, parse_network, read_network
from astra_ns3.config.transports.tcp import TcpTransport
from astra_ns3.network.ideal.packets import PacketIdeal
from astra_ns3.network.plan import plan_network

MIXED = NETWORKS / "hier-mixed.yaml"
G = 10**9
SIZE = 50_000
LINK = {"rate": "100Gbps", "delay": "500ns"}
SWITCH = {"buffer": "64MB"}


def one(network: NetworkConfig, sender: int, receiver: int) -> Played:
    return play(network, by_hand(network.npus, [Row(sender, receiver)]), SIZE)


def opened(played: Played) -> tuple[int, int]:
    """TCP connections and queue pairs."""
    return played.statistics["connections"], played.statistics["queue_pairs"]


def with_transport(network: NetworkConfig, **keys: Any) -> NetworkConfig:
    return parse_network({"topology": network.document()["topology"], **keys})


def test_inside_a_node_a_message_takes_the_time_of_roce() -> None:
    played = one(read_network(MIXED), 1, 2)
    assert played.done_ps(2) == Star(2400 * G, 25_000).message_ps(SIZE, 4096)
    assert opened(played) == (0, 1)


def test_between_nodes_a_message_takes_the_time_of_tcp() -> None:
    mixed = read_network(MIXED)
    tcp = transport_of(mixed, TcpTransport)
    assert tcp is not None
    played = one(mixed, 1, 4)
    assert played.done_ps(4) == one(with_transport(mixed, transport=tcp.document()), 1, 4).done_ps(4)
    assert opened(played) == (1, 0)


@pytest.mark.parametrize(
    ("kinds", "over_tcp"),
    [
        (["roce", "roce", "tcp"], {4, 5, 6, 7}),
        (["tcp", "roce", "roce"], {1}),
        (["roce", "tcp", "roce"], {2, 3}),
        (["tcp", "roce", "tcp"], {1, 4, 5, 6, 7}),
    ],
)
@pytest.mark.parametrize("wires", ["torus", "leaf-spine"])
def test_of_three_dimensions_the_highest_counts(wires: str, kinds: list[str], over_tcp: set[int]) -> None:
    """NPU 0 to each other of 2 x 2 x 2: bit d of a number is its place in dimension d."""
    keys: dict[str, Any] = {"shape": [2, 2, 2]}
    if wires == "leaf-spine":
        keys = {"leaves": 2, "spines": 2, "hosts_per_leaf": 4, "dimensions": [2, 2, 2]}
    topology = {"kind": wires, **keys, "link": LINK, "switch": SWITCH}
    network = parse_network({"topology": topology, "transports": kinds})
    found = {npu for npu in range(1, 8) if opened(one(network, 0, npu)) == (1, 0)}
    assert found == over_tcp


def test_a_message_s_ideal_is_that_of_the_transport_it_goes_over() -> None:
    """NPU 0 to each other of 2 x 2 x 2 hosts below one switch, where a path is like any other."""
    topology = {"kind": "single-switch", "npus": 8, "dimensions": [2, 2, 2], "link": LINK, "switch": SWITCH}

    def ideal_ps(keys: dict[str, Any]) -> list[int]:
        ideal = PacketIdeal(plan_network(parse_network({"topology": topology, **keys})))
        others = np.arange(1, 8, dtype=np.int32)
        times: list[int] = ideal(np.zeros_like(others), others, np.full(7, SIZE)).tolist()
        return times

    roce, tcp = ideal_ps({"transport": "roce"}), ideal_ps({"transport": "tcp"})
    assert ideal_ps({"transports": ["roce", "roce", "tcp"]}) == roce[:3] + tcp[3:]


def test_the_main_job_runs_over_both_and_opens_what_each_needs(tmp_path: Path) -> None:
    network = read_network(MIXED)
    result = astra_ns3.run(
        workload=small_dlrm(), system=system_for(2), network=network, output=tmp_path / "run", record=["flows"]
    )
    flows = pd.read_parquet(tmp_path / "run" / "flows.parquet")
    inside = flows["source"] // 4 == flows["destination"] // 4
    pairs = flows[["source", "destination"]]
    statistics = result.metadata["statistics"]
    assert statistics["queue_pairs"] == len(pairs[inside].drop_duplicates()) > 0
    assert statistics["connections"] == len(pairs[~inside].drop_duplicates()) > 0
    assert statistics["messages"] == len(flows)
    assert (statistics["retransmissions"], statistics["dropped_frames"]) == (0, 0)
    kept = result.metadata["network"]
    assert [each["kind"] for each in kept["transports"]] == ["roce", "tcp"]
    assert "transport" not in kept
