"""A rank of a broadcast or a reduce that ends by sending hears that its messages have come, and nobody else is told."""

from __future__ import annotations

import numpy as np
import pytest
from support.any_schedule import rank_counts

from astra_ns3.collectives.lookup import lookup, pairs, variants
from astra_ns3.collectives.rounds import message_rounds
from astra_ns3.collectives.schedule import Schedule
from astra_ns3.config.core.collective_kind import CollectiveKind

ROOTED = (CollectiveKind.BROADCAST, CollectiveKind.REDUCE)
every_rooted = pytest.mark.parametrize(
    ("kind", "name"),
    [pair for pair in pairs() if pair[0] in ROOTED],
    ids=lambda value: str(getattr(value, "name", value)),
)


def schedules(kind: CollectiveKind, name: str) -> list[Schedule]:
    counts = rank_counts(kind, name, 17)
    return [lookup(kind, name, ranks, turn) for ranks in counts for turn in range(variants(kind, name))]


@every_rooted
def test_each_rank_ends_after_its_last_message_has_come(kind: CollectiveKind, name: str) -> None:
    for schedule in schedules(kind, name):
        rounds = message_rounds(schedule)
        carries = schedule.block_count > 0
        for rank in range(schedule.ranks):
            sent = rounds[(schedule.sender == rank) & carries]
            heard = rounds[schedule.receiver == rank]
            assert len(sent) == 0 or heard.max(initial=-1) > sent.max()


@every_rooted
def test_a_rank_is_told_once_by_each_receiver_of_its_last_messages(kind: CollectiveKind, name: str) -> None:
    for schedule in schedules(kind, name):
        told = schedule.block_count == 0
        toward = list(zip(schedule.receiver[told].tolist(), schedule.sender[told].tolist(), strict=True))
        sent = set(zip(schedule.sender[~told].tolist(), schedule.receiver[~told].tolist(), strict=True))
        assert len(set(toward)) == len(toward)
        assert set(toward) <= sent


def test_a_star_tells_each_of_its_ends_and_a_chain_each_but_the_last() -> None:
    for kind in ROOTED:
        for name in ("direct", "ring"):
            assert np.count_nonzero(lookup(kind, name, 9).block_count == 0) == 8


def test_other_collectives_have_no_signals() -> None:
    for kind, name in pairs():
        if kind not in (*ROOTED, CollectiveKind.BARRIER):
            assert np.all(lookup(kind, name, 8).block_count > 0)
