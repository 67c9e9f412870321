"""Cuts against all ways to cut, paths that are numbered, round trips added up by hand, and what is warned of."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from fractions import Fraction
from itertools import permutations, product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astra_ns3.config.network.packet_network import parse_network
from astra_ns3.errors import InputError
from astra_ns3.topology.builders import build_graph
from astra_ns3.topology.checks import check_topology
from astra_ns3.topology.cut import bisection_bps, minimum_cut_bps
from astra_ns3.topology.graph import Graph, Link
from astra_ns3.topology.measures import measure, oversubscription
from astra_ns3.topology.pair_delays import pair_delays
from astra_ns3.topology.paths import (
    base_round_trip_ps,
    farthest_hosts,
    longest_path,
    path,
    round_trip_ps,
    slowest_path,
)
from astra_ns3.topology.routes import shortest_paths

G = 10**9
PACKET, ACK = 1538, 84
LINK = {"rate": "100Gbps", "delay": "500ns"}
SWITCH = {"buffer": "64MB"}


def build(kind: str, **keys: Any) -> Graph:
    return build_graph(parse_network({"topology": {"kind": kind, "link": LINK, "switch": SWITCH, **keys}}).topology)


@st.composite
def small_networks(draw: st.DrawFn) -> Graph:
    """Up to five hosts and four switches with any links between them, hosts' own included."""
    hosts, switches = draw(st.integers(2, 5)), draw(st.integers(0, 4))
    ends = st.integers(0, hosts + switches - 1)
    pairs = st.tuples(ends, ends).filter(lambda pair: pair[0] != pair[1])
    found = draw(st.lists(st.tuples(pairs, st.integers(1, 5)), max_size=12))
    links = tuple(Link(a, b, rate, 0) for (a, b), rate in found)
    return Graph(hosts, switches, links, tuple(range(hosts)), (1,) * switches)


@given(small_networks())
def test_the_bisection_is_the_least_of_all_cuts(drawn: Graph) -> None:
    half = drawn.hosts // 2
    cuts = []
    for sides in product((False, True), repeat=drawn.switches):
        near = [node < half for node in range(drawn.hosts)] + list(sides)
        cuts.append(sum(link.rate_bps for link in drawn.links if near[link.a] != near[link.b]))
    assert bisection_bps(drawn) == min(cuts)


def test_a_cut_without_two_sides_is_nothing() -> None:
    graph = build("single-switch", npus=4)
    assert minimum_cut_bps(graph, [], range(4)) == minimum_cut_bps(graph, range(4), range(4)) == 0
    assert minimum_cut_bps(graph, [0], range(4)) == 100 * G


def test_the_round_trip_stores_and_forwards_at_every_node() -> None:
    # Two links of 100 Gb/s (123.04 ns for a packet, 6.72 for an ACK) and two of 400 (30.76 and 1.68), 500 ns each.
    graph = build("leaf-spine", leaves=2, spines=2, hosts_per_leaf=2, uplink={"rate": "400Gbps"})
    assert base_round_trip_ps(graph, PACKET, ACK) == 2 * (123_040 + 6_720 + 30_760 + 1_680) + 8 * 500_000


def test_the_answer_meets_switches_that_cut_through_in_the_other_order() -> None:
    """A switch from a line of 100 Gb/s to one of 400 passes on later than one from 400 to 100."""
    uplink = {**LINK, "rate": "400Gbps"}
    links = longest_path(build("leaf-spine", leaves=2, spines=1, hosts_per_leaf=1, uplink=uplink))
    delays = 2 * sum(link.delay_ps for link in links)
    first, last = (round_trip_ps(links, PACKET, 0, cut) - delays for cut in ((64, 0, 0), (0, 0, 64)))
    assert first != last
    assert round_trip_ps(links, 0, PACKET, (0, 0, 64)) - delays == first


def test_the_longest_path_goes_to_another_node_if_that_is_no_nearer() -> None:
    scale_up = {"link": {"rate": "900Gbps", "delay": "25ns"}, "switch": SWITCH}
    scale_out = {"link": LINK, "switch": SWITCH}
    config = {"kind": "hierarchical", "nodes": 2, "npus_per_node": 2, "scale_up": scale_up, "scale_out": scale_out}
    graph = build_graph(parse_network({"topology": config}).topology)
    source, destination, links = farthest_hosts(graph)
    assert (source // 2 != destination // 2, links) == (True, 2)
    assert [link.kind for link in longest_path(graph)] == ["scale-out", "scale-out"]


def test_the_slowest_path_is_that_of_most_delay_though_another_has_more_links() -> None:
    # Hosts 0 and 1 hang on switches 3 and 5 of a chain of three, host 2 by a long cable on the middle one.
    near, far = 500_000, 10_000_000
    ends = ((0, 3, near), (3, 4, near), (4, 5, near), (5, 1, near), (2, 4, far))
    graph = Graph(3, 3, tuple(Link(a, b, 100 * G, delay) for a, b, delay in ends), (0, 1, 2), (1,) * 3)
    tables = shortest_paths(graph)
    longest = longest_path(graph, tables)
    assert [link.delay_ps for link in longest] == [near] * 4
    assert sorted(link.delay_ps for link in slowest_path(graph, tables, longest)) == [near, near, far]
    alike = Graph(3, 3, tuple(Link(a, b, 100 * G, near) for a, b, _ in ends), (0, 1, 2), (1,) * 3)
    assert slowest_path(alike, tables, longest) is longest


@given(small_networks(), st.data())
def test_no_pair_that_can_be_reached_has_more_delay_than_the_slowest_path(drawn: Graph, data: st.DataObject) -> None:
    delays = [data.draw(st.sampled_from((0, 25_000, 10**6))) for _ in drawn.links]
    links = tuple(Link(link.a, link.b, G, delay) for link, delay in zip(drawn.links, delays, strict=True))
    graph = Graph(drawn.hosts, drawn.switches, links, drawn.npu_host, drawn.switch_buffer_bytes)
    try:
        tables = shortest_paths(graph)
        between = pair_delays(graph, range(graph.hosts))
    except InputError:
        return  # some can't be reached, which is refused elsewhere
    pairs = permutations(between.class_of, 2)
    most_ps = max(int(between.delays_ps[pair]) for pair in pairs)
    found = slowest_path(graph, tables, longest_path(graph, tables))
    # A packet of 1,000 bytes takes 8 us a link here, so more links may weigh more than delay.
    assert sum(link.delay_ps + 8_000_000 for link in found) >= most_ps + 8_000_000


def test_paths_are_numbered_through_all_choices() -> None:
    graph = build("fat-tree", k=4)
    tables = shortest_paths(graph)
    paths = [path(graph, tables, 0, 15, number) for number in range(4)]
    assert len(set(paths)) == 4
    assert path(graph, tables, 0, 15, 4) == paths[0]
    # The edge switch of host 0 takes the last bit, the aggregation switch the next; the way down has no choice.
    assert [[port for _, port in steps] for steps in paths] == [
        [0, 2, 2, 3, 1, 1], [0, 3, 2, 3, 1, 1], [0, 2, 3, 3, 1, 1], [0, 3, 3, 3, 1, 1],
    ]  # fmt: skip


def test_a_path_to_nowhere_is_an_error() -> None:
    graph = Graph(2, 2, (Link(0, 2, 1, 0), Link(1, 3, 1, 0)), (0,), (1, 1))
    with pytest.raises(InputError, match="host 1 cannot be reached from host 0"):
        path(graph, shortest_paths(graph), 0, 1)


def test_oversubscription_is_that_of_the_worst_switch_of_a_level() -> None:
    # Leaf 0 has three hosts and one uplink, leaf 1 one host and two.
    links = [*((host, 4) for host in range(3)), (3, 5), (4, 6), (5, 6), (5, 6)]
    graph = Graph(
        4, 3, tuple(Link(a, b, 10, 0) for a, b in links), (0, 1, 2, 3), (1, 1, 1),
        switch_levels=(1, 1, 2), switch_names=("leaf 0", "leaf 1", "spine 0"),
    )  # fmt: skip
    assert oversubscription(graph) == (("leaf", Fraction(3)),)
    # A link between the leaves takes traffic of their hosts, too.
    assert oversubscription(replace(graph, links=(*graph.links, Link(4, 5, 20, 0)))) == ()
    assert measure(build("torus", shape=[3, 3])).oversubscription == ()


def test_a_network_as_it_should_be_gives_no_warning() -> None:
    assert check_topology(build("leaf-spine", leaves=2, spines=2, hosts_per_leaf=2), PACKET, ACK) == []


def test_equally_short_ways_of_unequal_rate_are_warned_of_where_they_share_traffic_evenly() -> None:
    rates = (100 * G, 400 * G)
    links = [Link(0, 2, 100 * G, 0), Link(1, 3, 100 * G, 0), *(Link(2, 3, rate, 0) for rate in rates)]
    graph = Graph(2, 2, tuple(links), (0, 1), (10**9, 10**9))
    (warning,) = check_topology(graph, PACKET, ACK)
    assert "switch 0 has equally short ways of 100 Gb/s and 400 Gb/s" in warning
    assert check_topology(graph, PACKET, ACK, shares_evenly=False) == []


def test_a_warning_calls_a_node_what_its_file_or_its_kind_does() -> None:
    rates = (100 * G, 400 * G)
    links = (Link(0, 2, 100 * G, 0), Link(1, 3, 100 * G, 0), *(Link(2, 3, rate, 0) for rate in rates))
    graph = Graph(2, 2, links, (0, 1), (10**9, 10**9), switch_names=("rail 7", "spine"))
    (warning,) = check_topology(graph, PACKET, ACK)
    assert warning.startswith("switch 0 ('rail 7') has equally short ways")
    (warning,) = check_topology(replace(graph, switch_names=("rail", "NPU 1"), forwarders=(1,)), PACKET, ACK)
    assert warning.startswith("switch 0 ('rail') has")
    (warning,) = check_topology(replace(graph, switch_names=("NPU 0", "NPU 1"), forwarders=(0, 1)), PACKET, ACK)
    assert warning.startswith("NPU 0 (it forwards as switch 0) has")


def test_a_buffer_below_one_bandwidth_delay_product_is_warned_of() -> None:
    # Round trip 2 x (123.04 + 6.72) ns + 4 x 500 ns = 2259.52 ns; at 100 Gb/s 28,244 bytes.
    assert check_topology(build("single-switch", npus=2, switch={"buffer": 28_244}), PACKET, ACK) == []
    (warning,) = check_topology(build("single-switch", npus=2, switch={"buffer": 28_243}), PACKET, ACK)
    assert "buffer of switch 0, 28.24 KB, is below the 28.24 KB that a port of 100 Gb/s sends in one" in warning


def test_npus_out_of_reach_are_an_error() -> None:
    graph = Graph(2, 2, (Link(0, 2, 1, 0), Link(1, 3, 1, 0)), (0, 1), (1, 1))
    with pytest.raises(InputError, match="host 1 cannot be reached from host 0"):
        check_topology(graph, PACKET, ACK)


LARGE = """
import resource, time
from astra_ns3.config.network.packet_network import parse_network
from astra_ns3.topology.builders import build_graph
from astra_ns3.topology.routes import shortest_paths
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
begin = time.process_time()
link = {"rate": "100Gbps", "delay": "500ns"}
config = parse_network({"topology": {"kind": "fat-tree", "k": 32, "link": link, "switch": {"buffer": "64MB"}}})
tables = shortest_paths(build_graph(config.topology))
more = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
print(len(tables.hosts), len(tables.switches), tables.groups, time.process_time() - begin, more)
"""
MOST_SECONDS = 10.0
MOST_KIB = 500 * 1024


@pytest.mark.skipif(sys.platform != "linux", reason="ru_maxrss is in KiB on Linux only")
def test_8192_hosts_are_built_and_routed_in_seconds_and_a_few_hundred_megabytes() -> None:
    done = subprocess.run([sys.executable, "-c", LARGE], capture_output=True, text=True, check=True, timeout=120)
    hosts, switches, groups, seconds, kib = done.stdout.split()
    assert (int(hosts), int(switches), int(groups)) == (8192, 1280, 512)
    assert float(seconds) < MOST_SECONDS
    assert float(kib) < MOST_KIB
