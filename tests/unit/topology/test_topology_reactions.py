"""Networks that come to know of their failures late: who notices when, who repairs what, and when routes converge."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.leaf_spine import leaf_spine

from astra_ns3.errors import InputError
from astra_ns3.topology.changes import Change, Epoch, LinkTarget, State, SwitchTarget, epochs, tables_before
from astra_ns3.topology.graph import Graph, Link
from astra_ns3.topology.reactions import Known, LinkTurn, Reaction
from astra_ns3.topology.route_differences import route_differences
from astra_ns3.topology.routes import shortest_paths

DOWN, UP = State(up=False), State(up=True)
LEAF, FAR_LEAF, SPINE = 4, 5, 6
UPLINK = LinkTarget(4)
"""Port 2 of leaf 4 and port 0 of spine 6."""


def after(noticed_ps: int, repaired_ps: int, converged_ps: int) -> Reaction:
    """All turns are known so long after them."""
    return lambda turn: Known(
        turn.time_ps + noticed_ps, turn.time_ps + noticed_ps + repaired_ps, turn.time_ps + noticed_ps + converged_ps
    )


def played(*changes: Change, reaction: Reaction, graph: Graph | None = None) -> list[Epoch]:
    return list(epochs(graph or leaf_spine(), changes, reaction=reaction))


def state(epoch: Epoch, link: int = 4) -> tuple[bool, bool]:
    """Whether a link is up for its ends, and whether it loses all that it is sent."""
    return epoch.graph.links[link].up, epoch.graph.links[link].silent


def test_a_link_is_silent_until_it_is_noticed_and_tables_follow_in_two_steps() -> None:
    found = played(Change(100, UPLINK, DOWN), Change(1000, UPLINK, UP), reaction=after(10, 20, 300))
    assert [epoch.start_ps for epoch in found] == [0, 100, 110, 130, 410, 1000, 1010, 1030, 1310]
    silent, down, up = (True, True), (False, False), (True, False)
    assert [state(epoch) for epoch in found] == [up, silent, down, down, down, down, up, up, up]
    leaf = [epoch.tables.towards(LEAF, 2) for epoch in found]
    assert leaf == [(2, 3), (2, 3), (2, 3), (3,), (3,), (3,), (3,), (3,), (2, 3)]
    far_leaf = [epoch.tables.towards(FAR_LEAF, 0) for epoch in found]
    assert far_leaf == [(2, 3)] * 4 + [(3,)] * 4 + [(2, 3)]


def test_an_end_without_another_port_keeps_the_dead_one_until_routes_converge() -> None:
    found = played(Change(100, UPLINK, DOWN), reaction=after(0, 0, 50))
    assert [epoch.tables.towards(SPINE, 0) for epoch in found] == [(0,), (0,), (1,)]


def test_a_flap_that_is_over_before_anybody_notices_changes_no_table() -> None:
    found = played(Change(100, UPLINK, DOWN), Change(109, UPLINK, UP), reaction=after(10, 0, 0))
    assert [(epoch.start_ps, state(epoch)) for epoch in found] == [
        (0, (True, False)),
        (100, (True, True)),
        (109, (True, False)),
    ]
    assert len({id(epoch.tables) for epoch in found}) == 1


def test_a_repair_that_fails_again_before_it_is_noticed_changes_nothing() -> None:
    changes = [Change(100, UPLINK, DOWN), Change(200, UPLINK, UP), Change(205, UPLINK, DOWN)]
    found = played(*changes, reaction=after(10, 0, 0))
    assert [(epoch.start_ps, state(epoch)[0]) for epoch in found] == [
        (0, True),
        (100, True),
        (110, False),
        (200, False),
        (205, False),
    ]


def test_all_at_once_is_the_network_without_a_reaction() -> None:
    changes = [Change(5, UPLINK, DOWN), Change(7, SwitchTarget(3), DOWN), Change(9, UPLINK, UP)]
    plain, at_once = epochs(leaf_spine(), changes), played(*changes, reaction=after(0, 0, 0))
    for one, other in zip(plain, at_once, strict=True):
        assert (one.start_ps, one.graph.links) == (other.start_ps, other.graph.links)
        assert [one.tables.towards(node, host) for node in range(4, 8) for host in range(4)] == [
            other.tables.towards(node, host) for node in range(4, 8) for host in range(4)
        ]


def test_a_host_with_two_links_to_a_switch_goes_on_over_the_other() -> None:
    links = tuple(Link(a, b, 10**11, 500) for a, b in [(0, 2), (0, 2), (1, 2)])
    graph = Graph(2, 1, links, (0, 1), (10**9,))
    found = played(Change(10, LinkTarget(0), DOWN), reaction=after(0, 5, 100), graph=graph)
    assert [epoch.tables.towards(0, 1) for epoch in found] == [(0, 1), (0, 1), (1,), (1,)]
    assert [epoch.tables.towards(2, 0) for epoch in found] == [(0, 1), (0, 1), (1,), (1,)]


def test_later_turns_are_never_known_before_earlier_ones() -> None:
    def hasty(turn: LinkTurn) -> Known:
        late = 0 if turn.up else 500
        return Known(turn.time_ps, turn.time_ps + late, turn.time_ps + late)

    found = played(Change(100, UPLINK, DOWN), Change(200, UPLINK, UP), reaction=hasty)
    assert found[-1].tables.towards(LEAF, 2) == (2, 3)
    assert all(epoch.tables.towards(LEAF, 2) == (2, 3) for epoch in found)


@given(
    changes=st.lists(st.tuples(st.integers(0, 60), st.integers(0, 7), st.booleans()), min_size=1, max_size=8),
    late=st.tuples(st.integers(0, 20), st.integers(0, 20), st.integers(0, 20)),
)
def test_all_tables_of_a_network_have_the_groups_of_those_before_its_changes(
    changes: list[tuple[int, int, bool]], late: tuple[int, int, int]
) -> None:
    of_place = {(time_ps, link): up for time_ps, link, up in changes}
    drawn = [Change(time_ps, LinkTarget(link), State(up=up)) for (time_ps, link), up in of_place.items()]
    graph, reaction = leaf_spine(), after(*late)
    built = tables_before(graph, drawn, reaction=reaction)
    for epoch in epochs(graph, drawn, reaction=reaction):
        assert epoch.tables.group_of_host.tolist() == built.group_of_host.tolist()
        assert len(route_differences(built, epoch.tables)) <= graph.nodes
    plain = shortest_paths(graph)
    assert [built.towards(node, host) for node in range(4, 8) for host in range(4)] == [
        plain.towards(node, host) for node in range(4, 8) for host in range(4)
    ]


@pytest.mark.parametrize(
    "reaction",
    [lambda turn: Known(turn.time_ps - 1, turn.time_ps, turn.time_ps), lambda turn: Known(turn.time_ps + 2, 0, 0)],
)
def test_nothing_is_known_before_it_happens(reaction: Callable[[LinkTurn], Known]) -> None:
    with pytest.raises(InputError, match=r"link 4 turns at 100ps, .* expected one after the other"):
        played(Change(100, UPLINK, DOWN), reaction=reaction)
