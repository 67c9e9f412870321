"""Slowdowns beside events: what flows take, over what they would take alone without these events."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.small_run import SYSTEM

import astra_ns3
from astra_ns3.report.explanation.explain import explain

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


US, MB, ENDPOINT_PS = 1_000_000, 1_000_000, 10_000
FRAME_PS = 4178 * 80
"""Of 4096 bytes with headers at 100 Gb/s."""
LINE_PS = (976 * 4178 + 2386) * 80
"""Of 4 MB."""
ALONE_PS = LINE_PS + FRAME_PS + 2 * 4178 * 20 + 2 * US
"""Over two lines of 100 Gb/s, the first and the last frame over lines of 400 Gb/s, and 2 us on the way."""


def uplink(leaf: int, spine: int, at_us: int, **state: Any) -> dict[str, Any]:
    return {"at": f"{at_us}us", "link": [f"leaf {leaf}", f"spine {spine}"], **state}


def played(folder: Path, flows: list[str], events: list[dict[str, Any]], **options: Any) -> astra_ns3.Result:
    """The flows of a job that starts at 100 us on NPUs in an order of its own."""
    (folder / "f.csv").write_text("\n".join(["source,destination,bytes,start,after", *flows, ""]), encoding="utf-8")
    (folder / "s.yaml").write_text(SYSTEM, encoding="utf-8")
    (folder / "n.json").write_text(json.dumps(NETWORK), encoding="utf-8")
    job = {"name": "a", "workload": "f.csv", "system": "s.yaml", "npus": [3, 2, 1, 0], "start": "100us"}
    (folder / "x.json").write_text(json.dumps({"network": "n.json", "jobs": [job], "events": events}), encoding="utf-8")
    record = ["flows", "accounts"]
    return astra_ns3.run_scenario(scenario=folder / "x.json", record=record, **options).tenants["a"]


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
        result = played(folder, flows, own, backend=backend)
        tables = (
            result.completions.sort_values("flow"),
            *(each.sort_values("collective") for each in (result.flows, result.accounts)),
        )
        alone.append([table["ideal_ps"].tolist() for table in tables])
        assert alone[-1][0] == [ps + 2 * ENDPOINT_PS for ps in alone[-1][1]]
        assert alone[-1][1] == alone[-1][2]
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


def uplinks(at_us: int, **state: Any) -> list[dict[str, Any]]:
    """All of them."""
    return [uplink(leaf, spine, at_us, **state) for leaf in range(2) for spine in range(2)]


@pytest.mark.parametrize("backend", ["ns3", "flow"])
@pytest.mark.parametrize(
    ("events", "lost_ps", "slowed_ps"),
    [
        ([], 0, 0),
        (uplinks(0, rate="25Gbps"), 3 * (LINE_PS + FRAME_PS), 3 * LINE_PS),
        (uplinks(200, rate="25Gbps", **{"for": "100us"}), 75 * US, 75 * US),
        ([{"at": "120us", "nic": 3, "rate": "50Gbps"}], LINE_PS, LINE_PS),
        ([{"at": "120us", "nic": 1, "rate": "40Gbps"}], 1.5 * LINE_PS, 1.5 * LINE_PS),
        (uplinks(0, delay="5500ns"), 10 * US, 0),
        (uplinks(160, rate="400Gbps"), 0, 0),
        (uplinks(200, up=False, **{"for": "300us"}), None, 0),
    ],
)
def test_a_lone_message_loses_what_it_takes_longer_than_without_events(
    events: list[dict[str, Any]], lost_ps: float | None, slowed_ps: float, backend: str, tmp_path: Path
) -> None:
    """4 MB that start at 150 us; ``lost_ps``: by hand, None: as timers have it; ``slowed_ps``: of it by rates."""
    result = played(tmp_path, ["0,2,4MB,50us,"], events, backend=backend)
    (message,) = explain(result).slowest
    assert message.excess_ps is not None
    assert message.excess_ps == max(message.time_ps - result.flows["ideal_ps"][0], 0)
    assert result.flows["ideal_ps"][0] == pytest.approx(ALONE_PS, abs=FRAME_PS)
    if lost_ps is None:
        assert message.excess_ps > 299 * US
    else:
        assert message.excess_ps == pytest.approx(lost_ps, abs=3 * FRAME_PS)
    assert message.parts.get("slowed_ps", 0) == pytest.approx(slowed_ps, abs=4 * FRAME_PS)
    assert min(message.parts.values()) >= 0
    assert sum(message.parts.values()) == message.time_ps
    totals = result.metadata["flows"]["all"]
    assert totals is not None
    assert totals["slowdowns"] is not None
    took = message.time_ps + 2 * ENDPOINT_PS
    assert totals["slowdowns"]["max"] == pytest.approx(took / (ALONE_PS + 2 * ENDPOINT_PS), rel=0.002)
