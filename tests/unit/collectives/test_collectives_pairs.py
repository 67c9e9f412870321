"""Every collective with every algorithm that can do it: proved, as large and as long as its closed form, documented."""

from __future__ import annotations

import re
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles.collective_volumes import BARRIER_MESSAGES, ROUNDS, TOTAL_SENT
from support.any_schedule import draw_schedule, owner_of, rank_counts

from astra_ns3.collectives.algorithms import ALGORITHMS
from astra_ns3.collectives.lookup import algorithm_names, lookup, pairs, variants
from astra_ns3.collectives.proof import prove
from astra_ns3.collectives.rounds import message_rounds
from astra_ns3.collectives.volume import sent_shares
from astra_ns3.config.core.collective_kind import CollectiveKind

FLAT_RANKS = 17  # odd, and a power of two and one
every_pair = pytest.mark.parametrize(
    ("kind", "name"), pairs(), ids=[f"{kind.name.lower()}-{name}" for kind, name in pairs()]
)


@every_pair
@settings(max_examples=6, deadline=None)
@given(data=st.data())
def test_every_algorithm_does_what_its_collective_promises(
    kind: CollectiveKind, name: str, data: st.DataObject
) -> None:
    schedule = draw_schedule(data, kind, name)
    prove(schedule, kind, owner=owner_of(name, schedule.ranks), shuffles=2)


@every_pair
def test_one_rank_has_nothing_to_send(kind: CollectiveKind, name: str) -> None:
    schedule = lookup(kind, name, 1)
    assert (schedule.ranks, schedule.messages) == (1, 0)
    prove(schedule, kind)


@every_pair
def test_all_ranks_together_send_as_much_as_the_closed_form(kind: CollectiveKind, name: str) -> None:
    for ranks in rank_counts(kind, name, FLAT_RANKS):
        for variant in range(variants(kind, name)):
            schedule = lookup(kind, name, ranks, variant)
            blocks = int(schedule.block_count.sum())
            if kind is CollectiveKind.BARRIER:
                assert (schedule.messages, blocks) == (BARRIER_MESSAGES[name](ranks), 0)
            else:
                sent = Fraction(blocks * schedule.expansion, schedule.blocks)
                assert sent == TOTAL_SENT[kind.name.lower(), name](ranks)


@every_pair
def test_it_takes_the_rounds_of_the_closed_form(kind: CollectiveKind, name: str) -> None:
    for ranks in rank_counts(kind, name, FLAT_RANKS):
        rounds = message_rounds(lookup(kind, name, ranks))
        assert rounds.max() + 1 == ROUNDS[kind.name.lower(), name](ranks)


@pytest.mark.parametrize("name", ["ring", "ringAnticlockwise", "biRing", "direct"])
@pytest.mark.parametrize("kind", ["all_reduce", "reduce_scatter", "all_gather", "all_to_all"])
def test_every_rank_sends_its_equal_part(name: str, kind: str) -> None:
    for ranks in range(2, 14):
        least, most = sent_shares(lookup(CollectiveKind[kind.upper()], name, ranks))
        assert least == most == TOTAL_SENT[kind, name](ranks) / ranks


@pytest.mark.parametrize("kind", ["all_reduce", "reduce_scatter", "all_gather", "all_to_all", "barrier"])
def test_an_anticlockwise_ring_is_a_ring_seen_from_behind(kind: str) -> None:
    one, other = (lookup(CollectiveKind[kind.upper()], name, 7) for name in ("ring", "ringAnticlockwise"))
    assert sorted(
        zip((-one.sender % 7).tolist(), (-one.receiver % 7).tolist(), one.step.tolist(), strict=True)
    ) == sorted(zip(other.sender.tolist(), other.receiver.tolist(), other.step.tolist(), strict=True))
    assert lookup(CollectiveKind[kind.upper()], "ring", 7, anticlockwise=True).name == other.name
    assert lookup(CollectiveKind[kind.upper()], "direct", 7, anticlockwise=True).name == f"direct {kind}"


def test_a_ring_both_ways_sends_half_of_the_data_each_way() -> None:
    schedule = lookup(CollectiveKind.ALL_REDUCE, "biRing", 8)
    clockwise = (schedule.receiver - schedule.sender) % 8 == 1
    assert np.all(clockwise | ((schedule.sender - schedule.receiver) % 8 == 1))
    assert schedule.block_count[clockwise].sum() == schedule.block_count[~clockwise].sum()


def test_inner_nodes_of_one_broadcast_tree_are_leaves_of_the_other() -> None:
    for ranks in (4, 8, 16, 32):
        trees = [lookup(CollectiveKind.BROADCAST, "doubleBinaryTree", ranks, variant) for variant in (0, 1)]
        inner = [set(tree.sender[tree.block_count > 0].tolist()) for tree in trees]
        assert inner[0] & inner[1] == {0}


def test_bruck_sends_one_message_a_step() -> None:
    schedule = lookup(CollectiveKind.ALL_TO_ALL, "bruck", 11)
    for rank in range(11):
        mine = schedule.sender == rank
        assert schedule.step[mine].tolist() == [0, 1, 2, 3]
        assert ((schedule.receiver[mine] - rank) % 11).tolist() == [1, 2, 4, 8]
    assert set(schedule.message_bytes(1100)[schedule.step == 0].tolist()) == {500}  # distances 1, 3, 5, 7 and 9 of 11


def test_a_barrier_sends_one_byte_whatever_it_is_told() -> None:
    for kind, name in pairs():
        if kind is CollectiveKind.BARRIER:
            assert set(lookup(kind, name, 8).message_bytes(1_000_000).tolist()) == {1}


def test_system_files_may_name_every_algorithm_of_the_registry_and_no_other() -> None:
    assert algorithm_names(list(ALGORITHMS)) == tuple(ALGORITHMS)
    assert algorithm_names("_".join(ALGORITHMS)) == tuple(ALGORITHMS)
    for wrong in ("Ring", "onering", "ring3", "direct0", "direct03", "oneoneRing", "onePlane", "ring-", "rings"):
        with pytest.raises(ValueError, match="allowed: ring"):
            algorithm_names(wrong)


def test_the_list_in_the_documentation_is_the_registry(repository: Path) -> None:
    text = (repository / "docs" / "collectives.md").read_text(encoding="utf-8")
    items = text.partition("\n## Algorithms\n")[2].partition("\n#")[0].replace("\n  ", " ")
    documented = set()
    for names, kinds in re.findall(r"^\* ([^:]+): (.*)$", items, re.MULTILINE):
        for name in re.findall(r"`(\w+)`", names):
            documented |= {(CollectiveKind[kind.upper()], name) for kind in re.findall(r"`(\w+)`", kinds)}
    assert documented == set(pairs())


def test_every_algorithm_has_its_line_and_its_figure_in_the_documentation(repository: Path) -> None:
    text = (repository / "docs" / "collectives.md").read_text(encoding="utf-8")
    for name in ALGORITHMS:
        figure = f"figures/{name}.svg"
        assert figure in text
        assert (repository / "docs" / figure).is_file()
