"""The order in which each training loop computes, issues and waits, against tables written by hand."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from astra_ns3.config.collective_kind import CollectiveKind
from astra_ns3.config.workload import Layer, Pass, Workload
from astra_ns3.errors import InputError
from astra_ns3.system.request import Handle
from astra_ns3.workload.dry_run import collective_requests
from astra_ns3.workload.loops import LOOPS, program_of
from astra_ns3.workload.operations import Compute, Issue

SHORT = {"forward": "f", "weight gradient": "w", "input gradient": "i"}


def _layer(name: str, forward: str = "", weight: str = "", inward: str = "") -> Layer:
    """A layer with compute in each pass and the collectives named."""

    def part(compute_ns: int, kind: str) -> Pass:
        return Pass(compute_ns, CollectiveKind(kind), 100) if kind else Pass(compute_ns)

    return Layer(name, part(1, forward), part(2, inward), part(3, weight), update_ns=0)


def _trace(workload: Workload, passes: int) -> list[str]:
    """``compute f0``, ``issue w1 HIGHEST``, ``wait i0``, ``tail w1``: operation, pass of a layer."""
    program = program_of(workload, passes)
    answer: Handle | None = None
    steps: list[str] = []
    issued = 0
    while True:
        try:
            operation = program.send(answer)
        except StopIteration:
            return steps
        answer = None
        if isinstance(operation, Compute):
            steps.append(f"compute {SHORT[operation.pass_kind.value]}{operation.layer}")
            continue
        request = operation.request if isinstance(operation, Issue) else operation.handle.request
        name = f"{SHORT[request.pass_kind.value]}{request.layer}"
        if isinstance(operation, Issue):
            steps.append(f"issue {name}{' ' + request.policy if request.policy else ''}")
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


def test_the_dry_run_lists_what_each_npu_issues() -> None:
    requests = collective_requests(Workload("HYBRID_DLRM", DLRM, last_bottom_layer=1), passes=2)
    names = [f"{SHORT[request.pass_kind.value]}{request.layer}" for request in requests]
    assert names == ["f0", "w3", "w2", "i0", "w1"] * 2
    assert [request.pass_number for request in requests] == [0] * 5 + [1] * 5


def test_a_loop_or_a_number_of_passes_that_we_do_not_have_is_an_input_error() -> None:
    with pytest.raises(InputError, match=r"loop 'DATTA' is not one of .*; did you mean 'DATA'\?"):
        program_of(Workload("DATTA", DLRM), 1)
    with pytest.raises(InputError, match="passes must be at least 1, got 0"):
        program_of(Workload("DATA", DLRM), 0)
    with pytest.raises(InputError, match="HYBRID_DLRM needs the number of its last bottom layer"):
        collective_requests(Workload("HYBRID_DLRM", DLRM))


def test_every_loop_of_the_format_is_here() -> None:
    assert set(LOOPS) == {"MICRO", "DATA", "HYBRID_DLRM", "HYBRID_DLRM_ENHANCED"}


passes_of_layers = st.builds(lambda kind: Pass(1, kind, 1 if kind else 0), st.none() | st.sampled_from(CollectiveKind))
layer_lists = st.lists(
    st.builds(Layer, st.just("x"), passes_of_layers, passes_of_layers, passes_of_layers), min_size=2, max_size=6
)


@settings(deadline=None)
@given(loop=st.sampled_from(sorted(LOOPS)), layers=layer_lists, passes=st.integers(1, 3), data=st.data())
def test_every_collective_that_is_issued_is_waited_for_once(
    loop: str, layers: list[Layer], passes: int, data: st.DataObject
) -> None:
    last_bottom = data.draw(st.integers(0, len(layers) - 2))
    steps = _trace(Workload(loop, tuple(layers), last_bottom), passes)
    issued = sorted(step.split()[1] for step in steps if step.startswith("issue"))
    waited = sorted(step.split()[1] for step in steps if step.split()[0] in ("wait", "tail"))
    assert issued == waited
