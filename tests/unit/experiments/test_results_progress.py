"""How far a run is: by bytes delivered and by computation, each by what it costs; by steps where neither is known."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from support.fake_backend import FakeBackend
from support.graphs.msccl_programs import ring_all_reduce
from support.small_run import NPUS, small_network, small_system, small_workload
from support.training_driver import TrainingDriver

from astra_ns3.experiments.inputs import load_inputs
from astra_ns3.experiments.progress import ExpectedWork, Progress, ProgressMeter, expected_work, tell_stage
from astra_ns3.workload.files.astra_sim import parse_workload


def at(delivered: int | None, computed: int, plan: ExpectedWork, steps_done: int = 0) -> Progress:
    return Progress(0, 1, steps_done, 10, 0, 0, 40.0, delivered, computed, plan, setup_seconds=10.0)


def test_one_long_collective_progresses_by_its_bytes() -> None:
    plan = ExpectedWork(1000, 0, 1.0)
    assert [at(delivered, 0, plan).fraction for delivered in (0, 250, 1000, 1200)] == [0.0, 0.25, 1.0, 1.0]


def test_a_run_that_only_computes_progresses_by_its_computation() -> None:
    assert at(0, 30, ExpectedWork(0, 120, 0.0)).fraction == 0.25


def test_both_count_by_their_share_of_the_cost() -> None:
    assert at(500, 120, ExpectedWork(1000, 120, 0.75)).fraction == pytest.approx(0.75 * 0.5 + 0.25)


def test_layer_steps_count_where_the_backend_counts_no_bytes() -> None:
    assert at(None, 100, ExpectedWork(1000, 100, 0.5), steps_done=3).fraction == 0.3
    assert at(0, 0, ExpectedWork(0, 0, 1.0), steps_done=3).fraction == 0.3


def test_the_set_up_is_not_taken_for_the_pace() -> None:
    # 30 s for a quarter.
    assert at(250, 0, ExpectedWork(1000, 0, 1.0)).seconds_left == pytest.approx(90.0)


def test_planned_bytes_are_those_of_the_closed_form() -> None:
    # Per pass ring all-reduces of 4000 and 8000 bytes: 2(n-1) of the whole in all.
    inputs = load_inputs(small_workload(), small_system(), small_network())
    assert expected_work([(inputs, 7)]).bytes == 7 * 2 * (NPUS - 1) * (4000 + 8000)


def test_expected_computation_counts_forward_passes_that_are_done_again() -> None:
    text = (
        "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 checkpoints: 1 0 checkpoint_initiates: 1 1\n2\n"
        "a -1 5 NONE 0 7 NONE 0 11 NONE 0 0\nb -1 13 NONE 0 17 NONE 0 19 NONE 0 0\n"
    )
    inputs = load_inputs(parse_workload(text), small_system(), small_network())
    # In each pass layer 0's forward pass, 5 ns, is done once more before layer 1 goes backwards.
    assert expected_work([(inputs, 3)]).compute_ps == 3 * (5 + 7 + 11 + 13 + 17 + 19 + 5) * 1000


def test_the_bytes_share_is_what_they_cost() -> None:
    none = "DATA\n1\nx -1 5 NONE 0 0 NONE 0 0 NONE 0 0\n"
    much = "DATA\n1\nx -1 5 NONE 0 0 NONE 0 0 ALLREDUCE 1000000000 0\n"
    shares = [
        expected_work([(load_inputs(parse_workload(text), small_system(), small_network()), 1)]).bytes_share
        for text in (none, much)
    ]
    assert shares[0] == 0.0
    assert 0.99 < shares[1] < 1.0


def test_what_is_thrown_away_again_does_not_count_down() -> None:
    class Counting(FakeBackend):
        count = 0

        def delivered_bytes(self, npus: Sequence[int] | None = None) -> int:
            return self.count

    network = Counting(NPUS)
    driver = TrainingDriver(network, small_system(), small_workload())
    meter = ProgressMeter(driver, network, ExpectedWork(1000, 0, 1.0), 0.0)
    fractions = []
    for network.count in (0, 600, 500, 700):
        fractions.append(meter.read(0, 0, 1.0).fraction)
    assert fractions == [0.0, 0.6, 0.6, 0.7]


def test_a_sink_hears_of_stages_if_it_can() -> None:
    class Hears:
        def __init__(self) -> None:
            self.heard: list[tuple[str, float]] = []

        def stage(self, name: str, wall_seconds: float) -> None:
            self.heard.append((name, wall_seconds))

        def update(self, progress: Progress) -> None:
            pass

        def finish(self) -> None:
            pass

    tell_stage(None, "planning", 1.0)
    tell_stage(object(), "planning", 1.0)  # type: ignore[arg-type]
    sink = Hears()
    tell_stage(sink, "planning", 2.5)
    assert sink.heard == [("planning", 2.5)]


def test_the_proof_of_a_users_schedule_is_told_order_by_order(tmp_path: Path) -> None:
    path = tmp_path / "mine.xml"
    path.write_text(ring_all_reduce(NPUS))
    told: list[str] = []
    load_inputs(
        small_workload(),
        small_system(**{"all-reduce-implementation": f"file:{path}"}),
        small_network(),
        tell=told.append,
    )
    tried = [f"trying {path}, order {run} of 5" for run in range(1, 6)]
    assert told == [f"reading {path}", *tried, f"proving {path}, order 1 of 1"]
