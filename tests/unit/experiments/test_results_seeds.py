"""Runs with several seeds: their spread, their folders, and what is left when one fails or Ctrl-C comes."""

from __future__ import annotations

import json
import logging
import os
import re
import signal
import statistics
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from support.fake_backend import FakeBackend
from support.small_run import NPUS, BeatingBackend, InterruptedBackend, small_network, small_system, small_workload

import astra_ns3
from astra_ns3 import Tenant
from astra_ns3.config.network.packet_network import NetworkConfig
from astra_ns3.errors import BackendError, InputError, Interrupted, SimulationStalled
from astra_ns3.experiments.request import RunRequest
from astra_ns3.experiments.scenario_request import ScenarioRequest
from astra_ns3.experiments.seeds import SeedsOutcome, execute_seeds
from astra_ns3.network.api import Limits, NetworkListener
from astra_ns3.report.seeds import seeds_text
from astra_ns3.scenario.tenant import LARGEST_SEED
from astra_ns3.workload.files.astra_sim import parse_workload

KEYS = ("mean_ps", "standard_deviation_ps", "minimum_ps", "maximum_ps")
DIRECT = {"all-reduce-implementation": "direct"}
Make = Callable[[int], FakeBackend]


def by_seed(seed: int) -> FakeBackend:
    """A network whose latency is the seed, in microseconds."""
    return FakeBackend(NPUS, latency_ps=seed * 1_000_000)


class KilledBackend(BeatingBackend):
    """Its process is killed in the middle."""

    def beat(self, listener: NetworkListener) -> None:
        super().beat(listener)
        os.kill(os.getpid(), signal.SIGKILL)


class LateCtrlC(FakeBackend):
    """Ctrl-C reaches the parent when the run has just ended."""

    def run(self, listener: NetworkListener, limits: Limits) -> None:
        super().run(listener, limits)
        os.kill(os.getppid(), signal.SIGINT)


def inputs() -> dict[str, Any]:
    return {"workload": small_workload(), "system": small_system(), "network": small_network()}


def seeds(count: int, make: Make = by_seed, **more: Any) -> SeedsOutcome:
    def factory(_plan: object, seed: int, *_: object) -> Any:
        return make(seed)

    return execute_seeds(RunRequest(**{**inputs(), "backend": factory, **more}), count)


def failing(at: int, backend: Callable[[], FakeBackend]) -> Make:
    return lambda seed: backend() if seed == at else by_seed(seed)


def test_the_spread_is_that_of_runs_one_by_one() -> None:
    outcome = seeds(4, seed=3)
    alone = [astra_ns3.run(**inputs(), backend=by_seed(seed), seed=seed) for seed in (3, 4, 5, 6)]
    for spread, times in (
        (outcome.document["finish"], [result.finish_ps for result in alone]),
        (outcome.document["exposed"], [result.metadata["exposed_ps"] for result in alone]),
    ):
        expected = (statistics.mean(times), statistics.stdev(times), min(times), max(times))
        assert [(spread or {})[key] for key in KEYS] == [round(number) for number in expected]
    assert (outcome.error, outcome.folder, outcome.document["complete"]) == (None, None, True)
    assert [run["seed"] for run in outcome.document["runs"]] == [3, 4, 5, 6]
    assert [run["finish_ps"] for run in outcome.document["runs"]] == [result.finish_ps for result in alone]


def test_of_one_seed_there_is_no_deviation() -> None:
    outcome = seeds(1)
    assert outcome.document["finish"] is not None
    assert outcome.document["finish"]["standard_deviation_ps"] is None
    assert "(one run)" in seeds_text(outcome.document, None)


def test_each_run_lies_in_a_folder_of_its_own_below_the_one_of_all(tmp_path: Path) -> None:
    outcome = seeds(3, output=tmp_path / "out")
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["run.json", "seed-1", "seed-2", "seed-3"]
    assert json.loads((tmp_path / "out" / "run.json").read_text()) == outcome.document
    for run in outcome.document["runs"]:
        result = astra_ns3.Result.load(tmp_path / "out" / str(run["folder"]))
        assert (result.metadata["seed"], result.finish_ps, result.complete) == (run["seed"], run["finish_ps"], True)
    assert list(tmp_path.iterdir()) == [tmp_path / "out"]


def test_the_folder_of_all_is_not_taken_for_that_of_a_run(tmp_path: Path) -> None:
    seeds(2, output=tmp_path / "out")
    with pytest.raises(
        InputError, match=r"several seeds, whose mean and deviation .*/out/run.json has; name one, as .*seed-1"
    ):
        astra_ns3.Result.load(tmp_path / "out")


def test_a_folder_that_holds_runs_is_refused_unless_it_is_to_be_overwritten(tmp_path: Path) -> None:
    seeds(2, output=tmp_path / "out")
    before = (tmp_path / "out" / "run.json").read_bytes()
    for folder in ("out", "other"):
        with pytest.raises(InputError, match="holds a run"):
            seeds(3, output=tmp_path / folder)
        (tmp_path / "other" / "seed-2").mkdir(parents=True, exist_ok=True)
        (tmp_path / "other" / "seed-2" / "run.json").touch()
    assert (tmp_path / "out" / "run.json").read_bytes() == before
    assert not (tmp_path / "out" / "seed-3").exists()
    assert not (tmp_path / "other" / "seed-1").exists()
    assert seeds(3, output=tmp_path / "out", overwrite=True).document["seeds_complete"] == 3
    assert len(json.loads((tmp_path / "out" / "run.json").read_text())["runs"]) == 3


def test_all_replace_a_single_run_that_lies_there(tmp_path: Path) -> None:
    astra_ns3.run(**inputs(), backend=by_seed(1), output=tmp_path / "out")
    seeds(2, output=tmp_path / "out", overwrite=True)
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["run.json", "seed-1", "seed-2"]


@pytest.mark.parametrize(
    ("backend", "kind"),
    [
        (lambda: FakeBackend(NPUS, lost=lambda _, row: row == 3), SimulationStalled),
        (lambda: KilledBackend(NPUS), BackendError),
    ],
    ids=["stalled", "killed"],
)
def test_a_seed_that_fails_is_listed_and_the_others_run(
    backend: Callable[[], FakeBackend], kind: type[Exception], tmp_path: Path
) -> None:
    outcome = seeds(4, failing(2, backend), output=tmp_path / "out")
    assert isinstance(outcome.error, kind)
    assert outcome.message.startswith("seed 2: ")
    runs = outcome.document["runs"]
    assert [run["complete"] for run in runs] == [True, False, True, True]
    stopped = runs[1]["stopped"]
    assert stopped is not None
    assert (stopped["kind"], runs[0]["stopped"]) == (kind.__name__, None)
    assert stopped["exit_status"] == outcome.error.exit_status
    whole = [run["finish_ps"] or 0 for run in runs if run["complete"]]
    assert outcome.document["finish"] is not None
    assert outcome.document["finish"]["mean_ps"] == round(statistics.mean(whole))
    assert (outcome.document["complete"], outcome.document["seeds_complete"]) == (False, 3)
    text = seeds_text(outcome.document, outcome.folder)
    assert "(3 of 4 complete)" in text
    assert f"seed 2  {kind.__name__}" in text
    assert astra_ns3.Result.load(tmp_path / "out" / "seed-4").complete


def test_ctrl_c_stops_the_rest_and_keeps_what_is_done(tmp_path: Path) -> None:
    outcome = seeds(5, failing(3, lambda: InterruptedBackend(NPUS)), passes=2, output=tmp_path / "out")
    assert isinstance(outcome.error, Interrupted)
    assert (outcome.document["not_run"], outcome.document["seeds_complete"]) == ([4, 5], 2)
    assert not (tmp_path / "out" / "seed-4").exists()
    assert not astra_ns3.Result.load(tmp_path / "out" / "seed-3").complete
    assert json.loads((tmp_path / "out" / "run.json").read_text()) == outcome.document
    assert "not run  seeds 4 to 5" in seeds_text(outcome.document, outcome.folder)


def test_ctrl_c_that_comes_too_late_for_one_run_stops_the_next(tmp_path: Path) -> None:
    outcome = seeds(3, failing(2, lambda: LateCtrlC(NPUS)), output=tmp_path / "out")
    assert isinstance(outcome.error, Interrupted)
    assert (outcome.document["not_run"], outcome.document["runs"][0]["complete"]) == ([3], True)


def test_inputs_that_are_wrong_are_refused_once_and_nothing_is_written(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="comm-scale is 0"):
        seeds(3, comm_scale=0.0, output=tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("count", "seed", "message"),
    [
        (0, 1, "seeds is 0, expected a whole number, at least 1"),
        (-1, 1, "seeds is -1"),
        (True, 1, "seeds is True"),
        (2, 0, "seed is 0"),
        (2, LARGEST_SEED, "above the largest seed"),
    ],
)
def test_seeds_that_do_not_exist_are_refused(count: int, seed: int, message: str) -> None:
    with pytest.raises(InputError, match=message):
        seeds(count, seed=seed)


def test_seeds_go_up_to_the_largest() -> None:
    outcome = seeds(2, lambda seed: FakeBackend(NPUS), seed=LARGEST_SEED - 1)
    assert [run["seed"] for run in outcome.document["runs"]] == [LARGEST_SEED - 1, LARGEST_SEED]


def test_what_every_run_warns_of_is_said_once(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        outcome = seeds(3, comm_scale=0.1)
    assert caplog.text.count("scaled by 0.1") == 1
    assert len(outcome.document["warnings"]) == 1


def test_the_same_seeds_give_the_same_document() -> None:
    first, second = seeds(3).document, seeds(3).document
    assert {**first, "timing": None} == {**second, "timing": None}


def test_seeds_that_draw_nothing_say_so() -> None:
    said = "nothing is drawn: all seeds gave the same"
    assert said in seeds_text(seeds(3, lambda _: FakeBackend(NPUS)).document, None)
    assert said not in seeds_text(seeds(3).document, None)
    assert said not in seeds_text(seeds(1).document, None)


def test_seeds_of_a_scaled_run_say_what_is_multiplied() -> None:
    document = seeds(2, scale=0.5).document
    assert (document["comm_scale"], document["compute_scale"]) == (0.5, 0.5)
    assert "multiplied             sizes by 0.5, compute times by 0.5\n" in seeds_text(document, None)
    assert "multiplied" not in seeds_text(seeds(1).document, None)


def test_seeds_below_the_floor_are_marked() -> None:
    document = seeds(3).document
    for run, share in zip(document["runs"], (0.5, 1.5, 0.25), strict=True):
        run["of_floor"] = share
    said = "below the floor        2 of 3 runs; the fastest takes 0.25 of what its lines need"
    assert said in seeds_text(document, None)
    document["runs"][0]["of_floor"] = document["runs"][2]["of_floor"] = 1.0
    assert "below the floor" not in seeds_text(document, None)


LONG = "DATA\n1\na -1 5000000 NONE 0 1 NONE 0 1 NONE 0 0\n"  # longer than what jitter draws


def _jobs(*jobs: Tenant, network: NetworkConfig) -> SeedsOutcome:
    return execute_seeds(ScenarioRequest(network=network, tenants=jobs, backend=lambda *_: FakeBackend(NPUS)), 4)


def _drawn(name: str, npus: Sequence[int], end_ps: int | None = None) -> Tenant:
    return Tenant(name, npus, small_workload(), small_system(**{"start-jitter": 100_000}), end_ps=end_ps)


def test_jobs_that_differ_are_drawn_though_the_finish_is_that_of_another_job() -> None:
    other = Tenant("a", (0, 1), parse_workload(LONG, "long.txt"), small_system())
    found = _jobs(other, _drawn("b", (2, 3)), network=small_network()).document
    assert found["finish"]["standard_deviation_ps"] == found["jobs"]["a"]["standard_deviation_ps"] == 0
    assert found["jobs"]["b"]["standard_deviation_ps"] > 0
    assert "nothing is drawn" not in seeds_text(found, None)


def test_a_job_that_its_end_cuts_counts_in_no_spread_and_the_number_of_the_others_is_told() -> None:
    alone = _jobs(_drawn("a", (0, 1)), network=small_network()).document
    own_ps = sorted(run["jobs"]["a"] for run in alone["runs"])
    cut = _drawn("a", (0, 1), end_ps=own_ps[1] + 1)
    never = _drawn("b", (2, 3), end_ps=1)
    found = _jobs(cut, never, network=small_network()).document
    assert sorted(run["jobs"]["a"] or 0 for run in found["runs"]) == [0, 0, *own_ps[:2]]
    assert (found["jobs"]["a"]["runs"], found["jobs"]["a"]["maximum_ps"], found["jobs"]["b"]) == (2, own_ps[1], None)
    text = seeds_text(found, None)
    assert "job b       it never ended by itself\n" in text
    assert re.search(r"job a took  .* \(from .* to .*\)  in 2 of 4 runs\n", text)
    document = {**found, "jobs": {str(number): found["jobs"]["a"] for number in range(15)}}
    assert "further jobs" in seeds_text(document, None)
