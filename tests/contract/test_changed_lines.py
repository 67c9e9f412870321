"""Congestion controls of queue pairs whose line changes: what they reach is what the line has, then and later."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from contract.test_scenario_files import Files
from support.small_run import small_system

import astra_ns3
from astra_ns3.config.flow_list import FlowList
from astra_ns3.config.network.packet_network import parse_network

US = 10**6
BYTES = 20_000_000
CONTROLS: Sequence[dict[str, Any]] = (
    {"kind": "none"},
    {"kind": "static-window"},
    {"kind": "dcqcn"},
    {"kind": "timely"},
    {"kind": "dctcp"},
    {"kind": "dctcp", "parameters": "hpcc"},
    {"kind": "hpcc"},
    {"kind": "hpcc", "multiple_rates": True},
    {"kind": "hpcc-pint"},
    {"kind": "swift"},
)
each_control = pytest.mark.parametrize("control", CONTROLS, ids=lambda keys: "-".join(map(str, keys.values())))


def star(npus: int, **transport: Any) -> dict[str, Any]:
    link = {"rate": "100Gbps", "delay": "1us"}
    topology = {"kind": "single-switch", "npus": npus, "link": link, "switch": {"buffer": "32MB", "pfc": {}}}
    return {"topology": topology, "transport": {"kind": "roce", "payload": 4096, **transport}}


def message_ps(files: Files, control: Mapping[str, Any], *events: Mapping[str, Any]) -> int:
    """The time of one message between two hosts."""
    flows = files.write("flow.csv", f"source,destination,bytes,start\n0,1,{BYTES},0ns\n")
    files.write("network.yaml", json.dumps(star(2, congestion_control=control)))
    document = {"network": "network.yaml", "jobs": [files.job("one", flows)], "events": events}
    scenario = files.write("scenario.yaml", json.dumps(document))
    return astra_ns3.run_scenario(scenario=files.folder / scenario).finish_ps


@each_control
@pytest.mark.parametrize("rate", ["50%", "10%"])
def test_a_queue_pair_that_opens_on_a_slow_line_has_all_of_it_later(
    tmp_path: Any, control: dict[str, Any], rate: str
) -> None:
    """300 us with a share of the line lose the rest of them (HPCC uses 95%); a control loses below 8% besides."""
    files = Files(tmp_path)
    whole_ps = message_ps(files, control)
    lost_ps = 300 * US * (100 - int(rate.removesuffix("%"))) // 100
    slow_ps = message_ps(files, control, {"at": 0, "nic": 0, "rate": rate, "for": "300us"})
    assert 0.9 * lost_ps <= slow_ps - whole_ps <= lost_ps + 0.08 * whole_ps


@each_control
def test_a_queue_pair_uses_a_line_that_gets_faster(tmp_path: Any, control: dict[str, Any]) -> None:
    """200 us at 100 Gb/s, the rest at 200 Gb/s: so half of the time that was left is saved, but for 8%."""
    files = Files(tmp_path)
    faster = [{"at": "200us", "nic": nic, "rate": "200Gbps"} for nic in (0, 1)]
    whole_ps = message_ps(files, control)
    expected_ps = 200 * US + (whole_ps - 200 * US) / 2
    assert message_ps(files, control, *faster) == pytest.approx(expected_ps, rel=0.08)


@pytest.mark.parametrize(("control", "rate"), [("dcqcn", "20%"), ("timely", "5%"), ("hpcc", "20%")])
@pytest.mark.parametrize("at", ["2ms", "3ms"])
def test_a_moment_on_a_slow_line_leaves_what_a_control_has_learnt(
    tmp_path: Any, control: str, rate: str, at: str
) -> None:
    """Four share a line, each with a quarter of it, which is more than the slow line has: they go on with a quarter.

    By chance DCQCN's times are up to 1% apart.
    """
    files = Files(tmp_path)
    rows = "".join(f"{sender},0,20MB,0ns\n" for sender in range(1, 5))
    flows = files.write("flows.csv", f"source,destination,bytes,start\n{rows}")
    files.write("network.yaml", json.dumps(star(5, congestion_control=control)))

    def played(*events: Mapping[str, Any]) -> tuple[int, int, int]:
        document = {"network": "network.yaml", "jobs": [files.job("one", flows)], "events": events}
        result = astra_ns3.run_scenario(scenario=files.folder / files.write("scenario.yaml", json.dumps(document)))
        counts = result.metadata["statistics"]
        return result.finish_ps, int(counts["marked_frames"]), int(counts["pauses"])

    finish_ps, marks, pauses = played()
    slow_ps, more_marks, more_pauses = played(
        *({"at": at, "nic": nic, "rate": rate, "for": "20us"} for nic in range(1, 5))
    )
    assert slow_ps <= 1.03 * finish_ps
    assert more_marks <= 1.2 * marks + 20
    assert more_pauses <= 1.2 * pauses + 20


@pytest.mark.parametrize("reliability", ["go-back-n", "selective-repeat"])
@pytest.mark.parametrize(
    ("kind", "senders", "payload", "every"),
    [("hpcc", 15, 4096, 2), ("hpcc-pint", 15, 1000, 8), ("swift", 8, 4096, 8), ("dctcp", 15, 4096, 4)],
)
def test_a_window_that_shrinks_below_what_is_in_flight_waits_for_no_timeout(
    kind: str, senders: int, payload: int, every: int, reliability: str
) -> None:
    """The receiver would wait for more packets, and the sender for an acknowledgement, until the timer ends both."""

    def played(ack_every: int) -> Any:
        keys = {"congestion_control": kind, "payload": payload, "ack_every": ack_every, "reliability": reliability}
        sources = list(range(1, senders + 1))
        flows = FlowList.of(sources, [0] * senders, [2_000_000] * senders, [0] * senders)
        return astra_ns3.run(workload=flows, system=small_system(), network=parse_network(star(16, **keys)))

    usual, rare = played(1), played(every)
    assert rare.metadata["statistics"]["timeouts"] == 0
    assert rare.metadata["statistics"]["retransmissions"] == 0
    assert rare.finish_ps == pytest.approx(usual.finish_ps, rel=0.25)
