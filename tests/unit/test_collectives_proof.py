"""Every registered algorithm is proved for many numbers of ranks, and the proof refuses what is wrong."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from astra_ns3.collectives.double_binary_tree import max_tree_all_reduce
from astra_ns3.collectives.halving_doubling import owned_blocks
from astra_ns3.collectives.proof import ScheduleError, prove
from astra_ns3.collectives.registry import ALGORITHMS, lookup, variants
from astra_ns3.collectives.ring import ring_all_gather, ring_all_reduce
from astra_ns3.collectives.schedule import Schedule
from astra_ns3.config.collective_kind import CollectiveKind

ALL = [(kind, name) for name, algorithm in ALGORITHMS.items() for kind in algorithm.builders]
COLUMNS = ("sender", "receiver", "step", "first_block", "block_count", "reduces", "wait_step", "wait_count")


@pytest.mark.parametrize(("kind", "name"), ALL, ids=lambda value: str(getattr(value, "name", value)))
@settings(max_examples=12, deadline=None)
@given(data=st.data())
def test_every_algorithm_does_what_its_collective_promises(
    kind: CollectiveKind, name: str, data: st.DataObject
) -> None:
    if ALGORITHMS[name].needs_power_of_two:
        ranks = 2 ** data.draw(st.integers(1, 5))
    else:
        ranks = data.draw(st.integers(2, 14 if (kind, name) == (CollectiveKind.ALL_TO_ALL, "ring") else 33))
    variant = data.draw(st.integers(0, 5))
    algorithm = name
    if ALGORITHMS[name].takes_window:
        window = data.draw(st.none() | st.integers(1, ranks - 1))
        algorithm = name if window is None else f"{name}{window}"
    owner = owned_blocks(ranks).tolist() if name == "halvingDoubling" else None
    prove(lookup(kind, algorithm, ranks, variant), kind, owner=owner, seed=variant)


@pytest.mark.parametrize(("kind", "name"), ALL, ids=lambda value: str(getattr(value, "name", value)))
def test_one_rank_has_nothing_to_send(kind: CollectiveKind, name: str) -> None:
    schedule = lookup(kind, name, 1)
    assert (schedule.ranks, schedule.messages) == (1, 0)
    prove(schedule, kind)


@pytest.mark.parametrize("name", ["ring", "direct", "direct3"])
@pytest.mark.parametrize("kind", list(CollectiveKind))
def test_the_reduction_delay_is_paid_exactly_where_a_message_is_combined(name: str, kind: CollectiveKind) -> None:
    schedule = lookup(kind, name, 7)
    np.testing.assert_array_equal(schedule.reduces, prove(schedule, kind).combines)


def test_tree_charges_the_reduction_delay_on_the_way_up_and_to_inner_nodes_on_the_way_down() -> None:
    schedule = max_tree_all_reduce(8)
    combines = prove(schedule, CollectiveKind.ALL_REDUCE).combines
    up = schedule.step == 0
    np.testing.assert_array_equal(combines, up)
    # semantics of ASTRA-sim 1.0: of its ranks 1, 3 and 5 are inner nodes (the root, 7, receives nothing downwards)
    np.testing.assert_array_equal(schedule.reduces, up | np.isin(schedule.receiver, [1, 3, 5]))


def test_halving_doubling_pays_for_all_reductions_but_the_first_one() -> None:
    schedule = lookup(CollectiveKind.ALL_REDUCE, "halvingDoubling", 16)
    per_rank = np.bincount(schedule.receiver[schedule.reduces], minlength=16)
    assert per_rank.tolist() == [3] * 16


def _without(schedule: Schedule, row: int) -> Schedule:
    columns: dict[str, Any] = {name: np.delete(getattr(schedule, name), row) for name in COLUMNS}
    return replace(schedule, **columns)


def _with_row_again(schedule: Schedule, row: int) -> Schedule:
    rows = [*range(schedule.messages), row]
    columns: dict[str, Any] = {name: getattr(schedule, name)[rows] for name in COLUMNS}
    return replace(schedule, **columns)


def _on_one_block(ranks: int, rows: dict[str, list[int]]) -> Schedule:
    """A schedule whose rows all carry the whole data and are reduced."""
    messages = len(rows["sender"])
    columns: dict[str, Any] = {name: np.array(values, dtype=np.int32) for name, values in rows.items()}
    columns |= {"first_block": np.zeros(messages, np.int32), "block_count": np.ones(messages, np.int32)}
    return Schedule("by hand", ranks, 1, reduces=np.ones(messages, dtype=np.bool_), **columns)


def _changed(schedule: Schedule, column: str, row: int, value: int) -> Schedule:
    values = getattr(schedule, column).copy()
    values[row] = value
    changes: dict[str, Any] = {column: values}
    return replace(schedule, **changes)


@settings(max_examples=40, deadline=None)
@given(data=st.data(), ranks=st.integers(2, 9))
def test_a_schedule_that_lacks_a_message_is_refused(data: st.DataObject, ranks: int) -> None:
    kind, name = data.draw(st.sampled_from([entry for entry in ALL if entry[1] != "halvingDoubling"]))
    schedule = lookup(kind, name, ranks, data.draw(st.integers(0, variants(kind, name) - 1)))
    with pytest.raises(ScheduleError):
        prove(_without(schedule, data.draw(st.integers(0, schedule.messages - 1))), kind)


@settings(max_examples=40, deadline=None)
@given(data=st.data(), ranks=st.integers(2, 9))
def test_a_schedule_with_a_message_twice_is_refused(data: st.DataObject, ranks: int) -> None:
    kind, name = data.draw(st.sampled_from([entry for entry in ALL if entry[1] != "halvingDoubling"]))
    schedule = lookup(kind, name, ranks)
    with pytest.raises(ScheduleError):
        prove(_with_row_again(schedule, data.draw(st.integers(0, schedule.messages - 1))), kind)


def test_a_wait_for_more_than_comes_is_a_deadlock() -> None:
    schedule = ring_all_reduce(4)
    with pytest.raises(ScheduleError, match="deadlock; rank 0 for 2 of step 0"):
        prove(_changed(schedule, "wait_count", 1, 2), CollectiveKind.ALL_REDUCE)


def test_ranks_that_wait_for_each_other_are_a_deadlock() -> None:
    schedule = ring_all_gather(3)
    for row in range(0, schedule.messages, 2):  # the first message of each rank
        schedule = _changed(_changed(schedule, "wait_step", row, 0), "wait_count", row, 1)
    with pytest.raises(ScheduleError, match="deadlock"):
        prove(schedule, CollectiveKind.ALL_GATHER)


def test_a_block_sent_before_it_is_held_is_refused() -> None:
    schedule = ring_all_gather(4)
    assert (schedule.sender[1], schedule.first_block[1]) == (0, 3)
    with pytest.raises(ScheduleError, match=r"row 1 \(rank 0 to 1\): rank 0 sends block 3, which it doesn't hold"):
        prove(_changed(_changed(schedule, "wait_step", 1, -1), "wait_count", 1, 0), CollectiveKind.ALL_GATHER)


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


@pytest.mark.parametrize(
    ("column", "value"), [("sender", 4), ("receiver", -1), ("first_block", 4), ("block_count", 0), ("step", -1)]
)
def test_columns_out_of_range_are_refused(column: str, value: int) -> None:
    with pytest.raises(ScheduleError, match="out of range"):
        prove(_changed(ring_all_reduce(4), column, 3, value), CollectiveKind.ALL_REDUCE)


def test_a_reduce_scatter_is_not_an_all_reduce() -> None:
    schedule = lookup(CollectiveKind.REDUCE_SCATTER, "ring", 4)
    with pytest.raises(ScheduleError, match="rank 0 ends without rank"):
        prove(schedule, CollectiveKind.ALL_REDUCE)
