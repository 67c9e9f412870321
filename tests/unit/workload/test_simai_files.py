"""SimAI's and AICB's text: what is read, how it is told from ASTRA-sim's, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.config.core.rows import rows_of
from astra_ns3.config.workload import Layer, ParallelGroup, Pass, Workload
from astra_ns3.errors import InputError
from astra_ns3.experiments.changes.documents import document_of, parsed
from astra_ns3.workload.files.astra_sim import format_workload as format_astra_sim
from astra_ns3.workload.files.astra_sim import parse_workload as parse_astra_sim
from astra_ns3.workload.files.simai import format_simai, is_simai, parse_simai
from astra_ns3.workload.files.workload_formats import read_workload

POLICY = "HYBRID_TRANSFORMER_FWD_IN_BCKWD"
HEADER = f"{POLICY} model_parallel_NPU_group: 2 ep: 4 pp: 3 vpp: 5 ga: 6 all_gpus: 96 checkpoints: 0 "
HEADER += "checkpoint_initiates: 0 pp_comm: 262144"
ROW = "row -1 1 NONE 0 2 NONE 0 3 NONE 0 4"


def _text(*rows: str, header: str = HEADER) -> str:
    return "\n".join([header, str(len(rows)), *rows])


def _row(word: str, bytes: object = 8) -> str:
    return f"row -1 1 {word} {bytes} 2 NONE 0 3 NONE 0 4"


def parse_workload(text: str, source: str = "w") -> Workload:
    """As the registry does it."""
    return (parse_simai if is_simai(rows_of(text, source)) else parse_astra_sim)(text, source)


def test_every_key_of_the_first_line_is_read() -> None:
    workload = parse_workload(_text(ROW))
    assert workload.loop == "SIMAI_TRANSFORMER_FWD_IN_BCKWD"
    assert (workload.model_parallel_npus, workload.expert_parallel_npus, workload.pipeline_stages) == (2, 4, 3)
    assert (workload.virtual_stages, workload.micro_batches, workload.npus) == (5, 6, 96)
    assert workload.stage_bytes == 262144


@pytest.mark.parametrize("written", ["pp_comm 77", "pp_comm: 77", "pp_comm: 77.0", "pp_comm 77.5", "pp_comm: 77."])
def test_pp_comm_goes_without_its_colon_and_with_a_fraction_of_which_nothing_is_read(written: str) -> None:
    assert parse_workload(_text(ROW, header=f"{POLICY} model_parallel_NPU_group: 1 {written}")).stage_bytes == 77


def test_checkpoints_are_lists_with_a_count() -> None:
    header = f"{POLICY} model_parallel_NPU_group: 1 ga: 1 checkpoints: 2 0 1 checkpoint_initiates: 1 2"
    workload = parse_workload(_text(ROW, ROW, ROW, header=header))
    assert (workload.checkpoints, workload.checkpoint_initiates) == ((0, 1), (2,))


@pytest.mark.parametrize(
    ("word", "kind", "group"),
    [
        ("ALLREDUCE", CollectiveKind.ALL_REDUCE, None),
        ("ALLTOALL_EP", CollectiveKind.ALL_TO_ALL, ParallelGroup.EXPERT),
        ("ALLGATHER_DP_EP", CollectiveKind.ALL_GATHER, ParallelGroup.EXPERT_DATA),
        ("REDUCESCATTER_DP_EP", CollectiveKind.REDUCE_SCATTER, ParallelGroup.EXPERT_DATA),
        ("REDUCESCATTER_EP", CollectiveKind.REDUCE_SCATTER, ParallelGroup.EXPERT),
        ("BROADCAST", CollectiveKind.BROADCAST, None),
        ("ALLREDUCEALLTOALL", CollectiveKind.ALL_REDUCE, None),
    ],
)
def test_collectives_have_a_group_behind_them(word: str, kind: CollectiveKind, group: ParallelGroup | None) -> None:
    assert parse_workload(_text(_row(word))).layers[0].forward == Pass(1, kind, 8, group)


def test_bytes_beside_none_are_ignored_and_none_beside_a_collective_are_kept() -> None:
    workload = parse_workload(_text(_row("NONE", 1048576), _row("ALLGATHER_DP_EP", 0)))
    assert workload.layers[0].forward == Pass(1)
    assert workload.layers[1].forward == Pass(1, CollectiveKind.ALL_GATHER, 0, ParallelGroup.EXPERT_DATA)


def test_any_white_space_goes_and_no_end_of_the_last_line() -> None:
    text = f"{HEADER}\n1\nrow     -1 \t556.0  ALLREDUCE   16777216\t 1 NONE 0  1   NONE   0      1"
    assert parse_workload(text).layers == (
        Layer("row", Pass(556, CollectiveKind.ALL_REDUCE, 16777216), Pass(1), Pass(1), 1),
    )


def test_what_has_no_mark_of_simai_is_astra_sims_and_as_strict_as_before() -> None:
    header = f"{POLICY} model_parallel_NPU_group: 2 checkpoints: 0 checkpoint_initiates: 0"
    assert parse_workload(_text(ROW, header=header)).loop == POLICY
    with pytest.raises(InputError, match="expected 0 since the collective is NONE"):
        parse_workload(_text(_row("NONE", 8), header=header))
    with pytest.raises(InputError, match="not supported yet"):
        parse_workload(_text(_row("ALLREDUCEALLTOALL"), header=header))


@pytest.mark.parametrize("word", ["BROADCAST", "ALLTOALL_EP", "ALLREDUCE_DP_EP"])
def test_a_collective_that_astra_sim_does_not_have_marks_a_file_too(word: str) -> None:
    header = f"{POLICY} model_parallel_NPU_group: 2 checkpoints: 0 checkpoint_initiates: 0"
    assert parse_workload(_text(_row(word), header=header)).loop == f"SIMAI_{POLICY.removeprefix('HYBRID_')}"


def test_other_policies_are_astra_sims_and_have_no_groups() -> None:
    micro = parse_workload(_text("row -1 1 NONE 5 1 NONE 0 1 BROADCAST 8 1", header="MICRO"))
    assert (micro.loop, micro.layers[0].weight_gradient.collective) == ("MICRO", CollectiveKind.BROADCAST)
    custom = parse_workload(_text(f"{_row('BROADCAST')} MODEL", header="HYBRID_CUSTOMIZED"))
    assert custom.layers[0].policy == "MODEL"
    with pytest.raises(InputError, match=r"w:3: .*'ALLTOALL_EP', but MICRO has no groups of experts"):
        parse_workload(_text(_row("ALLTOALL_EP"), header="MICRO"), "w")


def test_keys_of_groups_are_without_effect_on_other_policies_and_that_is_told() -> None:
    workload = parse_workload(_text(ROW, header="MICRO model_parallel_NPU_group: 8 ep: 2 pp_comm 262144.0"), "w")
    assert workload.loop == "MICRO"
    told = "w:1: without effect on MICRO, which has no groups of NPUs and no stages"
    assert workload.warnings == (f"{told}: model_parallel_NPU_group, ep, pp_comm",)
    assert parsed(workload, document_of(workload), "s", {}) == workload
    text = _text(ROW, ROW, ROW, header="HYBRID_DLRM DLRM_LAST_BOTTOM_LAYER: 1 checkpoints: 2 0 1 pp_comm: 8")
    assert parse_workload(text).last_bottom_layer == 1


def test_all_unknown_words_of_other_policies_are_told_at_once() -> None:
    with pytest.raises(InputError, match=r"'eps:'; did you mean 'ep:'.*'fast' .*'ALLREDUSE'") as caught:
        parse_workload(_text(_row("ALLREDUSE"), header="MICRO eps: 2 fast pp_comm: 8"), "w")
    assert "\n" not in str(caught.value)
    with pytest.raises(InputError, match="w:1: the number after 'pp_comm' is missing"):
        parse_workload(_text(ROW, header="MICRO pp_comm"), "w")


def test_the_last_bottom_layer_may_have_simais_key() -> None:
    text = _text(ROW, ROW, ROW, header="HYBRID_DLRM DLRM_LAST_BOTTOM_LAYER: 1")
    assert parse_workload(text).last_bottom_layer == 1


def test_all_unknown_words_are_told_at_once() -> None:
    text = _text(_row("ALLREDUSE"), _row("GATHER"), _row("GATHER"), header=f"{HEADER} sp: 2 all_gpu: 1")
    with pytest.raises(InputError) as caught:
        parse_workload(text, "w")
    message = str(caught.value)
    assert "\n" not in message
    for part in (
        "'sp:'",
        "'all_gpu:'; did you mean 'all_gpus:'?",
        "'ALLREDUSE'; did you mean 'ALLREDUCE'?",
        "'GATHER'",
        "4, 5",
    ):
        assert part in message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"{HEADER}\n839\n{ROW}\n{ROW}", r"w:2: says 839 rows, found 2"),
        (f"{HEADER}\n1\n{ROW}\n{ROW}", r"w:2: says 1 row, found 2"),
        (f"{HEADER}\n1\n{ROW} 5", r"w:3: found 13 columns, expected 12"),
        (f"{HEADER}\n", r"w:2: the number of rows is missing"),
        (f"{HEADER}\n1 2\n{ROW}", r"w:2: found 2 words"),
        (_text(ROW, header=f"{POLICY} model_parallel_NPU_group: 2 ep: x"), r"w:1: 'ep:' is 'x', expected a whole"),
        (_text(ROW, header=f"{POLICY} model_parallel_NPU_group: 2 ep: 0"), r"w:1: 'ep:' is '0', expected a whole"),
        (_text(ROW, header=f"{POLICY} model_parallel_NPU_group: 2 ep:"), r"w:1: the number after 'ep:' is missing"),
        (_text(ROW, header=f"{POLICY} ep: 1 ep: 2"), r"w:1: 'ep:' is given twice"),
        (_text(ROW, header=f"{POLICY} ep: 1"), r"needs 'model_parallel_NPU_group:', which is missing"),
        (_text(_row("ALLREDUCE", 1.5)), r"w:3: forward size is '1.5'"),
        (
            _text(ROW, header=f"{HEADER.replace('checkpoints: 0', 'checkpoints: 1 4')}"),
            "names layer 4, expected at most",
        ),
    ],
)
def test_what_is_wrong_is_told_in_one_line(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        parse_workload(text, "w")


def test_what_is_written_is_read_back_equal() -> None:
    rows = [_row("ALLTOALL_EP"), _row("ALLGATHER_DP_EP"), _row("BROADCAST"), ROW]
    workload = parse_workload(_text(*rows))
    assert parse_simai(format_simai(workload), "w") == workload
    plain = parse_workload(_text(ROW, header="HYBRID_TRANSFORMER model_parallel_NPU_group: 1 ga: 1"))
    assert parse_simai(format_simai(plain), "w") == plain


def test_scaling_takes_what_goes_from_stage_to_stage_along() -> None:
    assert parse_workload(_text(ROW)).scaled(0.5).stage_bytes == 131072


REFERENCE = Path(__file__).resolve().parents[4] / "shared" / "reference" / "workloads" / "aicb"


@pytest.mark.skipif(not REFERENCE.is_dir(), reason="the files of others are not here")
def test_every_file_of_aicbs_is_read_and_written_back() -> None:
    loops = {}
    for path in sorted(REFERENCE.glob("*.txt")):
        workload = read_workload(path)
        assert isinstance(workload, Workload)
        loops[path.stem.split("_")[0]] = workload.loop
        write = format_simai if workload.loop.startswith("SIMAI_") else format_astra_sim
        again = parse_workload(write(workload))
        assert again == replace(workload, source=again.source)
    assert loops["G13B-M1-C01"] == "SIMAI_TRANSFORMER_FWD_IN_BCKWD"  # it has a BROADCAST
    assert loops["L7B-D1-C02"] == POLICY  # nothing in it is SimAI's own


def test_a_study_changes_groups_and_sizes_by_their_keys() -> None:
    workload = parse_workload(_text(_row("ALLTOALL_EP")))
    data: dict[str, Any] = dict(document_of(workload))
    assert data["layers"][0]["forward"]["group"] == "EP"
    data["layers"][0]["forward"]["group"] = "DP_EP"
    data["expert_parallel_npus"] = 2
    changed = parsed(workload, data, "study", {})
    assert isinstance(changed, Workload)
    assert changed.layers[0].forward == Pass(1, CollectiveKind.ALL_TO_ALL, 8, ParallelGroup.EXPERT_DATA)
    assert changed.expert_parallel_npus == 2
    data["layers"][0]["forward"]["group"] = "XP"
    with pytest.raises(InputError, match=r"key 'layers\.0\.forward\.group': found 'XP', allowed: TP, DP, EP, DP_EP"):
        parsed(workload, data, "study", {})
