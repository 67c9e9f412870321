"""npus.csv, collectives.csv and switch.csv."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.config.workload import PassKind
from astra_ns3.experiments.run_tables import collective_table, npu_table, switch_table
from astra_ns3.experiments.tables import decimal, mean_microseconds, microseconds
from astra_ns3.network.records import CollectiveRecord, Label, NpuRecord, RunRecords

US = 1_000_000


def collective(kind: CollectiveKind, bytes: int, end_ps: int | None) -> CollectiveRecord:
    label = Label(1, "a layer", PassKind.WEIGHT_GRADIENT)
    return CollectiveRecord(0, label, kind, "ring", bytes, 8, 4, 2 * US, end_ps)


def row_of(record: CollectiveRecord) -> dict[str, object]:
    table = collective_table(RunRecords(True, 0, (), (), (), (record,), (), ()))
    return dict(zip(table.header, table.rows[0], strict=True))


@pytest.mark.parametrize(
    ("kind", "bytes_per_npu", "bus"),
    [
        # nccl-tests, doc/PERFORMANCE.md: 10**6 bytes in 10 us are 100 GB/s; times 2*7/8, 7/8 or 1.
        (CollectiveKind.ALL_REDUCE, 1_000_000, "175.000000"),
        (CollectiveKind.REDUCE_SCATTER, 1_000_000, "87.500000"),
        (CollectiveKind.ALL_TO_ALL, 1_000_000, "87.500000"),
        (CollectiveKind.ALL_GATHER, 125_000, "87.500000"),
        (CollectiveKind.BROADCAST, 1_000_000, "100.000000"),
        (CollectiveKind.REDUCE, 1_000_000, "100.000000"),
        (CollectiveKind.POINT_TO_POINT, 1_000_000, "100.000000"),
    ],
)
def test_bandwidths_are_those_of_nccl_tests(kind: CollectiveKind, bytes_per_npu: int, bus: str) -> None:
    row = row_of(collective(kind, bytes_per_npu, 12 * US))
    assert row["algorithm_bandwidth_gbytes_per_s"] == "100.000000"
    assert row["bus_bandwidth_gbytes_per_s"] == bus
    assert (row["start_us"], row["end_us"], row["duration_us"]) == ("2.000000", "12.000000", "10.000000")


def test_the_bus_bandwidth_with_counts_is_what_crosses_the_busiest_line() -> None:
    """Of 10**6 bytes 50,000 leave the NPU or come to it, in 10 us."""
    row = row_of(replace(collective(CollectiveKind.ALL_TO_ALL, 1_000_000, 12 * US), line_bytes=50_000))
    assert (row["algorithm_bandwidth_gbytes_per_s"], row["bus_bandwidth_gbytes_per_s"]) == ("100.000000", "5.000000")


@pytest.mark.parametrize("kind", [CollectiveKind.ALL_REDUCE, CollectiveKind.ALL_TO_ALL])
def test_bandwidths_are_those_of_a_group_in_the_mean(kind: CollectiveKind) -> None:
    """Groups that take 5 us in the mean within 10 us have twice the bandwidth of one that takes all of them."""
    record = replace(collective(kind, 1_000_000, 12 * US), line_bytes=50_000)
    whole, groups = row_of(record), row_of(replace(record, groups_ps=(5 * US, 8 * US)))
    times = ("duration_us", "group_duration_us", "slowest_group_us")
    assert [whole[name] for name in times] == ["10.000000"] * 3
    assert [groups[name] for name in times] == ["10.000000", "5.000000", "8.000000"]
    for name in ("algorithm_bandwidth_gbytes_per_s", "bus_bandwidth_gbytes_per_s"):
        assert float(str(groups[name])) == 2 * float(str(whole[name])) > 0


def test_a_collective_that_has_not_ended_has_no_end_and_no_bandwidth() -> None:
    row = row_of(collective(CollectiveKind.ALL_REDUCE, 1000, None))
    assert row["start_us"] == "2.000000"
    assert [row[name] for name in ("end_us", "duration_us", "bus_bandwidth_gbytes_per_s")] == [None, None, None]


def test_an_npu_that_has_not_finished_has_no_finish() -> None:
    npus = (NpuRecord(0, 5 * US, 2 * US, 3 * US, True), NpuRecord(1, 9 * US, 2 * US, 7 * US, False))
    assert npu_table(RunRecords(False, 9 * US, npus, (), (), (), (), ())).text().splitlines() == [
        "npu,finish_us,compute_us,exposed_us",
        "0,5.000000,2.000000,3.000000",
        "1,,2.000000,7.000000",
    ]


def test_switch_table_has_the_counters_in_a_fixed_order() -> None:
    port: dict[str, str | int | None] = {
        "silent_frames": 16,
        "down_frames": 15,
        "cut_frames": 14,
        "pause_frames": 13,
        "paused_ps": 12,
        "pauses": 11,
        "lost_frames": 10,
        "highest_queue_bytes": 9,
        "marked_frames": 8,
        "dropped_bytes": 7,
        "dropped_frames": 6,
        "sent_bytes": 5,
        "sent_frames": 4,
        "link_to": "host1",
        "port": "switch0:1",
    }
    assert switch_table([port]).text().splitlines() == [
        "port,link_to,sent_frames,sent_bytes,dropped_frames,dropped_bytes,marked_frames,highest_queue_bytes,"
        "lost_frames,pauses,paused_ps,pause_frames,cut_frames,down_frames,silent_frames",
        "switch0:1,host1,4,5,6,7,8,9,10,11,12,13,14,15,16",
    ]


def test_quotients_are_rounded_half_to_even_as_exact_fractions_are() -> None:
    for numerator in range(-40, 41):
        for denominator in (1, 2, 3, 4, 7, 8 * 10**6):
            scaled = round(Fraction(numerator * 10**6, denominator))
            whole, rest = divmod(abs(scaled), 10**6)
            assert decimal(numerator, denominator) == f"{'-' if scaled < 0 else ''}{whole}.{rest:06d}"
            assert mean_microseconds(numerator, denominator) == microseconds(round(Fraction(numerator, denominator)))
