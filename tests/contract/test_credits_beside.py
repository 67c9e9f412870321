"""Links by credit beside parts of a scenario that need the same lanes or the same buffer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.small_run import small_system

import astra_ns3
from astra_ns3.config.network.packet_network import parse_network
from astra_ns3.errors import InputError

INPUTS = Path(__file__).resolve().parents[2] / "inputs"
JOB: dict[str, Any] = {
    "name": "a",
    "workload": str(INPUTS / "workload" / "micro-all-to-all.txt"),
    "system": str(INPUTS / "system" / "flat.txt"),
    "npus": [0, 1, 2, 3],
    "dimensions": [4],
}


@pytest.mark.parametrize(
    ("job", "events", "words"),
    [
        ({"priority": 5}, [], "job 'a': priority 5 stands beside switch.credits, whose lanes are priorities"),
        ({}, [{"at": "1us", "switch": 0, "buffer": "1MB"}], "the buffer of .* stays, for which it has given credit"),
    ],
)
def test_what_credits_stand_against_is_refused_before_the_run(
    tmp_path: Path, job: dict[str, Any], events: list[dict[str, Any]], words: str
) -> None:
    network = INPUTS / "network" / "infiniband-torus-4x4.yaml"
    scenario = {"network": str(network), "jobs": [{**JOB, **job}], "events": events}
    (tmp_path / "scenario.yaml").write_text(json.dumps(scenario), encoding="utf-8")
    with pytest.raises(InputError, match=words):
        astra_ns3.run_scenario(scenario=tmp_path / "scenario.yaml")


def test_credit_comes_back_as_late_on_two_cores_as_on_one(tmp_path: Path) -> None:
    """With a buffer of 3 frames and credit that comes back 5 us late, the credit decides the rate."""
    flows = "".join(f"{npu},{(npu + 4) % 8},200000,0ns\n" for npu in range(8))
    (tmp_path / "flows.csv").write_text(f"source,destination,bytes,start\n{flows}", encoding="utf-8")
    ends = {}
    for update, cores in (("0ns", 1), ("5us", 1), ("5us", 2)):
        switch = {"buffer": "64MB", "credits": {"bytes": "13KB", "update": update}}
        link = {"rate": "100Gbps", "delay": "500ns"}
        network = parse_network(
            {
                "topology": {"kind": "leaf-spine", "leaves": 2, "spines": 2, "hosts_per_leaf": 4, "link": link}
                | {"switch": switch},
                "transport": {"kind": "roce", "payload": 4096, "congestion_control": "none"},
            }
        )
        ends[update, cores] = astra_ns3.run(
            workload=tmp_path / "flows.csv", system=small_system(), network=network, cores=cores
        ).finish_ps
    assert ends["5us", 2] == ends["5us", 1] > 2 * ends["0ns", 1]
