"""What a run and its explanation tell people of waiting: rows add up to all of it, and differ in their words."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from support.small_run import NPUS, InterruptedBackend, small_run, small_system

from astra_ns3 import explain, run
from astra_ns3.errors import Interrupted
from astra_ns3.network.records import STEPS
from astra_ns3.network.run_document import ExposedDocument, FloorDocument, RunDocument
from astra_ns3.report.explanation.channels import Arrival, _handled
from astra_ns3.report.explanation.explain import _distinct, _patterns
from astra_ns3.report.explanation.explanation import Communication, Explanation, Message
from astra_ns3.report.explanation.parts import MESSAGE, Segment
from astra_ns3.report.exposed_text import exposed_rows, exposed_times, npu_computing, npu_time, scale_rows
from astra_ns3.report.summary import run_text, summary

LAYERS: list[ExposedDocument] = [{"layer": f"layer {number}", "exposed_ps": 1000 * number} for number in range(9)]
METADATA: RunDocument = {
    "exposed_ps": 36_000,
    "exposed_by_layer": LAYERS,
    "exposed_by_group": [{"group": "tensor", "exposed_ps": 27_000}, {"group": "pipeline", "exposed_ps": 9_000}],
}


def test_five_layers_and_all_others_are_the_whole() -> None:
    """1 + 2 + 3 of 36 parts are left of eight layers; the ninth exposed nothing."""
    rows = exposed_times(METADATA, "layer")
    assert rows == [*((f"layer {number}", 1000 * number) for number in (8, 7, 6, 5, 4)), ("3 others", 6000)]
    assert sum(time_ps for _, time_ps in rows) == METADATA["exposed_ps"]


def test_time_that_no_layer_exposed_has_a_row() -> None:
    """Ticks of the training loop, or a wait that wasn't over."""
    two: RunDocument = {**METADATA, "exposed_by_layer": LAYERS[:3]}
    assert exposed_times(two, "layer") == [("layer 2", 2000), ("layer 1", 1000), ("of no layer", 33_000)]


def test_groups_are_told_with_their_share() -> None:
    assert exposed_rows(METADATA, "group") == [
        ("tensor", "27 ns  (75.0%)"),
        ("pipeline, with bubbles", "9 ns  (25.0%)"),
    ]


def test_nothing_is_told_of_runs_that_did_not_write_it_down() -> None:
    assert exposed_rows({"exposed_ps": 5}, "group") == []


def test_a_run_tells_its_groups_in_its_table_its_summary_and_its_explanation() -> None:
    """A loop DATA exchanges nothing but gradients."""
    result = run(**small_run())
    exposed_ps = result.metadata["exposed_ps"]
    assert result.metadata["exposed_by_group"] == [{"group": "data", "exposed_ps": exposed_ps}]
    assert "exposed_by_group_of_roles" not in result.metadata
    assert "exposed communication by group\n  data  " in run_text(result.metadata, None)
    assert summary(result.metadata, None)["exposed_by_group"] == result.metadata["exposed_by_group"]
    found = explain(result)
    assert found.document()["groups"] == [{"group": "data", "time_ps": exposed_ps}]
    assert "\n  data" not in found.text().split("\n\n")[0]  # one is all
    two = replace(found, groups=(("data", 3), ("model", 1)), exposed_ps=4, compute_ps=4)
    assert two.text().split("\n\n")[0].endswith("\n  data     3 ps  (75.0% of it)\n  model    1 ps  (25.0% of it)")


def test_a_wait_that_goes_on_when_a_run_is_stopped_counts_to_its_group_and_to_its_layer() -> None:
    with pytest.raises(Interrupted) as caught:
        run(**{**small_run(), "backend": InterruptedBackend(NPUS), "passes": 2})
    metadata = caught.value.result.metadata
    assert metadata["exposed_by_group"] == [{"group": "data", "exposed_ps": metadata["exposed_ps"]}]
    layers_ps = sum(each["exposed_ps"] for each in metadata["exposed_by_layer"])
    assert layers_ps == metadata["exposed_ps"]
    assert sum(time_ps for _, time_ps in exposed_times(metadata, "layer")) == metadata["exposed_ps"]


@pytest.mark.parametrize("compat", ["none", "simai", "astra-sim-1.0"])
def test_layers_and_the_steps_of_the_loop_add_up_to_what_is_exposed(compat: str) -> None:
    metadata = run(**small_run(), passes=2, compat=compat).metadata
    rows = metadata["exposed_by_layer"]
    assert sum(each["exposed_ps"] for each in rows) == metadata["exposed_ps"]
    steps = [each["exposed_ps"] for each in rows if each["layer"] == STEPS]
    assert [ps > 0 for ps in steps] == ([] if compat == "none" else [True])


def test_links_that_words_can_t_tell_apart_are_one_with_their_count() -> None:
    """Messages of different stages and micro-batches; each stays by itself in what scripts get."""
    sent = "pipeline activation POINTTOPOINT direct"
    parts = {"serialisation_ps": 4}
    communications = (
        Communication(7, "layer 0 forward ALLREDUCE ring", 10, 2, {"serialisation_ps": 10}),
        Communication(3, sent, 6, 1, {**parts, "propagation_ps": 2}),
        Communication(5, sent, 5, 1, {**parts, "turn_ps": 1}),
    )
    segments = (Segment(MESSAGE, 0, 0, 21),)
    found = Explanation("run x", 21, 0, 21, segments, communications=communications)
    lines = [" ".join(line.split()) for line in found.text().splitlines()]
    assert [line for line in lines if line.startswith("messages of")] == [
        f"messages of {sent} (2 of them) 11 ps 52.4%",
        "messages of layer 0 forward ALLREDUCE ring 10 ps 47.6%",
    ]
    at = lines.index(f"{sent} (2 of them): 2 messages")
    assert lines[at + 1 : at + 4] == [
        "on the line 8 ps 38.1%",
        "on the way 2 ps 9.5%",
        "behind other messages 1 ps 4.8%",
    ]
    assert [each["collective"] for each in json.loads(json.dumps(found.document()))["communications"]] == [7, 3, 5]


def test_links_of_layers_that_are_alike_are_one_line_with_their_count_and_sum() -> None:
    """The tenth layer takes more than twice as long as each other one, so it stays by itself."""
    times = {f"layer {number}": 60 if number == 10 else 20 for number in range(1, 81)}
    communications = tuple(
        Communication(number, f"{layer} forward ALLREDUCE ring2", ps, 3, {"turn_ps": ps}, layer)
        for number, (layer, ps) in enumerate(times.items())
    )
    found = Explanation("run x", 5000, 0, 0, (Segment(MESSAGE, 0, 0, 5000),), communications=communications)
    lines = [" ".join(line.split()) for line in found.text().splitlines()]
    assert [line for line in lines if line.startswith("messages of")] == [
        "messages of layer 1-80 forward ALLREDUCE ring2 (79 of them) 1.58 ns 31.6%",
        "messages of layer 10 forward ALLREDUCE ring2 60 ps 1.2%",
    ]
    assert len(json.loads(json.dumps(found.document()))["communications"]) == 80


def test_an_explanation_without_a_chain_has_eight_layers_and_all_others() -> None:
    """1 + 2 of the nine layers' picoseconds are left, and nothing that exposed nothing is told."""
    exposed = tuple((f"layer {'abcdefghijk'[number]}", number) for number in range(11))
    lines = Explanation("run x", 60, 5, 55, exposed=exposed).text().split("\n\n")[1].splitlines()
    assert [" ".join(line.split()) for line in lines[1:]] == [
        *(f"layer {'abcdefghijk'[number]} {number} ps" for number in range(10, 2, -1)),
        "2 others 3 ps",
    ]


def test_an_explanation_without_a_chain_has_one_line_for_layers_that_are_alike() -> None:
    exposed = (("embedding", 7), *((f"layer {number}", 5) for number in range(80)))
    lines = Explanation("run x", 410, 3, 407, exposed=exposed).text().split("\n\n")[1].splitlines()
    assert [" ".join(line.split()) for line in lines[1:]] == ["layer 0-79 (80 layers) 400 ps", "embedding 7 ps"]


def slow(phase: int, start_ps: int) -> Message:
    parts = {"serialisation_ps": 1_000_000}
    return Message(0, 1, 8, 3, "ring", 0, phase, start_ps, 1_000_000, None, parts, (("host0", 0),), critical=False)


def test_slow_messages_that_look_alike_are_one_line_with_their_count() -> None:
    """Each stands for two that are as long to the picosecond; all begin at other times."""
    slowest = tuple(replace(slow(phase, 10**9 * (1 + phase)), alike=2) for phase in range(3))
    text = Explanation("run x", 21, 0, 21, slowest=slowest).text()
    assert text.split("messages that took longest\n")[1].splitlines() == [
        "  NPU 0 to 1, 8 B of ring, chunk 0, phase 0, at 1 ms, and 5 more: 1 us each",
        "    on the line 1 us",
        "    host0",
    ]


def test_rows_with_the_same_words_are_one_with_their_count() -> None:
    npus = ((2, 5_000_001), (0, 5_000_000), (1, 1_000_000))
    ports = (("host0", 7), ("host1", 7), ("host2", 7))
    found = Explanation("run x", 10_000_000, 0, 21, npus=npus, ports=ports)
    waited, on_chain = (section.splitlines()[1:] for section in found.text().split("\n\n")[1:])
    assert waited == ["  host0 and 2 more  7 ps each"]
    assert [" ".join(line.split()) for line in on_chain] == ["NPU 2 and 1 more 5 us 50.0% each", "NPU 1 1 us 10.0%"]


def test_an_explanation_says_whose_computing_and_waiting_it_tells() -> None:
    head, layers = Explanation("run x", 60, 5, 15, exposed=(("a", 15),), report_npu=3).text().split("\n\n")
    lines = [line.rpartition("  ")[2] for line in head.splitlines()[1:]]
    assert lines == ["(25.0% of NPU 3's time)", "(75.0% of NPU 3's time)"]
    assert layers.splitlines()[0] == "exposed communication of NPU 3 by layer first waited for"


def test_ports_without_trouble_are_left_out_and_none_is_said() -> None:
    found = Explanation("run x", 60, 5, 15)
    assert "ports" not in found.text()  # by formula there are none
    assert (
        replace(found, congested=())
        .text()
        .endswith("ports with most trouble: none dropped, lost, paused or marked a frame, or had a long queue")
    )


def test_an_explanation_marks_a_run_below_its_floor() -> None:
    found = explain(run(**small_run()))
    floor: FloorDocument = {
        "time_ps": 4_000_000,
        "kind": "lines",
        "where": "the uplinks",
        "lines_ps": 4_000_000,
        "chain_ps": 0,
        "bytes": 1,
        "bytes_per_ns": 1.0,
        "share": 0.25,
        "twice_ps": 2_000_000,
    }
    assert "below the floor  0.25 of the 4 us that the uplinks need" in replace(found, floor=floor).text()
    assert "below the floor" not in replace(found, floor={**floor, "share": 1.0}).text()
    assert "below the floor" not in replace(found, floor=floor, subject="iteration 0").text()
    below = run(**small_run())
    below.metadata["floor"] = floor
    assert explain(below).floor == floor


@pytest.mark.parametrize(("splits", "said"), [(1, "2 in 2 chunks"), (2, "2 in 4 chunks")])
def test_a_run_tells_how_many_chunks_its_collectives_have(splits: int, said: str) -> None:
    assert said in run_text(_splits_run(splits), None)


def test_one_chunk_is_no_chunks() -> None:
    one: RunDocument = {**_splits_run(1), "collectives": 1, "collectives_ended": 1, "chunks": 1}
    assert "1 in 1 chunk\n" in run_text(one, None)


def _splits_run(splits: int) -> RunDocument:
    """What is known of a small run whose collectives are cut in so many chunks."""
    return run(**{**small_run(), "system": small_system(**{"preferred-dataset-splits": splits})}).metadata


def test_a_step_of_a_channel_is_over_when_all_is_handled_whatever_came_last() -> None:
    """The first message comes 20 ps before the second, but passes 45 ps more after it was copied."""
    far = Arrival(0, 8, 0, 100, step=0, is_signal=False, copy_ps=10, latency_ps=50, whole=True)
    near = Arrival(1, 1, 0, 120, step=0, is_signal=False, copy_ps=10, latency_ps=5, whole=True)
    signal = Arrival(2, 1, 0, 125, step=1, is_signal=True, copy_ps=0, latency_ps=0, whole=True)
    first, second, third = _handled([far, near, signal], 0)
    assert (first.time_ps, second.time_ps, third.time_ps) == (160, 135, 160)
    assert third.turn is first


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({}, []),
        ({"comm_scale": 0.5}, ["sizes by 0.5"]),
        ({"compute_scale": 2.0, "exposed_ps": None}, ["starts of flows by 2"]),
        ({"compute_scale": 2.0, "jobs": [{"exposed_ps": 0}, {}]}, ["compute times and starts of flows by 2"]),
        ({"comm_scale": 3.0, "compute_scale": 0.25}, ["sizes by 3, compute times by 0.25"]),
        (
            {"compute_scale": 0.0, "workload": {"layers": [{"update_ns": 0}, {"update_ns": 5}]}},
            ["compute times by 0; update times stay"],
        ),
    ],
)
def test_a_row_says_what_scales_multiply(keys: dict[str, object], words: list[str]) -> None:
    metadata: RunDocument = {"comm_scale": 1.0, "compute_scale": 1.0, "exposed_ps": 0, **keys}  # type: ignore[typeddict-item]
    assert scale_rows(metadata) == [("multiplied", each) for each in words]


def test_who_computes_nothing_is_told_so_and_has_no_share_of_nothing() -> None:
    assert npu_computing(250, 1000, 3) == "250 ps  (25.0% of NPU 3's time)"
    assert npu_computing(0, 1000, 3) == "no computations on NPU 3"
    assert npu_time(0, 0, 3) == "0 ps"


def test_a_scaled_run_says_so_in_its_table_and_its_explanation() -> None:
    result = run(**{**small_run(), "scale": 0.5})
    (line,) = [line for line in run_text(result.metadata, None).splitlines() if line.startswith("multiplied")]
    assert "sizes by 0.5, compute times by 0.5" in line
    assert "multiplied  sizes by 0.5, compute times by 0.5" in explain(result).text()


def test_slow_messages_of_layers_that_differ_in_their_number_are_one_line() -> None:
    """Times of the first and the last; a message of another layer, and one of a half of the time, stay apart."""
    times_ps = (1_000_000, 990_000, 980_000, 970_000, 480_000)
    slowest = [
        replace(slow(0, 0), time_ps=ps, excess_ps=ps - 200_000, name=f"layer {place} ring", layer=f"layer {place}")
        for place, ps in enumerate(times_ps)
    ]
    head = replace(slow(0, 0), time_ps=700_000, excess_ps=500_000, name="head ring", layer="head")
    text = Explanation("run x", 21, 0, 21, slowest=(*slowest[:4], head, slowest[4])).text()
    lines = text.split("messages that lost most\n")[1].splitlines()
    assert [line for line in lines if not line.startswith("    ")] == [
        "  NPU 0 to 1, 8 B of layer 0 ring, chunk 0, phase 0, at 0 ps, and 3 more of layer 0-3: 970 ns to 1 us each, "
        "up to 800 ns more than alone",
        "  NPU 0 to 1, 8 B of head ring, chunk 0, phase 0, at 0 ps: 700 ns, 500 ns more than alone",
        "  NPU 0 to 1, 8 B of layer 4 ring, chunk 0, phase 0, at 0 ps: 480 ns, 280 ns more than alone",
    ]


def test_messages_of_alike_layers_count_as_one_of_the_top_so_that_others_are_told_too() -> None:
    layers = {0: "layer 0", 1: "layer 1", 2: "head", 3: "embedding"}
    patterns = _patterns({number: f"{layer} ring" for number, layer in layers.items()}, layers)
    assert patterns[0] == patterns[1]
    assert set(patterns) == {0, 1}
    ends = np.array([50, 40, 30, 20, 10])
    columns = {"collective": np.array([0, 1, 0, 2, 3]), "bytes": np.full(5, 8)}
    messages = {**columns, "start_ps": np.zeros(5, dtype=np.int64), "end_ps": ends}
    assert [row for row, _ in _distinct(messages, ends, [], patterns, 2)] == [0, 1, 3]
    assert [row for row, _ in _distinct(messages, ends, [], {}, 2)] == [0, 1]
