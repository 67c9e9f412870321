"""Our times beside measured ones, where the answer is known by construction."""

from __future__ import annotations

import pytest

from astra_ns3.errors import InputError
from astra_ns3.nccl.comparing import Differs, Split, compare, mean_error, split, which_differs
from astra_ns3.nccl.logs import Log, LogRow

MIB = 1 << 20
SIZES = [1024, 32_768, MIB, 64 * MIB, 128 * MIB, 1024 * MIB]


def times(latency_us: float, gbytes_per_s: float) -> list[tuple[int, float]]:
    """Latency and bandwidth without anything else."""
    return [(size, latency_us + size / gbytes_per_s / 1e3) for size in SIZES]


def measured(rows: list[tuple[int, float]]) -> Log:
    return Log("all_reduce", 16, None, tuple(LogRow(size, time) for size, time in rows), path="run.log")


def test_a_table_made_of_latency_and_bandwidth_is_split_into_them() -> None:
    found = split(times(20.0, 100.0))
    assert found.latency_us == pytest.approx(20.0)
    assert found.gbytes_per_s == pytest.approx(100.0)


@pytest.mark.parametrize(
    ("latency_us", "gbytes_per_s", "differs"),
    [(20, 100, "neither"), (40, 100, "latency"), (20, 150, "bandwidth"), (10, 50, "both"), (21, 105, "neither")],
)
def test_the_part_that_differs_is_named(latency_us: float, gbytes_per_s: float, differs: Differs) -> None:
    assert compare(measured(times(20, 100)), times(latency_us, gbytes_per_s)).differs == differs


def test_errors_are_means_below_and_from_128_mib() -> None:
    log = measured(times(20, 100))
    ours = [(row.size_bytes, row.measured_us * (1.5 if row.size_bytes < 128 * MIB else 0.9)) for row in log.rows]
    found = compare(log, ours)
    assert found.errors[0] == pytest.approx(0.5)
    assert found.errors[1] == pytest.approx(0.1)
    assert [row.ratio for row in found.rows] == pytest.approx([1.5] * 4 + [0.9] * 2)


def test_only_sizes_of_both_are_compared() -> None:
    found = compare(measured(times(20, 100)), [(1024, 20.0), (4096, 1.0)])
    assert [row.size_bytes for row in found.rows] == [1024]
    assert found.errors[1] is None
    assert found.differs == "unknown"


def test_ends_that_are_both_large_tell_no_latency() -> None:
    assert split([(512 * MIB, 5400.0), (1024 * MIB, 10_700.0)]).latency_us is None


def test_ends_that_are_both_small_tell_no_bandwidth() -> None:
    found = split([(8, 20.0), (1024, 20.1)])
    assert found.latency_us == pytest.approx(20.0, rel=1e-3)
    assert found.gbytes_per_s is None


def test_one_part_that_is_told_suffices() -> None:
    assert which_differs(Split(None, 50.0), Split(20.0, 100.0)) == "bandwidth"
    assert which_differs(Split(None, None), Split(20.0, 100.0)) == "unknown"


def test_no_rows_have_no_error() -> None:
    assert mean_error([]) is None


@pytest.mark.parametrize(
    ("ours", "error"),
    [
        (
            [(7, 1.0)],
            "run.log: found no size of ours in the log, expected one or more of its sizes, 1024 to 1073741824",
        ),
        ([(1024, 0.0)], "our time of 1024 bytes is 0 us"),
        ([(1024, float("nan"))], "our time of 1024 bytes is nan us"),
        ([(1024, 1.0), (1024, 2.0)], "our time of 1024 bytes twice"),
        ([(0, 1.0)], "size is 0, expected at least 1"),
    ],
)
def test_wrong_rows_of_ours_are_refused_in_one_line(ours: list[tuple[int, float]], error: str) -> None:
    with pytest.raises(InputError, match=error) as raised:
        compare(measured(times(20, 100)), ours)
    assert "\n" not in str(raised.value)
