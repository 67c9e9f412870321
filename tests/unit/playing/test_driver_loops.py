"""Every training loop on grids of several dimensions, and what the options of compatibility change in the driver."""

from __future__ import annotations

from math import prod
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import collective_times
from support.fake_backend import FakeBackend
from support.training_driver import TrainingDriver

from astra_ns3.config.core.collective_kind import TEXT_FORMAT_KINDS, CollectiveKind
from astra_ns3.config.core.compatibility import Compatibility
from astra_ns3.config.system import SystemConfig
from astra_ns3.config.workload import Layer, Pass, Workload
from astra_ns3.network.api import EndpointModel
from astra_ns3.network.records import Label, RunRecords
from astra_ns3.playing.player.account import Account
from astra_ns3.playing.programs.operations import Compute
from astra_ns3.system.file import parse_system
from astra_ns3.workload.loops.loop_kinds import LAYER_POLICIES, TEXT_LOOPS

AR = CollectiveKind.ALL_REDUCE
ENDPOINT_PS = 10_000
CUT = "HYBRID_TRANSFORMER_FWD_IN_BCKWD"


def _message_ps(bytes: int) -> int:
    return 1_000_000 + 10 * bytes


def _system(dimensions: int, splits: int = 2, active: int = 1, policy: str = "LIFO") -> SystemConfig:
    kinds = ("all-reduce", "reduce-scatter", "all-gather", "all-to-all")
    keys: dict[str, Any] = {f"{kind}-implementation": "_".join(["ring"] * dimensions) for kind in kinds}
    keys |= {"scheduling-policy": policy, "preferred-dataset-splits": splits, "active-chunks-per-dimension": active}
    return parse_system(keys)


def _run(
    workload: Workload,
    dimensions: tuple[int, ...],
    passes: int = 1,
    compatibility: Compatibility | None = None,
    slowness: dict[int, int] | None = None,
    **system: Any,
) -> RunRecords:
    network = FakeBackend(
        prod(dimensions), message_ps=_message_ps, endpoint=EndpointModel(ENDPOINT_PS), slowness=slowness
    )
    driver = TrainingDriver(
        network,
        _system(len(dimensions), **system),
        workload,
        passes,
        dimensions=dimensions,
        compatibility=compatibility or Compatibility(),
    )
    driver.run()
    return driver.records()


passes_of_layers = st.builds(
    lambda compute_ns, kind, bytes: Pass(compute_ns, kind, bytes if kind else 0),
    st.integers(0, 5000),
    st.none() | st.sampled_from(TEXT_FORMAT_KINDS),
    st.integers(0, 5000),
)
layers = st.builds(
    Layer,
    st.just("layer"),
    passes_of_layers,
    passes_of_layers,
    passes_of_layers,
    st.integers(0, 3000),
    st.sampled_from(LAYER_POLICIES),
)
workloads = st.builds(
    lambda loop, parts, npus, initiates: Workload(
        loop, tuple(parts), 0, "w", npus, (0, 2), tuple(layer for layer in initiates if layer < len(parts))
    ),
    st.sampled_from(sorted(TEXT_LOOPS)),
    st.lists(layers, min_size=2, max_size=4),
    st.sampled_from([1, 2, 4]),
    st.sets(st.integers(0, 3)),
)


@settings(max_examples=60, deadline=None)
@given(
    workload=workloads,
    dimensions=st.sampled_from([(4,), (2, 2), (4, 2), (1, 8), (2, 2, 3)]),
    passes=st.integers(1, 2),
    splits=st.integers(1, 3),
    active=st.integers(1, 2),
    policy=st.sampled_from(["LIFO", "FIFO"]),
    slow=st.dictionaries(st.integers(0, 3), st.integers(2, 9)),
)
def test_every_npu_finishes_every_loop_on_every_grid_and_its_time_is_compute_plus_blocked(
    workload: Workload,
    dimensions: tuple[int, ...],
    passes: int,
    splits: int,
    active: int,
    policy: str,
    slow: dict[int, int],
) -> None:
    records = _run(workload, dimensions, passes, None, slow, splits=splits, active=active, policy=policy)
    assert records.complete
    for npu in records.npus:
        assert npu.compute_ps + npu.exposed_ps == npu.finish_ps
    assert all(record.end_ps is not None and record.end_ps <= records.finish_ps for record in records.collectives)
    booked = sum(
        part.exposed_ps
        for layer in records.layers
        for part in (layer.forward, layer.weight_gradient, layer.input_gradient)
    )
    assert booked + sum(layer.tail_ps for layer in records.layers) == records.npus[0].exposed_ps


def _layer(name: str, forward: int = 0, weight: int = 0, compute_ns: int = 100, update_ns: int = 0) -> Layer:
    """A layer with all-reduces of so many bytes forward and of its weight gradient."""
    return Layer(
        name,
        Pass(compute_ns, AR if forward else None, forward),
        Pass(compute_ns),
        Pass(compute_ns, AR if weight else None, weight),
        update_ns,
    )


def _ring_ps(ranks: int, bytes: int) -> int:
    return collective_times.ring_all_reduce(ranks, bytes, _message_ps, ENDPOINT_PS)


@pytest.mark.parametrize(("loop", "forward", "weight"), [("HYBRID_DATA_MODEL", 4, 2), ("HYBRID_MODEL_DATA", 2, 4)])
def test_model_and_data_parallel_collectives_take_the_time_of_their_own_dimensions(
    loop: str, forward: int, weight: int
) -> None:
    records = _run(Workload(loop, (_layer("a", forward=4000, weight=8000),)), (4, 2), splits=1)
    (layer,) = records.layers
    assert layer.forward.comm_ps == _ring_ps(forward, 4000)
    assert layer.weight_gradient.comm_ps == _ring_ps(weight, 8000)
    assert records.finish_ps == 300_000 + _ring_ps(forward, 4000) + _ring_ps(weight, 8000)


def test_a_group_that_ends_inside_a_dimension_has_two_rings_of_it() -> None:
    workload = Workload("HYBRID_TRANSFORMER", (_layer("a", forward=6000, weight=9000),), model_parallel_npus=2)
    records = _run(workload, (6,), splits=1)
    (layer,) = records.layers
    assert layer.forward.comm_ps == _ring_ps(2, 6000)
    assert layer.weight_gradient.comm_ps == _ring_ps(3, 9000)


def test_a_pass_that_is_done_again_is_computed_and_exchanged_twice() -> None:
    layers = (_layer("a", compute_ns=10), _layer("b", forward=4000, compute_ns=200), _layer("c", compute_ns=3000))
    workload = Workload(CUT, layers, model_parallel_npus=2, checkpoints=(1,), checkpoint_initiates=(2,))
    records = _run(workload, (2,), splits=1)
    first, second, third = records.layers
    assert second.forward.compute_ps == 2 * 200_000
    assert second.forward.exposed_ps == second.forward.comm_ps == 2 * _ring_ps(2, 4000)
    assert (first.forward.compute_ps, third.forward.compute_ps) == (10_000, 3_000_000)
    assert records.npus[0].compute_ps == (3 * (10 + 200 + 3000) + 200) * 1000


def test_progress_does_not_go_back_when_a_forward_pass_is_done_again() -> None:
    workload = Workload(
        CUT, tuple(map(_layer, "abc")), model_parallel_npus=2, checkpoints=(0,), checkpoint_initiates=(2,)
    )
    seen = []
    network = FakeBackend(2)
    driver = TrainingDriver(network, _system(1), workload, passes=2)
    for time_ps in range(0, 2_200_001, 100_000):
        network.call_later(0, time_ps, lambda now_ps: seen.append(driver.progress()[::2]))
    driver.run()
    assert seen == sorted(seen)
    assert len(seen) > 20


def test_the_next_micro_batch_goes_on_from_the_one_before() -> None:
    """A forward pass behind a backward pass is done again for the same micro-batch alone."""
    account = Account(0, layers=2)
    steps = [("forward", 0), ("input", 0), ("forward", 0), ("forward", 1)]
    reached = []
    for time_ps, (part, micro_batch) in enumerate(steps):
        account.hold(Compute(Label(0, 1, part, micro_batch), 1), time_ps)
        reached.append(account.position(lambda label: steps.index((label.part, label.micro_batch or 0)), time_ps)[1])
        account.release(time_ps + 1)
    assert reached == [0, 1, 1, 3]


@pytest.mark.parametrize(
    ("loop", "moves"), [("DATA", 3 * 2 - 1), ("MODEL", 3 * 2), ("DISTRIBUTED_INFERENCE", 2), ("MICRO", 0), (CUT, 8)]
)
def test_with_ticks_each_move_of_the_loop_takes_one_and_counts_as_exposed(loop: str, moves: int) -> None:
    workload = Workload(
        loop, (_layer("a"), _layer("b")), model_parallel_npus=1, checkpoints=(0,), checkpoint_initiates=(1,)
    )
    (npu,) = _run(workload, (1,), 3, Compatibility(step_tick_ns=7)).npus
    assert npu.exposed_ps == 3 * moves * 7_000
    assert npu.finish_ps == npu.compute_ps + npu.exposed_ps


def test_the_last_wait_of_micro_is_exposed_until_all_end_or_until_the_first_ends() -> None:
    """Passes one after the other: the first ends after one collective and the update time, which overlaps."""
    workload = Workload("MICRO", (_layer("a", weight=1000, update_ns=50),))
    one_ps = _ring_ps(2, 1000)
    for compatibility, exposed_ps, tail_ps in (
        (Compatibility(), 3 * one_ps + 50_000, 0),
        (Compatibility(exposed_until_first_end=True), one_ps + 50_000, 2 * one_ps),
    ):
        records = _run(workload, (2,), 3, compatibility, splits=1, policy="FIFO")
        (layer,) = records.layers
        assert (layer.weight_gradient.exposed_ps, layer.tail_ps) == (exposed_ps, tail_ps)
        assert records.finish_ps == 3 * one_ps + 50_000


def test_whichever_collective_of_micro_ends_first_ends_its_exposed_time() -> None:
    """Last in, first out, in two chunks: the last collective overtakes the first but for the chunk that runs."""
    workload = Workload("MICRO", (_layer("a", weight=2000),))
    records = _run(workload, (2,), 2, Compatibility(exposed_until_first_end=True), splits=2, policy="LIFO")
    chunk_ps = _ring_ps(2, 1000)
    assert [record.end_ps for record in records.collectives] == [4 * chunk_ps, 3 * chunk_ps]
    assert records.layers[0].weight_gradient.exposed_ps == 3 * chunk_ps
    assert records.layers[0].tail_ps == chunk_ps
