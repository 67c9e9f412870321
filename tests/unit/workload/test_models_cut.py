"""How models are cut over NPUs, how sizes are scaled, and what is said where that can't be."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.models import LAYERS, small_gpt
from support.plans import small_llama

from astra_ns3.config.core.document import Document
from astra_ns3.config.model.file import parse_model_file
from astra_ns3.config.model.parallel import Parallel
from astra_ns3.config.training_plan import Exchange, Operation
from astra_ns3.errors import InputError
from astra_ns3.experiments.inputs import load_inputs
from astra_ns3.playing.dry_run.counting import counted_messages, counted_requests
from astra_ns3.playing.training.making import training_programs
from astra_ns3.workload.files.workload_formats import read_workload
from astra_ns3.workload.memory.stage import stage_memory
from astra_ns3.workload.models.changes import changed
from astra_ns3.workload.models.planning import layers_of_parts
from astra_ns3.workload.models.workload import ModelWorkload, read_model

RESNET = Path(__file__).resolve().parents[3] / "inputs" / "workload" / "models" / "resnet-50.yaml"


def sent_bytes(workload: ModelWorkload, npus: int) -> int:
    """Of all kinds of collectives and messages, each counted once for all NPUs."""
    programs = training_programs(workload.plan(npus), workload.clock(), 1, (npus,))
    collectives = sum(request.bytes * times for request, times in counted_requests(programs))
    return collectives + sum(len(each.pairs) * each.bytes * each.times for each in counted_messages(programs))


def test_data_parallel_training_sends_nothing_but_gradients_and_these_once() -> None:
    workload = small_gpt({"tied_embeddings": False}, micro_batches=4)
    assert sent_bytes(workload, 4) == workload.totals().parameters * 2


@pytest.mark.parametrize(
    "parallel",
    [
        {},
        {"zero": 1, "bucket": "1MB"},
        {"zero": 3},
        {"tensor": 2, "sequence": True, "pipeline": 2},
        {"context": 2},
        {"servers": 1, "data": 3},
    ],
)
def test_sizes_are_scaled_whatever_they_are_of(parallel: dict[str, Any]) -> None:
    workload = small_gpt(parallel=parallel, micro_batches=4)
    assert sent_bytes(workload.scaled(0.25), 4) == pytest.approx(sent_bytes(workload, 4) / 4, rel=1e-5)


@given(layers=st.integers(1, 200), pipeline=st.integers(1, 16), virtual=st.integers(1, 4))
def test_parts_differ_by_one_layer_at_most_and_the_outer_ones_have_fewer(
    layers: int, pipeline: int, virtual: int
) -> None:
    parallel = Parallel(pipeline=pipeline, virtual_stages=virtual)
    if layers < pipeline * virtual:
        with pytest.raises(InputError, match=f"expected at most the {layers} layers"):
            layers_of_parts(layers, parallel, "model.yaml")
        return
    found = layers_of_parts(layers, parallel, "model.yaml")
    assert len(found) == pipeline * virtual
    assert sum(found) == layers
    assert max(found) - min(found) <= 1
    rising, falling = found[: (len(found) + 1) // 2], found[len(found) // 2 :]
    assert list(rising) == sorted(rising)
    assert list(falling) == sorted(falling, reverse=True)


def test_llama_3_405b_has_a_layer_fewer_on_the_first_and_the_last_stage() -> None:
    """As in section 3.3.2 of its paper."""
    assert layers_of_parts(126, Parallel(pipeline=16), "") == (7, *[8] * 14, 7)


def test_layers_of_parts_may_be_given() -> None:
    found = small_gpt(parallel={"pipeline": 2, "layers_per_part": [3, 1]}).plan(2)
    assert [len(chunk) for chunk in found.chunks] == [1 + 3, 1 + 1]
    with pytest.raises(InputError, match=rf"2 entries of together 3 layers, expected 2 .* of together {LAYERS}"):
        small_gpt(parallel={"pipeline": 2, "layers_per_part": [2, 1]}).plan(2)


def test_a_stage_may_have_no_layers_and_keeps_nothing() -> None:
    empty = [LAYERS - 2, 0, 1, 1]
    plan = small_gpt(parallel={"pipeline": 4, "layers_per_part": empty}, micro_batches=4).plan(4)
    peaks = [stage_memory(plan, stage).peak.usage for stage in range(4)]
    assert [usage.weights > 0 for usage in peaks] == [True, False, True, True]


FILE = """\
kind: transformer
name: wrong
model:
  layers: 4
  hidden: 64
  heads: 8
  kv_heads: 2
  vocabulary: 100
training:
  sequence: 16
  global_batch: 6
parallel:
  tensor: 2
  pipeline: 2
"""


def read_changed(folder: Path, old: str, new: str) -> ModelWorkload:
    """The file with another line."""
    assert FILE.count(old) == 1
    file = folder / "model.yaml"
    file.write_text(FILE.replace(old, new), encoding="utf-8")
    return read_model(file)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "kind: transformer",
            "kind: tranformer",
            ":1: key 'kind': found 'tranformer', allowed: transformer, convolution",
        ),
        (
            "  heads: 8",
            "  heads: 7",
            ":6: key 'model.heads': found 7, expected a divisor of hidden, 64, or a head_size",
        ),
        ("  kv_heads: 2", "  kv_heads: 3", ":7: key 'model.kv_heads': found 3, expected a divisor of the 8 heads"),
        ("  hidden: 64", "  hiden: 64", ":5: key 'model.hiden': unknown key"),
        ("tensor: 2", "tensor: 3", ":12: key 'parallel': tensor is 3, expected a divisor of the 8 heads"),
        ("tensor: 2", "expert: 2", ":12: key 'parallel': expert is 2, expected 1: the model has no experts"),
        ("pipeline: 2", "context: 3", ":12: key 'parallel': context is 3, expected a divisor of the 16 tokens"),
        (
            "pipeline: 2",
            "pipeline: 2\ncompute: V100",
            ":9: key 'training': datatype is bfloat16, expected one that compute's V100 has a peak for",
        ),
        ("pipeline: 2", "schedule: 1f1", ":14: key 'parallel.schedule': found '1f1', allowed: gpipe, 1f1b"),
        ("global_batch: 6", "global_batch: 6\n  micro_batches: 2", ":11: key 'training.global_batch': stands beside"),
    ],
)
def test_a_wrong_file_is_told_with_line_and_key(tmp_path: Path, old: str, new: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        read_changed(tmp_path, old, new)
    assert str(caught.value).startswith(f"{tmp_path / 'model.yaml'}{message}")


@pytest.mark.parametrize(
    ("old", "new", "npus", "message"),
    [
        (
            "  tensor: 2",
            "  tensor: 2",
            6,
            ": parallel: tensor 2 x context 1 x pipeline 2 are 4 NPUs, expected a divisor",
        ),
        (
            "pipeline: 2",
            "pipeline: 2\n  overlap_tensor: on\n  schedule: zero-bubble",
            4,
            ": parallel.overlap_tensor is on, expected off: schedule zero-bubble computes gradients of weights",
        ),
        ("  tensor: 2", "  data: 3", 8, ": parallel: tensor 1 x context 1 x pipeline 2 x data 3 are 6 NPUs, expected"),
        ("global_batch: 6", "global_batch: 5", 8, ": training.global_batch is 5, expected a multiple of micro_batch"),
        (
            "pipeline: 2",
            "pipeline: 8",
            16,
            ": 8 parts (parallel.pipeline times virtual_stages), expected at most the 4",
        ),
    ],
)
def test_npus_that_don_t_fit_are_told(tmp_path: Path, old: str, new: str, npus: int, message: str) -> None:
    workload = read_changed(tmp_path, old, new)
    with pytest.raises(InputError) as caught:
        workload.plan(npus)
    assert str(caught.value).startswith(f"{tmp_path / 'model.yaml'}{message}")


def test_degrees_that_a_kind_has_no_use_for_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "model.yaml"
    text = "kind: convolution\nname: x\nmodel: {residual: {blocks: [1]}}\nparallel: {sequence: on}\n"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(
        InputError, match=r"parallel\.sequence': found on, expected off: a model of kind convolution has none"
    ):
        read_model(file)


def test_stages_of_a_network_for_images_send_its_output_where_it_is_cut() -> None:
    """ResNet-50's layers are 54: the 27th, the last of the first bottleneck of conv4, has 1,024 channels."""
    plan = changed(read_model(RESNET), {"parallel.pipeline": 2}).plan(2)
    assert plan.chunks[0][-1].name == "conv4_1_1x1b"
    assert plan.boundary_bytes == 32 * 1024 * 14 * 14 * 2
    assert read_model(RESNET).plan(2).boundary_bytes == 0


def test_scaled_sizes_are_truncated_and_scaled_times_longer() -> None:
    workload = small_gpt(parallel={"tensor": 2, "sequence": True, "pipeline": 2})
    half = workload.scaled(0.5, 2.0)
    plan, other = workload.plan(4), half.plan(4)
    assert other.boundary_bytes == plan.boundary_bytes // 2
    block, halved = plan.chunks[0][1], other.chunks[0][1]
    before = [item.bytes for item in block.forward if isinstance(item, Exchange)]
    after = [item.bytes for item in halved.forward if isinstance(item, Exchange)]
    assert before
    assert after == [size // 2 for size in before]
    operation = next(item for item in block.forward if isinstance(item, Operation) and item.flops)
    assert half.clock().time_ps(operation) == pytest.approx(2 * workload.clock().time_ps(operation), abs=1)


def test_a_mistake_in_a_model_s_table_is_told_of_the_model_not_of_the_system(tmp_path: Path) -> None:
    """``load_inputs`` puts the system's file before what it can't do; a table of the model isn't its fault."""
    inputs = Path(__file__).resolve().parents[3] / "inputs"
    table, model = tmp_path / "layers.csv", tmp_path / "model.yaml"
    table.write_text("Layer,m,n,k\nfirst,0,8,8\n", encoding="utf-8")
    model.write_text(f"kind: gemms\nname: two\nmodel: {{table: {table}}}\ncompute: H100\n", encoding="utf-8")
    with pytest.raises(InputError) as caught:
        load_inputs(model, inputs / "system" / "flat.yaml", inputs / "network" / "single-switch-16.yaml")
    assert str(caught.value).startswith(f"{model}: {table}:2: ")


@pytest.mark.parametrize(
    "text", ["kind: transformer\nname: one\n", "# ours\n\nkind: dlrm\nname: one\n", '{"kind": "dlrm", "name": "one"}\n']
)
def test_a_file_that_begins_with_its_kind_is_a_model_without_its_model(text: str, tmp_path: Path) -> None:
    file = tmp_path / "model.yaml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match="key 'model' is missing"):
        read_workload(file)


def test_all_mistakes_of_a_file_are_told_in_one_line(tmp_path: Path) -> None:
    file = tmp_path / "wrong.yaml"
    file.write_text(
        "kind: transformer\n"
        "name: Wrong\n"
        "model: {layers: -1, hidden: a, heads: 8, vocabulry: 100}\n"
        "training: {sequence: 8, micro_batches: two, speed: 3}\n"
        "paralel: {tensor: 8}\n"
        "compute: H10\n"
    )
    with pytest.raises(InputError) as caught:
        read_model(file)
    first, _, others = str(caught.value).partition(" (and 6 more: ")
    assert first.startswith(f"{file}:3: key 'model.vocabulry': unknown key; allowed: layers, ")
    assert first.endswith("did you mean 'model.vocabulary'?")
    assert [each.split(": ")[:2] for each in others.split("; ") if "key '" in each] == [
        ["line 3", "key 'model.layers'"],
        ["line 3", "key 'model.hidden'"],
        ["line 4", "key 'training.speed'"],
        ["line 4", "key 'training.micro_batches'"],
        ["line 5", "key 'paralel'"],
        ["line 6", "key 'compute'"],
    ]
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("kind", [{"a": 1}, [1, 2], 3, None])
def test_a_kind_that_is_no_word_is_refused(kind: object) -> None:
    with pytest.raises(InputError, match=r"key 'kind': found .*, allowed: transformer, "):
        parse_model_file(Document("here.yaml", {"kind": kind, "name": "x"}))


def test_what_would_take_hours_to_work_out_is_refused() -> None:
    with pytest.raises(InputError, match=r"key 'model.layers': found 1000000000, expected less than or equal to"):
        small_gpt({"layers": 10**9})
    with pytest.raises(InputError, match="6 blocks on a stage and 2,147,483,648 micro-batches: expected at most 1,0"):
        small_gpt(micro_batches=2**31).plan(1)


def test_a_model_without_stages_is_not_said_to_have_a_schedule() -> None:
    assert small_llama().loop == "transformer"
    assert small_llama(parallel={"pipeline": 2}).loop == "transformer 1f1b"
