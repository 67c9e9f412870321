"""``astra-ns3 run``: options, output, errors and exit statuses."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import astra_ns3

Command = Callable[..., Any]


def test_a_run_prints_a_table_and_writes_its_files(command: Command, words: list[str], tmp_path: Path) -> None:
    finished = command("run", *words, "--backend", "fake", "-o", str(tmp_path / "out"))
    assert (finished.status, finished.err) == (0, "")
    result = astra_ns3.Result.load(tmp_path / "out")
    assert "finish" in finished.out
    assert str(tmp_path / "out") in finished.out
    assert result.complete


def test_without_a_folder_nothing_is_written(command: Command, words: list[str], tmp_path: Path) -> None:
    before = sorted(tmp_path.rglob("*"))
    finished = command("run", *words, "--backend", "fake")
    assert finished.status == 0
    assert "--output" in finished.out
    assert sorted(tmp_path.rglob("*")) == before


def test_astra_sims_option_names_do_the_same(command: Command, files: dict[str, Any], tmp_path: Path) -> None:
    ours = [
        "-w",
        files["workload"],
        "-s",
        files["system"],
        "-n",
        files["network"],
        "-p",
        "2",
        "-o",
        str(tmp_path / "a"),
    ]
    theirs = [
        f"--workload-configuration={files['workload']}",
        f"--system-configuration={files['system']}",
        f"--network-configuration={files['network']}",
        "--num-passes=2",
        f"--path={tmp_path / 'b'}",
    ]
    common = ["--comm-scale=0.5", "--compute-scale=2", "--run-name=test", "--backend=fake"]
    assert command("run", *ours, *common).status == command("run", *theirs, *common).status == 0
    for name in ("EndToEnd.csv", "detailed.csv", "test_dimension_utilization.csv", "collectives.csv"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
    metadata = astra_ns3.Result.load(tmp_path / "b").metadata
    assert (metadata["passes"], metadata["comm_scale"], metadata["compute_scale"]) == (2, 0.5, 2.0)


def test_scale_is_both_scales_and_both_apart_are_warned_of(command: Command, words: list[str]) -> None:
    small = command("run", *words, "--backend", "fake", "--scale", "0.5", "--json")
    both = command("run", *words, "--backend", "fake", "--comm-scale", "0.5", "--compute-scale", "0.5", "--json")
    assert (small.json["finish_ps"], small.err) == (both.json["finish_ps"], "")
    assert "scaled by 0.1" in command("validate", *words, "--comm-scale", "0.1").err
    refused = command("validate", *words, "--scale", "0")
    assert (refused.status, refused.err) == (2, "astra-ns3: error: scale is 0.0, expected a number above 0\n")


def test_the_command_line_and_the_api_agree(command: Command, files: dict[str, Any], words: list[str]) -> None:
    from support.fake_backend import FakeBackend
    from support.small_run import NPUS

    summary = command("run", *words, "--backend", "fake", "--json").json
    result = astra_ns3.run(**files, backend=FakeBackend(NPUS))
    assert summary["finish_ps"] == result.finish_ps
    assert (summary["exit_status"], summary["complete"], summary["output"]) == (0, True, None)
    parts = summary["setup_seconds"] + summary["simulation_seconds"]
    assert summary["setup_seconds"] > 0
    assert parts == pytest.approx(summary["wall_seconds"], abs=1e-5)


def test_quiet_and_pipes_have_no_progress_line(command: Command, words: list[str]) -> None:
    for quiet in ([], ["--quiet"]):
        assert command("run", *words, "--backend", "fake", *quiet).err == ""


@pytest.mark.parametrize(
    ("arguments", "status", "kind", "message"),
    [
        (["--backend", "lossy"], 3, "SimulationStalled", "NPU 1 waits for layer"),
        (["--backend", "fake", "--limit-simulated-time", "5us"], 4, "LimitReached", "simulated time"),
        (["--backend", "interrupted", "-p", "3"], 130, "Interrupted", "interrupted"),
    ],
)
def test_a_run_that_stops_early_has_its_exit_status_and_its_files(
    command: Command, words: list[str], tmp_path: Path, arguments: list[str], status: int, kind: str, message: str
) -> None:
    finished = command("run", *words, *arguments, "--json", "-o", str(tmp_path / "out"))
    assert finished.status == status
    document = finished.json
    assert (document["exit_status"], document["kind"], document["complete"]) == (status, kind, False)
    assert document["output"] == str(tmp_path / "out")
    assert message in document["error"]
    assert f"astra-ns3: error: {document['error']}" in finished.err.splitlines()
    stopped = astra_ns3.Result.load(tmp_path / "out").metadata["stopped"]
    assert stopped is not None
    assert stopped["kind"] == kind


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-p", "0"], "passes is 0"),
        (["-p", "two"], "'two' is not a valid integer"),
        (["--comm-scale", "nan"], "comm-scale is nan"),
        (["--seed", "4294967296"], "seed is 4294967296"),
        (["--limit-wall-time", "5"], "'5' has no unit"),
        (["--limit-wall-time", "0s"], "is not above 0"),
        (["--limit-memory", "4GB/s"], "unit 'GB/s' is not one of"),
        (["--limit-simulated-time", "-1ms"], "is not a time"),
        (["--backend", "fakes"], "did you mean 'fake'"),
        (["--record", "flows"], "--record needs an output folder"),
        (["--record", "flows,layers", "--output", "out", "--seed", "0"], "seed is 0"),
        (["--record", "flows,layer", "--output", "out"], "record 'layer' is not one of"),
        (["--hook", "nowhere.py"], "nowhere.py: no such hook file"),
        (["--outptu", "x"], "No such option"),
        (["--output"], "requires an argument. (see 'astra-ns3 run --help')"),
        (["--cores", "0"], "cores is '0', expected a whole number from 1 to 1024, or auto"),
        (["--cores", "many"], "cores is 'many', expected a whole number from 1 to 1024, or auto"),
    ],
)
def test_bad_options_are_one_line_and_status_2(
    command: Command, words: list[str], arguments: list[str], message: str
) -> None:
    finished = command("run", *words, "--backend", "fake", *arguments)
    assert finished.status == 2
    assert finished.out == ""
    (line,) = finished.err.splitlines()
    assert line.startswith("astra-ns3: error: ")
    assert message in line


def edited(path: str, old: str, new: str) -> None:
    text = Path(path).read_text()
    assert old in text
    Path(path).write_text(text.replace(old, new))


@pytest.mark.parametrize(
    ("file", "old", "new", "place", "message"),
    [
        ("workload", "ALLREDUCE 4000", "ALLREDUSE 4000", "workload.txt:3", "did you mean 'ALLREDUCE'"),
        ("workload", "4000 10", "-4000 10", "workload.txt:3", "-4000"),
        ("workload", "4000 10", "4000", "workload.txt:3", "11 columns, expected 12"),
        ("system", "scheduling-policy", "scheduling-polisy", "system.txt:1", "did you mean 'scheduling-policy'"),
        ("system", "direct\n", "direkt\n", "system.txt:8", "did you mean 'direct'"),
        ("network", "kind: tcp", "kind: tcp, window: 0", "network.yaml:6", "transport.window"),
        ("network", "npus: 4", "npus: 4\n  npus_per_host: 3", "network.yaml", "multiple of npus_per_host"),
        ("network", "transport", "transprot", "network.yaml:6", "did you mean 'transport'"),
    ],
)
def test_bad_files_are_named_with_their_line_and_nothing_is_written(
    command: Command,
    files: dict[str, Any],
    words: list[str],
    tmp_path: Path,
    file: str,
    old: str,
    new: str,
    place: str,
    message: str,
) -> None:
    edited(files[file], old, new)
    finished = command("run", *words, "--backend", "fake", "-o", str(tmp_path / "out"), "--json")
    assert finished.status == 2
    (line,) = finished.err.splitlines()
    assert place in line
    assert message in line
    assert finished.json == {"error": line.removeprefix("astra-ns3: error: "), "kind": "InputError", "exit_status": 2}
    assert not (tmp_path / "out").exists()


def test_json_also_says_usage_errors(command: Command) -> None:
    finished = command("run", "--json")
    assert (finished.status, finished.json["exit_status"]) == (2, 2)
    assert "Missing option" in finished.json["error"]


def test_overwrite_is_needed_to_replace_a_run(command: Command, words: list[str], tmp_path: Path) -> None:
    run = ["run", *words, "--backend", "fake", "-o", str(tmp_path / "out")]
    assert command(*run).status == 0
    refused = command(*run, "--seed", "2")
    assert (refused.status, "use --overwrite\n" in refused.err, "=True" in refused.err) == (2, True, False)
    assert command(*run, "--seed", "2", "--overwrite").status == 0
    assert json.loads((tmp_path / "out" / "run.json").read_text())["seed"] == 2


def test_warnings_are_shown_and_saved(
    command: Command, files: dict[str, Any], words: list[str], tmp_path: Path
) -> None:
    edited(files["network"], "{kind: tcp}", "{kind: tcp, timestamps: true}")
    finished = command("run", *words, "--backend", "fake", "-o", str(tmp_path / "out"))
    (line,) = finished.err.splitlines()
    assert line.startswith("astra-ns3: warning: timestamps")
    assert astra_ns3.Result.load(tmp_path / "out").metadata["warnings"] == [line.removeprefix("astra-ns3: warning: ")]
    assert command("run", *words, "--backend", "fake", "--log-level", "error").err == ""


def test_version_names_ours_ns3s_and_cppyys(command: Command) -> None:
    finished = command("--version")
    assert finished.status == 0
    versions = dict(line.split(maxsplit=1) for line in finished.out.splitlines())
    assert versions["astra-ns3"] == astra_ns3.__version__
    assert {"ns3", "cppyy", "python"} <= set(versions)


def test_no_command_shows_the_help(command: Command) -> None:
    finished = command()
    assert finished.status == 2
    assert "validate" in finished.err
    assert "130 interrupted" in " ".join(finished.err.split())


def test_seeds_print_a_table_of_all_runs_and_write_each(command: Command, words: list[str], tmp_path: Path) -> None:
    wanted = ["--backend", "fake", "--seeds", "3", "--seed", "7", "-o", str(tmp_path / "out")]
    finished = command("run", *words, *wanted)
    assert (finished.status, finished.err) == (0, "")
    assert "7 to 9  (3 of 3 complete)" in finished.out
    assert "+-" in finished.out
    assert astra_ns3.Result.load(tmp_path / "out" / "seed-9").complete
    again = command("run", *words, *wanted, "--overwrite", "--json").json
    assert (again["exit_status"], again["output"]) == (0, str(tmp_path / "out"))
    assert again["finish"]["mean_ps"] == again["runs"][0]["finish_ps"]  # this backend knows no chance
    assert again["finish"]["standard_deviation_ps"] == 0


def test_a_seed_that_fails_gives_the_exit_status(command: Command, words: list[str], tmp_path: Path) -> None:
    finished = command("run", *words, "--backend", "lossy", "--seeds", "2", "-o", str(tmp_path / "out"), "--json")
    assert (finished.status, finished.json["exit_status"], finished.json["kind"]) == (3, 3, "SimulationStalled")
    assert "astra-ns3: error: seed 1: nothing is left to happen" in finished.err
    assert [run["stopped"]["exit_status"] for run in finished.json["runs"]] == [3, 3]
    assert command("run", *words, "--backend", "fake", "--seeds", "0").status == 2


def test_what_users_code_prints_stays_out_of_the_json(command: Command, words: list[str], tmp_path: Path) -> None:
    (tmp_path / "hook.py").write_text("print('loaded')\ndef on_built(context): print('called')\n", encoding="utf-8")
    finished = command("run", *words, "--backend", "fake", "--hook", str(tmp_path / "hook.py"), "--json")
    assert finished.json["exit_status"] == 0
    assert {"loaded", "called"} >= set(finished.err.split()) >= {"loaded"}
    assert "loaded" in command("run", *words, "--backend", "fake", "--hook", str(tmp_path / "hook.py")).out


def test_a_timeline_of_flows_that_were_not_recorded_is_empty_and_says_how_to_record(
    command: Command, files: dict[str, Any], tmp_path: Path
) -> None:
    (tmp_path / "flows.csv").write_text("source,destination,bytes\n0,1,1000\n", encoding="utf-8")
    run = ("run", "-w", str(tmp_path / "flows.csv"), "-s", files["system"], "-n", files["network"], "--backend", "flow")
    for folder, record, warned in (("bare", (), True), ("recorded", ("--record", "flows"), False)):
        assert command(*run, *record, "-o", str(tmp_path / folder)).status == 0
        made = command("timeline", str(tmp_path / folder))
        assert made.status == 0
        assert ("warning: the trace is empty" in made.err and "--record flows" in made.err) == warned
