"""Playing a list of flows on a network whose messages take latency and bandwidth, whatever else goes on."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.fake_backend import FakeBackend

from astra_ns3.config.flow_list import NO_GATE, FlowGates, FlowList
from astra_ns3.errors import InputError, LimitReached, SimulationStalled
from astra_ns3.experiments.isolated.snapshot import Accumulated, SnapshotTaker
from astra_ns3.network.api import Limits
from astra_ns3.network.recorded import COMPLETIONS, Columns, RecordedTable
from astra_ns3.network.records import Chain
from astra_ns3.playing.flows.flow_driver import FlowDriver
from astra_ns3.playing.flows.flow_totals import flow_totals, percentile, size_class
from astra_ns3.playing.flows.goodput import DeliveryCurve, at_mean_rates, intervals_of

LATENCY_PS, PS_PER_BYTE = 1_000_000, 10


def took_ps(size_bytes: int) -> int:
    return LATENCY_PS + size_bytes * PS_PER_BYTE


class Rows:
    """Keeps what it is given."""

    def __init__(self) -> None:
        self.opened: list[str] = []
        self.rows: list[tuple[int, ...]] = []

    def open(self, table: RecordedTable) -> None:
        self.opened.append(table.name)

    def label(self, name: str, column: str, number: int, text: str) -> None:
        raise AssertionError

    def write(self, name: str, columns: Columns) -> None:
        assert name == COMPLETIONS.name
        self.rows += zip(*(column.tolist() for column in columns), strict=True)

    def failed(self, file: str, reason: str) -> None:
        raise AssertionError

    def close(self) -> None:
        pass


def played(flows: FlowList, npus: int = 4) -> list[tuple[int, ...]]:
    """Flow, source, destination, bytes, start, end, ideal, in the order of delivery."""
    rows = Rows()
    driver = FlowDriver(FakeBackend(npus), flows, completions_to=rows)
    driver.run()
    driver.close_journal()
    assert driver.finished
    assert rows.opened == ["completions"]
    return rows.rows


def test_the_longest_chain_of_a_list_is_the_last_start_that_it_has() -> None:
    flows = FlowList.of([0, 3, 0], [1, 2, 2], [100, 100, 100], [0, 7_000_000, 5_000_000], [[], [], [0]])
    driver = FlowDriver(FakeBackend(4), flows)
    assert driver.chain == Chain(7_000_000, 3, "the start of flow 1 on NPU {}")


def test_flows_start_at_their_times_whatever_their_order_in_the_list() -> None:
    flows = FlowList.of([0, 1, 2], [1, 2, 3], [100, 200, 300], [7_000_000, 0, 7_000_000])
    assert played(flows) == [
        (1, 1, 2, 200, 0, took_ps(200), 0),
        (0, 0, 1, 100, 7_000_000, 7_000_000 + took_ps(100), 0),
        (2, 2, 3, 300, 7_000_000, 7_000_000 + took_ps(300), 0),
    ]


def test_a_chain_starts_each_flow_when_the_one_before_is_delivered() -> None:
    flows = FlowList.of([0, 1, 2], [1, 2, 3], [100, 200, 300], [0, 0, 0], [(), (0,), (1,)])
    first, second = took_ps(100), took_ps(100) + took_ps(200)
    assert [(flow, start, end) for flow, _, _, _, start, end, _ in played(flows)] == [
        (0, 0, first),
        (1, first, second),
        (2, second, second + took_ps(300)),
    ]


def test_a_flow_waits_for_the_last_of_its_parents_and_for_its_start() -> None:
    flows = FlowList.of([0, 1, 2, 3], [1, 2, 3, 0], [100, 900, 5, 5], [0, 0, 0, 50_000_000], [(), (), (0, 1), (0,)])
    starts = {flow: start for flow, _, _, _, start, _, _ in played(flows)}
    assert starts == {0: 0, 1: 0, 2: took_ps(900), 3: 50_000_000}


def test_two_flows_of_a_pair_are_told_apart() -> None:
    flows = FlowList.of([0, 0], [1, 1], [500, 100], [0, 0])
    assert [row[0] for row in played(flows)] == [1, 0]


def gated(waits_for: list[int], gates: FlowGates) -> FlowList:
    count = len(waits_for)
    npus = np.arange(count, dtype=np.int32)
    return FlowList(
        npus,
        (npus + 1) % np.int32(count),
        np.array([100 * (flow + 1) for flow in range(count)]),
        np.zeros(count, dtype=np.int64),
        np.array(waits_for, dtype=np.int32),
        gates,
    )


def test_a_trigger_of_many_shots_lets_one_go_for_each_delivery() -> None:
    flows = gated([NO_GATE, NO_GATE, 0, 0], FlowGates.of([[0, 1]], [1], [True]))
    starts = {flow: start for flow, _, _, _, start, _, _ in played(flows)}
    assert starts == {0: 0, 1: 0, 2: took_ps(100), 3: took_ps(200)}


def test_a_trigger_that_hears_of_more_than_wait_lets_none_of_another_s_go() -> None:
    gates = FlowGates.of([[0, 1], [2]], [1, 1], [True, True])
    starts = {flow: start for flow, _, _, _, start, _, _ in played(gated([NO_GATE] * 3 + [0, 1], gates), 5)}
    assert starts == {0: 0, 1: 0, 2: 0, 3: took_ps(100), 4: took_ps(300)}


def test_a_barrier_of_fewer_than_it_hears_opens_at_that_delivery() -> None:
    flows = gated([NO_GATE, NO_GATE, NO_GATE, 0], FlowGates.of([[0, 1, 2]], [2], [False]))
    starts = {flow: start for flow, _, _, _, start, _, _ in played(flows)}
    assert starts[3] == took_ps(200)


def test_one_event_at_a_time_waits_for_starts() -> None:
    backend = FakeBackend(4)
    count = 1000
    flows = FlowList.of([0] * count, [1] * count, [1] * count, [10**9 + flow for flow in range(count)])
    driver = FlowDriver(backend, flows)
    driver.start()
    assert len(backend._events) == 1
    driver.run()
    assert driver.progress() == (1, 1, count, count)


def test_the_totals_of_npus_and_flows_add_up() -> None:
    flows = FlowList.of([0, 1], [1, 2], [100, 2_000], [0, 500])
    driver = FlowDriver(FakeBackend(4), flows, report_npu=1)
    driver.run()
    records = driver.records()
    assert records.complete
    assert records.finish_ps == 500 + took_ps(2_000)
    assert [npu.finish_ps for npu in records.npus] == [took_ps(100), records.finish_ps, records.finish_ps, 0]
    assert records.sent_bytes == (2_000,)
    totals = records.flows
    assert totals is not None
    assert (totals.flows, totals.started, totals.delivered, totals.delivered_bytes) == (2, 2, 2, 2_100)
    assert [(sizes["above_bytes"], sizes["most_bytes"], sizes["flows"]) for sizes in totals.sizes] == [
        (0, 1_000, 1),
        (1_000, 10_000, 1),
    ]
    assert totals.all is not None
    assert tuple(totals.all["times_ps"].values()) == (took_ps(100), *[took_ps(2_000)] * 4)
    assert sum(interval[2] for interval in totals.goodput) == 2_100


def test_slowdown_is_time_over_ideal() -> None:
    flows = FlowList.of([0, 1], [1, 2], [100, 100], [0, 0])
    driver = FlowDriver(
        FakeBackend(4, slowness={1: 3}), flows, ideal=lambda _, __, sizes: LATENCY_PS + sizes * PS_PER_BYTE
    )
    driver.run()
    totals = driver.records().flows
    assert totals is not None
    assert totals.all is not None
    assert totals.all["slowdowns"] == {"p50": 1.0, "p95": 3.0, "p99": 3.0, "p999": 3.0, "max": 3.0}


def test_a_flow_that_is_lost_is_named() -> None:
    backend = FakeBackend(4, lost=lambda schedule, row: True)
    with pytest.raises(SimulationStalled, match="2 of 2 flows are left: flows: flow 0, 100 B from NPU 0 to NPU 1, was"):
        FlowDriver(backend, FlowList.of([0, 1], [1, 2], [100, 100], [0, 0])).run()


def test_a_network_that_lacks_an_npu_is_refused() -> None:
    with pytest.raises(InputError, match="goes to NPU 4, the network has 4"):
        FlowDriver(FakeBackend(4), FlowList.of([0], [4], [1], [0]))


def test_what_is_not_delivered_yet_is_not_in_the_totals() -> None:
    flows = FlowList.of([0, 1], [1, 2], [100, 100], [0, 0])
    records = FlowDriver(FakeBackend(4), flows).records()
    assert not records.complete
    assert records.flows is not None
    assert records.flows.all is None
    assert [npu.done for npu in records.npus] == [False, False, False, True]


def test_flows_that_nobody_waits_for_any_more_count_if_they_have_started() -> None:
    flows = FlowList.of([0, 1, 2], [1, 2, 3], [100, 200, 400], [0, 0, 9_000_000])
    for until_ps, begun in ((0, None), (5_000_000, (2, 2, 300))):
        driver = FlowDriver(FakeBackend(4), flows)
        if until_ps:
            with pytest.raises(LimitReached):
                driver.run(Limits(simulated_ps=until_ps))
        driver.cut_off()
        found = driver.records().flows
        assert (found and (found.flows, found.started, found.bytes)) == begun


def test_a_flow_that_is_not_delivered_overlaps_all_that_its_pair_starts_after_it() -> None:
    """Of five flows three start while the one before of their pair is on its way, for ever or for a while."""
    flows = FlowList.of([0, 0, 0, 1, 0], [1, 1, 1, 0, 1], [100] * 5, [0, 10, 20, 20, 900])
    starts = np.array([0, 10, 20, 20, 900])
    unknown = np.zeros(5, dtype=np.int64)
    for ends, found in (
        ([-1, -1, -1, -1, -1], 3),  # the fourth is the only one of its pair
        ([5, -1, 30, 25, 950], 1),  # the third starts after the second, which never ends
        ([5, 15, -1, -1, -1], 1),  # the fifth after the third
        ([50, 60, 70, 80, 950], 2),
        ([5, 15, 30, 25, 950], 0),
        ([10, 20, 900, 25, 950], 0),  # each at the moment when the one before ends
    ):
        assert flow_totals(flows, starts, np.array(ends), unknown, ()).overlapping == found


def test_a_flow_may_have_waited_if_it_was_slowed_and_the_one_before_was_being_sent() -> None:
    """A flow takes 10 alone, and a byte 4 of these, so the first, which ends at 10, has left at 6."""
    flows = FlowList.of([0, 0], [1, 1], [100] * 2, [0, 0])
    alone = np.array([10, 10])
    for start, end, found in ((5, 16, 1), (5, 15, 0), (6, 17, 0), (6, -1, 0), (5, -1, 1)):
        starts, ends = np.array([0, start]), np.array([10, end])
        assert flow_totals(flows, starts, ends, alone, (), lambda *_: np.array([4])).overlapping == found


def test_an_npu_of_a_stopped_list_ends_when_it_stopped_unless_all_of_its_flows_are_delivered() -> None:
    """NPU 3's flow ends last of all that end, NPU 0's and 1's second one doesn't, and NPU 2 has no flow."""
    flows = FlowList.of([0, 3, 1], [1, 0, 0], [100, 200, 1_000_000], [0, 0, 0])
    driver = FlowDriver(FakeBackend(4), flows)
    with pytest.raises(LimitReached):
        driver.run(Limits(simulated_ps=5_000_000))
    npus = driver.records().npus
    assert [npu.done for npu in npus] == [False, False, True, True]
    assert [npu.finish_ps for npu in npus] == [5_000_000, 5_000_000, 0, took_ps(200)]
    assert [npu.exposed_ps for npu in npus] == [npu.finish_ps for npu in npus]


def test_bins_have_equal_numbers_of_flows_by_size_and_few_flows_have_none() -> None:
    """Of 1,000 flows of all sizes from 1 to 1,000 that take ten times their size: fifty in each bin, p999 the last."""
    count = 1_000
    sizes = np.random.default_rng(1).permutation(count) + 1
    starts = np.zeros(count, dtype=np.int64)
    flows = FlowList.of([0] * count, [1] * count, sizes.tolist(), starts.tolist())
    totals = flow_totals(flows, starts, 10 * sizes, np.full(count, 10), ())
    assert [each["flows"] for each in totals.bins] == [50] * 20
    assert [each["most_bytes"] for each in totals.bins] == [50 * (each + 1) for each in range(20)]
    assert [each["above_bytes"] for each in totals.bins] == [50 * each for each in range(20)]
    slowdowns = [each["slowdowns"] for each in totals.bins]
    assert [each and (each["p50"], each["p999"]) for each in slowdowns] == [
        (50 * each + 25, 50 * each + 50) for each in range(20)
    ]
    assert totals.all is not None
    assert totals.all["slowdowns"] == {"p50": 500, "p95": 950, "p99": 990, "p999": 999, "max": 1_000}
    assert flow_totals(flows.some(np.arange(399)), starts[:399], 10 * sizes[:399], starts[:399], ()).bins == ()
    alike = FlowList.of([0] * count, [1] * count, [7] * count, starts.tolist())
    assert [each["flows"] for each in flow_totals(alike, starts, 10 * sizes, starts, ()).bins] == [count]


@pytest.mark.parametrize(
    ("size", "found"), [(1, (0, 1_000)), (1_000, (0, 1_000)), (1_001, (1_000, 10_000)), (10**6, (10**5, 10**6))]
)
def test_classes_of_sizes_are_decades(size: int, found: tuple[int, int]) -> None:
    assert size_class(size) == found


def test_percentiles_are_values_that_occur() -> None:
    values = np.arange(1, 101)
    assert [percentile(values, percent) for percent in (50, 95, 99, 100)] == [50, 95, 99, 100]
    assert percentile(np.array([7]), 50) == 7


def test_the_curve_of_deliveries_keeps_few_points_and_all_bytes() -> None:
    curve = DeliveryCurve()
    for step in range(100_000):
        curve.take(step * 1_000_000, step * 10)
    intervals = intervals_of(curve.points, 99_999 * 1_000_000, 99_999 * 10)
    assert 100 < len(intervals) <= 513
    assert sum(size for _, _, size in intervals) == 99_999 * 10
    assert intervals[0][0] == 0
    assert intervals[-1][1] == 99_999 * 1_000_000


def test_flows_that_are_known_when_they_are_whole_are_spread_over_their_time() -> None:
    """One of 1,000 bytes over 512 ns, another of 500 bytes in the second half of it; a third is under way."""
    starts, ends = np.array([0, 256_000, 100]), np.array([512_000, 512_000, -1])
    found = at_mean_rates(starts, ends, np.array([1_000, 500, 9_000]))
    assert [(begin, end) for begin, end, _ in found] == [(each, each + 1_000) for each in range(0, 512_000, 1_000)]
    assert sum(size for *_, size in found) == 1_500
    assert sum(size for _, end, size in found if end <= 256_000) == 500
    assert {size for *_, size in found} <= {1, 2, 3, 4}  # 1.95 bytes a nanosecond, then 3.9
    assert at_mean_rates(starts[2:], ends[2:], np.array([9_000])) == ()


@settings(max_examples=200)
@given(
    st.lists(st.tuples(st.integers(0, 10**12), st.integers(1, 10**10), st.integers(1, 10**9)), min_size=1, max_size=20)
)
def test_spread_flows_lose_no_byte_and_never_go_back(flows: list[tuple[int, int, int]]) -> None:
    starts, spans, sizes = (np.array(each) for each in zip(*flows, strict=True))
    found = at_mean_rates(starts, starts + spans, sizes)
    assert sum(size for *_, size in found) == sizes.sum()
    assert min(size for *_, size in found) >= 0
    assert (found[0][0], found[-1][1]) == (starts.min(), (starts + spans).max())


def test_a_snapshot_has_the_flows_that_are_delivered_and_changes_nothing() -> None:
    """What is left of a run whose process dies: here at 5 us, when two of the three flows are there."""
    flows = FlowList.of([0, 1, 2], [1, 2, 3], [100, 200, 300], [0, 2_000_000, 50_000_000])
    network = FakeBackend(4)
    driver = FlowDriver(network, flows)
    with pytest.raises(LimitReached):
        driver.run(Limits(simulated_ps=5_000_000))
    totals = driver.flow_totals()
    assert totals is not None
    known = Accumulated()
    snapshot = SnapshotTaker([driver], network).take_if_due()
    assert snapshot is not None
    known.add(snapshot)
    found = known.records()[0].flows
    assert found is not None
    assert (found.flows, found.started, found.delivered, found.delivered_bytes) == (3, 2, 2, 300)
    assert found.all is not None
    assert tuple(found.all["times_ps"].values()) == (took_ps(100), *[took_ps(200)] * 4)
    assert driver.flow_totals() == totals
    assert found.goodput == totals.goodput
    assert not known.records()[0].complete
