"""The chain of messages that the last rank to begin sets off."""

from __future__ import annotations

import pytest

from astra_ns3.collectives.lookup import lookup
from astra_ns3.collectives.schedule import Schedule
from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.planning.chains import least_chain

REDUCE, SCATTER, GATHER = CollectiveKind.ALL_REDUCE, CollectiveKind.REDUCE_SCATTER, CollectiveKind.ALL_GATHER
EXCHANGE = CollectiveKind.ALL_TO_ALL


@pytest.mark.parametrize("ranks", [2, 3, 8, 16])
def test_a_ring_goes_all_the_way_round_behind_the_last_rank(ranks: int) -> None:
    assert least_chain(lookup(REDUCE, "ring", ranks)) == 2 * (ranks - 1)
    assert least_chain(lookup(SCATTER, "ring", ranks)) == ranks - 1
    assert least_chain(lookup(GATHER, "ring", ranks)) == ranks - 1


@pytest.mark.parametrize("log", [1, 2, 4])
def test_halving_and_doubling_has_a_message_a_step(log: int) -> None:
    assert least_chain(lookup(REDUCE, "halvingDoubling", 2**log)) == 2 * log
    assert least_chain(lookup(GATHER, "halvingDoubling", 2**log)) == log


def test_direct_messages_do_not_wait_for_each_other() -> None:
    assert least_chain(lookup(EXCHANGE, "direct", 8)) == 1
    assert least_chain(lookup(REDUCE, "direct", 8)) == 2


def test_a_tree_whose_rows_wait_for_one_child_of_two_counts_no_more_than_is_certain() -> None:
    schedule = lookup(REDUCE, "doubleBinaryTree", 8)
    assert 1 <= least_chain(schedule) <= min(walked(schedule, rank) for rank in range(8))


def walked(schedule: Schedule, last: int) -> int:
    """The chain by the rules of schedules, message by message, in Python: each rank handles step by step."""
    rows = sorted(range(schedule.messages), key=lambda row: int(schedule.step[row]))
    arrived: dict[tuple[int, int], list[int | None]] = {}

    def level(rank: int, step: int) -> int | None:
        """How long the chain is when a rank has handled all up to a step; None: it doesn't hang on the last rank."""
        of_lane = (
            found
            for (who, when), found in arrived.items()
            if who == rank and when <= step and (step - when) % schedule.lanes == 0
        )
        known = [each for found in of_lane for each in found]
        return max((each for each in known if each is not None), default=None)

    for row in rows:
        sender, receiver = int(schedule.sender[row]), int(schedule.receiver[row])
        step, waits = int(schedule.step[row]), int(schedule.wait_step[row])
        begun = level(sender, waits) if waits >= 0 else None
        if sender == last:
            begun = begun or 0
        arrived.setdefault((receiver, step), []).append(None if begun is None else begun + 1)
    return max(each for found in arrived.values() for each in found if each is not None)


@pytest.mark.parametrize("name", ["ring", "halvingDoubling", "direct"])
def test_no_rank_sets_off_a_shorter_chain(name: str) -> None:
    schedule = lookup(REDUCE, name, 8)
    assert least_chain(schedule) == min(walked(schedule, rank) for rank in range(8))
