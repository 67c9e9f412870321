"""Schedules of which only rank 0's rows are kept: laid out, they are what the algorithms' words say of every rank."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from oracles.rank_by_rank import KINDS, TURNED

from astra_ns3.collectives.lookup import lookup, pairs
from astra_ns3.collectives.ring import ring_all_reduce
from astra_ns3.collectives.schedule import COLUMNS, Schedule
from astra_ns3.collectives.volume import rank_costs
from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.errors import InputError

RANKS = (2, 3, 4, 5, 6, 7, 8, 11, 16)
each_turned = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name.lower())
each_algorithm = pytest.mark.parametrize("algorithm", TURNED)


def _turned(kind: CollectiveKind, algorithm: str) -> list[Schedule]:
    """For every number of ranks, those included for which a window has to be narrower."""
    least = 1 + int(algorithm[-1]) if algorithm[-1].isdigit() else 2
    return [lookup(kind, algorithm, ranks) for ranks in RANKS if ranks >= least]


@each_turned
@each_algorithm
def test_turned_rows_are_those_that_the_algorithm_says_rank_by_rank(kind: CollectiveKind, algorithm: str) -> None:
    for schedule in _turned(kind, algorithm):
        assert schedule.rotation is not None
        columns = [getattr(schedule, name).tolist() for name in COLUMNS]
        assert list(zip(*columns, strict=True)) == TURNED[algorithm](kind, schedule.ranks), schedule.ranks


def test_every_other_schedule_keeps_all_its_rows() -> None:
    for kind, name in pairs():
        if name not in TURNED or kind not in KINDS:
            assert lookup(kind, name, 8).rotation is None, (kind, name)


@each_turned
@each_algorithm
def test_a_rank_s_rows_and_sums_are_those_of_the_laid_out_columns(kind: CollectiveKind, algorithm: str) -> None:
    for schedule in _turned(kind, algorithm):
        plain = replace(schedule)
        assert plain.rotation is None
        assert schedule.messages == plain.messages == len(plain.sender)
        assert schedule.sent_blocks() == plain.sent_blocks()
        for bytes in (1, 1000, 12_345_678):
            assert schedule.all_bytes(bytes) == plain.all_bytes(bytes)
        for rank in range(schedule.ranks):
            for found, expected in (
                (schedule.sent_by(rank), plain.sent_by(rank)),
                (schedule.received_by(rank), plain.received_by(rank)),
            ):
                for name in COLUMNS:
                    assert getattr(found, name).tolist() == getattr(expected, name).tolist(), (name, rank)
            assert rank_costs(schedule, rank, 999, 7) == rank_costs(plain, rank, 999, 7)


@each_turned
@each_algorithm
def test_pairs_are_those_of_the_laid_out_columns(kind: CollectiveKind, algorithm: str) -> None:
    for schedule in _turned(kind, algorithm):
        assert schedule.rotation is not None
        expected = sorted({s * schedule.ranks + r for s, r in zip(schedule.sender, schedule.receiver, strict=True)})
        assert schedule.rotation.pairs().tolist() == expected


def test_a_changed_schedule_has_columns_of_its_own() -> None:
    schedule = ring_all_reduce(4)
    changed = replace(schedule, step=schedule.step + 1)
    assert changed.rotation is None
    assert changed.step.tolist() == (schedule.step + 1).tolist()
    assert changed.sender.tolist() == schedule.sender.tolist()


def test_what_is_no_column_is_missing() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'senders'"):
        ring_all_reduce(4).senders  # type: ignore[attr-defined]  # noqa: B018


def test_a_ring_of_8192_ranks_takes_the_memory_of_one_rank() -> None:
    schedule = ring_all_reduce(8192)
    assert schedule.messages == 8192 * 2 * 8191
    assert schedule.kept_rows == 2 * 8191
    assert schedule.all_bytes(8192) == 8192 * 2 * 8191
    assert rank_costs(schedule, 8191, 8192, 500_000).sent_bytes == 2 * 8191
    assert not set(COLUMNS) & set(vars(schedule))


def test_rows_that_32_bits_can_t_number_are_refused() -> None:
    with pytest.raises(InputError, match="more than 2147483647"):
        ring_all_reduce(1 << 16)


def test_columns_of_a_turned_schedule_are_laid_out_once() -> None:
    schedule = ring_all_reduce(5)
    assert schedule.sender is schedule.sender
    assert np.array_equal(np.bincount(schedule.sender), [8] * 5)
