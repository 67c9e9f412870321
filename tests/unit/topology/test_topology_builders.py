"""Every builder against closed forms: counts, degrees, diameter, number of shortest paths, bisection bandwidth."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import combinations, pairwise, permutations
from math import comb, factorial, prod
from random import Random
from typing import Any

import pytest

from astra_ns3.config.network.packet_network import parse_network
from astra_ns3.errors import InputError
from astra_ns3.topology.builders import BUILDERS, build_graph
from astra_ns3.topology.graph import Graph
from astra_ns3.topology.measures import Measures, measure
from astra_ns3.topology.paths import count_paths, path
from astra_ns3.topology.routes import shortest_paths

G = 10**9
RATE = 100 * G
LINK = {"rate": "100Gbps", "delay": "500ns"}
SWITCH = {"buffer": "64MB"}
SCALE_UP = {"link": {"rate": "900Gbps", "delay": "100ns"}, "switch": SWITCH}


def build(kind: str, **keys: Any) -> Graph:
    return build_graph(parse_network({"topology": {"kind": kind, **keys}}).topology)


def switched(kind: str, **keys: Any) -> Graph:
    return build(kind, link=LINK, switch=SWITCH, **keys)


def degrees(graph: Graph) -> list[dict[int, int]]:
    """How many hosts, and how many switches, have how many ports."""
    ports = [len(ports) for ports in graph.ports]
    return [dict(Counter(ports[: graph.hosts])), dict(Counter(ports[graph.hosts :]))]


def shape_of(found: Measures) -> tuple[int, int, int, int]:
    """Hosts, switches, links, diameter."""
    return found.hosts, found.switches, sum(link.count for link in found.links), found.diameter


@pytest.mark.parametrize("hosts", [2, 3, 8, 33])
def test_single_switch(hosts: int) -> None:
    graph = switched("single-switch", npus=hosts)
    found = measure(graph)
    assert shape_of(found) == (hosts, 1, hosts, 2)
    assert degrees(graph) == [{1: hosts}, {hosts: 1}]
    assert (found.paths, found.bisection_bps) == (1, hosts // 2 * RATE)


LEAF_SPINES = [(2, 1, 1, 1), (2, 2, 4, 1), (4, 2, 8, 1), (6, 3, 5, 2), (8, 8, 8, 1)]
RATIOS = [None, Fraction(1, 2), Fraction(1), Fraction(2), Fraction(5, 2), Fraction(4)]
WHOLE_UPLINKS = [
    (*sizes, ratio)
    for sizes in LEAF_SPINES
    for ratio in RATIOS
    if ratio is None or (sizes[2] * RATE / ratio / (sizes[1] * sizes[3])).denominator == 1
]


@pytest.mark.parametrize(("leaves", "spines", "hosts", "parallel", "ratio"), WHOLE_UPLINKS)
def test_leaf_spine(leaves: int, spines: int, hosts: int, parallel: int, ratio: Fraction | None) -> None:
    more = {} if ratio is None else {"oversubscription": float(ratio)}
    uplinks = spines * parallel
    graph = switched("leaf-spine", leaves=leaves, spines=spines, hosts_per_leaf=hosts, links_per_spine=parallel, **more)
    found = measure(graph)
    assert shape_of(found) == (leaves * hosts, leaves + spines, leaves * (hosts + uplinks), 4)
    ports = Counter({hosts + uplinks: leaves})
    ports[leaves * parallel] += spines
    assert degrees(graph) == [{1: leaves * hosts}, dict(ports)]
    assert found.paths == spines * parallel**2
    up = uplinks * RATE if ratio is None else hosts * RATE / ratio
    assert found.bisection_bps == leaves // 2 * min(hosts * RATE, up)
    assert found.oversubscription == (("leaf", Fraction(hosts * RATE) / up),)


@pytest.mark.parametrize("k", [2, 4, 6, 8, 10])
def test_fat_tree(k: int) -> None:
    graph = switched("fat-tree", k=k)
    found = measure(graph)
    assert shape_of(found) == (k**3 // 4, 5 * k**2 // 4, 3 * k**3 // 4, 6)
    assert degrees(graph) == [{1: k**3 // 4}, {k: 5 * k**2 // 4}]
    assert (found.paths, found.bisection_bps) == ((k // 2) ** 2, k**3 // 8 * RATE)
    tables = shortest_paths(graph)
    in_pod = (0, k**2 // 4 - 1)
    if k > 2:
        assert count_paths(graph, tables, *in_pod) == k // 2
        assert (len(path(graph, tables, *in_pod)), len(path(graph, tables, 0, 1))) == (4, 2)


def test_a_fat_tree_may_have_fewer_hosts_and_slower_uplinks() -> None:
    graph = switched("fat-tree", k=4, npus=6, oversubscription=2, core={"rate": "200Gbps", "delay": "1us"})
    found = measure(graph)
    assert shape_of(found) == (6, 20, 6 + 16 + 16, 6)
    assert {(link.kind, link.rate_bps, link.delay_ps, link.count) for link in found.links} == {
        ("link", 100 * G, 500_000, 6),
        ("uplink", 50 * G, 500_000, 16),
        ("core", 200 * G, 1_000_000, 16),
    }
    # Hosts 0 and 1 leave their edge switch over two uplinks of 50; host 2 shares its own with host 3: its link of 100.
    assert found.bisection_bps == 2 * 50 * G + 100 * G


CLOS = [
    ((4,), (1,), (1,)),
    ((4, 3), (1, 2), (1, 1)),
    ((4, 4), (1, 2), (1, 3)),
    ((2, 2, 2), (1, 2, 2), (1, 1, 1)),
    ((4, 3, 2), (1, 2, 3), (1, 2, 1)),
    ((2, 2, 2, 2), (2, 2, 1, 2), (1, 1, 2, 1)),
    ((3, 2, 2, 1, 2), (1, 1, 2, 2, 1), (1, 1, 1, 1, 1)),
]


@pytest.mark.parametrize(("children", "parents", "links"), CLOS)
def test_clos(children: tuple[int, ...], parents: tuple[int, ...], links: tuple[int, ...]) -> None:
    rates = [RATE * (level + 1) for level in range(len(children))]
    levels = [
        {"children": m, "parents": w, "links": c, "link": {"rate": rate, "delay": "1us"}, "switch": SWITCH}
        for m, w, c, rate in zip(children, parents, links, rates, strict=True)
    ]
    graph = build("clos", levels=levels)
    found = measure(graph)
    height = len(children)
    # Nodes of level l: the product of w up to l and of m above (Öhring et al.).
    nodes = [prod(parents[:level]) * prod(children[level:]) for level in range(height + 1)]
    assert (found.hosts, found.switches) == (nodes[0], sum(nodes[1:]))
    above = [nodes[level] * parents[level] * links[level] for level in range(height)]
    assert [link.count for link in found.links] == above
    # The highest level with more than one child is where paths between halves turn.
    top = max((level for level in range(height) if children[level] > 1), default=0) + 1
    assert found.diameter == 2 * top
    assert found.paths == prod(parents[:top]) * prod(links[:top]) ** 2
    if children[-1] % 2 == 0:
        across = min(above[level] * rates[level] for level in range(height))
        assert found.bisection_bps == across // 2


@pytest.mark.parametrize(("left", "right"), [(1, 1), (4, 4), (5, 3)])
def test_dumbbell(left: int, right: int) -> None:
    graph = switched("dumbbell", left=left, right=right, bottleneck={"rate": "40Gbps"})
    found = measure(graph)
    assert shape_of(found) == (left + right, 2, left + right + 1, 3)
    assert degrees(graph) == [{1: left + right}, dict(Counter([left + 1, right + 1]))]
    near = (left + right) // 2
    assert found.paths == 1
    assert found.bisection_bps == 40 * G + max(left - near, 0) * RATE


@pytest.mark.parametrize("npus", [1, 2, 3, 4, 7, 12])
def test_ring(npus: int) -> None:
    graph = switched("ring", npus=npus)
    found = measure(graph)
    links = {1: 0, 2: 1}.get(npus, npus)
    assert shape_of(found) == (npus, npus, npus + links, npus // 2 + 2 if npus > 1 else 0)
    assert degrees(graph) == [{1: npus}, {1 + min(npus - 1, 2): npus}]
    if npus > 1:
        assert found.paths == (2 if npus % 2 == 0 and npus > 2 else 1)
        assert found.bisection_bps == min(npus - 1, 2) * RATE


SHAPES = [(4,), (2, 2), (3, 3), (4, 4), (3, 5), (2, 6), (4, 2, 4), (3, 3, 4), (2, 2, 2, 2), (1, 4)]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kind", ["torus", "mesh"])
def test_torus_and_mesh(kind: str, shape: tuple[int, ...]) -> None:
    graph = switched(kind, shape=list(shape))
    found = measure(graph)
    count, closed = prod(shape), kind == "torus"
    links = sum(count // size * (size if closed and size > 2 else size - 1) for size in shape)
    hops = [size // 2 if closed else size - 1 for size in shape]
    assert shape_of(found) == (count, count, count + links, sum(hops) + 2)
    if closed:
        assert degrees(graph)[1] == {1 + sum(min(size - 1, 2) for size in shape): count}
    # Steps along the axes in any order; halfway round a ring of even size leads either way.
    either_way = sum(1 for size in shape if closed and size > 2 and size % 2 == 0)
    assert found.paths == factorial(sum(hops)) // prod(factorial(each) for each in hops) * 2**either_way
    if shape[-1] % 2 == 0:
        layers = 2 if closed and shape[-1] > 2 else 1
        assert found.bisection_bps == layers * count // shape[-1] * RATE


@pytest.mark.parametrize("shape", SHAPES)
def test_a_router_takes_in_what_its_links_carry(shape: tuple[int, ...]) -> None:
    graph = switched("mesh", shape=list(shape))
    for host in range(graph.hosts):
        injection, *others = (graph.links[port.link] for port in graph.ports[graph.hosts + host])
        assert (injection.kind, injection.delay_ps) == ("injection", 0)
        assert injection.rate_bps == sum(link.rate_bps for link in others)
    slow = build("torus", shape=[3, 3], link=LINK, switch=SWITCH, injection={"rate": "50Gbps", "delay": "5ns"})
    assert {(link.rate_bps, link.delay_ps) for link in slow.links[:9]} == {(50 * G, 5_000)}


@pytest.mark.parametrize("npus", [2, 3, 8, 17])
def test_full_mesh(npus: int) -> None:
    graph = build("full-mesh", npus=npus, link=LINK)
    found = measure(graph)
    assert shape_of(found) == (npus, 0, comb(npus, 2), 1)
    assert degrees(graph) == [{npus - 1: npus}, {}]
    assert (found.paths, found.bisection_bps) == (1, (npus // 2) * (npus - npus // 2) * RATE)
    assert [port.peer for port in graph.ports[1]] == [0, *range(2, npus)]


@pytest.mark.parametrize(("a", "p", "h"), [(1, 1, 1), (2, 1, 1), (3, 2, 1), (4, 2, 2), (2, 2, 3), (1, 2, 5), (5, 1, 1)])
def test_dragonfly(a: int, p: int, h: int) -> None:
    graph = switched("dragonfly", a=a, p=p, h=h)
    found = measure(graph)
    groups = a * h + 1
    links = groups * (a * p + comb(a, 2)) + comb(groups, 2)
    assert shape_of(found) == (groups * a * p, groups * a, links, 5 if a > 1 else 3)
    assert degrees(graph) == [{1: groups * a * p}, {p + a - 1 + h: groups * a}]
    between = Counter(
        tuple(sorted((node - graph.hosts) // a for node in (link.a, link.b)))
        for link in graph.links
        if link.kind == "global"
    )
    assert between == dict.fromkeys(((one, other) for one in range(groups) for other in range(one + 1, groups)), 1)
    if groups % 2 == 0:
        assert found.bisection_bps == min((groups // 2) ** 2, groups // 2 * a * p) * RATE


HIERARCHICAL: list[dict[str, Any]] = [
    {"scale_up": SCALE_UP},
    {"scale_up": {**SCALE_UP, "planes": 3}},
    {"scale_up": {**SCALE_UP, "kind": "ring"}},
    {"scale_up": {"kind": "full-mesh", "link": SCALE_UP["link"]}},
]


@pytest.mark.parametrize("keys", HIERARCHICAL, ids=["switch", "planes", "ring", "full-mesh"])
@pytest.mark.parametrize(("nodes", "npus"), [(2, 4), (4, 8), (4, 2)])
def test_hierarchical_keeps_inside_what_stays_inside(keys: dict[str, Any], nodes: int, npus: int) -> None:
    outside = {"kind": "single-switch", "link": LINK, "switch": SWITCH}
    graph = build("hierarchical", nodes=nodes, npus_per_node=npus, scale_out=outside, **keys)
    kind, planes = keys["scale_up"].get("kind", "switch"), keys["scale_up"].get("planes", 1)
    inside_switches = {"switch": planes, "ring": npus, "full-mesh": 0}[kind]
    inside_ports = {"switch": planes, "ring": 1, "full-mesh": npus - 1}[kind]
    assert (graph.hosts, graph.switches) == (nodes * npus, 1 + nodes * inside_switches)
    assert degrees(graph)[0] == {1 + inside_ports: nodes * npus}
    assert graph.dimensions == (npus, nodes)
    tables = shortest_paths(graph)
    for a, b in ((0, npus - 1), (1, 0)):
        kinds = [graph.links[graph.ports[node][port].link].kind for node, port in path(graph, tables, a, b)]
        assert set(kinds) <= {"scale-up", "scale-up-injection"}
    across = path(graph, tables, 0, npus + 1)
    assert [graph.links[graph.ports[node][port].link].kind for node, port in across] == ["scale-out"] * 2
    assert across[0] == (0, 0)
    assert count_paths(graph, tables, 0, npus - 1) == {"switch": planes, "full-mesh": 1, "ring": 1}[kind]
    assert measure(graph).bisection_bps == nodes // 2 * npus * RATE


def test_pairs_of_a_node_without_a_link_meet_over_the_widest_pairs() -> None:
    # 0 - 2 over 1 (two links, then two) or over 3 (one, then two). 1 and 3 are joined by one link, which is shorter
    # than two pairs of two. Outwards each NPU has its own NIC.
    pairs = [[0, 1, 2], [1, 2, 2], [0, 3, 1], [2, 3, 2], [1, 3, 1]]
    graph = build(
        "hierarchical",
        nodes=2,
        npus_per_node=4,
        scale_up={"kind": "full-mesh", "link": LINK, "pairs": pairs},
        scale_out={"link": LINK, "switch": SWITCH},
        forwarding={"by": "hosts", "switch": SWITCH},
    )
    rates = Counter(link.rate_bps for link in graph.links if link.kind == "scale-up")
    assert rates == {2 * RATE: 6, RATE: 4}
    tables = shortest_paths(graph)

    first = graph.nodes - 8  # the switch of host 0
    for hosts in ([0, 1, 2], [6, 5, 4], [1, 3]):
        nodes = [node for node, _ in path(graph, tables, hosts[0], hosts[-1])]
        assert nodes == [hosts[0], *(first + host for host in hosts)]
    kinds = [graph.links[graph.ports[node][port].link].kind for node, port in path(graph, tables, 0, 6)]
    assert kinds == ["injection", "scale-out", "scale-out", "injection"]


def test_paths_over_pairs_have_as_few_hops_as_they_can_before_they_are_wide() -> None:
    # 0 - 3 over 4 (one link, then one) and not over 1 and 2 (four links thrice); 0 - 5 over the wider of two ways.
    pairs = [[0, 1, 4], [1, 2, 4], [2, 3, 4], [0, 4, 1], [3, 4, 1], [1, 5, 3], [4, 5, 4]]
    graph = build(
        "hierarchical",
        nodes=2,
        npus_per_node=6,
        scale_up={"kind": "full-mesh", "link": LINK, "pairs": pairs},
        scale_out={"link": LINK, "switch": SWITCH},
        forwarding={"by": "hosts", "switch": SWITCH},
    )
    tables, first = shortest_paths(graph), graph.nodes - 12  # the switch of host 0
    for hosts in ([0, 4, 3], [0, 1, 5], [2, 3, 4], [11, 7, 6]):
        nodes = [node for node, _ in path(graph, tables, hosts[0], hosts[-1])]
        assert nodes == [hosts[0], *(first + host for host in hosts)]
    kinds = [graph.links[graph.ports[node][port].link].kind for node, port in path(graph, tables, 0, 9)]
    assert kinds == ["injection", "scale-out", "scale-out", "injection"]


def of_pairs(npus: int, pairs: list[list[int]]) -> Graph:
    """Return two nodes whose NPUs forward over ``pairs``."""
    return build(
        "hierarchical",
        nodes=2,
        npus_per_node=npus,
        scale_up={"kind": "full-mesh", "link": LINK, "pairs": pairs},
        scale_out={"link": LINK, "switch": SWITCH},
        forwarding={"by": "hosts", "switch": SWITCH},
    )


# Costs that grow with the number of links, or of different numbers, would be too large for a graph.
@pytest.mark.parametrize(("npus", "numbers"), [(24, [1, 1200]), (8, [1, 32_000]), (300, [*range(1, 19)])])
def test_pairs_may_have_any_numbers_of_links(npus: int, numbers: list[int]) -> None:
    graph = of_pairs(npus, [[npu, npu + 1, numbers[npu % len(numbers)]] for npu in range(npus - 1)])
    links = {link.rate_bps // RATE: link.cost for link in graph.links if link.kind == "scale-up"}
    costs = [links[number] for number in sorted(numbers, reverse=True)]
    assert costs == sorted(costs)
    assert (npus - 1) * max(costs) < 2 * min(link.cost for link in graph.links if link.kind == "scale-out")


@pytest.mark.parametrize("seed", range(8))
def test_paths_over_random_pairs_have_as_few_hops_as_they_can_and_then_the_least_ranks(seed: int) -> None:
    """Every simple path is looked at: the first by hops, then by the sum of its pairs' ranks, the widest 0."""
    draw, npus = Random(seed), 6
    numbers = draw.sample([1, 2, 3, 5, 700, 32_000], 3)
    joined = [(one, other) for one, other in combinations(range(npus), 2) if other == one + 1 or draw.random() < 0.3]
    pairs = {pair: draw.choice(numbers) for pair in joined}
    ranks = {number: rank for rank, number in enumerate(sorted(set(pairs.values()), reverse=True))}
    rank_of = {ends: ranks[count] for (one, other), count in pairs.items() for ends in ((one, other), (other, one))}
    graph = of_pairs(npus, [[*pair, count] for pair, count in pairs.items()])
    tables, first = shortest_paths(graph), graph.nodes - 2 * npus
    for source, to in permutations(range(npus), 2):
        ways = [
            (source, *via, to)
            for count in range(npus - 1)
            for via in permutations({*range(npus)} - {source, to}, count)
            if all(ends in rank_of for ends in pairwise((source, *via, to)))
        ]
        best = min((len(way), sum(rank_of[ends] for ends in pairwise(way))) for way in ways)
        taken = [node - first for node, _ in path(graph, tables, source, to)][1:]
        assert (len(taken), sum(rank_of[ends] for ends in pairwise(taken))) == best


def test_a_ring_inside_a_node_goes_the_shorter_way() -> None:
    graph = build(
        "hierarchical",
        nodes=2,
        npus_per_node=8,
        scale_up={**SCALE_UP, "kind": "ring"},
        scale_out={"link": LINK, "switch": SWITCH},
    )
    tables = shortest_paths(graph)
    assert [len(path(graph, tables, 0, other)) - 2 for other in range(1, 8)] == [1, 2, 3, 4, 3, 2, 1]
    assert count_paths(graph, tables, 0, 4) == 2


@pytest.mark.parametrize(("nics", "planes"), [(1, 1), (2, 1), (2, 2), (4, 2)])
def test_shared_nics_are_links_of_the_scale_up_switches(nics: int, planes: int) -> None:
    graph = build(
        "hierarchical",
        nodes=3,
        npus_per_node=8,
        nics_per_node=nics,
        scale_up={**SCALE_UP, "planes": planes},
        scale_out={"link": LINK, "switch": SWITCH},
    )
    assert degrees(graph) == [{planes: 24}, dict(Counter({8 + nics // planes: 3 * planes}) + Counter({3 * nics: 1}))]
    assert {(link.kind, link.rate_bps) for link in graph.links} == {("scale-out", RATE), ("scale-up", 900 * G)}
    tables = shortest_paths(graph)
    assert len(path(graph, tables, 0, 8)) == 4
    assert count_paths(graph, tables, 0, 8) == nics**2
    assert graph.bandwidths == (900.0 * G * planes, RATE * nics / 8)


def test_any_topology_may_join_nodes() -> None:
    fabrics: list[dict[str, Any]] = [
        {"kind": "leaf-spine", "leaves": 4, "spines": 2, "hosts_per_leaf": 4, "link": LINK, "switch": SWITCH},
        {"kind": "fat-tree", "k": 4, "link": LINK, "switch": SWITCH},
        {"kind": "clos", "levels": [{"children": 16, "link": LINK, "switch": SWITCH}]},
        {"kind": "ring", "link": LINK, "switch": SWITCH},
        {"kind": "torus", "shape": [4, 4], "link": LINK, "switch": SWITCH},
        {"kind": "mesh", "shape": [4, 4], "link": LINK, "switch": SWITCH},
        {"kind": "full-mesh", "link": LINK},
        {"kind": "dumbbell", "left": 8, "right": 8, "link": LINK, "switch": SWITCH},
    ]
    for fabric in fabrics:
        graph = build("hierarchical", nodes=4, npus_per_node=4, scale_up=SCALE_UP, scale_out=fabric)
        alone = build(**{"npus": 16, **fabric} if fabric["kind"] in ("ring", "full-mesh") else fabric)
        assert len(graph.links) == len(alone.links) + 16
        assert graph.switches == alone.switches + 4
        assert measure(graph).bisection_bps == measure(alone).bisection_bps


@pytest.mark.parametrize(("nodes", "rails", "per_leaf", "spines"), [(4, 2, 4, 1), (8, 4, 4, 2), (8, 8, 2, 4)])
def test_rail_optimised(nodes: int, rails: int, per_leaf: int, spines: int) -> None:
    graph = switched(
        "rail-optimised",
        nodes=nodes,
        npus_per_node=rails,
        nodes_per_leaf=per_leaf,
        spines=spines,
        scale_up=SCALE_UP,
        oversubscription=2,
    )
    leaves = rails * nodes // per_leaf
    assert (graph.hosts, graph.switches) == (nodes * rails, leaves + spines + nodes)
    assert len(graph.links) == 2 * nodes * rails + leaves * spines
    tables = shortest_paths(graph)
    same_rail, other_rail = (rails, rails + 1)
    assert [len(path(graph, tables, 0, b)) for b in (1, same_rail, other_rail)] == [2, 2, 4]
    assert count_paths(graph, tables, 0, other_rail) == spines
    found = measure(graph)
    assert found.oversubscription == (("leaf", Fraction(2)),)
    crossing = nodes // 2 * rails * RATE
    # With leaves of their own, halves of the nodes meet at the spines only, else in every leaf.
    assert found.bisection_bps == (crossing if per_leaf == nodes else crossing // 2)


def test_every_kind_has_a_builder() -> None:
    from astra_ns3.config.topology.kinds import KINDS

    assert set(BUILDERS) == set(KINDS)


@pytest.mark.parametrize("keys", [{}, {"shared_nics": "pcie"}], ids=["scale-up", "pcie"])
@pytest.mark.parametrize(("nodes", "nics", "planes"), [(2, 1, 1), (4, 2, 1), (4, 2, 2)])
def test_shared_nics_may_be_joined_each_to_all_of_other_nodes(
    nodes: int, nics: int, planes: int, keys: dict[str, Any]
) -> None:
    """Each NIC has a line to each of other nodes; halves of the nodes meet at those between them."""
    inside, outside = {**SCALE_UP, "planes": planes}, {"kind": "full-mesh", "link": LINK}
    shape = {"nodes": nodes, "npus_per_node": 4, "nics_per_node": nics}
    graph = build("hierarchical", scale_up=inside, scale_out=outside, **shape, **keys)
    of_kind = Counter(link.kind for link in graph.links)
    others = (nodes - 1) * nics
    lines = nodes * nics * others // 2
    assert of_kind["scale-out"] == lines
    assert of_kind["pcie"] == (4 * nodes * others if keys else 0)  # as fast as all of the NIC's lines
    found = measure(graph)
    assert found.bisection_bps == (nodes // 2 * nics) ** 2 * RATE
    assert found.diameter == 3


def test_pcie_switches_need_another_switch_to_be_like() -> None:
    mesh = {"kind": "full-mesh", "link": LINK}
    shape = {"nodes": 2, "npus_per_node": 4, "nics_per_node": 2, "shared_nics": "pcie"}
    with pytest.raises(InputError, match="PCIe switches are as others are, and there are none; expected scale_up"):
        build("hierarchical", scale_up=mesh, scale_out=mesh, **shape)


@pytest.mark.parametrize(("nics", "npus"), [(1, 4), (2, 8), (4, 8)])
@pytest.mark.parametrize("keys", HIERARCHICAL, ids=["switch", "planes", "ring", "full-mesh"])
def test_npus_share_nics_behind_pcie_switches(keys: dict[str, Any], nics: int, npus: int) -> None:
    graph = build(
        "hierarchical",
        nodes=3,
        npus_per_node=npus,
        nics_per_node=nics,
        shared_nics="pcie",
        scale_out={"link": LINK, "switch": SWITCH},
        **keys,
    )
    kind, planes = keys["scale_up"].get("kind", "switch"), keys["scale_up"].get("planes", 1)
    inside = {"switch": planes, "ring": npus, "full-mesh": 0}[kind]
    sharing = npus // nics
    assert (graph.hosts, graph.switches) == (3 * npus, 1 + 3 * nics + 3 * inside)
    of_kind = Counter(link.kind for link in graph.links)
    assert of_kind["scale-out"] == 3 * nics
    assert of_kind["pcie"] == 3 * npus  # each NPU's to the switch of its NIC
    tables = shortest_paths(graph)

    def kinds(a: int, b: int) -> list[str]:
        return [graph.links[graph.ports[node][port].link].kind for node, port in path(graph, tables, a, b)]

    # Inside a node nothing goes over PCIe, even between two that share a NIC; between nodes nothing over the scale-up.
    for a, b in ((0, 1), (0, npus - 1), (npus - 1, 0)):
        assert set(kinds(a, b)) <= {"scale-up", "scale-up-injection"}
    for a, b in ((0, npus), (npus - 1, 2 * npus), (sharing, 3 * npus - 1)):
        assert kinds(a, b) == ["pcie", "scale-out", "scale-out", "pcie"]
        assert count_paths(graph, tables, a, b) == 1
        steps = path(graph, tables, a, b)
        # The first switch is that of the NPU's own NIC, and all NPUs next to it have the same.
        pcie = steps[1][0]
        assert len(graph.ports[pcie]) == sharing + 1
        beside = (a // sharing) * sharing + (a + 1) % sharing
        assert path(graph, tables, beside, b)[1][0] == pcie
    # At the NIC's rate, without a delay of its own: 500 ns from the NIC to the switch and back.
    pcie_links = [link for link in graph.links if link.kind == "pcie"]
    assert len(pcie_links) == 3 * npus
    assert {(link.rate_bps, link.delay_ps) for link in pcie_links} == {(RATE, 0)}
    assert graph.bandwidths[1] == RATE * nics / npus
    assert graph.dimensions == (npus, 3)
