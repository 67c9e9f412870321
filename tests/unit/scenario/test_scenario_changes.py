"""Other values of keys of a scenario's file, as ``--set`` and studies give them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.small_run import SYSTEM, WORKLOAD
from support.studies import expanded

from astra_ns3.config.scenario.file import ScenarioFile
from astra_ns3.errors import InputError
from astra_ns3.experiments.scenario_request import ScenarioRequest

NETWORK = {
    "topology": {"kind": "single-switch", "npus": 4, "link": {"rate": "100Gbps", "delay": "1us"}},
    "transport": {"kind": "roce"},
}


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    folder = tmp_path / "scenarios"
    folder.mkdir()
    network = {**NETWORK, "topology": {**NETWORK["topology"], "switch": {"buffer": "1MB"}}}  # type: ignore[dict-item]
    (folder / "network.yaml").write_text(json.dumps(network), encoding="utf-8")
    (folder / "workload.txt").write_text(WORKLOAD, encoding="utf-8")
    (folder / "system.txt").write_text(SYSTEM, encoding="utf-8")
    job = {"workload": "workload.txt", "system": "system.txt"}
    jobs = [{"name": "a", **job, "npus": [0, 1]}, {"name": "b", **job, "npus": [2, 3]}]
    events = [{"at": "1us", "nic": 0, "up": False, "for": "1us"}]
    path = folder / "scenario.yaml"
    path.write_text(json.dumps({"network": "network.yaml", "jobs": jobs, "events": events}), encoding="utf-8")
    return path


def changed(path: Path, **changes: Any) -> ScenarioRequest:
    return ScenarioRequest(scenario=path, changes={key.replace("__", "."): value for key, value in changes.items()})


def file_of(request: ScenarioRequest) -> ScenarioFile:
    assert isinstance(request.scenario, ScenarioFile)
    return request.scenario


def test_keys_of_jobs_and_events_change_and_all_else_stays(scenario: Path) -> None:
    before = scenario.read_text(encoding="utf-8")
    found = changed(
        scenario,
        scenario__jobs__b__start="5us",
        scenario__jobs__0__priority=6,
        scenario__events__0__at="7us",
        network__transport__payload=2000,
    )
    assert [tenant.start_ps for tenant in found.tenants] == [0, 5_000_000]
    assert [tenant.priority for tenant in found.tenants] == [6, None]
    assert [event.config.at_ps for event in found.course.given] == [7_000_000]
    assert found.changes == {"network.transport.payload": 2000}
    assert scenario.read_text(encoding="utf-8") == before


def test_keys_that_only_a_scenario_has_need_no_prefix(scenario: Path) -> None:
    found = changed(scenario, jobs__b__start="5us", events=[], network__transport__payload=2000)
    assert ([tenant.start_ps for tenant in found.tenants], found.course.given) == ([0, 5_000_000], ())
    assert found.changes == {"network.transport.payload": 2000}
    with pytest.raises(InputError, match=r"'scenario\.jobs\.b\.start' are one key; give it once"):
        changed(scenario, scenario__jobs__b__start="6us", jobs__b__start="5us")


def test_a_file_that_a_change_names_is_looked_for_from_the_working_folder(
    scenario: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "other.txt").write_text(WORKLOAD, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    first, second = changed(Path("scenarios/scenario.yaml"), scenario__jobs__b__workload="other.txt").tenants
    assert Path(str(first.workload)) == Path("scenarios/workload.txt")
    assert Path(str(second.workload)) == tmp_path / "other.txt"


def test_a_study_makes_the_same_changes(scenario: Path) -> None:
    values = {"scenario.jobs.b.start": "5us", "scenario.jobs.a.set": {"system.preferred-dataset-splits": 3}}
    base = {"scenario": str(scenario), "backend": "flow", **values}
    (point,) = expanded({"base": base, "parts": {"all": {}}}).points
    assert isinstance(point.request, ScenarioRequest)
    by_set = ScenarioRequest(scenario=scenario, changes=values)
    assert file_of(point.request).config == file_of(by_set).config


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("scenario.jobs.c.start", "1us", "has no entry 'c', expected 0 to 1, *, or a name: a, b"),
        ("scenario.jobs.b.strat", "1us", "did you mean 'jobs.1.start'"),
        ("scenario.jobs.b.npus", [0], "NPU 0 is of job 'a', expected a free one"),
    ],
)
def test_what_cannot_be_changed_is_one_line(scenario: Path, key: str, value: Any, words: str) -> None:
    with pytest.raises(InputError) as found:
        ScenarioRequest(scenario=scenario, changes={key: value})
    assert words in str(found.value)
    assert str(found.value).startswith(str(scenario))
    assert "\n" not in str(found.value)
