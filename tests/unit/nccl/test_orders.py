"""Rings, trees and heads: each is what it must be, and some are what logs show."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest

from astra_ns3.nccl.communicator import Communicator
from astra_ns3.nccl.graphs import graph_of
from astra_ns3.nccl.orders import (
    double_tree,
    nics_of_gpus,
    nvls_heads,
    nvls_tree_parents,
    railed_tree_parents,
    ring_orders,
    spread_orders,
    tree_parents,
)
from astra_ns3.nccl.servers import SERVERS, server_named

Make = Callable[..., Communicator]

SHAPES = [
    (name, servers, gpus)
    for name, counts in (("h100", (1, 2, 3, 8)), ("a100", (1, 2, 5, 8)), ("4 a100", (1, 2, 4)), ("dgx-1v", (2, 8)))
    for servers in (1, 2, 3, 10)
    for gpus in counts
    if servers * gpus > 1
]


@pytest.mark.parametrize(("name", "servers", "gpus"), SHAPES)
def test_each_ring_has_each_rank_once_and_servers_in_turn(make: Make, name: str, servers: int, gpus: int) -> None:
    for order in ring_orders(make(name, servers, gpus)):
        assert sorted(order) == list(range(servers * gpus))
        assert [rank // gpus for rank in order[::gpus]] == list(range(servers))


@pytest.mark.parametrize(("name", "servers", "gpus"), SHAPES)
def test_each_tree_reaches_all_ranks_from_one_root(make: Make, name: str, servers: int, gpus: int) -> None:
    for parents in tree_parents(make(name, servers, gpus)):
        assert parents.count(-1) == 1
        for rank in range(servers * gpus):
            steps = 0
            while parents[rank] >= 0:
                rank, steps = parents[rank], steps + 1
                assert steps <= servers * gpus


def test_rings_of_h100_servers_enter_and_leave_on_one_rail(make: Make) -> None:
    first, second = ring_orders(make("h100", 2, 8))[:2]
    assert first == (0, 7, 6, 5, 4, 3, 2, 1, 9, 10, 11, 12, 13, 14, 15, 8)
    assert second == (1, 2, 3, 4, 5, 6, 7, 0, 8, 15, 14, 13, 12, 11, 10, 9)


def test_rings_that_return_by_pxn_don_t_swap(make: Make) -> None:
    # nccl#1453, three servers: "Channel 08/16 : 0 7 6 5 4 3 2 1 8 15 14 13 12 11 10 9 16 23 22 21 ..." and
    # "Channel 05/16 : 0 7 6 13 12 11 10 9 8 15 14 21 20 ...": a ring enters at GPU 5 and goes down
    orders = ring_orders(make("h100", 3, 8, "2.19"))
    assert orders[0][:12] == orders[8][:12] == (0, 7, 6, 5, 4, 3, 2, 1, 8, 15, 14, 13)
    assert orders[5][:10] == (5, 4, 3, 2, 1, 0, 7, 6, 13, 12)


def test_second_half_of_channels_repeats_rings_with_the_other_tree(make: Make) -> None:
    communicator = make("h100", 4, 8)
    rings, trees = ring_orders(communicator), tree_parents(communicator)
    assert len(rings) == len(trees) == 16
    assert rings[:8] == rings[8:]
    assert trees[:8] != trees[8:]


def test_inner_servers_of_one_tree_are_leaves_of_the_other_for_an_even_number() -> None:
    # the drawing of trees.cc for 12 servers, read off: 8 has 4 and 10, 11 is a child of 10
    first, second = ([up for up, _ in tree] for tree in double_tree(12))
    assert first == [-1, 2, 4, 2, 8, 6, 4, 6, 0, 10, 8, 10]
    assert second == [11 - up if up >= 0 else -1 for up in reversed(first)]
    inner = [set(parents) - {-1} for parents in (first, second)]
    assert inner[0] & inner[1] == set()


def test_trees_of_an_odd_number_are_moved_on_by_one() -> None:
    first, second = ([up for up, _ in tree] for tree in double_tree(13))
    assert first[12] == 8
    assert second[0] == 9
    assert second.index(-1) == 1


def test_children_of_a_balanced_tree_hang_on_both_gpus_next_to_the_nic(make: Make) -> None:
    communicator = make("a100", 4, 8)
    order = graph_of(communicator, "tree").orders[0]
    parents = tree_parents(communicator)[0]
    # server 2 is the parent of 1 (first child) and 3 (second child), and itself the second child of 0
    assert parents[8 + order[0]] == 16 + order[1]
    assert parents[24 + order[0]] == 16 + order[0]
    assert parents[16 + order[0]] == order[0]


def test_heads_are_the_gpus_next_to_nics(make: Make) -> None:
    # nccl#1357: "NVLS Head 0: 0 8", "1: 2 10", "2: 4 12", "3: 6 14"
    assert nvls_heads(make("h100 with 4 NICs", 2, 8)) == (0, 2, 4, 6)
    assert nvls_heads(make("h100", 2, 8)) == nvls_heads(make("h100", 1, 8)) == tuple(range(8))


def test_nvls_channels_take_turns_between_two_trees(make: Make) -> None:
    parents = nvls_tree_parents(make("h100", 4, 8))
    assert len(parents) == 16
    assert parents[0] == (-1, 2, 0, 2)
    assert parents[1] == (1, 3, 1, -1)
    assert parents[::2] == (parents[0],) * 8


def test_a_minimum_copies_the_channels_that_a_maximum_left(make: Make) -> None:
    orders = ring_orders(make("h100", 2, 8, max_nchannels=2, min_nchannels=6))
    assert len(orders) == 6
    assert orders[:2] * 3 == orders


IN_USE = [
    (name, gpus)
    for name, server in SERVERS.items()
    for gpus in range(2, server.gpus + 1)
    if gpus <= 16 or gpus == server.gpus
    if gpus % len(set(nics_of_gpus(Communicator(server, 2, gpus)))) == 0  # else no network shares the NICs
]


@pytest.mark.parametrize(("name", "gpus"), IN_USE)
def test_rings_leave_a_server_by_nics_as_evenly_as_those_of_nccl_s_graph(name: str, gpus: int) -> None:
    communicator = Communicator(server_named(name), 2, gpus)
    graph, nics = graph_of(communicator, "ring"), nics_of_gpus(communicator)
    rings = [order[:gpus] for order in spread_orders(communicator)][: graph.channels]
    assert [ring[0] for ring in rings] == [order[0] for order in ring_orders(communicator)[: graph.channels]]
    leaving = Counter(nics[ring[-1]] for ring in rings)
    of_graph = Counter(nic for _, nic in graph.nics[: graph.channels])
    assert sorted(leaving.values()) == sorted(of_graph.values())


@pytest.mark.parametrize("servers", [2, 3, 4, 5, 8])
@pytest.mark.parametrize("gpus", [2, 3, 4, 6, 7])
@pytest.mark.parametrize("name", ["dgx-h100", "dgx-a100"])
def test_rings_on_a_part_of_a_server_stay_on_rails(name: str, gpus: int, servers: int) -> None:
    """A ring leaves a server by the GPU by which it enters the next; of two GPUs one hop of an odd ring can't."""
    communicator = Communicator(server_named(name), servers, gpus)
    for order in dict.fromkeys(spread_orders(communicator)):
        assert sorted(order) == list(range(servers * gpus))
        parts = [order[server * gpus : (server + 1) * gpus] for server in range(servers)]
        assert all(rank // gpus == server for server, part in enumerate(parts) for rank in part)
        crossing = sum(parts[server - 1][-1] % gpus != part[0] % gpus for server, part in enumerate(parts))
        assert crossing == (servers % 2 and gpus == 2)


@pytest.mark.parametrize("servers", [2, 3, 4, 5])
@pytest.mark.parametrize("name", SERVERS)
def test_no_server_s_nic_has_more_rings_than_in_others(name: str, servers: int) -> None:
    """In each server, and both ways: as many rings enter and leave by its busiest NIC as by that of two servers."""
    server = server_named(name)
    for gpus in (2, 3, 4, min(server.gpus, 8)):
        communicator = Communicator(server, servers, gpus)
        nics, orders = nics_of_gpus(communicator), dict.fromkeys(spread_orders(communicator))
        pair = dict.fromkeys(spread_orders(Communicator(server, 2, gpus)))
        most = max(max(Counter(nics[order[at]] for order in pair).values()) for at in (0, gpus - 1))
        for place in (at for first in range(0, servers * gpus, gpus) for at in (first, first + gpus - 1)):
            assert max(Counter(nics[order[place] % gpus] for order in orders).values()) <= most


@pytest.mark.parametrize("name", ["dgx-a100", "hgx-a100"])
def test_trees_keep_all_nics_of_inner_servers_as_busy(name: str) -> None:
    """Each of 8 channels has a NIC of its own in NCCL's graph, and 7 hops between 8 servers, two ends each."""
    communicator = Communicator(server_named(name), 8, 8)
    nics, busy = nics_of_gpus(communicator), Counter[int]()
    for tree in railed_tree_parents(communicator)[:16]:
        for rank, parent in enumerate(tree):
            if parent >= 0 and rank // 8 != parent // 8:
                busy.update([nics[rank % 8], nics[parent % 8]])
    assert len(set(busy.values())) == 1


@pytest.mark.parametrize("servers", [2, 3, 4, 7, 8])
@pytest.mark.parametrize("gpus", [2, 4, 8])
@pytest.mark.parametrize("name", ["dgx-h100", "dgx-a100", "hgx-a100"])
def test_trees_stay_on_rails_with_the_same_edges_between_servers(name: str, gpus: int, servers: int) -> None:
    communicator = Communicator(server_named(name), servers, gpus)
    own, nics = nics_of_gpus(communicator), set[int]()
    for tree, as_nccl in zip(railed_tree_parents(communicator), tree_parents(communicator), strict=True):
        hops = [(rank, parent) for rank, parent in enumerate(tree) if parent >= 0]
        between = [(rank, parent) for rank, parent in hops if rank // gpus != parent // gpus]
        assert len(hops) == servers * gpus - 1
        assert len(between) == servers - 1
        assert all(own[rank % gpus] == own[parent % gpus] for rank, parent in between)
        nics |= {own[rank % gpus] for rank, _ in between}
        edges = {
            (rank // gpus, up // gpus) for rank, up in enumerate(as_nccl) if up >= 0 and rank // gpus != up // gpus
        }
        assert {(rank // gpus, parent // gpus) for rank, parent in between} == edges
    assert nics == set(own)


@pytest.mark.parametrize("servers", [3, 4])
def test_each_server_s_nics_are_shared_evenly_both_ways(servers: int) -> None:
    orders = dict.fromkeys(spread_orders(Communicator(server_named("dgx-h100"), servers, 4)))
    for server in range(servers):
        for place in (4 * server, 4 * server + 3):
            assert set(Counter(order[place] for order in orders).values()) == {1}


def test_where_every_other_nic_is_taken_a_ring_moves_on() -> None:
    leaving = {order[6] for order in spread_orders(Communicator(server_named("dgx-a100"), 2, 7))}
    assert leaving == set(range(7))
