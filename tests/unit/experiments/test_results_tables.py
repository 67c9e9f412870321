"""Numbers become text exactly, and text becomes the same table again."""

from __future__ import annotations

import csv
import io
from decimal import ROUND_HALF_EVEN, Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astra_ns3.experiments.tables import Table, as_given, decimal, inert, mean_microseconds, microseconds

TIMES = st.integers(min_value=-(2**63), max_value=2**63 - 1)


@given(TIMES)
def test_microseconds_loses_no_picosecond(time_ps: int) -> None:
    assert Decimal(microseconds(time_ps)) * 1_000_000 == time_ps


@pytest.mark.parametrize(
    ("time_ps", "text"), [(0, "0.000000"), (1, "0.000001"), (45_681_000_000, "45681.000000"), (-1, "-0.000001")]
)
def test_microseconds_has_six_decimals(time_ps: int, text: str) -> None:
    assert microseconds(time_ps) == text


@given(st.integers(0, 2**80), st.integers(1, 2**70))
def test_decimal_rounds_the_exact_quotient_half_to_even(numerator: int, denominator: int) -> None:
    from decimal import localcontext

    with localcontext() as context:
        context.prec = 200
        quotient = Decimal(numerator) / Decimal(denominator)
        assert Decimal(decimal(numerator, denominator)) == quotient.quantize(Decimal("0.000001"), ROUND_HALF_EVEN)


def test_mean_rounds_to_a_picosecond() -> None:
    assert mean_microseconds(7, 2) == "0.000004"  # 3.5 ps, half to even
    assert mean_microseconds(10, 4) == "0.000002"


def test_a_table_survives_commas_and_quotes() -> None:
    table = Table("x.csv", ["name", "value"], [['a,"b"', 1], ["", None]])
    assert list(csv.reader(io.StringIO(table.text()))) == [["name", "value"], ['a,"b"', "1"], ["", ""]]


def test_no_spreadsheet_runs_a_cell() -> None:
    rows: list[list[str | int | None]] = [
        ["=1+1", 2],
        ['@"a",b', None],
        ["+x", -3],
        ["-x", "-0.500000"],
        ["\t=1", "+1e-9"],
        ["plain", 3],
    ]
    table = Table("t.csv", ["layer", "bytes"], rows)
    _, *told = csv.reader(io.StringIO(table.text()))
    expected = [["'=1+1", "2"], ['\'@"a",b', ""], ["'+x", "-3"], ["'-x", "-0.500000"], ["'\t=1", "+1e-9"]]
    assert told == [*expected, ["plain", "3"]]


@pytest.mark.parametrize("cell", ["=1", "'=1", "''@x", "'quoted'", "'", "", "-", "-5", "plain", None, 7])
def test_a_cell_comes_back_as_it_was(cell: str | int | None) -> None:
    assert as_given(inert(cell)) == cell
