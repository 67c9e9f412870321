"""Switches played in windows give what one list of events gives, to the picosecond, whatever the network does.

A switch whose port is observed is not played in windows, nor is any other of its network.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from support.small_run import small_system

import astra_ns3
from astra_ns3 import Result
from astra_ns3.config.network.packet_network import parse_network

CASES = 24
TABLES = ("flows", "accounts", "account_hops")
SAME = (
    "events",
    "cnps",
    "marked_frames",
    "retransmissions",
    "timeouts",
    "dropped_frames",
    "lost_frames",
    "pause_storms",
)


def _drawn_topology(draw: random.Random) -> dict[str, Any]:
    """Six switches or more, so that windows pay; links between them longer than those of hosts, or as long."""
    link = {
        "rate": draw.choice(["100Gbps", "25Gbps", "37Gbps"]),
        "delay": draw.choice(["500ns", "1us", "133ns"]),
        **draw.choice([{}, {}, {"error_rate": 1e-3}]),
    }
    switch: dict[str, Any] = {"buffer": draw.choice(["1GB", "200KB"])}
    if draw.random() < 0.6:
        switch |= {"buffer": "2MB", "pfc": {"priorities": [3], "alpha": 0.03}, "ecn": {"kmin": "20KB", "kmax": "80KB"}}
    if draw.random() < 0.3:
        switch["cut_through"] = "64B"
    routing = {"routing": {"kind": draw.choice(["ecmp", "ecmp", "spray", "adaptive", "flowlet"])}}
    return draw.choice(
        [
            {"kind": "fat-tree", "k": 4, "link": link, "switch": switch, **routing},
            {
                "kind": "leaf-spine",
                "leaves": 4,
                "hosts_per_leaf": 4,
                "spines": 3,
                "link": link,
                "uplink": {**link, "delay": draw.choice(["500ns", "2us", "90ns"])},
                "switch": switch,
                **routing,
            },
        ]
    )


def _drawn_transport(draw: random.Random) -> dict[str, Any]:
    if draw.random() < 0.3:
        return {"kind": "tcp"}
    pint = {"kind": "hpcc-pint", "sampling": 0.5}
    return {
        "kind": "roce",
        "congestion_control": draw.choice(["none", "dcqcn", "timely", "dctcp", "hpcc", "swift", pint]),
    }


def _drawn_flows(draw: random.Random, path: Path) -> Path:
    """Some many to one, many at the same moment."""
    rows = ["source,destination,bytes,start"]
    for _ in range(60):
        source, destination = draw.sample(range(16), 2)
        destination = 3 if source != 3 and draw.random() < 0.4 else destination
        size = draw.choice([1, 999, 20_000, 150_000])
        rows.append(f"{source},{destination},{size},{draw.choice([0, 0, 1000, draw.randrange(30_000)])}ns")
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return path


def _play(network: dict[str, Any], flows: Path, output: Path, seed: int) -> Result:
    return astra_ns3.run(
        network=parse_network(network),
        workload=flows,
        system=small_system(),
        output=output,
        record=("flows", "accounts"),
        seed=seed,
    )


@pytest.mark.parametrize("seed", range(CASES))
def test_windows_change_nothing(seed: int, tmp_path: Path) -> None:
    draw = random.Random(seed)
    network = {"topology": _drawn_topology(draw), "transport": _drawn_transport(draw)}
    flows = _drawn_flows(draw, tmp_path / "flows.csv")
    in_windows = _play(network, flows, tmp_path / "in-windows", seed + 1)
    observed = {**network, "observe": {"queues": ["switch0:0"]}}
    in_one_list = _play(observed, flows, tmp_path / "in-one-list", seed + 1)
    for table in TABLES:
        one, other = (pd.read_parquet(tmp_path / way / f"{table}.parquet") for way in ("in-windows", "in-one-list"))
        pd.testing.assert_frame_equal(one, other)
    ports = [(tmp_path / way / "switch.csv").read_text(encoding="utf-8") for way in ("in-windows", "in-one-list")]
    assert ports[0] == ports[1]
    one_run, other_run = (
        {name: dict(result.metadata["statistics"]).get(name) for name in SAME} for result in (in_windows, in_one_list)
    )
    assert one_run == other_run
    assert in_windows.finish_ps == in_one_list.finish_ps
