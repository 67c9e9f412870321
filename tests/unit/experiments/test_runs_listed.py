"""``astra-ns3 runs``: the runs of a folder, with columns, conditions and an order of one's choice."""

from __future__ import annotations

import csv
import io
import json
import os
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from astra_ns3.cli.runs import runs_command
from astra_ns3.experiments.replacing import PENDING


def run_json(name: str, finish_ps: int, **more: Any) -> dict[str, Any]:
    """What a run.json has, as far as a list looks at it."""
    return {
        "format": "astra-ns3 run",
        "format_version": 1,
        "run_name": name,
        "complete": True,
        "stopped": None,
        "finish_ps": finish_ps,
        "exposed_ps": finish_ps // 2,
        "npus": 8,
        "backend": "ns3",
        "workload": {"source": f"inputs/{name}.txt", "layers": [{"name": "top", "update_ns": 7}]},
        "network": {"topology": {"link": {"rate": 10**11, "delay": "500ns"}}},
        "timing": {"wall_seconds": 2.5},
        "started": "2026-01-02T03:04:05+00:00",
        **more,
    }


def put(folder: Path, content: object) -> None:
    folder.mkdir(parents=True)
    text = content if isinstance(content, str) else json.dumps(content)
    (folder / "run.json").write_text(text, encoding="utf-8")


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """Three runs, one a point of a study, and folders that hold none."""
    fast = {"topology": {"link": {"rate": 4 * 10**11, "delay": "2us"}}}
    put(tmp_path / "a", run_json("small", 2_000_000))
    put(tmp_path / "study" / "points" / "0123", run_json("point", 9_000_000, backend="analytical", network=fast))
    stopped = {"kind": "LimitReached", "message": "", "exit_status": 4}
    put(tmp_path / "b" / "seed-1", run_json("large", 5_000_000, complete=False, stopped=stopped, npus=128))
    put(tmp_path / "b2", {"format": "astra-ns3 seeds", "seed": 1})
    put(tmp_path / ".hidden", run_json("never", 1))
    (tmp_path / "empty").mkdir()
    return tmp_path


def runs(*words: str) -> Result:
    return CliRunner().invoke(runs_command, words, standalone_mode=False)


def cells(folder: Path, *words: str) -> list[list[str]]:
    """Rows of the CSV."""
    result = runs(str(folder), "--format", "csv", *words)
    assert result.exception is None, result.exception
    return list(csv.reader(io.StringIO(result.stdout)))


def test_every_run_below_a_folder_is_a_row_a_study_s_points_too(results: Path) -> None:
    result = runs(str(results))
    lines = result.stdout.splitlines()
    assert lines[0].split() == ["folder", "name", "workload", "npus", "backend", "state", "finish", "exposed", "date"]
    assert [line.split()[:2] for line in lines[1:]] == [
        ["a", "small"],
        ["b/seed-1", "large"],
        ["study/points/0123", "point"],
    ]
    assert lines[1].split()[2:] == [
        "small.txt",
        "8",
        "ns3",
        "complete",
        "2",
        "us",
        "1",
        "us",
        run_json("", 0)["started"],
    ]
    assert "LimitReached" in lines[2]


def test_of_a_run_whose_replacing_was_killed_the_new_one_is_listed(tmp_path: Path) -> None:
    put(tmp_path / "half", run_json("old", 1))
    put(tmp_path / "half" / PENDING, run_json("new", 2))
    put(tmp_path / "gone" / PENDING, run_json("newer", 3))  # the old one's run.json goes first
    rows = cells(tmp_path, "--columns", "folder,name,finish")[1:]
    assert rows == [["gone", "newer", "3"], ["half", "new", "2"]]


def test_a_run_below_its_floor_is_marked_and_can_be_left_out(tmp_path: Path) -> None:
    for name, share in (("below", 0.25), ("above", 1.5), ("damaged", "x"), ("none", None)):
        put(tmp_path / name, run_json(name, 2_000_000, floor={"share": share}))
    marked = [line.split()[0] for line in runs(str(tmp_path)).stdout.splitlines() if "2 us (below the floor)" in line]
    assert marked == ["below"]
    assert cells(tmp_path, "--columns", "name,finish,of_floor", "--where", "of_floor>=1") == [
        ["name", "finish_ps", "of_floor"],
        ["above", "2000000", "1.5"],
    ]


def test_a_time_that_counts_from_the_start_of_a_job_is_marked(tmp_path: Path) -> None:
    for name, start_ps in (("first", 0), ("later", 5)):
        put(tmp_path / f"job-{name}", run_json(name, 2_000_000, job={"name": name, "start_ps": start_ps}))
    told = [line for line in runs(str(tmp_path)).stdout.splitlines() if "2 us" in line]
    assert ["2 us (from its start)" in line for line in told] == [False, True]


def test_a_job_has_the_share_of_its_own_floor_and_not_that_of_the_whole_run(tmp_path: Path) -> None:
    whole = {"format": "astra-ns3 scenario", "format_version": 1, "finish_ps": 9, "floor": {"share": 1.25}}
    put(tmp_path / "two-jobs", whole)
    for name, floor in (("a", {"share": 1.5}), ("stopped", None)):
        put(tmp_path / "two-jobs" / f"job-{name}", run_json(name, 9, floor=floor, job={"name": name}))
    assert cells(tmp_path, "--columns", "name,of_floor") == [["name", "of_floor"], ["a", "1.5"], ["stopped", ""]]


def test_columns_are_short_names_or_any_key_and_numbers_bare_in_csv(results: Path) -> None:
    rows = cells(results, "--columns", "name,finish,network.topology.link.rate,workload.layers.top.update-ns,wall")
    assert rows[0] == [
        "name",
        "finish_ps",
        "network.topology.link.rate",
        "workload.layers.top.update-ns",
        "wall_seconds",
    ]
    assert rows[1] == ["small", "2000000", "100000000000", "7", "2.5"]
    assert cells(results, "--columns", "+stopped.exit_status")[0][-2:] == ["date", "stopped.exit_status"]


@pytest.mark.parametrize(
    ("conditions", "names"),
    [
        (["backend=ns3"], ["small", "large"]),
        (["backend!=ns3"], ["point"]),
        (["finish<5us"], ["small"]),
        (["finish<=5us", "npus>=100"], ["large"]),
        (["finish_ps>1000000", "finish_ps<9000000"], ["small", "large"]),
        (["network.topology.link.rate=400Gbps"], ["point"]),
        (["network.topology.link.delay>1us"], ["point"]),
        (["name=*l*"], ["small", "large"]),
        (["complete=on"], ["small", "point"]),
        (["stopped.exit-status=4"], ["large"]),
        (["wall<3s"], ["small", "large", "point"]),
        (["finish=5us"], ["large"]),
        (["finish!=none"], ["small", "large", "point"]),
        (["finish=2*"], ["small"]),
        (["exposed=none"], []),
        (["stopped.exit-status<9"], ["large"]),
        (["state=complete", "seed=1"], []),
    ],
)
def test_conditions_compare_numbers_with_units_and_words(
    results: Path, conditions: list[str], names: list[str]
) -> None:
    if any("seed" in each for each in conditions):
        put(results / "c", run_json("seeded", 1, seed=2))
    words = [word for condition in conditions for word in ("--where", condition)]
    assert [row[0] for row in cells(results, "--columns", "name", *words)[1:]] == names


def test_a_time_may_be_given_as_the_table_shows_it(tmp_path: Path) -> None:
    put(tmp_path / "a", run_json("near", 1_477_123_456))
    put(tmp_path / "b", run_json("far", 1_478_123_456))
    for condition, name in (("finish=1.477 ms", "near"), ("finish!=1.477ms", "far")):
        assert cells(tmp_path, "--columns", "name", "--where", condition)[1:] == [[name]]


@pytest.mark.parametrize(
    ("by", "names"),
    [
        ("finish", ["small", "point", "large"]),
        ("-finish", ["point", "small", "large"]),
        ("backend,-npus", ["point", "large", "small"]),
        ("stopped.exit_status,name", ["large", "point", "small"]),
    ],
)
def test_rows_are_sorted_by_columns_and_empty_cells_are_last(results: Path, by: str, names: list[str]) -> None:
    assert [row[0] for row in cells(results, "--columns", "name", "--sort", by)[1:]] == names


def test_cells_that_a_spreadsheet_would_run_are_quoted_and_numbers_stay(tmp_path: Path) -> None:
    for place, name in enumerate(("=1+2", "+A1", "-A1", "@SUM(A1)", "-5")):
        put(tmp_path / f"r{place}", run_json(name, 1, balance=-5, share=-0.5))
    rows = cells(tmp_path, "--columns", "name,balance,share")
    assert [row[0] for row in rows[1:]] == ["'=1+2", "'+A1", "'-A1", "'@SUM(A1)", "-5"]
    assert {tuple(row[1:]) for row in rows[1:]} == {("-5", "-0.5")}


def test_json_has_the_rows_and_what_is_damaged(results: Path) -> None:
    put(results / "cut", '{"format": "astra-ns3 ru')
    document = json.loads(runs(str(results), "--format", "json", "--columns", "name,finish").stdout)
    assert document["runs"][0] == {"name": "small", "finish_ps": 2_000_000}
    assert [each["folder"] for each in document["damaged"]] == ["cut"]


def test_damaged_folders_are_one_line_at_the_end(results: Path) -> None:
    put(results / "cut", '{"format": "astra-ns3 ru')
    put(results / "list", "[1, 2]")
    put(results / "deep", "[" * 100_000)
    put(results / "old", {"format": "astra-ns3 run", "format_version": 99})
    (results / "folder" / "run.json").mkdir(parents=True)
    put(results / "odd", {**run_json("odd", 1), "finish_ps": "soon", "npus": {"a": 1}, "timing": 3, "workload": [1]})
    put(results / "huge", '{"format": "astra-ns3 run", "format_version": 1, "finish_ps": 1' + "0" * 400 + "}")
    result = runs(str(results), "--sort", "finish")
    assert result.exception is None
    lines = result.stderr.splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("astra-ns3: warning: 5 folders left out, whose run can't be read: cut: ")
    assert "odd" in result.stdout
    assert "soon" in result.stdout


def test_control_letters_of_a_name_never_reach_the_terminal(tmp_path: Path) -> None:
    put(tmp_path / "a", run_json("red\u001b[31m", 1))
    put(tmp_path / os.fsdecode(b"\xff\x1b[32m"), run_json("b", 1))
    put(tmp_path / "green\u001b[32m", "{")
    result = runs(str(tmp_path))
    assert result.exception is None
    assert "\u001b" not in result.stdout + result.stderr
    for form in ("csv", "json"):
        assert runs(str(tmp_path), "--format", form).exception is None


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--columns", "finsh"], "did you mean 'finish'?"),
        (["--columns", "network.topologi"], "did you mean 'network.topology'?"),
        (["--columns", "a,,b"], "expected names with commas between them"),
        (["--where", "finish"], "expected COLUMN=VALUE"),
        (["--where", "finish<soon"], "'soon' is no number, with or without a unit"),
        (["--where", "finish<1000"], "'1000' has no unit, expected one, such as 2ms"),
        (["--where", "finish=soon"], "'soon' is no number with a unit, such as 2ms"),
        (["--where", "memory!=soon"], "'soon' is no number with a unit, such as 4GB"),
        (["--where", "memory>1.5"], "'1.5' has no unit, expected one, such as 4GB"),
        (["--sort", "-finsh"], "column 'finsh' is none of folder"),
    ],
)
def test_what_is_no_column_or_condition_is_named(results: Path, words: list[str], said: str) -> None:
    assert said in str(runs(str(results), *words).exception)


def test_a_folder_without_runs_and_none_at_all(tmp_path: Path) -> None:
    assert runs(str(tmp_path)).stdout == "no runs\n"
    assert "no such folder" in str(runs(str(tmp_path / "x")).exception)


def test_of_a_list_of_flows_no_exposed_time_is_told(tmp_path: Path) -> None:
    put(tmp_path / "loop", run_json("loop", 2_000_000))
    of_flows = run_json("flows", 2_000_000, flows={"flows": 3})
    del of_flows["exposed_ps"]
    put(tmp_path / "flows", of_flows)
    rows = dict(cells(tmp_path, "--columns", "name,exposed")[1:])
    assert rows == {"loop": "1000000", "flows": ""}


def control(kind: str) -> dict[str, Any]:
    return {"network": {"transport": {"congestion_control": {"kind": kind, "gain": None}}}}


def test_a_group_with_a_kind_is_shown_and_compared_as_its_kind(tmp_path: Path) -> None:
    for kind in ("none", "swift"):
        put(tmp_path / kind, run_json(f"{kind}-run", 1, **control(kind)))
    key = "network.transport.congestion_control"
    assert cells(tmp_path, "--columns", f"name,{key}", "--where", f"{key}=swift")[1:] == [["swift-run", "swift"]]
    assert runs(str(tmp_path), "--columns", key).stdout.split() == [key, "none", "swift"]


def test_a_condition_on_a_group_without_a_kind_names_its_keys(results: Path) -> None:
    said = str(runs(str(results), "--where", "network.topology.link=100Gbps").exception)
    assert "network.topology.link is a group of keys, expected one of its own: network.topology.link.rate" in said


def stored(store: Path, *points: str) -> None:
    """The runs of a study's points, named after their addresses."""
    store.mkdir()
    (store / ".study.json").write_text("{}")
    for finish, point in enumerate(points, 1):
        put(store / "points" / point, run_json(point, finish))
        os.utime(store / "points" / point / "run.json", (1, 1))


def test_points_that_a_study_has_no_more_are_left_out_and_counted(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    stored(tmp_path / "study", "old", "new")
    (tmp_path / "study" / "study.csv").write_text("part,address\na,new\n")
    assert cells(tmp_path, "--columns", "name") == [["name"], ["new"]]
    assert "1 run left out (1 earlier point); --all lists them" in caplog.text
    assert cells(tmp_path, "--columns", "name,note", "--all")[1:] == [["new", ""], ["old", "earlier point"]]


def test_points_played_since_the_table_was_written_and_those_without_a_table_are_listed(tmp_path: Path) -> None:
    stored(tmp_path / "study", "old", "new")
    assert len(cells(tmp_path)) == 3
    (tmp_path / "study" / "study.csv").write_text("part,address\na,none\n")
    os.utime(tmp_path / "study" / "points" / "new" / "run.json")
    os.utime(tmp_path / "study" / "study.csv", (9, 9))
    assert cells(tmp_path, "--columns", "name") == [["name"], ["new"]]


def test_of_a_plan_only_plans_and_whole_models_on_packets_are_listed(tmp_path: Path) -> None:
    stored(tmp_path / "plan", "one", "two", "longer", "whole", "small", "flows")
    table = ["plans,A,,,one", "plans,B,,,two", "iterations,A,1,,one", "iterations,A,2,,longer"]
    table += ["packets,A,,flow,one", "packets,A,,ns3,whole", "packets,B,,flow,flows", "packets,B,,ns3,small"]
    (tmp_path / "plan" / "study.csv").write_text("\n".join(["part,plan,passes,backend,address", *table]))
    (tmp_path / "plan" / "plan.csv").write_text("plan,packets_on\nA,whole model\nB,1 of 4 layers\n")
    rows = cells(tmp_path, "--columns", "name,note", "--all", "--sort", "note,name")
    assert [name for name, note in rows[1:] if note] == ["flows", "longer", "small"]
    assert [row[0] for row in cells(tmp_path, "--columns", "name", "--sort", "name")[1:]] == ["one", "two", "whole"]


def test_times_of_unfinished_runs_are_sorted_last(tmp_path: Path) -> None:
    put(tmp_path / "a", run_json("stopped", 1, complete=False))
    put(tmp_path / "b", run_json("whole", 2))
    for order in ("finish", "-finish", "exposed"):
        assert [row[0] for row in cells(tmp_path, "--columns", "name", f"--sort={order}")[1:]] == ["whole", "stopped"]


def test_models_have_tokens_a_second_beside_their_finish(tmp_path: Path) -> None:
    """The run that ends sooner trains on less: who sorts by the finish sees it."""
    put(tmp_path / "a", run_json("a", 8_000_000, throughput={"tokens_per_second": 4_046_693.7}))
    put(tmp_path / "b", run_json("b", 3_000_000, throughput={"tokens_per_second": None}))
    head, *rows = cells(tmp_path)
    assert head[-3:] == ["exposed_ps", "tokens_per_second", "date"]
    assert [row[-2] for row in rows] == ["4046694", ""]
    assert " 4,046,694 " in runs(str(tmp_path)).output
