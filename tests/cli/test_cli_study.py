"""``astra-ns3 study`` from its file to its page: what is played, what is kept, what is said."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from support.command import Finished, run_command
from support.small_run import NETWORK, SYSTEM, WORKLOAD
from support.studies import BASE

import astra_ns3
from astra_ns3.errors import PointsFailed
from astra_ns3.studies import address, run_study
from astra_ns3.studies.playing import play_tasks

TIMEOUT_SECONDS = 300


def small_study(**more: Any) -> dict[str, Any]:
    """Two sizes of a small run: the smaller one ends at 31.6 us, the larger one at 34.5 us."""
    files = {"workload": "workload.txt", "system": "system.txt", "network": "network.yaml"}
    figures = {"time": {"kind": "bars", "x": "comm_scale", "y": "finish_us"}}
    part = {"title": "Sizes", "axes": {"comm_scale": [0.01, 1.0]}, "figures": figures}
    return {"title": "Small", "base": files, "parts": {"sizes": part}, **more}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the three files of a small run."""
    for name, text in (("workload.txt", WORKLOAD), ("system.txt", SYSTEM), ("network.yaml", NETWORK)):
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def study(folder: Path, document: dict[str, Any], *words: str) -> Finished:
    """The command as a user calls it, with the study as a file."""
    (folder / "study.yaml").write_text(yaml.safe_dump(document), encoding="utf-8")
    command = ("study", "study.yaml", "-o", "out", "--jobs", "1", *words)
    return run_command(*command, folder=folder, timeout=TIMEOUT_SECONDS)


def table(folder: Path) -> list[dict[str, str]]:
    with (folder / "out" / "study.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_a_study_writes_its_tables_figures_and_page_and_plays_nothing_twice(folder: Path) -> None:
    first = study(folder, small_study())
    assert first.returncode == 0, first.stderr
    assert "played  2 now, 0 were there, 0 failed" in first.stdout
    out = folder / "out"
    assert {path.name for path in out.iterdir() if not path.name.startswith(".")} >= {
        "figures", "index.html", "index.sqlite", "journal", "layers.csv", "points", "study.csv", "study.parquet",
        "study.yaml",
    }  # fmt: skip
    assert {path.name for path in (out / "figures").iterdir()} == {"sizes-time.png", "sizes-time.svg"}
    page = (out / "index.html").read_text(encoding="utf-8")
    assert "<svg" in page
    assert "astra-ns3 study study.yaml -o out" in page
    rows = table(folder)
    assert [(row["comm_scale"], row["status"]) for row in rows] == [("0.01", "done"), ("1.0", "done")]
    assert float(rows[0]["finish_us"]) < float(rows[1]["finish_us"])
    before = {path: path.stat().st_mtime_ns for path in (out / "points").rglob("*")}
    again = study(folder, small_study())
    assert again.returncode == 0
    assert "played  0 now, 2 were there, 0 failed" in again.stdout
    assert {path: path.stat().st_mtime_ns for path in (out / "points").rglob("*")} == before
    assert table(folder) == rows


def test_pictures_of_figures_that_a_study_no_longer_has_are_removed_and_no_others(folder: Path) -> None:
    first = small_study()
    study(folder, first)
    figures = folder / "out" / "figures"
    (figures / "mine.png").touch()
    part = first["parts"]["sizes"]
    renamed = small_study(parts={"sizes": {**part, "figures": {"finish": part["figures"]["time"]}}})
    assert study(folder, renamed).returncode == 0
    assert {path.name for path in figures.iterdir()} == {"sizes-finish.png", "sizes-finish.svg", "mine.png"}


@pytest.mark.slow
def test_without_matplotlib_a_study_says_so_and_writes_all_but_its_figures(
    folder: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    astra_ns3.study(small_study(), output="out", jobs=1)
    assert "matplotlib is not installed: the study has tables but no figures" in caplog.text
    assert len(table(folder)) == 2
    assert "<svg" not in (folder / "out" / "index.html").read_text(encoding="utf-8")
    assert not list((folder / "out" / "figures").iterdir())


def test_a_point_that_fails_is_told_and_the_rest_is_done(folder: Path) -> None:
    done = study(folder, small_study(limits={"simulated_time": "33us"}), "--json")
    document = json.loads(done.stdout)
    assert (done.returncode, document["exit_status"]) == (PointsFailed.exit_status, 7)
    assert document["kind"] == "PointsFailed"
    assert [point["status"] for point in document["points"]] == ["done", "failed"]
    assert "1 of 2 runs failed: part sizes, comm_scale 1, seed 1: " in done.stderr
    assert "simulated time" in document["points"][1]["error"]
    page = (folder / "out" / "index.html").read_text(encoding="utf-8")
    assert "1 run failed" in page
    assert "Missing 1 of 2 points: comm_scale 1, seed 1 (failed)" in page
    wider = study(folder, small_study(limits={"simulated_time": "1s"}))
    assert wider.returncode == 0
    assert "played  1 now, 1 were there, 0 failed" in wider.stdout


@pytest.mark.slow
def test_failed_points_that_are_played_again_count_as_played_now(folder: Path) -> None:
    narrow = small_study(limits={"simulated_time": "33us"})
    study(folder, narrow)
    again = study(folder, narrow, "--retry-failed")
    assert again.returncode == PointsFailed.exit_status
    assert "played  1 now, 1 were there, 1 failed" in again.stdout


def test_what_is_wrong_with_a_point_is_told_before_anything_is_written(folder: Path) -> None:
    for key, value in (("passes", 0), ("report_npu", 99), ("network.transport.windw", "1MB")):
        document = small_study()
        document["base"][key] = value
        done = study(folder, document)
        assert (done.returncode, done.stdout) == (2, "")
        assert len(done.stderr.splitlines()) == 1
        assert not (folder / "out").exists()


def test_a_list_says_what_is_there_and_what_the_rest_takes(folder: Path) -> None:
    listed = study(folder, small_study(), "--list")
    assert listed.returncode == 0
    assert "runs      2: 0 done, 0 failed, 2 to play" in listed.stdout
    assert "of one core, start included; at most" in listed.stdout
    assert not (folder / "out").exists()
    study(folder, small_study(), "--only", "comm_scale=0.01", "--quiet")
    done, left = study(folder, small_study(), "--list").stdout.splitlines()[1:3]
    assert [line.split()[-2] == "-" for line in (done, left)] == [True, False]
    points = json.loads(study(folder, small_study(), "--list", "--json").stdout)["points"]
    assert [point["status"] for point in points] == ["done", "not played"]
    assert points[0]["forecast_seconds"] is None
    assert points[1]["forecast_seconds"] > 0


def test_a_list_counts_failed_points_that_are_played_again_as_to_play(folder: Path) -> None:
    short = small_study() | {"limits": {"simulated_time": "1us"}}
    study(folder, short, "--quiet")
    assert "2: 0 done, 2 failed, 0 to play" in study(folder, short, "--list").stdout
    assert "2: 0 done, 0 failed, 2 to play" in study(folder, small_study(), "--list").stdout
    assert "2: 0 done, 0 failed, 2 to play" in study(folder, short, "--list", "--retry-failed").stdout


@pytest.mark.parametrize(("key", "value", "bound"), [("end", "9us", "at most "), ("passes", "forever", "at least ")])
def test_a_list_says_on_which_side_a_forecast_errs(folder: Path, key: str, value: str, bound: str) -> None:
    files = {name: BASE[name] for name in ("workload", "system")}
    jobs = [{"name": name, **files, "npus": npus, "dimensions": [4]} for name, npus in (("a", ["0-3"]), ("b", ["4-7"]))]
    jobs[1][key] = value
    (folder / "two.yaml").write_text(yaml.safe_dump({"network": BASE["network"], "jobs": jobs}), encoding="utf-8")
    part = {"axes": {"scenario.jobs.0.passes": [1, 2]}}
    listed = study(folder, {"base": {"scenario": "two.yaml"}, "parts": {"passes": part}}, "--list")
    assert f"forecast  {bound}" in listed.stdout


def test_a_study_from_python_is_a_table_with_the_runs_behind_it(folder: Path) -> None:
    document = small_study()
    document["base"] = {key: str(folder / name) for key, name in document["base"].items()}
    result = astra_ns3.study(document, output=folder / "out", jobs=1)
    assert isinstance(result, astra_ns3.StudyResult)
    assert list(result.frame["comm_scale"]) == [0.01, 1.0]
    assert result.result(1).finish_ps / 1e6 == result.frame["finish_us"][1]
    assert (len(result.failed), result.folder) == (0, folder / "out")
    assert set(result.layers["layer"]) == {"first", "second"}
    assert result.figure("time").axes[0].get_ylabel().startswith("finish")
    again = astra_ns3.study(document, output=folder / "out", only=["comm_scale=1"])
    assert (again.played, len(again.frame)) == (0, 2)


def test_what_was_played_is_shown_though_the_program_changes_meanwhile(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def played_and_installed_anew(*words: Any, **named: Any) -> Any:
        outcomes = play_tasks(*words, **named)
        monkeypatch.setattr(address, "native_digest", lambda: "of another build")
        return outcomes

    monkeypatch.setattr(run_study, "play_tasks", played_and_installed_anew)
    document = small_study()
    document["base"] = {key: str(folder / name) for key, name in document["base"].items()}
    result = astra_ns3.study(document, output=folder / "out", jobs=1, only=["comm_scale=1"])
    assert (result.played, list(result.frame["comm_scale"]), list(result.frame["status"])) == (1, [1.0], ["done"])


def test_importing_studies_loads_neither_dask_nor_pandas() -> None:
    program = (
        "import sys, astra_ns3.cli.study; print(sorted({'dask', 'pandas', 'matplotlib', 'cppyy'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "[]"


def test_a_study_leaves_files_of_the_user_alone_until_asked_to_replace_them(folder: Path) -> None:
    (folder / "b.yaml").write_text(yaml.safe_dump(small_study()), encoding="utf-8")
    (folder / "study.yaml").write_text("mine", encoding="utf-8")
    before = sorted(folder.iterdir())
    command = ("study", "b.yaml", "-o", ".", "--jobs", "1")
    done = run_command(*command, folder=folder, timeout=TIMEOUT_SECONDS)
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    words = (
        "the folder holds study.yaml, and no mark of a study, a plan or a budget; name another one or use --overwrite"
    )
    assert line.endswith(words)
    assert sorted(folder.iterdir()) == before
    assert (folder / "study.yaml").read_text(encoding="utf-8") == "mine"
    for more in (["--overwrite"], []):  # then the folder is the study's own
        assert run_command(*command, *more, folder=folder, timeout=TIMEOUT_SECONDS).returncode == 0
