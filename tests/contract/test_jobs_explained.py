"""Whose messages a job's message waited behind, to the picosecond, in built cases on a line that jobs share."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from support.small_run import SYSTEM

import astra_ns3
from astra_ns3 import ScenarioResult
from astra_ns3.config.network.packet_network import parse_network

PS_PER_SECOND = 10**12
PAYLOAD, AROUND = 1000, 82
"""Bytes of a packet of RoCE, without and around its data."""
RATE_BPS, DELAY_PS, BEGIN_PS = 10**11, 500_000, 10_000
"""Of every line; and the endpoint delay of the system file."""


class Flow(NamedTuple):
    """A job of one message: its bytes, and when its host begins to send."""

    bytes: int
    start_ps: int


def ns(*flows: tuple[int, int]) -> tuple[Flow, ...]:
    return tuple(Flow(size, 1000 * start) for size, start in flows)


CASES = [
    # One packet behind one other message, and behind two: it comes while that is on its way.
    ns((1000, 1000), (20_000, 0), (20_000, 1)),
    ns((1000, 500), (20_000, 0), (20_000, 1)),
    ns((1000, 1500), (20_000, 0), (20_000, 1)),
    ns((1000, 1700), (20_000, 0), (20_000, 1)),
    ns((1000, 40), (1000, 0)),
    ns((1000, 80), (1000, 0)),
    ns((1000, 86), (1000, 0)),
    ns((1000, 87), (1000, 0)),  # the line is free again: nothing to wait behind
    ns((100, 40), (1000, 0)),
    ns((100, 10), (1000, 0), (1000, 5)),
    ns((1000, 40), (300, 0), (700, 20)),
    # Several packets, of which the last decides; others come in between.
    ns((10_000, 0), (10_000, 1)),
    ns((10_000, 1), (10_000, 0)),
    ns((10_000, 200), (30_000, 0)),
    ns((10_000, 200), (30_000, 0), (5_000, 300)),
    ns((9_300, 200), (30_100, 0), (5_500, 301)),
    ns((20_000, 0), (5_000, 1), (5_000, 2)),
    ns((20_000, 0), (5_000, 900)),
    ns((5_000, 700), (20_000, 0), (20_000, 3)),
    ns((2_000, 5_000), (40_000, 0), (40_000, 1)),
    ns((1000, 9_000), (20_000, 0), (20_000, 1)),  # all others are gone
]
"""The first job of each is explained."""


def wire_ps(payload: int) -> int:
    return max(payload + AROUND, 84) * 8 * PS_PER_SECOND // RATE_BPS


def packets(flow: Flow) -> list[int]:
    whole, rest = divmod(flow.bytes, PAYLOAD)
    return [PAYLOAD] * whole + [rest] * bool(rest)


def behind(flows: Sequence[Flow]) -> dict[int, int]:
    """What the last packet of the first flow waits behind on the shared line, by the number of the flow.

    Each host sends packet after packet; the line sends first what came first.
    """
    frames: list[tuple[int, int, int]] = []  # when it has come to the shared line, its flow, how long it takes
    for number, flow in enumerate(flows):
        time_ps = flow.start_ps + BEGIN_PS
        for payload in packets(flow):
            time_ps += wire_ps(payload)
            frames.append((time_ps + DELAY_PS, number, wire_ps(payload)))
    frames.sort()
    last = max(place for place, (_, number, _) in enumerate(frames) if number == 0)
    arrived_ps, free_ps, found = frames[last][0], 0, Counter[int]()
    for came_ps, number, takes_ps in frames[:last]:
        start_ps = max(came_ps, free_ps)
        free_ps = start_ps + takes_ps
        found[number] += max(0, free_ps - max(start_ps, arrived_ps))
    return {number: time_ps for number, time_ps in found.items() if time_ps}


def play(flows: Sequence[Flow], folder: Path) -> ScenarioResult:
    """Hosts of a leaf, one for each job, send to hosts of another over one line to the spine and one back."""
    line = {"rate": "100Gbps", "delay": "500ns"}
    topology = {"kind": "leaf-spine", "leaves": 2, "spines": 1, "hosts_per_leaf": 3, "link": line, "uplink": line}
    network = {
        "topology": {**topology, "switch": {"buffer": "32MB", "pfc": {}}},
        "transport": {"kind": "roce", "congestion_control": "none"},
    }
    (folder / "network.yaml").write_text(json.dumps(network), encoding="utf-8")
    (folder / "system.txt").write_text(SYSTEM, encoding="utf-8")
    jobs = []
    for number, flow in enumerate(flows):
        name = "abc"[number]
        (folder / f"{name}.csv").write_text(
            f"source,destination,bytes,start\n0,1,{flow.bytes},{flow.start_ps}ps\n", encoding="utf-8"
        )
        jobs.append({"name": name, "workload": f"{name}.csv", "system": "system.txt", "npus": [number, 3 + number]})
    scenario = folder / "scenario.yaml"
    scenario.write_text(json.dumps({"network": "network.yaml", "jobs": jobs}), encoding="utf-8")
    return astra_ns3.run_scenario(scenario=scenario, record=["accounts"], output=folder / "out")


@pytest.mark.parametrize("flows", CASES, ids=str)
def test_explain_names_the_other_jobs_messages_that_one_waited_behind(flows: Sequence[Flow], tmp_path: Path) -> None:
    expected = {"abc"[number]: time_ps for number, time_ps in behind(flows).items()}
    job = play(flows, tmp_path).tenants["a"]
    found = astra_ns3.explain(job)
    assert found.first_npu == job.metadata["job"]["npus"][0]
    of_others = {name: time_ps for name, time_ps in expected.items() if name != "a"}
    others = {(each.job, each.source, each.destination, each.collective): each.time_ps for each in found.others}
    assert others == {(name, 0, 1, 0): time_ps for name, time_ps in of_others.items()}
    assert {name: time_ps for name, time_ps in found.jobs if name != "a"} == of_others
    assert found.slowest[0].behind == found.others
    assert all(f"behind {name}: NPU 0 to 1" in found.text() for name in of_others)
    # Of the shared line all is told: what the packet waited there, its own message's packets too.
    served, hops = job.account_served, job.account_hops
    there = served[served["hop"] == 1]
    assert dict(zip(there["of_job"], there["served_ps"], strict=True)) == expected
    assert int(hops["queue_ps"][hops["hop"] == 1].iloc[0]) == sum(expected.values())


def test_one_packet_waits_for_the_bytes_of_the_other_job_over_the_line(tmp_path: Path) -> None:
    # Both messages of 20 packets come at once, two packets in the time of one; the packet comes behind the twelfth two.
    flows = ns((1000, 1000), (20_000, 0), (20_000, 1))
    came = 2 * (1 + 1_000_000 // wire_ps(PAYLOAD))
    found = dict(astra_ns3.explain(play(flows, tmp_path).tenants["a"]).jobs)
    assert sum(found.values()) == came * wire_ps(PAYLOAD) - 1_000_000


def test_a_run_without_a_scenario_names_no_jobs(tmp_path: Path) -> None:
    play(ns((10_000, 0), (10_000, 1)), tmp_path)
    paths: dict[str, Any] = {"system": tmp_path / "system.txt", "network": tmp_path / "network.yaml"}
    plain = astra_ns3.run(workload=tmp_path / "a.csv", record=["accounts"], **paths)
    assert astra_ns3.explain(plain).jobs == ()
    assert astra_ns3.explain(plain).first_npu is None
    assert list(plain.account_served.columns)[:2] == ["message", "hop"]


@pytest.mark.parametrize("reliability", ["go-back-n", "selective-repeat"])
def test_a_runs_own_messages_are_one_row_for_each_line_with_all_that_one_waited(
    reliability: str, tmp_path: Path
) -> None:
    """An incast of 7 whose packets are sprayed over two spines."""
    link, switch = {"rate": "100Gbps", "delay": "500ns"}, {"buffer": "32MB", "pfc": {}}
    keys = {"kind": "leaf-spine", "leaves": 2, "spines": 2, "hosts_per_leaf": 4, "link": link, "switch": switch}
    transport = {
        "kind": "roce",
        "congestion_control": "none",
        "reliability": {"kind": reliability, **({"reordering_packets": 1000} if reliability != "go-back-n" else {})},
    }
    routing = {"kind": "spray"} if reliability != "go-back-n" else {"kind": "ecmp"}
    flows = tmp_path / "incast.csv"
    rows = [f"{source},0,{size},{start}us" for source in range(1, 8) for size, start in ((90_000, 0), (30_000, 2))]
    flows.write_text("source,destination,bytes,start\n" + "\n".join(rows) + "\n", encoding="utf-8")
    system = tmp_path / "system.txt"
    system.write_text(SYSTEM, encoding="utf-8")
    network = parse_network({"topology": {**keys, "routing": routing}, "transport": transport})
    result = astra_ns3.run(workload=flows, system=system, network=network, record=["accounts"])
    served, hops = result.account_served, result.account_hops
    numbers = ["source", "destination", "collective", "chunk", "phase"]
    assert (served[numbers] == -1).all(axis=None)
    waited = hops[(hops["queue_ps"] > 0) & (hops["hop"] > 0)].set_index(["message", "hop"])["queue_ps"]
    behind = served[served["hop"] > 0].groupby(["message", "hop"])["served_ps"].sum()
    assert len(waited) > 10
    assert behind.to_dict() == waited.to_dict()
