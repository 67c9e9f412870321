"""``--scenario`` with jobs that wait for each other: what ``show`` and ``run`` say of them, and what is refused."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.small_run import write_inputs

from astra_ns3.report.figures.figure import Spans
from astra_ns3.report.figures.style import GREY
from astra_ns3.report.scenario_figure import scenario_figure

Command = Callable[..., Any]
SCENARIO = {
    "network": "network.yaml",
    "jobs": [
        {"name": "a", "workload": "workload.txt", "system": "system.txt", "npus": [0], "passes": 2},
        {
            "name": "b",
            "workload": "workload.txt",
            "system": "system.txt",
            "npus": [1],
            "start": {"after": "a", "passes": 2, "delay": "5us"},
        },
        {"name": "c", "workload": "workload.txt", "system": "system.txt", "npus": [2], "start": {"after": "b"}},
        {"name": "noise", "workload": "workload.txt", "system": "system.txt", "npus": [3], "passes": "forever"},
    ],
}


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    write_inputs(tmp_path)
    path = tmp_path / "jobs.yaml"
    path.write_text(json.dumps(SCENARIO), encoding="utf-8")
    return path


def test_show_says_what_starts_wait_for_and_draws_them_thin(command: Command, scenario: Path) -> None:
    words = [line.split() for line in command("show", "scenario", str(scenario)).out.splitlines()]
    assert ["b", "1", "1", "5us", "after", "2", "passes", "of", "a", "1"] in [line[:10] for line in words]
    assert ["c", "1", "2", "after", "b", "1"] in [line[:6] for line in words]
    assert ["noise", "1", "3", "0", "for", "ever"] in [line[:6] for line in words]
    document = command("show", "scenario", str(scenario), "--json").json
    assert [each["passes"] for each in document["jobs"]] == [2, 1, 1, None]
    when = scenario_figure(document).panels[1]
    assert list(when.y.names or ())[:3] == ["a", "b: 5us after 2 passes of a", "c: after b"]
    heights = [series.thick for series in when.series if isinstance(series, Spans)]
    assert heights[0] == heights[3] > heights[1] == heights[2]


def test_the_picture_shows_failures_and_jobs_after_another_from_their_earliest_start_on(
    command: Command, scenario: Path
) -> None:
    restart = {"after": "10ms", "at-most": 2, "fails": ["20ms", "60ms", "90ms"]}
    jobs = [{**SCENARIO["jobs"][0], "restart": restart}, SCENARIO["jobs"][1]]  # type: ignore[dict-item]
    for picture_ms, asked in ((70 * 1.15, jobs), (5e-3 * 1.15, SCENARIO["jobs"])):
        scenario.write_text(json.dumps({**SCENARIO, "jobs": asked}), encoding="utf-8")
        when = scenario_figure(command("show", "scenario", str(scenario), "--json").json).panels[1]
        shown = {"ms": 1, "us": 1e-3}[when.x.unit] * (when.x.high or 0)
        assert shown == pytest.approx(picture_ms)
        grey = [series for series in when.series if isinstance(series, Spans) and series.colour == GREY]
        assert [np.asarray(series.starts).tolist() for series in grey] == [[20, 60]] * (asked is jobs)
        assert [np.asarray(series.lengths).tolist() for series in grey] == [[10, 10]] * (asked is jobs)
        assert ("until they begin again" in when.note) == (asked is jobs)
    begins_us = [np.asarray(series.starts)[0] for series in when.series if isinstance(series, Spans)]
    assert begins_us == [0, 5, 5, 0]


def test_long_chains_of_jobs_are_drawn_at_once_wherever_each_stands() -> None:
    names = [f"j{number}" for number in range(8000)]
    jobs: list[Any] = [{"name": name, "npus": [0], "start_ps": 10**6} for name in names]
    for before, job in pairwise(jobs):
        job["after"] = before["name"]
    begun_s = time.process_time()
    for given in (jobs, jobs[::-1]):
        document: Any = {"jobs": given, "rows": [{"name": "row", "npus": [0]}], "events": []}
        when = scenario_figure(document).panels[1]
        starts = [np.asarray(series.starts)[0] for series in when.series if isinstance(series, Spans)]
        assert starts == pytest.approx([(int(job["name"][1:]) + 1) / 1000 for job in given])
    assert time.process_time() - begun_s < 5


@pytest.mark.parametrize(
    ("keys", "fails_us", "at_most", "drawn"),
    [
        ({}, [60, 20, 25, 70, 75], 2, [(20, 30), (60, 70)]),
        ({}, [20, 30, 31], 3, [(20, 30), (31, 41)]),
        ({"start": "50us"}, [20, 80], 1, [(80, 90)]),
        ({"start": "50us"}, [50], 1, [(50, 60)]),
        ({"end": "50us"}, [20, 50, 60], 3, [(20, 30)]),
        ({"end": "25us"}, [20], 1, [(20, 25)]),
    ],
)
def test_the_picture_shows_the_failures_that_the_run_has(
    command: Command, scenario: Path, keys: dict[str, Any], fails_us: list[int], at_most: int, drawn: list[Any]
) -> None:
    restart = {"after": "10us", "at-most": at_most, "fails": [f"{time_us}us" for time_us in fails_us]}
    lasting = {**SCENARIO["jobs"][0], "passes": 1000, "restart": restart, **keys}  # type: ignore[dict-item]
    scenario.write_text(json.dumps({**SCENARIO, "jobs": [lasting]}), encoding="utf-8")
    when = scenario_figure(command("show", "scenario", str(scenario), "--json").json).panels[1]
    found = [
        (start, start + length)
        for series in when.series
        if isinstance(series, Spans) and series.colour == GREY
        for start, length in zip(np.asarray(series.starts), np.asarray(series.lengths), strict=True)
    ]
    assert found == drawn
    command("run", "--scenario", str(scenario), "--backend", "fake", "--output", str(scenario.parent / "out"))
    job = json.loads((scenario.parent / "out" / "run.json").read_text(encoding="utf-8"))["jobs"][0]
    again_us = [end_us for start_us, end_us in drawn if end_us == start_us + 10]
    assert job["restarts"] == len(again_us)
    assert job["start_ps"] + job["last_try_ps"] == max(again_us, default=0) * 10**6


def test_a_run_says_by_how_much_its_jobs_are_scaled(command: Command, scenario: Path) -> None:
    arguments = ("run", "--scenario", str(scenario), "--backend", "fake")
    assert "multiplied   sizes by 0.5, compute times by 0.5\n" in command(*arguments, "--scale", "0.5").out
    assert "multiplied" not in command(*arguments).out


def test_a_run_says_who_was_ended_by_others(command: Command, scenario: Path) -> None:
    finished = command("run", "--scenario", str(scenario), "--backend", "fake")
    assert finished.status == 0
    (line,) = (line for line in finished.out.splitlines() if line.startswith("noise"))
    assert "ended by others after" in line


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("passes", "for ever", "key 'jobs.0.passes': found 'for ever', expected a number of passes, or forever"),
        ("passes", 0, "key 'jobs.0.passes'"),
        ("start", {"after": "nobody"}, "job 'a': starts after 'nobody', which is no job; expected a, b, c, noise"),
        ("start", {"afer": "b"}, "did you mean 'jobs.0.start.after'?"),
        ("end", "0ns", "key 'jobs.0.end'"),
        ("start", "-1us", "key 'jobs.0.start'"),
    ],
)
def test_keys_of_times_are_refused_with_their_line(
    command: Command, scenario: Path, key: str, value: Any, words: str
) -> None:
    first = {**SCENARIO["jobs"][0], key: value}  # type: ignore[dict-item]
    scenario.write_text(json.dumps({**SCENARIO, "jobs": [first, *SCENARIO["jobs"][1:]]}), encoding="utf-8")
    finished = command("validate", "--scenario", str(scenario))
    assert finished.status == 2
    assert words in finished.err
    assert finished.err.startswith(f"astra-ns3: error: {scenario}:1: ")


@pytest.mark.parametrize(("npu", "status"), [(1, 2), (0, 0)])
def test_an_event_slows_no_npu_of_a_job_whose_start_nobody_knows(
    command: Command, scenario: Path, npu: int, status: int
) -> None:
    event = {"at": "1us", "npu": npu, "slower": 2}
    scenario.write_text(json.dumps({**SCENARIO, "events": [event]}), encoding="utf-8")
    finished = command("validate", "--scenario", str(scenario))
    assert finished.status == status
    assert ("NPU 1 is of job 'b', which starts after another" in finished.err) == (status == 2)
    assert finished.err.count("error:") == (status == 2)
