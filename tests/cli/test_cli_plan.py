"""``astra-ns3 plan`` from its files to its folder: what is played, what is kept, what is said."""

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


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a model and a network."""
    for name, document in (("model.yaml", MODEL), ("network.yaml", NETWORK)):
        (tmp_path / name).write_text(yaml.safe_dump(document), encoding="utf-8")
    return tmp_path


def plan(folder: Path, *words: str) -> Finished:
    """The command as a user calls it."""
    command = ("plan", "model.yaml", "-n", "network.yaml", "-o", "out", "--jobs", "1", *words)
    return run_command(*command, folder=folder, timeout=TIMEOUT_SECONDS)


def test_a_plan_has_a_table_a_picture_and_a_model_file_of_the_best_that_runs(folder: Path) -> None:
    done = plan(folder, "--cpu-time", "none", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["open"] == 0
    assert found["gap"] == 0
    assert found["plans"] == found["too_large"] + found["pruned"] + found["played"]
    assert found["samples_per_iteration"] == 2
    with (folder / "out" / "plan.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["plan"] for row in rows] == [row["plan"] for row in found["rows"]]
    times = [float(row["time_us"]) for row in rows]
    assert times == sorted(times)
    assert all(float(row["bound_us"]) <= time for row, time in zip(rows, times, strict=True))
    assert rows[0]["plan"] == found["best"]
    assert {"index.html", "study.csv", "frontier.png", "frontier.svg"} <= {
        each.name for each in (folder / "out").iterdir()
    }
    run = ["run", "-w", "out/best.yaml", "-n", "network.yaml", "-s", "system.yaml", "--backend", "flow", "--json"]
    rings = {f"{kind}-implementation": ["ring"] for kind in ("all-reduce", "reduce-scatter", "all-gather")}
    usual = {"scheduling-policy": "LIFO", "preferred-dataset-splits": 1, "all-to-all-implementation": ["direct"]}
    (folder / "system.yaml").write_text(yaml.safe_dump({**usual, **rings}), encoding="utf-8")
    best = run_command(*run, folder=folder, timeout=TIMEOUT_SECONDS)
    assert best.returncode == 0, best.stderr
    assert json.loads(best.stdout)["finish_ps"] / 1e6 == pytest.approx(times[0], abs=1e-6)


def test_a_second_plan_plays_nothing_again_and_says_why_the_best_is_the_best(folder: Path) -> None:
    first = plan(folder, "--cpu-time", "none", "--json")
    journals = {each: each.read_text(encoding="utf-8") for each in (folder / "out" / "journal").iterdir()}
    second = plan(folder, "--cpu-time", "none")
    assert second.returncode == 0, second.stderr
    assert {each: each.read_text(encoding="utf-8") for each in (folder / "out" / "journal").iterdir()} == journals
    assert json.loads(first.stdout)["best"] in second.stdout
    assert "no plan is faster: every bound that is left lies above its time" in second.stdout
    assert "slower; on NPU 0 " in second.stdout


def test_a_limit_says_what_it_left_open(folder: Path) -> None:
    done = plan(folder, "--cpu-time", "1ns", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["played"] == 1
    assert found["open"] > 0
    assert 0 < found["gap"] < 1
    assert "plans weren't played, of which one may be" in plan(folder, "--cpu-time", "1ns").stdout


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("--set", "workload.memory=1MB"), "fits none of "),
        (("--samples", "0"), "0 is not in the range x>=1"),
        (("--cpu-time", "soon"), "soon"),
        (("--set", "workload.parallel.servers=1"), "key 'parallel.servers': found 1, expected 0"),
        (("--set", "nothing=1"), "nothing"),
        (("-s", "nowhere.yaml"), "nowhere.yaml"),
    ],
)
def test_bad_input_is_one_line(folder: Path, words: tuple[str, ...], expected: str) -> None:
    done = plan(folder, *words)
    assert done.returncode == 2
    lines = [line for line in done.stderr.splitlines() if line.startswith("astra-ns3: error:")]
    assert len(lines) == 1
    assert expected in lines[0]
    assert "Traceback" not in done.stderr


def test_what_is_no_model_has_no_plan(folder: Path) -> None:
    (folder / "model.yaml").write_text("loop: DATA\nlayers: []\n", encoding="utf-8")
    done = plan(folder)
    assert done.returncode == 2
    assert done.stderr.startswith("astra-ns3: error: model.yaml")
