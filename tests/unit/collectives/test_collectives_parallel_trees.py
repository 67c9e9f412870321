"""PAT's trees: proved for all cuts, with steps and orders of work that follow by hand from the words of its paper."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from astra_ns3.collectives.parallel_trees import KINDS, TreesCut, most_trees, parallel_trees, parallel_trees_told
from astra_ns3.collectives.proof import ScheduleError, prove
from astra_ns3.collectives.schedule import COLUMNS, Schedule
from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.errors import InputError
from astra_ns3.frozen import replace

GATHER, SCATTER = CollectiveKind.ALL_GATHER, CollectiveKind.REDUCE_SCATTER
each_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name.lower())


@st.composite
def ranks_and_cuts(draw: st.DrawFn) -> tuple[int, TreesCut]:
    ranks = draw(st.integers(2, 20))
    trees = 1 << draw(st.integers(0, most_trees(ranks).bit_length() - 1))
    together = 1 << draw(st.integers(0, trees.bit_length() - 1))
    return ranks, TreesCut(draw(st.integers(1, 3)), trees, together)


def rank_0(schedule: Schedule) -> list[tuple[int, int, int]]:
    """Receiver, pieces and the step waited for of what rank 0 sends."""
    own = schedule.sent_by(0)
    return list(zip(own.receiver.tolist(), own.block_count.tolist(), own.wait_step.tolist(), strict=True))


@each_kind
@settings(max_examples=25, deadline=None)
@given(drawn=ranks_and_cuts())
def test_trees_do_what_their_collective_promises(kind: CollectiveKind, drawn: tuple[int, TreesCut]) -> None:
    ranks, cut = drawn
    told, played = parallel_trees_told(kind, ranks, cut), parallel_trees(kind, ranks, cut)
    combines = prove(told, kind, shuffles=2).combines
    np.testing.assert_array_equal(told.reduces, combines)
    for name in COLUMNS:
        np.testing.assert_array_equal(getattr(told, name), getattr(played, name))
    assert told.all_bytes(ranks * 3 * 7) == played.all_bytes(ranks * 3 * 7)


@each_kind
@pytest.mark.parametrize("ranks", [2, 4, 8, 16, 32])
def test_steps_are_the_dimensions_of_trees_and_the_walk_of_the_rest(kind: CollectiveKind, ranks: int) -> None:
    """log2(trees) steps, and one for each of the ranks / trees - 1 other offsets of a tree."""
    trees = 1
    while trees <= most_trees(ranks):
        schedule = parallel_trees(kind, ranks, TreesCut(1, trees, trees))
        assert schedule.kept_rows == (trees.bit_length() - 1) + ranks // trees - 1
        trees *= 2


@pytest.mark.parametrize("ranks", [5, 8, 11, 16])
def test_all_trees_at_once_send_far_first_and_twice_as_much_each_time(ranks: int) -> None:
    """Bruck's all-gather with its dimensions reversed: half way round first, which carries one piece."""
    trees = most_trees(ranks)
    gather = rank_0(parallel_trees(GATHER, ranks, TreesCut(1, trees, trees)))
    distances = [1 << power for power in reversed(range((ranks - 1).bit_length()))]
    assert [receiver for receiver, _, _ in gather] == [-distance % ranks for distance in distances]
    # Offsets of a dimension that are ranks: its odd multiples.
    pieces = [len(range(distance, ranks, 2 * distance)) for distance in distances]
    assert [count for _, count, _ in gather] == pieces
    scatter = rank_0(parallel_trees(SCATTER, ranks, TreesCut(1, trees, trees)))
    assert [receiver for receiver, _, _ in scatter] == distances[::-1]
    assert [count for _, count, _ in scatter] == pieces[::-1]


def test_one_tree_is_walked_branch_by_branch() -> None:
    """8 ranks: to offset 4 and its branch 6, 7, 5, then 2, 3, then 1; sums come in from 7 down to 1."""
    gather = rank_0(parallel_trees(GATHER, 8, TreesCut(1, 1, 1)))
    assert [-receiver % 8 for receiver, _, _ in gather] == [4, 2, 1, 1, 2, 1, 1]
    assert [wait for *_, wait in gather] == [-1, 0, 1, 2, 3, 4, 5]
    scatter = rank_0(parallel_trees(SCATTER, 8, TreesCut(1, 1, 1)))
    assert [receiver for receiver, _, _ in scatter] == [1, 2, 1, 4, 1, 2, 1]
    assert [wait for *_, wait in scatter] == [-1, 0, 1, 2, 3, 4, 5]


def test_what_a_rank_has_itself_waits_for_nothing() -> None:
    """10 ranks, 8 trees, a piece a message: own pieces 8, 4 and 2 away leave before anything has come, by hand."""
    rows = rank_0(parallel_trees(GATHER, 10, TreesCut(1, 8, 1)))
    assert [(-receiver % 10, wait) for receiver, _, wait in rows] == [
        *((8, -1), (4, -1)),
        *((2, 0), (2, 1)),
        *((1, 1), (1, 2), (1, 2), (1, 3), (1, 3)),
    ]


def test_a_leaf_is_copied_out_before_the_next_branch_though_the_last_tree_has_none() -> None:
    """6 ranks, 2 trees, a piece a message: offsets 4, 2, 3 (a leaf; its twin 7 is no rank), then 1 and 5, by hand."""
    rows = rank_0(parallel_trees(GATHER, 6, TreesCut(1, 2, 1)))
    assert [(-receiver % 6, wait) for receiver, _, wait in rows] == [(4, -1), (2, -1), (1, 1), (1, 2), (1, 2)]


def test_sums_go_on_in_the_order_in_which_they_are_ready() -> None:
    """8 ranks, 4 trees, a piece a message: 7, 3, 5, 1 come from next door; sums 6 and 2 need 7 and 3, by hand."""
    rows = rank_0(parallel_trees(SCATTER, 8, TreesCut(1, 4, 1)))
    assert [(receiver, wait) for receiver, _, wait in rows] == [*((1, -1),) * 4, (2, 0), (2, 1), (4, 5)]


def test_a_chunk_begins_when_the_one_before_has_come() -> None:
    waits = [wait for *_, wait in rank_0(parallel_trees(GATHER, 4, TreesCut(2, 2, 2)))]
    assert waits == [-1, 0, 1, 2]


@pytest.mark.parametrize(
    ("cut", "words"),
    [
        (TreesCut(1, 3, 1), "trees is 3, expected a power of two up to 4 for 8 ranks"),
        (TreesCut(1, 8, 1), "trees is 8, expected a power of two up to 4 for 8 ranks"),
        (TreesCut(1, 2, 4), "together is 4, expected a power of two up to 2 for 8 ranks"),
        (TreesCut(1, 2, 0), "together is 0, expected a power of two up to 2 for 8 ranks"),
    ],
)
def test_cuts_that_don_t_fit_are_refused(cut: TreesCut, words: str) -> None:
    with pytest.raises(InputError, match=words):
        parallel_trees(GATHER, 8, cut)


@each_kind
def test_a_piece_that_leaves_too_early_is_refused(kind: CollectiveKind) -> None:
    told = parallel_trees_told(kind, 8, TreesCut(1, 2, 1))
    assert (told.wait_step > 0).any()
    early = replace(told, wait_step=np.where(told.wait_step == told.wait_step.max(), -1, told.wait_step))
    with pytest.raises(ScheduleError):
        prove(early, kind)
