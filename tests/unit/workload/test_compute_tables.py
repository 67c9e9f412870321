"""Times from a user's table: exact where measured, between their neighbours in between, never guessed in silence."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from math import log
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astra_ns3.config.model.compute import RooflineKeys, Table
from astra_ns3.config.model.devices import DEVICES
from astra_ns3.config.training_plan import Operation, OperationKind
from astra_ns3.errors import InputError
from astra_ns3.workload.computing.clocks import clock_of, guesses
from astra_ns3.workload.computing.roofline import RooflineClock
from astra_ns3.workload.computing.table import TableClock
from astra_ns3.workload.computing.table_file import parse_table

TABLE = """# measured on my desk
kind, m, n, k, bytes, time_us
matmul, 1000, 1000, 1000, , 10
matmul, 4000, 1000, 1000, , 40

matmul, 1000, 4000, 1000, , 30
matmul, 4000, 4000, 1000, , 160.5
elementwise, , , , 1000000, 2
elementwise, , , , 100000000, 50
"""
ROUNDING_PS = 1
"""Between two measured places times are rounded to the nearest picosecond."""


def clock(text: str = TABLE, *, extrapolates: bool = False, beside: bool = False) -> TableClock:
    roofline = RooflineClock(RooflineKeys(), DEVICES["H100"], "bfloat16") if beside else None
    return TableClock(parse_table(text, "times.csv"), extrapolates, roofline)


def matmul(m: int, n: int = 1000, k: int = 1000, count: int = 1) -> Operation:
    return Operation("mine", OperationKind.MATMUL, shape=(m, n, k), count=count)


def stream(moved: int) -> Operation:
    return Operation("mine", OperationKind.ELEMENTWISE, bytes=moved)


def test_measured_places_have_their_times() -> None:
    assert clock().time_ps(matmul(1000)) == 10_000_000
    assert clock().time_ps(matmul(4000, 4000)) == 160_500_000
    assert clock().time_ps(stream(1_000_000)) == 2_000_000


def test_without_a_column_for_it_several_products_take_several_times_as_long() -> None:
    assert clock().time_ps(matmul(4000, count=3)) == 120_000_000
    batched = "kind,m,n,k,count,time_ns\nmatmul,8,8,8,1,100\nmatmul,8,8,8,4,250\n"
    assert clock(batched).time_ps(matmul(8, 8, 8, count=4)) == 250_000
    assert clock(batched).time_ps(matmul(8, 8, 8, count=2)) == pytest.approx((100_000 * 250_000) ** 0.5, abs=0.5)


def test_halfway_in_logarithms_is_the_geometric_mean() -> None:
    assert clock().time_ps(matmul(2000)) == 20_000_000  # of 10 and 40 us
    assert clock().time_ps(stream(10_000_000)) == 10_000_000  # of 2 and 50 us
    corners = (10, 40, 30, 160.5)
    assert clock().time_ps(matmul(2000, 2000)) == pytest.approx(
        (corners[0] * corners[1] * corners[2] * corners[3]) ** 0.25 * 1e6, abs=ROUNDING_PS
    )


@pytest.mark.parametrize("operation", [matmul(999), matmul(1000, 4001), matmul(2000, 2000, 2000), stream(1)])
def test_what_was_not_measured_is_not_guessed(operation: Operation) -> None:
    with pytest.raises(InputError, match=r"'mine', a (matmul|elementwise), has .*, measured from .*extrapolate"):
        clock().time_ps(operation)


def test_extrapolation_goes_on_with_the_last_step() -> None:
    guessing = clock(extrapolates=True)
    assert guessing.time_ps(matmul(16000)) == 160_000_000  # 40 us at 4,000, and 4 times as long for 4 times as much
    assert guessing.time_ps(matmul(250)) == 2_500_000
    assert guessing.time_ps(matmul(1000, 1000, 3000)) == 30_000_000  # only one k was measured: in proportion


def test_what_is_extrapolated_is_warned_of_once(tmp_path: Path) -> None:
    file = tmp_path / "times.csv"
    file.write_text(TABLE)
    keys = Table(kind="table", file=str(file), extrapolate=True)
    asked = [matmul(2000), matmul(16000), matmul(16000), matmul(250), replace(matmul(1), time_ps=7)]
    assert guesses(keys, asked, "model.yaml") == (
        f"model.yaml: {file}: operation 'mine', a matmul, has m 16000, measured from 1000 to 4000: its time is "
        "extrapolated, and so is that of 1 more",
    )
    assert guesses(keys, [matmul(2000)], "model.yaml") == ()
    assert guesses(keys.model_copy(update={"extrapolate": False}), asked, "model.yaml") == ()


def test_messages_begin_with_the_model_file(tmp_path: Path) -> None:
    file = tmp_path / "times.csv"
    file.write_text(TABLE)
    found = clock_of(Table(kind="table", file=str(file)), source="model.yaml")
    with pytest.raises(InputError, match=r"^model.yaml: .*times.csv: operation 'mine', a matmul, has m 9, measured"):
        found.time_ps(matmul(9))
    with pytest.raises(InputError, match=r"^model.yaml: .*none.csv: no such file"):
        clock_of(Table(kind="table", file=str(tmp_path / "none.csv")), source="model.yaml")


def test_kinds_that_are_not_in_the_table_are_the_rooflines_or_an_error() -> None:
    attention = Operation("mine", OperationKind.ATTENTION, 10**12, 10**6)
    with pytest.raises(InputError, match=r"times.csv: has no times of attention, which operation 'mine' is"):
        clock().time_ps(attention)
    expected_ps = RooflineClock(RooflineKeys(), DEVICES["H100"], "bfloat16").time_ps(attention)
    assert clock(beside=True).time_ps(attention) == expected_ps > 0


def test_a_box_without_a_corner_is_an_error_that_names_it() -> None:
    holed = "".join(line for line in TABLE.splitlines(keepends=True) if "4000, 4000" not in line)
    with pytest.raises(InputError, match="m 2000, n 2000, k 1000 lies in a box whose corner at m 4000, n 4000, k 1000"):
        clock(holed).time_ps(matmul(2000, 2000))
    assert clock(holed).time_ps(matmul(2000)) == 20_000_000  # on the edge that is there


def test_an_operation_that_says_no_shape_is_an_error() -> None:
    with pytest.raises(InputError, match="depend on m, n, k, and operation 'mine' has no m"):
        clock().time_ps(Operation("mine", OperationKind.MATMUL, 10, 10))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("kind,m,n,k,time\nmatmul,1,1,1,1", "times.csv:1: column 'time' is not one of kind, .*did you mean 'time_"),
        ("kind,m,n,k\nmatmul,1,1,1", "times.csv:1: expected a column kind and one of time_ps"),
        ("kind,m,n,k,time_us,time_ns\nmatmul,1,1,1,1,1", "times.csv:1: expected a column kind and one of"),
        ("kind,m,m,time_us\nmatmul,1,1,1", "times.csv:1: column 'm' is there twice"),
        ("kind,m,n,k,time_us\nmatmul,1,1,1,1,1", "times.csv:2: 6 cells, expected 5"),
        ("kind,m,n,k,time_us\nmatmull,1,1,1,1", "times.csv:2: kind 'matmull' is not one of .*did you mean 'matmul'?"),
        ("kind,m,n,k,time_us\nmatmul,1,1,,1", "times.csv:2: expected m, n and k, or flops, or bytes"),
        ("kind,m,n,k,time_us\nmatmul,1,1,0,1", "times.csv:2: k is '0', expected a whole number, at least 1"),
        ("kind,bytes,time_us\ngather,1,0", "times.csv:2: time_us is '0', expected a number above 0"),
        ("kind,bytes,time_us\ngather,1,", "times.csv:2: time_us is '', expected a number above 0"),
        ("kind,bytes,time_us\n# no\ngather,1,1\ngather,1,2", "times.csv:4: gather with these bytes is there twice"),
        ("kind,bytes,flops,time_us\ngather,1,,1\ngather,1,1,1", "times.csv:3: has flops, bytes, expected bytes as in"),
        ("kind,bytes,time_us\n", "times.csv: expected a line of columns and at least one measurement"),
    ],
)
def test_what_is_wrong_in_a_table_is_told_with_its_line(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        parse_table(text, "times.csv")


def grown(values: list[int], steps: list[int]) -> list[int]:
    """Times that never shrink along the values."""
    total, times = 0, []
    for step in steps[: len(values)]:
        total += step
        times.append(total)
    return times


AXIS = st.lists(st.integers(1, 10**6), min_size=2, max_size=4, unique=True).map(sorted)
STEPS = st.lists(st.integers(1, 10**6), min_size=4, max_size=4)


@given(sizes=AXIS, steps=STEPS, data=st.data())
def test_times_of_a_growing_table_grow_and_lie_between_their_neighbours(
    sizes: list[int], steps: list[int], data: st.DataObject
) -> None:
    times = grown(sizes, steps)
    text = "kind,bytes,time_ps\n" + "".join(f"gather,{b},{t}\n" for b, t in zip(sizes, times, strict=True))
    found = clock(text)
    asked = sorted(data.draw(st.lists(st.integers(sizes[0], sizes[-1]), min_size=2, max_size=6)))
    answers = [found.time_ps(Operation("any", OperationKind.GATHER, bytes=moved)) for moved in asked]
    assert answers == sorted(answers)
    for moved, answer in zip(asked, answers, strict=True):
        place = next(i for i, size in enumerate(sizes) if size >= moved)
        assert times[max(place - 1, 0)] <= answer <= times[place]


@given(down=AXIS, across=AXIS, steps=STEPS, more=STEPS, data=st.data())
def test_a_box_of_products_interpolates_as_weights_of_its_corners(
    down: list[int], across: list[int], steps: list[int], more: list[int], data: st.DataObject
) -> None:
    times = {
        (m, n): left * right
        for (m, left), (n, right) in product(
            zip(down, grown(down, steps), strict=True), zip(across, grown(across, more), strict=True)
        )
    }
    text = "kind,m,n,k,time_ps\n" + "".join(f"matmul,{m},{n},1,{time}\n" for (m, n), time in times.items())
    m, n = (data.draw(st.integers(axis[0], axis[-1])) for axis in (down, across))
    # A time that is a product of both columns' is interpolated as the product of what each column gives by itself.
    expected = along(down, grown(down, steps), m) + along(across, grown(across, more), n)
    answer = clock(text).time_ps(matmul(m, n, 1))
    assert log(answer) == pytest.approx(expected, abs=1e-9 + ROUNDING_PS / answer)


def along(values: list[int], times: list[int], asked: int) -> float:
    """The logarithm of a time, interpolated along one column."""
    for (low, first), (high, last) in zip(
        zip(values, times, strict=True), zip(values[1:], times[1:], strict=True), strict=False
    ):
        if low <= asked <= high:
            part = (log(asked) - log(low)) / (log(high) - log(low))
            return (1 - part) * log(first) + part * log(last)
    raise AssertionError("asked for what lies outside")
