"""Whole training loops on a network without congestion: totals, order of completion, records at any time, stalls."""

from __future__ import annotations

import gc
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import collective_times
from support.fake_backend import FakeBackend
from support.training_driver import TrainingDriver

from astra_ns3.collectives.schedule import Schedule
from astra_ns3.config.core.collective_kind import TEXT_FORMAT_KINDS, CollectiveKind
from astra_ns3.config.system import SystemConfig
from astra_ns3.config.workload import Layer, Pass, Workload
from astra_ns3.errors import InputError, LimitReached, SimulationStalled
from astra_ns3.experiments.garbage import no_search
from astra_ns3.network.api import EndpointModel, Limits, PendingMessage
from astra_ns3.network.recorded import Columns, RecordedTable
from astra_ns3.system.file import parse_system

ENDPOINT_PS = 10_000
AR = CollectiveKind.ALL_REDUCE
LOOPS_WITHOUT_GROUPS = ["MICRO", "DATA", "HYBRID_DLRM", "HYBRID_DLRM_ENHANCED", "MODEL", "HYBRID_DATA_MODEL"]


def _message_ps(bytes: int) -> int:
    return 1_000_000 + 10 * bytes


def _system(policy: str = "LIFO", splits: int = 2, active: int = 1, algorithm: str = "ring") -> SystemConfig:
    keys: dict[str, Any] = {f"{kind}-implementation": "ring" for kind in ("reduce-scatter", "all-gather")}
    keys |= {"all-reduce-implementation": algorithm, "all-to-all-implementation": "direct"}
    keys |= {"scheduling-policy": policy, "preferred-dataset-splits": splits, "active-chunks-per-dimension": active}
    return parse_system(keys)


def _network(ranks: int, **options: Any) -> FakeBackend:
    return FakeBackend(ranks, message_ps=_message_ps, endpoint=EndpointModel(ENDPOINT_PS), **options)


def _data_layer(name: str, bytes: int, compute_ns: int = 100, update_ns: int = 0) -> Layer:
    return Layer(name, Pass(compute_ns), Pass(compute_ns), Pass(compute_ns, AR, bytes), update_ns)


class _Rows:
    """A sink of tables that keeps their rows."""

    def __init__(self) -> None:
        self.labels: dict[int, str] = {}
        self.rows: dict[str, list[tuple[int, ...]]] = {}

    def open(self, table: RecordedTable) -> None:
        self.rows[table.name] = []

    def label(self, name: str, column: str, number: int, text: str) -> None:
        self.labels[number] = text

    def write(self, name: str, columns: Columns) -> None:
        self.rows[name] += zip(*(column.tolist() for column in columns), strict=True)

    def failed(self, file: str, reason: str) -> None:
        pass

    def close(self) -> None:
        pass


def _played(layers: Sequence[Layer], rows: _Rows | None = None, report_npu: int = 0) -> FakeBackend:
    network = _network(4)
    driver = TrainingDriver(
        network, _system(), Workload("DATA", tuple(layers)), 2, report_npu=report_npu, journal_to=rows
    )
    driver.run()
    driver.close_journal()
    return network


passes_of_layers = st.builds(
    lambda compute_ns, kind, bytes: Pass(compute_ns, kind, bytes if kind else 0),
    st.integers(0, 5000),
    st.none() | st.sampled_from(TEXT_FORMAT_KINDS),
    st.integers(0, 5000),
)
layers = st.builds(Layer, st.just("layer"), passes_of_layers, passes_of_layers, passes_of_layers, st.integers(0, 3000))
workloads = st.builds(
    lambda loop, parts, last_bottom: Workload(loop, tuple(parts), min(last_bottom, len(parts) - 2)),
    st.sampled_from(LOOPS_WITHOUT_GROUPS),
    st.lists(layers, min_size=2, max_size=5),
    st.integers(0, 3),
)


@settings(max_examples=80, deadline=None)
@given(
    workload=workloads,
    passes=st.integers(1, 3),
    policy=st.sampled_from(["LIFO", "FIFO"]),
    splits=st.integers(1, 5),
    active=st.integers(1, 4),
    algorithm=st.sampled_from(["ring", "direct", "doubleBinaryTree"]),
    slowness=st.lists(st.integers(1, 9), min_size=1, max_size=5),
)
def test_every_npu_finishes_and_its_time_is_compute_plus_blocked_exactly(
    workload: Workload, passes: int, policy: str, splits: int, active: int, algorithm: str, slowness: list[int]
) -> None:
    network = _network(len(slowness), slowness=dict(enumerate(slowness)))
    driver = TrainingDriver(network, _system(policy, splits, active, algorithm), workload, passes)
    driver.run()
    records = driver.records()
    assert records.complete
    for npu in records.npus:
        assert npu.compute_ps + npu.exposed_ps == npu.finish_ps
    assert all(
        record.end_ps is not None and record.start_ps < record.end_ps <= records.finish_ps
        for record in records.collectives
    )
    first, passes_of = records.npus[0], [
        part for layer in records.layers for part in (layer.forward, layer.weight_gradient, layer.input_gradient)
    ]  # fmt: skip
    assert sum(part.compute_ps for part in passes_of) == first.compute_ps
    assert (
        sum(part.exposed_ps for part in passes_of) + sum(layer.tail_ps for layer in records.layers) == first.exposed_ps
    )


def test_compute_is_what_the_loop_runs_through() -> None:
    workload = Workload("DATA", (_data_layer("a", 1000, 7), _data_layer("b", 1000, 5)))
    driver = TrainingDriver(_network(2), _system(), workload, passes=3)
    driver.run()
    # layer a has no input gradient to compute
    assert driver.records().npus[1].compute_ps == 3 * (7 + 7 + 5 + 5 + 5) * 1000


def test_a_blocking_collective_is_exposed_with_its_update_time() -> None:
    workload = Workload("DATA", (_data_layer("a", 800, compute_ns=100, update_ns=50),))
    driver = TrainingDriver(_network(4), _system(splits=1), workload, passes=2)
    driver.run()
    records = driver.records()
    exposed_ps = collective_times.ring_all_reduce(4, 800, _message_ps, ENDPOINT_PS) + 50_000
    times = records.layers[0].weight_gradient
    assert (times.compute_ps, times.exposed_ps, times.comm_ps) == (200_000, 2 * exposed_ps, 2 * exposed_ps)
    assert records.finish_ps == 2 * (200_000 + exposed_ps)
    assert [record.end_ps for record in records.collectives] == [
        200_000 + exposed_ps - 50_000,
        2 * (200_000 + exposed_ps) - 50_000,
    ]


def test_micro_issues_all_passes_at_time_0() -> None:
    workload = Workload("MICRO", (_data_layer("a", 1000),))
    driver = TrainingDriver(_network(2), _system("FIFO", splits=1), workload, passes=3)
    driver.run()
    records = driver.records()
    one_ps = collective_times.ring_all_reduce(2, 1000, _message_ps, ENDPOINT_PS)
    assert [(record.start_ps, record.end_ps) for record in records.collectives] == [
        (0, one_ps),
        (0, 2 * one_ps),
        (0, 3 * one_ps),
    ]
    assert (records.npus[0].compute_ps, records.npus[0].exposed_ps) == (0, 3 * one_ps)


@pytest.mark.parametrize(("policy", "order"), [("LIFO", ["d", "a", "b", "c"]), ("FIFO", ["d", "c", "b", "a"])])
def test_lifo_brings_the_first_layers_home_first_and_fifo_the_last(policy: str, order: list[str]) -> None:
    """Gradients come from the last layer to the first, much faster than the network takes them."""
    workload = Workload("DATA", tuple(_data_layer(name, 50_000) for name in "abcd"))
    driver = TrainingDriver(_network(4), _system(policy, splits=1), workload)
    driver.run()
    ends = sorted((record.end_ps, record.layer) for record in driver.records().collectives)
    assert [layer for _, layer in ends] == order


def test_the_tail_is_booked_on_the_layers_waited_for_but_layer_0() -> None:
    workload = Workload("DATA", (_data_layer("a", 50_000), _data_layer("b", 50_000)))
    driver = TrainingDriver(_network(2), _system("FIFO", splits=1), workload)
    driver.run()
    first, second = driver.records().layers
    assert (first.weight_gradient.exposed_ps > 0, first.tail_ps) == (True, 0)
    assert (second.weight_gradient.exposed_ps, second.tail_ps) == (0, 0)  # FIFO: done before layer a's
    driver = TrainingDriver(_network(2), _system("LIFO", splits=2), workload)
    driver.run()
    first, second = driver.records().layers
    assert first.tail_ps == 0
    assert second.tail_ps > 0


def test_the_exchange_of_dlrm_goes_before_gradients_that_were_issued_earlier() -> None:
    exchange = Pass(100, CollectiveKind.ALL_TO_ALL, 10_000)
    embedding = Layer("embedding", exchange, exchange, Pass(0))
    stack = tuple(_data_layer(name, 90_000) for name in ("bottom", "top0", "top1", "top2"))
    driver = TrainingDriver(
        _network(4), _system("FIFO", splits=1), Workload("HYBRID_DLRM", (embedding, *stack), last_bottom_layer=1)
    )
    driver.run()
    backwards = [record for record in driver.records().collectives if record.start_ps > 500_000]
    ends = sorted((record.end_ps, record.layer) for record in backwards)
    # top2 runs when the exchange is issued; top1 and top0 were issued before it and wait
    assert [layer for _, layer in ends] == ["top2", "embedding", "top1", "top0", "bottom"]


def test_one_npu_has_nothing_to_communicate() -> None:
    driver = TrainingDriver(_network(1), _system(), Workload("DATA", (_data_layer("a", 1000, 10, 99),)), passes=2)
    driver.run()
    records = driver.records()
    assert (records.finish_ps, records.npus[0].exposed_ps, records.collectives) == (2 * 20_000, 0, ())


def test_records_of_a_run_cut_short_are_marked_and_add_up() -> None:
    workload = Workload("DATA", (_data_layer("a", 5000, 1000), _data_layer("b", 5000, 1000)))
    for limit_ps in (500_000, 3_500_000, 6_000_000):
        driver = TrainingDriver(_network(4), _system(), workload, passes=5)
        with pytest.raises(LimitReached):
            driver.run(Limits(simulated_ps=limit_ps))
        records = driver.records()
        assert not records.complete
        assert not driver.finished
        for npu in records.npus:
            assert (npu.done, npu.finish_ps, npu.compute_ps + npu.exposed_ps) == (False, limit_ps, limit_ps)


def test_progress_counts_forward_and_backward_steps_of_the_first_npu() -> None:
    workload = Workload("DATA", (_data_layer("a", 1000, 10_000), _data_layer("b", 1000, 10_000)))
    seen = []
    for limit_ps in (1, 10_000_001, 20_000_001, 40_000_001):
        driver = TrainingDriver(_network(2), _system(), workload, passes=2)
        with pytest.raises(LimitReached):
            driver.run(Limits(simulated_ps=limit_ps))
        seen.append(driver.progress())
    assert seen == [(0, 2, 0, 4), (0, 2, 1, 4), (0, 2, 2, 4), (0, 2, 3, 4)]
    driver = TrainingDriver(_network(2), _system(), workload, passes=2)
    driver.run()
    assert driver.progress() == (2, 2, 0, 4)


def test_a_lost_message_is_a_stall_that_names_everything() -> None:
    def lost(schedule: Schedule, row: int) -> bool:
        return bool(schedule.sender[row] == 1 and schedule.step[row] == 3)

    workload = Workload("DATA", (_data_layer("bottom", 800), _data_layer("top", 801)))
    driver = TrainingDriver(_network(4, lost=lost), _system(splits=2), workload)
    with pytest.raises(SimulationStalled) as stall:
        driver.run()
    message = str(stall.value)
    assert "4 of 4 NPUs aren't done" in message
    # layer 'bottom', whose chunks are behind the one of 'top' that misses messages
    assert "NPU 2 waits for layer 'bottom' (weight gradient of pass 0), collective 1 (ALLREDUCE, 800 bytes)" in message
    assert "which is behind chunk 0 of collective 0 (layer 'top'): waits for" in message
    assert "1 to 2 (step 3, " in message
    assert "\n" not in message


def test_a_stall_names_the_chunk_and_the_messages_of_the_collective_waited_for() -> None:
    def lost(schedule: Schedule, row: int) -> bool:
        return bool(schedule.sender[row] == 1 and schedule.step[row] == 5)

    driver = TrainingDriver(_network(4, lost=lost), _system(splits=2), Workload("MICRO", (_data_layer("a", 800),)))
    with pytest.raises(
        SimulationStalled, match=r"NPU 2 waits .*collective 0 .*, chunk 0: waits for 1 messages: 1 to 2"
    ) as stall:
        driver.run()
    # the last message of a ring of 4 with 400 bytes a chunk
    assert str(stall.value).endswith("1 to 2 (step 5, 100 bytes)")


def test_what_the_system_can_not_do_is_an_input_error_before_the_run() -> None:
    workload = Workload("DATA", (Layer("a", Pass(1), Pass(1), Pass(1, CollectiveKind.ALL_REDUCE, 10)),))
    with pytest.raises(InputError, match="must be a power of two, got 6"):
        TrainingDriver(_network(6), _system(algorithm="halvingDoubling"), workload)


def test_heartbeats_are_passed_on() -> None:
    seen: list[tuple[int, int]] = []
    workload = Workload("MICRO", (_data_layer("a", 800),))
    driver = TrainingDriver(_network(2), _system(), workload, on_heartbeat=lambda *beat: seen.append(beat))
    driver.heartbeat(5, 7)
    assert seen == [(5, 7)]


class _Forgetful(FakeBackend):
    """Loses every message, and can't say which."""

    def pending(self, rank: int, instance: int) -> list[PendingMessage]:
        return []


@pytest.mark.parametrize(
    ("layers", "end"),
    [
        (("a",), r"collective 0 \(ALLREDUCE, 800 bytes\), of which no message is missing"),
        (("a", "b"), r"layer 'a' .*, collective 1 \(ALLREDUCE, 800 bytes\), chunk 0: not started"),
    ],
)
def test_a_stall_that_the_network_can_not_explain_still_names_npu_layer_and_collective(
    layers: tuple[str, ...], end: str
) -> None:
    network = _Forgetful(3, message_ps=_message_ps, lost=lambda schedule, row: True)
    workload = Workload("DATA", tuple(_data_layer(name, 800) for name in layers))
    driver = TrainingDriver(network, _system(splits=1), workload)
    with pytest.raises(SimulationStalled, match=f"3 of 3 NPUs aren't done: NPU 0 waits for .*{end}$"):
        driver.run()


@pytest.mark.parametrize("report_npu", [0, 2, 3])
@pytest.mark.parametrize("recorded", [False, True])
def test_npus_that_compute_as_long_launch_in_their_order_whoever_is_observed(recorded: bool, report_npu: int) -> None:
    """Two computations without a break come before each launch; a timer for each would put an NPU behind the others."""
    layers = [_data_layer(name, 4000) for name in "abc"]
    launched = _played(layers, _Rows() if recorded else None, report_npu).launched
    first = [npu for time_ps, npu, _ in launched if time_ps == launched[0][0]]
    assert first == sorted(first)
    assert launched == _played(layers).launched


def test_each_of_several_computations_without_a_break_is_written_down() -> None:
    """Forward 10 and 20 ns, then backward 20 ns of the last layer until it has a gradient to exchange."""
    rows = _Rows()
    layers = [_data_layer("a", 4000, compute_ns=10), _data_layer("b", 4000, compute_ns=20)]
    _played(layers, rows)
    for npu in range(4):
        computed = [
            (rows.labels[row[2]], row[6], row[7])
            for row in rows.rows["operations"]
            if row[0] == npu and rows.labels[row[1]] == "compute"
        ]
        assert computed[:3] == [("a", 0, 10_000), ("b", 10_000, 30_000), ("b", 30_000, 50_000)]


def test_playing_longer_leaves_no_more_for_a_search_for_garbage() -> None:
    def found(passes: int) -> int:
        network = _network(4)
        driver = TrainingDriver(network, _system(), Workload("DATA", (_data_layer("a", 4_000),)), passes)
        driver.start()
        gc.collect()
        with no_search():
            network.run(driver, Limits())
            return gc.collect()

    assert found(32) == found(2)
