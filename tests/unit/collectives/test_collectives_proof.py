"""The proof refuses what is wrong: lost, doubled and misdirected messages, deadlocks, races, columns out of range."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from support.any_schedule import changed, draw_schedule, owner_of, with_row_again, without

from astra_ns3.collectives.algorithms import ALGORITHMS
from astra_ns3.collectives.lookup import lookup, pairs
from astra_ns3.collectives.proof import ScheduleError, prove
from astra_ns3.collectives.ring import ring_all_gather, ring_all_reduce
from astra_ns3.collectives.schedule import Content, Schedule
from astra_ns3.config.core.collective_kind import CollectiveKind

# A sum may take another way and still be right.
PAIRS_THAT_COPY = [
    (kind, name)
    for kind, name in pairs()
    if kind
    in (
        CollectiveKind.ALL_GATHER,
        CollectiveKind.ALL_TO_ALL,
        CollectiveKind.BROADCAST,
        CollectiveKind.POINT_TO_POINT,
    )
]
# Hearing of a rank twice does a barrier no harm.
PAIRS_WITH_DATA = [(kind, name) for kind, name in pairs() if kind is not CollectiveKind.BARRIER]


def _rows_with_data(schedule: Schedule) -> list[int]:
    """The rows that bring data, or those of a barrier: other signals prove nothing."""
    has_data = schedule.block_count > 0
    return np.flatnonzero(has_data if has_data.any() else ~has_data).tolist()


@pytest.mark.parametrize(("kind", "name"), pairs(), ids=lambda value: str(getattr(value, "name", value)))
def test_the_reduction_delay_is_paid_exactly_where_a_message_is_combined(kind: CollectiveKind, name: str) -> None:
    schedule = lookup(kind, name, 8 if ALGORITHMS[name].needs_power_of_two else 7)
    np.testing.assert_array_equal(
        schedule.reduces, prove(schedule, kind, owner=owner_of(name, schedule.ranks)).combines
    )


def _on_one_block(ranks: int, rows: dict[str, list[int]]) -> Schedule:
    """A schedule whose rows all carry the whole data and are reduced."""
    messages = len(rows["sender"])
    columns: dict[str, Any] = {name: np.array(values, dtype=np.int32) for name, values in rows.items()}
    columns |= {"first_block": np.zeros(messages, np.int32), "block_count": np.ones(messages, np.int32)}
    return Schedule("by hand", ranks, 1, reduces=np.ones(messages, dtype=np.bool_), **columns)


@settings(max_examples=60, deadline=None)
@given(data=st.data(), pair=st.sampled_from(pairs()))
def test_a_schedule_that_lacks_a_message_is_refused(data: st.DataObject, pair: tuple[CollectiveKind, str]) -> None:
    kind, name = pair
    schedule = draw_schedule(data, kind, name, largest=9)
    row = data.draw(st.sampled_from(_rows_with_data(schedule)))
    with pytest.raises(ScheduleError):
        prove(without(schedule, row), kind, owner=owner_of(name, schedule.ranks))


@settings(max_examples=60, deadline=None)
@given(data=st.data(), pair=st.sampled_from(PAIRS_WITH_DATA))
def test_a_schedule_with_a_message_twice_is_refused(data: st.DataObject, pair: tuple[CollectiveKind, str]) -> None:
    kind, name = pair
    schedule = draw_schedule(data, kind, name, largest=9)
    row = data.draw(st.sampled_from(_rows_with_data(schedule)))
    with pytest.raises(ScheduleError):
        prove(with_row_again(schedule, row), kind, owner=owner_of(name, schedule.ranks))


@settings(max_examples=60, deadline=None)
@given(data=st.data(), pair=st.sampled_from(PAIRS_THAT_COPY))
def test_a_copy_sent_to_another_rank_is_refused(data: st.DataObject, pair: tuple[CollectiveKind, str]) -> None:
    kind, name = pair
    schedule = draw_schedule(data, kind, name, largest=9)
    row = data.draw(st.sampled_from(_rows_with_data(schedule)))
    wrong = [rank for rank in range(schedule.ranks) if rank not in (schedule.sender[row], schedule.receiver[row])]
    assume(wrong)
    tampered = changed(schedule, "receiver", row, data.draw(st.sampled_from(wrong)))
    with pytest.raises(ScheduleError):
        prove(tampered, kind, owner=owner_of(name, schedule.ranks))


@settings(max_examples=40, deadline=None)
@given(data=st.data(), ranks=st.integers(3, 12))
def test_a_bruck_message_with_another_block_is_refused(data: st.DataObject, ranks: int) -> None:
    schedule = lookup(CollectiveKind.ALL_TO_ALL, "bruck", ranks)
    assert schedule.content is not None
    place = data.draw(st.integers(0, len(schedule.content.blocks) - 1))
    blocks = schedule.content.blocks.copy()
    blocks[place] = (blocks[place] + data.draw(st.integers(1, ranks * ranks - 1))) % ranks**2
    with pytest.raises(ScheduleError):
        prove(replace(schedule, content=replace(schedule.content, blocks=blocks)), CollectiveKind.ALL_TO_ALL)


def test_a_content_that_does_not_fit_its_rows_is_refused() -> None:
    schedule = lookup(CollectiveKind.ALL_TO_ALL, "bruck", 5)
    content = schedule.content
    assert content is not None
    for wrong, message in (
        (replace(content, offsets=content.offsets[:-1]), "not as many blocks as the row"),
        (replace(content, blocks=content.blocks[:-1]), "out of range"),
        (replace(content, blocks=content.blocks + 25), "out of range"),
        (replace(content, contributors=(1,)), "not as many contributors as blocks"),
    ):
        with pytest.raises(ScheduleError, match=message):
            prove(replace(schedule, content=wrong), CollectiveKind.ALL_TO_ALL)


def _told(contributors: tuple[int, ...]) -> Schedule:
    """Ranks 0 and 1 send their parts to rank 2, which sends the sum to both."""
    rows = {
        "sender": [0, 1, 2, 2],
        "receiver": [2, 2, 0, 1],
        "step": [0, 0, 1, 1],
        "wait_step": [-1, -1, 0, 0],
        "wait_count": [0, 0, 2, 2],
    }
    content = Content(np.arange(5, dtype=np.int64), np.zeros(4, dtype=np.int32), contributors)
    return replace(_on_one_block(3, rows), content=content)


def test_contributions_that_a_schedule_tells_are_checked() -> None:
    prove(_told((0b001, 0b010, 0b111, 0b111)), CollectiveKind.ALL_REDUCE)
    with pytest.raises(ScheduleError, match=r"rank 0 sends block 0 as the sum of ranks 0\+1, but may hold no more"):
        prove(_told((0b011, 0b010, 0b111, 0b111)), CollectiveKind.ALL_REDUCE)
    with pytest.raises(ScheduleError, match="rank 1 ends without rank 0's part of block 0"):
        prove(_told((0b001, 0b010, 0b111, 0b110)), CollectiveKind.ALL_REDUCE)
    hasty = changed(_told((0b001, 0b010, 0b111, 0b111)), "wait_count", 2, 1)
    with pytest.raises(ScheduleError, match=r"row 2 .*may hold no more than the sums of 2"):
        prove(hasty, CollectiveKind.ALL_REDUCE)


def test_a_wait_for_more_than_comes_is_a_deadlock() -> None:
    schedule = ring_all_reduce(4)
    with pytest.raises(ScheduleError, match="deadlock; rank 0 for 2 of step 0"):
        prove(changed(schedule, "wait_count", 1, 2), CollectiveKind.ALL_REDUCE)


def test_ranks_that_wait_for_each_other_are_a_deadlock() -> None:
    schedule = ring_all_gather(3)
    for row in range(0, schedule.messages, 2):  # the first message of each rank
        schedule = changed(changed(schedule, "wait_step", row, 0), "wait_count", row, 1)
    with pytest.raises(ScheduleError, match="deadlock"):
        prove(schedule, CollectiveKind.ALL_GATHER)


def test_a_block_sent_before_it_is_held_is_refused() -> None:
    schedule = ring_all_gather(4)
    assert (schedule.sender[1], schedule.first_block[1]) == (0, 3)
    with pytest.raises(ScheduleError, match=r"row 1 \(rank 0 to 1\): rank 0 sends block 3, which it doesn't hold"):
        prove(changed(changed(schedule, "wait_step", 1, -1), "wait_count", 1, 0), CollectiveKind.ALL_GATHER)


def test_a_signal_adds_nothing_to_what_its_receiver_holds() -> None:
    """Rank 1 adds what rank 0 sends and sends the sum back, which is taken over; then rank 0 signals that it has it."""
    rows = {"sender": [0, 1, 0], "receiver": [1, 0, 1], "step": [0, 1, 2], "wait_step": [-1, 0, 1]}
    data = _on_one_block(2, {**rows, "wait_count": [0, 1, 1]})
    schedule = replace(data, block_count=np.array([1, 1, 0], np.int32))
    assert prove(schedule, CollectiveKind.ALL_REDUCE).combines.tolist() == [True, False, False]


def test_a_partial_sum_counted_twice_is_refused() -> None:
    # rank 1 adds rank 0's part, sends the sum to rank 2, which has added rank 0's part by itself
    rows = {
        "sender": [0, 0, 1],
        "receiver": [1, 2, 2],
        "step": [0, 0, 1],
        "wait_step": [-1, -1, 0],
        "wait_count": [0, 0, 1],
    }
    schedule = _on_one_block(3, rows)
    with pytest.raises(ScheduleError, match="would count contributions twice or lose some"):
        prove(schedule, CollectiveKind.ALL_REDUCE)


def test_an_outcome_that_depends_on_the_order_of_play_is_refused() -> None:
    # rank 0's row may leave before or after rank 1's part has come: partial or complete
    rows = {"sender": [1, 0], "receiver": [0, 1], "step": [0, 0], "wait_step": [-1, -1], "wait_count": [0, 0]}
    schedule = _on_one_block(2, rows)
    with pytest.raises(ScheduleError, match="does depends on the order of play"):
        prove(schedule, CollectiveKind.ALL_REDUCE, shuffles=20)


def test_a_sum_of_whichever_messages_come_first_is_refused() -> None:
    # rank 2 sends its sum to rank 0 after one of two messages, which may be the wrong one
    rows = {
        "sender": [0, 1, 2, 2],
        "receiver": [2, 2, 0, 1],
        "step": [0, 0, 1, 1],
        "wait_step": [-1, -1, 0, 0],
        "wait_count": [0, 0, 1, 2],
    }
    with pytest.raises(ScheduleError, match="row 2 sends block 0 after 1 of the messages of step 0"):
        prove(_on_one_block(3, rows), CollectiveKind.ALL_REDUCE)


@pytest.mark.parametrize(
    ("column", "value"), [("sender", 4), ("receiver", -1), ("first_block", 4), ("block_count", -1), ("step", -1)]
)
def test_columns_out_of_range_are_refused(column: str, value: int) -> None:
    with pytest.raises(ScheduleError, match="out of range"):
        prove(changed(ring_all_reduce(4), column, 3, value), CollectiveKind.ALL_REDUCE)


def test_a_reduce_scatter_is_not_an_all_reduce() -> None:
    schedule = lookup(CollectiveKind.REDUCE_SCATTER, "ring", 4)
    with pytest.raises(ScheduleError, match="rank 0 ends without rank"):
        prove(schedule, CollectiveKind.ALL_REDUCE)
