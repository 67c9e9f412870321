"""``--scenario`` of run and validate, and ``show scenario``: tables, pictures, and what is refused in a line."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.small_run import write_inputs

import astra_ns3
from astra_ns3.report.figures.figure import Spans
from astra_ns3.report.scenario_figure import scenario_figure
from astra_ns3.report.scenario_text import numbers_text

Command = Callable[..., Any]
JOBS = """network: network.yaml
jobs:
  - {name: one, workload: workload.txt, system: system.txt, npus: [0, 1]}
  - {name: other, workload: workload.txt, system: system.txt, npus: {place: packed, count: 2}, start: 5us}
events:
  - {at: 10us, nic: 3, rate: 50%, for: 5us, every: 20us, times: 2}
"""


@pytest.fixture
def scenario(tmp_path: Path) -> str:
    write_inputs(tmp_path)
    path = tmp_path / "jobs.yaml"
    path.write_text(JOBS, encoding="utf-8")
    return str(path)


def _with(scenario: str, before: str, after: str) -> str:
    text = JOBS.replace(before, after)
    assert text != JOBS
    Path(scenario).write_text(text, encoding="utf-8")
    return scenario


def test_a_run_prints_a_line_for_each_job_and_writes_a_folder_for_each(
    command: Command, scenario: str, tmp_path: Path
) -> None:
    finished = command("run", "--scenario", scenario, "--backend", "fake", "-o", str(tmp_path / "out"))
    assert (finished.status, finished.err) == (0, "")
    lines = [line.split() for line in finished.out.splitlines()]
    assert [line[:3] for line in lines[:3]] == [["job", "NPUs", "start"], ["one", "2", "0"], ["other", "2", "5"]]
    result = astra_ns3.ScenarioResult.load(tmp_path / "out")
    assert [each["npus"] for each in result.metadata["jobs"]] == [[0, 1], [2, 3]]
    assert [each["passes"] for each in result.metadata["jobs"]] == [1, 1]
    assert [(each["name"], each["rate_bps"]) for each in result.metadata["events"]] == [
        ("host 3 - switch 0", 5 * 10**10)
    ]
    assert (tmp_path / "out" / "job-other" / "npus.csv").is_file()


def test_a_run_speaks_json(command: Command, scenario: str) -> None:
    document = command("run", "--scenario", scenario, "--backend", "fake", "--json").json
    assert [each["name"] for each in document["jobs"]] == ["one", "other"]
    assert (document["exit_status"], document["complete"], document["scenario"]) == (0, True, scenario)


def test_a_run_that_stops_says_what_is_missing(command: Command, scenario: str, tmp_path: Path) -> None:
    finished = command("run", "--scenario", scenario, "--backend", "lossy", "-o", str(tmp_path / "out"))
    assert finished.status == 3
    assert "incomplete" in finished.out
    assert "astra-ns3: error: job 'one': " in finished.err


def test_the_network_may_stand_beside_the_file(command: Command, scenario: str, tmp_path: Path) -> None:
    _with(scenario, "network: network.yaml\n", "")
    missing = command("run", "--scenario", scenario, "--backend", "fake")
    said = f"{scenario}: names no network, expected 'network: FILE', or one beside the scenario (-n)"
    assert (missing.status, missing.err) == (2, f"astra-ns3: error: {said}\n")
    words = ("--scenario", scenario, "-n", str(tmp_path / "network.yaml"))
    assert command("validate", *words).status == 0


def test_validate_prints_who_is_where_and_how_large_it_is(command: Command, scenario: str) -> None:
    finished = command("validate", "--scenario", scenario)
    assert (finished.status, finished.err) == (0, "")
    lines = finished.out.splitlines()
    assert [line.split()[:4] for line in lines[3:6]] == [
        ["job", "NPUs", "which", "start"], ["one", "2", "0-1", "0"], ["other", "2", "2-3", "5us"]
    ]  # fmt: skip
    assert lines[7].split() == ["from", "to", "what", "becomes", "again"]
    assert lines[8].split(maxsplit=2) == ["10us", "15us", "host 3 - switch 0  50 Gb/s  every 20us, 2 times"]
    assert lines[9].startswith("messages ")
    document = command("validate", "--scenario", scenario, "--json").json
    assert (document["npus"], document["jobs"][1]["npus"], document["warnings"]) == (4, [2, 3], [])
    assert document["forecast"]["messages"] == 2 * 2 * 2 * 4  # jobs, collectives, chunks, messages


def test_keys_of_the_scenario_are_set_for_a_run_and_its_validation(command: Command, scenario: str) -> None:
    words = ("--scenario", scenario, "--backend", "fake", "--set", "scenario.jobs.other.start=7us", "--json")
    assert json.loads(command("validate", *words).out)["jobs"][1]["start_ps"] == 7_000_000
    assert json.loads(command("run", *words).out)["jobs"][1]["start_ps"] == 7_000_000
    refused = command("run", "--scenario", scenario, "--set", "scenario.jobs.other.strat=7us")
    assert (refused.status, refused.err.count("\n")) == (2, 1)
    assert "did you mean 'jobs.1.start'" in refused.err


def test_show_scenario_takes_changed_keys(command: Command, scenario: str) -> None:
    shown = command("show", "scenario", scenario, "--set", "scenario.jobs.other.start=9us", "--json")
    assert (shown.status, shown.err) == (0, "")
    assert [job["start_ps"] for job in json.loads(shown.out)["jobs"]] == [0, 9_000_000]
    wrong = command("show", "scenario", scenario, "--set", "scenario.jobs.nobody.start=9us")
    assert wrong.status == 2
    assert "nobody" in wrong.err


def test_show_scenario_prints_the_same_and_draws_it(command: Command, scenario: str, tmp_path: Path) -> None:
    picture = tmp_path / "pictures" / "jobs.png"
    finished = command("show", "scenario", scenario, "-o", str(picture))
    assert (finished.status, finished.err) == (0, "")
    shown = command("validate", "--scenario", scenario).out.splitlines()
    assert finished.out.splitlines() == [*shown[:9], f"written to {picture}"]
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert command("show", "scenario", scenario, "-o", str(picture)).status == 2
    assert command("show", "scenario", scenario, "-o", str(picture), "--overwrite").status == 0
    assert command("show", "scenario", scenario, "-o", str(tmp_path / "jobs.txt")).status == 2


def test_jobs_without_events_may_be_on_an_analytical_network(command: Command, scenario: str, tmp_path: Path) -> None:
    network = tmp_path / "rings.yml"
    network.write_text("topology: [Ring]\nnpus_count: [4]\nbandwidth: [50]\nlatency: [500]\n", encoding="utf-8")
    words = (_with(scenario, JOBS[JOBS.index("events") :], ""), "-n", str(network))
    shown = command("show", "scenario", *words, "--backend", "analytical")
    assert (shown.status, shown.err) == (0, "")
    assert "4 NPUs on 4 hosts" in shown.out
    assert command("run", "--scenario", *words, "--backend", "analytical").status == 0
    refused = command("show", "scenario", *words)
    assert (refused.status, "describes an analytical network" in refused.err) == (2, True)


def test_the_picture_has_each_npu_once_and_each_time_of_an_event(command: Command, scenario: str) -> None:
    document = command("show", "scenario", scenario, "--json").json
    where, when = scenario_figure(document).panels
    assert {each.name: len(each.starts) for each in where.series} == {"one": 2, "other": 2}  # type: ignore
    assert list(when.y.names) == ["one", "other", "host 3 - switch 0: 50 Gb/s"]
    bars = when.series[-1]
    assert isinstance(bars, Spans)
    assert (bars.starts, bars.lengths) == ([10.0, 30.0], [5.0, 5.0])
    job = when.series[0]
    assert isinstance(job, Spans)
    starts, lengths = np.asarray(job.starts), np.asarray(job.lengths)  # dashes, for nobody knows its end
    assert starts[0] == 0
    assert lengths.max() < np.diff(starts).min() < (when.x.high or 0) / 20
    assert when.note == "dashes: no end is known"


@pytest.mark.parametrize("jobs", [None, [], [{"npus": [0]}], "one"])
def test_results_without_jobs_are_told_in_one_line(
    jobs: object, command: Command, scenario: str, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    assert command("run", "--scenario", scenario, "--backend", "fake", "-o", str(out)).status == 0
    document = json.loads((out / "run.json").read_text(encoding="utf-8"))
    (out / "run.json").write_text(json.dumps({**document, "jobs": jobs}), encoding="utf-8")
    told = command("explain", str(out))
    assert (told.status, len(told.err.splitlines())) == (2, 1)
    assert "'jobs' is no list of jobs with a name each" in told.err


def test_the_picture_has_no_times_where_the_file_has_none(command: Command, scenario: str) -> None:
    without = _with(scenario, JOBS[JOBS.index(", start: 5us") :], "}\n")
    assert len(scenario_figure(command("show", "scenario", without, "--json").json).panels) == 1


@pytest.mark.parametrize(
    ("before", "after", "line", "message"),
    [
        ("npus: [0, 1]", "npus: [0, 4]", 3, "job 'one': NPU 4 is not one of the network's 4, 0 to 3"),
        ("count: 2", "count: 3", 4, "job 'other': asks for 3 NPUs, but only 2 of the network's 4 are free; expected"),
        ("{place: packed, count: 2}", "[1, 2]", 4, "key 'jobs.1.npus': NPU 1 is of job 'one', expected a free one"),
        ("start: 5us", "start: -5us", 4, "key 'jobs.1.start': '-5us' is not a time: write a number that is not negati"),
        ("name: other", "name: a/b", 4, "job 'a/b': run name 'a/b' is not 1 to 100 printable characters"),
        ("packed, count: 2}", "packed, count: 2}, set: {system.endpoint-delay: 9}", 4, "job 'other': its system has "
         "endpoint-delay (times injection-scale) 9, that of 'one' 10; expected the same: NPUs are alike"),
        ("workload: workload.txt", "workload: nothing.txt", 3, "key 'jobs.0.workload': found 'nothing.txt', expect"),
        ("at: 10us", "at: -10us", 6, "key 'events.0.at': '-10us' is not a time: write a number that is not negative a"),
        ("nic: 3, rate: 50%", "link: [host 3, swich 0], up: off", 6, "key 'events.0.link': there is no 'swich 0' in "
         "the network, expected names as host 0, switch 0; did you mean 'switch 0'?"),
        ("nic: 3, rate: 50%, for: 5us, every: 20us, times: 2", "nic: 3, up: off", 6, "key 'events.0.nic': from 10us on "
         "and for ever no way leads from NPU "),
    ],
)  # fmt: skip
@pytest.mark.parametrize("words", [("run", "--backend", "fake"), ("validate",)])
def test_what_is_wrong_is_one_line_before_anything_is_written(
    command: Command, scenario: str, tmp_path: Path, before: str, after: str, line: int, message: str,
    words: tuple[str, ...],
) -> None:  # fmt: skip
    _with(scenario, before, after)
    there = sorted(tmp_path.rglob("*"))
    more = ("-o", str(tmp_path / "out")) if words[0] == "run" else ()
    finished = command(*words, "--scenario", scenario, *more)
    assert (finished.status, finished.out) == (2, "")
    assert finished.err.startswith(f"astra-ns3: error: {scenario}:{line}: {message}")
    assert finished.err.count("\n") == 1
    assert sorted(tmp_path.rglob("*")) == there


def test_several_seeds_have_the_spread_of_each_job(command: Command, scenario: str, tmp_path: Path) -> None:
    words = ("run", "--scenario", scenario, "--backend", "fake", "-o", str(tmp_path / "out"), "--seeds", "2")
    finished = command(*words)
    assert (finished.status, finished.err) == (0, "")
    alone = [astra_ns3.ScenarioResult.load(tmp_path / "out" / f"seed-{seed}").metadata["jobs"] for seed in (1, 2)]
    document = json.loads((tmp_path / "out" / "run.json").read_text())
    assert document["passes"] is None
    for number, name in enumerate(("one", "other")):
        times = [jobs[number]["finish_ps"] for jobs in alone]
        spread = document["jobs"][name]
        assert (spread["minimum_ps"], spread["maximum_ps"], spread["mean_ps"]) == (*sorted(times), sum(times) // 2)
        assert re.search(rf"^job {name} took +[0-9]", finished.out, re.MULTILINE)


@pytest.mark.parametrize("backend", ["analytical", "analytical-queues"])
def test_events_are_refused_by_name_where_nothing_changes(command: Command, scenario: str, backend: str) -> None:
    finished = command("run", "--scenario", scenario, "--backend", backend)
    assert finished.status == 2
    said = f"key 'events.0.nic': 'rate' changes nothing on the backend {backend}, expected ns3 or flow"
    assert finished.err == f"astra-ns3: error: {scenario}:6: {said}\n"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--passes", "2"], "--passes is of one job, expected it in the scenario's file, which says it of each"),
        (["-w", "w.txt"], "--workload is of one job, expected it in the scenario's file"),
        (["--report-npu", "1"], "--report-npu is of one job, expected it in Python as Tenant(report_npu=...)"),
        (["--record", "flows"], "--record needs an output folder: add --output DIR"),
    ],
)
def test_options_of_one_job_are_refused(command: Command, scenario: str, words: list[str], message: str) -> None:
    finished = command("run", "--scenario", scenario, "--backend", "fake", *words)
    assert finished.status == 2
    assert finished.err.startswith(f"astra-ns3: error: {message}")


def test_without_a_scenario_the_three_files_are_needed(command: Command, scenario: str) -> None:
    finished = command("run", "-s", "system.txt", "-n", "network.yaml")
    assert finished.status == 2
    assert "Missing option '-w' / '--workload' / '--workload-configuration', or '--scenario'" in finished.err
    assert command("run", "--help").out.count("[required without --scenario]") == 3


def test_a_scenario_without_jobs_is_refused(command: Command, scenario: str) -> None:
    Path(scenario).write_text("network: network.yaml\n", encoding="utf-8")
    finished = command("run", "--scenario", scenario)
    assert (finished.status, "or a job, arrivals or traffic of the scenario" in finished.err) == (2, True)


@pytest.mark.parametrize(
    ("numbers", "text"),
    [
        ([0], "0"),
        ([3, 4, 5, 9], "3-5, 9"),
        ([2, 1, 0], "2, 1, 0"),
        (range(0, 200, 2), "0, 2, 4, 6, 8, 10, 12, 14, 16, 18, ..."),
    ],
)
def test_numbers_are_told_in_runs(numbers: list[int], text: str) -> None:
    assert numbers_text(numbers) == text


def test_the_picture_shows_which_npus_carry_traffic(command: Command, repository: Path) -> None:
    """Two kinds of traffic on all 32 NPUs, a job on half of them; strips of traffic don't meet."""
    arguments = ("show", "scenario", str(repository / "inputs/scenarios/background.yaml"), "--json")
    where = scenario_figure(command(*arguments).json).panels[0]
    spans = {each.name: each for each in where.series if isinstance(each, Spans)}
    counts = {name: len(np.asarray(each.starts)) for name, each in spans.items()}
    assert counts == {"training": 16, "free of jobs": 16, "hadoop (traffic)": 32, "bursts (traffic)": 32}
    tops = [
        np.asarray(spans[name].lanes) % 1 - spans[name].thick / 2 for name in ("hadoop (traffic)", "bursts (traffic)")
    ]
    assert {*np.round(np.concatenate(tops), 6)} == {0.1, 0.25}


def test_times_that_chance_drew_are_rounded_and_traffic_has_no_passes(command: Command, repository: Path) -> None:
    examples = repository / "inputs" / "scenarios"
    drawn = command("show", "scenario", str(examples / "failing-cluster.yaml")).out.splitlines()
    assert [line.split()[:4] for line in drawn[-2:]] == [["26.54", "us", "162.4", "us"], ["200.9", "us", "263", "us"]]
    shown = command("show", "scenario", str(examples / "background.yaml")).out
    assert re.search(r"hadoop +32 +0-31 +0 +- +generated", shown)


def test_a_run_warns_of_events_and_failures_that_a_file_has_after_the_end(command: Command, scenario: str) -> None:
    fails = "start: 5us, restart: {after: 1ms, at-most: 1, fails: [2s, 3s]}}"
    _with(scenario, "start: 5us}", fails)
    played = command("run", "--scenario", scenario, "--backend", "fake", "--set", "scenario.events.0.at=1s")
    where, end = f"astra-ns3: warning: {scenario}", "ended at [0-9.]+ us, and the first of them was to come at"
    first, second = played.err.splitlines()
    assert re.fullmatch(
        f"{where}:6: key 'events.0.nic': 1 of 1 events of the file changed nothing: the run {end} 1s", first
    )
    assert re.fullmatch(f"{where}:4: job 'other': 2 of 2 failures changed nothing: the job {end} 2s", second)
    assert re.search("changes +0 of 2 events before the end", played.out)
    assert command("run", "--scenario", scenario, "--backend", "lossy").err.count("changed nothing") == 0


def test_jobs_that_differ_by_events_are_compared_by_the_events_themselves(
    command: Command, scenario: str, tmp_path: Path
) -> None:
    def played(name: str) -> str:
        words = ("--scenario", scenario, "--backend", "fake", "-o", str(tmp_path / name))
        assert command("run", *words).status == 0
        return str(tmp_path / name / "job-one")

    failed = played("failed")
    _with(scenario, JOBS[JOBS.index("events:") :], "")
    compared = command("compare", played("whole"), failed, "--json").json
    assert {each["key"]: each["b"] for each in compared["settings"]} == {
        "events.0.name": "host 3 - switch 0",
        "events.0.start_ps": 10_000_000,
        "events.0.end_ps": 15_000_000,
        "events.0.every_ps": 20_000_000,
        "events.0.times": 2,
        "events.0.rate_bps": 50 * 10**9,
    }


def test_the_report_of_any_job_names_the_links_that_failed(command: Command, scenario: str, tmp_path: Path) -> None:
    assert command("run", "--scenario", scenario, "--backend", "fake", "-o", str(tmp_path / "out")).status == 0
    for job in ("one", "other"):
        page = tmp_path / f"{job}.html"
        assert command("report", str(tmp_path / "out" / f"job-{job}"), "-o", str(page)).status == 0
        _, _, told = page.read_text(encoding="utf-8").partition("Changes of the network")
        row = ["10us", "15us", "host 3 - switch 0", "50 Gb/s", "every 20us, 2 times"]
        assert re.findall("<td>(.*?)</td>", told)[:5] == row
