"""Jobs that begin again when their transport has given up, against a bookkeeper who knows what each try takes alone."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from support.fake_backend import FakeBackend
from support.job_tables import frame_of
from support.small_run import SYSTEM, small_network, small_system, small_workload

import astra_ns3
from astra_ns3 import Result, ScenarioResult, Tenant
from astra_ns3.errors import BackendError, InputError
from astra_ns3.experiments.listing.columns import COLUMNS
from astra_ns3.experiments.listing.finding import find_runs
from astra_ns3.experiments.scenario_request import ScenarioRequest
from astra_ns3.experiments.scenario_view import view_scenario
from astra_ns3.report.comparison.compare import compare
from astra_ns3.report.explanation.explain import explain
from astra_ns3.report.page.page import report_page
from astra_ns3.report.scenario_text import scenario_run_text, scenario_text
from astra_ns3.scenario.tenant import Restart
from astra_ns3.units import format_time

US = 1_000_000
LINK = {"rate": "100Gbps", "delay": "500ns"}
NPUS = 4
TRANSPORTS: Mapping[str, Mapping[str, Any]] = {
    "roce": {"kind": "roce", "reliability": {"kind": "go-back-n", "timeout": "50us", "retries": 2}},
    "split": {
        "kind": "roce",
        "queue_pairs_per_pair": 2,
        "queue_pair_use": "split",
        "reliability": {"kind": "go-back-n", "timeout": "50us", "retries": 2},
    },
    "tcp": {"kind": "tcp", "min_rto": "100us", "data_retries": 2},
}


class Files:
    """A folder of a scenario on a switch whose NIC 1 may be down."""

    def __init__(self, folder: Path, transport: str) -> None:
        self.folder = folder
        self.transport = transport
        topology = {"kind": "single-switch", "npus": NPUS, "link": LINK, "switch": {"buffer": "1GB"}}
        self.write("network.yaml", json.dumps({"topology": topology, "transport": TRANSPORTS[transport]}))
        self.write("system.txt", SYSTEM)
        self.write("work.txt", "DATA\n1\nring -1 20000 NONE 0 0 NONE 0 20000 ALLREDUCE 300000 0\n")

    def write(self, name: str, text: str) -> None:
        (self.folder / name).write_text(text, encoding="utf-8")

    def job(self, name: str = "a", npus: Sequence[int] = (0, 1, 2), **keys: Any) -> dict[str, Any]:
        own = {"name": name, "workload": "work.txt", "system": "system.txt", "npus": list(npus)}
        return {**own, "dimensions": [len(npus)], **keys}

    def scenario(self, jobs: Sequence[Mapping[str, Any]], down: tuple[int, int] | None, **keys: Any) -> Path:
        """``down``: from when to when NIC 1 is down, in us."""
        document = {"network": "network.yaml", "jobs": jobs, **keys}
        if down is not None:
            begin, end = down
            document["events"] = [{"at": f"{begin}us", "nic": 1, "up": False, "for": f"{end - begin}us"}]
        self.write("scenario.yaml", json.dumps(document))
        return self.folder / "scenario.yaml"

    def play(
        self,
        jobs: Sequence[Mapping[str, Any]],
        down: tuple[int, int] | None = None,
        options: Mapping[str, Any] = {},
        **keys: Any,
    ) -> ScenarioResult:
        return astra_ns3.run_scenario(scenario=self.scenario(jobs, down, **keys), **options)

    def alone(self) -> Result:
        """The job, which nothing fails."""
        return self.play([self.job()], None, {"record": ["flows", "timeline"]}).tenants["a"]


@pytest.fixture(params=[*TRANSPORTS])
def files(tmp_path: Path, request: pytest.FixtureRequest) -> Files:
    return Files(tmp_path, request.param)


class Book(NamedTuple):
    """What a bookkeeper expects of a job: how often it begins again, and when its last try starts and ends."""

    restarts: int
    start_ps: int
    end_ps: int


def book(files: Files, outages: int) -> tuple[Book, tuple[int, int]]:
    """Return it, and an outage that so many tries meet, from runs without restarts.

    They say how long a try takes that plays well, when the first fails, which the outage meets amid its messages, and
    how long one takes to fail that starts while the NIC is down. The outage ends right after the last of these.
    """
    whole_ps, (begin_us, forever_us) = files.play([files.job()]).finish_ps, DOWN
    failed_at_ps = failed_ps(files, [files.job()], DOWN)
    for _ in range(outages - 1):
        start_ps = (begin_us + 7) * US
        takes_ps = failed_ps(files, [files.job(start=f"{start_ps}ps")], (begin_us, forever_us)) - start_ps
        failed_at_ps += AFTER_US * US + takes_ps
    start_ps = failed_at_ps + AFTER_US * US
    return Book(outages, start_ps, start_ps + whole_ps), (begin_us, failed_at_ps // US + 5)


def failed_ps(files: Files, jobs: Sequence[Mapping[str, Any]], down: tuple[int, int]) -> int:
    """When a job without restarts is given up; another one has the run go on."""
    other = files.job("beside", [3], start="1us")
    with pytest.raises(BackendError, match=r"job 'a': .* (gave|given) up") as raised:
        files.play([*jobs, other], down)
    job = raised.value.result.metadata["jobs"][0]
    assert round(float(raised.value.result.rows("jobs.csv")[0]["duration_us"]) * US) == job["finish_ps"]
    assert job["ended_by"] == "transport"
    return int(job["start_ps"]) + int(job["finish_ps"])


AFTER_US = 40
DOWN = (60, 1_000_000)
OUTAGES = {"roce": 3, "split": 2, "tcp": 1}
"""How many tries fail; a TCP connection that can't be opened waits for seconds."""


def test_a_job_begins_again_until_its_nic_is_back_as_the_bookkeeper_says(files: Files, tmp_path: Path) -> None:
    expected, down = book(files, OUTAGES[files.transport])
    restart: dict[str, Any] = {"after": f"{AFTER_US}us", "at-most": 9}
    options = {"record": ["flows", "timeline"], "output": tmp_path / "out"}
    result = files.play([files.job(restart=restart)], down, options)
    (job,) = result.metadata["jobs"]
    assert Book(job["restarts"], job["last_try_ps"], result.finish_ps) == expected
    assert (job["start_ps"], job["ended_by"], job["complete"], result.complete) == (0, "programs", True, True)
    (row,) = result.rows("jobs.csv")
    assert (row["restarts"], row["start_us"]) == (str(expected.restarts), "0.000000")
    # Every place has the time of all tries.
    assert [round(float(row[f"{name}_us"]) * US) for name in ("finish", "duration")] == [expected.end_ps] * 2
    assert job["finish_ps"] == result.tenants["a"].finish_ps == expected.end_ps
    line = scenario_run_text(result.metadata, None).splitlines()[1]
    assert line.endswith(
        f"compute and exposed of try {expected.restarts + 1}, from {format_time(expected.start_ps)} on"
    )
    listed = find_runs(tmp_path / "out").runs[0]
    assert COLUMNS["finish"].shown(listed) == format_time(expected.end_ps)
    assert COLUMNS["exposed"].shown(listed).endswith(" (last try)")
    throughput = replace(listed, metadata={**listed.metadata, "throughput": {"tokens_per_second": 5_000.0}})
    assert COLUMNS["tokens_per_second"].shown(throughput) == "5,000 (last try)"
    explained = explain(result.tenants["a"])
    assert explained.subject == f"run a, try {expected.restarts + 1}"
    assert explained.time_ps == expected.end_ps - expected.start_ps
    finish = {each.name: each for each in compare(result.tenants["a"], files.alone()).groups[0].differences}["finish"]
    assert finish.a == expected.end_ps
    # Its files are those of the last try, and equal to those of the job alone.
    assert sorted(path.name for path in (tmp_path / "out").iterdir() if path.is_dir()) == ["job-a"]
    alone = files.alone()
    for table in ("flows", "phases", "operations", "collectives", "npus"):
        assert getattr(result.tenants["a"], table).equals(getattr(alone, table)), table
    assert frame_of(result.tenants["a"].flows).shape[0] > 0


WITH_AND_WITHOUT: Mapping[str, Mapping[str, Any]] = {"plain": {}, "may": {"restart": {"after": "1us", "at-most": 3}}}


def test_a_job_that_needs_no_restart_gives_the_files_of_one_that_may_have_none(files: Files, tmp_path: Path) -> None:
    for name, keys in WITH_AND_WITHOUT.items():
        files.play([files.job(**keys)], None, {"record": ["flows", "timeline", "layers"], "output": tmp_path / name})
    for folder in (".", "job-a"):
        names = {file.name for file in (tmp_path / "plain" / folder).iterdir() if file.is_file()}
        assert names == {file.name for file in (tmp_path / "may" / folder).iterdir() if file.is_file()}
        for name in names - {"run.json", "jobs.csv"}:
            one, other = ((tmp_path / each / folder / name).read_bytes() for each in ("plain", "may"))
            assert one == other, name
    found = json.loads((tmp_path / "may" / "run.json").read_text("utf-8"))
    assert (found["jobs"][0]["restarts"], found["jobs"][0]["last_try_ps"]) == (0, 0)
    for place in (tmp_path / "may", tmp_path / "may" / "job-a"):  # the name of the key in older results
        text = (place / "run.json").read_text("utf-8")
        (place / "run.json").write_text(text.replace('"last_try_ps": 0', '"lost_ps": 7'), encoding="utf-8")
    older = ScenarioResult.load(tmp_path / "may")
    assert older.metadata["jobs"][0]["last_try_ps"] == older.tenants["a"].metadata["job"]["last_try_ps"] == 7
    plain = json.loads((tmp_path / "plain" / "run.json").read_text("utf-8"))
    same = ("finish_ps", "floor", "statistics", "npu_time_used")
    assert [found[key] for key in same] == [plain[key] for key in same]


def test_a_job_that_has_failed_as_often_as_it_may_is_told_and_who_follows_starts_then(files: Files) -> None:
    jobs = [files.job(restart={"after": "10us", "at-most": 1}), files.job("then", [3], start={"after": "a"})]
    with pytest.raises(BackendError, match=r"^job 'a': ") as raised:
        files.play(jobs, (60, 100_000_000))
    first, then = raised.value.result.metadata["jobs"]
    assert (first["restarts"], first["ended_by"], first["complete"], first["passes_done"]) == (1, "transport", False, 0)
    assert then["start_ps"] == first["start_ps"] + first["finish_ps"]
    assert then["complete"]


def test_a_job_that_waits_for_passes_of_one_that_has_failed_never_starts_and_has_no_times(tmp_path: Path) -> None:
    files = Files(tmp_path, "roce")
    then = files.job("then", [3], start={"after": "a", "passes": 9})
    with pytest.raises(BackendError, match=r"^job 'a': "):
        files.play([files.job(passes=9), then], (60, 100_000_000), {"output": tmp_path / "out"})
    with_start = files.play([files.job(), {**then, "start": "0us"}], None, {"output": tmp_path / "with"})
    result = ScenarioResult.load(tmp_path / "out")
    first, waiting = result.metadata["jobs"]
    times = [waiting[key] for key in ("start_ps", "finish_ps", "compute_ps", "exposed_ps")]
    assert times == [None, 0, 0, 0]
    used = 3 * first["finish_ps"] / (NPUS * result.metadata["finish_ps"])
    assert result.metadata["npu_time_used"] == pytest.approx(used)
    (line,) = (line for line in scenario_run_text(result.metadata, None).splitlines() if line.startswith("then "))
    assert line.split() == ["then", "1", "never", "never", "-", "-", "-"]
    (found,) = (run for run in find_runs(tmp_path / "out").runs if run.metadata["run_name"] == "then")
    assert [COLUMNS[name].shown(found) for name in ("finish", "compute", "exposed")] == ["-"] * 3
    told = compare(result.tenants["then"], with_start.tenants["then"])
    assert {each.name: each.a for group in told.groups[:1] for each in group.differences} == dict.fromkeys(
        ("finish", "compute", "exposed")
    )
    row = result.tenants["then"].rows("EndToEnd.csv")[0]
    assert float(row["workload finished at"]) == 0
    assert explain(result.tenants["then"]).subject == "run then, which never started"
    assert "the job never started" in report_page([result.tenants["then"]], {})


def test_jobs_beside_one_that_fails_play_as_without_it(files: Files) -> None:
    restart: dict[str, Any] = {"after": "40us", "at-most": 9}
    down = (60, failed_ps(files, [files.job(npus=[0, 1])], DOWN) // US + 1)
    result = files.play([files.job(restart=restart, npus=[0, 1]), files.job("b", [2, 3])], down)
    alone = files.play([files.job("b", [2, 3])])
    assert result.metadata["jobs"][0]["restarts"] > 0
    floors = [each.metadata["floor"] for each in (result, *result.tenants.values())]
    assert [floor is None for floor in floors] == [True, True, False]
    assert result.tenants["b"].finish_ps == alone.finish_ps
    assert result.tenants["b"].collectives.equals(alone.tenants["b"].collectives)


def test_what_is_shown_says_how_often_a_job_begins_again(tmp_path: Path) -> None:
    files = Files(tmp_path, "roce")
    scenario = files.scenario([files.job(restart={"after": "30s", "at-most": 3}, passes=2)], None)
    view = view_scenario(ScenarioRequest(scenario=scenario))
    assert "2; again 30s after a failure, 3 times at most" in scenario_text(view.scenario)
    assert len(view.scenario["jobs"]) == 1
    plain = view_scenario(ScenarioRequest(scenario=files.scenario([files.job(passes=2)], None)))
    tries = ("tries of 'a' after its transport gives up",)
    assert view.forecast == replace(plain.forecast, not_counted=tries)


@pytest.mark.parametrize(
    ("restart", "words"),
    [
        ({"after": "1us"}, "key 'jobs.0.restart.at-most' is missing"),
        ({"after": "1us", "at-most": 0}, "key 'jobs.0.restart.at-most': found 0, expected greater than or equal to 1"),
        ({"after": "-1us", "at-most": 1}, "key 'jobs.0.restart.after': '-1us' is not a time: write a number that is"),
        ({"after": "1us", "at-most": 65}, "key 'jobs.0.restart.at-most': found 65, expected less than or equal to 64"),
    ],
)
def test_keys_of_restart_are_checked(tmp_path: Path, restart: dict[str, Any], words: str) -> None:
    files = Files(tmp_path, "roce")
    with pytest.raises(InputError) as raised:
        ScenarioRequest(scenario=files.scenario([files.job(restart=restart)], None))
    assert words in str(raised.value)
    assert "\n" not in str(raised.value)


def test_an_event_that_slows_a_job_that_may_begin_again_is_refused(tmp_path: Path) -> None:
    files = Files(tmp_path, "roce")
    slow = {"at": "1us", "npu": 1, "slower": 2}
    jobs = [files.job(restart={"after": "1us", "at-most": 1})]
    with pytest.raises(InputError, match=r"NPU 1 is of job 'a', which may begin again at any time; expected an NPU of"):
        view_scenario(ScenarioRequest(scenario=files.scenario(jobs, None, events=[slow])))


@pytest.mark.parametrize(("times", "key"), [({"from": "1us"}, "from"), ({"until": "1ms"}, "until"), ({}, "")])
def test_npus_that_are_slow_for_a_while_are_refused_for_a_job_that_may_begin_again(
    tmp_path: Path, times: dict[str, str], key: str
) -> None:
    """Each try would count the times from its own start."""
    files = Files(tmp_path, "roce")
    files.write("slow.yaml", json.dumps({"stragglers": [{"npus": [0], "factor": 2, **times}]}))
    jobs = [{**files.job(restart={"after": "1us", "at-most": 1}), "compute-slowdown": "slow.yaml"}]
    request = ScenarioRequest(scenario=files.scenario(jobs, None))
    if key:
        with pytest.raises(InputError, match=rf"'stragglers\.0\.{key}': the job has restart and may begin again"):
            view_scenario(request)
    else:
        assert view_scenario(request)


def test_a_tenant_of_python_s_may_begin_again(tmp_path: Path) -> None:
    own = Tenant("a", [0, 1], small_workload(), small_system(), restart=Restart(5, 2))
    request: dict[str, Any] = {"network": small_network(npus=4), "tenants": [own], "backend": FakeBackend(4)}
    result = astra_ns3.run_scenario(**request)
    assert [*result.tenants] == ["a"]
    assert result.metadata["jobs"][0]["restarts"] == 0


def test_a_job_that_waited_for_npus_of_one_that_failed_starts_then_and_plays_to_its_end(tmp_path: Path) -> None:
    files = Files(tmp_path, "roce")
    files.write("table.csv", "time,npus,workload,passes\n0,3,work.txt,1\n1us,3,work.txt,1\n")
    arrivals = {"file": "table.csv", "system": "system.txt"}
    failed_at_ps = failed_ps(files, [files.job()], DOWN)
    with pytest.raises(BackendError, match=r"^job 'arrival-1': .* gave up .*\)$") as raised:
        files.play([], (DOWN[0], failed_at_ps // US + 20), arrivals=arrivals)
    first, second = raised.value.result.metadata["jobs"]
    assert (first["ended_by"], first["npus"]) == ("transport", [0, 1, 2])
    assert (second["start_ps"], second["npus"], second["ended_by"]) == (failed_at_ps, [0, 1, 2], "programs")
    assert second["complete"]
