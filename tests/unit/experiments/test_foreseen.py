"""What is said of a model's memory and experts: its tables, run.json, the lines of the summary."""

from __future__ import annotations

import re
from fractions import Fraction
from types import SimpleNamespace

import pytest

from astra_ns3.config.model.compute import Losses
from astra_ns3.config.training_plan import Block, Degrees, Elements, ExpertLoad, TrainingPlan
from astra_ns3.experiments.forecasting.foreseen import Foreseen, foreseen_document, foreseen_tables
from astra_ns3.report.foreseen_text import foreseen_rows, stage_rows
from astra_ns3.report.page.training import exposed_by_group, memory_by_stage
from astra_ns3.report.pictures.shown import Shown
from astra_ns3.workload.experts.skew import expert_skew
from astra_ns3.workload.memory.peaks import memory_of

LOADS = (None, ExpertLoad((30, 10, 20, 20), 20), ExpertLoad((5, 5, 5, 5)))


def foreseen() -> Foreseen:
    """Two stages, three blocks of 100 parameters on each, 1 + 2 + 4 bytes a parameter; 1,000 bytes kept of each."""
    chunks = tuple(
        tuple(
            Block(f"layer {3 * stage + place}", (), parameters=100, activation_bytes=1000, expert_load=load)
            for place, load in enumerate(LOADS if stage else (None,) * 3)
        )
        for stage in range(2)
    )
    plan = TrainingPlan(
        "m", "m.yaml", Degrees(data=4, pipeline=2, expert=4), chunks, 3, elements=Elements(1, 2, 4), memory_bytes=10_000
    )
    return Foreseen(memory_of(plan), plan.memory_bytes, expert_skew(plan))


def test_the_table_of_memory_has_each_step_of_each_stage() -> None:
    memory, experts = foreseen_tables(foreseen())
    rows = [dict(zip(memory.header, row, strict=True)) for row in memory.rows]
    assert memory.name == "memory.csv"
    assert len(rows) == 2 * (2 * 3 + 1)
    first = [(row["work"], row["micro_batch"], row["activations_bytes"]) for row in rows if row["stage"] == "0"]
    assert first == [
        ("forward", 0, 3000),
        ("forward", 1, 6000),
        ("backward", 0, 6000),
        ("forward", 2, 6000),
        ("backward", 1, 6000),
        ("backward", 2, 3000),
        ("update", None, 0),
    ]
    for row in rows:
        parts = {name: size for name, size in row.items() if str(name).endswith("_bytes") and name != "total_bytes"}
        assert row["total_bytes"] == sum(int(size or 0) for size in parts.values())
        assert (row["weights_bytes"], row["gradients_bytes"], row["optimizer_bytes"]) == (300, 600, 1200)
    assert [row[:6] for row in experts.rows] == [
        ["layer 4", 4, 80, 30, 0, "1.500000"],
        ["layer 5", 4, 20, 5, 0, "1.000000"],
    ]


def test_run_json_has_the_peak_of_each_stage_and_the_worst_layer() -> None:
    document = foreseen_document(foreseen())
    stages = document["memory_by_stage"]["stages"]
    assert [(stage["peak_bytes"], stage["when"]) for stage in stages] == [
        (2100 + 6000, "forward of micro-batch 1, layer 2"),
        (2100 + 3000, "forward of micro-batch 0, layer 5"),
    ]
    experts = document["experts"]
    assert (experts["worst_layer"], experts["most_over_mean"]) == ("layer 4", 1.5)
    assert experts["mean_over_layers"] == float(Fraction(3, 2) + 1) / 2
    assert (experts["rows"], experts["dropped"]) == (100, 20)


def test_people_are_told_the_fullest_stage_and_the_worst_layer() -> None:
    assert foreseen_rows(foreseen_document(foreseen())) == [
        (
            "memory of an NPU",
            "tight (real peaks are some GB higher): at most 8.1 KB of 10 KB on stage 0: activations 6 KB, "
            "optimizer 1.2 KB, gradients 600 B, weights 300 B",
        ),
        (
            "experts",
            "the busiest place computes 1.5 times the mean in layer 4, 1.25 times on average; 16.7% of choices dropped",
        ),
    ]


def test_people_are_told_each_stage() -> None:
    assert stage_rows(foreseen_document(foreseen())) == [
        (
            "stage 0",
            "8.1 KB",
            "forward of micro-batch 1, layer 2",
            "activations 6 KB, optimizer 1.2 KB, gradients 600 B, weights 300 B",
        ),
        (
            "stage 1",
            "5.1 KB",
            "forward of micro-batch 0, layer 5",
            "activations 3 KB, optimizer 1.2 KB, gradients 600 B, weights 300 B",
        ),
    ]


def test_the_page_has_a_row_for_each_stage_and_each_group() -> None:
    groups = [{"group": "tensor", "exposed_ps": 3_000}, {"group": "pipeline", "exposed_ps": 1_000}]
    other = [{"group": "pipeline", "exposed_ps": 5_000}]
    roles = [{"role": "stage 0", "npu": 0, "groups": groups}, {"role": "stage 1", "npu": 4, "groups": other}]
    metadata = {
        **foreseen_document(foreseen()),
        "report_npu": 0,
        "exposed_by_group": groups,
        "exposed_by_group_of_roles": roles,
    }
    shown = [Shown(SimpleNamespace(metadata=metadata), "mine", 0)]
    stages = re.findall(
        r"<td>(stage \d)</td><td class=\"number\">([\d.]+ KB)</td>", memory_by_stage(shown).replace("\u00a0", " ")
    )
    assert stages == [("stage 0", "8.1 KB"), ("stage 1", "5.1 KB")]
    page = exposed_by_group(shown)
    assert re.findall(r"<th(?: [^>]*)?>(.*?)</th>", page) == ["group", "stage 0 (NPU 0)", "stage 1 (NPU 4)"]
    cells = [re.sub("<[^>]*>", "", cell).replace("\u00a0", " ") for cell in re.findall(r"<td[^>]*>(.*?)</td>", page)]
    assert cells == [
        "tensor",
        "3 ns 75.0%",
        "-",
        "pipeline, with bubbles",
        "1 ns 25.0%",
        "5 ns 100.0%",
        "all",
        "4 ns",
        "5 ns",
    ]


def test_nothing_is_said_of_what_is_no_model() -> None:
    assert foreseen_tables(Foreseen()) == []
    assert foreseen_rows(foreseen_document(Foreseen())) == []
    assert stage_rows(foreseen_document(Foreseen())) == []
    runs = [Shown(SimpleNamespace(metadata=foreseen_document(each)), "run", 0) for each in (Foreseen(), foreseen())]
    assert memory_by_stage(runs[:1]) == ""
    assert memory_by_stage(runs).count("<table") == 1


@pytest.mark.parametrize(
    ("losses", "words"),
    [
        (Losses(), None),
        (Losses(overlap_slowdown=1.189), "computing takes 1.189 times as long beside collectives"),
        (
            Losses(1_600_000, 0.73, 1.5),
            "1.6 us for each operation; lines inside nodes reach 73% of their rate, if the network has nodes; "
            "computing takes 1.5 times as long beside collectives",
        ),
    ],
)
def test_people_are_told_what_the_device_loses(losses: Losses, words: str | None) -> None:
    document = foreseen_document(Foreseen(losses=losses))
    assert document == ({"device_losses": losses._asdict()} if words else {})
    assert foreseen_rows(document) == ([("device losses", words)] if words else [])


def test_a_scaled_run_says_that_what_each_operation_loses_is_scaled_too() -> None:
    document = foreseen_document(Foreseen(losses=Losses(1_600_000)))
    document["compute_scale"] = 0.1
    assert foreseen_rows(document) == [("device losses", "1.6 us for each operation, scaled by 0.1 like all computing")]


@pytest.mark.parametrize(
    ("topology", "told"),
    [
        ({"kind": "hierarchical", "scale_up": {}}, [("device losses", "lines inside nodes reach 73% of their rate")]),
        ({"kind": "leaf-spine"}, []),
    ],
)
def test_a_network_without_nodes_loses_no_lines_inside_them(
    topology: dict[str, object], told: list[tuple[str, str]]
) -> None:
    document = foreseen_document(Foreseen(losses=Losses(0, 0.73, 1)))
    assert foreseen_rows({**document, "network": {"topology": topology}}) == told
