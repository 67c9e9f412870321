"""All-to-all by way of gates: proved like the others, its bytes by formulas, its waits by a play of its own."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles.carried_parts import relayed

from astra_ns3.collectives.proof import ScheduleError, prove
from astra_ns3.collectives.relayed import handed_over, relayed_all_to_all
from astra_ns3.collectives.schedule import Schedule
from astra_ns3.collectives.uneven import Parts
from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.config.core.relay import Relay
from astra_ns3.errors import InputError

ALL_TO_ALL = CollectiveKind.ALL_TO_ALL


@st.composite
def cases(draw: st.DrawFn) -> tuple[Parts, Relay]:
    """Tokens of each place, each for some places; the places and the nodes that they reach are counted."""
    node, nodes = draw(st.integers(1, 4)), draw(st.integers(1, 4))
    ranks = node * nodes
    tokens = draw(st.lists(st.tuples(st.integers(0, ranks - 1), st.sets(st.integers(0, ranks - 1))), max_size=40))
    parts, crossing = np.zeros((ranks, ranks), dtype=int), np.zeros((ranks, nodes), dtype=int)
    for source, places in tokens:
        for place in places:
            parts[source, place] += 1
        for there in {place // node for place in places}:
            crossing[source, there] += 1
    gathers = draw(st.booleans())
    table = parts.T if gathers else parts
    relay = Relay(node, _rows(crossing), gathers, draw(st.integers(1, 5)))
    return _rows(table), relay


def _rows(table: np.ndarray) -> tuple[tuple[int, ...], ...]:
    return tuple(map(tuple, table.tolist()))


@given(cases())
@settings(max_examples=60, deadline=None)
def test_every_place_ends_with_what_each_has_for_it(case: tuple[Parts, Relay]) -> None:
    parts, relay = case
    whole = relayed_all_to_all(parts, replace(relay, pieces=1))
    prove(relayed(whole, parts, relay), ALL_TO_ALL)


def test_a_row_that_is_missing_is_found() -> None:
    parts = ((0, 0, 1, 1), (0, 0, 0, 0), (0, 0, 0, 0), (0, 0, 0, 0))
    relay = Relay(2, ((0, 2), (0, 0), (0, 0), (0, 0)))
    schedule = relayed(relayed_all_to_all(parts, relay), parts, relay)
    assert list(zip(schedule.sender.tolist(), schedule.receiver.tolist(), strict=True)) == [(0, 2), (2, 3)]
    with pytest.raises(ScheduleError, match="rank 3 ends without rank 0's part of block 3"):
        prove(_first(schedule, 1), ALL_TO_ALL)


def _first(schedule: Schedule, rows: int) -> Schedule:
    assert schedule.content is not None
    content = replace(schedule.content, offsets=schedule.content.offsets[: rows + 1])
    content = replace(content, blocks=schedule.content.blocks[: content.offsets[-1]])
    columns = ("sender", "receiver", "step", "first_block", "block_count", "reduces", "wait_step", "wait_count")
    return replace(schedule, content=content, **{name: getattr(schedule, name)[:rows] for name in columns})


@given(cases())
@settings(max_examples=60, deadline=None)
def test_between_nodes_a_row_travels_once_and_in_a_node_to_each_place(case: tuple[Parts, Relay]) -> None:
    parts, relay = case
    schedule = relayed_all_to_all(parts, relay)
    node, ranks = relay.node, len(parts)
    found: Counter[tuple[int, int]] = Counter()
    for sender, receiver, count in zip(
        schedule.sender.tolist(), schedule.receiver.tolist(), schedule.block_count.tolist(), strict=True
    ):
        found[sender, receiver] += count
    expected: Counter[tuple[int, int]] = Counter()
    for home in range(ranks):
        for other in range(ranks):
            size = parts[other][home] if relay.gathers else parts[home][other]
            gate = other // node * node + home % node
            if gate != other and size:
                expected[(other, gate) if relay.gathers else (gate, other)] += size
        for there in range(ranks // node):
            gate = there * node + home % node
            if gate != home and relay.crossing[home][there]:
                expected[(gate, home) if relay.gathers else (home, gate)] += relay.crossing[home][there]
    assert found == expected
    sent, got = handed_over(parts, relay)
    assert sent.tolist() == [sum(size for (a, _), size in expected.items() if a == rank) for rank in range(ranks)]
    assert got.tolist() == [sum(size for (_, b), size in expected.items() if b == rank) for rank in range(ranks)]


@given(cases())
@settings(max_examples=60, deadline=None)
def test_a_gate_never_goes_on_with_more_than_it_has(case: tuple[Parts, Relay]) -> None:
    """Rows between a gate and one place in order: what has been passed on is at most what came by then."""
    parts, relay = case
    schedule = relayed_all_to_all(parts, relay)
    lanes, node = schedule.lanes, relay.node
    came: dict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
    columns = (schedule.sender, schedule.receiver, schedule.step, schedule.block_count)
    for sender, receiver, step, count in zip(*(each.tolist() for each in columns), strict=True):
        came[receiver, step % lanes].append((step, count if sender // node != receiver // node else 0))
    passed: Counter[tuple[int, int, int]] = Counter()
    later = (schedule.sender, schedule.receiver, schedule.wait_step, schedule.wait_count, schedule.block_count)
    for sender, receiver, step, waits, count in zip(*(each.tolist() for each in later), strict=True):
        if step < 0:
            continue
        before = [size for other, size in came[sender, step % lanes] if other <= step]
        assert waits == sum(other == step for other, _ in came[sender, step % lanes])
        if not relay.gathers:
            passed[sender, receiver, step % lanes] += count
            assert passed[sender, receiver, step % lanes] <= sum(before)


def test_pieces_are_at_most_as_many_as_asked_and_none_is_empty() -> None:
    parts = ((0, 0, 10, 7), (0, 0, 0, 0), (0, 0, 0, 0), (0, 0, 0, 0))
    relay = Relay(2, ((0, 10), (0, 0), (0, 0), (0, 0)), pieces=4)
    schedule = relayed_all_to_all(parts, relay)
    across = schedule.block_count[schedule.sender == 0].tolist()
    assert across == [2, 3, 2, 3]
    assert schedule.block_count[schedule.sender == 2].tolist() == [1, 2, 2, 2]


@pytest.mark.parametrize(
    ("relay", "words"),
    [
        (Relay(3, ((0,),) * 4), "nodes of 3 places, expected a divisor of the 4 places"),
        (Relay(2, ((0,),) * 4), "expected 4 rows of 2 numbers of what crosses"),
        (Relay(2, ((0, 3), (0, 0), (0, 0), (0, 0))), "more crosses to a node than is for its places"),
    ],
)
def test_what_no_relay_can_be_is_refused(relay: Relay, words: str) -> None:
    parts = ((0, 0, 1, 1), (0, 0, 0, 0), (0, 0, 0, 0), (0, 0, 0, 0))
    with pytest.raises(InputError, match=words):
        relayed_all_to_all(parts, relay)
