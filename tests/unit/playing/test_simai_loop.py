"""What SimAI's transformer does, in order and among whom, and the pipeline that we play of it."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import pytest
from support.fake_backend import FakeBackend
from support.training_driver import TrainingDriver

from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.config.core.compatibility import Compatibility, preset
from astra_ns3.config.workload import ParallelGroup, Workload
from astra_ns3.errors import InputError
from astra_ns3.experiments.jobs.training import TrainingJob
from astra_ns3.network.api import EndpointModel
from astra_ns3.network.records import Label, RunRecords
from astra_ns3.playing.loops.loop_programs import Programs
from astra_ns3.playing.loops.simai_pipeline import turns
from astra_ns3.playing.programs.operations import Compute, Receive, Send, Wait
from astra_ns3.report.summary import pipeline_rows
from astra_ns3.system.file import parse_system
from astra_ns3.system.groups import Grid
from astra_ns3.system.request import CollectiveRequest, Handle, MessageRequest
from astra_ns3.workload.files.astra_sim import parse_workload
from astra_ns3.workload.files.simai import parse_simai
from astra_ns3.workload.loops.simai_rules import as_simai_plays, simai_warnings

NS = 1000
SHORT = {"forward": "f", "weight gradient": "w", "input gradient": "i", "activation": "activation", "gradient": "grad"}
EXPERT, EXPERT_DATA = ParallelGroup.EXPERT, ParallelGroup.EXPERT_DATA


def _parse(header: str, *rows: str) -> Workload:
    return parse_simai("\n".join([f"HYBRID_TRANSFORMER_FWD_IN_BCKWD {header}", str(len(rows)), *rows]), "w")


def _trace(workload: Workload, npus: int, role: int = 0, passes: int = 1) -> list[str]:
    """``compute f0``, ``issue w1 ALLREDUCE 8 (1,)``, ``wait w1``, ``send activation 0``, ...."""
    programs = Programs.of(workload, passes, (npus,))
    program = programs.program(programs.roles[role])
    answer: Handle | None = None
    steps: list[str] = []

    def named(label: Label) -> str:
        rest = label.micro_batch if label.layer == "pipeline" else label.layer
        return f"{SHORT[label.part]}{'' if isinstance(label.layer, int) else ' '}{rest}"

    while True:
        try:
            operation = program.send(answer)
        except StopIteration:
            return steps
        answer = None
        if isinstance(operation, Compute):
            steps.append(f"compute {named(operation.label)}")
        elif isinstance(operation, Wait):
            steps.append(f"{'tail' if operation.tail else 'wait'} {named(operation.handle.request.label)}")
        elif isinstance(operation, CollectiveRequest):
            sent = f"{operation.kind.value} {operation.bytes} {operation.dimensions}"
            steps.append(f"issue {named(operation.label)} {sent}")
            answer = Handle(0, 0, operation, 0, done=not operation.bytes)
        elif isinstance(operation, Send | Receive):
            steps.append(f"{type(operation).__name__.lower()} {named(operation.label)}")
            message = MessageRequest(0, 0, operation.bytes, operation.tag, operation.label)
            answer = Handle(0, 0, message, 0, done=False)


def _lines(text: str) -> list[str]:
    return [part.strip() for part in text.replace("\n", ";").split(";") if part.strip()]


def test_three_rows_on_four_npus_are_issued_as_simai_does() -> None:
    """tp 2, dp 2: dimension 0 within a model, 1 across. Plain collectives of weights' gradients go across."""
    workload = _parse(
        "model_parallel_NPU_group: 2 ep: 1 pp: 1 vpp: 1 ga: 1 all_gpus: 4",
        "grad_norm -1 1 ALLGATHER 1000 1 NONE 0 1 REDUCESCATTER 2000 100",
        "embedding -1 1 NONE 4096 1 ALLREDUCE 3000 1 NONE 0 100",
        "mlp -1 1 REDUCESCATTER 5000 1 ALLGATHER 4001 1 ALLREDUCE 7000 100",
    )
    assert _trace(workload, 4, passes=2) == _lines(
        """
        compute f0; issue f0 ALLGATHER 500 (0,); wait f0; compute f1
        compute f2; issue f2 REDUCESCATTER 5000 (0,); wait f2
        compute i2; issue i2 ALLGATHER 2001 (0,); wait i2; compute w2; issue w2 ALLREDUCE 7000 (1,)
        compute i1; issue i1 ALLREDUCE 3000 (0,); wait i1; compute w1
        compute i0; compute w0; issue w0 REDUCESCATTER 2000 (1,)
        wait w0; compute f0; issue f0 ALLGATHER 500 (0,); wait f0; compute f1; wait w2; compute f2
        issue f2 REDUCESCATTER 5000 (0,); wait f2
        compute i2; issue i2 ALLGATHER 2001 (0,); wait i2; compute w2; issue w2 ALLREDUCE 7000 (1,)
        compute i1; issue i1 ALLREDUCE 3000 (0,); wait i1; compute w1
        compute i0; compute w0; issue w0 REDUCESCATTER 2000 (1,)
        wait w0; tail w2
        """
    )


def test_a_checkpoint_is_gone_forward_from_again() -> None:
    row = "row -1 1 NONE 0 1 NONE 0 1 NONE 0 1"
    workload = _parse("model_parallel_NPU_group: 1 ga: 1 checkpoints: 1 0 checkpoint_initiates: 1 1", row, row)
    forward = "compute f0; compute f1; compute f0; compute i1; compute w1; compute i0; compute w0"
    assert _trace(workload, 2) == _lines(forward)
    assert _trace(as_simai_plays(workload), 2).count("compute f0") == 1


def _run(workload: Workload, dimensions: Sequence[int], message_ps: int | None = None, **options: Any) -> RunRecords:
    keys: dict[str, Any] = {"scheduling-policy": "FIFO", "preferred-dataset-splits": 1}
    for kind in ("all-reduce", "reduce-scatter", "all-gather", "all-to-all"):
        keys[f"{kind}-implementation"] = ["direct" if kind == "all-to-all" else "ring"] * len(dimensions)
    cost = (lambda bytes: message_ps) if message_ps is not None else None
    network = FakeBackend(prod(dimensions), message_ps=cost, endpoint=EndpointModel(0))
    driver = TrainingDriver(network, parse_system(keys), workload, 1, dimensions=tuple(dimensions), **options)
    driver.run()
    return driver.records()


def _forward(word: str, bytes: int) -> str:
    return f"row -1 0 {word} {bytes} 0 NONE 0 0 NONE 0 0"


def _weight(word: str, bytes: int) -> str:
    return f"row -1 0 NONE 0 0 NONE 0 0 {word} {bytes} 0"


SIZE = 96 * 1024
GROUPS = "model_parallel_NPU_group: 4 ep: 2 pp: 1 vpp: 1 ga: 1 all_gpus: 24"
"""24 NPUs: 4 share a model, 6 the data, in 3 copies of 2 shares of the experts."""


@pytest.mark.parametrize(
    ("row", "sent"),
    [
        (_forward("ALLREDUCE", SIZE), 2 * SIZE * 3 // 4),
        (_forward("ALLGATHER", SIZE), SIZE * 3 // 4),  # the bytes are those of the output
        (_forward("REDUCESCATTER", SIZE), SIZE * 3 // 4),
        (_forward("ALLTOALL_EP", SIZE), SIZE // 2),
        (_forward("ALLREDUCE_DP_EP", SIZE), 2 * SIZE * 2 // 3),
        (_weight("ALLREDUCE", SIZE), 2 * SIZE * 5 // 6),
        (_weight("ALLGATHER", SIZE), SIZE * 5 // 6),
        (_weight("REDUCESCATTER_EP", SIZE), SIZE // 2),
        (_weight("ALLGATHER_DP_EP", SIZE), SIZE * 2 // 3),
        (_weight("REDUCESCATTER_DP_EP", SIZE), SIZE * 2 // 3),
        (_weight("ALLGATHER_DP_EP", 0), 0),
    ],
)
def test_an_npu_sends_what_its_groups_size_makes_of_the_bytes(row: str, sent: int) -> None:
    for dimensions in ((24,), (4, 6)):
        assert sum(_run(_parse(GROUPS, row), dimensions).sent_bytes) == sent


def test_experts_go_without_tensor_parallelism() -> None:
    workload = _parse("model_parallel_NPU_group: 1 ep: 4 pp: 1 ga: 1 all_gpus: 8", _forward("ALLTOALL_EP", 4096))
    records = _run(workload, (8,))
    assert records.complete
    assert sum(records.sent_bytes) == 3 * 1024


def test_all_to_alls_of_experts_and_gradients_of_all_go_on_at_the_same_time() -> None:
    """One row's gradients, not waited for, do not stand in the way of the next row's experts."""
    rows = ["a -1 0 NONE 0 0 ALLTOALL_EP 8 0 NONE 0 0", _weight("ALLREDUCE", 8)]
    records = _run(_parse("model_parallel_NPU_group: 1 ep: 2 ga: 1 all_gpus: 4", *rows), (4,), 1000)
    assert records.complete
    assert {record.kind for record in records.collectives} == {CollectiveKind.ALL_REDUCE, CollectiveKind.ALL_TO_ALL}


def _pipeline_rows(micro_batches: int) -> list[str]:
    batch = ["embedding -1 1 NONE 0 1 NONE 0 1 NONE 0 0", "mlp -1 2 NONE 0 2 NONE 0 2 NONE 0 0"]
    return batch * micro_batches


@pytest.mark.parametrize(("stages", "micro_batches"), [(2, 1), (2, 4), (4, 2), (4, 8), (3, 5)])
def test_the_bubble_of_a_pipeline_is_p_minus_1_of_m_plus_p_minus_1(stages: int, micro_batches: int) -> None:
    """With messages that take no time: a micro-batch is 3 ns forward and 6 ns backward on each stage."""
    header = f"model_parallel_NPU_group: 2 pp: {stages} ga: {micro_batches} all_gpus: {4 * stages} pp_comm: 8"
    records = _run(_parse(header, *_pipeline_rows(micro_batches)), (4 * stages,), 0)
    work_ps = micro_batches * 9 * NS
    assert {npu.compute_ps for npu in records.npus} == {work_ps}
    assert records.finish_ps == (micro_batches + stages - 1) * 9 * NS
    bubble = 1 - work_ps / records.finish_ps
    assert bubble == pytest.approx((stages - 1) / (micro_batches + stages - 1))


@pytest.mark.parametrize(
    ("stages", "micro_batches", "chunks"), [(2, 2, 2), (2, 4, 2), (4, 4, 2), (4, 8, 3), (3, 6, 4), (8, 8, 2)]
)
def test_the_bubble_of_an_interleaved_pipeline_is_p_minus_1_over_v_m(
    stages: int, micro_batches: int, chunks: int
) -> None:
    """Over the ideal time; of Megatron-LM's paper. A chunk is 2 ns forward and 4 backward; embeddings take nothing."""
    header = f"model_parallel_NPU_group: 1 pp: {stages} vpp: {chunks} ga: {micro_batches} pp_comm: 8"
    batch = ["embedding -1 0 NONE 0 0 NONE 0 0 NONE 0 0", *["mlp -1 2 NONE 0 2 NONE 0 2 NONE 0 0"] * chunks]
    records = _run(_parse(header, *batch * micro_batches), (2 * stages,), 0)
    ideal_ps = micro_batches * chunks * 6 * NS
    assert {npu.compute_ps for npu in records.npus} == {ideal_ps}
    assert (records.finish_ps - ideal_ps) / ideal_ps == pytest.approx((stages - 1) / (chunks * micro_batches))
    sent = [record for record in records.collectives if record.label.layer == "pipeline"]
    assert len(sent) == 2 * 2 * micro_batches * (stages * chunks - 1)  # NPUs, ways, hops from chunk to chunk


def test_the_turns_of_two_stages_with_two_chunks_are_megatrons() -> None:
    """By hand: 0 F0a F1a F0b F1b | F2a B0b F3a B1b F2b B0a F3b B1a | B2b B3b B2a B3a."""

    def written(stage: int) -> str:
        return " ".join(
            f"{'F' if turn.forward else 'B'}{turn.batch}{'ab'[turn.chunk]}" for turn in turns(stage, 2, 4, 2)
        )

    assert written(0) == "F0a F1a F0b F1b F2a B0b F3a B1b F2b B0a F3b B1a B2b B3b B2a B3a"
    assert written(1) == "F0a F1a F0b B0b F1b B1b F2a B0a F3a B1a F2b B2b F3b B3b B2a B3a"


@pytest.mark.parametrize(
    ("keys", "rows", "why"),
    [
        ("vpp: 2 ga: 3", ["mlp"] * 2, "ga is 3, not a multiple of pp 2"),
        (
            "vpp: 2 ga: 2",
            ["embedding", "mlp", "mlp", "mlp"],
            "the 4 rows of a micro-batch aren't 2 equal parts, "
            "not counting unlike rows (embeddings, losses) at its ends",
        ),
        ("vpp: 4 ga: 2", ["embedding", "mlp", "mlp", "mlp"], "aren't 4 equal parts, not counting unlike rows (emb"),
        ("vpp: 3 ga: 2", ["mlp"] * 2, "the 2 rows of a micro-batch aren't 3 equal parts"),
        ("vpp: 2 ga: 2", ["embedding", "mlp", "mlp", "loss"], ""),
        ("vpp: 1 ga: 3", ["mlp"] * 2, ""),
    ],
)
def test_what_cannot_be_interleaved_is_a_plain_pipeline_and_that_is_told(keys: str, rows: list[str], why: str) -> None:
    micro_batches = int(keys[-1])
    lines = [f"{row} -1 1 NONE 0 1 NONE 0 1 NONE 0 0" for row in rows] * micro_batches
    workload = _parse(f"model_parallel_NPU_group: 1 pp: 2 {keys} pp_comm: 8", *lines)
    told = [line for line in simai_warnings(workload, (4,)) if "isn't interleaved" in line]
    assert ([why in line for line in told] == [True]) if why else not told
    messages = [record for record in _run(workload, (4,), 0).collectives if record.label.layer == "pipeline"]
    hops = 3 if keys.startswith("vpp: 2") and not why else 1
    assert len(messages) == 2 * 2 * micro_batches * hops


@pytest.mark.parametrize("micro_batches", [1, 2])
def test_rows_of_the_iteration_are_played_once_around_the_micro_batches(micro_batches: int) -> None:
    """AICB's names where one micro-batch repeats nothing; a loss goes with the last one."""
    header = f"model_parallel_NPU_group: 1 pp: 2 ga: {micro_batches} all_gpus: 4 pp_comm: 8"
    names = ["grad_norm", "moe_grad_norm1", *["embedding_layer", "mlp_layer"] * micro_batches, "cross_entropy1"]
    rows = [f"{name} -1 1 NONE 0 1 NONE 0 1 NONE 0 1" for name in [*names, "optimizer1", "optimizer2"]]
    last = 2 * micro_batches + 2
    before, *inside = "".join(_trace(_parse(header, *rows), 4, 1)).split("receive activation")
    assert before == "compute f0compute f1"
    assert len(inside) == micro_batches
    behind = [step for step in _trace(_parse(header, *rows), 4, 1) if step.startswith("compute")][-10:]
    assert behind == _lines(
        f"""
        compute f{last + 1}; compute f{last + 2}
        compute i{last + 2}; compute w{last + 2}; compute i{last + 1}; compute w{last + 1}
        compute i1; compute w1; compute i0; compute w0
        """
    )


def test_stages_take_turns_forward_and_backward_and_send_what_the_next_one_waits_for() -> None:
    header = "model_parallel_NPU_group: 1 pp: 2 ga: 2 all_gpus: 4 pp_comm: 8"
    workload = _parse(header, "norm -1 1 NONE 0 1 NONE 0 1 NONE 0 1", *_pipeline_rows(2))
    forward = ["compute f1; compute f2", "compute f3; compute f4"]
    backward = ["compute i2; compute w2; compute i1; compute w1", "compute i4; compute w4; compute i3; compute w3"]
    assert _trace(workload, 4, 0) == _lines(
        f"""
        compute f0
        {forward[0]}; send activation 0; {forward[1]}; send activation 1
        receive grad 0; wait grad 0; {backward[0]}; receive grad 1; wait grad 1; {backward[1]}
        compute i0; compute w0; wait activation 0; wait activation 1
        """
    )
    assert _trace(workload, 4, 1) == _lines(
        f"""
        compute f0
        receive activation 0; wait activation 0; {forward[0]}; {backward[0]}; send grad 0
        receive activation 1; wait activation 1; {forward[1]}; {backward[1]}; send grad 1
        compute i0; compute w0; wait grad 0; wait grad 1
        """
    )


def test_an_npu_sends_a_tensor_for_each_micro_batch_to_the_one_in_its_place() -> None:
    header = "model_parallel_NPU_group: 2 pp: 2 ga: 3 all_gpus: 8 pp_comm: 70"
    records = _run(_parse(header, *_pipeline_rows(3)), (8,))
    messages = [record for record in records.collectives if record.label.layer == "pipeline"]
    assert len(messages) == 4 * 2 * 3  # NPUs of a stage, ways, micro-batches
    assert {record.bytes for record in messages} == {70}


def test_collectives_of_a_stage_stay_in_it() -> None:
    rows = ["a -1 1 ALLREDUCE 4096 1 NONE 0 1 ALLREDUCE 8192 1"]
    header = "model_parallel_NPU_group: 2 ep: 2 pp: 2 ga: 1 all_gpus: 16 pp_comm: 8"
    records = _run(_parse(header, *rows), (16,))
    sent = 4096 + 2 * 8192 * 3 // 4 + 8  # and the tensor that goes to the next stage
    assert sum(records.sent_bytes) == sent
    as_astra_sim_2 = _run(_parse(header, *rows), (16,), compatibility=preset("astra-sim-2"))  # groups are rings there
    assert sum(as_astra_sim_2.sent_bytes) == sent


def test_rows_that_are_not_repeated_for_each_micro_batch_are_an_error() -> None:
    header = "model_parallel_NPU_group: 1 pp: 2 ga: 3 pp_comm: 8"
    with pytest.raises(InputError, match="w: ga is 3, expected rows that are repeated 3 times"):
        _run(_parse(header, *_pipeline_rows(2)), (4,))


def test_stages_without_bytes_between_them_play_side_by_side_and_that_is_told() -> None:
    workload = _parse("model_parallel_NPU_group: 1 pp: 2 ga: 1 all_gpus: 4", *_pipeline_rows(1))
    assert _run(workload, (4,)).finish_ps == 9 * NS
    assert [line for line in simai_warnings(workload, (4,)) if "pp is 2, but no bytes go from stage to stage" in line]
    (told,) = [line for line in simai_warnings(workload, (4,), preset("simai")) if "pp is 2" in line]
    assert "--compat simai plays no pipeline" in told
    assert "pp_comm" in told


def test_simais_rules_raise_small_forward_sizes_and_leave_out_broadcasts() -> None:
    rows = [_forward("ALLREDUCE", 4), _forward("ALLREDUCE", 0), _forward("BROADCAST", 8), _weight("ALLREDUCE", 4)]
    header = "model_parallel_NPU_group: 2 pp: 2 ga: 1 all_gpus: 8 pp_comm: 8"
    played = as_simai_plays(_parse(header, *rows))
    assert [layer.forward.bytes for layer in played.layers] == [4096, 0, 0, 0]
    assert played.layers[2].forward.collective is None
    assert played.layers[3].weight_gradient.bytes == 4
    assert (played.pipeline_stages, played.stage_bytes) == (2, None)


def test_the_preset_makes_simais_loop_of_a_transformer_without_its_keys() -> None:
    text = "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 checkpoints: 0 checkpoint_initiates: 0\n1\n"
    plain = parse_workload(text + _weight("ALLGATHER", 4096))
    assert as_simai_plays(plain).loop == "SIMAI_TRANSFORMER_FWD_IN_BCKWD"
    assert preset("simai") == Compatibility(step_tick_ns=1, exposed_until_first_end=True, simai_workloads=True)


def test_a_request_of_experts_names_a_grid_that_is_finer_than_the_systems() -> None:
    workload = _parse("model_parallel_NPU_group: 2 ep: 2 ga: 1 all_gpus: 8", _forward("ALLTOALL_EP", 8))
    programs = Programs.of(workload, 1, (8,))
    program = programs.program(programs.roles[0])
    request = next(operation for operation in program if isinstance(operation, CollectiveRequest))
    assert request.communicator is not None
    assert request.communicator.sizes == (2, 2, 2)
    assert Grid(programs.cut.dimensions).sizes == (2, 4, 1)


def test_a_micro_batch_of_a_pipeline_does_not_go_forward_again_through_anothers_rows() -> None:
    rows = [f"mlp -1 {time} NONE 0 1000 NONE 0 1000 NONE 0 0" for time in (1000, 7)] * 2
    header = "model_parallel_NPU_group: 1 pp: 2 ga: 2 pp_comm: 1000 checkpoints: {} checkpoint_initiates: 1 3"
    own = _parse(header.format("2 0 2"), *rows)
    assert len(Programs.of(own, 1, (4,)).roles) == 2
    anothers = Programs.of(_parse(header.format("1 0"), *rows), 1, (4,))
    with pytest.raises(InputError, match="row 3 goes forward again from the checkpoint at row 0, which is not of its"):
        _ = anothers.roles


def test_what_is_taken_for_a_micro_batch_is_in_run_json_and_in_the_summary() -> None:
    """An iteration's norm, two micro-batches of an embedding and two chunks of a row, a loss, an optimizer."""
    header = "model_parallel_NPU_group: 1 pp: 2 vpp: 2 ga: 2 pp_comm: 8"
    names = ["grad_norm", *["embedding", "mlp", "mlp"] * 2, "cross_entropy1", "optimizer1"]
    rows = [f"{name} -1 1 NONE 0 1 NONE 0 1 NONE 0 0" for name in names]
    document = TrainingJob(_parse(header, *rows)).document()
    assert document["micro_batch_rows"] == {
        "rows": 9,
        "first": 1,
        "each": 3,
        "micro_batches": 2,
        "chunks": [1, 3],
        "with_the_last": 1,
        "behind": 1,
    }
    assert pipeline_rows(document) == [
        (
            "pipeline",
            "2 micro-batches of 3 rows, 2 stages; interleaved 1F1B, 2 chunks a stage (vpp); they begin at "
            "row 1 (from 0), 'embedding'; with the last 1 row more; played once: 1 row before, 1 behind",
        )
    ]
    alone = TrainingJob(_parse("model_parallel_NPU_group: 1 ga: 2", *rows)).document()
    assert pipeline_rows(alone) == []


def test_collectives_among_one_npu_are_told_in_one_line() -> None:
    rows = [_forward("ALLREDUCE", 8), _forward("ALLTOALL_EP", 8), _forward("ALLTOALL_EP", 0), _weight("ALLREDUCE", 8)]
    told = simai_warnings(_parse("model_parallel_NPU_group: 1 ep: 1 ga: 1", *rows), (4,))
    assert len(told) == 1
    assert "which move no bytes: 1 of TP, 1 of EP" in told[0]
    assert not simai_warnings(_parse("model_parallel_NPU_group: 2 ep: 2 ga: 1", *rows), (8,))


@pytest.mark.parametrize("name", ["astra-sim-1.0", "astra-sim-2", "astra-network-ns3"])
def test_astra_sims_presets_say_that_astra_sim_does_not_read_such_files(name: str) -> None:
    workload = _parse("model_parallel_NPU_group: 2 ga: 1", _forward("ALLREDUCE", 8))
    told = simai_warnings(workload, (4,), preset(name))
    assert [line for line in told if "ASTRA-sim reads none of SimAI's workloads" in line] == told != []
    assert not simai_warnings(workload, (4,), preset("simai"))
