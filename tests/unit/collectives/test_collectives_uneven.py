"""All-to-all of uneven parts: proved like the others, exact to the byte, refused where it can't be."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.any_schedule import without

from astra_ns3.collectives.proof import ScheduleError, prove
from astra_ns3.collectives.schedule import Content, Schedule
from astra_ns3.collectives.uneven import Parts, uneven_all_to_all
from astra_ns3.collectives.volume import rank_costs
from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.errors import InputError

PARTS: Parts = ((5, 1, 0), (2, 0, 7), (0, 0, 3))
ALL_TO_ALL = CollectiveKind.ALL_TO_ALL


@st.composite
def tables(draw: st.DrawFn, most: int = 9) -> Parts:
    ranks = draw(st.integers(1, 6))
    row = st.lists(st.integers(0, most), min_size=ranks, max_size=ranks).map(tuple)
    return tuple(draw(st.lists(row, min_size=ranks, max_size=ranks)))


def messages(schedule: Schedule, bytes: int) -> dict[tuple[int, int], int]:
    pairs = zip(schedule.sender.tolist(), schedule.receiver.tolist(), strict=True)
    found = dict(zip(pairs, schedule.message_bytes(bytes).tolist(), strict=True))
    assert len(found) == schedule.messages
    return found


@given(tables())
@settings(max_examples=60, deadline=None)
def test_every_rank_ends_with_what_each_has_for_it(parts: Parts) -> None:
    proof = prove(uneven_all_to_all(parts), ALL_TO_ALL)
    assert not proof.combines.any()


@given(tables(most=10**8), st.integers(1, 10**5))
@settings(max_examples=60, deadline=None)
def test_messages_are_exactly_the_parts_of_other_ranks(parts: Parts, unit: int) -> None:
    most = max(1, *(sum(row) for row in parts))
    schedule = uneven_all_to_all(parts)
    expected = {
        (sender, receiver): size * unit
        for sender, row in enumerate(parts)
        for receiver, size in enumerate(row)
        if size and sender != receiver
    }
    assert messages(schedule, most * unit) == expected
    assert schedule.all_bytes(most * unit) == sum(expected.values())
    for rank in range(len(parts)):
        sent = sum(size for (sender, _), size in expected.items() if sender == rank)
        assert rank_costs(schedule, rank, most * unit, 500_000).sent_bytes == sent


def test_targets_are_the_next_ranks_and_all_leave_at_once() -> None:
    schedule = uneven_all_to_all(PARTS)
    assert list(zip(schedule.sender.tolist(), schedule.receiver.tolist(), strict=True)) == [(0, 1), (1, 2), (1, 0)]
    assert set(schedule.wait_step.tolist()) == {-1}


def test_equal_tables_are_one_schedule_while_it_is_held() -> None:
    held = uneven_all_to_all(PARTS)
    assert uneven_all_to_all(tuple(tuple(row) for row in PARTS)) is held


def test_a_schedule_that_lacks_a_message_or_sends_it_elsewhere_is_refused() -> None:
    schedule = uneven_all_to_all(PARTS)
    with pytest.raises(ScheduleError, match="ends without rank 1's part of block 5"):
        prove(without(schedule, 1), ALL_TO_ALL)
    elsewhere = np.array([2, 2, 0], dtype=np.int32)
    with pytest.raises(ScheduleError, match="ends without rank 0's part of block 1"):
        prove(replace(schedule, receiver=elsewhere), ALL_TO_ALL)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"first_block": [5, 2, 1]}, "row 2 carries blocks 1 to 2 of rank 1, which are no whole parts"),
        ({"block_count": [1, 6, 2]}, "row 1 carries blocks 2 to 7 of rank 1, which are no whole parts"),
        ({"blocks": 8}, "out of range"),
        ({"parts": [[5, 1, 4], [2, 0, 7], [0, 0, 3]]}, "have more than the 9 blocks"),
        ({"parts": [[5, 1], [2, 0]]}, "no table of 3 x 3"),
        ({"parts": [[5, 1, -1], [2, 0, 7], [0, 0, 3]]}, "no table of 3 x 3"),
        ({"expansion": 3}, "only an all-to-all of expansion 1"),
    ],
)
def test_parts_that_do_not_fit_the_rows_are_refused(changes: dict[str, Any], message: str) -> None:
    columns: dict[str, Any] = {
        name: np.array(value, dtype=np.int32) if isinstance(value, list) else value for name, value in changes.items()
    }
    with pytest.raises(ScheduleError, match=message):
        prove(replace(uneven_all_to_all(PARTS), **columns), ALL_TO_ALL)


def test_parts_are_of_an_all_to_all_only() -> None:
    with pytest.raises(ScheduleError, match="only an all-to-all"):
        prove(uneven_all_to_all(PARTS), CollectiveKind.ALL_REDUCE)


def test_a_part_may_go_by_way_of_another_rank() -> None:
    """0 has 4 blocks for 2 and sends them to 1, which sends them on."""
    parts = np.array([[0, 0, 4], [0, 0, 0], [0, 0, 0]])
    direct = uneven_all_to_all(((0, 0, 4), (0, 0, 0), (0, 0, 0)))
    rows = {
        "sender": [0, 1],
        "receiver": [1, 2],
        "step": [0, 1],
        "first_block": [0, 0],
        "block_count": [4, 4],
        "wait_step": [-1, 0],
        "wait_count": [0, 1],
    }
    columns: dict[str, Any] = {name: np.array(values, dtype=np.int32) for name, values in rows.items()}
    content = Content(np.arange(3, dtype=np.int64), np.array([2, 2], dtype=np.int32))
    schedule = replace(direct, reduces=np.zeros(2, dtype=np.bool_), content=content, parts=parts, **columns)
    prove(schedule, ALL_TO_ALL)
    less = replace(schedule, block_count=np.array([4, 3], dtype=np.int32))
    with pytest.raises(ScheduleError, match="not as many blocks as the row"):
        prove(less, ALL_TO_ALL)


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        (((1, 2), (3,)), "found 2 rows of 1, 2 numbers, expected 2 of 2"),
        (((1, -2), (3, 0)), "place 0 has -2 for place 1"),
        (((0, 2**31), (3, 0)), "no more than 2147483647 can be counted; round the counts"),
    ],
)
def test_a_table_that_can_not_be_played_is_an_input_error(parts: Parts, message: str) -> None:
    with pytest.raises(InputError, match=message):
        uneven_all_to_all(parts)
