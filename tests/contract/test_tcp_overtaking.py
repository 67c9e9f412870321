"""TCP with ECN where segments overtake each other: ns-3's own sockets end the process in each of these cases."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from support.many_networks import leaf_spine, system_for

import astra_ns3
from astra_ns3.config.network.packet_network import parse_network
from astra_ns3.workload.files.astra_sim import parse_workload

BYTES = 1_600_000
"""Of each NPU's all-to-all among eight: seven messages of 200,000 bytes."""
WORKLOAD = f"MICRO\n1\nlayer -1 0 NONE 0 0 NONE 0 0 ALLTOALL {BYTES} 0\n"
NPUS = 8


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
    transport = {"kind": "tcp", "congestion_control": control, "ecn": True, "min_rto": "1ms"}
    result = astra_ns3.run(
        workload=parse_workload(WORKLOAD, "all-to-all.txt"),
        system=system_for(1, **{"preferred-dataset-splits": 1}),
        network=parse_network({"topology": topology, "transport": transport}),
        output=tmp_path / "run",
        record=["flows"],
        isolated=True,  # where ns-3 ends its process, it is this run's
    )
    flows = pd.read_parquet(tmp_path / "run" / "flows.parquet")
    assert result.metadata["statistics"]["marked_frames"] > 0
    assert len(flows) == NPUS * (NPUS - 1)
    assert set(flows["bytes"]) == {BYTES // NPUS}
