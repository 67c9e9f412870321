"""TCP with ECN where segments overtake each other: in each case ns-3's own sockets end the process, or stall."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from support.many_networks import leaf_spine, system_for

import astra_ns3
from astra_ns3.config.network.packet_network import parse_network
from astra_ns3.workload.files.astra_sim import parse_workload

TRANSPORT = {"kind": "tcp", "congestion_control": "NewReno", "ecn": True}


def all_to_all(
    topology: dict[str, Any], transport: dict[str, Any], message_bytes: int, folder: Path, **options: Any
) -> pd.DataFrame:
    """Play an all-to-all of all NPUs below two leaves, and return its flows. Marks are checked to be given."""
    sent_bytes = message_bytes * 2 * topology["hosts_per_leaf"]
    result = astra_ns3.run(
        workload=parse_workload(f"MICRO\n1\nlayer -1 0 NONE 0 0 NONE 0 0 ALLTOALL {sent_bytes} 0\n", "all-to-all.txt"),
        system=system_for(1, **{"preferred-dataset-splits": 1}),
        network=parse_network({"topology": topology, "transport": transport}),
        output=folder / "run",
        record=["flows"],
        isolated=True,  # where ns-3 ends its process, it is this run's
        **options,
    )
    assert result.metadata["statistics"]["marked_frames"] > 0
    return pd.read_parquet(folder / "run" / "flows.parquet")


@pytest.mark.parametrize(
    ("control", "routing"),
    [
        ("LinuxReno", {"kind": "spray", "spray": "random"}),
        ("NewReno", {"kind": "spray"}),
    ],
)
def test_tcp_delivers_every_message_where_marked_segments_overtake_each_other(
    control: str, routing: dict[str, Any], tmp_path: Path
) -> None:
    topology = leaf_spine(
        spines=2,
        hosts_per_leaf=4,
        link={"rate": "200Gbps", "delay": "500ns"},
        switch={"buffer": "1MB", "ecn": {"kmin": 20_000, "kmax": 40_000, "pmax": 0.2}},
        routing=routing,
    )
    transport = {**TRANSPORT, "congestion_control": control, "min_rto": "1ms"}
    flows = all_to_all(topology, transport, 200_000, tmp_path)
    assert flows["bytes"].tolist() == [200_000] * (8 * 7)


@pytest.mark.parametrize(
    ("hosts_per_leaf", "uplink", "buffer", "pmax", "seed"),
    [(2, "10Gbps", 80_000, 0.05, 9), (3, "25Gbps", 60_000, 0.01, 1)],
)
def test_tcp_sends_the_next_message_after_a_recovery_that_left_no_window(
    hosts_per_leaf: int, uplink: str, buffer: int, pmax: float, seed: int, tmp_path: Path
) -> None:
    """The first all-to-all loses and marks segments; connections that end it in CWR are used again by the second."""
    topology = leaf_spine(
        spines=2,
        hosts_per_leaf=hosts_per_leaf,
        link={"rate": "25Gbps", "delay": "500ns"},
        uplink={"rate": uplink},
        switch={"buffer": buffer, "ecn": {"kmin": 4200, "kmax": 17_000, "pmax": pmax}},
        routing={"kind": "spray", "spray": "random"},
    )
    transport = {**TRANSPORT, "window": "64KB", "initial_window_segments": 44, "min_rto": "2ms"}
    flows = all_to_all(topology, transport, 60_000, tmp_path, passes=2, seed=seed)
    npus = 2 * hosts_per_leaf
    assert flows["bytes"].tolist() == [60_000] * (2 * npus * (npus - 1))
