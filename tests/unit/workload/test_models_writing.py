"""Models shown, changed and written: as text, as YAML, as traces."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from support.models import BATCH, HIDDEN, LAYERS, SEQUENCE, VOCABULARY, blocks, small_gpt

from astra_ns3.cli.generate import generate_group
from astra_ns3.cli.show import show_group
from astra_ns3.collectives.lookup import lookup
from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.config.training_plan import Operation
from astra_ns3.errors import InputError
from astra_ns3.network.records import Label
from astra_ns3.playing.training.model_summary import least_sent, summary_of
from astra_ns3.system.request import CollectiveRequest
from astra_ns3.workload.files.astra_sim import read_workload as read_text_workload
from astra_ns3.workload.files.chakra.trace import read_chakra
from astra_ns3.workload.models.as_loop import lost_as_loop, model_as_loop
from astra_ns3.workload.models.changes import changed, write_model
from astra_ns3.workload.models.workload import read_model

FOLDER = Path(__file__).resolve().parents[3] / "inputs" / "workload" / "models"
FILES = sorted(file.stem for file in FOLDER.glob("*.yaml"))
ALL_REDUCE = CollectiveKind.ALL_REDUCE
VALUE = 2
WHOLE = BATCH * SEQUENCE * HIDDEN * VALUE
PER_LAYER = 12 * HIDDEN**2 + 13 * HIDDEN
"""Parameters: weights; biases of 3 + 1 + 4 + 1 vectors, and four of two normalisations."""


def generate(*words: str) -> Result:
    return CliRunner().invoke(generate_group, ["workload", *words], standalone_mode=False)


def show(*words: str) -> Result:
    return CliRunner().invoke(show_group, ["workload", *words], standalone_mode=False)


@pytest.mark.parametrize("name", FILES)
def test_a_written_file_says_what_the_read_one_said(name: str, tmp_path: Path) -> None:
    workload = read_model(FOLDER / f"{name}.yaml")
    write_model(workload, tmp_path / "again.yaml")
    again = read_model(tmp_path / "again.yaml")
    assert again.file == workload.file
    assert again.plan(1024) == replace(workload.plan(1024), source=again.source)
    assert not [words for words in again.warnings(1024) if "without effect" in words]


def test_what_is_written_leaves_out_keys_that_change_nothing(tmp_path: Path) -> None:
    experts = {"count": 8, "active": 2, "feed_forward": 256, "skew": 2.0, "routing": "zipf", "seed": 4}
    parallel = {"prefetch": 3, "sequence": True, "bucket": "1MB", "context_by": "all-gather"}
    write_model(small_gpt({"experts": experts}, parallel), tmp_path / "small.yaml")
    text = (tmp_path / "small.yaml").read_text()
    assert not [key for key in ("prefetch", "sequence: true", "context_by", "skew", "seed", "routing") if key in text]
    assert "bucket" in text, "it counts on more than one NPU"
    assert not [words for words in read_model(tmp_path / "small.yaml").warnings(2) if "without effect" in words]


def test_a_changed_key_changes_nothing_else() -> None:
    workload = read_model(FOLDER / "llama-3-8b.yaml")
    other = changed(workload, {"parallel.tensor": 2, "model.layers": 4, "training.recompute": "full"})
    assert (other.file.parallel.tensor, other.totals().layers) == (2, 4)
    back = changed(other, {"parallel.tensor": 8, "model.layers": 32, "training.recompute": "none"})
    assert back.file == workload.file


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("model.layer", 4, r"key 'model.layer': unknown key.*did you mean 'model.layers'"),
        ("name.first", 4, r"\(changed\): key 'name.first': 'name' is 'Llama-3 8B', expected a group of keys"),
        ("parallel.tensor", 3, r"key 'parallel': tensor is 3, expected a divisor of the 32 heads"),
        ("parallel.schedule", "1f1bb", r"found '1f1bb', allowed: gpipe, 1f1b.*did you mean '1f1b'"),
    ],
)
def test_a_change_that_can_t_be_is_told(key: str, value: str | int, message: str) -> None:
    with pytest.raises(InputError, match=message):
        changed(read_model(FOLDER / "llama-3-8b.yaml"), {key: value})


def test_as_text_a_layer_is_two_with_an_all_reduce_each_way() -> None:
    tensor, npus = 2, 4
    workload = small_gpt({"tied_embeddings": False}, {"tensor": tensor})
    loop = model_as_loop(workload, npus)
    assert (loop.loop, loop.model_parallel_npus) == ("HYBRID_TRANSFORMER", tensor)
    layers = [layer for layer in loop.layers if layer.name.startswith("layer_")]
    assert [layer.name for layer in layers[:3]] == ["layer_0.0", "layer_0.1", "layer_1.0"]
    assert len(layers) == 2 * LAYERS
    for layer in layers:
        for each in (layer.forward, layer.input_gradient):
            assert (each.collective, each.bytes) == (ALL_REDUCE, WHOLE)
    gradients = [layer.weight_gradient.bytes for layer in layers]
    assert gradients[1::2] == [0] * LAYERS
    # Weights and biases that are split, and six vectors that aren't.
    assert gradients[::2] == [((PER_LAYER - 6 * HIDDEN) // tensor + 6 * HIDDEN) * VALUE] * LAYERS


def test_as_text_computing_is_kept_but_for_rounding_up() -> None:
    workload = small_gpt(parallel={"tensor": 2}, recompute="selective")
    loop, plan, clock = model_as_loop(workload, 2), workload.plan(2), workload.clock()
    planned_ps = sum(
        clock.time_ps(item)
        for block in blocks(plan)
        for items in (block.forward, block.again, block.input_gradient, block.weight_gradient)
        for item in items
        if isinstance(item, Operation)
    )
    passes = [each for layer in loop.layers for each in (layer.forward, layer.input_gradient, layer.weight_gradient)]
    written_ps = sum(each.compute_ns for each in passes) * 1000
    assert 0 <= written_ps - planned_ps < 1000 * len(passes)


def test_a_written_text_is_read_again_as_a_data_parallel_loop(tmp_path: Path) -> None:
    file = tmp_path / "resnet.txt"
    result = generate(str(FOLDER / "resnet-50.yaml"), "-o", str(file), "--format", "text", "--dimensions", "8")
    assert result.exception is None
    loop = read_text_workload(file)
    assert loop.loop == "DATA"
    assert sum(layer.weight_gradient.bytes for layer in loop.layers) == 25_557_032 * VALUE


@pytest.mark.parametrize(
    ("changes", "options", "told"),
    [
        ([], (), "written for 1 NPU (data: auto is 1 copy without --dimensions)"),
        (["tensor=2"], (), "written for 2 NPUs (data: auto is 1 copy without --dimensions)"),
        (["tensor=2"], ("--dimensions", "8"), None),
        (["tensor=2", "data=1"], (), None),
        (["tensor=2", "data=4"], (), None),
    ],
)
def test_one_copy_is_told_where_neither_dimensions_nor_data_say_so(
    changes: list[str], options: tuple[str, ...], told: str | None, tmp_path: Path
) -> None:
    config = tmp_path / "gpt.yaml"
    write_model(small_gpt(), config)
    settings = [word for change in changes for word in ("--set", f"parallel.{change}")]
    result = generate(str(config), "--format", "text", "-o", str(tmp_path / "gpt.txt"), *settings, *options)
    assert result.exception is None
    copies = "so no copies exchange gradients; give --dimensions"
    assert copies not in result.output if told is None else f"{told}, {copies}" in result.output


@pytest.mark.parametrize(
    ("model", "parallel", "training", "message"),
    [
        ({}, {"pipeline": 2}, {}, r"parallel\.pipeline: found 2, expected 1"),
        ({}, {"zero": 3}, {}, r"parallel\.zero: found 3, expected 0"),
        ({}, {"servers": 1}, {}, r"parallel\.servers: found 1, expected 0"),
        ({}, {}, {"micro_batches": 4}, r"small\.yaml: training\.micro_batches: found 4, expected 1"),
        ({}, {"tensor": 2}, {"recompute": "full"}, "layer 0: .* can't say an exchange while something is computed"),
        (
            {"experts": {"count": 4, "active": 1, "feed_forward": 64}},
            {"expert": 2},
            {},
            "layer 0: .* can't say what goes on in its expert group",
        ),
    ],
)
def test_what_text_has_no_words_for_is_refused(
    model: dict[str, Any], parallel: dict[str, Any], training: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        model_as_loop(small_gpt(model, parallel, **training), 4)


def test_a_summary_has_the_collectives_of_an_iteration() -> None:
    """Two all-reduces a layer and direction, one at the embedding, four at the head; gradients in the other group."""
    tensor, batches = 2, 3
    found = summary_of(small_gpt({"tied_embeddings": False}, {"tensor": tensor}, micro_batches=batches), (2, 2))
    traffic = {(each.collective, each.group): each for each in found.traffic}
    inner, outer = traffic["all-reduce", "tensor"], traffic["all-reduce", "gradient"]
    losses = 3 * BATCH * SEQUENCE * 4
    assert inner.count == batches * (4 * LAYERS + 1 + 1 + 3)
    assert inner.bytes == batches * ((4 * LAYERS + 2) * WHOLE + losses)
    (stage,) = found.stages
    assert outer.bytes == stage.parameters * VALUE
    split = 2 * VOCABULARY * HIDDEN + LAYERS * (PER_LAYER - 6 * HIDDEN)
    assert stage.parameters == split // tensor + (6 * LAYERS + 2 + SEQUENCE) * HIDDEN
    assert stage.flops * tensor == batches * BATCH * found.totals.training_flops


def test_showing_a_model_tells_its_numbers_on_as_few_npus_as_it_fits(tmp_path: Path) -> None:
    result = show(str(FOLDER / "deepseek-v3.yaml"), "--json")
    assert result.exception is None
    document = json.loads(result.stdout)
    assert document["degrees"] == {"tensor": 1, "context": 1, "data": 64, "pipeline": 16, "expert": 64}
    assert document["parameters"] == document["npus"] // 1024 * 671_026_419_200
    assert document["samples_per_iteration"] == 64 * 16
    (all_to_all,) = (each for each in document["collectives"] if each["collective"] == "all-to-all")
    # Four layers of a stage, two forward, two again, two backward, of 8 rows of 7,168 numbers for each token.
    assert all_to_all["count"] == 16 * 4 * 6
    assert all_to_all["bytes"] == all_to_all["count"] * 4096 * 8 * 7168 * 2
    assert document["warnings"] == [
        f"{FOLDER / 'deepseek-v3.yaml'}: 61 layers in 16 parts: 3 get 3, the others 4; parallel.layers_per_part says "
        "otherwise"
    ]
    text = show(str(FOLDER / "deepseek-v3.yaml"))
    assert "parameters        671,026,419,200, of which a token uses 37,552,297,472" in text.output


def test_a_model_is_drawn_as_the_graph_of_an_iteration(tmp_path: Path) -> None:
    picture = tmp_path / "levels.png"
    result = show(str(FOLDER / "mlp-gemms.yaml"), "-o", str(picture))
    assert result.exception is None
    assert picture.stat().st_size > 1000
    assert result.stdout == f"{show(str(FOLDER / 'mlp-gemms.yaml')).stdout}written to {picture}\n"
    document = json.loads(show(str(FOLDER / "mlp-gemms.yaml"), "-o", str(picture), "--overwrite", "--json").stdout)
    assert (document["written"], document["name"]) == (str(picture), "MLP of four products")


@pytest.mark.parametrize(
    ("kind", "brought", "sent"),
    [
        (CollectiveKind.ALL_REDUCE, 4000, 6000),
        (CollectiveKind.REDUCE_SCATTER, 4000, 3000),
        (CollectiveKind.ALL_GATHER, 1000, 3000),
        (CollectiveKind.ALL_TO_ALL, 4000, 3000),
    ],
)
def test_an_npu_of_four_sends_what_a_ring_sends(kind: CollectiveKind, brought: int, sent: int) -> None:
    assert least_sent(CollectiveRequest(kind, brought, Label()), 4).tolist() == [sent]
    schedule = lookup(kind, "oneDirect" if kind is CollectiveKind.ALL_TO_ALL else "oneRing", 4)
    assert schedule.all_bytes(brought) == 4 * sent


def test_of_counts_each_place_sends_what_goes_to_others() -> None:
    request = CollectiveRequest(CollectiveKind.ALL_TO_ALL, 100, Label(), counts=((100, 0), (7, 9)))
    assert least_sent(request, 2).tolist() == [0, 7]


def test_messages_are_told_of_all_and_of_the_npu_that_sends_most() -> None:
    """Three stages of two NPUs: each micro-batch goes over two borders and back, the middle stage sends both ways."""
    batches, stages, copies = 4, 3, 2
    tied = {"tied_embeddings": False, "layers": 3}
    found = summary_of(small_gpt(tied, {"pipeline": stages}, micro_batches=batches), (stages * copies,)).messages
    assert (found.messages, found.bytes) == (copies * 4 * batches, copies * 4 * batches * WHOLE)
    assert (found.messages_of_an_npu, found.bytes_of_an_npu) == (2 * batches, 2 * batches * WHOLE)


def test_traces_of_a_model_have_a_file_for_each_npu(tmp_path: Path) -> None:
    words = ("--dimensions", "2x4", "--set", "parallel.tensor=2")
    result = generate(str(FOLDER / "mlp-gemms.yaml"), "-o", str(tmp_path / "mlp"), *words)
    assert result.exception is None
    assert read_chakra(tmp_path / "mlp").npus == 8
    assert result.stdout.rstrip().endswith(f"; -w {tmp_path / 'mlp'} plays them")


@pytest.mark.parametrize("form", ["chakra", "chakra-json"])
def test_traces_are_not_written_beside_a_file_that_would_be_played_in_their_place(form: str, tmp_path: Path) -> None:
    there = tmp_path / "mlp"
    there.write_text("DATA\n", encoding="utf-8")
    result = generate(str(FOLDER / "mlp-gemms.yaml"), "-o", str(there), "--format", form, "--overwrite")
    assert isinstance(result.exception, InputError)
    assert f"{there}: is there, and -w with its name would play it" in str(result.exception)
    assert list(tmp_path.iterdir()) == [there]


def test_one_micro_batch_is_no_more_than_one() -> None:
    assert "in 1 micro-batch on each copy" in show(str(FOLDER / "mlp-gemms.yaml")).stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--set", "parallel.tensor"), "--set is 'parallel.tensor', expected KEY=VALUE"),
        (("--dimensions", "6"), r"are 4 NPUs, expected a divisor of the 6 there are"),
    ],
)
def test_wrong_words_are_told(words: tuple[str, ...], message: str, tmp_path: Path) -> None:
    result = generate(str(FOLDER / "mlp-gemms.yaml"), "-o", str(tmp_path / "mlp"), *words)
    assert isinstance(result.exception, InputError)
    assert message in str(result.exception)


def test_only_model_files_are_generated_from(tmp_path: Path) -> None:
    result = generate(str(FOLDER.parent / "DLRM_HybridParallel.txt"), "-o", str(tmp_path / "x"))
    assert isinstance(result.exception, InputError)
    assert "isn't a model file" in str(result.exception)


def test_what_text_leaves_out_is_told_by_name(tmp_path: Path) -> None:
    words = [
        str(FOLDER / "resnet-50.yaml"),
        "-o",
        str(tmp_path / "loop.txt"),
        "--format",
        "text",
        "--json",
        "--overwrite",
    ]
    workload = read_model(FOLDER / "resnet-50.yaml")
    clock, first = workload.clock(), workload.plan(8).chunks[0][0]
    # The loop DATA never computes what layer 0's input gets: here what normalises and cuts off behind conv1.
    behind_ps = sum(clock.time_ps(item) for item in first.input_gradient if isinstance(item, Operation))
    usual = generate(*words, "--dimensions", "8", "--set", "parallel.bucket=null")
    assert [warning.split(": ")[2] for warning in json.loads(usual.stdout)["warnings"][:-1]] == [
        "the update of weights isn't in it",
        "it computes and sends gradients of weights before those of a layer's input, and so hides more of them",
        f"{-(-behind_ps // 1000)} ns of layer conv1's input gradient aren't computed in its loop",
    ]
    other = generate(*words, "--dimensions", "8", "--set", "parallel.overlap=off", "--set", "parallel.bucket=25MB")
    told = " ".join(json.loads(other.stdout)["warnings"])
    for what in ("the update of weights", "parallel.bucket isn't", "parallel.overlap off isn't"):
        assert what in told
    split = small_gpt({"tied_embeddings": False}, {"tensor": 2, "sequence": True})
    assert "the sum of normalisations' gradients over tensor groups isn't in it" in lost_as_loop(split, 4)[1]


def test_unless_told_groups_of_npus_end_where_dimensions_do(tmp_path: Path) -> None:
    """A queue for each kind of group, as in the model's own run: 2 in tensor groups, 2 stages."""
    words = [str(FOLDER / "llama-3-8b.yaml"), "-o", str(tmp_path / "small"), "--json"]
    degrees = [f"parallel.{key}" for key in ("tensor=2", "pipeline=2", "data=2")]
    smaller = [*degrees, "model.layers=4", "training.global_batch=null", "training.micro_batches=2"]
    result = generate(*words, *(word for change in smaller for word in ("--set", change)))
    assert result.exception is None
    assert not any("end inside a dimension" in warning for warning in json.loads(result.stdout)["warnings"])


def test_a_model_whose_tables_are_on_npus_of_a_file_has_as_many_npus(tmp_path: Path) -> None:
    """Tables of NPUs 0 and 3: there are four at least, whoever looks."""
    (tmp_path / "tables.csv").write_text("table,npu\n0,0\n1,3\n", encoding="utf-8")
    model = {"tables": 2, "rows": 10, "embedding": 8, "pooling": 2, "dense_features": 4, "bottom": [8], "top": [1]}
    shape = {**model, "placement": "table", "tables_of_npus": "tables.csv"}
    file, again = tmp_path / "model.yaml", tmp_path / "again.yaml"
    file.write_text(json.dumps({"kind": "dlrm", "name": "small", "model": shape}), encoding="utf-8")
    written = generate(str(file), "-o", str(again))
    assert written.exception is None
    assert read_model(again).plan(4).chunks == read_model(file).plan(4).chunks
    assert json.loads(show(str(file), "--json").stdout)["npus"] == 4
    (warning,) = [
        words
        for words in json.loads(generate(str(file), "-o", str(tmp_path / "job"), "--json").stdout)["warnings"]
        if "all-to-alls with counts" in words
    ]
    assert "tables" in warning


@pytest.mark.parametrize("written_as", ["chakra", "chakra-json", "text"])
def test_what_a_device_loses_while_it_is_played_is_told_where_no_file_says_it(written_as: str, tmp_path: Path) -> None:
    """1 - 1 / 1.25 is 0.2."""
    words = [
        str(FOLDER / "resnet-50.yaml"),
        "-o",
        str(tmp_path / "out"),
        "--format",
        written_as,
        "--dimensions",
        "2",
        "--overwrite",
    ]
    losses = "compute={device: H100, scale_up_efficiency: 0.5, overlap_slowdown: 1.25}"
    told = json.loads(generate(*words, "--json", "--set", losses).stdout)["warnings"]
    assert told[-1] == (
        f"{FOLDER / 'resnet-50.yaml'}: only a model file can say that its lines inside a node reach 0.5 of "
        "their rate (scale_up_efficiency), and collectives slow computing 1.25 times (overlap_slowdown; in a file for "
        "--compute-slowdown: communication: {processors: 0.2, memory_bandwidth: 0.2})"
    )
    nothing = "compute={device: H100, scale_up_efficiency: 1, overlap_slowdown: 1}"
    told = json.loads(generate(*words, "--json", "--set", nothing).stdout)["warnings"]
    assert not any("only a model file" in line for line in told)
    model = [*words[:2], str(tmp_path / "model.yaml"), "--json", "--set", losses]
    assert json.loads(generate(*model).stdout)["warnings"] == []
