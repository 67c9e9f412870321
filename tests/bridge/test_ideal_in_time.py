"""Times alone beside changes of the network: those of the native half, and none longer than a lone flow takes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.small_run import SYSTEM

import astra_ns3

US, MB = 1_000_000, 1_000_000
ENDPOINT_PS = 10_000
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


def played(
    folder: Path, flows: list[str], events: list[dict[str, Any]], completion: str = "arrival", **options: Any
) -> astra_ns3.Result:
    """The flows of a job that starts at 100 us on NPUs in an order of its own."""
    network = {**NETWORK, "transport": {**NETWORK["transport"], "completion": completion}}
    (folder / "f.csv").write_text("\n".join(["source,destination,bytes,start,after", *flows, ""]), encoding="utf-8")
    (folder / "s.yaml").write_text(SYSTEM, encoding="utf-8")
    (folder / "n.json").write_text(json.dumps(network), encoding="utf-8")
    job = {"name": "a", "workload": "f.csv", "system": "s.yaml", "npus": [3, 2, 1, 0], "start": "100us"}
    (folder / "x.json").write_text(json.dumps({"network": "n.json", "jobs": [job], "events": events}), encoding="utf-8")
    return astra_ns3.run_scenario(scenario=folder / "x.json", record=["flows"], **options).tenants["a"]


@pytest.mark.parametrize(("backend", "completion"), [("ns3", "acknowledged"), ("flow", "arrival")])
def test_slowdowns_count_from_what_the_network_is_like_when_a_flow_starts(
    backend: str, completion: str, tmp_path: Path
) -> None:
    """Also of flows that start later than their file says, behind others, and where links fail and come back."""
    draw = np.random.default_rng(7)
    columns = (draw.integers(least, most, 60) for least, most in ((0, 4), (1, 4), (1, 200_000), (0, 700_000)))
    flows = [
        f"{source},{(source + step) % 4},{size},{start}ns,{place - 9 if place % 5 == 4 and place > 9 else ''}"
        for place, (source, step, size, start) in enumerate(zip(*columns, strict=True))
    ]
    events = [
        uplink(0, 0, 150, rate="25Gbps"),
        uplink(1, 1, 220, rate="400Gbps", **{"for": "200us"}),
        uplink(0, 1, 300, up=False, **{"for": "100us"}),
        uplink(1, 0, 350, delay="7us"),
        {"at": "500us", "nic": 3, "rate": "50Gbps", "for": "50us", "every": "100us", "times": 3},
    ]
    result = played(tmp_path, flows, events, completion, backend=backend)
    native, ours = result.flows.sort_values("collective"), result.completions.sort_values("flow")
    begin, native_ps = ours["start_ps"].to_numpy(), native["ideal_ps"].to_numpy()
    took, alone = ours["end_ps"].to_numpy() - begin, ours["ideal_ps"].to_numpy()
    times = np.array([150, 220, 300, 350, 400, 420, 500, 550, 600, 650, 700, 750]) * US - 100 * US  # of the job
    changed = np.array([((times > at) & (times < at + ps)).any() for at, ps in zip(begin, native_ps, strict=True)])
    same = np.minimum(native_ps + 2 * ENDPOINT_PS, took)[~changed]
    assert len(set(same.tolist())) > 40
    assert alone[~changed].tolist() == same.tolist()


def test_a_short_event_at_the_start_takes_its_part_of_the_time_alone(tmp_path: Path) -> None:
    """NPU 3, the job's rank 0, has 10 Gb/s for 40 us; two messages from the other leaf share 100 Gb/s then."""
    events = [{"at": "50us", "nic": 3, "rate": "10Gbps", "for": "90us"}]
    flows = [f"{source},0,4MB,0us," for source in (2, 3)]
    totals = played(tmp_path, flows, events).completions
    plain_ps = 4 * MB * 8 * (4178 / 4096) / 100 * 1000  # over an uplink of 100 Gb/s
    assert totals["ideal_ps"].to_numpy() == pytest.approx(plain_ps + 40 * US * 0.9, rel=0.03)


@pytest.mark.parametrize("rate_gbps", [25, 400])
def test_a_lone_flow_after_a_change_has_slowdown_1(rate_gbps: int, tmp_path: Path) -> None:
    """It takes what the slowest line needs, and the way."""
    events = [uplink(leaf, spine, 120, rate=f"{rate_gbps}Gbps") for leaf in range(2) for spine in range(2)]
    result = played(tmp_path, ["0,2,4MB,50us,"], events)
    totals = result.metadata["flows"]["all"]
    assert totals is not None
    assert totals["slowdowns"] is not None
    assert totals["slowdowns"]["max"] == 1
    assert totals["times_ps"]["max"] == pytest.approx(4 * MB * 4178 / 4096 * 8000 / rate_gbps + 2 * US, rel=0.01)


def test_a_flow_that_starts_while_nothing_leads_there_waits_as_one_of_the_network_as_it_was_built(
    tmp_path: Path,
) -> None:
    events = [{"at": "120us", "nic": 3, "up": False, "for": "100us"}]
    result = played(tmp_path, ["0,2,1MB,0,", "0,2,1MB,50us,"], events, backend="flow")
    completions = result.completions.sort_values("flow")
    first_ps, second_ps = completions["ideal_ps"].to_numpy()
    assert first_ps == second_ps
    assert (completions["end_ps"] - completions["start_ps"]).to_numpy()[1] > second_ps + 60 * US


def test_a_flow_whose_line_becomes_faster_on_the_way_takes_no_less_than_alone(tmp_path: Path) -> None:
    events = [uplink(leaf, spine, 200, rate="400Gbps") for leaf in range(2) for spine in range(2)]
    completions = played(tmp_path, ["0,2,4MB,0,"], events).completions
    took_ps = (completions["end_ps"] - completions["start_ps"]).to_numpy()
    assert completions["ideal_ps"].to_numpy() == pytest.approx(took_ps, rel=0.005)
