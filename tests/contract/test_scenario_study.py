"""Studies whose points are scenarios: keys of jobs, addresses, measures of jobs, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from support.small_run import SYSTEM, WORKLOAD
from support.studies import INPUTS, expanded

import astra_ns3
from astra_ns3.config.scenario.placement import Placement
from astra_ns3.errors import InputError
from astra_ns3.experiments.scenario_request import ScenarioRequest
from astra_ns3.studies.address import Addresses
from astra_ns3.studies.checking import check_points, forecasts
from astra_ns3.studies.expansion import Expansion, expand
from astra_ns3.studies.file import read_study
from astra_ns3.studies.measures import measures_of

LINE = {"rate": "100Gbps", "delay": "500ns"}
NETWORK = {
    "topology": {"kind": "leaf-spine", "leaves": 2, "spines": 1, "hosts_per_leaf": 2, "link": LINE, "uplink": LINE},
    "transport": {"kind": "roce"},
}


@pytest.fixture
def base(tmp_path: Path) -> dict[str, Any]:
    """The base of a study on a scenario of two jobs, each from one leaf to the other."""
    switch = {"buffer": "32MB", "pfc": {}}
    network = {**NETWORK, "topology": {**NETWORK["topology"], "switch": switch}}  # type: ignore[dict-item]
    job = {"workload": "workload.txt", "system": "system.txt"}
    jobs = [{"name": "first", **job, "npus": [0, 2]}, {"name": "second", **job, "npus": [1, 3], "passes": 2}]
    (tmp_path / "network.yaml").write_text(json.dumps(network), encoding="utf-8")
    (tmp_path / "workload.txt").write_text(WORKLOAD, encoding="utf-8")
    (tmp_path / "system.txt").write_text(SYSTEM, encoding="utf-8")
    (tmp_path / "scenario.yaml").write_text(json.dumps({"network": "network.yaml", "jobs": jobs}), encoding="utf-8")
    return {"scenario": str(tmp_path / "scenario.yaml"), "backend": "flow"}


def points_of(base: dict[str, Any], **axes: Any) -> Expansion:
    return expanded({"base": base, "parts": {"all": {"axes": axes}}})


def requests_of(base: dict[str, Any], **axes: Any) -> list[ScenarioRequest]:
    found = [point.request for point in points_of(base, **axes).points]
    assert all(isinstance(request, ScenarioRequest) for request in found)
    return [request for request in found if isinstance(request, ScenarioRequest)]


def test_points_change_keys_of_jobs_by_name_and_number(base: dict[str, Any]) -> None:
    found = requests_of(
        base,
        **{
            "scenario.jobs.second.start": ["0ns", {"after": "first"}],
            "scenario.jobs.0.npus": [[0, 2], [2, 0]],
            "scenario.jobs.first.set": [{}, {"workload.layers.0.weight_gradient.bytes": 9}],
        },
    )
    jobs = [{tenant.name: tenant for tenant in request.tenants} for request in found]
    assert [each["second"].after is None for each in jobs] == [True] * 4 + [False] * 4
    assert [each["first"].npus for each in jobs] == [(0, 2), (0, 2), (2, 0), (2, 0)] * 2
    sizes = [each["first"].workload.layers[0].weight_gradient.bytes for each in jobs]  # type: ignore[union-attr]
    assert len(set(sizes)) == 2
    assert sizes[1::2] == [9] * 4


def test_addresses_tell_apart_what_decides_a_run_and_nothing_else(base: dict[str, Any], tmp_path: Path) -> None:
    def addresses(**axes: Any) -> list[str]:
        return [point.address for point in points_of(base, **axes).points]

    changed = addresses(
        change={
            "none": {},
            "same": {"scenario.jobs.first.start": 0},
            "npus": {"scenario.jobs.first.npus": [2, 0]},
            "passes": {"scenario.jobs.first.passes": "forever"},
            "system": {"scenario.jobs.first.set": {"system.preferred-dataset-splits": 7}},
            "network": {"network.transport.payload": 2000},
            "event": {"scenario.events": [{"at": "1us", "nic": 0, "rate": "50%"}]},
        }
    )
    assert changed[0] == changed[1]
    assert len(set(changed[1:])) == len(changed) - 1
    (before,) = addresses()
    (tmp_path / "system.txt").write_text(SYSTEM + "\n", encoding="utf-8")
    assert addresses() == [before]
    (tmp_path / "system.txt").write_text(SYSTEM.replace("endpoint-delay: 10", "endpoint-delay: 20"), encoding="utf-8")
    assert addresses() != [before]


def test_a_study_plays_scenarios_and_measures_their_jobs(base: dict[str, Any], tmp_path: Path) -> None:
    axes = {"scenario.jobs.second.start": ["0ns", {"after": "first"}]}
    study = {"base": base, "parts": {"all": {"axes": axes}}}
    played = astra_ns3.study(study, tmp_path / "out", jobs=1)
    together, after = played.frame.to_dict("records")
    both = astra_ns3.run_scenario(scenario=base["scenario"], backend="flow")
    times = [job.finish_ps / 10**6 for job in both.tenants.values()]
    assert [together["job_1_us"], together["job_2_us"]] == pytest.approx(times)
    for number, job in enumerate(both.tenants.values(), start=1):
        spent = [together[f"job_{number}_{name}_us"] for name in ("compute", "exposed")]
        assert spent == pytest.approx([job.metadata["compute_ps"] / 1e6, job.metadata["exposed_ps"] / 1e6])
        assert sum(spent) == pytest.approx(together[f"job_{number}_us"])
    assert after["finish_us"] == pytest.approx(after["job_1_us"] + after["job_2_us"])
    assert after["job_1_us"] < together["job_1_us"]
    assert played.result(0).finish_ps == both.finish_ps
    again = astra_ns3.study(study, tmp_path / "out", jobs=1)
    assert (again.played, len(again.frame)) == (0, 2)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"passes": 2}, "key 'passes' is of one job; expected scenario.jobs.NAME.KEY beside a scenario"),
        ({"workload.loop": "DATA"}, "key 'workload.loop' is of one job"),
        ({"scenario.jobs.third.passes": 2}, "has no entry 'third', expected 0 to 1, *, or a name: first, second"),
        ({"scenario.jobs.second.npus": [0]}, "NPU 0 is of job 'first', expected a free one"),
        ({"scenario.jobs.second.start": {"after": "third"}}, "starts after 'third', which is no job"),
        ({"scenario": "missing.yaml"}, "missing.yaml: no such file"),
    ],
)
def test_what_can_t_be_is_refused_in_a_line(base: dict[str, Any], changes: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError) as raised:
        points_of({**base, **changes})
    assert words in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.slow
def test_the_study_of_interference_can_be_played() -> None:
    found = expand(read_study(INPUTS / "studies" / "interference.yaml"))
    assert (len(found.points), len(found.tasks(""))) == (54, 54)
    check_points(found.points)
    assert sum(each.seconds for each in forecasts(found.points).values()) < 300


@pytest.mark.slow
def test_the_study_of_failures_can_be_played() -> None:
    found = expand(read_study(INPUTS / "studies" / "failures.yaml"))
    assert (len(found.points), len(found.tasks(""))) == (72, 72)
    check_points(found.points)
    assert sum(each.seconds for each in forecasts(found.points).values()) < 300


def test_traffic_stands_beside_a_job_and_its_numbers_are_part_of_the_address(base: dict[str, Any]) -> None:
    scenario = Path(base["scenario"])
    entry = {"name": "web", "kind": "poisson", "sizes": "10KB", "load": 0.1}
    text = json.loads(scenario.read_text(encoding="utf-8"))
    scenario.write_text(json.dumps({**text, "traffic": [entry]}), encoding="utf-8")
    requests = requests_of(base, **{"scenario.traffic.web.load": [0.1, 0.2]})
    assert [[tenant.name for tenant in request.tenants] for request in requests] == [["first", "second", "web"]] * 2
    assert len({Addresses().of(request)[0] for request in requests}) == 2
    scenario.write_text(json.dumps({"network": "network.yaml"}), encoding="utf-8")
    with pytest.raises(InputError, match=r"scenario\.yaml: has no job, no arrivals and no traffic, expected some"):
        requests_of(base)


def test_points_change_keys_of_arrivals_and_have_measures_of_waits(base: dict[str, Any], tmp_path: Path) -> None:
    rows = "time,npus,workload,passes\n0,3,workload.txt,1\n1us,2,workload.txt,{passes}\n"
    for passes in (1, 2):
        (tmp_path / f"table-{passes}.csv").write_text(rows.format(passes=passes), encoding="utf-8")
    (tmp_path / "again.csv").write_text(rows.format(passes=1), encoding="utf-8")
    document = {"network": "network.yaml", "arrivals": {"file": "table-1.csv", "system": "system.txt"}}
    (tmp_path / "scenario.yaml").write_text(json.dumps(document), encoding="utf-8")
    axes: dict[str, Any] = {
        "scenario.arrivals.file": [str(tmp_path / name) for name in ("table-1.csv", "again.csv", "table-2.csv")],
        "scenario.arrivals.placement": ["packed", "spread"],
    }
    found = requests_of(base, **axes)
    assert [request.tenants[1].passes for request in found] == [1, 1, 1, 1, 2, 2]  # type: ignore[index]
    rules = [tenant.npus for request in found for tenant in request.tenants]
    assert [rule.place for rule in rules[::2] if isinstance(rule, Placement)] == ["packed", "spread"] * 3
    addresses = [point.address for point in points_of(base, **axes).points]
    assert addresses[:2] == addresses[2:4]
    assert len({*addresses}) == 4
    result = astra_ns3.run_scenario(**{**base, "scenario": str(tmp_path / "scenario.yaml")})
    first, second = result.metadata["jobs"]
    assert first["start_ps"] == 0
    wait_us = (second["start_ps"] - 1_000_000) / 1e6  # type: ignore[operator]
    measures = measures_of(result)
    used = 3 * first["finish_ps"] + 2 * second["finish_ps"]
    expected = [wait_us / 2, wait_us, 100 * used / (4 * result.finish_ps)]
    names = ("mean_wait_us", "longest_wait_us", "npu_time_used_percent")
    assert [measures[name] for name in names] == pytest.approx(expected, abs=1e-5)


def test_a_study_may_give_arrivals_to_a_scenario_and_paths_begin_at_its_folder(
    base: dict[str, Any], tmp_path: Path
) -> None:
    text = "time,npus,workload,passes\n0,1,workload.txt,1\n"
    (tmp_path / "table.csv").write_text(text, encoding="utf-8")
    arrivals = {"file": str(tmp_path / "table.csv"), "system": str(tmp_path / "system.txt")}
    scenario = json.loads((tmp_path / "scenario.yaml").read_text("utf-8"))
    scenario["jobs"].pop()
    (tmp_path / "scenario.yaml").write_text(json.dumps(scenario), encoding="utf-8")
    plain, arrived = requests_of(base, **{"scenario.arrivals": [None, arrivals]})
    assert [tenant.name for tenant in plain.tenants] == ["first"]
    assert [tenant.name for tenant in arrived.tenants] == ["first", "arrival-1"]


def test_a_study_of_traffic_alone_measures_slowdowns_by_size(base: dict[str, Any], tmp_path: Path) -> None:
    entry = {"kind": "poisson", "sizes": "hadoop", "flows": 300, "load": 0.5}
    traffic = [{"name": "web", **entry}, {"name": "more", **entry, "load": 0.1}]
    Path(base["scenario"]).write_text(json.dumps({"network": "network.yaml", "traffic": traffic}), encoding="utf-8")
    figure = {"kind": "bars", "x": "load", "y": "slowdown_long_p999"}
    part: dict[str, Any] = {"axes": {"scenario.traffic.web.load": [0.1, 0.5]}, "figures": {"long": figure}}
    study: dict[str, Any] = {"base": base, "parts": {"all": part}}
    played = astra_ns3.study(study, tmp_path / "out", jobs=1)
    _, row = played.frame.to_dict("records")
    run = astra_ns3.run_scenario(scenario=base["scenario"], backend="flow", record=["flows"])
    table = pd.concat([tenant.completions for tenant in run.tenants.values()])
    slowdown = ((table["end_ps"] - table["start_ps"]) / table["ideal_ps"]).to_numpy()
    sizes = table["bytes"].to_numpy()
    small, large = np.sort(sizes)[[199, 399]]
    thirds = {"short": sizes <= small, "middle": (sizes > small) & (sizes <= large), "long": sizes > large}
    for name, inside in {"": sizes > 0, **{f"{third}_": some for third, some in thirds.items()}}.items():
        wanted = np.percentile(slowdown[inside], [50, 95, 99, 99.9], method="inverted_cdf")
        assert [row[f"slowdown_{name}{share}"] for share in ("p50", "p95", "p99", "p999")] == pytest.approx(wanted)
    assert len(slowdown) == 600


def test_the_study_of_slowdowns_can_be_played() -> None:
    found = expand(read_study(INPUTS / "studies" / "slowdown.yaml"))
    assert (len(found.points), len(found.tasks(""))) == (16, 16)
    check_points(found.points[:1])
