"""Routing of tokens to experts: nothing lost, shares by their formulas, capacities and limits kept."""

from __future__ import annotations

from math import ceil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from astra_ns3.config.core.document import Document
from astra_ns3.config.core.model import validated
from astra_ns3.config.model.routing import Routing
from astra_ns3.config.training_plan import Block, Degrees, ExpertLoad, TrainingPlan
from astra_ns3.errors import InputError
from astra_ns3.workload.experts.drawing import draw_choices
from astra_ns3.workload.experts.group import ExpertGroup, Routed
from astra_ns3.workload.experts.router import Router
from astra_ns3.workload.experts.shares import chosen, zipf_shares
from astra_ns3.workload.experts.skew import expert_skew


def routed(group: ExpertGroup, layer: int = 0, **keys: Any) -> Routed:
    return Router(Routing(**keys), group).layer(layer)


@st.composite
def groups(draw: st.DrawFn) -> ExpertGroup:
    places = draw(st.sampled_from((1, 2, 4, 8)))
    experts = places * draw(st.integers(1, 4))
    return ExpertGroup(experts, draw(st.integers(1, experts)), places, draw(st.integers(1, 300)), 2)


def sent(routed: Routed) -> list[int]:
    return [sum(row) for row in routed.sent]


def received(routed: Routed) -> list[int]:
    return [sum(column) for column in zip(*routed.sent, strict=True)]


@settings(deadline=None, max_examples=80)
@given(groups(), st.floats(0, 3), st.integers(0, 5))
def test_every_token_goes_to_all_its_experts(group: ExpertGroup, skew: float, layer: int) -> None:
    found = routed(group, layer, routing="zipf", skew=skew)
    assert sent(found) == [group.tokens * group.active] * group.places
    assert received(found) == list(found.place_rows)
    assert sum(found.rows) == group.tokens * group.active * group.places
    # An expert can't be chosen twice by a token.
    assert max(found.rows) <= group.tokens * group.places
    assert found.dropped == 0


def test_uniform_routing_is_even_where_it_can_be() -> None:
    group = ExpertGroup(experts=8, active=2, places=4, tokens=100)
    assert routed(group).sent == ((50,) * 4,) * 4
    odd = routed(ExpertGroup(experts=8, active=1, places=4, tokens=9))
    # Each place has a token more than experts; the surplus goes to another expert for each place.
    assert sorted(odd.rows) == [4, 4, 4, 4, 5, 5, 5, 5]


@pytest.mark.parametrize("skew", [0.5, 1.0, 1.2, 2.0])
def test_the_kth_expert_gets_its_share_by_zipf(skew: float) -> None:
    """One expert a token: share k**-s / sum of j**-s, to a token of each place."""
    experts, places, tokens = 16, 4, 100_000
    rows = routed(ExpertGroup(experts, 1, places, tokens), routing="zipf", skew=skew).rows
    whole = sum(j**-skew for j in range(1, experts + 1))
    expected = [places * tokens * k**-skew / whole for k in range(1, experts + 1)]
    assert sorted(rows, reverse=True) == pytest.approx(expected, abs=places)


def test_an_expert_that_would_be_chosen_more_than_once_by_a_token_is_chosen_once() -> None:
    """Shares 8/15, 4/15, 2/15, 1/15 of two choices: the first has all tokens, of the other choice 4/7, 2/7, 1/7."""
    weights = [round(700 * 2.0**-k) for k in range(4)]
    assert routed(ExpertGroup(4, 2, 1, 700), routing="zipf", skew=0).rows == (350,) * 4
    shares = np.array(weights) / sum(weights)
    assert chosen(shares, 2).tolist() == pytest.approx([1, 4 / 7, 2 / 7, 1 / 7], abs=2e-3)


def test_other_layers_and_seeds_have_other_popular_experts_and_the_same_ones_the_same() -> None:
    group = ExpertGroup(16, 2, 4, 1000)
    zipf = {"routing": "zipf"}
    popular = {np.argmax(routed(group, layer, **zipf).rows) for layer in range(10)}
    assert len(popular) > 3
    assert routed(group, 3, **zipf) == routed(group, 3, **zipf)
    assert routed(group, 3, **zipf, seed=2) != routed(group, 3, **zipf)


@settings(deadline=None, max_examples=60)
@given(groups(), st.sampled_from((0.5, 1.0, 1.25, 3.0)))
def test_no_expert_takes_more_than_its_capacity_and_what_is_above_is_dropped(group: ExpertGroup, factor: float) -> None:
    free = routed(group, routing="zipf", skew=1.5)
    kept = routed(group, routing="zipf", skew=1.5, capacity=factor)
    capacity = ceil(factor * group.tokens * group.active / group.experts)
    assert max(kept.rows) <= capacity * group.places
    assert sum(kept.rows) + kept.dropped == sum(free.rows)
    # All places are alike here but for roundings, so an expert drops what it has above its capacities.
    lost = sum(max(0, rows - capacity * group.places) for rows in free.rows)
    assert lost <= kept.dropped <= lost + group.experts * group.places


def test_a_capacity_of_one_drops_exactly_what_is_above_the_even_share() -> None:
    """Zipf of exponent 1 over 4 experts: 12/25, 6/25, 4/25, 3/25; the even share is 1/4."""
    found = routed(ExpertGroup(4, 1, 1, 100), routing="zipf", skew=1.0, capacity=1.0)
    assert sorted(found.rows) == [12, 16, 24, 25]
    assert found.dropped == 48 - 25


# Node-limited routing


@settings(deadline=None, max_examples=60)
@given(st.integers(1, 4), st.integers(1, 4), st.floats(0, 2), st.integers(0, 10**6))
def test_no_token_goes_to_more_nodes_than_allowed(limit: int, active: int, skew: float, seed: int) -> None:
    group = ExpertGroup(experts=16, active=active, places=8, tokens=200, places_per_node=2)
    shares = zipf_shares(16, skew, seed, 0)
    choices = draw_choices(group, shares, limit, 200, np.random.default_rng(seed))
    assert choices.shape == (200, active)
    for token in choices.tolist():
        assert len(set(token)) == active
        assert len({expert // 4 for expert in token}) <= limit


@pytest.mark.parametrize("tokens", [100, 5000])
@pytest.mark.parametrize("limit", [1, 2, 4])
def test_a_token_crosses_to_each_node_once_and_then_to_each_place_once(limit: int, tokens: int) -> None:
    group = ExpertGroup(experts=32, active=4, places=8, tokens=tokens, places_per_node=2)
    found = routed(group, routing="zipf", skew=0.5, node_limit=limit, npus_per_node=2)
    assert found.crossing is not None
    assert sum(found.rows) == tokens * 4 * 8
    for nodes, places in zip(found.crossing, found.sent, strict=True):
        assert tokens <= sum(nodes) <= limit * tokens
        for node, count in enumerate(nodes):
            # Each row that a node gets goes to one or both of its places.
            there = places[2 * node : 2 * node + 2]
            assert max(there) <= count <= sum(there)
    assert all(rows >= came for rows, came in zip(found.place_rows, received(found), strict=True))


def test_without_skew_nodes_are_reached_as_often_as_chance_has_it() -> None:
    """One expert on one of four nodes: a quarter of the tokens crosses to each, 3 standard deviations allowed."""
    tokens = 2000
    found = routed(ExpertGroup(8, 1, 8, tokens, 2), routing="uniform", node_limit=4, npus_per_node=2)
    deviation = (tokens * 0.25 * 0.75) ** 0.5
    assert found.crossing is not None
    for row in found.crossing:
        assert sum(row) == tokens
        assert row == pytest.approx([tokens / 4] * 4, abs=4 * deviation)


def test_the_limit_of_deepseek_v3_saves_crossings_against_none() -> None:
    """256 experts on 8 nodes, 8 a token: without a limit 8 (1 - (1 - 1/8)**8) = 5.25 nodes, with it 4."""
    group = ExpertGroup(256, 8, 64, 256, 8)
    free, limited = (routed(group, node_limit=limit, npus_per_node=8) for limit in (8, 4))
    tokens = 256 * 64
    assert free.crossing is not None
    assert limited.crossing is not None
    assert sum(map(sum, free.crossing)) / tokens == pytest.approx(8 * (1 - (1 - 1 / 8) ** 8), rel=0.02)
    assert sum(map(sum, limited.crossing)) / tokens == pytest.approx(4, rel=0.02)
    assert max(map(sum, limited.crossing)) <= 4 * 256


def test_the_normal_form_needs_no_limit() -> None:
    """DeepEP's 8 of 256 experts on 2 and 4 nodes: 2 (1 - 1/2**8) and 4 (1 - (3/4)**8) nodes a token."""
    for nodes in (2, 4):
        group = ExpertGroup(256, 8, 8 * nodes, 256, 8)
        found = routed(group, dispatch={"form": "normal"}, npus_per_node=8)
        assert found.crossing is not None
        mean = sum(map(sum, found.crossing)) / (256 * 8 * nodes)
        assert mean == pytest.approx(nodes * (1 - (1 - 1 / nodes) ** 8), rel=0.01)


def test_the_low_latency_form_sends_a_row_for_each_expert_also_with_a_limit() -> None:
    group = ExpertGroup(32, 4, 8, 100, 2)
    found = routed(group, dispatch={"form": "low-latency"}, node_limit=1, npus_per_node=2)
    assert found.crossing is None
    assert sent(found) == [400] * 8
    assert received(found) == list(found.place_rows)


# Counts of a file


def _file(folder: Path, text: str) -> str:
    path = folder / "counts.csv"
    path.write_text(text)
    return str(path)


def test_counts_of_a_file_are_played_as_they_are(tmp_path: Path) -> None:
    path = _file(tmp_path, "expert,tokens\n0,60\n1,30\n3,110\n")
    group = ExpertGroup(experts=4, active=1, places=2, tokens=100)
    found = routed(group, routing=path)
    assert found.rows == (60, 30, 0, 110)
    assert found.sent == ((45, 55), (45, 55))


def test_counts_of_places_and_layers_are_their_own(tmp_path: Path) -> None:
    lines = ["layer, source, expert, tokens"]
    lines += [f"{layer},{place},{(layer + place) % 2},50" for layer in range(2) for place in range(2)]
    found = [routed(ExpertGroup(2, 1, 2, 50), n, routing=_file(tmp_path, "\n".join(lines))) for n in range(2)]
    assert found[0].sent == ((50, 0), (0, 50))
    assert found[1].sent == ((0, 50), (50, 0))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("expert,token\n0,1\n", "counts.csv:1: column 'token' is not one of .*; did you mean 'tokens'"),
        ("expert\n0\n", "counts.csv:1: the header lacks tokens"),
        ("expert,tokens\n4,1\n", "counts.csv:2: expert is '4', expected a whole number from 0 to 3"),
        ("expert,tokens\n1,-1\n", "counts.csv:2: tokens is '-1'"),
        ("source,expert,tokens\n2,1,1\n", "counts.csv:2: source is '2', expected a whole number from 0 to 1"),
        ("expert,tokens\n1,1\n1,1\n", "counts.csv:3: expert 1 has been given before"),
        ("expert,tokens\n1,1,1\n", "counts.csv:2: found 3 columns"),
        ("source,expert,tokens\n0,1,1\n0,2,1\n", "counts.csv: no tokens of source 1"),
        ("layer,expert,tokens\n1,1,1\n1,2,1\n", "counts.csv: no tokens of layer 0"),
        ("expert,tokens\n1,0\n", "counts.csv: no tokens of any expert"),
        ("expert,tokens\n1,5\n2,1\n", "counts.csv: expert 1 gets 83% of the choices, expected at most 50%"),
        ("expert,tokens\n1,5\n", "counts.csv: expert 1 gets 100% of the choices"),
    ],
)
def test_a_file_that_can_not_be_played_is_refused_with_its_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        routed(ExpertGroup(4, 2, 2, 10), routing=_file(tmp_path, text))


# Keys


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"skew": 1.0}, "stands beside routing: uniform; only zipf has one"),
        ({"node_limit": 2}, "'npus_per_node' is missing|npus_per_node.*is missing"),
        ({"npus_per_node": 2}, "npus_per_node.*stands alone; expected node_limit or dispatch: {form: normal}"),
        ({"dispatch": {"form": "normal"}}, "npus_per_node.*is missing: dispatch: {form: normal} needs it"),
        ({"dispatch": {"form": "low-latency", "pieces": 4}}, "pieces.*stands beside form: low-latency"),
        (
            {"dispatch": {"form": "normal"}, "npus_per_node": 2, "capacity": 1.0},
            "stands beside dispatch: {form: normal}",
        ),
        ({"node_limit": 2, "npus_per_node": 2, "capacity": 1.0}, "stands beside node_limit"),
        ({"capacity": 0}, "capacity"),
    ],
)
def test_keys_without_effect_are_refused(keys: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        validated(Routing, Document("model.yaml", keys, {}))


def test_a_file_is_as_seen_from_the_folder_of_the_one_that_names_it() -> None:
    assert validated(Routing, Document("folder/model.yaml", {"routing": "a.csv"}, {})).file == str(
        Path("folder/a.csv").absolute()
    )
    assert validated(Routing, Document("folder/model.yaml", {"routing": "zipf"}, {})).file is None


@pytest.mark.parametrize(
    ("group", "keys", "message"),
    [
        ((4, 1, 3, 10), {}, "3 places share 4 experts"),
        ((8, 1, 4, 10, 3), {}, "3 places of a group of experts are on a node"),
        ((8, 4, 4, 10, 1), {"node_limit": 1, "npus_per_node": 1}, "1 nodes have 2 experts, fewer than the 4"),
    ],
)
def test_groups_that_do_not_fit_are_refused(group: tuple[int, ...], keys: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        routed(ExpertGroup(*group), **keys)


# What the report says


def test_skew_is_the_busiest_place_over_the_mean_of_each_layer() -> None:
    loads = [ExpertLoad((30, 10, 20, 20), 20), None, ExpertLoad((5, 5, 5, 5))]
    blocks = tuple(Block(f"layer {n}", (), expert_load=load) for n, load in enumerate(loads))
    first, last = expert_skew(TrainingPlan("m", "m.yaml", Degrees(data=4, expert=4), (blocks,)))
    assert (first.layer, first.busiest, first.most_over_mean, first.rows, first.dropped) == ("layer 0", 0, 1.5, 80, 20)
    assert (last.layer, last.most_over_mean, last.dropped) == ("layer 2", 1.0, 0)
