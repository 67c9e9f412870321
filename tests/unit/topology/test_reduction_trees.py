"""Trees of reducing switches: who hands what to whom in real topologies, and what can't be joined."""

from __future__ import annotations

import random
from typing import Any

import pytest

from astra_ns3.config.core.reduction import ABSENT, NOBODY, Trees
from astra_ns3.config.network.packet_network import parse_network
from astra_ns3.errors import InputError
from astra_ns3.topology.builders import build_graph
from astra_ns3.topology.distances import host_groups
from astra_ns3.topology.forwarding import with_whole_hosts
from astra_ns3.topology.graph import Graph
from astra_ns3.topology.measures import measure
from astra_ns3.topology.reducers import helper_players, rooms, without_reducers
from astra_ns3.topology.reduction_trees import GraphTrees, exchanging

LINK = {"rate": "100Gbps", "delay": "500ns"}
REDUCES = {"buffer": "64MB", "reduction": {}}
PLAIN = {"buffer": "64MB"}


def graph_of(**topology: Any) -> Graph:
    return build_graph(parse_network({"topology": topology, "transport": {"kind": "roce"}}).topology)


def leaf_spine(switch: dict[str, Any], spine: dict[str, Any], leaves: int = 4, spines: int = 2) -> Graph:
    return graph_of(
        kind="leaf-spine",
        leaves=leaves,
        spines=spines,
        hosts_per_leaf=4,
        link=LINK,
        switch=switch,
        spine_switch=spine,
    )


def joining(graph: Graph, npus: list[int], algorithm: str = "sharp", group: int = 0) -> Trees:
    return GraphTrees(graph, range(len(graph.npu_host))).joining(npus, group, algorithm=algorithm)


def named(graph: Graph, trees: Trees, tree: int = 0) -> dict[str, str]:
    """The parent of each player by names: NPU 3's leaf 0, and so on."""
    members = trees.members
    names = [f"member {rank}" for rank in range(members)]
    names += [graph.switch_names[graph.reducers[reducer]] for reducer in trees.reducers]
    return {
        names[player]: "root" if parent == NOBODY else names[parent]
        for player, parent in enumerate(trees.parents[tree])
        if parent != ABSENT
    }


def test_a_storage_host_has_a_player_for_accesses_and_one_for_each_group_of_a_tree() -> None:
    """16 NPUs, storage hosts 16 and 17, reducers of two leaves with 3 groups and of a spine with 5."""
    graph = graph_of(
        kind="leaf-spine",
        leaves=2,
        spines=1,
        hosts_per_leaf=8,
        link=LINK,
        switch={**PLAIN, "reduction": {"groups": 3}},
        spine_switch={**PLAIN, "reduction": {"groups": 5}},
        storage={"per": "rack", "link": LINK},
    )
    assert (graph.storage, len(graph.reducers), rooms(graph)) == ((16, 17), 3, [3, 3, 5, 6, 6])
    assert helper_players(graph) == [*[18] * 3, *[19] * 3, *[20] * 5, *[16] * 6, *[17] * 6]
    plain = graph_of(kind="single-switch", npus=2, link=LINK, switch=PLAIN, storage={"per": "rack", "link": LINK})
    assert (rooms(plain), helper_players(plain)) == ([1], [2])


def test_a_reducer_is_a_host_without_an_npu_behind_all_others() -> None:
    plain, graph = leaf_spine(PLAIN, PLAIN), leaf_spine(REDUCES, PLAIN)
    assert (graph.hosts, graph.switches, graph.reducers) == (16 + 4, 6, (0, 1, 2, 3))
    assert graph.npu_host == tuple(range(16))
    assert graph.player_host == tuple(range(20))
    lines = [link for link in graph.links if link.kind == "reduction"]
    assert [(link.a, link.b) for link in lines] == [(16 + leaf, 20 + leaf) for leaf in range(4)]
    # Twice 4 hosts at 100 Gb/s below and 2 spines at 100 Gb/s above.
    assert {link.rate_bps for link in lines} == {1_200_000_000_000}
    for shown in (without_reducers(graph), with_whole_hosts(graph)):
        assert (shown.hosts, shown.links, shown.reducers) == (16, plain.links, ())
    assert measure(graph).bisection_bps == measure(plain).bisection_bps


def test_rate_and_latency_are_the_files() -> None:
    graph = leaf_spine({"buffer": "64MB", "reduction": {"rate": "3200Gbps", "latency": "400ns"}}, PLAIN)
    lines = {(link.rate_bps, link.delay_ps) for link in graph.links if link.kind == "reduction"}
    assert lines == {(3_200_000_000_000, 200_000)}


def test_members_below_one_leaf_are_joined_by_it() -> None:
    graph = leaf_spine(REDUCES, REDUCES)
    assert named(graph, joining(graph, [4, 5, 7])) == {
        "member 0": "leaf 1",
        "member 1": "leaf 1",
        "member 2": "leaf 1",
        "leaf 1": "root",
    }


def test_members_below_several_leaves_are_joined_by_a_spine() -> None:
    graph = leaf_spine(REDUCES, REDUCES)
    assert named(graph, joining(graph, [0, 1, 4, 5, 6, 12])) == {
        "member 0": "leaf 0",
        "member 1": "leaf 0",
        "member 2": "leaf 1",
        "member 3": "leaf 1",
        "member 4": "leaf 1",
        "member 5": "spine 0",  # leaf 3 would have nothing to add to what one member sends
        "leaf 0": "spine 0",
        "leaf 1": "spine 0",
        "spine 0": "root",
    }


def test_leaves_that_do_not_reduce_pass_on_what_members_send() -> None:
    graph = leaf_spine(PLAIN, REDUCES)
    assert set(named(graph, joining(graph, [0, 1, 4, 12])).values()) == {"spine 0", "root"}


def test_groups_take_roots_in_turn_and_fred_takes_all() -> None:
    graph = leaf_spine(REDUCES, REDUCES)
    roots = [named(graph, joining(graph, [0, 1, 4, 5], group=group)) for group in range(4)]
    assert ["spine 0" in tree for tree in roots] == [True, False, True, False]
    trees = joining(graph, [0, 1, 4, 5], "fred")
    assert [named(graph, trees, tree)[f"spine {tree}"] for tree in (0, 1)] == ["root", "root"]
    assert len(trees.parents) == 2


def test_a_fat_tree_joins_over_edge_aggregation_and_core() -> None:
    graph = graph_of(kind="fat-tree", k=4, link=LINK, switch=REDUCES)
    tree = named(graph, joining(graph, list(range(16))))
    depth = {"root": -1}
    for name in sorted(tree, key=lambda each: each.startswith("member")):
        steps, at = 0, name
        while tree[at] != "root":
            steps, at = steps + 1, tree[at]
        depth[name] = steps
    assert {depth[f"member {rank}"] for rank in range(16)} == {3}
    assert sum(name.startswith("edge") for name in tree) == 8
    assert sum(name.startswith("core") for name in tree) == 1


@pytest.mark.parametrize("keys", [{}, {"forwarding": {"by": "hosts", "switch": PLAIN}}])
def test_members_on_all_planes_of_a_server_share_them_also_where_they_forward(keys: dict[str, Any]) -> None:
    scale_up = {"link": {"rate": "400Gbps", "delay": "250ns"}, "switch": REDUCES, "planes": 2}
    graph = graph_of(
        kind="hierarchical",
        nodes=2,
        npus_per_node=4,
        nics_per_node=4,
        scale_up=scale_up,
        scale_out={"kind": "single-switch", "link": LINK, "switch": PLAIN},
        **keys,
    )
    shared = GraphTrees(graph, range(8), of_server=4).shared([4, 5, 6, 7])
    assert [graph.switch_names[graph.reducers[player - 8]] for player in shared] == ["scale-up 2", "scale-up 3"]
    trees = joining(graph, [4, 5, 6, 7], "nvls")
    assert [graph.switch_names[graph.reducers[reducer]] for reducer in trees.reducers] == ["scale-up 2", "scale-up 3"]
    assert len(trees.parents) == 2
    with pytest.raises(InputError, match=r"nvls: (hosts 3, 4 hang on no|no reducing switch can)"):
        joining(graph, [3, 4], "nvls")


def test_what_cannot_be_joined_is_said() -> None:
    with pytest.raises(InputError, match="sharp: no switch of the network reduces; give one 'reduction'"):
        joining(leaf_spine(PLAIN, PLAIN), [0, 1])
    with pytest.raises(InputError, match="nvls: hosts 0, 4 hang on no reducing switch that all of them share"):
        joining(leaf_spine(REDUCES, REDUCES), [0, 4], "nvls")


def test_pieces_are_the_largest_and_room_the_least_of_the_switches() -> None:
    graph = leaf_spine(
        {"buffer": "64MB", "reduction": {"piece": "8KiB", "buffer": "64KiB"}},
        {"buffer": "64MB", "reduction": {"piece": "16KiB", "buffer": "1MiB"}},
    )
    trees = joining(graph, [0, 1, 4, 5])
    assert (trees.piece_bytes, trees.buffer_bytes) == (16 * 1024, 64 * 1024)


def test_players_are_numbered_behind_the_networks_last_npu() -> None:
    graph = leaf_spine(REDUCES, REDUCES)
    trees = GraphTrees(graph, [8, 9, 12, 13])  # a tenant on four NPUs
    found = trees.joining([0, 1, 2, 3], 0, algorithm="sharp")
    assert [graph.switch_names[graph.reducers[reducer]] for reducer in found.reducers] == [
        "leaf 2",
        "leaf 3",
        "spine 0",
    ]
    assert trees.players([0, 1, 2, 3], found) == (0, 1, 2, 3, 16 + 2, 16 + 3, 16 + 4)


@pytest.mark.parametrize("seed", range(12))
def test_all_that_trees_join_may_send_to_each_other(seed: int) -> None:
    """Drawn groups, with a storage host or without, below drawn switches that reduce."""
    draw = random.Random(seed)
    storage = {"per": draw.choice(["node", "rack", "fabric"]), "count": draw.randint(1, 3), "link": LINK}
    shape: dict[str, Any] = draw.choice(
        [
            {"kind": "leaf-spine", "leaves": 3, "spines": 2, "hosts_per_leaf": 2},
            {"kind": "fat-tree", "k": 4},
            {"kind": "mesh", "shape": [3, 3]},
            {"kind": "ring", "npus": 7},
        ]
    )
    graph = graph_of(**shape, link=LINK, switch=REDUCES, storage=storage)
    of_host = host_groups(graph).of_host
    sends, trees, npus = exchanging(graph, of_host), GraphTrees(graph, range(len(graph.npu_host))), len(graph.npu_host)
    for _ in range(30):
        ranks = draw.sample(range(npus), draw.randint(2, npus))
        place = draw.choice([None, *(place for place, host in enumerate(graph.storage) if trees.attached(host))])
        pool = None if place is None else npus + len(graph.reducers) + place
        found = trees.joining(ranks, draw.randint(0, 3), algorithm=draw.choice(["sharp", "tree"]), pool=pool)
        hosts = [graph.npu_host[rank] for rank in ranks] + ([] if place is None else [graph.storage[place]])
        hosts += [graph.hosts - len(graph.reducers) + reducer for reducer in found.reducers]
        for parents in found.parents:
            for child, parent in enumerate(parents):
                pair = of_host[[hosts[child], hosts[parent]]] if parent >= 0 else [0, 0]
                assert parent < 0 or (sends[pair[0], pair[1]] and sends[pair[1], pair[0]])
