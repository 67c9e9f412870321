"""What is played of a plan on packets: the whole model, a smaller one with its degrees, or nothing and why."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml

from astra_ns3.config.core.document import Document
from astra_ns3.config.core.plain import Json
from astra_ns3.config.plan_file import PlanConfig, PlanFile
from astra_ns3.planning.bounds import Bound
from astra_ns3.planning.degrees import Choice, Space, space_of
from astra_ns3.planning.packets import OnPackets, expected_ps, order_of, sized_for_packets
from astra_ns3.planning.plan import Plan
from astra_ns3.planning.plan_files import asked_by
from astra_ns3.planning.request import AXIS, PART, PlanRequest
from astra_ns3.planning.result import COLUMNS, order_on_packets, ranked_rows
from astra_ns3.planning.search import Found, Played
from astra_ns3.planning.text import page_table_of, table_of
from astra_ns3.whole_file import WHOLE_MODEL

MODEL = {
    "kind": "transformer",
    "name": "small",
    "model": {"layers": 16, "hidden": 2048, "heads": 4, "vocabulary": 8000},
    "training": {"sequence": 256, "global_batch": 32},
    "compute": "H100",
}
NETWORK = {
    "topology": {
        "kind": "single-switch",
        "npus": 4,
        "link": {"rate": "400Gbps", "delay": "500ns"},
        "switch": {"buffer": "32MiB", "pfc": {}},
    },
    "transport": {"kind": "roce", "payload": 4096},
}


def request(folder: Path, **options: Any) -> PlanRequest:
    for name, document in (("model.yaml", MODEL), ("network.yaml", NETWORK)):
        (folder / name).write_text(yaml.safe_dump(document), encoding="utf-8")
    return PlanRequest(folder / "model.yaml", folder / "network.yaml", output=folder / "out", **options)


def chosen(space: Space, **keys: Json) -> Choice:
    """The choice with these degrees, by the last words of keys."""
    cells = (cell for shape in space.shapes for cell in space.cells(shape))
    every = (choice for cell in cells for choice in space.choices(cell, space.workload.totals().layers))
    usual = {"tensor": 1, "context": 1, "pipeline": 1, "zero": 0, "micro_batch": 1, "recompute": "none"}
    wanted = {**usual, **keys}
    return next(
        each
        for each in every
        if wanted.items() <= {key.partition(".")[2]: one for key, one in each.keys.items()}.items()
    )


def sized(request: PlanRequest, **keys: Json) -> OnPackets:
    space = space_of(request.workload, request.npus)
    return sized_for_packets(request, space, chosen(space, **keys))


@pytest.mark.parametrize("limit", [None, 3600.0])
def test_a_plan_is_played_whole_where_that_is_cheap(tmp_path: Path, limit: float | None) -> None:
    found = sized(request(tmp_path, packet_seconds=limit))
    assert found.on == WHOLE_MODEL
    assert found.sized is not None
    assert found.sized.changes == {}


def test_a_smaller_model_keeps_all_degrees_and_a_layer_for_each_part_of_the_model(tmp_path: Path) -> None:
    keys: dict[str, Json] = {"pipeline": 2, "virtual_stages": 2, "schedule": "interleaved"}
    whole = sized(request(tmp_path), **keys)
    seconds = [sized(request(tmp_path, packet_seconds=limit), **keys) for limit in (10.0, 3.0, 1.0, 0.3)]
    for found in (whole, *seconds):
        changes: dict[str, Any] = {} if found.sized is None else dict(found.sized.changes)
        layers = changes.get("workload.model.layers", 16)
        samples = changes.get("workload.training.global_batch", 32)
        assert layers % 4 == 0  # two stages of two parts
        assert samples % (2 * 2) == 0  # two copies, each with micro-batches for both stages
        assert set(changes) <= {
            "workload.model.layers",
            "workload.parallel.layers_per_part",
            "workload.training.global_batch",
            "comm_scale",
            "compute_scale",
        }
        assert changes.get("comm_scale") == changes.get("compute_scale")
        assert changes.get("comm_scale", 1) == 1 or (layers, samples) == (4, 4)
    played = [found.on for found in seconds]
    assert len(set(played)) > 1
    assert any("of 16 layers" in words and "of 32 samples" in words for words in played)


def test_layers_that_stages_of_two_parts_cannot_share_are_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of 12 layers, 6 are no multiple of the four parts, and 4 are."""
    monkeypatch.setitem(MODEL, "model", {**MODEL["model"], "layers": 12})  # type: ignore[dict-item]
    keys: dict[str, Json] = {"pipeline": 2, "virtual_stages": 2, "schedule": "interleaved"}
    found = sized(request(tmp_path, packet_seconds=1e-6), **keys)
    assert "with 4 of 12 layers, 4 of 32 samples" in found.on


def test_what_no_smaller_model_makes_cheap_is_left_out_and_says_so(tmp_path: Path) -> None:
    found = sized(request(tmp_path, packet_seconds=1e-6))
    assert found.sized is None
    assert found.on.startswith("not played: forecast ")
    assert "1 of 16 layers" in found.on
    assert "1/256 of each message" in found.on


def test_the_order_on_packets_is_that_of_flows_times_what_packets_take_longer(tmp_path: Path) -> None:
    asked = request(tmp_path, packet_seconds=1.0)
    space = space_of(asked.workload, asked.npus)
    names = ({"tensor": 1}, {"tensor": 2}, {"tensor": 4})
    first, second, third = (chosen(space, sequence=False, **keys) for keys in names)
    small = sized_for_packets(asked, space, first).sized
    assert small is not None
    assert small.changes
    played = [
        OnPackets(first, small, time_ps=300, flows_ps=200),  # half as long again: 1,500
        OnPackets(second, small, time_ps=11, flows_ps=10),  # a tenth: 1,320
        OnPackets(third, why="not played"),
    ]
    times = {first: 1000, second: 1200, third: 1300}
    assert [expected_ps(each, times[each.choice]) for each in played] == [1500, 1320, None]
    assert order_of(played, times) == [second, first]
    table: Any = SimpleNamespace(
        rows=[
            {**dict.fromkeys(COLUMNS), "part": PART, AXIS: one.name, "finish_us": ps / 1e6} for one, ps in times.items()
        ]
    )
    bounds = {each: Bound(each, 900, 1) for each in times}
    runs = {each: Played(time_ps, 1.0) for each, time_ps in times.items()}
    found = Found(3, 0, runs, bounds, dict.fromkeys(times, 1), (), 0)
    plan = Plan(asked, space, found, 0.0, table, packets=tuple(played))
    assert order_on_packets(plan) == [2, 1]
    assert [(row["time_us"], row["packets_us"], row["packets_over_flows"]) for row in ranked_rows(plan)] == [
        (0.001, 0.0015, 1.5),
        (0.0012, 0.00132, 1.1),
        (0.0013, None, None),
    ]


def test_a_file_limits_the_time_of_all_runs_and_that_of_packets_apart() -> None:
    play = {"cpu_time": "2s", "packets_cpu_time": "30s", "packets": 1}
    config = PlanConfig.model_validate({"model": "model.yaml", "network": "network.yaml", "play": play})
    found = asked_by(PlanFile(config, Document("mine.yaml", {}))).request
    assert (found.cpu_seconds, found.packet_seconds, found.packets) == (2, 30, 1)


def test_shares_of_times_below_a_microsecond_are_exact() -> None:
    times = {"time_us": 0.8, "bound_us": 0.8, "compute_us": 0.6, "exposed_us": 0.2}
    (line,) = table_of([{**dict.fromkeys(COLUMNS), "plan": "data 2", **times}])[1]
    assert "25.0%" in line


def test_a_page_says_of_which_model_a_time_on_packets_is_estimated() -> None:
    row = {
        **dict.fromkeys(COLUMNS),
        "plan": "data 2",
        "time_us": 1.0,
        "bound_us": 1.0,
        "compute_us": 1,
        "exposed_us": 1,
    }
    whole, part, unplayed = "whole model", "1 of 8 layers", "not played: forecast 3 s"
    rows = [{**row, "packets_us": time, "packets_on": on} for time, on in ((2.0, whole), (2.0, part), (None, unplayed))]
    _, lines = page_table_of(rows)
    assert [line[-1] for line in lines] == ["2 us, whole model", "2 us, estimated from 1 of 8 layers", unplayed]
