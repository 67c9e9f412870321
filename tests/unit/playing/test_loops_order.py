"""The order in which each training loop computes, issues and waits, against tables written by hand."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.config.workload import Layer, Pass, Workload
from astra_ns3.errors import InputError
from astra_ns3.playing.dry_run.counting import collective_requests
from astra_ns3.playing.loops.loop_programs import Programs
from astra_ns3.playing.loops.loops import PLAYED_LOOPS, loop_of
from astra_ns3.playing.loops.steps import Steps
from astra_ns3.playing.programs.operations import Compute, Move, Wait, WaitAny
from astra_ns3.playing.programs.roles import EVERYBODY, Role
from astra_ns3.system.communicator import Communicator
from astra_ns3.system.request import CollectiveRequest, Handle
from astra_ns3.workload.loops.loop_kinds import LOOPS, TEXT_LOOPS

SHORT = {"forward": "f", "weight gradient": "w", "input gradient": "i"}


def _layer(name: str, forward: str = "", weight: str = "", inward: str = "") -> Layer:
    """A layer with compute in each pass and the collectives named."""

    def part(compute_ns: int, kind: str) -> Pass:
        return Pass(compute_ns, CollectiveKind(kind), 100) if kind else Pass(compute_ns)

    return Layer(name, part(1, forward), part(2, inward), part(3, weight), update_ns=0)


def _trace(workload: Workload, passes: int, *, moves: bool = False) -> list[str]:
    """``compute f0``, ``issue w1 HIGHEST``, ``wait i0``, ``tail w1``, ``move``: operation, pass of a layer."""
    program = loop_of(workload, passes).program(Steps(workload, passes), Role(EVERYBODY, Communicator([0])))
    answer: Handle | None = None
    steps: list[str] = []
    issued = 0
    while True:
        try:
            operation = program.send(answer)
        except StopIteration:
            return steps
        answer = None
        if isinstance(operation, Move):
            steps += ["move"] if moves else []
            continue
        if isinstance(operation, Compute):
            steps.append(f"compute {SHORT[operation.label.part]}{operation.label.layer}")
            continue
        assert isinstance(operation, CollectiveRequest | Wait | WaitAny)
        request = operation if isinstance(operation, CollectiveRequest) else operation.handle.request
        assert isinstance(request, CollectiveRequest)
        name = f"{SHORT[request.label.part]}{request.label.layer}"
        if isinstance(operation, CollectiveRequest):
            steps.append(f"issue {name} {request.policy or ''}".strip())
            answer = Handle(0, issued, request, 0, done=False)
            issued += 1
        else:
            steps.append(f"{'tail' if operation.tail else 'wait'} {name}")


def _lines(text: str) -> list[str]:
    return [part.strip() for part in text.replace("\n", ",").split(",") if part.strip()]


def test_micro_issues_every_pass_at_once_and_computes_nothing() -> None:
    workload = Workload("MICRO", (_layer("a", weight="ALLREDUCE"), _layer("b", weight="ALLREDUCE")))
    assert _trace(workload, 3) == _lines("issue w0, issue w0, issue w0, wait w0, wait w0, wait w0")


def test_data_parallel_waits_for_the_gradient_of_the_pass_before() -> None:
    layers = (_layer("a", weight="ALLREDUCE"), _layer("b", forward="ALLREDUCE"), _layer("c", weight="ALLREDUCE"))
    assert _trace(Workload("DATA", layers), 2) == _lines(
        """
        compute f0, compute f1, compute f2
        compute w2, issue w2, compute i2, compute w1, compute i1, compute w0, issue w0
        wait w0, compute f0, compute f1, wait w2, compute f2
        compute w2, issue w2, compute i2, compute w1, compute i1, compute w0, issue w0
        wait w0, tail w2
        """
    )


ALL_THREE = tuple(_layer(name, forward="ALLGATHER", weight="ALLREDUCE", inward="REDUCESCATTER") for name in "abc")


def test_distributed_inference_goes_forward_only_and_waits_for_every_layer() -> None:
    forward = "compute f0, issue f0, wait f0, compute f1, issue f1, wait f1, compute f2, issue f2, wait f2"
    assert _trace(Workload("DISTRIBUTED_INFERENCE", ALL_THREE), 2) == _lines(f"{forward}, {forward}")


def test_model_parallel_exchanges_activations_and_all_their_gradients_but_the_first() -> None:
    one_pass = """
        compute f0, issue f0, wait f0, compute f1, issue f1, wait f1, compute f2, issue f2, wait f2
        compute i2, issue i2 LIFO, compute w2, wait i2
        compute i1, issue i1 LIFO, compute w1, wait i1
        compute i0, compute w0
        """
    assert _trace(Workload("MODEL", ALL_THREE), 2) == _lines(one_pass) * 2


@pytest.mark.parametrize("loop", ["HYBRID_DATA_MODEL", "HYBRID_MODEL_DATA", "HYBRID_CUSTOMIZED"])
def test_hybrids_reduce_the_gradients_of_weights_too_the_first_issued_first(loop: str) -> None:
    backward = """
        compute i2, issue i2 LIFO, compute w2, issue w2 FIFO, wait i2
        compute i1, issue i1 LIFO, compute w1, issue w1 FIFO, wait i1
        compute i0, compute w0, issue w0 FIFO
        """
    assert _trace(Workload(loop, ALL_THREE), 2) == _lines(
        f"""
        compute f0, issue f0, wait f0, compute f1, issue f1, wait f1, compute f2, issue f2, wait f2
        {backward}
        wait w0, compute f0, issue f0, wait f0
        wait w1, compute f1, issue f1, wait f1
        wait w2, compute f2, issue f2, wait f2
        {backward}
        wait w0, tail w2, tail w1
        """
    )


def test_transformers_exchange_the_first_layers_input_gradient_too() -> None:
    layers = (_layer("a", forward="ALLGATHER", inward="ALLREDUCE"), _layer("b", weight="ALLREDUCE"))
    assert _trace(Workload("HYBRID_TRANSFORMER", layers, model_parallel_npus=2), 1) == _lines(
        """
        compute f0, issue f0, wait f0, compute f1
        compute i1, compute w1, issue w1 FIFO
        compute i0, issue i0 LIFO, compute w0, wait i0
        tail w1
        """
    )


def test_a_transformer_goes_forward_again_from_the_nearest_checkpoint_below_an_initiating_layer() -> None:
    """Layer 4 starts again from checkpoint 3, layer 1 from checkpoint 0; layer 3 is its own checkpoint."""
    layers = tuple(_layer(name, forward="ALLREDUCE" if name == "c" else "") for name in "abcde")
    workload = Workload(
        "HYBRID_TRANSFORMER_FWD_IN_BCKWD",
        layers,
        model_parallel_npus=2,
        checkpoints=(2, 0, 3),
        checkpoint_initiates=(1, 3, 4),
    )
    assert _trace(workload, 1, moves=True) == _lines(
        """
        compute f0, move, compute f1, move, compute f2, issue f2, wait f2, move, compute f3, move, compute f4, move
        move, compute f3, move
        compute i4, move, compute w4, move
        move
        compute i3, move, compute w3, move
        compute i2, move, compute w2, move
        move, compute f0, move
        compute i1, move, compute w1, move
        compute i0, move, compute w0, move
        """
    )
    deeper = Workload(workload.loop, layers, None, "w", 2, checkpoints=(1,), checkpoint_initiates=(4,))
    again = _trace(deeper, 1)[7:13]  # behind five computes, an issue and a wait
    assert again == _lines("compute f1, compute f2, issue f2, wait f2, compute f3, compute i4")


DLRM = (
    _layer("embedding", forward="ALLTOALL", inward="ALLTOALL"),
    _layer("bottom", weight="ALLREDUCE"),
    _layer("top0", weight="ALLREDUCE", inward="ALLTOALL"),
    _layer("top1", forward="ALLREDUCE", weight="ALLREDUCE"),
)


def test_dlrm_waits_for_the_embedding_exchange_at_the_last_bottom_layer_and_at_layer_0_backwards() -> None:
    assert _trace(Workload("HYBRID_DLRM", DLRM, last_bottom_layer=1), 2) == _lines(
        """
        compute f0, issue f0 HIGHEST, compute f1, wait f0, compute f2, compute f3
        compute w3, issue w3, compute i3, compute w2, issue w2, compute i2, issue i0 HIGHEST
        compute w1, issue w1, compute i1, compute w0, wait i0
        compute f0, issue f0 HIGHEST, wait w1, compute f1, wait f0, wait w2, compute f2, wait w3, compute f3
        compute w3, issue w3, compute i3, compute w2, issue w2, compute i2, issue i0 HIGHEST
        compute w1, issue w1, compute i1, compute w0, wait i0
        tail w3, tail w2, tail w1
        """
    )


def test_enhanced_dlrm_waits_for_the_input_gradient_at_the_end_only() -> None:
    assert _trace(Workload("HYBRID_DLRM_ENHANCED", DLRM, last_bottom_layer=0), 2) == _lines(
        """
        compute f0, issue f0 HIGHEST, wait f0, compute f1, compute f2, compute f3
        compute w3, issue w3, compute i3, compute w2, issue w2, compute i2
        compute w1, issue w1, compute i1, issue i0 HIGHEST, compute w0
        compute f0, issue f0 HIGHEST, wait f0, wait w1, compute f1, wait w2, compute f2, wait w3, compute f3
        compute w3, issue w3, compute i3, compute w2, issue w2, compute i2
        compute w1, issue w1, compute i1, issue i0 HIGHEST, compute w0
        tail i0, tail w3, tail w2, tail w1, tail i0
        """
    )


def test_an_embedding_that_is_not_exchanged_is_not_waited_for() -> None:
    layers = (_layer("embedding", forward="ALLREDUCE"), _layer("bottom"), _layer("top"))
    steps = _trace(Workload("HYBRID_DLRM", layers, last_bottom_layer=1), 1)
    assert not [step for step in steps if not step.startswith("compute")]


@pytest.mark.parametrize(
    ("loop", "moves"),
    [
        ("MICRO", 0),
        ("DATA", 2 * (3 * 4 - 1)),  # layer 0 has no input-gradient step
        ("HYBRID_DLRM", 2 * (3 * 4 - 1)),
        ("MODEL", 2 * 3 * 4),
        ("HYBRID_DATA_MODEL", 2 * 3 * 4),
        ("HYBRID_TRANSFORMER", 2 * 3 * 4),
        ("DISTRIBUTED_INFERENCE", 2 * 4),
    ],
)
def test_each_pass_of_each_layer_ends_with_one_move(loop: str, moves: int) -> None:
    workload = Workload(loop, DLRM, last_bottom_layer=1, model_parallel_npus=2)
    assert _trace(workload, 2, moves=True).count("move") == moves


def test_the_dry_run_lists_what_each_npu_issues() -> None:
    requests = collective_requests(Programs.of(Workload("HYBRID_DLRM", DLRM, last_bottom_layer=1), 2, (4,)))
    names = [f"{SHORT[request.label.part]}{request.label.layer}" for request in requests]
    assert names == ["f0", "w3", "w2", "i0", "w1"] * 2
    assert [request.label.iteration for request in requests] == [0] * 5 + [1] * 5
    assert {request.dimensions for request in requests} == {None}


def test_a_loop_or_a_number_of_passes_that_we_do_not_have_is_an_input_error() -> None:
    with pytest.raises(InputError, match=r"loop 'DATTA' is not one of .*; did you mean 'DATA'\?"):
        loop_of(Workload("DATTA", DLRM), 1)
    with pytest.raises(InputError, match="passes must be at least 1, got 0"):
        loop_of(Workload("DATA", DLRM), 0)


@pytest.mark.parametrize(
    ("workload", "message"),
    [
        (Workload("HYBRID_DLRM", DLRM), "HYBRID_DLRM needs the number of its last bottom layer"),
        (Workload("HYBRID_TRANSFORMER", DLRM), "HYBRID_TRANSFORMER needs the number of NPUs that share a copy"),
        (
            Workload(
                "HYBRID_TRANSFORMER_FWD_IN_BCKWD",
                DLRM,
                model_parallel_npus=1,
                checkpoints=(2,),
                checkpoint_initiates=(3, 1),
            ),
            "no checkpoint is at or below initiating layer 1",
        ),
    ],
)
def test_a_workload_made_in_python_without_what_its_loop_needs_is_an_input_error(
    workload: Workload, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        collective_requests(Programs.of(workload, 1, (4,)))


def test_every_loop_of_the_format_is_here_and_has_a_program() -> None:
    assert len(TEXT_LOOPS) == 11
    assert [*PLAYED_LOOPS] == [*LOOPS]


passes_of_layers = st.builds(lambda kind: Pass(1, kind, 1 if kind else 0), st.none() | st.sampled_from(CollectiveKind))
layer_lists = st.lists(
    st.builds(Layer, st.just("x"), passes_of_layers, passes_of_layers, passes_of_layers), min_size=2, max_size=6
)


@settings(deadline=None)
@given(loop=st.sampled_from(sorted(TEXT_LOOPS)), layers=layer_lists, passes=st.integers(1, 3), data=st.data())
def test_every_collective_that_is_issued_is_waited_for_once(
    loop: str, layers: list[Layer], passes: int, data: st.DataObject
) -> None:
    last_bottom = data.draw(st.integers(0, len(layers) - 2))
    checkpoints = data.draw(st.sets(st.integers(1, len(layers) - 1)))
    initiates = data.draw(st.sets(st.integers(0, len(layers) - 1)))
    workload = Workload(loop, tuple(layers), last_bottom, "w", 2, (0, *checkpoints), tuple(initiates))
    steps = _trace(workload, passes)
    issued = sorted(step.split()[1] for step in steps if step.startswith("issue"))
    waited = sorted(step.split()[1] for step in steps if step.split()[0] in ("wait", "tail"))
    assert issued == waited
