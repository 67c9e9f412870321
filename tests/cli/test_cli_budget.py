"""``astra-ns3 budget`` from its files to its folder: what is found, what is kept, what is said."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml
from support.command import Finished, run_command

from astra_ns3.errors import InputError
from astra_ns3.planning.budget.budget import Budget, Split
from astra_ns3.planning.budget.result import warnings_of
from astra_ns3.planning.budget.saving import check_folder

TIMEOUT_SECONDS = 300
SWITCH = {"buffer": "32MiB", "pfc": {}}
NETWORK = {
    "topology": {
        "kind": "hierarchical",
        "nodes": 2,
        "npus_per_node": 2,
        "scale_up": {"link": {"rate": "900Gbps", "delay": "25ns"}, "switch": SWITCH},
        "scale_out": {"kind": "single-switch", "link": {"rate": "100Gbps", "delay": "500ns"}, "switch": SWITCH},
    },
    "transport": {"kind": "roce", "payload": 4096},
}
PRICES = {"budget": 10000, "currency": "USD", "dimensions": [{"gbps": 1}, {"gbps": 4}]}
LAYER = "MICRO\n1\nall_reduce -1 0 NONE 0 0 NONE 0 0 ALLREDUCE 16777216 0\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with prices, a network and a workload."""
    for name, document in (("prices.yaml", PRICES), ("network.yaml", NETWORK)):
        (tmp_path / name).write_text(yaml.safe_dump(document), encoding="utf-8")
    (tmp_path / "layer.txt").write_text(LAYER, encoding="utf-8")
    return tmp_path


def command(folder: Path, *words: str) -> Finished:
    """A command as a user calls it."""
    return run_command(
        *words,
        folder=folder,
        timeout=TIMEOUT_SECONDS,
    )


def budget(folder: Path, *words: str) -> Finished:
    return command(folder, "budget", "prices.yaml", "-n", "network.yaml", "-o", "out", *words)


def test_a_budget_has_tables_a_picture_and_a_network_that_runs(folder: Path) -> None:
    pytest.importorskip("scipy")
    done = budget(folder, "-w", "layer.txt", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    equal, fastest = found["splits"]
    assert found["performance_per_cost"] == "undetermined"
    assert found["complete"]
    assert fastest["total_us"] < equal["total_us"]
    assert fastest["cost"] == pytest.approx(10000, rel=1e-6)
    assert equal["total_us"] / fastest["total_us"] - 1 == pytest.approx(found["equal_rates_take_longer_by"], abs=1e-5)
    with (folder / "out" / "budget.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["split"] for row in rows] == ["equal rates", "best performance"]
    assert float(rows[1]["dimension_1_gbps"]) == pytest.approx(fastest["dimension_1_gbps"])
    with (folder / "out" / "played.csv").open(encoding="utf-8", newline="") as file:
        assert len(list(csv.DictReader(file))) == found["played"]
    assert {each.name for each in (folder / "out").iterdir()} == {
        *("budget.csv", "played.csv", "network.yaml", "system.yaml", "rates.png", "rates.svg")
    }
    rings = {f"{kind}-implementation": ["ring"] * 2 for kind in ("all-reduce", "reduce-scatter", "all-gather")}
    usual = {"scheduling-policy": "LIFO", "preferred-dataset-splits": 1, "collective-optimization": "localBWAware"}
    system = {**usual, **rings, "all-to-all-implementation": ["direct"] * 2}
    assert yaml.safe_load((folder / "out" / "system.yaml").read_text(encoding="utf-8")) == system
    files = ("-w", "layer.txt", "-n", "out/network.yaml", "-s", "out/system.yaml")
    best = command(folder, "run", *files, "--backend", "flow", "--json")
    assert best.returncode == 0, best.stderr
    assert json.loads(best.stdout)["finish_ps"] / 1e6 == pytest.approx(fastest["total_us"])
    again = budget(folder, "-w", "layer.txt", "--quiet")
    assert again.returncode == 0, again.stderr
    assert "undetermined: no workload computes" in again.stdout
    assert "best performance" in again.stdout


@pytest.mark.parametrize(("npu", "told"), [(0, True), (100, False)])
def test_a_best_per_cost_says_that_nothing_has_a_fixed_price(folder: Path, npu: int, told: bool) -> None:
    """1 ms of computing, with bandwidth for B: B times (1 ms + K / B) falls until there is none."""
    pytest.importorskip("scipy")
    (folder / "prices.yaml").write_text(yaml.safe_dump({**PRICES, "npu": npu}), encoding="utf-8")
    (folder / "layer.txt").write_text(LAYER.replace("MICRO", "DATA").replace("0 0 ALL", "0 1000000 ALL"), "utf-8")
    done = budget(folder, "-w", "layer.txt", "--quiet", "--limit-wall-time", "1ns")
    assert done.returncode == 0, done.stderr
    assert "best performance per cost" in done.stdout
    assert ("nothing has a fixed price, so waiting costs nothing" in done.stdout) is told


def test_a_budget_for_a_list_of_flows_computes_nothing(folder: Path) -> None:
    pytest.importorskip("scipy")
    (folder / "flows.csv").write_text("source,destination,bytes\n0,1,4194304\n0,2,4194304\n", encoding="utf-8")
    done = budget(folder, "-w", "flows.csv", "--json", "--limit-wall-time", "1ns")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["performance_per_cost"] == "undetermined"


def test_a_warning_of_the_runs_is_told_once(folder: Path) -> None:
    """MICRO leaves out what layers compute."""
    pytest.importorskip("scipy")
    (folder / "layer.txt").write_text(LAYER.replace("-1 0 NONE", "-1 2000000 NONE"), encoding="utf-8")
    done = budget(folder, "-w", "layer.txt", "--json", "--limit-wall-time", "1ns")
    assert done.returncode == 0, done.stderr
    (warning,) = json.loads(done.stdout)["warnings"]
    assert "loop MICRO leaves out the compute time" in warning
    assert done.stderr.splitlines() == [f"astra-ns3: warning: {warning}"]


def test_warnings_of_splits_that_differ_in_numbers_alone_are_one() -> None:
    def split(*warnings: str) -> Split:
        return Split((1,), 1.0, (1,), 1.0, warnings)

    equal, fastest = split("layer 1 lacks 2", "layer 3 lacks 2"), split("layer 1 lacks 1.5", "ports wait: 7")
    per_cost = split("ports wait: 12", "ports wait: 13")
    request: Any = SimpleNamespace(expansion=SimpleNamespace(warnings=("of a file",)))
    spending: Any = None
    found = Budget(request, spending, equal, fastest, per_cost, (equal, fastest, per_cost))
    assert warnings_of(found) == ["of a file", *per_cost.warnings, "layer 1 lacks 1.5"]


@pytest.mark.parametrize(
    ("prices", "words", "said"),
    [
        ({**PRICES, "budget": 1}, (), "prices.yaml:1: key 'budget': 1 buys nothing"),
        ({"budget": 1000}, (), "prices.yaml: key 'dimensions' is missing"),
        ({**PRICES, "dimensions": [{"gbps": 1}]}, (), "found prices of 1, expected 2"),
        ({**PRICES, "dimensions": [{"gbps": 1}] * 3}, (), "is of a dimension that isn't there"),
        ({**PRICES, "nic": -5}, (), "key 'nic': found -5"),
        (PRICES, ("--weights", "1,2"), "found 2 weights for 1 workloads"),
        (PRICES, ("--weights", "one"), "--weights is 'one'"),
        (PRICES, ("--weights", "0"), "expected numbers above 0"),
        (PRICES, ("--weights", "inf"), "expected numbers above 0, at most 1e+09"),
        (PRICES, ("--set", "backend=ns3"), "splits are played as flows, expected no other backend"),
        (PRICES, ("--set", "passes=3"), "key 'passes': a split is played for one iteration of each workload"),
        (PRICES, ("--budget", "-1"), "budget is -1"),
        (PRICES, ("--budget", "100k"), "--budget is '100k', expected an amount without a unit, such as 100000 or 1e5"),
        (PRICES, ("-w", "missing.txt"), "missing.txt"),
    ],
)
def test_bad_input_is_one_line_and_nothing_is_written(
    folder: Path, prices: dict[str, object], words: tuple[str, ...], said: str
) -> None:
    (folder / "prices.yaml").write_text(yaml.safe_dump(prices), encoding="utf-8")
    done = budget(folder, "-w", "layer.txt", *words)
    assert done.returncode == 2, done.stdout
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not (folder / "out").exists()


def test_a_file_is_no_folder(folder: Path) -> None:
    done = budget(folder, "-w", "layer.txt", "-o", "prices.yaml")
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert line.endswith("prices.yaml: is a file, expected a folder")


def test_workloads_that_take_no_time_are_refused(folder: Path) -> None:
    pytest.importorskip("scipy")
    (folder / "layer.txt").write_text("MICRO\n1\nnone -1 0 NONE 0 0 NONE 0 0 NONE 0 0\n", encoding="utf-8")
    done = budget(folder, "-w", "layer.txt")
    assert done.returncode == 2
    assert "the workloads take no time" in done.stderr
    assert not (folder / "out").exists()


def test_a_budget_replaces_no_file_that_it_reads(folder: Path) -> None:
    """All is in the folder that it is to write into, as after an earlier budget."""
    for name in ("budget.csv", "played.csv"):
        (folder / name).touch()
    text = (folder / "network.yaml").read_text(encoding="utf-8")
    done = command(folder, "budget", "prices.yaml", "-n", "network.yaml", "-w", "layer.txt", "-o", ".")
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert line.endswith("network.yaml: is read by the command that would replace it; name another folder")
    assert (folder / "network.yaml").read_text(encoding="utf-8") == text


def test_an_analytical_network_is_refused(folder: Path) -> None:
    text = "topology: [Ring, Switch]\nnpus_count: [2, 2]\nbandwidth: [100, 10]\nlatency: [1, 1]\n"
    (folder / "network.yaml").write_text(text, encoding="utf-8")
    done = budget(folder, "-w", "layer.txt")
    assert done.returncode == 2
    assert "is an analytical network, on which no flow plays" in done.stderr
    assert not (folder / "out").exists()


def test_files_of_others_in_the_folder_are_refused_and_kept(folder: Path) -> None:
    (folder / "out").mkdir()
    (folder / "out" / "network.yaml").write_text("mine\n", encoding="utf-8")
    done = budget(folder, "-w", "layer.txt")
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert line.endswith(
        "out: the folder holds network.yaml, and no mark of a study, a plan or a budget; name another one"
    )
    assert [path.name for path in (folder / "out").iterdir()] == ["network.yaml"]


def test_a_folder_of_a_run_or_a_study_is_refused_and_one_of_an_earlier_budget_is_not(tmp_path: Path) -> None:
    for name in ("budget.csv", "network.yaml"):
        (tmp_path / name).touch()
    with pytest.raises(InputError, match=r"the folder holds budget\.csv, and no mark"):
        check_folder(tmp_path)
    (tmp_path / "played.csv").touch()
    check_folder(tmp_path)
    (tmp_path / ".study.json").write_text('{"name": "sizes"}', encoding="utf-8")
    with pytest.raises(InputError, match="the folder holds the study 'sizes'"):
        check_folder(tmp_path)
    (tmp_path / "run.json").touch()
    with pytest.raises(InputError, match="the folder holds a run"):
        check_folder(tmp_path)
