"""Forecasts say what they don't count, and what may not come."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from support.small_run import write_inputs

from astra_ns3.experiments.scenario_request import ScenarioRequest
from astra_ns3.experiments.scenario_view import view_scenario
from astra_ns3.report.scenario_text import scenario_validation_text

TRAFFIC = {"name": "web", "kind": "poisson", "sizes": "64KB", "rate": "1Gbps", "seed": 1}
OPEN = "flows of 'web', which go on until jobs end"


def rows(folder: Path, job: dict[str, Any], *traffic: dict[str, Any]) -> dict[str, str]:
    """The last rows of the text, by name."""
    files = write_inputs(folder)
    own = {"name": "a", "workload": files["workload"], "system": files["system"], "npus": [0, 1], **job}
    other = {**own, "name": "b", "npus": [2, 3], "passes": 1}
    for key in ("restart", "end"):
        other.pop(key, None)
    document = {"network": files["network"], "jobs": [own, other], "traffic": list(traffic)}
    (folder / "scenario.yaml").write_text(yaml.safe_dump(document), encoding="utf-8")
    view = view_scenario(ScenarioRequest(scenario=folder / "scenario.yaml"))
    lines = scenario_validation_text(view.scenario, view.forecast.document()).splitlines()
    return {line[:18].strip(): line[18:] for line in lines if not line.startswith(" ")}


@pytest.mark.parametrize(
    ("job", "traffic", "bound", "more", "fewer"),
    [
        ({}, [], "", None, None),
        ({}, [TRAFFIC], "at least ", OPEN, None),
        ({}, [{**TRAFFIC, "flows": 100}], "at most ", None, "flows of 'web' that start after the last job's end"),
        ({"passes": "forever"}, [], "at least ", "passes of 'a' after the first", None),
        ({"passes": 9, "end": "1us"}, [], "at most ", None, "what 'a' hasn't done at its end"),
        ({"passes": 9, "end": "1us"}, [TRAFFIC], "more or less than ", OPEN, "what 'a' hasn't done at its end"),
        (
            {"restart": {"after": "1us", "at-most": 2}},
            [],
            "at least ",
            "tries of 'a' after its transport gives up",
            None,
        ),
    ],
)
def test_a_number_that_may_be_another_is_none_without_a_bound(
    tmp_path: Path, job: dict[str, Any], traffic: list[dict[str, Any]], bound: str, more: str | None, fewer: str | None
) -> None:
    found = rows(tmp_path, job, *traffic)
    for name in ("messages", "packets", "estimated time", "estimated memory"):
        assert found[name].startswith(bound) if bound else found[name][0].isdigit(), name
    assert (found.get("not counted"), found.get("may not come")) == (more, fewer)
