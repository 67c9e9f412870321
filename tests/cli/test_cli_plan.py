"""``astra-ns3 plan`` from its files to its folder: what is played, what is kept, what is said."""

from __future__ import annotations

import csv
import json
import re
import shlex
from collections.abc import Sequence
from pathlib import Path

import pytest
import yaml
from support.command import Finished, run_command

TIMEOUT_SECONDS = 300
PERCENT_ROUNDED = 0.05
"""Percents are shown with one digit behind the point."""
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
    return with_files(tmp_path)


def with_files(folder: Path) -> Path:
    """Write a model and a network into a folder."""
    for name, document in (("model.yaml", MODEL), ("network.yaml", NETWORK)):
        (folder / name).write_text(yaml.safe_dump(document), encoding="utf-8")
    return folder


def plan(folder: Path, *words: str) -> Finished:
    """The command as a user calls it."""
    command = ("plan", "model.yaml", "-n", "network.yaml", "-o", "out", "--jobs", "1", *words)
    return run_command(*command, folder=folder, timeout=TIMEOUT_SECONDS)


@pytest.fixture(scope="module")
def planned_twice(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Finished, Finished]:
    """A folder where the same was planned twice, and what the command said; the second plays nothing again."""
    folder = with_files(tmp_path_factory.mktemp("planned"))
    words = ("--cpu-time", "none", "--packets", "2")
    first = plan(folder, *words, "--json")
    journals = {each: each.read_text(encoding="utf-8") for each in (folder / "out" / "journal").iterdir()}
    second = plan(folder, *words)
    assert {each: each.read_text(encoding="utf-8") for each in (folder / "out" / "journal").iterdir()} == journals
    return folder, first, second


@pytest.mark.xdist_group("planned twice")
def test_a_plan_has_a_table_a_picture_and_a_model_file_of_the_best_that_runs(
    planned_twice: tuple[Path, Finished, Finished],
) -> None:
    folder, done, second = planned_twice
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
    assert {"index.html", "plan.json", "study.csv", "frontier.png", "frontier.svg"} <= {
        each.name for each in (folder / "out").iterdir()
    }
    (told,) = [line for line in second.stdout.splitlines() if line.startswith("run ")]
    _, program, *run = shlex.split(told)
    assert (program, run[0]) == ("astra-ns3", "run")
    best = run_command(*run, "--json", folder=folder, timeout=TIMEOUT_SECONDS)
    assert best.returncode == 0, best.stderr
    assert json.loads(best.stdout)["finish_ps"] / 1e6 == pytest.approx(times[0], abs=1e-6)


@pytest.mark.xdist_group("planned twice")
def test_the_best_are_played_on_packets_and_what_they_take_stands_in_the_table(
    planned_twice: tuple[Path, Finished, Finished],
) -> None:
    folder, done, again = planned_twice
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    rows = found["rows"]
    assert found["order_on_packets"] == sorted((1, 2), key=lambda place: rows[place - 1]["packets_us"])
    with (folder / "out" / "study.csv").open(encoding="utf-8", newline="") as file:
        runs = [row for row in csv.DictReader(file) if row["part"] == "packets"]
    assert {(row["plan"], row["backend"]) for row in runs} == {
        (row["plan"], backend) for row in rows[:2] for backend in ("flow", "ns3")
    }
    for row in rows[:2]:
        flows, packets = (
            next(float(run["finish_us"]) for run in runs if (run["plan"], run["backend"]) == (row["plan"], backend))
            for backend in ("flow", "ns3")
        )
        assert row["packets_on"] == "whole model"
        assert (row["time_us"], row["packets_us"]) == (flows, packets)
        assert row["packets_over_flows"] == pytest.approx(packets / flows, abs=1e-6)
    system = {f"{kind}-implementation": ["ring"] for kind in ("all-reduce", "reduce-scatter", "all-gather")}
    usual = {"scheduling-policy": "LIFO", "preferred-dataset-splits": 1, "all-to-all-implementation": ["direct"]}
    (folder / "system.yaml").write_text(yaml.safe_dump({**usual, **system}), encoding="utf-8")
    alone = ("run", "-w", "out/best.yaml", "-n", "network.yaml", "-s", "system.yaml", "--backend", "ns3", "--json")
    best = run_command(*alone, folder=folder, timeout=TIMEOUT_SECONDS)
    assert json.loads(best.stdout)["finish_ps"] / 1e6 == pytest.approx(rows[0]["packets_us"], abs=1e-6)
    assert {row["packets_on"] for row in rows[2:]} <= {None}
    assert "keep their order" in again.stdout or "the order of the best changes to 2, 1" in again.stdout


def test_a_report_of_a_plan_has_its_picture_its_table_and_why_the_best_is_the_best(folder: Path) -> None:
    plan(folder, "--hold", "parallel.zero=0", "--packets", "0")
    done = run_command("report", "out", "-o", "plan.html", folder=folder, timeout=TIMEOUT_SECONDS)
    assert done.returncode == 0, done.stderr
    page = (folder / "plan.html").read_text(encoding="utf-8")
    with (folder / "out" / "plan.csv").open(encoding="utf-8", newline="") as file:
        names = [row["plan"] for row in csv.DictReader(file)]
    assert len(names) > 1
    assert all(f">{name}<" in page for name in names)
    assert "<svg" in page
    assert "Why the best is the best" in page
    assert "astra-ns3 plan model.yaml -n network.yaml --hold parallel.zero=0 --packets 0 -o out" in page
    index = (folder / "out" / "index.html").read_text(encoding="utf-8")
    assert "Why the best is the best" in index
    assert "<title>Plans of model on network: astra-ns3 plan</title>" in index
    assert "astra-ns3 study" not in index
    again = run_command("report", "out", "-o", "plan.html", folder=folder, timeout=TIMEOUT_SECONDS)
    assert again.returncode == 2
    several = run_command("report", "out", "out", "-o", "two.html", folder=folder, timeout=TIMEOUT_SECONDS)
    assert several.returncode == 2
    assert "out: holds plans, whose report is of one folder" in several.stderr
    (folder / "out" / "plan.json").write_text("{", encoding="utf-8")
    broken = run_command("report", "out", "-o", "three.html", folder=folder, timeout=TIMEOUT_SECONDS)
    assert broken.returncode == 2
    assert "plan.json:1: is not JSON in column 2" in broken.stderr


def test_packets_are_left_out_where_no_model_is_cheap_enough(folder: Path) -> None:
    words = ("--packets", "1", "--packets-cpu-time", "1us", "--cpu-time", "1ns")
    done = plan(folder, *words)
    assert done.returncode == 0, done.stderr
    assert "not played: forecast " in done.stdout
    assert not (folder / "out" / "packets").exists()
    with (folder / "out" / "study.csv").open(encoding="utf-8", newline="") as file:
        assert {row["part"] for row in csv.DictReader(file)} == {"plans"}


def test_a_file_of_a_plan_is_the_command_with_its_options(folder: Path) -> None:
    (folder / "files").mkdir()
    document = {
        "model": "../model.yaml",
        "network": "../network.yaml",
        "samples": 4,
        "hold": {"training.recompute": "none"},
        "set": {"workload.model.layers": 4},
        "play": {"cpu_time": "1ns", "packets": 0},
    }
    (folder / "files" / "mine.yaml").write_text(yaml.safe_dump(document), encoding="utf-8")
    words = ("--samples", "4", "--hold", "training.recompute=none", "--set", "workload.model.layers=4")
    by_words = plan(folder, *words, "--cpu-time", "1ns", "--packets", "0", "--json")
    by_file = run_command(
        "plan", "files/mine.yaml", "--json", "--quiet", "--jobs", "1", folder=folder, timeout=TIMEOUT_SECONDS
    )
    assert by_file.returncode == 0, by_file.stderr
    one, other = json.loads(by_words.stdout), json.loads(by_file.stdout)
    assert other.pop("output") == "results/mine"
    seconds = ("bound_cpu_seconds", "played_cpu_seconds", "output")
    for found in (one, other):
        for row in found["rows"]:
            row.pop("cpu_seconds")
    assert {k: v for k, v in one.items() if k not in seconds} == {k: v for k, v in other.items() if k not in seconds}
    assert one["samples_per_iteration"] == 4
    assert (folder / "results" / "mine" / "plan.csv").is_file()


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        ({"model": "model.yaml", "network": "network.yaml", "sample": 4}, "sample"),
        ({"model": "model.yaml", "network": "network.yaml", "play": {"bounds_only": True}}, "--bounds-only goes with"),
        ({"model": "model.yaml", "network": "network.yaml", "vary": {"nothing": [1, 2]}}, "nothing"),
        ({"model": "nowhere.yaml", "network": "network.yaml"}, "nowhere.yaml"),
        (
            {"model": "model.yaml", "network": "network.yaml", "hold": {"parallel.zero": 0, "parallel.tensor": 3}},
            "mine.yaml:2: key 'parallel.tensor': found 3 to cut model.yaml over 2 NPUs with 2 samples an iteration, "
            "beside the other held values, expected 1, 2",
        ),
        (
            {"model": "model.yaml", "network": "network.yaml", "hold": {"parallel.tensr": 1}},
            "error: mine.yaml:2: key 'parallel.tensr' is not one of parallel.tensor,",
        ),
        (
            {"model": "model.yaml", "network": "network.yaml", "set": {"network.topology.link.rate": 200}},
            "error: mine.yaml:4: key 'topology.link.rate': 200 has no unit",
        ),
        (
            {"model": "model.yaml", "network": "network.yaml", "vary": {"model.training.global_batch": [32, 64]}},
            "mine.yaml:4: key 'vary.model.training.global_batch': is no key of a file: expected one that begins with "
            "workload., system., network., scenario.; did you mean 'workload.training.global_batch'?",
        ),
        (
            {"model": "model.yaml", "network": "network.yaml", "hold": {"parallel.schedule": "gpip"}},
            "an iteration, expected 1f1b, gpipe, zero-bubble; did you mean 'gpipe'?",
        ),
        (
            {"model": "model.yaml", "network": "network.yaml", "hold": {"parallel.zero": 9, "parallel.tensor": 3}},
            "parallel.tensor held to 3, parallel.zero held to 9, expected other held values",
        ),
    ],
)
def test_a_bad_file_of_a_plan_is_one_line(folder: Path, document: dict[str, object], expected: str) -> None:
    (folder / "mine.yaml").write_text(yaml.safe_dump(document), encoding="utf-8")
    done = run_command("plan", "mine.yaml", folder=folder, timeout=TIMEOUT_SECONDS)
    assert done.returncode == 2, done.stdout
    assert len(done.stderr.splitlines()) == 1
    assert expected in done.stderr
    assert not (folder / "results").exists()


def test_a_model_without_a_network_is_one_line(folder: Path) -> None:
    done = run_command("plan", "model.yaml", folder=folder, timeout=TIMEOUT_SECONDS)
    assert done.returncode == 2
    assert "no network is named" in done.stderr


@pytest.mark.xdist_group("planned twice")
def test_a_second_plan_plays_nothing_again_and_says_why_the_best_is_the_best(
    planned_twice: tuple[Path, Finished, Finished],
) -> None:
    _, first, second = planned_twice
    assert second.returncode == 0, second.stderr
    found = json.loads(first.stdout)
    assert found["best"] in second.stdout
    times = {row["plan"]: row["time_us"] for row in found["rows"]}
    told = re.search(r"^file's own +([^:]+): .*, (\S+)% more than the best$", second.stdout, re.MULTILINE)
    assert told is not None
    assert float(told[2]) == pytest.approx(100 * (times[told[1]] / times[found["best"]] - 1), abs=PERCENT_ROUNDED)
    assert "no plan's first iteration is faster as flows: every bound that is left lies above its time" in second.stdout
    assert "slower; on NPU 0 " in second.stdout


@pytest.mark.parametrize(
    ("model", "parallel", "words", "expected"),
    [
        ({"fused_attention": False}, {"context": 2}, (), "; other plans with a ring over context are left out"),
        (
            {},
            {"pipeline": 2, "schedule": "zero-bubble", "overlap_tensor": True},
            (),
            "not played: model.yaml: .*overlap_tensor",
        ),
        ({}, {"tensor": 2}, ("--hold", "parallel.tensor=1"), "not played: no plan has its degrees with .*held values"),
        ({}, {"tensor": 2, "pipeline": 2}, (), "not played: model.yaml: .*are 4 NPUs"),
        ({}, {}, ("--set", "workload.memory=30MB"), "not played, too large for an NPU"),
    ],
)
def test_the_files_own_plan_is_named_whatever_became_of_it(
    folder: Path, model: dict[str, object], parallel: dict[str, object], words: Sequence[str], expected: str
) -> None:
    document = {**MODEL, "model": {**MODEL["model"], **model}, "parallel": parallel}  # type: ignore[dict-item]
    (folder / "model.yaml").write_text(yaml.safe_dump(document), encoding="utf-8")
    done = plan(folder, "--cpu-time", "1ns", "--packets", "0", *words)
    assert done.returncode == 0, done.stderr
    assert re.search(f"^file's own +.*{expected}", done.stdout, re.MULTILINE) is not None, done.stdout


def test_a_plan_that_fills_the_memory_is_called_tight_beside_the_fastest_that_does_not(folder: Path) -> None:
    """The best needs 81% of the memory that is named. Without that an NPU has 80 GB."""
    held = ("--cpu-time", "none", "--packets", "0", "--hold", "parallel.pipeline=1")
    found = json.loads(plan(folder, *held, "--json").stdout)
    assert {row["tight"] for row in found["rows"]} == {False}
    capacity = found["rows"][0]["npu_memory_bytes"] * 100 // 81
    words = (*held, "--set", f"workload.memory={capacity}")
    rows = json.loads(plan(folder, *words, "--json").stdout)["rows"]
    assert (rows[0]["plan"], rows[0]["tight"]) == (found["best"], True)
    assert [row["tight"] for row in rows] == [row["npu_memory_bytes"] >= 0.8 * capacity for row in rows]
    text = plan(folder, *words).stdout
    roomy = next((row for row in rows if not row["tight"]), None)
    assert roomy is not None
    told = re.search(r"^memory +tight: the best needs .* is (\S+)% slower: (.*)$", text, re.MULTILINE)
    assert told is not None
    assert told[2] == roomy["plan"]
    assert float(told[1]) == pytest.approx(100 * (roomy["time_us"] / rows[0]["time_us"] - 1), abs=PERCENT_ROUNDED)
    page = (folder / "out" / "index.html").read_text(encoding="utf-8")
    assert text.count("B tight ") == page.count("B tight<") == sum(row["tight"] for row in rows)
    assert told[0].partition("tight")[2] in page


def test_a_limit_says_what_it_left_open(folder: Path) -> None:
    done = plan(folder, "--cpu-time", "1ns", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["played"] == 1
    assert found["open"] > 0
    assert 0 < found["gap"] < 1
    told = plan(folder, "--cpu-time", "1ns").stdout
    assert re.search(r"^not certain +\d+ plans weren't played; the best of them takes at least ", told, re.MULTILINE)


@pytest.mark.parametrize(
    ("samples", "told"),
    [
        (3, "plans have only 1 copy of the model (data): a number of copies divides 2 NPUs and 3 samples an iteration"),
        (4, ""),
    ],
)
def test_samples_that_few_copies_share_evenly_are_told_before_the_search(samples: int, told: str, folder: Path) -> None:
    done = plan(folder, "--samples", str(samples), "--packets", "0", "--cpu-time", "1ns", "--json")
    assert done.returncode == 0, done.stderr
    assert (f"astra-ns3: warning: {told}" in done.stderr, "copies" in done.stderr) == (bool(told), bool(told))


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("--set", "workload.memory=1MB"), "fits none of "),
        (("--samples", "0"), "0 is not in the range x>=1"),
        (("--cpu-time", "soon"), "soon"),
        (("--set", "workload.parallel.servers=1"), "key 'parallel.servers': found 1, expected 0"),
        (("--set", "nothing=1"), "error: --set: key 'nothing': is no option of a run"),
        (("--vary", "network.topology.link.rate=200"), "error: --vary: key 'topology.link.rate': 200 has no unit"),
        (("--vary", "topology.link.rate=1Gbps"), "; did you mean 'network.topology.link.rate'?"),
        (("--hold", "training.recompute=maybe"), "error: --hold: key 'training.recompute': found maybe to cut"),
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


@pytest.mark.parametrize("name", ["plan.csv", "best.yaml", "frontier.svg", "vary.csv", "index.html", "figures"])
def test_a_plan_leaves_files_of_the_user_alone(folder: Path, name: str) -> None:
    out = folder / "out"
    out.mkdir()
    (out / name).write_text("mine", encoding="utf-8")
    (out / "plan.json").write_text("{}", encoding="utf-8")  # of no plan
    done = plan(folder)
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert line.endswith("and no mark of a study, a plan or a budget; name another one")
    assert sorted(out.iterdir()) == sorted([out / name, out / "plan.json"])
    assert (out / name).read_text(encoding="utf-8") == "mine"


@pytest.mark.parametrize("name", ["best.yaml", "best-system.yaml"])
def test_a_plan_replaces_no_file_that_it_reads(folder: Path, name: str) -> None:
    words = ("--cpu-time", "1ns", "--packets", "0", "--quiet")
    assert plan(folder, *words).returncode == 0
    files = {path: path.read_bytes() for path in (folder / "out").rglob("*") if path.is_file()}
    model = f"out/{name}" if name == "best.yaml" else "model.yaml"
    system = () if name == "best.yaml" else ("-s", f"out/{name}")
    command = ("plan", model, "-n", "network.yaml", *system, "-o", "out", *words)
    done = run_command(*command, folder=folder, timeout=TIMEOUT_SECONDS)
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert line.endswith(f"out/{name}: is read by the command that would replace it; name another folder")
    assert files == {path: path.read_bytes() for path in (folder / "out").rglob("*") if path.is_file()}


def test_a_plan_goes_on_in_its_own_folder_with_a_damaged_mark(folder: Path) -> None:
    words = ("--cpu-time", "1ns", "--packets", "0")
    assert plan(folder, *words).returncode == 0
    (folder / "out" / ".study.json").write_text("{", encoding="utf-8")
    assert plan(folder, *words).returncode == 0
