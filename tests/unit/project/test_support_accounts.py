"""The check of accounts finds every number that is wrong."""

from __future__ import annotations

import pandas as pd
import pytest
from support.accounts import NAMES, problems_of


def accounts() -> pd.DataFrame:
    """Two messages: one over two lines, acknowledged, and one inside a host."""
    rows: list[dict[str, int]] = [dict.fromkeys(NAMES, 0), dict.fromkeys(NAMES, 0)]
    rows[0] |= {"start_ps": 100, "end_ps": 200, "turn_ps": 10, "nic_queue_ps": 20, "switch_queue_ps": 5}
    rows[0] |= {"switch_paused_ps": 5, "serialisation_ps": 30, "propagation_ps": 20, "acknowledgement_ps": 10}
    rows[1] |= {"start_ps": 0, "end_ps": 50, "serialisation_ps": 50}
    return pd.DataFrame(rows)


def hops() -> pd.DataFrame:
    columns = ["message", "hop", "arrival_ps", "queue_ps", "paused_ps", "serialisation_ps", "propagation_ps"]
    return pd.DataFrame([[0, 0, 125, 5, 0, 15, 10], [0, 1, 155, 5, 5, 15, 10]], columns=columns)


def off_by(table: pd.DataFrame, row: int, column: str, by: int) -> pd.DataFrame:
    """The table with one number changed."""
    return table.assign(**{column: [value + by * (place == row) for place, value in enumerate(table[column])]})


def test_accounts_that_add_up_have_no_problem() -> None:
    assert problems_of(accounts(), hops()) == []


@pytest.mark.parametrize("column", [*NAMES, "start_ps", "end_ps"])
@pytest.mark.parametrize("row", [0, 1])
def test_any_part_that_is_wrong_is_found(column: str, row: int) -> None:
    assert problems_of(off_by(accounts(), row, column, 1), hops())


def test_a_part_below_zero_is_found() -> None:
    assert problems_of(off_by(off_by(accounts(), 1, "window_ps", -1), 1, "pacing_ps", 1), hops())


@pytest.mark.parametrize("column", ["arrival_ps", "queue_ps", "paused_ps", "serialisation_ps", "propagation_ps"])
@pytest.mark.parametrize("row", [0, 1])
def test_any_line_that_is_wrong_is_found(column: str, row: int) -> None:
    assert problems_of(accounts(), off_by(hops(), row, column, 1))
