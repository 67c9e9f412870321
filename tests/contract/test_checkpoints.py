"""Jobs that begin again after their last checkpoint, against a bookkeeper who knows four times of them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from oracles.checkpoints import Training, drawn

import astra_ns3
from astra_ns3.errors import BackendError, InputError
from astra_ns3.experiments.options import Options
from astra_ns3.experiments.validate import validate
from astra_ns3.workload.models.workload import read_model

LINE = {"rate": "100Gbps", "delay": "500ns"}
SYSTEM = {
    "scheduling-policy": "LIFO",
    "endpoint-delay": 10,
    "preferred-dataset-splits": 1,
    **{f"{kind}-implementation": "ring" for kind in ("all-reduce", "reduce-scatter", "all-gather", "all-to-all")},
}
NETWORK: dict[str, Any] = {
    "topology": {
        "kind": "single-switch",
        "npus": 2,
        "link": LINE,
        "switch": {"buffer": "64MB", "pfc": {}},
        "storage": {"per": "node", "link": LINE},
    },
    "transport": {"kind": "roce", "congestion_control": "none"},
}
MODEL: dict[str, Any] = {
    "kind": "transformer",
    "name": "tiny",
    "model": {"layers": 2, "hidden": 32, "heads": 2, "feed_forward": 128, "vocabulary": 512},
    "training": {"sequence": 16},
    "compute": "H100",
}
AFTER_PS = 90_000_000
"""Longer than a load takes, so that what a failed try had asked for is through when the next one begins."""
PASSES = 6


def write(folder: Path, model: Mapping[str, Any]) -> None:
    for name, content in (("model", {**MODEL, **model}), ("network", NETWORK), ("system", SYSTEM)):
        (folder / f"{name}.yaml").write_text(json.dumps(content), encoding="utf-8")


def alone_ps(folder: Path, checkpoint: Mapping[str, Any] | None, passes: int, backend: str = "ns3") -> int:
    write(folder, {} if checkpoint is None else {"checkpoint": checkpoint})
    run = astra_ns3.run(
        workload=folder / "model.yaml",
        system=folder / "system.yaml",
        network=folder / "network.yaml",
        passes=passes,
        isolated=False,
        backend=backend,
    )
    return run.finish_ps


def failing(
    folder: Path,
    fails_ps: list[int],
    backend: str = "ns3",
    *,
    at_most: int = 9,
    passes: int = PASSES,
    end_ps: int | None = None,
) -> Any:
    restart = {"after": f"{AFTER_PS}ps", "at-most": at_most, "fails": [f"{time_ps}ps" for time_ps in fails_ps]}
    job = {"name": "a", "workload": "model.yaml", "system": "system.yaml", "passes": passes, "restart": restart}
    job |= {} if end_ps is None else {"end": f"{end_ps}ps"}
    (folder / "scenario.json").write_text(json.dumps({"network": "network.yaml", "jobs": [job]}), encoding="utf-8")
    return astra_ns3.run_scenario(scenario=folder / "scenario.json", isolated=False, backend=backend)


def book(folder: Path, every: int, mode: str, backend: str = "ns3") -> Training:
    """Return the bookkeeper of a job, told times that runs without failures take."""
    iteration_ps = alone_ps(folder, None, 1, backend)
    assert alone_ps(folder, None, 3, backend) == 3 * iteration_ps
    store_ps = alone_ps(folder, {"every": 1}, 1, backend) - iteration_ps
    assert alone_ps(folder, {"every": 1}, 3, backend) == 3 * (iteration_ps + store_ps)
    # One failure after the first checkpoint tells how long a load takes: a pass of two is left.
    write(folder, {"checkpoint": {"every": 1}})
    failed_ps = iteration_ps + store_ps + 1
    load_ps = failing(folder, [failed_ps], backend, passes=2).finish_ps - failed_ps - AFTER_PS - iteration_ps - store_ps
    return Training(PASSES, every, iteration_ps, store_ps, load_ps, AFTER_PS, mode == "behind")


@pytest.mark.parametrize("mode", ["synchronous", "behind"])
@pytest.mark.parametrize("every", [1, 2])
def test_runs_with_failures_end_as_the_bookkeeper_says(tmp_path: Path, mode: str, every: int) -> None:
    training = book(tmp_path, every, mode)
    write(tmp_path, {"checkpoint": {"every": every, "mode": mode}})
    restarted = resumed = 0
    for seed in range(5):
        whole_ps = training.end([])[0]
        fails_ps = list(islice(drawn(seed, whole_ps / 3), 6))
        expected = training.end(fails_ps)
        result = failing(tmp_path, fails_ps)
        (job,) = result.metadata["jobs"]
        assert (result.finish_ps, job["restarts"], job["resumed_passes"]) == expected
        restarted, resumed = restarted + expected[1], resumed + expected[2]
    assert restarted > 5
    assert resumed


@pytest.mark.parametrize("mode", ["synchronous", "behind"])
@pytest.mark.parametrize("tenths", [5, 15, 23])
def test_checkpoints_after_a_time_come_as_the_bookkeeper_says(tmp_path: Path, mode: str, tenths: int) -> None:
    measured = book(tmp_path, 1, mode)
    training = replace(measured, interval=measured.iteration * tenths // 10)
    write(tmp_path, {"checkpoint": {"every": f"{training.interval}ps", "mode": mode}})
    assert alone_ps_of(tmp_path) == training.end([])[0]
    resumed = 0
    for seed in range(3):
        fails_ps = list(islice(drawn(seed, training.end([])[0] / 3), 6))
        result = failing(tmp_path, fails_ps)
        (job,) = result.metadata["jobs"]
        assert (result.finish_ps, job["restarts"], job["resumed_passes"]) == training.end(fails_ps)
        resumed += job["resumed_passes"]
    assert resumed


def alone_ps_of(folder: Path) -> int:
    """Return how long the job of a folder takes that never fails."""
    return int(failing(folder, [10**15]).finish_ps)


def test_parts_on_storage_hosts_are_copied_there_and_only_the_rest_moves(tmp_path: Path) -> None:
    moved: dict[tuple[str, ...], int] = {}
    for away in ((), ("optimizer",), ("weights",), ("optimizer", "weights")):
        write(tmp_path, {"checkpoint": {"every": 1}, "offload": {part: {} for part in away}})
        files: dict[str, Any] = {name: tmp_path / f"{name}.yaml" for name in ("system", "network")}
        run = astra_ns3.run(workload=tmp_path / "model.yaml", **files, passes=1, isolated=False)
        rows = run.collectives[run.collectives["layer"] == "checkpoint"]
        moved[away] = int(rows["bytes"].sum())
        parameters = run.metadata["workload"]["parameters"]
    # Both copies store a half; where nothing is left, each sends a signal of one byte.
    assert moved == {
        (): 14 * parameters,
        ("optimizer",): 2 * parameters,
        ("weights",): 12 * parameters,
        ("optimizer", "weights"): 2,
    }
    write(tmp_path, {"checkpoint": {"every": 1}, "offload": {"optimizer": {}}})
    tries = failing(tmp_path, [alone_ps_of(tmp_path) * 2 // 3]).tenants
    restarted = list(tries.values())[-1].collectives
    loaded = restarted[(restarted["layer"] == "checkpoint") & (restarted["part"] == "load")]
    assert int(loaded["bytes"].sum()) == 2 * 2 * parameters  # whole weights on each


def test_a_job_that_resumes_is_as_fast_as_its_last_try_and_its_folder_says_so(tmp_path: Path) -> None:
    """A failure in the fifth pass: the second try plays the last two of six, and loads besides."""
    iteration_ps = alone_ps(tmp_path, {"every": 1}, 1)
    write(tmp_path, {"checkpoint": {"every": 1}})
    whole = failing(tmp_path, []).tenants["a"]
    resumed = failing(tmp_path, [iteration_ps * 9 // 2]).tenants["a"]
    job, found = resumed.metadata["job"], resumed.metadata["throughput"]
    assert (job["restarts"], job["start_ps"], job["resumed_passes"]) == (1, 0, 4)
    assert job["last_try_ps"] == iteration_ps * 9 // 2 + AFTER_PS
    assert resumed.finish_ps - job["last_try_ps"] > 2 * iteration_ps  # with the load, which is no part of an iteration
    assert found["iteration_ps"] == iteration_ps
    assert found["samples_per_second"] == whole.metadata["throughput"]["samples_per_second"]
    assert astra_ns3.compare(whole, resumed).notes == (
        "finish of B is that of the whole job, all else of try 2 of it, which did 2 passes of 6",
    )


def test_a_job_that_ends_before_its_next_try_has_what_its_last_one_did(tmp_path: Path) -> None:
    iteration_ps = alone_ps(tmp_path, {"every": 1}, 1)
    write(tmp_path, {"checkpoint": {"every": 1}})
    fails_ps = iteration_ps * 3 // 2
    result = failing(tmp_path, [fails_ps], end_ps=fails_ps + AFTER_PS // 2)
    (job,) = result.metadata["jobs"]
    assert (job["start_ps"], job["finish_ps"], job["passes_done"]) == (0, fails_ps, 1)
    assert (job["restarts"], job["resumed_passes"], job["ended_by"]) == (0, 0, "time")


def test_a_job_that_fails_once_more_than_it_may_is_told_by_its_device(tmp_path: Path) -> None:
    iteration_ps = alone_ps(tmp_path, {"every": 1}, 1)
    write(tmp_path, {"checkpoint": {"every": 1}})
    with pytest.raises(BackendError, match=r"^job 'a': a device died \(at 300 us\)") as raised:
        failing(tmp_path, [10_000_000, 300_000_000], at_most=1)
    (job,) = raised.value.result.metadata["jobs"]
    assert (job["ended_by"], job["restarts"], job["complete"]) == ("device", 1, False)
    assert job["passes_done"] == (300_000_000 - job["last_try_ps"]) // iteration_ps > 0


def test_a_job_without_checkpoints_begins_with_its_first_pass(tmp_path: Path) -> None:
    write(tmp_path, {})
    failed_ps = 250_000_000
    result = failing(tmp_path, [failed_ps], "flow")
    assert result.finish_ps == failed_ps + AFTER_PS + alone_ps(tmp_path, None, PASSES, "flow")
    assert result.metadata["jobs"][0]["resumed_passes"] == 0


def test_runs_on_flows_end_as_the_bookkeeper_says(tmp_path: Path) -> None:
    training = book(tmp_path, 2, "synchronous", "flow")
    write(tmp_path, {"checkpoint": {"every": 2}})
    fails_ps = [training.end([])[0] * 3 // 4]
    result = failing(tmp_path, fails_ps, "flow")
    assert (result.finish_ps, 1, result.metadata["jobs"][0]["resumed_passes"]) == training.end(fails_ps)


def test_a_failure_at_no_time_is_refused_in_a_line(tmp_path: Path) -> None:
    write(tmp_path, {"checkpoint": {"every": 1}})
    with pytest.raises(InputError, match=r"key 'jobs.0.restart.fails.0': found '0ps', expected") as raised:
        failing(tmp_path, [0])
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("every", "words"),
    [
        ("0s", "key 'checkpoint.every': found '0s', expected a time above 0"),
        ("10 parsecs", "unit"),
        (-1, "key 'checkpoint.every': found -1"),
        (1.5, "key 'checkpoint.every': found 1.5"),
    ],
)
def test_a_checkpoint_after_no_time_is_refused_in_a_line(tmp_path: Path, every: object, words: str) -> None:
    write(tmp_path, {"checkpoint": {"every": every}})
    with pytest.raises(InputError) as raised:
        failing(tmp_path, [1])
    assert words in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(("every", "passes", "told"), [(3, 2, True), (2, 2, False), ("10min", 1, False)])
def test_a_training_that_ends_before_its_first_checkpoint_says_so(
    tmp_path: Path, every: object, passes: int, told: bool
) -> None:
    write(tmp_path, {"checkpoint": {"every": every}})
    model, system, network = (tmp_path / f"{name}.yaml" for name in ("model", "system", "network"))
    warnings = validate(model, system, network, Options(passes=passes)).warnings
    found = [words for words in warnings if "checkpoint" in words]
    assert [words.partition(": ")[2] for words in found] == [
        f"no checkpoint is stored: every is {every}, and passes is {passes}"
    ] * told


@pytest.mark.parametrize(("every", "told"), [("10min", True), ("1ns", False)])
def test_a_training_that_took_less_than_the_time_to_a_checkpoint_says_so(
    tmp_path: Path, every: str, told: bool
) -> None:
    write(tmp_path, {"checkpoint": {"every": every}})
    model, system, network = (tmp_path / f"{name}.yaml" for name in ("model", "system", "network"))
    run = astra_ns3.run(workload=model, system=system, network=network, isolated=False, backend="flow")
    found = [words for words in run.metadata["warnings"] if "checkpoint" in words]
    assert len(found) == told
    assert all(words.partition(": ")[2].startswith("no checkpoint was stored: every is 600 s, and") for words in found)


def test_a_forecast_has_what_tries_after_known_failures_load_and_do_anew(tmp_path: Path) -> None:
    """Two failures, ten of them where the job may begin again twice only: two loads and two times two iterations."""

    def foreseen(checkpoint: Mapping[str, Any] | None, passes: int, **restart: Any) -> tuple[int, int]:
        write(tmp_path, {} if checkpoint is None else {"checkpoint": checkpoint})
        job: dict[str, Any] = {"name": "a", "workload": "model.yaml", "system": "system.yaml", "passes": passes}
        job |= {"restart": {"after": "1us", "at-most": 2, **restart}} if restart else {}
        (tmp_path / "scenario.json").write_text(json.dumps({"network": "network.yaml", "jobs": [job]}))
        forecast = astra_ns3.forecast_scenario(scenario=tmp_path / "scenario.json")
        return forecast.messages, forecast.bytes

    def least(begun: tuple[int, int], *more: tuple[int, int]) -> tuple[int, int]:
        return sum((each[0] for each in more), begun[0]), sum((each[1] for each in more), begun[1])

    passes, stored = foreseen(None, 2), foreseen({"every": 2}, 2)
    parameters = read_model(tmp_path / "model.yaml").totals().parameters
    # Each of two NPUs sends a signal of one byte and gets its weights and states.
    loaded = 4, 2 * (14 * parameters + 1)
    whole = foreseen({"every": 2}, PASSES)
    assert stored[1] - passes[1] == 14 * parameters + 2
    for fails in (["1us", "2us"], [f"{number}us" for number in range(1, 11)]):
        assert foreseen({"every": 2}, PASSES, fails=fails) == least(whole, loaded, stored, loaded, stored)
    assert foreseen({"every": 2}, PASSES, fails=[]) == whole
    assert foreseen(None, PASSES, fails=["1us"]) == least(foreseen(None, PASSES), foreseen(None, PASSES))
    write(tmp_path, {"checkpoint": {"every": 2}})
    played = failing(tmp_path, [alone_ps(tmp_path, {"every": 2}, PASSES) * 2 // 3])
    most = foreseen({"every": 2}, PASSES, fails=["1us"])
    assert whole[0] < played.metadata["statistics"]["messages"] <= most[0]
    # Nobody knows how many checkpoints come after a time.
    assert foreseen({"every": "1us"}, 2) == passes
    (left,) = astra_ns3.forecast_scenario(scenario=tmp_path / "scenario.json").not_counted
    assert left.endswith("model.yaml, which come after a time")


def test_jobs_beside_each_other_store_as_each_does_alone(tmp_path: Path) -> None:
    write(tmp_path, {"checkpoint": {"every": 1, "mode": "behind"}})
    four = {**NETWORK, "topology": {**NETWORK["topology"], "npus": 4}}
    (tmp_path / "network.yaml").write_text(json.dumps(four), encoding="utf-8")
    files = {"workload": "model.yaml", "system": "system.yaml", "passes": 2}
    both = [{"name": name, "npus": npus, **files} for name, npus in (("a", [0, 1]), ("b", [3, 2]))]
    results = []
    for jobs in (both, both[:1], both[1:]):
        (tmp_path / "scenario.json").write_text(json.dumps({"network": "network.yaml", "jobs": jobs}), encoding="utf-8")
        results.append(
            astra_ns3.run_scenario(scenario=tmp_path / "scenario.json", isolated=False, record=["flows"]).tenants
        )
    together, *alone = results
    for name, one in zip("ab", alone, strict=True):
        assert together[name].finish_ps == one[name].finish_ps
        assert together[name].flows.equals(one[name].flows)
    # Storage hosts keep their numbers, behind the network's four NPUs.
    assert set(together["b"].flows["destination"]) == {0, 1, 4 + 2, 4 + 3}
