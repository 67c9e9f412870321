"""What varied plans share: choices where the model is the same, bounds where only the memory differs."""

from __future__ import annotations

import re
import signal
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from support.plans import servers

from astra_ns3.config.core.plain import Json
from astra_ns3.config.plan_file import read_plan_file
from astra_ns3.errors import InputError, Interrupted
from astra_ns3.frozen import replace
from astra_ns3.planning import plan as planning
from astra_ns3.planning.bounds import Bound, Bounds
from astra_ns3.planning.degrees import Space
from astra_ns3.planning.plan import AllBounds, Bounded, Plan, bounds_of, make_plan
from astra_ns3.planning.request import PlanRequest
from astra_ns3.planning.search import Found, Played
from astra_ns3.planning.varying import varying
from astra_ns3.planning.varying.picture import varied_figure
from astra_ns3.planning.varying.result import rows_of
from astra_ns3.planning.varying.text import head_of, table_of
from astra_ns3.planning.varying.varying import BestBound, Varied, VariedPoint, best_bound, varied_keys, vary
from astra_ns3.report.figures.figure import Words
from astra_ns3.units import format_time
from astra_ns3.whole_file import STUDY_MARK

MODEL = {
    "kind": "transformer",
    "name": "small",
    "model": {"layers": 2, "hidden": 256, "heads": 2, "vocabulary": 1000},
    "training": {"sequence": 256, "global_batch": 4},
    "compute": "H100",
}
NETWORK = {
    "topology": {
        "kind": "single-switch",
        "npus": 4,
        "link": {"rate": "400Gbps", "delay": "500ns"},
        "switch": {"buffer": "32MiB"},
    },
    "transport": {"kind": "roce"},
}
RATE = "network.topology.link.rate"
TIMES_PS = (2_000_000, 3_000_000, 4_000_000)


@pytest.fixture
def request_of_a_plan(tmp_path: Path) -> PlanRequest:
    for name, document in (("model", MODEL), ("network", NETWORK)):
        (tmp_path / f"{name}.yaml").write_text(yaml.safe_dump(document), encoding="utf-8")
    return PlanRequest(tmp_path / "model.yaml", tmp_path / "network.yaml", output=tmp_path / "out")


def test_bounds_are_worked_out_once_for_all_memories_and_once_a_network(
    request_of_a_plan: PlanRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[object] = []

    def noted(request: PlanRequest, space: Space) -> AllBounds:
        asked.append(request.changes)
        return bounds_of(request, space)

    monkeypatch.setattr(planning, "bounds_of", noted)
    keys = varied_keys([f"{RATE}=20Gbps,400Gbps", "workload.memory=1GB,10GB,80GB"])
    varied = vary(request_of_a_plan, keys, play=False)
    assert len(varied.points) == 6
    assert len(asked) == 2
    assert not request_of_a_plan.folder.exists()


def test_shared_bounds_are_those_that_each_point_has_alone(request_of_a_plan: PlanRequest) -> None:
    keys = varied_keys([f"{RATE}=20Gbps,400Gbps", "workload.memory=90MB,80GB"])
    for point in vary(request_of_a_plan, keys, play=False).points:
        alone = Bounded()
        space = alone.space(point.request)
        assert point.bound == best_bound(space, alone.bounds(point.request, space).bounds)


@pytest.mark.parametrize(
    "changes",
    [
        {"workload.compute.device": "A100-80GB"},
        {"workload.model.layers": 4},
        {RATE: "50Gbps"},
        {"network.topology.npus": 2},
        {"system.preferred-dataset-splits": 4},
    ],
)
def test_no_bounds_are_shared_where_anything_else_differs(
    request_of_a_plan: PlanRequest, changes: dict[str, Json]
) -> None:
    other = replace(request_of_a_plan, changes=changes)
    shared = Bounded()
    found: list[BestBound] = []
    for request in (request_of_a_plan, other):
        space = shared.space(request)
        found.append(best_bound(space, shared.bounds(request, space).bounds))
    space = Bounded().space(other)
    assert found[1] == best_bound(space, bounds_of(other, space).bounds)


@pytest.mark.parametrize("name", ["scale", "comm_scale", "compute_scale"])
def test_a_scaled_model_has_no_bounds(request_of_a_plan: PlanRequest, name: str) -> None:
    """Runs of half the size are faster than bounds on the whole."""
    with pytest.raises(InputError, match=f"^{name} is 0.5, expected 1"):
        _ = replace(request_of_a_plan, changes={name: 0.5}).base


def test_a_varied_key_goes_before_one_that_is_set_for_all(request_of_a_plan: PlanRequest) -> None:
    request = replace(request_of_a_plan, changes={RATE: "50Gbps", "workload.model.layers": 1})
    points = vary(request, varied_keys([f"{RATE}=20Gbps,400Gbps"]), play=False).points
    assert [point.request.changes[RATE] for point in points] == ["20Gbps", "400Gbps"]
    assert {point.request.changes["workload.model.layers"] for point in points} == {1}


def test_numbers_in_the_picture_are_those_of_the_plans_named_below_it(request_of_a_plan: PlanRequest) -> None:
    varied = vary(request_of_a_plan, varied_keys([f"{RATE}=1Gbps,400Gbps", "workload.memory=1MB,80GB"]), play=False)
    figure = varied_figure(varied)
    named = {"none": "", **dict(re.findall(r"plan (\d+): ([^;]+)", figure.missing))}
    best = [point.best for point in varied.points]
    assert len(set(best)) == 3
    assert [named[each.text] for each in figure.panels[-1].series if isinstance(each, Words)] == best


def test_a_picture_of_plans_that_train_on_different_samples_says_so(request_of_a_plan: PlanRequest) -> None:
    """As its page does: twice the samples in the same time are twice as fast."""
    keys = varied_keys(["workload.training.global_batch=4,8"])
    assert varied_figure(vary(request_of_a_plan, keys, play=False)).missing.startswith("samples differ: 4, 8 an iter")
    keys = varied_keys([f"{RATE}=20Gbps,400Gbps"])
    assert "samples" not in varied_figure(vary(request_of_a_plan, keys, play=False)).missing


def test_a_search_says_what_the_device_loses_inside_nodes_if_there_are_any(
    request_of_a_plan: PlanRequest, tmp_path: Path
) -> None:
    """An H100's lines reach 73%; with half of that as the user has it, both points are told."""
    keys = varied_keys(["workload.memory=80GB"])
    (row,) = (row for row in head_of(vary(request_of_a_plan, keys, play=False)) if row[0] == "device losses")
    assert "lines inside nodes" not in row[1]
    (tmp_path / "network.yaml").write_text(yaml.safe_dump(servers(2, 2).document()), encoding="utf-8")
    inside = replace(request_of_a_plan, changes={"workload.compute": {"device": "H100"}})
    keys = varied_keys(["workload.compute.scale_up_efficiency=0.73,0.36"])
    rows = [words for name, words in head_of(vary(inside, keys, play=False)) if name == "device losses"]
    assert ["lines inside nodes reach 73% of their rate" in rows[0], "reach 36% of their rate" in rows[1]] == [True] * 2


def test_lists_are_values_too() -> None:
    (key,) = varied_keys(["network.topology.rates=[1Gbps, 2Gbps],[2Gbps, 1Gbps]"])
    assert key.values == (["1Gbps", "2Gbps"], ["2Gbps", "1Gbps"])
    assert key.labels == ("1Gbps, 2Gbps", "2Gbps, 1Gbps")
    assert key.name == "rates"


def test_another_workload_is_told_where_a_model_file_comes_from(request_of_a_plan: PlanRequest, tmp_path: Path) -> None:
    text = tmp_path / "text.txt"
    text.write_text("MICRO\n1\na\t-1 0 NONE 0 0 NONE 0 0 ALLREDUCE 1024 0\n", encoding="utf-8")
    assert read_plan_file(text) is None
    with pytest.raises(InputError, match=r"text\.txt: is no model file, .*'astra-ns3 generate workload config\.json"):
        _ = replace(request_of_a_plan, model=text).base


def _with_an_earlier_plan(folder: Path) -> set[str]:
    """Write the files that an earlier plan left in a folder; return the names of what tells of it."""
    told = {"vary.csv", "vary.json", "vary.svg", "plan.csv", "plan.json", "best-next.yaml", "study.csv", "index.html"}
    (folder / "points").mkdir(parents=True)
    for name in (*told, "notes.txt", "points/run.json", STUDY_MARK):
        (folder / name).write_text("of an earlier plan", encoding="utf-8")
    return told


@pytest.mark.parametrize("varied", [True, False])
def test_an_interrupted_search_leaves_nothing_that_tells_of_an_earlier_plan(
    request_of_a_plan: PlanRequest, monkeypatch: pytest.MonkeyPatch, varied: bool
) -> None:
    folder = request_of_a_plan.folder
    point = folder / "plan-rate-1Gbps"
    told = _with_an_earlier_plan(folder)
    _with_an_earlier_plan(point)

    def interrupted(*_: object, **__: object) -> Plan:
        raise KeyboardInterrupt

    monkeypatch.setattr(varying if varied else planning._Player, "make_plan" if varied else "play", interrupted)
    with pytest.raises(KeyboardInterrupt):
        _ = vary(request_of_a_plan, varied_keys([f"{RATE}=1Gbps"])) if varied else make_plan(request_of_a_plan)
    for each in (folder, point) if varied else (folder,):
        left = {path.name for path in each.iterdir()}
        assert not left & told
        assert {"notes.txt", "points"} <= left


def test_bounds_that_are_interrupted_tell_the_least_and_how_many_plans_were_not_looked_at(
    request_of_a_plan: PlanRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C comes with the second of all bounds."""
    space = Bounded().space(request_of_a_plan)
    every = bounds_of(request_of_a_plan, space)
    first, second = every.bounds[:2]
    monkeypatch.setattr(Bounds, "all", lambda _: _with_a_signal([first, second, *every.bounds[2:]]))
    monkeypatch.setattr(Bounds, "left_out", {"odd": 0})
    left = len(every.bounds) + sum(every.left_out.values()) - 2
    least = min(first, second, key=lambda bound: bound.time_ps)
    told = (
        f"interrupted; bounds of 2 plans are known, 0 of them too large for an NPU, the least of the others is "
        f"{format_time(least.time_ps)} ({least.choice.name}), {left:,} weren't looked at"
    )
    with pytest.raises(Interrupted) as stopped:
        make_plan(request_of_a_plan)
    assert str(stopped.value) == told


def _with_a_signal(bounds: Iterable[Bound]) -> Iterator[Bound]:
    for number, bound in enumerate(bounds):
        if number == 1:
            signal.raise_signal(signal.SIGINT)
        yield bound


def test_a_search_removes_none_of_the_files_that_it_reads(request_of_a_plan: PlanRequest) -> None:
    folder = request_of_a_plan.folder
    _with_an_earlier_plan(folder)
    model = folder / "best.yaml"
    model.write_bytes(Path(request_of_a_plan.model).read_bytes())
    _ = vary(replace(request_of_a_plan, model=model), varied_keys([f"{RATE}=1Gbps"]), play=False)
    assert model.is_file()
    assert not (folder / "vary.csv").exists()


def test_a_refused_search_leaves_what_an_earlier_one_found(request_of_a_plan: PlanRequest) -> None:
    told = _with_an_earlier_plan(request_of_a_plan.folder)
    with pytest.raises(InputError, match="fast"):
        _ = vary(request_of_a_plan, varied_keys([f"{RATE}=fast"]))
    assert told <= {path.name for path in request_of_a_plan.folder.iterdir()}


def test_a_row_has_the_time_the_bound_and_the_memory_of_the_best_that_was_played(
    request_of_a_plan: PlanRequest,
) -> None:
    """Of three plans two were played; the one with the higher bound was faster, and the third may be faster still."""
    space = Bounded().space(request_of_a_plan)
    some = bounds_of(request_of_a_plan, space).bounds[:3]
    slow, fast, left = (replace(each, time_ps=time_ps) for each, time_ps in zip(some, TIMES_PS, strict=True))
    runs = {slow.choice: Played(9_000_000, 1.0), fast.choice: Played(5_000_000, 1.0)}
    memory = {slow.choice: 10, fast.choice: 64 * 10**9}  # of the 80 GB of an H100
    bound_of = {each.choice: each for each in (slow, fast, left)}
    found = Found(20, 6, runs, bound_of, memory, (left,), 11)
    study: Any = None
    point = VariedPoint(("1Gbps",), request_of_a_plan, 4, Plan(request_of_a_plan, space, found, 0.0, study))
    varied = Varied(request_of_a_plan, varied_keys([f"{RATE}=1Gbps"]), (point,), played=True)
    (row,) = rows_of(varied)
    assert row == {
        RATE: "1Gbps",
        "best": fast.choice.name,
        "samples": 4,
        "time_us": 5,
        "bound_us": 3,
        "npu_memory_bytes": 64 * 10**9,
        "tight": True,
        "gap": 0.2,
        "next_best": None,
        "next_us": None,
        "plans": 20,
        "played": 2,
        "open": 1,
        "folder": "out",
        "why": None,
    }
    assert table_of(varied)[1][0][2] == "64 GB tight"
