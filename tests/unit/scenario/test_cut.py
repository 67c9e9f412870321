"""Cuts of networks, counted by hand, and what of drawn flows crosses them."""

from __future__ import annotations

from heapq import heappop, heappush
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from support.shared_nics import shared_nics

from astra_ns3.config.network.packet_network import NetworkConfig, parse_network
from astra_ns3.errors import InputError
from astra_ns3.scenario.cut import cut_named
from astra_ns3.scenario.traffic import crossing_share
from astra_ns3.topology.builders import build_graph
from astra_ns3.topology.graph import Graph
from astra_ns3.workload.generators.receivers import Receivers

G, FAR = 10**9, 10**9
LINK, FAST = {"rate": "100Gbps", "delay": "1us"}, {"rate": "400Gbps", "delay": "1us"}
SWITCH = {"buffer": "1MB"}


def graph(**topology: Any) -> Graph:
    network = parse_network({"topology": topology, "transport": {"kind": "roce"}})
    assert isinstance(network, NetworkConfig)
    return build_graph(network.topology)


LEAVES = graph(kind="leaf-spine", leaves=3, spines=2, hosts_per_leaf=4, link=LINK, uplink=FAST, switch=SWITCH)
CLOS = graph(
    kind="clos",
    levels=[
        {"children": 16, "link": LINK, "switch": SWITCH},
        {"children": 4, "parents": 4, "link": FAST, "switch": SWITCH},
        {"children": 5, "parents": 4, "link": FAST, "switch": SWITCH},
    ],
)
RAILS = graph(
    kind="rail-optimised",
    nodes=4,
    npus_per_node=2,
    scale_up={"link": FAST, "switch": SWITCH},
    spines=2,
    link=LINK,
    switch=SWITCH,
)

TWO_RACKS = graph(
    kind="rail-optimised",
    nodes=4,
    npus_per_node=3,
    nodes_per_leaf=2,
    scale_up={"link": FAST, "switch": SWITCH},
    spines=2,
    link=LINK,
    switch=SWITCH,
)
DRAGONFLY = graph(kind="dragonfly", a=2, p=2, h=1, link=LINK, switch=SWITCH)
SHARED_NICS = shared_nics()


@pytest.mark.parametrize(
    ("network", "name", "npus", "parts", "rate_bps"),
    [
        (LEAVES, "hosts", range(12), 12, 12 * 100 * G),
        (LEAVES, "racks", range(12), 3, 3 * 2 * 400 * G),
        (LEAVES, "leaf", range(12), 3, 3 * 2 * 400 * G),
        (LEAVES, "hosts", [0, 5], 2, 200 * G),
        (LEAVES, "racks", [0, 5], 2, 2 * 2 * 400 * G),  # of the two leaves that they are on
        (CLOS, "hosts", range(320), 320, 320 * 100 * G),
        (CLOS, "racks", range(320), 20, 20 * 4 * 400 * G),
        (RAILS, "hosts", range(8), 4, 8 * 100 * G),  # a server's links outwards, not those inside
        (TWO_RACKS, "racks", range(12), 2, 6 * 2 * 100 * G),
        (DRAGONFLY, "hosts", range(12), 12, 12 * 100 * G),
        (SHARED_NICS, "hosts", range(12), 3, 3 * 2 * 100 * G),
        (SHARED_NICS, "racks", range(8), 1, 2 * 100 * G),  # both servers are on one leaf
    ],
)
def test_a_cut_has_the_links_that_lead_out_of_its_parts(
    network: Graph, name: str, npus: range, parts: int, rate_bps: int
) -> None:
    cut = cut_named(name, network, npus)
    assert (len(set(cut.parts.tolist())), cut.rate_bps) == (parts, rate_bps)


def test_a_tier_in_the_middle_has_the_links_above_it() -> None:
    """Of the fat tree of 320 hosts: five pods of four aggregation switches with four links each to the core."""
    pods, racks = cut_named("L2", CLOS, range(320)), cut_named("l1", CLOS, range(320))
    assert (len(set(pods.parts.tolist())), pods.rate_bps) == (5, 5 * 16 * 400 * G)
    assert racks.rate_bps == cut_named("racks", CLOS, range(320)).rate_bps


def test_what_leads_nowhere_is_no_cut() -> None:
    with pytest.raises(InputError, match="no link leads out of spine"):
        cut_named("spine", LEAVES, range(12))
    with pytest.raises(InputError, match=r"cut 'rakcs' is none of the network's, .*did you mean 'racks'"):
        cut_named("rakcs", LEAVES, range(12))


def test_an_error_lists_the_cuts_that_links_lead_out_of() -> None:
    star = graph(kind="single-switch", npus=4, link=LINK, switch=SWITCH)
    torus = graph(kind="torus", shape=[2, 3], link=LINK, switch=SWITCH)
    for network, name, expected in (
        (star, "leaf", "cut 'leaf' is none of the network's, expected hosts, a rate"),
        (star, "racks", "no link leads out of racks (one has all NPUs), expected hosts, a rate"),
        (torus, "racks", "no link leads out of racks (one has all NPUs), expected hosts, a rate"),
        (LEAVES, "spine", "no link leads out of spine (one has all NPUs), expected hosts, racks, leaf, a rate"),
        (RAILS, "pod", "cut 'pod' is none of the network's, expected hosts, racks, leaf, scale-up, a rate"),
    ):
        with pytest.raises(InputError) as error:
            cut_named(name, network, range(len(network.npu_host)))
        assert str(error.value) == expected


@pytest.mark.parametrize("rack_local", [None, 0.0, 0.3, 1.0])
@pytest.mark.parametrize("racks", [[0] * 4 + [1] * 4 + [2] * 4, [0] * 6 + [1] * 5 + [2], [0] * 12])
def test_drawn_receivers_leave_racks_and_hosts_as_often_as_is_said(racks: list[int], rack_local: float | None) -> None:
    receivers = Receivers(12, racks, rack_local)
    chance = np.random.default_rng(1)
    senders = np.repeat(np.arange(12), 20_000)
    drawn = receivers.of(senders, chance.random(len(senders)), chance.random(len(senders)))
    assert (drawn != senders).all()
    assert ((drawn >= 0) & (drawn < 12)).all()
    for parts in (np.array(racks), np.arange(12), np.arange(12) // 2 if rack_local is None else np.array(racks)):
        crosses = (parts[drawn] != parts[senders]).reshape(12, -1).mean(axis=1)
        assert crosses == pytest.approx(receivers.leaving(parts), abs=0.02)
    inside = [number for number in range(12) if racks.count(racks[number]) == 12]
    if rack_local is not None and not inside:
        alone = np.array([racks.count(rack) == 1 for rack in racks])
        expected = np.where(alone, 1.0, 1 - rack_local)
        assert receivers.leaving(np.array(racks)) == pytest.approx(expected)


def test_everybody_else_is_as_likely_a_receiver_inside_a_rack_and_outside() -> None:
    receivers = Receivers(6, [0, 1, 0, 1, 0, 1], 0.5)
    chance = np.random.default_rng(2)
    senders = np.repeat(np.arange(6), 30_000)
    drawn = receivers.of(senders, chance.random(len(senders)), chance.random(len(senders)))
    counts = np.bincount(senders * 6 + drawn, minlength=36).reshape(6, 6) / 30_000
    for sender in range(6):
        for other in range(6):
            expected = 0 if other == sender else 0.25 if other % 2 == sender % 2 else 0.5 / 3
            assert counts[sender, other] == pytest.approx(expected, abs=0.015)


def test_a_cut_counts_what_crosses_it() -> None:
    cut = cut_named("racks", LEAVES, range(12))
    assert crossing_share(cut, Receivers(12)) == pytest.approx(8 / 11)
    assert crossing_share(cut, Receivers(12, cut.parts.tolist(), 0.25)) == pytest.approx(0.75)


def _distances(graph: Graph, start: int) -> dict[int, int]:
    """Return the cost of a shortest way from a host to each node, hosts forwarding nothing."""
    found, edge = {start: 0}, [(0, start)]
    while edge:
        far, node = heappop(edge)
        if far > found[node] or (node < graph.hosts and node != start):
            continue
        for link in graph.links:
            if node in (link.a, link.b):
                other, cost = link.a + link.b - node, far + link.cost
                if cost < found.get(other, cost + 1):
                    found[other] = cost
                    heappush(edge, (cost, other))
    return found


@pytest.mark.parametrize("network", [LEAVES, RAILS, TWO_RACKS, DRAGONFLY, SHARED_NICS])
@pytest.mark.parametrize("name", ["hosts", "racks", "leaf"])
def test_flows_that_cross_are_those_whose_shortest_ways_have_a_link_of_the_cut(network: Graph, name: str) -> None:
    """Links of hosts lead out of servers; links of racks and leaves lead from a leaf to another switch outside."""
    words = ("leaf",) if name != "hosts" else ()
    leaves = {network.hosts + at for at, own in enumerate(network.switch_names) if own.lower().startswith(words)}
    ends = [(link.a, link.b) for link in network.links if network.leads_out(link)]
    if name == "hosts":
        cut = [(a, b) for a, b in ends if not network.is_outside(a) or not network.is_outside(b)]
    else:
        cut = [(a, b) for a, b in ends if leaves & {a, b} and network.is_outside(a) and network.is_outside(b)]
    if network is DRAGONFLY and name != "hosts":
        pytest.skip("routers of a dragonfly are no leaves")
    hosts = network.npu_host
    from_host = {host: _distances(network, host) for host in hosts}
    crossing = 0
    for one, other in permutations(hosts, 2):
        there, back = from_host[one], from_host[other]
        costs = {frozenset((link.a, link.b)): link.cost for link in network.links}
        crossing += any(
            there.get(near, FAR) + costs[frozenset((near, far))] + back.get(far, FAR) == there[other]
            for a, b in cut
            for near, far in ((a, b), (b, a))
        )
    found = cut_named(name, network, range(len(hosts)))
    assert crossing_share(found, Receivers(len(hosts))) == pytest.approx(crossing / len(hosts) / (len(hosts) - 1))
