"""Slowdowns beside events: what flows take, over what they would take alone without these events."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.small_run import SYSTEM

import astra_ns3

NETWORK = {
    "topology": {
        "kind": "leaf-spine",
        "leaves": 2,
        "spines": 2,
        "hosts_per_leaf": 2,
        "link": {"rate": "400Gbps", "delay": "500ns"},
        "uplink": {"rate": "100Gbps"},
        "switch": {"buffer": "32MB", "pfc": {}},
    },
    "transport": {"kind": "roce", "payload": 4096, "congestion_control": "none", "queue_pairs": "per-message"},
}


def uplink(leaf: int, spine: int, at_us: int, **state: Any) -> dict[str, Any]:
    return {"at": f"{at_us}us", "link": [f"leaf {leaf}", f"spine {spine}"], **state}


def played(folder: Path, flows: list[str], events: list[dict[str, Any]], **options: Any) -> astra_ns3.Result:
    """The flows of a job that starts at 100 us on NPUs in an order of its own."""
    (folder / "f.csv").write_text("\n".join(["source,destination,bytes,start,after", *flows, ""]), encoding="utf-8")
    (folder / "s.yaml").write_text(SYSTEM, encoding="utf-8")
    (folder / "n.json").write_text(json.dumps(NETWORK), encoding="utf-8")
    job = {"name": "a", "workload": "f.csv", "system": "s.yaml", "npus": [3, 2, 1, 0], "start": "100us"}
    (folder / "x.json").write_text(json.dumps({"network": "n.json", "jobs": [job], "events": events}), encoding="utf-8")
    return astra_ns3.run_scenario(scenario=folder / "x.json", record=["flows"], **options).tenants["a"]


@pytest.mark.parametrize("backend", ["ns3", "flow"])
def test_times_alone_are_those_without_events_for_flows_in_any_order(backend: str, tmp_path: Path) -> None:
    draw = np.random.default_rng(7)
    columns = (draw.integers(least, most, 60) for least, most in ((0, 4), (1, 4), (1, 200_000), (0, 700_000)))
    flows = [
        f"{source},{(source + step) % 4},{size},{start}ns,{place - 9 if place % 5 == 4 and place > 9 else ''}"
        for place, (source, step, size, start) in enumerate(zip(*columns, strict=True))
    ]
    events = [
        uplink(0, 0, 0, rate="25Gbps"),
        uplink(1, 1, 220, rate="400Gbps", **{"for": "200us"}),
        uplink(0, 1, 300, up=False, **{"for": "100us"}),
        uplink(1, 0, 350, delay="7us"),
        {"at": "500us", "nic": 3, "rate": "50Gbps", "for": "50us", "every": "100us", "times": 3},
    ]
    alone = []
    for name, own in (("with", events), ("without", [])):
        (folder := tmp_path / name).mkdir()
        alone.append(played(folder, flows, own, backend=backend).completions.sort_values("flow")["ideal_ps"].tolist())
    assert alone[0] == alone[1]


@pytest.mark.parametrize("backend", ["ns3", "flow"])
@pytest.mark.parametrize("rate_gbps", [25, 400])
def test_a_lone_flow_is_as_many_times_slower_as_an_event_slows_its_line(
    rate_gbps: int, backend: str, tmp_path: Path
) -> None:
    """All uplinks have this rate for 100 Gb/s; the way takes 2 us of some 330."""
    events = [uplink(leaf, spine, 120, rate=f"{rate_gbps}Gbps") for leaf in range(2) for spine in range(2)]
    totals = played(tmp_path, ["0,2,4MB,50us,"], events, backend=backend).metadata["flows"]["all"]
    assert totals is not None
    assert totals["slowdowns"] is not None
    assert totals["slowdowns"]["max"] == pytest.approx(100 / rate_gbps, rel=0.03)
