"""Networks that change: epochs, their routes against a search of another kind, and differences between their tables."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles.cheapest_paths import UNREACHABLE, connected_graphs, costs_to, ports_on_cheapest_paths
from support.leaf_spine import leaf_spine

from astra_ns3.errors import InputError
from astra_ns3.topology.changes import (
    Change,
    Epoch,
    LinkTarget,
    NpuTarget,
    State,
    SwitchTarget,
    Target,
    epochs,
    with_most,
)
from astra_ns3.topology.graph import Graph
from astra_ns3.topology.route_differences import NodeDifference, epoch_difference
from astra_ns3.topology.routes import LOCAL, RouteTables, shortest_paths

DOWN, UP = State(up=False), State(up=True)
Table = dict[int, dict[int, tuple[int, ...]]]


def played(graph: Graph, *changes: Change) -> list[Epoch]:
    return list(epochs(graph, changes))


def test_a_network_that_does_not_change_has_one_epoch_with_the_usual_routes() -> None:
    graph = leaf_spine()
    (epoch,) = played(graph)
    expected = shortest_paths(graph)
    assert (epoch.start_ps, epoch.graph, epoch.severed.pairs) == (0, graph, 0)
    assert epoch.tables.group_of_host.tolist() == expected.group_of_host.tolist()
    assert as_table(epoch.tables, graph) == as_table(expected, graph)


def test_changes_cut_a_run_into_epochs_whatever_their_order() -> None:
    link = LinkTarget(4)
    changes = (Change(7, link, UP), Change(0, link, State(delay_ps=9)), Change(3, link, DOWN), Change(3, link, DOWN))
    found = played(leaf_spine(), *changes)
    assert [epoch.start_ps for epoch in found] == [0, 3, 7]
    assert [epoch.graph.links[4].up for epoch in found] == [True, False, True]
    assert [epoch.graph.links[4].delay_ps for epoch in found] == [9, 9, 9]


def test_a_link_knows_the_most_that_changes_give_it_and_others_stay_the_same() -> None:
    graph, link = leaf_spine(), LinkTarget(4)
    rate_bps, delay_ps = graph.links[4].rate_bps, graph.links[4].delay_ps
    less = [Change(1, link, State(rate_bps=rate_bps // 2)), Change(2, link, State(delay_ps=0)), Change(3, link, DOWN)]
    assert with_most(graph, less) is graph
    more = [Change(4 + times, link, State(rate_bps=times * rate_bps)) for times in (2, 3, 1)]
    found = with_most(graph, [*less, *more])
    assert (found.links[4].most_rate_bps, found.links[4].most_delay_ps) == (3 * rate_bps, delay_ps)
    assert all(now is was for now, was in zip(found.links, graph.links, strict=True) if now is not found.links[4])


def test_a_link_that_is_down_is_on_no_path_until_it_is_up_again() -> None:
    found = played(leaf_spine(), Change(10, LinkTarget(4), DOWN), Change(20, LinkTarget(4), UP))
    assert [epoch.tables.towards(4, 2) for epoch in found] == [(2, 3), (3,), (2, 3)]
    assert [epoch.tables.towards(6, 0) for epoch in found] == [(0,), (1,), (0,)]
    assert [epoch.severed.pairs for epoch in found] == [0, 0, 0]


def test_a_link_that_flaps_brings_the_same_tables_again() -> None:
    flaps = [Change(time, LinkTarget(4), DOWN if time % 2 else UP) for time in range(1, 9)]
    rare = [Change(10 + number, LinkTarget(number), DOWN) for number in range(5, 8)]
    found = played(leaf_spine(), *flaps, *rare, Change(20, LinkTarget(5), UP), Change(21, LinkTarget(5), DOWN))
    assert len({id(epoch.tables) for epoch in found[:9]}) == 2
    for epoch in found:
        expected = next(iter(epochs(epoch.graph, [])))
        assert as_table(epoch.tables, epoch.graph) == as_table(expected.tables, epoch.graph)
        assert epoch.severed == expected.severed


def test_a_switch_is_down_with_all_its_links_and_up_with_those_that_are_not_down_themselves() -> None:
    changes = (Change(1, SwitchTarget(2), DOWN), Change(2, LinkTarget(4), DOWN), Change(3, SwitchTarget(2), UP))
    found = played(leaf_spine(), *changes)
    down = [[number for number, link in enumerate(epoch.graph.links) if not link.up] for epoch in found]
    assert down == [[], [4, 6], [4, 6], [4]]


def test_a_host_is_down_with_the_last_of_its_npus() -> None:
    graph = replace(leaf_spine(), npu_host=(0, 0, 1, 2, 3), dimensions=())
    changes = (Change(1, NpuTarget(0), DOWN), Change(2, NpuTarget(1), DOWN), Change(3, NpuTarget(0), UP))
    assert [epoch.graph.links[0].up for epoch in played(graph, *changes)] == [True, True, False, True]


def test_pairs_without_a_way_are_named_and_no_error() -> None:
    changes = (Change(1, LinkTarget(0), DOWN), Change(2, SwitchTarget(1), DOWN))
    whole, without_host, without_leaf = played(leaf_spine(), *changes)
    assert str(whole.severed) == "all hosts can reach each other"
    assert without_host.severed.pairs == 6
    assert str(without_host.severed) == "no way from host 0 to 1, 0 to 2, 0 to 3, 1 to 0, 2 to 0, 3 to 0"
    assert without_leaf.severed.pairs == 12
    assert str(without_leaf.severed).endswith("2 to 0, 2 to 1 and 4 more")
    assert without_leaf.tables.towards(4, 2) == ()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (Change(-1, LinkTarget(0), DOWN), "change of link 0 at -1 ps: a time is 0 or more"),
        (Change(5, LinkTarget(8), DOWN), "change of link 8 at 5ps: there is no such link, expected 0..7"),
        (Change(5, SwitchTarget(-1), DOWN), "change of switch -1 at 5ps: there is no such switch, expected 0..3"),
        (Change(5, NpuTarget(4), DOWN), "change of NPU 4 at 5ps: there is no such NPU, expected 0..3"),
        (Change(5, LinkTarget(1), State()), "nothing changes, expected one of up, rate_bps, delay_ps, error_rate"),
        (Change(5, SwitchTarget(1), State(rate_bps=1)), "change of switch 1 at 5ps: rate_bps is of links only"),
        (Change(5, LinkTarget(1), State(rate_bps=0)), "rate_bps is 0, expected above 0"),
        (Change(5, LinkTarget(1), State(delay_ps=-2)), "delay_ps is -2, expected 0 or more"),
        (Change(5, LinkTarget(1), State(error_rate=1.0)), "error_rate is 1.0, expected 0 or more and below 1"),
        (Change(5, LinkTarget(1), State(error_rate=float("nan"))), "error_rate is nan"),
    ],
)
def test_a_change_that_can_not_be_is_refused_before_the_first_epoch(change: Change, message: str) -> None:
    with pytest.raises(InputError) as error:
        epochs(leaf_spine(), [change])
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_two_changes_of_one_time_that_contradict_each_other_are_refused() -> None:
    link = LinkTarget(2)
    with pytest.raises(InputError, match="change of link 2 at 5ps: up is both False and True"):
        epochs(leaf_spine(), [Change(5, link, DOWN), Change(5, link, UP)])
    with pytest.raises(InputError, match="delay_ps is both 1 and 2"):
        epochs(leaf_spine(), [Change(5, link, State(delay_ps=1, rate_bps=1)), Change(5, link, State(delay_ps=2))])
    assert len(played(leaf_spine(), Change(5, link, DOWN), Change(5, SwitchTarget(1), UP), Change(6, link, UP))) == 3


def test_routes_are_worked_out_anew_only_where_they_can_differ() -> None:
    changes = [Change(1, LinkTarget(4), State(delay_ps=1, error_rate=0.5)), Change(2, LinkTarget(4), State(rate_bps=1))]
    first, second, third = epochs(leaf_spine(), changes)
    assert first.tables is second.tables is third.tables
    first, second, third = epochs(leaf_spine(), changes, weighted=True)
    assert first.tables is second.tables
    assert (first.tables.towards(4, 2), third.tables.towards(4, 2)) == ((2, 3), (2, *(3,) * 64))


def test_a_difference_holds_the_links_that_differ_with_all_that_they_are() -> None:
    before, after = played(leaf_spine(), Change(8, LinkTarget(5), State(up=False, rate_bps=7, error_rate=0.25)))
    difference = epoch_difference(before, after)
    links = difference.links
    assert difference.time_ps == 8
    assert (links.links.tolist(), links.up.tolist(), links.rates_bps.tolist()) == ([5], [0], [7])
    assert (links.delays_ps.tolist(), links.error_rates.tolist()) == ([500_000], [0.25])


def test_a_difference_holds_only_the_entries_that_change() -> None:
    before, after = played(leaf_spine(), Change(1, LinkTarget(4), DOWN))
    leaf, far_leaf, spine = epoch_difference(before, after).routes
    # Leaf 4 and leaf 5 lose one of two ports towards the other's hosts; spine 6 takes a way round over leaf 5.
    assert [(one.node, one.groups.tolist()) for one in (leaf, far_leaf, spine)] == [(4, [1]), (5, [0]), (6, [0])]
    assert [one.set_ports.tolist() for one in (leaf, far_leaf, spine)] == [[3], [3], [1]]
    assert leaf.local_hosts.tolist() == [0, 1]
    same = epoch_difference(after, after)
    assert (same.routes, len(same.links.links)) == ((), 0)


def as_table(tables: RouteTables, graph: Graph) -> Table:
    return {
        node: {host: tables.towards(node, host) for host in range(graph.hosts)}
        for node in range(graph.nodes)
        if node >= graph.hosts or tables.hosts[node] is not None
    }


def changed_by(table: Table, group_of_host: list[int], differences: tuple[NodeDifference, ...]) -> Table:
    """A table after some differences, applied one entry after the other."""
    result = {node: dict(entries) for node, entries in table.items()}
    for one in differences:
        sets = [tuple(one.set_ports[a:b].tolist()) for a, b in pairwise(one.set_offsets.tolist())]
        hung: dict[int, list[int]] = {}
        for host, port in zip(one.local_hosts.tolist(), one.local_ports.tolist(), strict=True):
            hung.setdefault(host, []).append(port)
        chosen = dict(zip(one.groups.tolist(), one.sets.tolist(), strict=True))
        for host, group in enumerate(group_of_host):
            if chosen.get(group, LOCAL) != LOCAL:
                result[one.node][host] = sets[chosen[group]]
            elif host in hung:
                result[one.node][host] = tuple(hung[host])
            elif group in chosen:
                result[one.node][host] = ()
    return result


@st.composite
def changing_graphs(draw: st.DrawFn) -> tuple[Graph, list[Change], bool]:
    """A random network, changes of it at few times, so that several fall together, and whether routes are weighted."""
    graph = draw(connected_graphs())
    targets: list[Target] = [LinkTarget(number) for number in range(len(graph.links))]
    targets += [SwitchTarget(number) for number in range(graph.switches)]
    targets += [NpuTarget(number) for number in range(len(graph.npu_host))]
    changes: dict[tuple[int, Target], Change] = {}
    for _ in range(draw(st.integers(0, 10))):
        time_ps, target = draw(st.integers(0, 5)), draw(st.sampled_from(targets))
        state = State(up=draw(st.booleans()))
        if isinstance(target, LinkTarget) and draw(st.booleans()):
            state = State(rate_bps=draw(st.integers(1, 4)) * 10**9, delay_ps=draw(st.integers(0, 3)))
        changes[time_ps, target] = Change(time_ps, target, state)
    return graph, list(changes.values()), draw(st.booleans())


def expected_links(graph: Graph, changes: list[Change], time_ps: int) -> list[tuple[bool, int, int]]:
    """Whether each link is up at a time, its rate and its delay: by what was last said of it and of its ends."""

    def last(target: Target, name: str, otherwise: int) -> int:
        said = [c for c in changes if c.target == target and c.time_ps <= time_ps and name in c.state.named()]
        return getattr(max(said, key=lambda c: c.time_ps).state, name) if said else otherwise

    def node_up(node: int) -> bool:
        if node >= graph.hosts:
            return bool(last(SwitchTarget(node - graph.hosts), "up", True))
        npus = [npu for npu, host in enumerate(graph.npu_host) if host == node]
        return not npus or any(last(NpuTarget(npu), "up", True) for npu in npus)

    return [
        (
            bool(last(LinkTarget(number), "up", True)) and node_up(link.a) and node_up(link.b),
            last(LinkTarget(number), "rate_bps", link.rate_bps),
            last(LinkTarget(number), "delay_ps", link.delay_ps),
        )
        for number, link in enumerate(graph.links)
    ]


@given(changing_graphs())
def test_every_epoch_has_the_links_of_its_time_and_the_cheapest_paths_over_them(
    drawn: tuple[Graph, list[Change], bool],
) -> None:
    graph, changes, weighted = drawn
    for epoch in epochs(graph, changes, weighted=weighted):
        found = [(link.up, link.rate_bps, link.delay_ps) for link in epoch.graph.links]
        assert found == expected_links(graph, changes, epoch.start_ps)
        severed = 0
        for host in range(graph.hosts):
            far = costs_to(epoch.graph, host)
            severed += sum(far[other] == UNREACHABLE for other in range(graph.hosts))
            for node in range(graph.nodes):
                ports = epoch.tables.towards(node, host)
                if node != host and (node >= graph.hosts or len(graph.ports[node]) != 1):
                    reached = far[node] < UNREACHABLE
                    assert tuple(sorted(set(ports))) == (
                        ports_on_cheapest_paths(epoch.graph, far, node, host) if reached else ()
                    )
        assert epoch.severed.pairs == severed


@given(changing_graphs())
def test_the_tables_of_one_epoch_and_a_difference_give_those_of_the_next(
    drawn: tuple[Graph, list[Change], bool],
) -> None:
    graph, changes, weighted = drawn
    for before, after in pairwise(epochs(graph, changes, weighted=weighted)):
        assert before.tables.group_of_host.tolist() == after.tables.group_of_host.tolist()
        groups = after.tables.group_of_host.tolist()
        old, new = as_table(before.tables, graph), as_table(after.tables, graph)
        differences = epoch_difference(before, after).routes
        assert changed_by(old, groups, differences) == new
        unchanged = set(old) - {one.node for one in differences}
        assert all(old[node] == new[node] for node in unchanged)
        assert all(old[one.node] != new[one.node] for one in differences)


@given(changing_graphs())
def test_routes_of_an_epoch_are_those_of_the_network_that_never_had_its_dead_links(
    drawn: tuple[Graph, list[Change], bool],
) -> None:
    graph, changes, weighted = drawn
    for epoch in epochs(graph, changes, weighted=weighted):
        left = [number for number, link in enumerate(epoch.graph.links) if link.up]
        rest = replace(graph, links=tuple(epoch.graph.links[number] for number in left))
        try:
            expected = shortest_paths(rest, weighted=weighted)
        except InputError:
            assert epoch.severed.pairs > 0
            continue
        assert epoch.severed.pairs == 0
        for node in range(graph.hosts, graph.nodes):
            for host in range(graph.hosts):
                names = [graph.ports[node][port].link for port in epoch.tables.towards(node, host)]
                assert names == [left[rest.ports[node][port].link] for port in expected.towards(node, host)]
