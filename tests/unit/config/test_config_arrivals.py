"""A table of jobs that arrive: what its lines say, and what is wrong with them, in one line with file and line."""

from __future__ import annotations

from pathlib import Path

import pytest

from astra_ns3.config.scenario.arrivals import Arrival, ArrivalsConfig, read_arrivals
from astra_ns3.config.scenario.file import read_scenario
from astra_ns3.errors import InputError
from astra_ns3.experiments.scenario_request import ScenarioRequest

HEAD = "time,npus,workload,passes\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("n.yaml", "w.txt", "s.txt", "t.txt"):
        (tmp_path / name).write_text("x", encoding="utf-8")
    return tmp_path


def table_of(folder: Path, text: str, system: str | None = "s.txt") -> tuple[Arrival, ...]:
    (folder / "jobs.csv").write_text(text, encoding="utf-8")
    config = ArrivalsConfig(file=str(folder / "jobs.csv"), system=None if system is None else str(folder / system))
    return read_arrivals(config)


def test_a_table_has_a_job_a_line_with_paths_beside_it(folder: Path) -> None:
    text = "# a trace\nsystem, time,npus,workload, passes,name,dimensions\n,0,4,w.txt,2,,\n"
    first, second = table_of(folder, f"{text}t.txt,1.5us,8,w.txt,1,big,4x2\n")
    path = folder / "jobs.csv"
    assert first == Arrival(
        "arrival-1", 0, 4, str(folder / "w.txt"), str(folder / "s.txt"), 2, (4,), f"{path}:3: job 'arrival-1'"
    )
    assert second == Arrival(
        "big", 1_500_000, 8, str(folder / "w.txt"), str(folder / "t.txt"), 1, (4, 2), f"{path}:4: job 'big'"
    )


def test_a_workload_may_be_the_prefix_of_a_traces_files(folder: Path) -> None:
    (folder / "trace.0.et").touch()
    (job,) = table_of(folder, HEAD + "0,4,trace,1\n")
    assert job.workload == str(folder / "trace")


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        (HEAD, 0, "has no rows, expected a line for each job below the names of columns"),
        (HEAD + "-1us,4,w.txt,1\n", 2, "time: '-1us' is not a time: write a number that is not negative and one of ps"),
        (HEAD + "7,4,w.txt,1\n", 2, "time: '7' has no unit: write a time as a number and one of ps, ns, us, ms, s"),
        (HEAD + "2us,4,w.txt,1\n\n1us,4,w.txt,1\n", 4, "time: found 1us, expected at least 2us, that of the line abov"),
        (HEAD + "0,0,w.txt,1\n", 2, "npus is 0, expected a whole number from 1 to 100000"),
        (HEAD + "0,x,w.txt,1\n", 2, "npus is 'x', expected a whole number from 1 to 100000"),
        (HEAD + "0,4,w.txt,forever\n", 2, "passes is 'forever', expected a whole number from 1 to 1000000000"),
        (HEAD + "0,4,v.txt,1\n", 2, "workload: found 'v.txt', expected a file; there is no "),
        (HEAD + "0,4,,1\n", 2, "workload: found '', expected a file; there is no "),
        (HEAD + "0,4,w.txt\n", 2, "found 3 columns, expected time, npus, workload, passes"),
        ("time,npus,workload\n", 1, "the header lacks passes; columns: time, npus, workload, passes, name, system, di"),
        ("time,npus,workload,pases\n", 1, "column 'pases' is not one of time, npus, workload, passes, name, system, "),
        ("time,npus,workload,passes,time\n", 1, "the header names a column twice; columns: "),
        ("time,npus,workload,passes,system\n0,4,w.txt,1,v.txt\n", 2, "system: found 'v.txt', expected a file; there i"),
        ("time,npus,workload,passes,dimensions\n0,4,w.txt,1,2x3\n", 2, "dimensions: found '2x3', expected sizes as 8x2 "
         "that make 4 NPUs, the innermost first"),
        ("time,npus,workload,passes,dimensions\n0,4,w.txt,1,2 2\n", 2, "dimensions: found '2 2', expected sizes as 8x"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_table_is_told_in_a_line(folder: Path, text: str, line: int, words: str) -> None:
    with pytest.raises(InputError) as raised:
        table_of(folder, text)
    place = f"{folder / 'jobs.csv'}:{line}" if line else str(folder / "jobs.csv")
    assert str(raised.value).startswith(f"{place}: {words}")
    assert "\n" not in str(raised.value)


def test_a_job_without_a_system_is_refused_unless_all_have_one(folder: Path) -> None:
    with pytest.raises(InputError, match=r"jobs.csv:2: names no system, expected one, or system: FILE beside the tab"):
        table_of(folder, HEAD + "0,4,w.txt,1\n", system=None)


SCENARIO = "network: n.yaml\narrivals: {file: jobs.csv, system: s.txt}\n"


@pytest.mark.parametrize(
    ("text", "rows", "words"),
    [
        (SCENARIO.replace("jobs.csv", "none.csv"), "", "scenario.yaml:2: key 'arrivals.file': found 'none.csv', expec"),
        (SCENARIO.replace("system", "sistem"), "", "scenario.yaml:2: key 'arrivals.sistem': unknown key; allowed: fil"),
        (
            SCENARIO.replace("}", ", placement: packet}"),
            "",
            "scenario.yaml:2: key 'arrivals.placement': found 'packet', allowed: packed, spread, random, fragmented",
        ),
        (SCENARIO.replace("}", ", order: backfill}"), "", "scenario.yaml:2: key 'arrivals.order': found 'backfill', "),
        (
            SCENARIO + "jobs:\n  - {name: a, workload: w.txt, system: s.txt}\n",
            "",
            "scenario.yaml:4: key 'jobs.0': job 'a' has no npus, which are all of them; expected some, beside other jo",
        ),
        (
            SCENARIO + "jobs:\n  - {name: a, workload: w.txt, system: s.txt, npus: 0}\n",
            "0,1,w.txt,1,b\n0,1,w.txt,1,a\n",
            "jobs.csv:3: job 'a': has a name of another, expected a new one",
        ),
        (SCENARIO, "0,1,w.txt,1,b\n0,1,w.txt,1,b\n", "jobs.csv:3: job 'b': has a name of another, expected a new one"),
    ],
)
def test_what_is_wrong_with_the_keys_is_told_in_a_line(folder: Path, text: str, rows: str, words: str) -> None:
    (folder / "jobs.csv").write_text(f"time,npus,workload,passes,name\n{rows}", encoding="utf-8")
    (folder / "scenario.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as raised:
        ScenarioRequest(scenario=folder / "scenario.yaml")
    assert str(raised.value).startswith(f"{folder}/{words}")
    assert "\n" not in str(raised.value)


def test_a_path_alone_is_a_table(folder: Path) -> None:
    (folder / "jobs.csv").write_text("x", encoding="utf-8")
    (folder / "scenario.yaml").write_text("network: n.yaml\narrivals: jobs.csv\n", encoding="utf-8")
    config = read_scenario(folder / "scenario.yaml").config.arrivals
    assert config == ArrivalsConfig(file=str(folder / "jobs.csv"))
