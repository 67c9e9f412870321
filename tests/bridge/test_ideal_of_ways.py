"""A message whose packets take different ways is never faster than its ideal, which Python and C++ work out alike."""

from __future__ import annotations

import random
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
