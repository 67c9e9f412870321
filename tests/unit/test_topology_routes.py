"""Shortest paths on graphs small enough to draw, and against a search of another kind."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astra_ns3.errors import InputError
from astra_ns3.topology.graph import Graph, Link
from astra_ns3.topology.routes import shortest_path_ports


def graph(hosts: int, switches: int, pairs: list[tuple[int, int]]) -> Graph:
    links = tuple(Link(a, b, 10**11, 500_000) for a, b in pairs)
    return Graph(hosts, switches, links, tuple(range(hosts)), (10**9,) * switches)


def test_one_switch_sends_each_host_its_own_port() -> None:
    (routes,) = shortest_path_ports(graph(3, 1, [(0, 3), (1, 3), (2, 3)]))
    assert [routes.towards(host) for host in range(3)] == [(0,), (1,), (2,)]
    assert routes.offsets.tolist() == [0, 1, 2, 3]
    assert routes.ports.tolist() == [0, 1, 2]


def test_a_chain_of_three_switches_passes_on_along_the_chain() -> None:
    # host 0 - switch 0 - switch 1 (host 1) - switch 2 - host 2; links in this order give the ports noted.
    chain = graph(3, 3, [(0, 3), (3, 4), (1, 4), (4, 5), (5, 2)])
    first, middle, last = shortest_path_ports(chain)
    assert [first.towards(host) for host in range(3)] == [(0,), (1,), (1,)]
    assert [middle.towards(host) for host in range(3)] == [(0,), (1,), (2,)]
    assert [last.towards(host) for host in range(3)] == [(0,), (0,), (1,)]


def test_two_spines_give_two_equal_paths_between_leaves() -> None:
    # hosts 0, 1 on leaf 4; hosts 2, 3 on leaf 5; spines 6 and 7.
    pairs = [(0, 4), (1, 4), (2, 5), (3, 5), (4, 6), (4, 7), (5, 6), (5, 7)]
    left, right, *spines = shortest_path_ports(graph(4, 4, pairs))
    assert [left.towards(host) for host in range(4)] == [(0,), (1,), (2, 3), (2, 3)]
    assert [right.towards(host) for host in range(4)] == [(2, 3), (2, 3), (0,), (1,)]
    for spine in spines:
        assert [spine.towards(host) for host in range(4)] == [(0,), (0,), (1,), (1,)]


def test_parallel_links_are_all_used() -> None:
    first, second = shortest_path_ports(graph(2, 2, [(0, 2), (2, 3), (2, 3), (1, 3)]))
    assert first.towards(1) == (1, 2)
    assert second.towards(0) == (0, 1)


def test_a_host_on_two_switches_is_reached_over_the_nearer_and_forwards_nothing() -> None:
    # host 0 sits on both switches, which no other path joins: host 1 is out of reach of switch 1.
    with pytest.raises(InputError, match="host 1 cannot be reached from switch 1"):
        shortest_path_ports(graph(2, 2, [(0, 2), (0, 3), (1, 2)]))
    first, second = shortest_path_ports(graph(2, 2, [(0, 2), (0, 3), (1, 2), (2, 3)]))
    assert (first.towards(0), second.towards(0)) == ((0,), (0,))
    assert second.towards(1) == (1,)


def test_hosts_without_a_path_are_named() -> None:
    with pytest.raises(InputError, match="host 1 cannot be reached from switch 0"):
        shortest_path_ports(graph(2, 2, [(0, 2), (1, 3)]))


@st.composite
def connected_graphs(draw: st.DrawFn) -> Graph:
    """A random tree of switches, some more links between them, and one link for each host."""
    hosts, switches = draw(st.integers(1, 5)), draw(st.integers(1, 6))
    tree = [(hosts + draw(st.integers(0, s - 1)), hosts + s) for s in range(1, switches)]
    any_switch = st.integers(hosts, hosts + switches - 1)
    more = draw(st.lists(st.tuples(any_switch, any_switch).filter(lambda pair: pair[0] != pair[1]), max_size=6))
    homes = [(host, draw(any_switch)) for host in range(hosts)]
    return graph(hosts, switches, draw(st.permutations([*tree, *(more if switches > 1 else []), *homes])))


@given(connected_graphs().filter(lambda g: g.switches > 0))
def test_every_port_leads_one_hop_nearer_and_no_such_port_is_left_out(drawn: Graph) -> None:
    routes = shortest_path_ports(drawn)
    for host in range(drawn.hosts):
        hops = hops_to(drawn, host)
        for switch in range(drawn.switches):
            node = drawn.hosts + switch
            nearer = [
                index
                for index, port in enumerate(drawn.ports[node])
                if (port.peer == host or port.peer >= drawn.hosts) and hops[port.peer] < hops[node]
            ]
            assert routes[switch].towards(host) == tuple(nearer)


def hops_to(drawn: Graph, host: int) -> list[int]:
    """Links from each node to ``host`` by relaxing every link until nothing changes (Bellman and Ford)."""
    hops = [10**6] * drawn.nodes
    hops[host] = 0
    for _ in range(drawn.nodes):
        for link in drawn.links:
            for here, there in ((link.a, link.b), (link.b, link.a)):
                if there == host or there >= drawn.hosts:
                    hops[here] = min(hops[here], hops[there] + 1)
    return hops
