"""Workload files in ASTRA-sim's text format."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astra_ns3.config.core.collective_kind import TEXT_FORMAT_KINDS, CollectiveKind
from astra_ns3.config.workload import Layer, Pass, Workload
from astra_ns3.errors import InputError
from astra_ns3.workload.files.astra_sim import format_workload, parse_workload, read_workload

TEXT = """\
HYBRID_DLRM 1
3
emb -1 300 ALLTOALL 98304 310 ALLTOALL 98300 320 NONE 0 98
bottom -1 1280 NONE 0 794 NONE 0 896 ALLREDUCE 13312 13
top -1 5 ALLGATHER 7 6 REDUCESCATTER 8 7 NONE 0 0
"""

EXPECTED = Workload(
    "HYBRID_DLRM",
    (
        Layer(
            "emb",
            Pass(300, CollectiveKind.ALL_TO_ALL, 98304),
            Pass(310, CollectiveKind.ALL_TO_ALL, 98300),
            Pass(320),
            98,
        ),
        Layer("bottom", Pass(1280), Pass(794), Pass(896, CollectiveKind.ALL_REDUCE, 13312), 13),
        Layer(
            "top",
            Pass(5, CollectiveKind.ALL_GATHER, 7),
            Pass(6, CollectiveKind.REDUCE_SCATTER, 8),
            Pass(7),
            0,
        ),
    ),
    1,
    "workload",
)


def test_every_column_arrives() -> None:
    assert parse_workload(TEXT) == EXPECTED


def test_the_layout_of_blanks_tabs_line_ends_and_the_header_does_not_matter() -> None:
    assert parse_workload(TEXT.replace(" ", "\t").replace("\n", "\t\t\r\n")) == EXPECTED
    assert parse_workload("\n" + TEXT.replace("\n", "\n\n")) == EXPECTED
    assert parse_workload(TEXT.replace("HYBRID_DLRM 1", "HYBRID_DLRM_1")) == EXPECTED
    assert parse_workload(TEXT.rstrip("\n")) == EXPECTED


@pytest.mark.parametrize(
    ("header", "loop", "last_bottom_layer"),
    [
        ("MICRO", "MICRO", None),
        ("DATA", "DATA", None),
        ("HYBRID_DLRM_ENHANCED 1", "HYBRID_DLRM_ENHANCED", 1),
        ("HYBRID_DLRM_ENHANCED_0", "HYBRID_DLRM_ENHANCED", 0),
        ("MODEL", "MODEL", None),
        ("HYBRID_DATA_MODEL", "HYBRID_DATA_MODEL", None),
        ("HYBRID_MODEL_DATA", "HYBRID_MODEL_DATA", None),
        ("DISTRIBUTED_INFERENCE", "DISTRIBUTED_INFERENCE", None),
    ],
)
def test_each_loop_is_read(header: str, loop: str, last_bottom_layer: int | None) -> None:
    workload = parse_workload(TEXT.replace("HYBRID_DLRM 1", header))
    assert (workload.loop, workload.last_bottom_layer) == (loop, last_bottom_layer)


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("HYBRID_DLRM 1", "MODEL x", r"^w:1: found 'x' after MODEL, expected nothing"),
        ("HYBRID_DLRM 1", "HYBRID_DLMR 1", r"^w:1: training loop 'HYBRID_DLMR' .*did you mean 'HYBRID_DLRM'\?"),
        ("HYBRID_DLRM 1", "HYBRID_DLRM", r"^w:1: found 0 words after HYBRID_DLRM"),
        ("HYBRID_DLRM 1", "HYBRID_DLRM x", r"^w:1: last bottom layer is 'x'"),
        ("HYBRID_DLRM 1", "HYBRID_DLRM 2", r"^w:1: last bottom layer is 2, expected at most 1"),
        ("HYBRID_DLRM 1", "HYBRID_DLRM -1", r"^w:1: last bottom layer is '-1'"),
        ("HYBRID_DLRM 1", "DATA 1", r"^w:1: found '1' after DATA, expected nothing"),
        ("\n3\n", "\nthree\n", r"^w:2: number of layers is 'three'"),
        ("\n3\n", "\n0\n", r"^w:2: number of layers is '0'"),
        ("\n3\n", "\n3 4\n", r"^w:2: found 2 words"),
        ("\n3\n", "\n4\n", r"^w:2: says 4 layers, found 3"),
        ("\n3\n", "\n2\n", r"^w:2: says 2 layers, found 3"),
        (" 98\n", "\n", r"^w:3: found 11 columns, expected 12"),
        (" 98\n", " 98 DATA\n", r"^w:3: found 13 columns, expected 12"),
        ("emb -1", "emb x", r"^w:3: reserved is 'x'"),
        ("-1 300", "-1 -300", r"^w:3: forward compute is '-300', expected a whole number of ns from 0"),
        ("-1 300", "# -1 300", r"; this format has no comments$"),
        ("\nemb", "\n# a comment\nemb", r"^w:3: begins with '#'; this format has no comments$"),
        ("-1 300", "-1 3.5", r"^w:3: forward compute is '3\.5'"),
        ("-1 300", "-1 nan", r"^w:3: forward compute is 'nan'"),
        ("-1 300", "-1 " + "9" * 5000, r"^w:3: forward compute is '999"),
        ("-1 300", "-1 9223372036854776", r"^w:3: forward compute is '9223372036854776'"),
        ("98304", "-1", r"^w:3: forward size is '-1'"),
        ("98304", "9223372036854775808", r"^w:3: forward size is '9223372036854775808'"),
        ("13312", "13312x", r"^w:4: weight-gradient size is '13312x'"),
        ("ALLREDUCE", "ALLREDUSE", r"^w:4: collective 'ALLREDUSE' is not one of .*; did you mean 'ALLREDUCE'\?"),
        ("ALLREDUCE", "ALLREDUCEALLTOALL", r"^w:4: collective 'ALLREDUCEALLTOALL' is not supported yet"),
        ("NONE 0 794", "NONE 5 794", r"^w:4: forward size is 5, expected 0 since the collective is NONE"),
        (" 0\n", " \u0661\n", r"^w:5: update time is"),
    ],
)
def test_a_mistake_is_one_line_with_file_and_line(before: str, after: str, message: str) -> None:
    assert before in TEXT
    with pytest.raises(InputError, match=message) as caught:
        parse_workload(TEXT.replace(before, after, 1), "w")
    assert "\n" not in str(caught.value)


TRANSFORMER = "HYBRID_TRANSFORMER model_parallel_NPU_group: 4"
REPLAYING = (
    "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 4 checkpoints: 2 2 0 checkpoint_initiates: 3 0 2 1"
)


def test_a_transformers_group_and_checkpoints_are_read() -> None:
    plain = parse_workload(TEXT.replace("HYBRID_DLRM 1", TRANSFORMER))
    assert (plain.loop, plain.model_parallel_npus, plain.checkpoints) == ("HYBRID_TRANSFORMER", 4, ())
    replaying = parse_workload(TEXT.replace("HYBRID_DLRM 1", REPLAYING.replace(" ", "\t")))
    assert (replaying.loop, replaying.model_parallel_npus) == ("HYBRID_TRANSFORMER_FWD_IN_BCKWD", 4)
    assert (replaying.checkpoints, replaying.checkpoint_initiates) == ((2, 0), (0, 2, 1))
    for workload in (plain, replaying):
        assert parse_workload(format_workload(workload)) == workload


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ("HYBRID_TRANSFORMER", "HYBRID_TRANSFORMER needs 'model_parallel_NPU_group:', which is missing"),
        (
            "HYBRID_TRANSFORMER 4",
            "found '4' after HYBRID_TRANSFORMER, expected model_parallel_NPU_group:; "
            "did you mean 'model_parallel_NPU_group: 4'?",
        ),
        (f"{TRANSFORMER} 5", "found '5' after HYBRID_TRANSFORMER, expected model_parallel_NPU_group:"),
        (
            TRANSFORMER.replace("group", "grupp"),
            "found 'model_parallel_NPU_grupp:' after HYBRID_TRANSFORMER, expected model_parallel_NPU_group:; "
            "did you mean 'model_parallel_NPU_group:'?",
        ),
        (TRANSFORMER.replace(" 4", ""), "the number after 'model_parallel_NPU_group:' is missing"),
        (TRANSFORMER.replace("4", "0"), "model_parallel_NPU_group is '0', expected a whole number from 1 to"),
        (f"{TRANSFORMER} model_parallel_NPU_group: 4", "'model_parallel_NPU_group:' is given twice"),
        (f"{TRANSFORMER} checkpoints: 0", "found 'checkpoints:' after HYBRID_TRANSFORMER, expected"),
        (REPLAYING.split(" checkpoint_initiates")[0], "needs 'checkpoint_initiates:', which is missing"),
        (REPLAYING.replace("2 2 0", "2 2 3"), "'checkpoints:' names layer 3, expected at most 2 (numbered from 0)"),
        (REPLAYING.replace("3 0 2 1", "3 0 2 9"), "'checkpoint_initiates:' names layer 9, expected at most 2"),
        (REPLAYING.replace("2 2 0", "2 2 2"), "'checkpoints:' names a layer twice"),
        (REPLAYING.replace("2 2 0", "2 2 x"), "checkpoints is 'x', expected a whole number"),
        (REPLAYING.replace("2 2 0", "x 2 0"), "how many checkpoints is 'x', expected a whole number"),
        (REPLAYING.replace("3 0 2 1", "4 0 2 1"), "'checkpoint_initiates: 4' is followed by 3 words, expected 4"),
        (REPLAYING.replace("2 2 0", "1 1"), "'checkpoint_initiates:' names layer 0, but no checkpoint is at or below"),
        (REPLAYING.replace("2 2 0", "0"), "'checkpoint_initiates:' names layer 0, but no checkpoint is at or below"),
    ],
)
def test_a_mistake_in_a_transformers_header_is_told(header: str, message: str) -> None:
    with pytest.raises(InputError, match=f"^w:1: .*{re.escape(message)}"):
        parse_workload(TEXT.replace("HYBRID_DLRM 1", header), "w")


CUSTOMIZED = """\
HYBRID_CUSTOMIZED
2
a -1 1 NONE 0 1 NONE 0 1 NONE 0 5 HYBRID_DATA_MODEL
b -1 1 NONE 0 1 NONE 0 1 NONE 0 5\t DATA\t
"""


def test_a_layer_of_a_customised_workload_names_its_policy() -> None:
    workload = parse_workload(CUSTOMIZED)
    assert [layer.policy for layer in workload.layers] == ["HYBRID_DATA_MODEL", "DATA"]
    assert parse_workload(format_workload(workload)) == workload
    with pytest.raises(InputError, match=r"^w:4: found 12 columns, expected 13: .*, update time, policy"):
        parse_workload(CUSTOMIZED.replace(" DATA\t", ""), "w")
    with pytest.raises(InputError, match=r"^w:4: policy 'DATTA' is not one of .*; did you mean 'DATA'\?"):
        parse_workload(CUSTOMIZED.replace(" DATA", " DATTA"), "w")
    with pytest.raises(InputError, match=r"^w:4: policy 'HYBRID_TRANSFORMER' is not one of"):
        parse_workload(CUSTOMIZED.replace(" DATA", " HYBRID_TRANSFORMER"), "w")


def test_a_file_that_ends_early_is_told(tmp_path: Path) -> None:
    (tmp_path / "w").write_text("DATA\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"w:2: the number of layers is missing"):
        read_workload(tmp_path / "w")
    with pytest.raises(InputError, match="is empty"):
        parse_workload("\n\n")


def test_sizes_above_four_gib_are_kept() -> None:
    workload = parse_workload(TEXT.replace("98304", str(2**40)))
    assert workload.layers[0].forward.bytes == 1_099_511_627_776


def test_scaling_truncates_and_never_empties_a_message() -> None:
    scaled = EXPECTED.scaled(comm_scale=0.01, compute_scale=0.5)
    assert [layer.forward.bytes for layer in scaled.layers] == [983, 0, 1]
    assert [layer.weight_gradient.bytes for layer in scaled.layers] == [0, 133, 0]
    assert [layer.forward.compute_ns for layer in scaled.layers] == [150, 640, 2]
    assert [layer.update_ns for layer in scaled.layers] == [98, 13, 0]
    assert EXPECTED.scaled() == EXPECTED


@pytest.mark.parametrize(("comm", "compute"), [(0.0, 1.0), (-1.0, 1.0), (float("nan"), 1.0), (1.0, float("inf"))])
def test_scales_that_mean_nothing_are_refused(comm: float, compute: float) -> None:
    with pytest.raises(InputError, match="scale"):
        EXPECTED.scaled(comm, compute)


def test_layers_made_in_python_are_checked_too() -> None:
    with pytest.raises(InputError, match="size -1"):
        Pass(0, CollectiveKind.ALL_REDUCE, -1)
    with pytest.raises(InputError, match="compute time"):
        Pass(2**63)
    with pytest.raises(InputError, match="without a collective has 5 bytes"):
        Pass(0, None, 5)
    with pytest.raises(InputError, match="update time"):
        Layer("x", Pass(0), Pass(0), Pass(0), -1)


names = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=8)
passes = st.one_of(
    st.builds(Pass, st.integers(0, 10**9)),
    st.builds(Pass, st.integers(0, 10**9), st.sampled_from(TEXT_FORMAT_KINDS), st.integers(0, 2**62)),
)
layers = st.builds(Layer, names, passes, passes, passes, st.integers(0, 10**6))


@given(st.lists(layers, min_size=2, max_size=4), st.sampled_from(["DATA", "MICRO", "HYBRID_DLRM"]))
def test_a_written_workload_reads_back_the_same(chosen: list[Layer], loop: str) -> None:
    workload = Workload(loop, tuple(chosen), 0 if loop == "HYBRID_DLRM" else None)
    assert parse_workload(format_workload(workload)) == workload


@pytest.mark.parametrize("wrong", [Path("a"), "2", None, True, float("nan")])
def test_scales_are_numbers(wrong: Any) -> None:
    loop = parse_workload("MICRO\n1\nlayer -1 0 NONE 0 0 NONE 0 0 ALLREDUCE 8 0")
    with pytest.raises(InputError, match="comm-scale is"):
        loop.scaled(comm_scale=wrong)
    with pytest.raises(InputError, match="compute-scale is"):
        loop.scaled(compute_scale=wrong)
