"""Jobs that arrive by a table: when they start and on which NPUs, what comes out, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import pytest
from oracles.list_scheduler import Asked, Got, first_come
from support.fake_backend import FakeBackend
from support.small_run import SYSTEM, small_network, small_system, small_workload

import astra_ns3
from astra_ns3 import ScenarioResult, Tenant
from astra_ns3.config.core.forever import FOREVER
from astra_ns3.config.scenario.placement import Placement
from astra_ns3.errors import InputError, LimitReached
from astra_ns3.experiments.scenario_request import ScenarioRequest
from astra_ns3.experiments.scenario_view import view_scenario
from astra_ns3.network.limits import Limits
from astra_ns3.report.scenario_figure import MOST_ARRIVALS, scenario_figure
from astra_ns3.report.scenario_text import scenario_run_text, scenario_summary, scenario_text
from astra_ns3.scenario.tenant import After
from astra_ns3.units import format_time

LINK = {"rate": "100Gbps", "delay": "500ns"}
US = 1_000_000
BACKENDS = ("ns3", "flow")


def star(npus: int, transport: str = "roce", **keys: Any) -> dict[str, Any]:
    topology = {"kind": "single-switch", "npus": npus, "link": LINK, "switch": {"buffer": "1GB"}}
    return {"topology": topology, "transport": {"kind": transport, **keys}}


def leaf_spine() -> dict[str, Any]:
    topology = {"kind": "leaf-spine", "leaves": 2, "spines": 2, "hosts_per_leaf": 4, "link": LINK, "uplink": LINK}
    return {"topology": {**topology, "switch": {"buffer": "1GB"}}, "transport": {"kind": "roce"}}


def ring(size: int, compute_ns: int = 10_000) -> str:
    """A job that computes before it sends, so that acknowledgements of an earlier one have come by then."""
    return f"DATA\n1\nring -1 {compute_ns} NONE 0 0 NONE 0 {compute_ns} ALLREDUCE {size} 0\n"


class Files:
    """A folder of a scenario whose jobs arrive."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.write("system.txt", SYSTEM)
        self.write("small.txt", ring(48_000))
        self.write("large.txt", ring(240_000))

    def write(self, name: str, text: str) -> str:
        (self.folder / name).write_text(text, encoding="utf-8")
        return name

    def scenario(self, network: Mapping[str, Any], rows: Sequence[str] | None, **keys: Any) -> Path:
        """``rows``: the table, with the names of its columns; None: there is none."""
        self.write("network.yaml", json.dumps(network))
        document: dict[str, Any] = {"network": "network.yaml", **keys}
        if rows is not None:
            self.write("table.csv", "\n".join(rows) + "\n")
            document["arrivals"] = {"file": "table.csv", "system": "system.txt", **keys.get("arrivals", {})}
        self.write("scenario.yaml", json.dumps(document))
        return self.folder / "scenario.yaml"

    def play(
        self, network: Mapping[str, Any], rows: Sequence[str] | None, options: Mapping[str, Any] = {}, **keys: Any
    ) -> ScenarioResult:
        return astra_ns3.run_scenario(scenario=self.scenario(network, rows, **keys), **options)


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path)


def got(result: ScenarioResult) -> list[Got]:
    jobs = [job for job in result.metadata["jobs"] if "arrival_ps" in job]
    found = []
    for job in jobs:
        assert job["start_ps"] is not None
        found.append(Got(job["start_ps"], job["start_ps"] + job["finish_ps"]))
    return found


class Alone:
    """How long jobs take alone, each kind of them played once."""

    def __init__(self, files: Files, network: Mapping[str, Any], backend: str) -> None:
        self._files = files
        self._network = network
        self._options = {"backend": backend}
        self._known: dict[tuple[str, int, int], int] = {}

    def ps(self, workload: str, npus: int, passes: int) -> int:
        key = workload, npus, passes
        if key not in self._known:
            job = {"name": "alone", "workload": workload, "system": "system.txt", "passes": passes}
            whole = {**job, "npus": [f"0-{npus - 1}"], "dimensions": [npus]}
            self._known[key] = self._files.play(self._network, None, self._options, jobs=[whole]).finish_ps
        return self._known[key]


STEADY = {"congestion_control": "none", "window": "bdp"}
"""Of RoCE as flows: whole packets take whole picoseconds, so that no sum's last digit decides how one is rounded."""


@pytest.mark.parametrize("backend", BACKENDS)
def test_jobs_start_and_end_when_a_list_scheduler_has_them_start_and_end(files: Files, backend: str) -> None:
    npus = 8
    network = star(npus, **(STEADY if backend == "flow" else {}))
    alone = Alone(files, network, backend)
    for seed in range(6):
        draw = Random(seed)
        rows, asked, time_ns = ["time,npus,workload,passes"], [], 0
        for _ in range(draw.randint(5, 14)):
            time_ns += draw.choice([0, draw.randint(0, 60_000)])
            count, passes = draw.choice([2, 3, 4, 4, 6, 8]), draw.randint(1, 3)
            workload = draw.choice(["small.txt", "large.txt"])
            rows.append(f"{time_ns}ns,{count},{workload},{passes}")
            asked.append(Asked(1000 * time_ns, count, alone.ps(workload, count, passes)))
        placement = draw.choice(["packed", "spread", "random", "fragmented"])
        result = files.play(network, rows, {"backend": backend, "seed": seed + 1}, arrivals={"placement": placement})
        expected = first_come(npus, asked)
        assert got(result) == expected, (seed, placement)
        waits = [each.start_ps - job.arrival_ps for each, job in zip(expected, asked, strict=True)]
        assert any(waits)
        table = result.rows("jobs.csv")
        assert [round(float(row["waited_us"]) * US) for row in table] == waits
        assert [round(float(row["arrival_us"]) * US) for row in table] == [job.arrival_ps for job in asked]
        (summary,) = (result.metadata["waits"],)
        assert summary == {
            "arrived": len(asked), "started": len(asked), "mean_ps": sum(waits) // len(waits), "longest_ps": max(waits),
        }  # fmt: skip
        used = sum(job.npus * job.duration_ps for job in asked)
        assert result.metadata["npu_time_used"] == pytest.approx(used / (npus * result.finish_ps), rel=1e-8)
        _check_apart(result, npus)


def _check_apart(result: ScenarioResult, npus: int) -> None:
    """No NPU has two jobs at once, and each job as many as it asked for."""
    spans: dict[int, list[tuple[int, int]]] = {npu: [] for npu in range(npus)}
    for job in result.metadata["jobs"]:
        assert len(job["npus"]) == len(set(job["npus"])) == job["dimensions"][0]
        assert job["start_ps"] is not None
        for npu in job["npus"]:
            spans[npu].append((job["start_ps"], job["start_ps"] + job["finish_ps"]))
    for own in spans.values():
        own.sort()
        assert all(end <= start for (_, end), (start, _) in pairwise(own))


NEW_COLUMNS = ("arrival_us", "waited_us")


@pytest.mark.parametrize(("backend", "transport"), [("ns3", "roce"), ("ns3", "tcp"), ("flow", "roce")])
def test_jobs_that_all_fit_are_those_with_starts_byte_for_byte(
    files: Files, backend: str, transport: str, tmp_path: Path
) -> None:
    network = {**leaf_spine(), "transport": {"kind": transport}}
    record = ["flows", "layers", "timeline", *(["accounts"] if backend == "ns3" else [])]
    rows = ["name,time,npus,workload,passes", "one,0,3,large.txt,2", "two,7us,3,large.txt,1", "three,7us,2,small.txt,2"]
    options: dict[str, Any] = {"backend": backend, "record": record}
    arrived = files.play(network, rows, {**options, "output": tmp_path / "arrived"}, arrivals={"placement": "spread"})
    jobs = [
        {
            "name": job["name"],
            "workload": row.split(",")[3],
            "system": "system.txt",
            "npus": job["npus"],
            "dimensions": [len(job["npus"])],
            "passes": int(row.split(",")[4]),
            "start": row.split(",")[1] if row.split(",")[1] != "0" else 0,
        }
        for job, row in zip(arrived.metadata["jobs"], rows[1:], strict=True)
    ]
    given = files.play(network, None, {**options, "output": tmp_path / "given"}, jobs=jobs)
    for folder in (".", "job-one", "job-two", "job-three"):
        names = {file.name for file in (tmp_path / "given" / folder).iterdir() if file.is_file()}
        assert names == {file.name for file in (tmp_path / "arrived" / folder).iterdir() if file.is_file()}
        for name in sorted(names - {"run.json", "jobs.csv"}):
            one, other = ((tmp_path / each / folder / name).read_bytes() for each in ("given", "arrived"))
            assert one == other, (folder, name)
    before, after = ([*result.rows("jobs.csv")] for result in (given, arrived))
    keep = [{key: cell for key, cell in row.items() if key not in NEW_COLUMNS} for row in after]
    assert keep == [{key: cell for key, cell in row.items() if key not in NEW_COLUMNS} for row in before]
    assert [row["waited_us"] for row in after] == ["0.000000"] * 3
    assert [row["waited_us"] for row in before] == [""] * 3
    assert [row["which"] for row in after] == [" ".join(map(str, job["npus"])) for job in arrived.metadata["jobs"]]
    same = ("finish_ps", "statistics", "floor")
    assert [given.metadata[key] for key in same] == [arrived.metadata[key] for key in same]  # type: ignore[literal-required]


@pytest.mark.parametrize("network", [star(4), star(4, "tcp", delayed_ack_count=1)])
def test_a_job_on_npus_of_an_earlier_one_records_what_it_does_alone(files: Files, network: dict[str, Any]) -> None:
    """Without acknowledgements that the earlier one's receivers hold back."""
    rows = ["time,npus,workload,passes", "0,4,large.txt,1", "1us,4,small.txt,2", "2us,3,large.txt,1"]
    record = ["flows", "accounts", "timeline"]
    result = files.play(network, rows, {"record": record})
    for name, npus, workload, passes in (("arrival-2", 4, "small.txt", 2), ("arrival-3", 3, "large.txt", 1)):
        job = {"name": name, "workload": workload, "system": "system.txt", "passes": passes}
        own = {**job, "npus": [f"0-{npus - 1}"], "dimensions": [npus]}
        alone = files.play(network, None, {"record": record}, jobs=[own]).tenants[name]
        found = result.tenants[name]
        assert result.metadata["jobs"][int(name[-1]) - 1]["start_ps"] > 0  # type: ignore[operator]
        for table in ("flows", "accounts", "account_hops", "phases", "operations", "collectives", "npus"):
            assert getattr(found, table).equals(getattr(alone, table)), (name, table)


def test_jobs_with_npus_of_their_own_keep_them_from_those_that_arrive(files: Files) -> None:
    job = {"name": "mine", "workload": "small.txt", "system": "system.txt", "npus": [1, 2], "dimensions": [2]}
    rows = ["time,npus,workload,passes", "0,4,small.txt,1", "500us,6,small.txt,1"]
    result = files.play(star(8), rows, {"backend": "flow"}, jobs=[job])
    mine, first, second = result.metadata["jobs"]
    assert (mine["npus"], first["npus"], second["npus"]) == ([1, 2], [0, 3, 4, 5], [0, 3, 4, 5, 6, 7])
    assert mine["finish_ps"] < 500 * US


def test_a_rack_is_waited_for_until_it_is_whole(files: Files) -> None:
    rows = ["time,npus,workload,passes", "0,5,large.txt,1", "1us,1,small.txt,1"]
    result = files.play(leaf_spine(), rows, {"backend": "flow"}, arrivals={"placement": "rack"})
    first, second = got(result)
    # Both racks are touched by five NPUs, so that the one of the second job has to be whole again.
    assert second.start_ps == first.end_ps


def test_others_may_start_after_a_job_that_arrives(files: Files) -> None:
    job = {"name": "then", "workload": "small.txt", "system": "system.txt", "npus": [7], "start": {"after": "b"}}
    rows = ["name,time,npus,workload,passes", "a,0,4,large.txt,1", "b,0,7,small.txt,1"]
    result = files.play(star(8), rows, {"backend": "flow"}, jobs=[job])
    then, (_, b) = result.metadata["jobs"][0], got(result)
    assert then["start_ps"] == b.end_ps > b.start_ps > 0


def test_a_table_may_say_the_system_the_grid_and_the_name_of_each_job(files: Files) -> None:
    lines = [f"{line}_{line.split()[1]}" if "-implementation" in line else line for line in SYSTEM.splitlines()]
    files.write("two.txt", "\n".join(lines) + "\n")
    rows = ["time,npus,workload,passes,name,system,dimensions", "0,8,small.txt,1,grid,two.txt,4x2"]
    rows.append("0,2,small.txt,1,,,")
    scenario = files.scenario(star(8), rows)
    grid, other = view_scenario(ScenarioRequest(scenario=scenario)).scenario["jobs"]
    assert (grid["name"], grid["dimensions"], other["name"], other["dimensions"]) == ("grid", [4, 2], "arrival-2", [2])
    assert files.play(star(8), rows, {"backend": "flow"}).complete


ROW = "0,4,small.txt,1"


def refused(files: Files, rows: Sequence[str], network: Mapping[str, Any], **keys: Any) -> str:
    """The words of the error, which comes before anything is played."""
    with pytest.raises(InputError) as raised:
        view_scenario(ScenarioRequest(scenario=files.scenario(network, ["time,npus,workload,passes", *rows], **keys)))
    words = str(raised.value)
    assert words.startswith(f"{files.folder}/")
    assert "\n" not in words
    return words.removeprefix(f"{files.folder}/")


def test_what_can_never_start_or_be_played_anywhere_is_refused_before_the_run(files: Files) -> None:
    mine = {"name": "mine", "workload": "small.txt", "system": "system.txt", "npus": [1, 2]}
    assert refused(files, [ROW, "1us,7,small.txt,1"], star(8), jobs=[mine]) == (
        "table.csv:3: job 'arrival-2': asks for 7 NPUs, but only 6 of the network's 8 are free; expected no more"
    )
    assert refused(files, [ROW], leaf_spine(), arrivals={"placement": "rail"}).startswith(
        "table.csv:2: job 'arrival-1': place: rail means nothing here, for each server has one NPU; expected packed"
    )
    slow = {"at": "1us", "npu": 3, "slower": 2}
    assert refused(files, [ROW], star(8), jobs=[mine], events=[slow]).endswith(
        "NPU 3 may become one of job 'arrival-1', which arrives and gets NPUs when it starts; expected an NPU of a job "
        "with NPUs of its own, or compute-slowdown of the job"
    )
    on_mine = {"at": "1us", "npu": 2, "slower": 2}
    scenario = files.scenario(star(8), ["time,npus,workload,passes", ROW], jobs=[mine], events=[on_mine])
    assert view_scenario(ScenarioRequest(scenario=scenario)).forecast.messages > 0
    files.write("flows.csv", "source,destination,bytes\n0,1,1000\n")
    assert refused(files, ["0,4,flows.csv,1"], star(8)).startswith(
        "table.csv:2: job 'arrival-1': arrives, and its workload is a list of flows, whose starts are times of its own"
    )
    files.write("system.txt", "collectives: nccl\nscheduling-policy: LIFO\npreferred-dataset-splits: 1\n")
    assert refused(files, [ROW], star(8)).startswith(
        "table.csv:2: job 'arrival-1': arrives, and NCCL plays its collectives, which has to know beforehand which NPUs"
    )


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"npus": (0, 1)}, "its NPUs aren't chosen by a placement; expected one"),
        ({"after": After("a")}, "starts after another; expected a number of passes, from a time on"),
        ({"end_ps": 5}, "has an end; expected a number of passes, from a time on"),
        ({"passes": FOREVER}, "plays for ever; expected a number of passes, from a time on"),
    ],
)
def test_a_tenant_of_python_s_that_arrives_has_a_placement_and_an_end_of_its_own(
    given: dict[str, Any], words: str
) -> None:
    rule = Placement(place="packed", count=2)
    own = Tenant(
        "a", **{"npus": rule, "workload": small_workload(), "system": small_system(), "arrives": True, **given}
    )
    with pytest.raises(InputError, match=rf"^tenant 'a': arrives,? and {words}"):
        astra_ns3.run_scenario(network=small_network(npus=4), tenants=[own], backend=FakeBackend(4))


def test_what_is_shown_says_what_arrives_when(files: Files) -> None:
    mine = {"name": "mine", "workload": "small.txt", "system": "system.txt", "npus": [1, 2]}
    rows = ["time,npus,workload,passes", ROW, *(f"{number}us,3,small.txt,2" for number in range(1, 120))]
    view = view_scenario(ScenarioRequest(scenario=files.scenario(star(8), rows, jobs=[mine])))
    lines = scenario_text(view.scenario).splitlines()
    path = files.folder / "small.txt"
    shown = [" ".join(line.split()) for line in lines]
    assert f"mine 2 1-2 0 1 {path}" in shown
    assert f"arrival-1 4 decided when it starts arrives at 0 1 {path}" in shown
    assert f"arrival-2 3 decided when it starts arrives at 1us 2 {path}" in shown
    assert shown[-1] == "and 21 more"
    one = view.scenario["jobs"][1]
    assert (one["npus"], one["arrival_ps"], one["dimensions"]) == ([], 0, [4])
    where, when = scenario_figure(view.scenario).panels
    assert where.y.names == ["from NPU 0"]
    assert len(when.y.names) == 1 + MOST_ARRIVALS
    assert when.y.names[1] == "arrival-1: arrives at 0"
    left = f"{120 - MOST_ARRIVALS} more jobs arrive"
    assert when.note == f"{left}; thin: some time along the bar; dashes: no end is known"


def test_the_table_at_the_end_has_a_line_about_waits(files: Files) -> None:
    rows = ["time,npus,workload,passes", "0,3,small.txt,1", "1us,4,small.txt,1"]
    result = files.play(star(4), rows, {"backend": "flow"})
    first, second = got(result)
    wait_ps = second.start_ps - US
    used = (3 * first.end_ps + 4 * (second.end_ps - second.start_ps)) / (4 * second.end_ps)
    (line,) = (line for line in scenario_run_text(result.metadata, None).splitlines() if line.startswith("waits"))
    assert line.removeprefix("waits").strip() == (
        f"{format_time(wait_ps // 2)} on average, {format_time(wait_ps)} at most, of 2 jobs that arrived; "
        f"jobs had {100 * used:.1f}% of all NPUs' time"
    )
    assert scenario_summary(result.metadata, None)["waits"] == result.metadata["waits"]


def test_a_run_that_is_cut_off_tells_who_never_started(files: Files) -> None:
    rows = ["time,npus,workload,passes", "0,3,large.txt,1", "1us,4,small.txt,1"]
    with pytest.raises(LimitReached) as raised:
        files.play(star(4), rows, {"backend": "flow", "limits": Limits(simulated_ps=30 * US)})
    result = raised.value.result
    waiting = result.metadata["jobs"][1]
    assert (waiting["start_ps"], waiting["npus"], waiting["finish_ps"], waiting["complete"]) == (None, [], 0, False)
    assert result.metadata["waits"] == {"arrived": 2, "started": 1, "mean_ps": 0, "longest_ps": 0}
    row = result.rows("jobs.csv")[1]
    assert (row["npus"], row["which"], row["start_us"], row["waited_us"], row["arrival_us"]) == (
        "4", "", "", "", "1.000000",
    )  # fmt: skip
