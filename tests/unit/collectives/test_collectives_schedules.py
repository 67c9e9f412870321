"""Shapes and sizes of the schedules: bytes per rank by formula, exact blocks, trees, windows, names."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from astra_ns3.collectives.algorithms import ALGORITHMS
from astra_ns3.collectives.double_binary_tree import max_rooted_tree, min_rooted_tree
from astra_ns3.collectives.lookup import lookup, played_kind, variants
from astra_ns3.collectives.schedule import Schedule
from astra_ns3.collectives.volume import rank_costs
from astra_ns3.config.core.collective_kind import TEXT_FORMAT_KINDS, CollectiveKind, parse_kind
from astra_ns3.errors import InputError

REDUCE = CollectiveKind.ALL_REDUCE
LARGEST_LARGE_SCHEDULE_BYTES = 200_000_000


def _sent(schedule: Schedule, bytes: int) -> list[int]:
    """Bytes that each rank sends, from the schedule's columns."""
    sent = np.zeros(schedule.ranks, dtype=np.int64)
    np.add.at(sent, schedule.sender, schedule.message_bytes(bytes))
    return [int(value) for value in sent]


@pytest.mark.parametrize("algorithm", ["ring", "direct", "direct1"])
@settings(deadline=None)
@given(ranks=st.integers(2, 40), share=st.integers(1, 1000))
def test_all_reduce_sends_2_n_minus_1_over_n_of_the_data_per_rank(algorithm: str, ranks: int, share: int) -> None:
    schedule = lookup(REDUCE, algorithm, ranks)
    assert _sent(schedule, share * ranks) == [2 * (ranks - 1) * share] * ranks


@settings(deadline=None)
@given(levels=st.integers(1, 6), share=st.integers(1, 1000))
def test_halving_doubling_sends_as_much_as_a_ring(levels: int, share: int) -> None:
    ranks = 2**levels
    assert _sent(lookup(REDUCE, "halvingDoubling", ranks), share * ranks) == [2 * (ranks - 1) * share] * ranks


@pytest.mark.parametrize("algorithm", ["ring", "direct", "direct1"])
@settings(deadline=None)
@given(ranks=st.integers(2, 40), share=st.integers(1, 1000))
def test_reduce_scatter_sends_n_minus_1_over_n_of_the_data_per_rank(algorithm: str, ranks: int, share: int) -> None:
    schedule = lookup(CollectiveKind.REDUCE_SCATTER, algorithm, ranks)
    assert _sent(schedule, share * ranks) == [(ranks - 1) * share] * ranks


@pytest.mark.parametrize("algorithm", ["ring", "direct"])
@settings(deadline=None)
@given(ranks=st.integers(2, 40), bytes=st.integers(1, 1000))
def test_all_gather_sends_n_minus_1_parts_per_rank(algorithm: str, ranks: int, bytes: int) -> None:
    assert _sent(lookup(CollectiveKind.ALL_GATHER, algorithm, ranks), bytes) == [(ranks - 1) * bytes] * ranks


@settings(deadline=None)
@given(ranks=st.integers(2, 40), share=st.integers(1, 1000))
def test_direct_all_to_all_sends_n_minus_1_shares_per_rank(ranks: int, share: int) -> None:
    schedule = lookup(CollectiveKind.ALL_TO_ALL, "direct", ranks)
    assert _sent(schedule, share * ranks) == [(ranks - 1) * share] * ranks


@settings(max_examples=20, deadline=None)
@given(ranks=st.integers(2, 24), share=st.integers(1, 1000))
def test_ring_all_to_all_forwards_n_n_minus_1_over_2_shares_per_rank(ranks: int, share: int) -> None:
    schedule = lookup(CollectiveKind.ALL_TO_ALL, "ring", ranks)
    assert _sent(schedule, share * ranks) == [ranks * (ranks - 1) // 2 * share] * ranks
    assert set(((schedule.receiver - schedule.sender) % ranks).tolist()) == {1}


@settings(deadline=None)
@given(ranks=st.integers(2, 40), bytes=st.integers(1, 1000), variant=st.integers(0, 3))
def test_tree_sends_2_n_minus_1_whole_messages_in_total(ranks: int, bytes: int, variant: int) -> None:
    assert sum(_sent(lookup(REDUCE, "doubleBinaryTree", ranks, variant), bytes)) == 2 * (ranks - 1) * bytes


@settings(deadline=None)
@given(ranks=st.integers(2, 20), bytes=st.integers(20, 10_000))
def test_blocks_of_data_that_n_does_not_divide_add_up_and_differ_by_a_byte(ranks: int, bytes: int) -> None:
    schedule = lookup(CollectiveKind.REDUCE_SCATTER, "direct", ranks)
    sizes = schedule.message_bytes(bytes)
    of_block = {block: set(sizes[schedule.first_block == block].tolist()) for block in range(ranks)}
    assert all(len(values) == 1 for values in of_block.values())
    assert sum(values.pop() for values in of_block.values()) == bytes
    assert sizes.max() - sizes.min() <= 1


@settings(deadline=None)
@given(ranks=st.integers(2, 20), bytes=st.integers(1, 5))
def test_no_message_is_empty(ranks: int, bytes: int) -> None:
    for algorithm in ("ring", "direct", "doubleBinaryTree"):
        assert lookup(REDUCE, algorithm, ranks).message_bytes(bytes).min() >= 1


@settings(deadline=None)
@given(ranks=st.integers(2, 16), bytes=st.integers(1, 10_000_000), rank=st.integers(0, 15))
def test_rank_costs_agree_with_the_columns(ranks: int, bytes: int, rank: int) -> None:
    rank %= ranks
    for kind in TEXT_FORMAT_KINDS:
        schedule = lookup(kind, "ring", ranks)
        costs = rank_costs(schedule, rank, bytes, 500_000)
        assert costs.sent_bytes == _sent(schedule, bytes)[rank]
        assert costs.receive_steps == np.count_nonzero(schedule.receiver == rank)
        reduced = schedule.message_bytes(bytes)[(schedule.receiver == rank) & schedule.reduces]
        assert costs.reduction_ns == sum(3 * (int(size) // 500_000) for size in reduced)


@pytest.mark.parametrize(
    ("kind", "algorithm", "messages"),
    [
        (REDUCE, "ring", 2 * 1023 * 1024),
        (REDUCE, "biRing", 4 * 1023 * 1024),
        (REDUCE, "halvingDoubling", 20 * 1024),
        (CollectiveKind.ALL_TO_ALL, "direct", 1023 * 1024),
        (CollectiveKind.ALL_TO_ALL, "bruck", 10 * 1024),
    ],
)
def test_a_schedule_of_1024_ranks_is_built_in_200_mb(kind: CollectiveKind, algorithm: str, messages: int) -> None:
    builder = ALGORITHMS[algorithm].builders[kind][0]  # not by way of the cache
    schedule = builder(1024)
    columns = [value for value in vars(schedule).values() if isinstance(value, np.ndarray)]
    if schedule.content is not None:
        columns += [schedule.content.offsets, schedule.content.blocks]
    assert schedule.messages == messages
    assert sum(column.nbytes for column in columns) < LARGEST_LARGE_SCHEDULE_BYTES


@pytest.mark.parametrize(
    ("algorithm", "batches"), [("direct", [7]), ("direct3", [3, 3, 1]), ("direct1", [1] * 7), ("direct7", [7])]
)
def test_a_window_lets_so_many_messages_out_and_each_received_one_more(algorithm: str, batches: list[int]) -> None:
    schedule = lookup(CollectiveKind.ALL_TO_ALL, algorithm, 8)
    mine = schedule.sender == 2
    assert schedule.receiver[mine].tolist() == [3, 4, 5, 6, 7, 0, 1]
    released = np.where(schedule.wait_step[mine] < 0, 0, schedule.wait_count[mine]).tolist()
    window = batches[0]
    assert released == [0] * window + list(range(1, 8 - window))


def test_the_second_round_of_direct_all_reduce_waits_for_the_whole_first_one() -> None:
    schedule = lookup(REDUCE, "direct3", 8)
    second = (schedule.sender == 0) & (schedule.step == 1)
    waits = list(zip(schedule.wait_step[second].tolist(), schedule.wait_count[second].tolist(), strict=True))
    assert waits == [(0, 7)] * 3 + [(1, 1), (1, 2), (1, 3), (1, 4)]
    assert set(schedule.first_block[second].tolist()) == {0}


def _edges(text: str) -> dict[int, int]:
    return {int(child): int(parent) for child, parent in (edge.split("->") for edge in text.split())}


def _parents(ranks: int, edges: str) -> list[int]:
    parents = _edges(edges)
    return [parents.get(rank, -1) for rank in range(ranks)]


# Traced on ASTRA-sim 1.0
MAX_8 = "0->1 2->1 4->5 6->5 1->3 5->3 3->7"
MIN_8 = "1->2 3->2 5->6 7->6 2->4 6->4 4->0"
MAX_16 = "0->1 2->1 4->5 6->5 8->9 10->9 12->13 14->13 1->3 5->3 9->11 13->11 3->7 11->7 7->15"
MIN_16 = "1->2 3->2 5->6 7->6 9->10 11->10 13->14 15->14 2->4 6->4 10->12 14->12 4->8 12->8 8->0"


@pytest.mark.parametrize(("ranks", "largest", "smallest"), [(8, MAX_8, MIN_8), (16, MAX_16, MIN_16)])
def test_trees_are_those_of_astra_sim(ranks: int, largest: str, smallest: str) -> None:
    assert max_rooted_tree(ranks).tolist() == _parents(ranks, largest)
    assert min_rooted_tree(ranks).tolist() == _parents(ranks, smallest)


@settings(deadline=None)
@given(ranks=st.integers(2, 200))
def test_trees_are_binary_and_as_low_as_can_be_for_any_number_of_ranks(ranks: int) -> None:
    for parents in (max_rooted_tree(ranks).tolist(), min_rooted_tree(ranks).tolist()):
        root = parents.index(-1)
        children = [parents.count(rank) for rank in range(ranks)]
        assert children[root] == 1
        assert max(children) <= 2
        for start in range(ranks):
            depth, rank = 0, start
            while rank != root:
                rank, depth = parents[rank], depth + 1
            assert depth <= (ranks - 1).bit_length()


def test_a_tree_sends_down_to_the_left_child_first() -> None:
    schedule = lookup(REDUCE, "doubleBinaryTree", 8, 0)
    assert schedule.receiver[(schedule.sender == 3) & (schedule.step == 1)].tolist() == [1, 5]


def test_chunks_take_turns_between_the_two_trees() -> None:
    names = [lookup(REDUCE, "doubleBinaryTree", 8, chunk).name for chunk in range(4)]
    assert names == ["doubleBinaryTree all_reduce (max)", "doubleBinaryTree all_reduce (min)"] * 2
    assert (variants(REDUCE, "doubleBinaryTree"), variants(REDUCE, "ring")) == (2, 1)


@pytest.mark.parametrize("name", ["ring", "direct3", "halvingDoubling"])
def test_the_one_spelling_is_the_same_on_one_dimension(name: str) -> None:
    spelled = "one" + name[0].upper() + name[1:]
    assert lookup(REDUCE, spelled, 8).name == lookup(REDUCE, name, 8).name


@pytest.mark.parametrize(
    ("kind", "algorithm", "ranks", "message"),
    [
        (REDUCE, "halvingDoubling", 12, "number of ranks must be a power of two, got 12"),
        (REDUCE, "direct8", 8, "window must be 1 to 7 messages for 8 ranks, got 8"),
        (REDUCE, "direct0", 8, "window must be 1 to 7"),
        (REDUCE, "rnig", 8, r"algorithm 'rnig' is not one of .*; did you mean 'ring'\?"),
        (REDUCE, "ring3", 8, "algorithm 'ring3' is not one of"),
        (CollectiveKind.ALL_TO_ALL, "doubleBinaryTree", 8, "can't do it; those that can: biRing, bruck, direct"),
        (CollectiveKind.ALL_TO_ALL, "ring", 100_000, "on 100000 ranks, 499995000000000 messages, would need"),
        (REDUCE, "ring", 0, "at least 1 rank"),
        (REDUCE, "halvingDoubling", 6, "for any number: ring, .*rabenseifner"),
        (REDUCE, "bruck", 8, "can't do it; those that can: .*rabenseifner"),
        (CollectiveKind.ALL_TO_ALL, "biRing", 100_000, "would need about"),
        (CollectiveKind.BROADCAST, "direct3", 8, "broadcast has no answers to fill a window with; use 'direct'"),
        (CollectiveKind.REDUCE, "direct3", 8, "reduce has no answers"),
        (CollectiveKind.REDUCE_SCATTER, "file:no-such-file.csv", 8, "no-such-file.csv: No such file"),
    ],
)
def test_what_an_algorithm_can_not_do_is_an_input_error(
    kind: CollectiveKind, algorithm: str, ranks: int, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        lookup(kind, algorithm, ranks)


@pytest.mark.parametrize("kind", TEXT_FORMAT_KINDS)
def test_a_tree_can_stand_in_for_every_collective(kind: CollectiveKind) -> None:
    played = played_kind(kind, "doubleBinaryTree", tree_for_every_collective=True)
    tree = [lookup(played, "doubleBinaryTree", 8, chunk) for chunk in (0, 1)]
    assert [schedule.name for schedule in tree] == [f"doubleBinaryTree all_reduce ({root})" for root in ("max", "min")]
    assert set(tree[0].message_bytes(1000).tolist()) == {1000}
    assert variants(played, "doubleBinaryTree") == 2
    assert played_kind(kind, "ring", tree_for_every_collective=True) is kind


@pytest.mark.parametrize(
    ("word", "kind"),
    [("all_reduce", REDUCE), ("ALLREDUCE", REDUCE), ("reduce-scatter", CollectiveKind.REDUCE_SCATTER)],
)
def test_a_collective_has_several_spellings(word: str, kind: CollectiveKind) -> None:
    assert parse_kind(word) is kind
    with pytest.raises(InputError, match=r"collective 'all_redcue' is not one of .*; did you mean 'all_reduce'\?"):
        parse_kind("all_redcue")
