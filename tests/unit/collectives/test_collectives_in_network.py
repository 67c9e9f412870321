"""Schedules of collectives that switches reduce: what they promise, what each line carries, what may be in a switch."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from astra_ns3.collectives.in_network import (
    IN_NETWORK,
    MOST_PIECES,
    channel_of_head,
    hung_from,
    in_network_schedule,
    pooled_schedule,
)
from astra_ns3.collectives.lookup import algorithm_names, is_in_network, lookup
from astra_ns3.collectives.proof import prove
from astra_ns3.collectives.schedule import Schedule, ScheduleError
from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.config.core.reduction import ABSENT, NOBODY, Trees
from astra_ns3.errors import InputError
from astra_ns3.frozen import replace

PIECE = 4096
KIND = CollectiveKind


def star(members: int, switches: int = 1, pieces: int = 16) -> Trees:
    """Members on each of some switches, and a tree for each switch."""
    parents = [
        tuple([members + switch] * members + [NOBODY if other == switch else ABSENT for other in range(switches)])
        for switch in range(switches)
    ]
    return Trees(tuple(range(switches)), tuple(parents), PIECE, pieces * PIECE)


def two_levels(leaves: int, each: int, pieces: int = 16) -> Trees:
    """Leaves with members, below one root."""
    members = leaves * each
    parents = [members + member // each for member in range(members)]
    return Trees(tuple(range(leaves + 1)), ((*parents, *[members + leaves] * leaves, NOBODY),), PIECE, pieces * PIECE)


SHAPES = {
    "star": star(4),
    "three": star(3),
    "two": star(2),
    "planes": star(4, switches=3),
    "levels": two_levels(3, 2),
    "little room": two_levels(2, 3, pieces=1),
}
SIZES = (1, 1000, 3 * PIECE, 40 * PIECE + 7)


def played(kind: KIND) -> KIND:
    """A barrier carries a block, as an all-reduce of one byte."""
    return KIND.ALL_REDUCE if kind is KIND.BARRIER else kind


def cases() -> list[tuple[str, KIND, str]]:
    return [
        (algorithm, kind, shape)
        for algorithm, kinds in IN_NETWORK.items()
        for kind in kinds
        for shape in SHAPES
        if algorithm != "nvls" or shape in ("star", "three", "two", "planes")
    ]


@pytest.mark.parametrize(("algorithm", "kind", "shape"), cases())
def test_every_member_ends_with_all_contributions_once(algorithm: str, kind: KIND, shape: str) -> None:
    for size in SIZES:
        prove(in_network_schedule(kind, algorithm, SHAPES[shape], size), played(kind))


def sent(schedule: Schedule, size: int, members: int) -> tuple[list[int], list[int]]:
    """Bytes of data that each member sends and gets."""
    sizes = np.where(schedule.block_count > 0, schedule.message_bytes(size), 0)
    return (
        [int(sizes[schedule.sender == member].sum()) for member in range(members)],
        [int(sizes[schedule.receiver == member].sum()) for member in range(members)],
    )


@pytest.mark.parametrize("trees", [star(2), star(5), two_levels(4, 4)], ids=["2", "5", "16"])
@pytest.mark.parametrize("algorithm", ["sharp", "fred"])
def test_a_tree_carries_the_data_once_each_way_on_a_members_line(algorithm: str, trees: Trees) -> None:
    size, members = 240 * PIECE, trees.members
    up, down = sent(in_network_schedule(KIND.ALL_REDUCE, algorithm, trees, size), size, members)
    assert up == down == [size] * members
    up, down = sent(in_network_schedule(KIND.REDUCE_SCATTER, algorithm, trees, size), size, members)
    assert up == [size - size // members] * members
    assert down == [size // members] * members
    up, down = sent(in_network_schedule(KIND.ALL_GATHER, algorithm, trees, size), size, members)
    assert up == [size] * members
    assert down == [size * (members - 1)] * members


@pytest.mark.parametrize(("members", "switches"), [(2, 1), (4, 1), (8, 1), (8, 4)])
def test_two_shots_carry_s_and_an_nth_each_way(members: int, switches: int) -> None:
    size, trees = 240 * PIECE, star(members, switches)
    share = size + size // members
    assert sent(in_network_schedule(KIND.ALL_REDUCE, "nvls", trees, size), size, members) == (
        [share] * members,
        [share] * members,
    )
    assert sent(in_network_schedule(KIND.REDUCE_SCATTER, "nvls", trees, size), size, members) == (
        [size] * members,
        [size // members] * members,
    )
    assert sent(in_network_schedule(KIND.ALL_GATHER, "nvls", trees, size), size, members) == (
        [size] * members,
        [size * members] * members,
    )


@pytest.mark.parametrize("members", [2, 3, 8])
@pytest.mark.parametrize(("pieces", "slots"), [(1, 8), (16, 8), (40, 4)])
def test_a_head_of_nvls_reduces_and_spreads_its_part_over_the_switch(members: int, pieces: int, slots: int) -> None:
    for head in (0, members - 1):
        schedule = channel_of_head(KIND.ALL_REDUCE, members, head, pieces, slots)
        prove(schedule, KIND.ALL_REDUCE)
        up, down = sent(schedule, pieces * PIECE, members)
        shot = [pieces * PIECE * (2 if member == head else 1) for member in range(members)]
        assert up == down == shot  # heads of n parts together: S (1 + 1/n)
    prove(channel_of_head(KIND.REDUCE, members, 0, pieces, slots), KIND.REDUCE)
    prove(channel_of_head(KIND.BROADCAST, members, 0, pieces, slots), KIND.BROADCAST)


def test_planes_share_the_data() -> None:
    size = 240 * PIECE
    for algorithm, each in (("fred", Fraction(4, 2)), ("nvls", Fraction(5, 2))):
        schedule = in_network_schedule(KIND.ALL_REDUCE, algorithm, star(4, switches=2), size)
        sizes = np.where(schedule.block_count > 0, schedule.message_bytes(size), 0)
        assert [int(sizes[schedule.receiver == 4 + switch].sum()) for switch in (0, 1)] == [each * size] * 2


def test_planes_share_the_parts_of_ranks() -> None:
    """Of four parts each switch has two: a rank sends its own once; all but its owner send their share of another."""
    size = 240 * PIECE
    for kind, each in ((KIND.ALL_GATHER, Fraction(2)), (KIND.REDUCE_SCATTER, Fraction(2 * 3, 4))):
        schedule = in_network_schedule(kind, "sharp", star(4, switches=2), size)
        sizes = np.where(schedule.block_count > 0, schedule.message_bytes(size), 0)
        assert [int(sizes[schedule.receiver == 4 + switch].sum()) for switch in (0, 1)] == [each * size] * 2


@pytest.mark.parametrize("room", [1, 3, 16])
def test_a_piece_waits_for_a_signal_of_the_switch_when_there_is_no_room(room: int) -> None:
    trees = two_levels(2, 2, pieces=room)
    schedule = in_network_schedule(KIND.ALL_REDUCE, "sharp", trees, 40 * PIECE)
    data = schedule.block_count > 0
    for member in range(trees.members):
        own = np.flatnonzero((schedule.sender == member) & data)
        waits = [int(row) for row in own if schedule.wait_step[row] >= 0]
        assert len(own) - len(waits) == room
        told = {int(schedule.step[row]) for row in np.flatnonzero((schedule.receiver == member) & ~data)}
        assert {int(schedule.wait_step[row]) for row in waits} <= told


@pytest.mark.parametrize("algorithm", ["sharp", "fred"])
def test_a_signal_on_each_line_confirms_the_last_piece_of_a_broadcast_and_of_a_reduce_alone(algorithm: str) -> None:
    """Four members and two leaves below the root; there is room for all pieces."""
    for kind in IN_NETWORK[algorithm]:
        schedule = in_network_schedule(kind, algorithm, two_levels(2, 2), 3 * PIECE)
        signals = 6 if kind in (KIND.BROADCAST, KIND.REDUCE) else 0
        assert np.count_nonzero(schedule.block_count == 0) == signals, kind


def test_pieces_grow_where_there_would_be_too_many() -> None:
    trees = star(2)
    assert in_network_schedule(KIND.ALL_REDUCE, "sharp", trees, 10 * PIECE).blocks == 10
    assert in_network_schedule(KIND.ALL_REDUCE, "sharp", trees, 8 * MOST_PIECES * PIECE).blocks == MOST_PIECES
    assert in_network_schedule(KIND.ALL_REDUCE, "sharp", trees, 80 * MOST_PIECES * PIECE).blocks == 10 * MOST_PIECES
    assert in_network_schedule(KIND.ALL_REDUCE, "sharp", star(2, pieces=1), 10_000 * PIECE).blocks == MOST_PIECES
    assert in_network_schedule(KIND.BARRIER, "sharp", trees, 1).blocks == 1


def test_fewer_pieces_have_room_in_a_switch_once_they_grow() -> None:
    """16 pieces of a usual size have room, 8 of the double size, and two always: one alone would stop a reducer."""
    for pieces, room in ((MOST_PIECES, 16), (2 * MOST_PIECES, 8), (20 * MOST_PIECES, 2)):
        schedule = in_network_schedule(KIND.ALL_REDUCE, "sharp", star(2, pieces=16), pieces * PIECE)
        own = (schedule.sender == 0) & (schedule.block_count > 0)
        assert np.count_nonzero(schedule.wait_step[own] < 0) == room


def test_equal_trees_share_a_schedule() -> None:
    one = in_network_schedule(KIND.ALL_REDUCE, "sharp", star(4), 40 * PIECE)
    assert in_network_schedule(KIND.ALL_REDUCE, "sharp", star(4), 40 * PIECE) is one


def test_a_tree_hangs_from_any_of_its_players() -> None:
    parents = (4, 4, 5, 5, 6, 6, NOBODY)
    assert hung_from(parents, 6) == parents
    assert hung_from(parents, 0) == (NOBODY, 4, 5, 5, 0, 6, 4)
    assert hung_from((2, 2, NOBODY, ABSENT), 1) == (2, NOBODY, 1, ABSENT)


def test_a_contribution_that_a_switch_loses_or_counts_twice_is_seen() -> None:
    schedule = in_network_schedule(KIND.ALL_REDUCE, "sharp", star(3), 100)
    lost = replace(schedule, wait_count=np.where(schedule.sender == 3, 2, schedule.wait_count).astype(np.int32))
    with pytest.raises(ScheduleError):
        prove(lost, KIND.ALL_REDUCE)
    receiver = schedule.receiver.copy()
    receiver[0] = 1  # the first member sends to the second besides, who sends its own
    with pytest.raises(ScheduleError):
        prove(replace(schedule, receiver=receiver), KIND.ALL_REDUCE)


def test_the_names_are_known_and_have_no_schedule_without_a_network() -> None:
    assert algorithm_names("ring_sharp") == ("ring", "sharp")
    assert algorithm_names("oneNvls") == ("oneNvls",)
    assert is_in_network("oneFred")
    assert not is_in_network("ring")
    with pytest.raises(ValueError, match=r"found 'sharp3', allowed: ring, .*nvls"):
        algorithm_names("sharp3")
    with pytest.raises(InputError, match="sharp: needs switches that reduce"):
        lookup(KIND.ALL_REDUCE, "sharp", 4)


@pytest.mark.parametrize("size", [4, 3 * PIECE, 40 * PIECE + 8])
def test_a_schedule_by_way_of_a_pool_passes_the_proof_and_carries_its_units(size: int) -> None:
    trees = two_levels(2, 3)
    alike = pooled_schedule(trees, size, (2, 2))
    prove(alike, KIND.ALL_REDUCE)
    assert (alike.ranks, alike.helpers) == (9, 4)  # the last member and three reducers
    unlike = pooled_schedule(trees, size, (4, 2))
    pool, above = 5, int(trees.parents[0][5])
    data = unlike.block_count > 0
    sizes = unlike.message_bytes(size)
    to_pool = data & (unlike.sender == above) & (unlike.receiver == pool)
    from_pool = data & (unlike.sender == pool)
    assert (sizes[to_pool].sum(), sizes[from_pool].sum()) == (size, size // 2)
