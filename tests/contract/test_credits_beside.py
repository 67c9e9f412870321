"""Links by credit beside parts of a scenario that need the same lanes or the same buffer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import astra_ns3
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
