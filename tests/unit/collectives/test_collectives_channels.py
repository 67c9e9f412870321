"""Channels of a collective library: proved, counted by formulas, and never more under way than there are slots."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles.carried_parts import exchanged
from oracles.lane_play import happenings, most_under_way
from support.any_schedule import changed, rows_of, without

from astra_ns3.collectives.channel_exchange import (
    ExchangeCut,
    Peers,
    all_rounds,
    channel_exchange,
    channel_shift,
)
from astra_ns3.collectives.channel_ring import KINDS, ChannelCut, channel_ring
from astra_ns3.collectives.channel_tree import channel_tree
from astra_ns3.collectives.proof import ScheduleError, prove
from astra_ns3.collectives.schedule import Schedule
from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.errors import InputError

ALL_REDUCE, ALL_GATHER = CollectiveKind.ALL_REDUCE, CollectiveKind.ALL_GATHER
TREES = (ALL_REDUCE, CollectiveKind.REDUCE, CollectiveKind.BROADCAST)
CHAIN = (-1, 0, 1, 2)
each_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name.lower())
each_tree = pytest.mark.parametrize("kind", TREES, ids=lambda kind: kind.name.lower())
cuts = st.builds(
    lambda loops, slices, more: ChannelCut(loops, slices, None if more is None else slices + more),
    st.integers(1, 3),
    st.integers(1, 3),
    st.none() | st.integers(1, 6),
)


@st.composite
def trees(draw: st.DrawFn, most: int = 9) -> tuple[int, ...]:
    """Parents of any tree with rank 0 at the root; other ranks in any order."""
    ranks = draw(st.integers(2, most))
    order = [0, *draw(st.permutations(range(1, ranks)))]
    parents = [-1] * ranks
    for place in range(1, ranks):
        parents[order[place]] = order[draw(st.integers(0, place - 1))]
    return tuple(parents)


def _sent(schedule: Schedule, bytes: int) -> list[tuple[int, int, int]]:
    """Of each rank: messages with data, their bytes, signals."""
    sizes = schedule.message_bytes(bytes)
    of_data = schedule.block_count > 0
    return [
        (
            int((of_data & (schedule.sender == rank)).sum()),
            int(sizes[of_data & (schedule.sender == rank)].sum()),
            int((~of_data & (schedule.sender == rank)).sum()),
        )
        for rank in range(schedule.ranks)
    ]


@each_kind
@pytest.mark.parametrize("ranks", range(2, 10))
def test_a_ring_s_channel_does_what_its_collective_promises(kind: CollectiveKind, ranks: int) -> None:
    for cut in (ChannelCut(), ChannelCut(2, 1), ChannelCut(1, 2, 3), ChannelCut(2, 2, 4), ChannelCut(3, 1, 2)):
        schedule = channel_ring(kind, ranks, cut)
        combines = prove(schedule, kind).combines
        # The receiver pays for adding where it adds; signals add nothing.
        np.testing.assert_array_equal(schedule.reduces & (schedule.block_count > 0), combines)


@each_kind
@settings(max_examples=40, deadline=None)
@given(ranks=st.integers(2, 9), cut=cuts)
def test_each_rank_of_a_ring_sends_its_share(kind: CollectiveKind, ranks: int, cut: ChannelCut) -> None:
    times = 2 if kind is ALL_REDUCE else 1
    messages = times * (ranks - 1) * cut.loops * cut.slices
    part = cut.loops * cut.slices * 40  # bytes of a rank's part
    brought = part if kind is ALL_GATHER else part * ranks
    signals = 0 if cut.slots is None else max(messages - cut.slots, 0)
    found = _sent(channel_ring(kind, ranks, cut), brought)
    assert found == [(messages, times * (ranks - 1) * part, signals)] * ranks


@settings(max_examples=40, deadline=None)
@given(data=st.data(), kind=st.sampled_from(KINDS), ranks=st.integers(2, 6), slices=st.integers(1, 3))
def test_a_ring_s_next_rank_never_needs_more_places_than_it_has(
    data: st.DataObject, kind: CollectiveKind, ranks: int, slices: int
) -> None:
    slots = slices + data.draw(st.integers(1, 3))
    schedule = channel_ring(kind, ranks, ChannelCut(2, slices, slots))
    seed = data.draw(st.integers(0, 1000))
    assert most_under_way(schedule, seed) <= slots
    assert most_under_way(schedule, seed, lazy=True) <= slots


@pytest.mark.parametrize(("slices", "slots"), [(1, 1), (2, 2), (4, 2), (3, 0)])
def test_a_ring_needs_more_slots_than_slices(slices: int, slots: int) -> None:
    words = f"needs more slots than slices a chunk, got {slots} slots and {slices} slices"
    with pytest.raises(InputError, match=words):
        channel_ring(ALL_REDUCE, 4, ChannelCut(2, slices, slots))


@each_tree
@settings(max_examples=30, deadline=None)
@given(parents=trees(), chunks=st.integers(1, 6), slots=st.none() | st.integers(1, 4))
def test_a_tree_s_channel_does_what_its_collective_promises(
    kind: CollectiveKind, parents: tuple[int, ...], chunks: int, slots: int | None
) -> None:
    schedule = channel_tree(kind, parents, chunks, slots)
    combines = prove(schedule, kind).combines
    np.testing.assert_array_equal(schedule.reduces, combines)
    ways = 2 if kind is ALL_REDUCE else 1
    data = schedule.block_count > 0
    edges = len(parents) - 1
    assert int(data.sum()) == ways * edges * chunks
    assert int((~data).sum()) == (0 if slots is None else ways * edges * max(chunks - slots, 0))
    # Each edge carries the whole once each way.
    bytes = 90 * chunks
    of_pair: Counter[tuple[int, int]] = Counter()
    for sender, receiver, size, is_data in zip(
        schedule.sender.tolist(),
        schedule.receiver.tolist(),
        schedule.message_bytes(bytes).tolist(),
        data.tolist(),
        strict=True,
    ):
        of_pair[sender, receiver] += size * is_data
    up = {(child, parent): bytes for child, parent in enumerate(parents) if parent >= 0}
    down = {(parent, child): bytes for child, parent in up}
    expected = {
        **(up if kind is not CollectiveKind.BROADCAST else {}),
        **(down if kind is not CollectiveKind.REDUCE else {}),
    }
    assert {pair: size for pair, size in of_pair.items() if size} == expected


@settings(max_examples=25, deadline=None)
@given(data=st.data(), parents=trees(6), kind=st.sampled_from(TREES), chunks=st.integers(2, 5), slots=st.integers(1, 3))
def test_a_tree_s_ranks_never_need_more_places_than_they_have(
    data: st.DataObject, parents: tuple[int, ...], kind: CollectiveKind, chunks: int, slots: int
) -> None:
    schedule = channel_tree(kind, parents, chunks, slots)
    seed = data.draw(st.integers(0, 1000))
    assert most_under_way(schedule, seed) <= slots
    # A broadcast's root, and a reduce's leaves, fill all places at once.
    assert most_under_way(schedule, seed, lazy=True) == min(slots, chunks)


def test_a_barrier_s_tree_is_an_all_reduce_s() -> None:
    barrier, reduce = (channel_tree(kind, CHAIN, 1, 8) for kind in (CollectiveKind.BARRIER, ALL_REDUCE))
    prove(replace(barrier), ALL_REDUCE)
    assert barrier.messages == reduce.messages == 2 * 3


def test_chunks_go_down_a_tree_while_others_go_up() -> None:
    """In a chain of 4, the first chunk comes down before the last one goes up; with one lane it could not."""
    schedule = channel_tree(ALL_REDUCE, CHAIN, 6, None)
    assert schedule.lanes == 2
    down = schedule.step % 2 == 1
    assert {tuple(row) for row in np.stack([schedule.sender, schedule.receiver])[:, down].T.tolist()} == {
        (0, 1),
        (1, 2),
        (2, 3),
    }


@settings(max_examples=40, deadline=None)
@given(
    ranks=st.integers(2, 9),
    cut=st.builds(ExchangeCut, st.integers(1, 10), st.integers(1, 4), st.integers(1, 6)),
)
def test_an_exchange_brings_each_rank_its_part_of_all_others(ranks: int, cut: ExchangeCut) -> None:
    peers = Peers(ranks, all_rounds(ranks))
    schedule = channel_exchange(peers, cut)
    prove(exchanged(schedule, peers.rounds, ranks, ranks), CollectiveKind.ALL_TO_ALL)
    assert schedule.lanes == min(cut.at_once, ranks - 1) * (2 if cut.slices > cut.slots else 1)
    part = 30 * cut.slices
    signals = (ranks - 1) * max(cut.slices - cut.slots, 0)
    assert _sent(schedule, part * (ranks - 1)) == [((ranks - 1) * cut.slices, (ranks - 1) * part, signals)] * ranks
    of_data = schedule.block_count > 0
    pairs = Counter(zip(schedule.sender[of_data].tolist(), schedule.receiver[of_data].tolist(), strict=True))
    assert pairs == {(i, j): cut.slices for i in range(ranks) for j in range(ranks) if i != j}


def test_an_exchange_serves_so_many_peers_at_once() -> None:
    schedule = channel_exchange(Peers(9, all_rounds(9)), ExchangeCut(at_once=3, slices=2, slots=2))
    first = schedule.sender == 0
    # Peer by peer: the first three at once, and a slice of the next one when as many as there are slots have come.
    free = schedule.receiver[first & (schedule.wait_step < 0)].tolist()
    assert free == [1, 1, 2, 2, 3, 3]
    lane_of_peer = {
        peer: set((schedule.step[first & (schedule.receiver == peer)] % 3).tolist()) for peer in range(1, 9)
    }
    assert lane_of_peer == {peer: {(peer - 1) % 3} for peer in range(1, 9)}


@pytest.mark.parametrize("kind", [ALL_REDUCE, CollectiveKind.REDUCE, CollectiveKind.BROADCAST], ids=str)
@pytest.mark.parametrize("together", [1, 2, 3, 4])
@pytest.mark.parametrize("chunks", [4, 5, 8, 13])
def test_a_signal_of_a_tree_tells_of_several_chunks(kind: CollectiveKind, together: int, chunks: int) -> None:
    schedule = channel_tree(kind, (-1, 0, 1, 1), chunks, 4, together)
    prove(schedule, kind)
    ways = 2 if kind is ALL_REDUCE else 1
    assert int((schedule.block_count == 0).sum()) == ways * 3 * -(-max(chunks - 4, 0) // together)


@pytest.mark.parametrize("kind", [CollectiveKind.REDUCE, CollectiveKind.BROADCAST], ids=str)
@settings(max_examples=30, deadline=None)
@given(
    parents=trees(),
    chunks=st.integers(1, 9),
    slots=st.none() | st.integers(1, 4),
    together=st.integers(1, 4),
    seed=st.integers(0, 1000),
    lazy=st.booleans(),
)
def test_a_confirmed_tree_ends_on_each_rank_after_its_chunks_have_been_handled(
    kind: CollectiveKind,
    parents: tuple[int, ...],
    chunks: int,
    slots: int | None,
    together: int,
    seed: int,
    *,
    lazy: bool,
) -> None:
    together = min(together, slots or 1)
    plain = channel_tree(kind, parents, chunks, slots, together)
    schedule = channel_tree(kind, parents, chunks, slots, together, confirms=True)
    prove(schedule, kind)
    assert schedule.messages == plain.messages + len(parents) - 1  # one signal more on each edge
    last_sent: dict[int, int] = {}
    last_heard: dict[int, int] = {}
    for time, each in enumerate(happenings(schedule, seed, lazy=lazy)):
        if not each.is_sent:
            last_heard[int(schedule.receiver[each.row])] = time
            if schedule.block_count[each.row]:
                last_sent[int(schedule.sender[each.row])] = time
    assert all(last_heard[rank] > time for rank, time in last_sent.items())


def test_chunks_that_one_signal_lets_go_leave_together() -> None:
    """4 slots, a signal of 3 chunks: the leaf sends 4, and 3 more once the first 3 are added up."""
    schedule = channel_tree(CollectiveKind.REDUCE, (-1, 0), 9, 4, 3)
    data = (schedule.sender == 1) & (schedule.block_count == 1)
    signals = schedule.block_count == 0
    assert schedule.wait_step[data].tolist() == [-1] * 4 + [2 * 2 * 4] * 3 + [2 * 2 * 7] * 2
    assert schedule.step[signals].tolist() == [2 * 2 * 4, 2 * 2 * 7]
    assert schedule.wait_step[signals].tolist() == [2 * (2 * 2 + 1), 2 * (2 * 5 + 1)]


def test_an_exchange_meets_its_peers_in_the_order_of_distances() -> None:
    """NCCL's quadratic ones of 8: three at once, each slice brings the part of its receiver."""
    distances = (1, 3, 6, 2, 7, 5, 4)
    peers = Peers(8, tuple((0, away) for away in distances))
    schedule = channel_exchange(peers, ExchangeCut(at_once=3, slices=1, slots=1))
    prove(exchanged(schedule, peers.rounds, 8, 8), CollectiveKind.ALL_TO_ALL)
    of_2 = schedule.sender == 2
    assert schedule.receiver[of_2].tolist() == [(2 + away) % 8 for away in distances]
    assert schedule.step[of_2].tolist() == [0, 1, 2, 3, 4, 5, 6]
    assert schedule.wait_step[of_2].tolist() == [-1, -1, -1, 0, 1, 2, 3]


# Groups, ranks of each, and the gates of a server: none, one a rank (NCCL's PXN), two ranks to a NIC, larger servers.
RELAYS = [
    (1, 6, ()),
    (3, 2, ()),
    (2, 4, (0, 1, 2, 3)),
    (3, 3, (0, 1, 2)),
    (2, 4, (0, 0, 2, 2)),
    (4, 2, (0, 1, 2, 3)),
    (4, 2, (0, 0, 3, 3)),
]
each_relay = pytest.mark.parametrize(("groups", "inner", "gates"), RELAYS)
exchange_cuts = st.builds(
    lambda at_once, slices, slots, together: ExchangeCut(at_once, slices, slots, min(together, slots)),
    *(st.integers(1, most) for most in (8, 6, 4, 4)),
)


def _all_peers(groups: int, inner: int, gates: tuple[int, ...]) -> Peers:
    rounds = tuple((far, near) for far in range(groups) for near in range(inner) if far or near)
    return Peers(groups * inner, rounds, inner, gates)


@each_relay
@settings(max_examples=8, deadline=None)
@given(cut=exchange_cuts)
def test_relayed_messages_reach_all_peers(groups: int, inner: int, gates: tuple[int, ...], cut: ExchangeCut) -> None:
    peers = _all_peers(groups, inner, gates)
    schedule = channel_exchange(peers, cut)
    prove(exchanged(schedule, peers.rounds, inner, len(gates) or groups * inner), CollectiveKind.ALL_TO_ALL)


@each_relay
def test_only_gates_send_to_other_servers(groups: int, inner: int, gates: tuple[int, ...]) -> None:
    """Between servers each pair of ranks has a message, by the gate of its receiver's place; inside those of gates."""
    server = len(gates) or inner
    schedule = channel_exchange(_all_peers(groups, inner, gates), ExchangeCut(8, 1, 8))
    ranks = range(groups * inner)
    expected = Counter[tuple[int, int]]()
    for sender in ranks:
        for receiver in ranks:
            if sender == receiver:
                continue
            gate = sender
            if gates and sender // server != receiver // server:
                gate = sender // server * server + gates[receiver % server]
            expected[gate, receiver] += 1
            expected[sender, gate] += gate != sender
    assert Counter(zip(schedule.sender.tolist(), schedule.receiver.tolist(), strict=True)) == +expected


@each_relay
@pytest.mark.parametrize("lazy", [False, True])
@pytest.mark.parametrize("together", [1, 2])
def test_no_more_slices_are_under_way_than_there_are_places(
    groups: int, inner: int, gates: tuple[int, ...], together: int, *, lazy: bool
) -> None:
    peers = Peers(groups * inner, _all_peers(groups, inner, gates).rounds[-2:], inner, gates)
    schedule = channel_exchange(peers, ExchangeCut(8, 5, 2, together))
    width = max(map(gates.count, gates), default=1)  # messages that a gate gets from a rank in a round
    assert most_under_way(schedule, 3, lazy=lazy) == 2
    assert width <= 2


def test_a_gate_hands_a_slice_on_when_it_is_there() -> None:
    """2 servers of 2: rank 0 sends to rank 3 by rank 1; lanes 0 to 2 are of receivers, 3 to 5 of gates."""
    schedule = channel_exchange(_all_peers(2, 2, (0, 1)), ExchangeCut(8, 2, 8))
    assert schedule.lanes == 6
    rows = np.flatnonzero((schedule.sender == 0) & (schedule.receiver == 1) & (schedule.step % 6 >= 3))
    assert schedule.wait_step[rows].tolist() == [-1, -1]
    on = np.flatnonzero((schedule.sender == 1) & (schedule.receiver == 3) & (schedule.wait_step >= 0))
    assert schedule.wait_step[on].tolist() == schedule.step[rows].tolist()


@pytest.mark.parametrize(("slices", "slots"), [(1, 8), (5, 2)])
def test_a_shift_leaves_a_server_by_the_gate_of_its_first_rank(slices: int, slots: int) -> None:
    """2 servers of 3: the last rank hands to the first, which sends to the first of the other server."""
    schedule = channel_shift(6, ExchangeCut(1, slices, slots), (0, 1, 2))
    ways = [(0, 1), (1, 2), (2, 0), (0, 3), (3, 4), (4, 5), (5, 3), (3, 0)]
    data = schedule.block_count > 0
    signals = max(slices - slots, 0)
    for way, of_way, count in ((ways, data, slices), ([(b, a) for a, b in ways], ~data, signals)):
        found = Counter(zip(schedule.sender[of_way].tolist(), schedule.receiver[of_way].tolist(), strict=True))
        assert found == +Counter(dict.fromkeys(way, count))
    assert _sent(schedule, 70 * slices)[0] == (2 * slices, 2 * 70 * slices, 2 * signals)


@pytest.mark.parametrize("ranks", [2, 3, 8])
@pytest.mark.parametrize(("slices", "slots"), [(1, 8), (5, 2), (4, 4)])
def test_a_shift_sends_the_whole_to_the_next_rank(ranks: int, slices: int, slots: int) -> None:
    schedule = channel_shift(ranks, ExchangeCut(1, slices, slots))
    assert _sent(schedule, 70 * slices) == [(slices, 70 * slices, max(slices - slots, 0))] * ranks
    data = schedule.block_count > 0
    assert set(zip(schedule.sender[data].tolist(), schedule.receiver[data].tolist(), strict=True)) == {
        (rank, (rank + 1) % ranks) for rank in range(ranks)
    }
    for rank in range(ranks):
        own = data & (schedule.sender == rank)
        assert sorted(schedule.first_block[own].tolist()) == list(range(slices))
        assert int((schedule.wait_step[own] < 0).sum()) == min(slots, slices)


def test_a_reception_in_a_wrong_lane_is_refused() -> None:
    schedule = channel_tree(ALL_REDUCE, CHAIN, 2, None)
    waited_for = [row for row in range(schedule.messages) if schedule.receiver[row] != 3]  # a leaf ends with it
    assert len(waited_for) == 2 * 5
    for row in waited_for:
        with pytest.raises(ScheduleError):
            prove(changed(schedule, "step", row, int(schedule.step[row]) ^ 1), ALL_REDUCE)


def test_a_send_that_waits_in_a_wrong_lane_is_refused() -> None:
    """A rank that sends a chunk down when it has come up, and not when it has come down, sends part of a sum."""
    schedule = channel_tree(ALL_REDUCE, CHAIN, 3, None)
    down = [row for row in range(schedule.messages) if schedule.step[row] % 2 == 1 and schedule.sender[row] > 0]
    assert len(down) == 2 * 3
    for row in down:
        with pytest.raises(ScheduleError):
            prove(changed(schedule, "wait_step", row, int(schedule.wait_step[row]) - 1), ALL_REDUCE)


@pytest.mark.parametrize(
    "schedule",
    [channel_ring(ALL_REDUCE, 4, ChannelCut(2, 1, 3)), channel_tree(ALL_REDUCE, (-1, 0, 0, 1, 1), 4, 2)],
    ids=["ring", "tree"],
)
def test_wrong_signals_are_refused(schedule: Schedule) -> None:
    signals = [row for row in range(schedule.messages) if schedule.block_count[row] == 0]
    assert len(signals) > 3
    for row in signals:
        with pytest.raises(ScheduleError):  # it would come when nobody could have sent what it tells of
            prove(changed(schedule, "wait_step", row, int(schedule.step.max()) + 2), ALL_REDUCE)
        with pytest.raises(ScheduleError):  # it carries data
            prove(changed(schedule, "block_count", row, 1), ALL_REDUCE)
        with pytest.raises(ScheduleError):  # it waits for more than comes
            prove(changed(schedule, "wait_count", row, 9), ALL_REDUCE)


def test_a_signal_that_never_comes_is_seen_where_only_it_lets_a_leaf_send() -> None:
    schedule = channel_tree(CollectiveKind.REDUCE, (-1, 0, 0), 3, 1)
    signals = [row for row in range(schedule.messages) if schedule.block_count[row] == 0]
    for row in signals:
        with pytest.raises(ScheduleError):
            prove(without(schedule, row), CollectiveKind.REDUCE)


def test_without_signals_more_comes_than_there_is_place_for() -> None:
    """So the count of what is under way sees signals that lack."""
    schedule = channel_ring(ALL_REDUCE, 4, ChannelCut(3, 2, 3))
    data = rows_of(schedule, [row for row in range(schedule.messages) if schedule.block_count[row]])
    assert max(most_under_way(data, seed, lazy=True) for seed in range(5)) > 3


@pytest.mark.parametrize("kind", [ALL_GATHER, CollectiveKind.ALL_TO_ALL])
def test_rows_turned_for_all_ranks_are_those_of_a_plain_schedule(kind: CollectiveKind) -> None:
    schedule = (
        channel_ring(kind, 5, ChannelCut(2, 2, 3))
        if kind is ALL_GATHER
        else channel_exchange(Peers(5, all_rounds(5)), ExchangeCut(3, 2, 2))
    )
    assert schedule.rotation is not None
    plain = replace(schedule)
    assert plain.rotation is None
    assert plain.lanes == schedule.lanes
    assert schedule.all_bytes(12_345) == plain.all_bytes(12_345)
    for rank in range(5):
        assert schedule.sent_by(rank).step.tolist() == plain.sent_by(rank).step.tolist()
