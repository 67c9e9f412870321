"""Recommendation models, tables of products, networks for images: bytes and parameters by formulas written here."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import pytest
from support.documents.schemas import schema_of
from support.models import blocks, exchanged, exchanges, flops, model_of

from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.config.model.convolution import ConvolutionFile
from astra_ns3.config.model.file import KINDS, ModelFile
from astra_ns3.config.training_plan import Block, Group, Operation, Sharding, TrainingPlan, Uneven
from astra_ns3.errors import InputError
from astra_ns3.workload.memory.stage import stage_memory
from astra_ns3.workload.models.convolution import layers_of
from astra_ns3.workload.models.model_kinds import MODEL_KINDS

NPUS, BATCH, TABLES, EMBEDDING, POOLING, ROWS = 4, 32, 8, 16, 10, 1000
VALUE = 2


def dlrm(**keys: Any) -> TrainingPlan:
    """A small recommendation model."""
    model = {"tables": TABLES, "rows": ROWS, "embedding": EMBEDDING, "pooling": POOLING, "dense_features": 13}
    data = {
        "kind": "dlrm",
        "name": "small",
        "model": {**model, "bottom": [64, EMBEDDING], "top": [64, 1], **keys},
        "training": {"micro_batch": BATCH, "datatype": "float16"},
    }
    return model_of(data).plan(NPUS)


def named(plan: TrainingPlan, name: str) -> Block:
    return next(block for block in blocks(plan) if block.name == name)


@pytest.mark.parametrize(
    ("placement", "forward", "backward", "parameters"),
    [
        # Every NPU has 2 of 8 tables, and sends sums for the samples of all 4.
        (
            "table",
            (CollectiveKind.ALL_TO_ALL, NPUS * BATCH * 2 * EMBEDDING * VALUE),
            (CollectiveKind.ALL_TO_ALL, NPUS * BATCH * 2 * EMBEDDING * VALUE),
            2 * ROWS * EMBEDDING,
        ),
        # A quarter of the rows: sums of all tables for all samples are partial.
        (
            "row",
            (CollectiveKind.REDUCE_SCATTER, NPUS * BATCH * TABLES * EMBEDDING * VALUE),
            (CollectiveKind.ALL_GATHER, BATCH * TABLES * EMBEDDING * VALUE),
            TABLES * ROWS // 4 * EMBEDDING,
        ),
        # A quarter of the columns of all tables, for all samples.
        (
            "column",
            (CollectiveKind.ALL_TO_ALL, NPUS * BATCH * TABLES * EMBEDDING // 4 * VALUE),
            (CollectiveKind.ALL_TO_ALL, NPUS * BATCH * TABLES * EMBEDDING // 4 * VALUE),
            TABLES * ROWS * EMBEDDING // 4,
        ),
    ],
)
def test_sums_of_rows_and_their_gradients_travel_beside_the_bottom_network(
    placement: str, forward: Any, backward: Any, parameters: int
) -> None:
    plan = dlrm(placement=placement)
    bottom = named(plan, "bottom")
    assert exchanged(bottom.forward, Group.DATA) == Counter([forward])
    assert exchanged(bottom.input_gradient, Group.DATA) == Counter([backward])
    assert not any(each.waited for each in exchanges((*bottom.forward, *bottom.input_gradient), Group.DATA))
    assert named(plan, "embedding").table_parameters == parameters


def test_rows_are_read_once_forward_and_read_and_written_back() -> None:
    for placement in ("table", "row", "column"):
        embedding = named(dlrm(placement=placement), "embedding")
        (look_up,) = embedding.forward
        (update,) = embedding.weight_gradient
        assert isinstance(look_up, Operation)
        assert isinstance(update, Operation)
        # Whatever the placement, all NPUs read POOLING rows of each table for each sample once.
        every_row = NPUS * BATCH * TABLES * POOLING * EMBEDDING * VALUE
        assert (update.bytes - look_up.bytes) * NPUS == every_row


def test_tables_of_npus_by_a_file_make_sums_uneven(tmp_path: Path) -> None:
    places = [0, 0, 0, 0, 0, 1, 1, 3]
    file = tmp_path / "tables.csv"
    file.write_text("table,npu\n" + "".join(f"{table},{npu}\n" for table, npu in enumerate(places)), encoding="utf-8")
    plan = dlrm(placement="table", tables_of_npus=str(file))
    counts = [places.count(npu) for npu in range(NPUS)]
    vector = BATCH * EMBEDDING * VALUE
    (sums,) = exchanges(named(plan, "bottom").forward, Group.DATA)
    assert sums.counts == tuple((count * vector,) * NPUS for count in counts)
    (gradients,) = exchanges(named(plan, "bottom").input_gradient, Group.DATA)
    assert gradients.counts == tuple(zip(*sums.counts, strict=True))
    (look_up,) = named(plan, "embedding").forward
    assert isinstance(look_up, Uneven)
    assert [each.bytes for each in look_up.operations] == [count * NPUS * vector * (POOLING + 1) for count in counts]
    assert named(plan, "embedding").table_parameters == 5 * ROWS * EMBEDDING


@pytest.mark.parametrize("placement", ["table", "row", "column"])
@pytest.mark.parametrize("zero", [0, 1, 3])
def test_memory_has_an_npus_tables_as_weights_alone_and_whole(placement: str, zero: int) -> None:
    """An equal part of tables x rows x embedding numbers; without them the plan needs as much less."""
    plan = replace(dlrm(placement=placement), sharding=Sharding(zero))
    without = [replace(block, table_parameters=0) for block in plan.chunks[0]]
    with_tables, rest = (
        stage_memory(each, 0).moments[-1].usage for each in (plan, replace(plan, chunks=(tuple(without),)))
    )
    assert with_tables == rest._replace(weights=rest.weights + TABLES * ROWS * EMBEDDING * VALUE // NPUS)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("table,npu\n0,0\n0,1\n", ":3: table 0 stands twice"),
        ("table,npu\n0,4\n", ":2: npu is 4, expected one of the 4 NPUs, 0 to 3"),
        ("table,npu\n8,0\n", ":2: table 8 isn't one of the 8 tables, 0 to 7"),
        ("table,npu\n0,0\n", ": table 1 is missing; expected a row for each of 8"),
        ("table,rank\n0,0\n", ":1: found 'table,rank', expected the columns table,npu"),
        ("table,npu\n0,x\n", ":2: found '0,x', expected two whole numbers: a table and its NPU"),
    ],
)
def test_a_wrong_file_of_tables_is_told_with_its_line(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "tables.csv"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        dlrm(placement="table", tables_of_npus=str(file))
    assert str(caught.value) == f"small.yaml: {file}{message}"


def test_the_interaction_by_products_has_a_number_for_each_pair_behind_the_dense_vector() -> None:
    plan = dlrm(interaction="dot")
    vectors = TABLES + 1
    assert named(plan, "top 0").parameters == (EMBEDDING + vectors * (vectors - 1) // 2 + 1) * 64


MNK = "Layer,m,n,k\nfirst,128,64,256\nsecond,128,256,32\n"


def gemms(folder: Path, tensor: int, npus: int, text: str = MNK) -> TrainingPlan:
    """A table of products."""
    file = folder / "table.csv"
    file.write_text(text, encoding="utf-8")
    return model_of(
        {"kind": "gemms", "name": "table", "model": {"table": str(file)}, "parallel": {"tensor": tensor}}
    ).plan(npus)


def test_products_data_parallel_exchange_nothing_but_gradients_of_all_weights(tmp_path: Path) -> None:
    plan = gemms(tmp_path, 1, 8)
    assert plan.degrees.data == 8
    assert [block.parameters for block in blocks(plan)] == [64 * 256, 256 * 32]
    data = {"kind": "gemms", "name": "table", "model": {"table": str(tmp_path / "table.csv")}}
    assert model_of(data).totals().parameters == 64 * 256 + 256 * 32
    assert all(not exchanges(block.forward, group) for block in blocks(plan) for group in Group)


def test_products_model_parallel_gather_outputs_and_sum_gradients_of_inputs(tmp_path: Path) -> None:
    """Alone, and with copies: hybrid parallel."""
    for npus in (4, 8):
        first, second = blocks(gemms(tmp_path, 4, npus))
        assert exchanged(first.forward, Group.TENSOR) == Counter({(CollectiveKind.ALL_GATHER, 128 * 64 * VALUE): 1})
        assert exchanged(second.input_gradient, Group.TENSOR) == Counter(
            {(CollectiveKind.ALL_REDUCE, 128 * 256 * VALUE): 1}
        )
        assert first.input_gradient == ()
        assert flops(second.forward) * 4 == 2 * 128 * 256 * 32
        assert second.parameters * 4 == 256 * 32


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Layer,m,n\na,1,2\n", ":1: column 'k' is missing; columns: Layer, m, n"),
        ("Layer,m,n,k\na,1,2,0\n", ":2: k is '0', expected a whole number above 0"),
        ("Layer,m,n,k\n", ": has no layer"),
        ("Layer,m,n,k\na,1,2,3\n", ": layer a: k is 3, expected a multiple of parallel.tensor, 2"),
    ],
)
def test_a_wrong_table_of_products_is_told_with_its_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        gemms(tmp_path, 2, 2, text)
    assert str(caught.value) == f"small.yaml: {tmp_path / 'table.csv'}{message}"


def test_an_image_network_s_gradients_of_inputs_cost_as_much_as_its_forward_pass_but_for_the_first() -> None:
    data = {
        "kind": "convolution",
        "name": "ResNet-18",
        "model": {"residual": {"blocks": [2, 2, 2, 2], "bottleneck": False}},
    }
    workload = model_of(data)
    assert workload.totals().parameters == 11_689_512  # PyTorch's count
    plan = workload.plan(2)
    first, *others = blocks(plan)
    assert flops(first.forward) == flops(first.weight_gradient) == 2 * 112**2 * 7**2 * 3 * 64
    assert flops(first.input_gradient) == 0
    assert all(flops(block.forward) == flops(block.input_gradient) == flops(block.weight_gradient) for block in others)


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("bottleneck", [False, True])
def test_each_convolution_reads_the_picture_that_the_one_before_it_wrote(first: bool, bottleneck: bool) -> None:
    residual = {"blocks": [2, 1, 2], "bottleneck": bottleneck, "stride_in_first": first}
    file = model_of({"kind": "convolution", "name": "small", "model": {"residual": residual}}).file
    assert isinstance(file, ConvolutionFile)
    first_layer, *layers = layers_of(file.model)
    size = first_layer.size // 2  # pooling
    for layer in layers[:-1]:
        if not layer.name.endswith("shortcut"):
            assert layer.read_size == size, layer.name
            size = layer.size


def test_each_kind_of_file_has_a_builder_and_stands_in_the_schema() -> None:
    assert set(MODEL_KINDS) == set(KINDS)
    assert set(KINDS.values()) == set(get_args(ModelFile))
    assert set(schema_of("model")["discriminator"]["mapping"]) == set(KINDS)
