"""A study of a model: which points fit, what they get done in a second, which is the best, and means over seeds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.models import SEQUENCE, small_gpt
from support.small_run import small_system
from support.studies import INPUTS, expanded, result_of, study_of

from astra_ns3.config.model.compute import Given, Roofline, Systolic
from astra_ns3.config.model.devices import device_named
from astra_ns3.config.network.packet_network import parse_network
from astra_ns3.experiments.inputs import load_inputs
from astra_ns3.experiments.metadata import throughput_document
from astra_ns3.experiments.options import Options
from astra_ns3.report.foreseen_text import throughput_rows
from astra_ns3.studies.figures.config import FigureConfig
from astra_ns3.studies.figures.data import figure_data
from astra_ns3.studies.figures.kinds import written
from astra_ns3.studies.means import mean_rows
from astra_ns3.studies.measures import MEASURES, measures_of
from astra_ns3.studies.page import page
from astra_ns3.studies.result import StudyResult
from astra_ns3.studies.rows_text import shown_measures
from astra_ns3.studies.task import PointOutcome
from astra_ns3.studies.text import study_text
from astra_ns3.workload.models.work import IterationWork, iteration_work

MODEL = {
    "workload": str(INPUTS / "workload/models/llama-3-8b.yaml"),
    "workload.model.layers": 8,
    "workload.training.micro_batches": 4,
}
TENSOR = "workload.parallel.tensor"
CAPACITY = 80_000_000_000
FIGURES = {kind: {"kind": kind, "y": "finish_us"} for kind in ("bars", "lines", "heatmap", "table", "stacked")}


def done(address: str, tokens_per_second: float | None, memory_bytes: int) -> PointOutcome:
    """A point that nobody played."""
    measures: dict[str, Any] = {
        "finish_us": 1e6,
        "tokens_per_second": tokens_per_second,
        "npu_memory_bytes": memory_bytes,
        "npu_memory_capacity_bytes": CAPACITY,
        "fits": memory_bytes <= CAPACITY,
    }
    return PointOutcome(address, "done", None, measures, {"wall_seconds": 1.0}, {})


def study_result(
    folder: Path, memory: tuple[int, ...], speeds: tuple[float, ...], seeds: int = 1, **base: Any
) -> StudyResult:
    """Tensor 1, 2 and so on, each with its memory and its tokens a second times its seed."""
    axes = {TENSOR: [2**place for place in range(len(memory))]}
    study = study_of({**MODEL, **base}, one={"axes": axes, "figures": FIGURES})
    expansion = expanded({**study, "seeds": seeds})
    places = [axes[TENSOR].index(point.labels["tensor"]) for point in expansion.points]
    outcomes = {
        point.address: done(point.address, speeds[place] * point.seed, memory[place])
        for point, place in zip(expansion.points, places, strict=True)
    }
    return StudyResult(expansion, outcomes, folder)


def _waiting(result: StudyResult, share: Callable[[object, int], float]) -> StudyResult:
    """The same, where a next pass may hide a share of each point's time, by its tensor and its seed."""
    outcomes = {}
    for point in result.expansion.points:
        outcome = result.outcomes[point.address]
        hidden = {"hidden_by_next_us": 1e6 * share(point.labels["tensor"], point.seed)}
        outcomes[point.address] = replace(outcome, measures={**outcome.measures, **hidden})
    return StudyResult(result.expansion, outcomes, result.folder)


def test_what_does_not_fit_is_left_out_of_the_best_with_the_reason(tmp_path: Path) -> None:
    result = study_result(tmp_path, (235_000_000_000, 70_000_000_000, 40_000_000_000), (300.0, 200.0, 100.0))
    best = result.best["one"]
    assert (best.measure, best.point, best.value) == ("tokens_per_second", "tensor 2", 200.0)
    assert [(each.point, each.reason) for each in best.left_out] == [("tensor 1", "needs 235 GB of 80 GB")]
    assert result.frame["fits"].tolist() == [False, True, True]
    for text in (study_text(result), page(result, [], "again")):
        assert "best: tensor 2, 200 tokens per second" in text
        assert "no: needs 235 GB of 80 GB" in text
        assert "left out of the best: tensor 1 (needs 235 GB of 80 GB)" in text


def test_a_best_that_leaves_little_memory_is_called_tight(tmp_path: Path) -> None:
    """70 of 80 GB is above 80%, 40 GB is below."""
    tight = study_result(tmp_path, (70_000_000_000, 40_000_000_000), (200.0, 100.0))
    words = "best: tensor 1, 200 tokens per second; tight: needs 70 GB of 80 GB, and real peaks are some GB higher\n"
    for text in (study_text(tight), page(tight, [], "again").replace("<", "\n<")):
        assert words in text
        assert "yes, tight: needs 70 GB of 80 GB" in text
        assert "needs 40 GB" not in text
    roomy = study_result(tmp_path, (70_000_000_000, 40_000_000_000), (100.0, 200.0))
    assert roomy.best["one"].tight == ""


def test_points_that_are_as_good_as_the_best_are_named_with_it(tmp_path: Path) -> None:
    result = study_result(tmp_path, (1, 1, 1), (200.0, 100.0, 200.0))
    assert (result.best["one"].point, result.best["one"].equals) == ("tensor 1", ("tensor 4",))
    assert "best: tensor 1, 200 tokens per second; as many with tensor 4" in study_text(result)


@pytest.mark.parametrize(
    ("seeds", "speeds", "near"),
    [
        (1, (100.0, 99.0, 98.0), ()),
        (2, (100.0, 51.0, 49.0), ("tensor 2",)),  # 100 to 200, 51 to 102, 49 to 98
        (2, (100.0, 51.0, 50.0), ("tensor 2", "tensor 4")),
        (2, (100.0, 49.0, 100.0), ()),  # the last is as good
    ],
)
def test_points_that_some_seed_brings_as_far_as_the_best_with_another_are_named(
    seeds: int, speeds: tuple[float, ...], near: tuple[str, ...], tmp_path: Path
) -> None:
    result = study_result(tmp_path, (1, 1, 1), speeds, seeds)
    assert result.best["one"].as_seeds_spread == near
    told = f"tokens per second; within the spread of seeds: {'; '.join(near)}\n"
    assert (told in study_text(result)) is bool(near)


@pytest.mark.parametrize(
    ("speeds", "shares", "named"),
    [
        ((200.0, 190.0), (0.0, 0.1), True),  # 190 / 0.9 = 211
        ((200.0, 170.0), (0.0, 0.1), False),  # 170 / 0.9 = 189
        ((200.0, 190.0), (0.2, 0.0), False),
        ((200.0, 200.0), (0.0, 0.0), False),
    ],
)
@pytest.mark.parametrize("seeds", [1, 3])
def test_points_that_may_be_faster_from_the_second_iteration_on_are_named(
    speeds: tuple[float, float], shares: tuple[float, float], named: bool, seeds: int, tmp_path: Path
) -> None:
    result = _waiting(study_result(tmp_path, (1, 1), speeds, seeds), lambda tensor, seed: shares[tensor == 2])
    best = result.best["one"]
    assert (best.point, best.sooner_next) == ("tensor 1", ("tensor 2",) if named else ())
    told = "from the second iteration on, others may be faster (tensor 2): use passes: 2"
    assert all((told in text) is named for text in (study_text(result), page(result, [], "again")))


@pytest.mark.parametrize(("hides", "named"), [(1, False), (3, True)])
def test_each_seed_hides_its_own_wait_only(hides: int, named: bool, tmp_path: Path) -> None:
    """80, 160 and 240 of seeds 1 to 3, of which half the time is hidden of one: 560 / 3 or 720 / 3 beside 200."""
    given = study_result(tmp_path, (1, 1), (100.0, 80.0), seeds=3)
    result = _waiting(given, lambda tensor, seed: 0.5 * (tensor == 2 and seed == hides))
    assert bool(result.best["one"].sooner_next) is named


def test_a_point_that_was_played_with_fewer_seeds_than_others_is_left_out_of_the_best(tmp_path: Path) -> None:
    """Its mean would be that of other runs: with seeds 1 to 3 a seed is worth 200 on average, with seed 3 alone 300."""
    result = study_result(tmp_path, (1, 1, 1), (90.0, 100.0, 80.0), seeds=3)
    points = tuple(each for each in result.expansion.points if each.labels["tensor"] != 1 or each.seed == 3)
    best = StudyResult(replace(result.expansion, points=points), result.outcomes, tmp_path).best["one"]
    assert (best.point, best.value) == ("tensor 2", 200.0)
    assert [(each.point, each.reason) for each in best.left_out] == [("tensor 1", "not played with seed 1, 2")]


@pytest.mark.parametrize(("seeds", "said"), [(1, "failed"), (2, "1 done, 1 failed")])
def test_the_table_says_which_points_failed_though_they_have_numbers(tmp_path: Path, seeds: int, said: str) -> None:
    result = study_result(tmp_path, (1,), (200.0,), seeds=seeds)
    assert "status" not in study_text(result)
    last, outcome = list(result.outcomes.items())[-1]
    error: Any = {"kind": "LimitReached", "message": "the limit", "exit_status": 4}
    outcomes = {**result.outcomes, last: replace(outcome, status="failed", error=error)}
    lines = study_text(StudyResult(result.expansion, outcomes, tmp_path)).splitlines()
    heading = next(place for place, line in enumerate(lines) if line.endswith("status"))
    assert lines[heading + 1].endswith(said)


def test_what_runs_warned_of_is_told_once_with_the_number_of_runs(tmp_path: Path) -> None:
    result = study_result(tmp_path, (1, 1), (200.0, 100.0))
    assert "\nwarned\n" not in study_text(result)
    warned = {address: replace(each, warnings=["no pfc"]) for address, each in result.outcomes.items()}
    result = StudyResult(result.expansion, warned, tmp_path)
    assert "\n\nwarned\n  2 runs  no pfc\n\n" in study_text(result)
    assert "<b>2 runs</b>: no pfc" in page(result, [], "again")


def test_a_warning_of_some_runs_names_the_first_of_their_points(tmp_path: Path) -> None:
    result = study_result(tmp_path, (1,) * 3, (200.0,) * 3, seeds=2)
    names = [point.name for point in result.expansion.points]
    few = {address: ["no pfc"] * (place in (1, 3)) for place, address in enumerate(result.outcomes)}
    many = {address: ["no pfc"] * (place > 0) for place, address in enumerate(result.outcomes)}
    for told, points in (
        (few, f"in {names[1]}; {names[3]}"),
        (many, f"in {names[1]}; {names[2]}; {names[3]} and 2 more"),
    ):
        warned = {address: replace(each, warnings=told[address]) for address, each in result.outcomes.items()}
        found, runs = StudyResult(result.expansion, warned, tmp_path), sum(map(len, told.values()))
        assert f"\n\nwarned\n  {runs} runs  no pfc\n          {points}\n\n" in study_text(found)
        assert f"<b>{runs} runs</b>: no pfc ({points})" in page(found, [], "again")


def test_columns_that_no_row_fills_are_left_out(tmp_path: Path) -> None:
    """A scenario's rows are of several jobs, and no NPU is reported."""
    result = study_result(tmp_path, (1,), (200.0,))
    (part,), (row, *_) = result.expansion.parts, result.rows
    full = {**row, "compute_us": 1.0, "exposed_us": 2.0}
    empty = {**row, "compute_us": None, "exposed_us": None}
    assert not {"compute_us", "exposed_us"} & {*shown_measures(part, [empty])}
    assert {"compute_us", "exposed_us"} <= {*shown_measures(part, [full, empty])}


def test_warnings_whose_numbers_alone_differ_are_told_once(tmp_path: Path) -> None:
    result = study_result(tmp_path, (1, 1), (200.0, 100.0))
    told = (
        ["window 8.00 KB reaches 12% of the rate", "no pfc", "1 port is full for 2 min"],
        ["window 1.20 MB reaches 7% of the rate", "no pfc", "3 ports is full for 1.5e-05 s"],
    )
    outcomes = zip(result.outcomes.items(), told, strict=True)
    warned = {address: replace(each, warnings=words) for (address, each), words in outcomes}
    assert StudyResult(result.expansion, warned, tmp_path).warnings == [
        ("window 8.00 KB reaches 12% of the rate (in others with other numbers)", 2),
        ("no pfc", 2),
        ("1 port is full for 2 min (in others with other numbers)", 2),
    ]


@pytest.mark.parametrize("kind", FIGURES)
def test_every_figure_says_what_does_not_fit(kind: str, tmp_path: Path) -> None:
    result = study_result(tmp_path, (235_000_000_000, 70_000_000_000), (300.0, 200.0))
    view, figure = result.expansion.parts[0].view(result.rows), FigureConfig.model_validate(FIGURES[kind])
    said = "1 of 2 points don't fit in memory: tensor 1, seed 1 (needs 235 GB of 80 GB)"
    assert figure_data(view, figure).missing == said
    assert [cell and cell.flaw for cell in figure_data(view, figure).panels[0].series[0].cells] == ["doesn't fit", ""]
    assert "fit in memory" in written(view, figure, tmp_path, kind)[1].read_text(encoding="utf-8")


def test_where_nothing_fits_nothing_is_best(tmp_path: Path) -> None:
    result = study_result(tmp_path, (90_000_000_000, 81_000_000_000), (2.0, 1.0))
    assert (result.best["one"].point, len(result.best["one"].left_out)) == (None, 2)
    assert "best: none" in study_text(result)


BACKENDS = {
    "ns3": ((100.0, 1.5), (80.0, 1.8)),
    "analytical": ((300.0, 1.1), (900.0, 0.4)),
    "analytical-queues": ((950.0, 0.5), (900.0, 0.4)),
}
"""Tokens a second and share of the floor with tensor 1 and 2, by backend."""


def test_each_backend_has_its_own_best_without_points_below_the_floor(tmp_path: Path) -> None:
    axes = {"backend": list(BACKENDS), TENSOR: [1, 2]}
    expansion = expanded(study_of(MODEL, one={"axes": axes}))
    outcomes = {}
    for point in expansion.points:
        speed, share = BACKENDS[str(point.labels["backend"])][point.labels["tensor"] == 2]
        played = done(point.address, speed, 1)
        outcomes[point.address] = replace(played, measures={**played.measures, "of_floor": share})
    result = StudyResult(expansion, outcomes, tmp_path)
    assert {name: best.point for name, best in result.best.items()} == {
        "one on ns3": "backend ns3, tensor 1",
        "one on analytical": "backend analytical, tensor 1",
        "one on analytical-queues": None,
    }
    for text in (study_text(result), page(result, [], "again")):
        assert "best on ns3: backend ns3, tensor 1, 100 tokens per second" in text
        assert "best on analytical: backend analytical, tensor 1, 300 tokens per second" in text
        why = "backend analytical, tensor 2 (takes 0.4 of the least time that lines allow)"
        assert f"left out of the best on analytical: {why}" in text
        assert "best on analytical-queues: none, for every point is left out" in text
        assert "0.4: below the floor" in text


def test_a_point_alone_is_no_best(tmp_path: Path) -> None:
    assert study_result(tmp_path, (1,), (2.0,), seeds=2).best == {}


def test_a_row_of_seeds_fits_only_if_each_of_them_does() -> None:
    rows = [{**dict.fromkeys(MEASURES), "part": "one", "status": "done", "fits": fits} for fits in (True, False)]
    assert [row["fits"] for row in mean_rows(rows, ())] == [False]


@pytest.mark.parametrize(
    ("key", "values", "reason"),
    [
        ("workload.model.layers", [4, 8], "model or sequence"),
        ("workload.training.sequence", [2048, 8192], "model or sequence"),
        ("workload.training.datatype", ["bfloat16", "float8"], "datatype"),
        ("workload.training.gradients", ["bfloat16", "float32"], "datatype of gradients"),
        ("workload.training.optimizer", ["adam", "sgd"], "optimizer"),
        ("workload.parallel", [{"servers": 1}, {"servers": 1, "asynchronous": True}], "asynchronous"),
        ("compat", ["none", "astra-sim-2"], "compat"),
        ("passes", [1, 2], "passes"),
        ("compute_slowdown", [{}, {"stragglers": [{"factor": 0.1}]}], "compute_slowdown"),
        ("workload.training.micro_batches", [1, 4], "samples_per_iteration"),
        ("workload.training.recompute", ["none", "full"], "dropped_share"),
    ],
)
def test_points_that_do_unlike_work_have_no_best(key: str, values: list[Any], reason: str, tmp_path: Path) -> None:
    labels = {str(place): {key: value} if value else {} for place, value in enumerate(values)}
    expansion = expanded(study_of(MODEL, one={"axes": {"which": labels}}))
    outcomes = {}
    for number, point in enumerate(expansion.points):
        played = done(point.address, 1.0, 1)
        batch = 16 * (number + 1) if reason == "samples_per_iteration" else 16
        dropped = number / 4 if reason == "dropped_share" else 0
        more = {"samples_per_iteration": batch, "dropped_share": dropped}
        outcomes[point.address] = replace(played, measures={**played.measures, **more})
    result = StudyResult(expansion, outcomes, tmp_path)
    assert (result.best["one"].point, result.best["one"].value) == (None, None)
    assert f"best: none, for points differ in {reason}" in study_text(result)
    assert all(name in study_text(result) for name in more)


def test_how_points_compute_the_same_work_leaves_them_comparable(tmp_path: Path) -> None:
    axes = {"workload.training.recompute": ["none", "full"], "workload.model.fused_attention": [True, False]}
    expansion = expanded(study_of(MODEL, one={"axes": axes}))
    outcomes = {point.address: done(point.address, 1.0, 1) for point in expansion.points}
    assert StudyResult(expansion, outcomes, tmp_path).best["one"].point is not None
    first, outcome = next(iter(outcomes.items()))
    nothing_dropped = {**outcomes, first: replace(outcome, measures={**outcome.measures, "dropped_share": 0})}
    assert StudyResult(expansion, nothing_dropped, tmp_path).best["one"].point is not None


def test_the_placement_of_tables_leaves_points_comparable(tmp_path: Path) -> None:
    dlrm = {"workload": str(INPUTS / "workload/models/dlrm-hoti-2020.yaml"), "workload.model.tables": 8}
    expansion = expanded(study_of(dlrm, one={"axes": {"workload.model.placement": ["table", "row", "column"]}}))
    outcomes = {point.address: done(point.address, 1.0 + n, 1) for n, point in enumerate(expansion.points)}
    assert StudyResult(expansion, outcomes, tmp_path).best["one"].point == "placement column"


def test_points_that_differ_in_their_seed_are_one_row_with_mean_and_deviation(tmp_path: Path) -> None:
    result = study_result(tmp_path, (1, 1), (100.0, 10.0), seeds=3)
    means = result.means
    assert means["tensor"].tolist() == [1, 2]
    assert means["seeds"].tolist() == [3, 3]
    # 100, 200, 300: the mean is 200, and the deviation of a sample sqrt((100^2 + 0 + 100^2) / 2) = 100.
    assert means["tokens_per_second"].tolist() == [200.0, 20.0]
    assert means["tokens_per_second_deviation"].tolist() == pytest.approx([100.0, 10.0])
    assert "200 +- 100" in study_text(result)
    assert len(result.frame) == 6
    assert result.best["one"].value == 200.0


def test_throughput_is_that_of_its_definition() -> None:
    # 12 samples of 2,000 tokens in 3 s: 4 a second. 12 x 5e15 FLOPs over 8 NPUs x 1e16 a second x 3 s: a quarter.
    work = IterationWork("sequence", 12, 2000, 60 * 10**15, 10**16)
    found = throughput_document(work, 8, 6 * 10**12, 2)
    assert (found["samples_per_second"], found["tokens_per_second"], found["iteration_ps"]) == (4.0, 8000.0, 3 * 10**12)
    assert found["model_flop_utilisation"] == 0.25
    assert throughput_rows({"throughput": found}) == [
        ("tokens a second", "8,000  (in samples of one sequence: 4)"),
        ("model FLOP utilisation", "25.0%  (of the devices' peak)"),
    ]
    beyond = throughput_document(replace(work, peak_flops=2 * 10**15), 8, 6 * 10**12, 2)
    assert throughput_rows({"throughput": beyond})[1] == (
        "model FLOP utilisation",
        "125.0%  (of the devices' peak, which factors below 1 or times of a file go beyond)",
    )
    without = throughput_document(replace(work, tokens=1, peak_flops=None, sample="image"), 8, 6 * 10**12, 2)
    assert (without["tokens_per_second"], without["model_flop_utilisation"]) == (None, None)
    assert throughput_rows({"throughput": without}) == [("samples a second", "4  (a sample is one image)")]


@pytest.mark.parametrize("scaled", [Options(comm_scale=0.01), Options(compute_scale=0.5), Options(scale=0.5)])
def test_a_scaled_run_gets_no_work_of_the_model_done(scaled: Options) -> None:
    network = parse_network(
        {
            "topology": {
                "kind": "single-switch",
                "npus": 8,
                "link": {"rate": "100Gbps", "delay": "1us"},
                "switch": {"buffer": "1MB"},
            },
            "transport": {"kind": "tcp"},
        }
    )
    works = []
    for options in (Options(), scaled):
        inputs = load_inputs(small_gpt(), small_system(), network, options)
        works.append(inputs.job.foreseen(inputs.platform).work)
    assert works[0] is not None
    assert works[1] is None


def test_model_flops_leave_out_what_is_computed_again() -> None:
    works = []
    for recompute in ("none", "full"):
        workload = small_gpt(parallel={"tensor": 2}, micro_batches=3, recompute=recompute)
        works.append(iteration_work(workload, workload.plan(8)))
    assert works[0] == works[1]
    # 4 copies with 3 micro-batches of 2.
    assert (works[0].samples, works[0].tokens) == (24, SEQUENCE)
    assert works[0].peak_flops == 989_400_000_000_000


def test_only_a_device_with_a_peak_has_a_utilisation() -> None:
    def peak(compute: Any) -> int | None:
        workload = small_gpt()
        changed = replace(workload, file=workload.file.model_copy(update={"compute": compute}))
        return iteration_work(changed, workload.plan(1)).peak_flops

    systolic = Systolic(kind="systolic", rows=128, columns=64, arrays=2, frequency=10**9)
    assert peak(Roofline(device=device_named("A100-80GB"))) == 312_000_000_000_000
    assert peak(systolic) == 2 * 128 * 64 * 2 * 10**9
    assert peak(Given(kind="given")) is None
    assert peak(Roofline(device=device_named("V100"))) is None  # no bfloat16


def test_what_experts_drop_stands_beside_tokens_a_second() -> None:
    found = throughput_document(IterationWork("sequence", 1, 2000, 1, None, 0.25), 8, 10**12, 1)
    said = "in samples of one sequence: 1; 25.0% of their choices of experts dropped, which no FLOPs are counted for"
    assert throughput_rows({"throughput": found}) == [("tokens a second", f"2,000  ({said})")]


def test_measures_of_memory_and_throughput_are_those_of_run_json(tmp_path: Path) -> None:
    stages = [{"stage": "0", "peak_bytes": 90}, {"stage": "1", "peak_bytes": 70}]
    memory = {"capacity_bytes": 80, "stages": stages}
    throughput = {"samples_per_second": 4.0, "tokens_per_second": None, "model_flop_utilisation": 0.25}
    found = measures_of(result_of(tmp_path, {}, memory_by_stage=memory, throughput=throughput))
    names = ("npu_memory_bytes", "npu_memory_capacity_bytes", "fits", "samples_per_second", "tokens_per_second")
    assert [found[name] for name in names] == [90, 80, False, 4.0, None]
    assert found["model_flop_utilisation_percent"] == 25.0
    assert measures_of(result_of(tmp_path / "other", {}))["fits"] is None


@pytest.mark.parametrize(("tokens", "stands"), [(50.0, False), (None, True)])
def test_samples_a_second_stand_beside_tokens_where_a_point_has_no_tokens(
    tokens: float | None, stands: bool, tmp_path: Path
) -> None:
    result = study_result(tmp_path, (1, 1), (200.0, 100.0))
    more: list[dict[str, float | None]] = [
        {"tokens_per_second": 200.0, "samples_per_second": 2.0},
        {"tokens_per_second": tokens, "samples_per_second": 1.0},
    ]
    outcomes = {
        address: replace(outcome, measures={**outcome.measures, **measures})
        for (address, outcome), measures in zip(result.outcomes.items(), more, strict=True)
    }
    text = study_text(StudyResult(result.expansion, outcomes, tmp_path))
    assert ("samples_per_second" in text.split()) is stands


def test_tables_say_whose_computing_and_waiting_they_have(tmp_path: Path) -> None:
    bare = study_result(tmp_path, (40_000_000_000,), (300.0,))
    times = {"compute_us": 1.0, "exposed_us": 2.0}
    outcomes = {address: replace(each, measures={**each.measures, **times}) for address, each in bare.outcomes.items()}
    result = StudyResult(bare.expansion, outcomes, tmp_path)
    for text in (study_text(result), page(result, [], "again")):
        assert [f"{name} (reported NPU)" in text for name in ("finish_us", "compute_us", "exposed_us")] == [
            False,
            True,
            True,
        ]
