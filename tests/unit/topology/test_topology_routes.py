"""Shortest paths on graphs small enough to draw, and against a search of another kind."""

from __future__ import annotations

import pytest
from hypothesis import given
from oracles.cheapest_paths import UNREACHABLE, connected_graphs, costs_to, ports_on_cheapest_paths

from astra_ns3.errors import InputError
from astra_ns3.topology.graph import Graph, Link
from astra_ns3.topology.routes import LOCAL, RouteTables, shortest_paths


def graph(hosts: int, switches: int, pairs: list[tuple[int, int]]) -> Graph:
    links = tuple(Link(a, b, 10**11, 500_000) for a, b in pairs)
    return Graph(hosts, switches, links, tuple(range(hosts)), (10**9,) * switches)


def all_ports(tables: RouteTables, node: int) -> list[tuple[int, ...]]:
    """The ports of ``node`` towards each host."""
    return [tables.towards(node, host) for host in range(len(tables.hosts))]


def test_one_switch_sends_each_host_its_own_port() -> None:
    tables = shortest_paths(graph(3, 1, [(0, 3), (1, 3), (2, 3)]))
    assert all_ports(tables, 3) == [(0,), (1,), (2,)]
    assert (tables.groups, tables.group_of_host.tolist(), tables.hosts) == (1, [0, 0, 0], (None, None, None))
    (routes,) = tables.switches
    assert routes.set_of_group.tolist() == [LOCAL]
    assert (routes.set_offsets.tolist(), routes.set_ports.tolist()) == ([0], [])
    assert (routes.local_hosts.tolist(), routes.local_ports.tolist()) == ([0, 1, 2], [0, 1, 2])


def test_a_chain_of_three_switches_passes_on_along_the_chain() -> None:
    # host 0 - switch 0 - switch 1 (host 1) - switch 2 - host 2; links in this order give the ports noted.
    tables = shortest_paths(graph(3, 3, [(0, 3), (3, 4), (1, 4), (4, 5), (5, 2)]))
    assert all_ports(tables, 3) == [(0,), (1,), (1,)]
    assert all_ports(tables, 4) == [(0,), (1,), (2,)]
    assert all_ports(tables, 5) == [(0,), (0,), (1,)]


def test_two_spines_give_two_equal_paths_between_leaves() -> None:
    # hosts 0, 1 on leaf 4; hosts 2, 3 on leaf 5; spines 6 and 7.
    pairs = [(0, 4), (1, 4), (2, 5), (3, 5), (4, 6), (4, 7), (5, 6), (5, 7)]
    tables = shortest_paths(graph(4, 4, pairs))
    assert all_ports(tables, 4) == [(0,), (1,), (2, 3), (2, 3)]
    assert all_ports(tables, 5) == [(2, 3), (2, 3), (0,), (1,)]
    for spine in (6, 7):
        assert all_ports(tables, spine) == [(0,), (0,), (1,), (1,)]
    assert tables.group_of_host.tolist() == [0, 0, 1, 1]


def test_equal_sets_of_ports_are_stored_once() -> None:
    # Three leaves with a host each under two spines: a leaf reaches both other leaves over the same two ports.
    pairs = [(0, 3), (1, 4), (2, 5), *((leaf, spine) for leaf in (3, 4, 5) for spine in (6, 7))]
    tables = shortest_paths(graph(3, 5, pairs))
    leaf = tables.switches[0]
    assert leaf.set_of_group.tolist() == [LOCAL, 0, 0]
    assert (leaf.set_offsets.tolist(), leaf.set_ports.tolist()) == ([0, 2], [1, 2])
    assert tables.switches[3].set_ports is tables.switches[4].set_ports


def test_switches_that_lead_alike_keep_their_own_hosts_in_the_order_of_their_ports() -> None:
    # Hosts 0 and 1 sit on both switches, by links in another order.
    tables = shortest_paths(graph(2, 2, [(0, 2), (1, 2), (1, 3), (0, 3)]))
    first, second = tables.switches
    assert first.set_of_group is second.set_of_group
    assert (first.local_hosts.tolist(), second.local_hosts.tolist()) == ([0, 1], [1, 0])
    assert (tables.towards(2, 1), tables.towards(3, 1)) == ((1,), (0,))


def test_parallel_links_are_all_used() -> None:
    tables = shortest_paths(graph(2, 2, [(0, 2), (2, 3), (2, 3), (1, 3)]))
    assert (tables.towards(2, 1), tables.towards(3, 0)) == ((1, 2), (0, 1))


def test_a_host_with_several_links_has_routes_of_its_own() -> None:
    # hosts 0 and 1 sit on both switches; a host's two links to one switch are both used.
    tables = shortest_paths(graph(2, 2, [(0, 2), (0, 3), (1, 2), (1, 3), (0, 2)]))
    assert tables.towards(0, 1) == (0, 1, 2)
    assert (tables.towards(2, 0), tables.towards(3, 0)) == ((0, 2), (0,))
    assert tables.switches[0].local_hosts.tolist() == [0, 1, 0]


def test_hosts_forward_nothing() -> None:
    # Host 0 sits on both switches, which nothing else joins: hosts 1 and 2 are out of each other's reach.
    with pytest.raises(InputError, match=r"host 2 cannot be reached from host 1: no way .*'forwarding: hosts'"):
        shortest_paths(graph(3, 2, [(0, 3), (0, 4), (1, 3), (2, 4)]))
    # Without host 2 all is well, though switch 1 knows no way to host 1: nobody sends it anything for host 1.
    tables = shortest_paths(graph(2, 2, [(0, 2), (0, 3), (1, 2)]))
    assert (tables.towards(0, 1), tables.towards(3, 0), tables.towards(3, 1)) == ((0,), (0,), ())


def test_hosts_joined_directly_use_their_own_link() -> None:
    tables = shortest_paths(graph(3, 0, [(0, 1), (0, 2), (1, 2)]))
    assert [tables.towards(0, 1), tables.towards(0, 2), tables.towards(2, 0)] == [(0,), (1,), (0,)]
    assert tables.groups == 1


def test_hosts_without_a_path_are_named() -> None:
    with pytest.raises(InputError, match="host 1 cannot be reached from host 0: no links lead there"):
        shortest_paths(graph(2, 2, [(0, 2), (1, 3)]))
    with pytest.raises(InputError, match="host 1 cannot be reached from host 0: no links lead there"):
        shortest_paths(graph(2, 0, []))


def test_the_cheaper_way_is_taken_though_it_is_no_shorter() -> None:
    # Two hosts on a scale-up switch (2) and on a scale-out switch (3): two links either way.
    links = [Link(0, 2, 1, 0), Link(1, 2, 1, 0), Link(0, 3, 1, 0, cost=9), Link(1, 3, 1, 0, cost=9)]
    tables = shortest_paths(Graph(2, 2, tuple(links), (0, 1), (1, 1)))
    assert (tables.towards(0, 1), tables.towards(1, 0)) == ((0,), (0,))


@pytest.mark.parametrize(
    ("rates", "repeats"),
    [
        ((100, 100), [1, 1]),
        ((100, 400), [1, 4]),
        ((200, 300), [2, 3]),
        ((1, 1000), [1, 64]),
    ],
)
def test_weights_repeat_ports_in_proportion_to_their_rates(rates: tuple[int, int], repeats: list[int]) -> None:
    links = [Link(0, 2, 1, 0), Link(1, 3, 1, 0), *(Link(2, 3, rate, 0) for rate in rates)]
    joined = Graph(2, 2, tuple(links), (0, 1), (1, 1))
    assert shortest_paths(joined).towards(2, 1) == (1, 2)
    weighted = shortest_paths(joined, weighted=True).towards(2, 1)
    assert [weighted.count(port) for port in (1, 2)] == repeats
    assert shortest_paths(joined, weighted=True).towards(2, 0) == (0,)


@given(connected_graphs())
def test_every_port_leads_nearer_and_no_such_port_is_left_out(drawn: Graph) -> None:
    tables = shortest_paths(drawn)
    for host in range(drawn.hosts):
        far = costs_to(drawn, host)
        for node in range(drawn.nodes):
            if node != host and far[node] < UNREACHABLE:
                assert tables.towards(node, host) == ports_on_cheapest_paths(drawn, far, node, host)


@pytest.mark.parametrize("ports", [5, 12, 40, 70, 130])
def test_switches_of_any_width_have_all_their_equal_ports(ports: int) -> None:
    # 30 hosts on two leaves, 30 more on the first spines, so that sets of one port and of all ports stand side by side.
    leaves = (60, 61)
    links = [(host, leaves[host % 2]) for host in range(30)] + [(host, 62 + host % ports) for host in range(30, 60)]
    links += [(leaf, 62 + spine) for spine in range(ports) for leaf in leaves]
    wide = graph(60, 2 + ports, links)
    tables = shortest_paths(wide)
    for host in (0, 1, 29, 30, 59):
        far = costs_to(wide, host)
        for node in range(wide.nodes):
            if node != host:
                assert tables.towards(node, host) == ports_on_cheapest_paths(wide, far, node, host)


@pytest.mark.parametrize(
    ("pairs", "branch"),
    [
        ([(0, 3), (1, 3), (2, 3)], False),
        ([(0, 3), (1, 3), (2, 5), (3, 4), (4, 5)], False),
        ([(0, 3), (0, 4), (1, 3), (1, 4), (2, 3), (2, 4)], True),  # each host chooses its switch
        ([(0, 3), (1, 3), (2, 4), (3, 4), (3, 4)], True),  # a switch chooses its link
        ([(0, 3), (1, 3), (2, 3), (2, 3)], True),  # and so it does towards a host
        ([(0, 3), (1, 4), (2, 4), (3, 4), (3, 5), (5, 4)], False),  # the way round is longer
    ],
)
def test_routes_branch_where_a_node_has_several_ports_towards_a_host(
    pairs: list[tuple[int, int]], branch: bool
) -> None:
    assert shortest_paths(graph(3, 3, pairs)).branch is branch
