"""The command on a plan's page asks for the same plan again."""

from __future__ import annotations

import shlex
from typing import Any

import pytest

from astra_ns3.cli.main import status_of
from astra_ns3.errors import wrong
from astra_ns3.planning.request import PlanRequest
from astra_ns3.planning.saving import command_of

HELD = {
    "parallel.sequence": True,
    "parallel.zero": 1,
    "parallel.schedule": "1f1b",
    "training.recompute": "none",
    "model.experts": None,
}
CHANGES = {
    "network.topology.link.rate": "400Gbps",
    "network.topology.shape": [4, 2],
    "network.transport": {"kind": "roce", "pfc": {}, "window": "1MB"},
    "workload.compute.efficiency": 0.123456789,
    "workload.name": "a: b's #1",
    "workload.training.datatype": "off",
    "seed": 7,
}


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"system": "my system.yaml", "samples": 64, "held": HELD, "changes": CHANGES},
        {"cpu_seconds": None, "packet_seconds": None, "packets": 0},
        {"cpu_seconds": 1_234_567.891, "packet_seconds": 0.5, "packets": 7},
    ],
)
def test_the_command_of_a_plan_parses_to_its_request(more: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    heard: list[PlanRequest] = []

    def noted(request: PlanRequest, *_: object) -> None:
        heard.append(request)
        raise wrong("no plan is made here")

    monkeypatch.setattr("astra_ns3.planning.plan.make_plan", noted)
    asked = PlanRequest("inputs/workload/models/llama-3-8b.yaml", "net's.yaml", output="out dir", **more)
    program, *words = shlex.split(command_of(asked))
    assert status_of(words) != 0
    assert (program, heard) == ("astra-ns3", [asked])
