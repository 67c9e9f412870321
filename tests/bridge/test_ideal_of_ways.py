"""A message whose packets take different ways is never faster than its ideal, which Python and C++ work out alike."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.small_run import small_system

import astra_ns3
from astra_ns3.config.flow_list import FlowList
from astra_ns3.config.network.packet_network import NetworkConfig, parse_network
from astra_ns3.network.ideal.packets import PacketIdeal
from astra_ns3.network.plan import plan_network

ROUTINGS = ({"kind": "spray"}, {"kind": "spray", "spray": "random"}, {"kind": "flowlet"}, {"kind": "adaptive"})


def network(draw: random.Random) -> NetworkConfig:
    """Hosts with fast lines below leaves, whose lines to several spines are slower."""
    fast, slow = f"{draw.choice((100, 200, 400))}Gbps", f"{draw.choice((25, 40, 100))}Gbps"
    delays = [f"{draw.choice((0, 100, 500, 2000))}ns" for _ in range(2)]
    switch: dict[str, Any] = {"buffer": "64MB", "pfc": {}}
    if draw.random() < 0.4:
        switch["cut_through"] = "128B"
    topology = {
        "kind": "leaf-spine",
        "leaves": 2,
        "spines": draw.choice((2, 3, 4)),
        "hosts_per_leaf": 2,
        "link": {"rate": fast, "delay": delays[0]},
        "uplink": {"rate": slow, "delay": delays[1]},
        "switch": switch,
        "routing": draw.choice(ROUTINGS),
    }
    transport = {
        "kind": "roce",
        "congestion_control": "none",
        "payload": draw.choice((200, 1000, 4096)),
        "reliability": "selective-repeat",
        "completion": draw.choice(("arrival", "acknowledged")),
    }
    return parse_network({"topology": topology, "transport": transport})


@pytest.mark.parametrize("seed", range(30))
def test_a_message_alone_on_several_ways_takes_its_ideal_at_least(seed: int) -> None:
    draw = random.Random(seed)
    config = network(draw)
    sizes = [draw.choice((1, 999, 5000, 40_000, 1_000_000)) for _ in range(4)]
    starts = [place * 10**10 for place in range(len(sizes))]
    flows = FlowList.of([0] * len(sizes), [draw.choice((1, 2, 3)) for _ in sizes], sizes, starts)
    result = astra_ns3.run(workload=flows, system=small_system(), network=config, record=["flows"])
    rows = result.flows.sort_values("start_ps")
    took = (rows["end_ps"] - rows["start_ps"]).to_numpy()
    ideal = rows["ideal_ps"].to_numpy()
    assert (took >= ideal).all(), (took, ideal)
    source, destination = (rows[name].to_numpy(dtype=np.int32) for name in ("source", "destination"))
    in_python = PacketIdeal(plan_network(config))(source, destination, rows["bytes"].to_numpy(dtype=np.int64))
    assert in_python.tolist() == ideal.tolist()


def unequal_ways(folder: Path, routing: dict[str, Any]) -> NetworkConfig:
    """Two ways of one cost between the hosts' switches: a slow line, and two fast ones over a third switch."""

    def line(source: str, target: str, rate: str, cost: int = 1) -> dict[str, Any]:
        return {"source": source, "target": target, "rate": rate, "delay": "100ns", "cost": cost}

    kinds = {"s0": "switch", "s1": "switch", "s2": "switch", "h0": "host", "h1": "host"}
    fast = "100Gbps"
    links = [line("h0", "s0", "400Gbps"), line("h1", "s1", "400Gbps"), line("s0", "s1", "10Gbps", cost=2)]
    graph = {
        "directed": False,
        "multigraph": False,
        "graph": {},
        "nodes": [{"id": name, "kind": kind} for name, kind in kinds.items()],
        "links": [*links, line("s0", "s2", fast), line("s2", "s1", fast)],
    }
    file = folder / "graph.json"
    file.write_text(json.dumps(graph), encoding="utf-8")
    switch = {"buffer": "64MB", "pfc": {}}
    topology = {"kind": "file", "path": str(file), "switch": switch, "routing": routing}
    reliability = {"kind": "selective-repeat", "reordering_packets": 64}
    transport = {"kind": "roce", "congestion_control": "none", "payload": 1000, "reliability": reliability}
    return parse_network({"topology": topology, "transport": transport})


@pytest.mark.parametrize("routing", ROUTINGS, ids=lambda routing: "-".join(routing.values()))
def test_a_message_on_ways_of_different_lengths_takes_its_ideal_at_least(
    tmp_path: Path, routing: dict[str, Any]
) -> None:
    """1 MB in packets of 1,000 bytes and some headers: 110 Gb/s out of the first switch need 73 us, 10 Gb/s 800."""
    config = unequal_ways(tmp_path, routing)
    flows = FlowList.of([0, 1], [1, 0], [1_000_000, 1_000_000], [0, 10**10])
    result = astra_ns3.run(workload=flows, system=small_system(), network=config, record=["flows"])
    took = (result.flows["end_ps"] - result.flows["start_ps"]).to_numpy()
    ideal = result.flows["ideal_ps"].to_numpy()
    assert (took >= ideal).all(), (took, ideal)
    assert ((ideal > 73 * 10**6) & (ideal < 90 * 10**6)).all(), ideal
    both = np.array([0, 1], dtype=np.int32)
    in_python = PacketIdeal(plan_network(config))(both, both[::-1], np.full(2, 1_000_000))
    assert in_python.tolist() == ideal.tolist()


@pytest.mark.parametrize("routing", ["ecmp", "spray"])
@pytest.mark.parametrize(("lines", "queue_pairs"), [(2, 2), (2, 4), (3, 4)])
def test_a_split_message_may_take_all_lines_of_its_host(lines: int, queue_pairs: int, routing: str) -> None:
    link = {"rate": "400Gbps", "delay": "100ns"}
    level = {"children": 4, "link": link, "links": lines, "switch": {"buffer": "32MiB", "pfc": {}}}
    transport = {"kind": "roce", "payload": 4096, "congestion_control": "none", "queue_pairs_per_pair": queue_pairs}
    config = parse_network(
        {
            "topology": {"kind": "clos", "levels": [level], "routing": {"kind": routing}},
            "transport": {**transport, "queue_pair_use": "split"},
        }
    )
    pairs = [(source, destination) for source in range(4) for destination in range(4) if source != destination]
    starts = [place * 10**9 for place in range(len(pairs))]
    senders, receivers = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    flows = FlowList.of(senders, receivers, [4_000_000] * len(pairs), starts)
    rows = astra_ns3.run(workload=flows, system=small_system(), network=config, record=["flows"]).flows
    took = (rows["end_ps"] - rows["start_ps"]).to_numpy()
    ideal = rows["ideal_ps"].to_numpy()
    assert (took >= ideal).all(), (took, ideal)
    assert (ideal < 1.1 * 4_000_000 * 8 / 0.4 / lines).all()
    source, destination = (rows[name].to_numpy(dtype=np.int32) for name in ("source", "destination"))
    in_python = PacketIdeal(plan_network(config))(source, destination, rows["bytes"].to_numpy(dtype=np.int64))
    assert in_python.tolist() == ideal.tolist()
