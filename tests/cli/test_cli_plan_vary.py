"""``astra-ns3 plan --vary`` from its files to its folder."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
import yaml
from support.command import Finished, run_command

TIMEOUT_SECONDS = 300
MODEL = {
    "kind": "transformer",
    "name": "small",
    "model": {"layers": 2, "hidden": 256, "heads": 2, "vocabulary": 1000},
    "training": {"sequence": 256, "global_batch": 2},
    "compute": "H100",
}
NETWORK = {
    "topology": {
        "kind": "single-switch",
        "npus": 2,
        "link": {"rate": "400Gbps", "delay": "500ns"},
        "switch": {"buffer": "32MiB", "pfc": {}},
    },
    "transport": {"kind": "roce", "payload": 4096},
}
RATE = "network.topology.link.rate"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a model and a network."""
    for name, document in (("model.yaml", MODEL), ("network.yaml", NETWORK)):
        (tmp_path / name).write_text(yaml.safe_dump(document), encoding="utf-8")
    return tmp_path


def plan(folder: Path, *words: str, out: str = "out") -> Finished:
    """The command as a user calls it."""
    return run_command(
        "plan",
        "model.yaml",
        "-n",
        "network.yaml",
        "-o",
        out,
        "--jobs",
        "1",
        "--quiet",
        *words,
        folder=folder,
        timeout=TIMEOUT_SECONDS,
    )


def table(folder: Path, out: str = "out") -> list[dict[str, str]]:
    with (folder / out / "vary.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_few_copies_of_the_model_are_told_once_for_all_values(folder: Path) -> None:
    """A number of copies divides 3 samples and 2 NPUs, at every rate."""
    done = plan(folder, "--samples", "3", "--bounds-only", "--vary", f"{RATE}=20Gbps,400Gbps")
    assert done.returncode == 0, done.stderr
    told = "plans have only 1 copy of the model (data): a number of copies divides 2 NPUs and 3 samples an iteration"
    assert done.stderr.splitlines() == [f"astra-ns3: warning: {told}"]


@pytest.mark.slow
def test_each_value_has_the_plan_that_it_has_alone(folder: Path) -> None:
    words = ("--hold", "training.recompute=none", "--hold", "parallel.zero=0", "--cpu-time", "none")
    done = plan(folder, *words, "--vary", f"{RATE}=20Gbps,400Gbps")
    assert done.returncode == 0, done.stderr
    rows = table(folder)
    assert [row[RATE] for row in rows] == ["20Gbps", "400Gbps"]
    assert {"vary.png", "vary.svg", "plan-rate-20Gbps", "plan-rate-400Gbps"} <= {
        each.name for each in (folder / "out").iterdir()
    }
    for row in rows:
        alone = plan(folder, *words, "--set", f"{RATE}={row[RATE]}", "--json", out=f"alone-{row[RATE]}")
        best = json.loads(alone.stdout)["rows"][0]
        assert row["best"] == best["plan"]
        assert float(row["time_us"]) == pytest.approx(best["time_us"])
        assert float(row["bound_us"]) == pytest.approx(best["bound_us"])
        assert int(row["npu_memory_bytes"]) == best["npu_memory_bytes"]
        assert (float(row["gap"]), row["open"]) == (0, "0")
        assert (folder / "out" / row["folder"] / "plan.csv").is_file()
    assert float(rows[0]["time_us"]) > float(rows[1]["time_us"])


def test_bounds_alone_play_nothing_and_say_what_does_not_fit(folder: Path) -> None:
    keys = ("--vary", f"{RATE}=20Gbps,400Gbps", "--vary", "workload.memory=1MB,1GB,80GB")
    done = plan(folder, *keys, "--bounds-only", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["bounds_only"]
    assert found["varied"] == [RATE, "workload.memory"]
    rows = table(folder)
    assert [(row[RATE], row["workload.memory"]) for row in rows] == [
        (rate, memory) for rate in ("20Gbps", "400Gbps") for memory in ("1MB", "1GB", "80GB")
    ]
    for row in rows:
        if row["workload.memory"] == "1MB":
            assert row["best"] == ""
            assert "fits none of" in row["why"]
        else:
            assert row["time_us"] == ""
            assert int(row["npu_memory_bytes"]) <= 10**9
    assert float(rows[1]["bound_us"]) >= float(rows[4]["bound_us"]) > 0
    assert {each.name for each in (folder / "out").iterdir()} == {
        "vary.csv",
        "vary.json",
        "vary.png",
        "vary.svg",
        "index.html",
    }
    text = plan(folder, *keys, "--bounds-only").stdout
    assert "nothing: times are least bounds" in text
    page = run_command("report", "out", "-o", "page.html", folder=folder)
    assert page.returncode == 0, page.stderr
    html = (folder / "page.html").read_text(encoding="utf-8")
    assert html == (folder / "out" / "index.html").read_text(encoding="utf-8")
    assert html.count("20Gbps") >= 3
    assert "<svg" in html


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--vary", "rate"), "--vary is 'rate', expected KEY=VALUE,VALUE"),
        (("--vary", "network.topology.link.rate="), "found '', expected values with commas"),
        (("--vary", "nonsense=1,2"), "--vary nonsense: is no option of a run"),
        (("--vary", "backend=flow,ns3", "--bounds-only"), "--vary backend: changes no bound"),
        (("--vary", "passes=1,2"), "key 'passes': a plan is of one iteration"),
        (("--set", "passes=3"), "key 'passes': a plan is of one iteration"),
        (("--vary", f"{RATE}=1Gbps,1Gbps"), "a value stands twice"),
        (("--vary", f"{RATE}=1Gbps", "--vary", f"{RATE}=2Gbps"), "the key is given twice"),
        (("--vary", "a=1", "--vary", "b=1", "--vary", "c=1"), "--vary a: "),
        (("--vary", f"{RATE}=1Gbps,fast"), "fast"),
        (("--vary", "network.topology.speed=1,2"), "unknown key"),
        (("--vary", "workload.memory=1KB,2KB"), "no point has a plan"),
        (("--bounds-only",), "--bounds-only goes with --vary"),
    ],
)
def test_bad_input_is_one_line_and_nothing_is_written(folder: Path, words: tuple[str, ...], said: str) -> None:
    done = plan(folder, *words)
    assert done.returncode == 2, done.stdout
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not (folder / "out").exists()


@pytest.mark.parametrize("name", ["vary.csv", "vary.json", "plan.csv", "plan-rate-20Gbps/best.yaml"])
def test_varied_plans_leave_files_of_the_user_alone(folder: Path, name: str) -> None:
    mine = folder / "out" / name
    mine.parent.mkdir(parents=True)
    mine.write_text("mine", encoding="utf-8")
    before = sorted((folder / "out").rglob("*"))
    done = plan(folder, "--vary", f"{RATE}=400Gbps,20Gbps")
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert line.endswith(f"the folder holds {mine.name}, and no mark of a study, a plan or a budget; name another one")
    assert sorted((folder / "out").rglob("*")) == before
    assert mine.read_text(encoding="utf-8") == "mine"


def test_varied_plans_go_on_in_their_own_folder(folder: Path) -> None:
    words = ("--vary", f"{RATE}=400Gbps", "--cpu-time", "1ns")
    for more in (["--bounds-only"], [], []):
        assert plan(folder, *words, *more).returncode == 0
