"""An event that changes a control's numbers at an NPU changes what the NPU sends, on queue pairs in use, too."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import astra_ns3

SIZE = 4_000_000
LINK = {"rate": "100Gbps", "delay": "500ns"}


def finish_ps(folder: Path, *events: dict[str, Any]) -> int:
    topology = {"kind": "single-switch", "npus": 2, "link": LINK, "switch": {"buffer": "64MB"}}
    network = {"topology": topology, "transport": {"kind": "roce", "congestion_control": {"kind": "hpcc", "eta": 0.9}}}
    (folder / "flow.csv").write_text(f"source,destination,bytes,start\n0,1,{SIZE},0ns\n", encoding="utf-8")
    (folder / "system.yaml").write_text("scheduling-policy: LIFO\npreferred-dataset-splits: 1\n", encoding="utf-8")
    (folder / "network.json").write_text(json.dumps(network), encoding="utf-8")
    job = {"name": "a", "workload": "flow.csv", "system": "system.yaml", "npus": [0, 1]}
    scenario = {"network": "network.json", "jobs": [job], "events": events}
    (folder / "scenario.json").write_text(json.dumps(scenario), encoding="utf-8")
    return astra_ns3.run_scenario(scenario=folder / "scenario.json").finish_ps


def test_a_sender_follows_its_own_numbers_and_not_the_receiver_s(tmp_path: Path) -> None:
    """After 100 us HPCC keeps lines half as busy as before: what is left, two thirds, takes twice as long."""
    before = finish_ps(tmp_path)
    changed = [finish_ps(tmp_path, {"at": "100us", "npu": npu, "control": {"eta": 0.45}}) for npu in (0, 1)]
    assert changed[1] == before
    left_ps = before - 100_000_000
    assert changed[0] == pytest.approx(before + left_ps, rel=0.05)
