"""The four ASTRA-sim tables, character by character, from records made by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astra_ns3.experiments.astra_sim_tables import astra_sim_tables
from astra_ns3.network.records import (
    DimensionTimes,
    LayerDetail,
    LayerTimes,
    NpuRecord,
    PassTimes,
    PhaseTimes,
    RunRecords,
)

US = 1_000_000

RECORDS = RunRecords(
    complete=True,
    finish_ps=31 * US,
    npus=(NpuRecord(0, 30 * US, 12 * US, 18 * US, True), NpuRecord(1, 31 * US, 12 * US, 19 * US, True)),
    layers=(
        LayerTimes("first", PassTimes(1 * US, 2 * US, 3 * US), PassTimes(4 * US, 5 * US, 6 * US), PassTimes(), 0),
        LayerTimes("second", PassTimes(), PassTimes(), PassTimes(7 * US, 8 * US, 9_000_001), 3 * US),
    ),
    details=(
        LayerDetail("first", 2, 0, (PhaseTimes(2, 3 * US, 1 * US),), (DimensionTimes(2, 10 * US),)),
        LayerDetail("second", 0, 0, (), (DimensionTimes(2, 2 * US),)),
    ),
    collectives=(),
    busy=(((0, 4 * US), (9 * US, 21 * US)),),
    sent_bytes=(3 * 2**19,),
)


def text_of(name: str) -> str:
    return {table.name: table.text() for table in astra_sim_tables(RECORDS, "test")}[name]


def test_end_to_end_has_astra_sims_columns_and_totals_on_the_first_row_only() -> None:
    assert text_of("EndToEnd.csv").splitlines() == [
        "layer name,run name,fwd compute,wg compute,ig compute,fwd exposed comm,wg exposed comm,ig exposed comm,"
        "fwd total comm,wg total comm,ig total comm,workload finished at,total comp,total exposed comm",
        "first,test,1.000000,4.000000,0.000000,2.000000,5.000000,0.000000,3.000000,6.000000,0.000000,"
        "30.000000,12.000000,18.000000",
        "second,test,0.000000,0.000000,7.000000,0.000000,0.000000,8.000000,0.000000,0.000000,9.000001,30.000000,,",
    ]


def test_detailed_gives_means_per_chunk_and_leaves_layers_without_chunks_empty() -> None:
    assert text_of("detailed.csv").splitlines() == [
        "layer name,run name,queuing delay phase 0,queuing delay phase 1,network delay phase 1,"
        "avg chunk delay dimension 1",
        "first,test,0.000000,1.500000,0.500000,3.000000",
        "second,test,,,,",
    ]


def test_backend_end_to_end_has_mebibytes_sent_and_minus_one_for_absent_dimensions() -> None:
    assert text_of("backend_end_to_end.csv").splitlines() == [
        "RunName,CommsTime,ComputeTime,ExposedCommsTime,Cost,TotalPayloadSize,PayloadSize_Dim0,PayloadSize_Dim1,"
        "PayloadSize_Dim2,PayloadSize_Dim3,PayloadSize_Dim4,PayloadSize_Dim5,PayloadSize_Dim6",
        "test,30.000000,12.000000,18.000000,,1.500000,1.500000,-1,-1,-1,-1,-1,-1",
    ]


def test_utilization_is_the_busy_share_of_whole_windows() -> None:
    assert text_of("test_dimension_utilization.csv").splitlines() == [
        " time (us) ,dim1 util,",
        "10.000000,50.000000,",
        "20.000000,100.000000,",
        "30.000000,10.000000,",
    ]


@given(st.lists(st.booleans(), max_size=80))
def test_utilization_agrees_with_a_count_of_busy_microseconds(busy: list[bool]) -> None:
    intervals = tuple((at * US, (at + 1) * US) for at, is_busy in enumerate(busy) if is_busy)
    npu = NpuRecord(0, len(busy) * US, 0, len(busy) * US, True)
    records = RunRecords(True, len(busy) * US, (npu,), (), (), (), (intervals,), (0,))
    table = next(table for table in astra_sim_tables(records, "x") if table.name.endswith("utilization.csv"))
    found = [float(str(row[1])) for row in table.rows]
    assert found == [10.0 * sum(busy[begin : begin + 10]) for begin in range(0, len(busy) // 10 * 10, 10)]


@pytest.mark.parametrize(
    ("finish_us", "window_us"), [(999_990, 10), (1_000_000, 10), (1_000_010, 20), (1_500_000, 20), (2_000_010, 30)]
)
def test_utilization_of_a_long_run_has_wider_windows(finish_us: int, window_us: int) -> None:
    """At most 100,000 of them: above one second, and up to two, they are of 20 us."""
    first = replace(RECORDS.npus[0], finish_ps=finish_us * 1_000_000)
    records = replace(RECORDS, npus=(first, *RECORDS.npus[1:]), busy=())
    table = next(table for table in astra_sim_tables(records, "x") if table.name.endswith("utilization.csv"))
    assert len(table.rows) == finish_us // window_us
    assert table.rows[0][0] == f"{window_us}.000000"
