"""The floor under a run's time: bytes that must cross lines over their rate, by hand."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import networkx
import numpy as np
import pytest

from astra_ns3.collectives.columns import assemble
from astra_ns3.collectives.in_network import in_network_schedule
from astra_ns3.collectives.lookup import lookup
from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.config.core.reduction import NOBODY, Trees
from astra_ns3.config.formats.analytical import AnalyticalDimension
from astra_ns3.config.network.analytical_network import AnalyticalNetwork
from astra_ns3.config.network.packet_network import parse_network
from astra_ns3.network.channel import ChannelCosts
from astra_ns3.network.floor.carried import CarriedBytes, Launches
from astra_ns3.network.floor.cuts import cuts_of
from astra_ns3.network.floor.floor import Floor, floor_of, floor_warnings
from astra_ns3.network.floor.line_rates import line_rates
from astra_ns3.network.plan import AnyPlan, NetworkPlan, plan_network
from astra_ns3.network.records import Chain
from astra_ns3.system.messages import message_schedule
from astra_ns3.topology.changes import Change, LinkTarget, NpuTarget, State, SwitchTarget
from astra_ns3.topology.distances import distances_to_groups, host_groups
from astra_ns3.topology.graph import Graph, Link
from astra_ns3.topology.routes import tables_by_groups

LINK = {"rate": "100Gbps", "delay": "500ns"}
"""12.5 bytes a nanosecond."""
SWITCH = {"buffer": "1GB"}
NO_CHAIN = Chain()


def carried(*messages: tuple[int, int, int]) -> CarriedBytes:
    """Sender, receiver, bytes of each."""
    sender, receiver, sizes = (np.array(column, dtype=np.int64) for column in zip(*messages, strict=True))
    return CarriedBytes(sender, receiver, sizes)


def packets(topology: dict[str, Any], changes: Sequence[Change] = ()) -> AnyPlan:
    return plan_network(parse_network({"topology": topology, "transport": {"kind": "tcp"}}), changes=changes)


def star(npus: int = 4, **keys: Any) -> dict[str, Any]:
    return {"kind": "single-switch", "npus": npus, "link": LINK, "switch": SWITCH, **keys}


def found(plan: AnyPlan, *messages: tuple[int, int, int]) -> tuple[int, str]:
    floor = floor_of(plan, carried(*messages), NO_CHAIN)
    assert floor is not None
    return floor.time_ps, floor.where


def test_an_npu_sends_no_faster_than_its_line() -> None:
    plan = packets(star())
    assert found(plan, (0, 1, 1000), (0, 2, 1500), (3, 1, 500)) == (200_000, "the lines out of NPU 0")
    assert found(plan, (0, 1, 1000), (2, 1, 1500), (3, 0, 500)) == (200_000, "the lines into NPU 1")


def test_a_part_of_a_picosecond_is_no_part_of_the_floor() -> None:
    """37.5 bytes a nanosecond: 1,000 bytes take 26,666 2/3 ps."""
    plan = packets(star(link={"rate": "300Gbps", "delay": "500ns"}))
    assert found(plan, (0, 1, 1000))[0] == 26_666


def test_a_switch_that_several_hosts_are_joined_to_is_none_of_theirs() -> None:
    for cuts in cuts_of(packets(star()), carried((0, 1, 1000), (3, 2, 1000))):
        assert cuts.bytes_per_ns.tolist() == [[12.5]] * 4


def test_npus_of_one_host_share_its_line_and_talk_beside_it() -> None:
    plan = packets(star(npus_per_host=2))
    assert found(plan, (0, 1, 10**9), (0, 2, 1000), (1, 3, 1500)) == (200_000, "the lines out of the host of NPU 0")
    assert floor_of(plan, carried((0, 1, 10**9)), NO_CHAIN) is None


def test_a_reducer_takes_in_no_more_than_its_line() -> None:
    """Of three members on 12.5 bytes a nanosecond each, over a line of 10."""
    switch = {**SWITCH, "reduction": {"rate": "80Gbps"}}
    plan = packets(star(3, switch=switch))
    assert found(plan, (0, 3, 1000), (1, 3, 1000), (2, 3, 1000)) == (300_000, "the line into the reducer of switch 0")
    assert found(plan, (3, 0, 1000), (3, 1, 1000), (0, 1, 10)) == (200_000, "the line out of the reducer of switch 0")


def test_flows_over_drawn_switches_may_leave_by_any_line() -> None:
    ring = {"kind": "ring", "npus": 4, "link": LINK, "switch": {"buffer": "1GB", "credits": {"lanes": 4}}}
    straight = found(packets(ring), (0, 1, 10_000))
    anywhere = found(packets({**ring, "routing": {"kind": "valiant"}}), (0, 1, 10_000))
    assert straight == (800_000, straight[1])
    assert anywhere[0] <= 800_000


SERVERS = {
    "kind": "hierarchical",
    "nodes": 4,
    "npus_per_node": 2,
    "scale_up": {"link": {"rate": "1Tbps", "delay": "25ns"}, "switch": SWITCH},
    "scale_out": {"kind": "single-switch", "link": LINK, "switch": SWITCH},
}


def test_what_leaves_a_server_goes_through_its_own_nic() -> None:
    """125 bytes/ns inside and 12.5 outside: 1250 bytes to another server take 100 ns, inside 10."""
    plan = packets(SERVERS)
    assert found(plan, (0, 1, 10_000), (0, 2, 1250)) == (100_000, "the lines out of NPU 0")
    # Inside, the switch there is the shortest way.
    assert found(plan, (0, 1, 13_750)) == (110_000, "the lines from NPU 0 towards NPU 1")


def test_npus_of_a_server_share_its_one_nic() -> None:
    plan = packets({**SERVERS, "nics_per_node": 1})
    assert found(plan, (0, 2, 1250), (1, 5, 1250))[0] == 200_000


def test_what_leaves_a_server_whose_npus_forward_takes_the_rails() -> None:
    """125 bytes/ns inside, two rails of 12.5 outside: 4 x 1250 bytes to another server take 200 ns over both."""
    rails = {"kind": "rail-optimised", "nodes": 4, "npus_per_node": 2, "spines": 0, "forwarding": "hosts"}
    plan = packets({**rails, "scale_up": SERVERS["scale_up"], "link": LINK, "switch": SWITCH})
    assert found(plan, *((0, npu, 1250) for npu in (2, 3, 4, 5))) == (200_000, "the lines out of server 0")
    assert found(plan, *((npu, 1, 1250) for npu in (2, 3, 4, 5))) == (200_000, "the lines into server 0")


SPINES = {"kind": "leaf-spine", "leaves": 2, "hosts_per_leaf": 4, "spines": 2, "link": LINK, "switch": SWITCH}


def test_an_oversubscribed_leaf_sends_no_faster_than_its_uplinks() -> None:
    """4 x 12.5 bytes/ns below a leaf and, 8:1, 6.25 above: 4 x 1250 bytes to the other leaf take 800 ns, not 100."""
    plan = packets({**SPINES, "oversubscription": 8})
    assert found(plan, *((npu, npu + 4, 1250) for npu in range(4))) == (800_000, "the lines out of the leaf of NPU 0")
    assert found(plan, *((npu, 4, 1250) for npu in range(1, 4)))[0] == 600_000
    assert found(plan, *((npu, (npu + 1) % 4, 1250) for npu in range(4)))[0] == 100_000


def test_leaves_above_servers_with_shared_nics_are_called_leaves_and_servers_servers() -> None:
    """Two servers on each leaf, each with one line of 12.5 bytes/ns; all of a leaf's go up a line that carries 6.25."""
    slow = {"rate": "50Gbps", "delay": "500ns"}
    leaves = {"kind": "leaf-spine", "leaves": 2, "hosts_per_leaf": 2, "spines": 1, "link": LINK, "switch": SWITCH}
    plan = packets({**SERVERS, "nics_per_node": 1, "scale_out": {**leaves, "uplink": slow}})
    assert found(plan, (0, 4, 1250), (2, 6, 1250)) == (400_000, "the lines out of the leaf of NPU 0")
    plan = packets({**SERVERS, "nics_per_node": 1, "scale_out": {**leaves, "uplink": {"rate": "1Tbps"}}})
    assert found(plan, (0, 4, 1250), (1, 6, 1250))[0] == 200_000
    assert "pod" not in found(plan, (0, 4, 1250), (1, 6, 1250))[1]


def test_a_dumbbells_sides_share_its_bottleneck() -> None:
    slow = {"rate": "25Gbps", "delay": "500ns"}
    plan = packets({"kind": "dumbbell", "left": 4, "right": 4, "link": LINK, "bottleneck": slow, "switch": SWITCH})
    assert found(plan, *((npu + 4, npu, 1250) for npu in range(4))) == (1_600_000, "the lines out of the leaf of NPU 4")


def test_pods_of_a_fat_tree_share_the_lines_to_its_core() -> None:
    """Lines of 25 Gb/s above pods of 4 x 100: a pod's 4 lines to the core carry 12.5 bytes/ns."""
    plan = packets({"kind": "fat-tree", "k": 4, "link": LINK, "switch": SWITCH})
    assert isinstance(plan, NetworkPlan)
    core = {plan.graph.nodes - 1 - number for number in range(4)}
    links = [replace(link, rate_bps=25 * 10**9) if link.b in core else link for link in plan.graph.links]
    slow = replace(plan, graph=replace(plan.graph, links=tuple(links)))
    assert found(slow, *((npu + 4, npu, 1250) for npu in range(4))) == (400_000, "the lines out of the pod of NPU 4")


def test_messages_between_servers_leave_a_leaf_by_its_uplinks_although_others_stay_inside() -> None:
    plan = packets({**SERVERS, "scale_out": {**SPINES, "oversubscription": 4}})
    inside = [(npu, npu ^ 1, 1) for npu in range(8)]
    assert found(plan, *inside, *((npu, npu + 4, 1250) for npu in range(4)))[0] == 400_000


def test_messages_to_npus_beyond_all_senders_keep_their_ends() -> None:
    """As of a list of flows: 100 bytes from 0 to 4, and 30 and 7 from 1 to 2."""
    columns = (np.array([0, 1, 1]), np.array([4, 2, 2]), np.array([100, 30, 7]))
    both = carried((3, 0, 5)).and_of([columns])
    rows = zip(both.sender.tolist(), both.receiver.tolist(), both.bytes.tolist(), strict=True)
    assert sorted(rows) == [(0, 4, 100), (1, 2, 37), (3, 0, 5)]


def test_what_depends_on_the_network_alone_is_counted_once_for_all_floors(monkeypatch: pytest.MonkeyPatch) -> None:
    topology = {"kind": "leaf-spine", "leaves": 2, "spines": 1, "hosts_per_leaf": 2, "link": LINK, "uplink": LINK}
    one, other = (packets({**topology, "switch": SWITCH, "hosts_per_leaf": hosts}) for hosts in (2, 3))
    assert found(one, (0, 2, 1250)) == (100_000, "the lines out of NPU 0")

    def counted(plan: NetworkPlan) -> None:
        raise AssertionError("counted again")

    with monkeypatch.context() as patch:
        patch.setattr("astra_ns3.network.floor.host_lines.line_rates", counted)
        assert found(one, (0, 2, 1250), (1, 3, 1250)) == (200_000, "the lines out of the leaf of NPU 0")
        with pytest.raises(AssertionError, match="counted again"):
            found(other, (0, 3, 1250))
    assert found(other, (2, 3, 1250), (1, 4, 2500)) == (300_000, "the lines out of the leaf of NPU 1")


def test_a_ring_has_two_lines_for_each_npu() -> None:
    plan = packets({"kind": "ring", "npus": 4, "link": LINK, "switch": SWITCH})
    time_ps, _ = found(plan, (0, 1, 2500))
    assert time_ps <= 200_000  # one way round; the other may carry as much
    assert time_ps >= 100_000


NEIGHBOURS: tuple[tuple[dict[str, Any], int], ...] = (
    ({"kind": "torus", "shape": [4, 4]}, 4),
    ({"kind": "mesh", "shape": [3, 3]}, 3),
    ({"kind": "ring", "npus": 5}, 1),
)
"""Topologies of routers, and a neighbour of NPU 0 along the last axis."""


@pytest.mark.parametrize(("topology", "other"), NEIGHBOURS)
def test_neighbours_have_one_line_between_them_whatever_others_they_have(topology: dict[str, Any], other: int) -> None:
    keys = {**topology, "link": LINK, "switch": SWITCH}
    words = f"the lines from NPU 0 towards NPU {other}"
    assert found(packets(keys), (0, other, 12_500)) == (1_000_000, words)
    assert found(packets(keys), (0, other, 12_500), (0, 1, 25_000), (other, 0, 9_000))[0] >= 1_000_000
    # While a link is down there is a longer way, so nothing is said of single lines.
    assert found(packets(keys, [Change(10, LinkTarget(0), State(up=False))]), (0, other, 12_500))[0] < 1_000_000


def test_the_lines_of_a_router_of_several_hosts_are_named_as_its_own() -> None:
    """Groups of two routers with four NPUs each: 12,500 bytes from each NPU of the first to one of the second."""
    keys = {"kind": "dragonfly", "a": 2, "p": 4, "h": 1}
    plan = packets({**keys, "link": LINK, "switch": SWITCH})
    messages = [(npu, npu + 4, 12_500) for npu in range(4)]
    assert found(plan, *messages) == (4_000_000, "the lines from the switch of NPU 0 towards NPU 4")


def all_to_all(npus: int, size: int = 1000) -> list[tuple[int, int, int]]:
    return [(a, b, size) for a in range(npus) for b in range(npus) if a != b]


@pytest.mark.parametrize(
    ("topology", "npus", "pairs", "lines"),
    [
        ({"kind": "ring", "npus": 8}, 8, 4 * 4, 2),
        ({"kind": "ring", "npus": 7}, 7, 3 * 4, 2),
        ({"kind": "torus", "shape": [8, 3]}, 24, 12 * 12, 2 * 3),
        ({"kind": "torus", "shape": [3, 8]}, 24, 12 * 12, 2 * 3),
        ({"kind": "mesh", "shape": [6]}, 6, 3 * 3, 1),
    ],
)
def test_halves_of_a_dimension_share_the_lines_between_them(
    topology: dict[str, Any], npus: int, pairs: int, lines: int
) -> None:
    """So many pairs of an all-to-all have their ends in different halves, which so many lines join each way."""
    time_ps, where = found(packets({**topology, "link": LINK, "switch": SWITCH}), *all_to_all(npus))
    assert time_ps == pairs * 1000 * 1000 // (lines * 12.5)
    assert "half of dimension" in where


def routed_ps(graph: Graph, messages: Sequence[tuple[int, int, int]], parts: int = 20) -> float:
    """What the busiest line needs if each part of a message takes the shortest way whose lines are least busy."""
    busy = {(a, b): 0.0 for link in graph.links for a, b in ((link.a, link.b), (link.b, link.a))}
    each_ps = {(a, b): 8e12 / link.rate_bps for link in graph.links for a, b in ((link.a, link.b), (link.b, link.a))}
    lines = networkx.DiGraph(list(busy))
    whole_ps = sum(size for *_, size in messages) * max(each_ps.values())

    def price(way: Sequence[int]) -> float:
        return sum(math.exp(8 * busy[line] / whole_ps * len(busy)) for line in pairwise(way))

    ways = {
        (a, b): list(networkx.all_shortest_paths(lines, graph.npu_host[a], graph.npu_host[b])) for a, b, _ in messages
    }
    for _ in range(parts):
        for source, destination, size in messages:
            way = min(ways[source, destination], key=price)
            for line in pairwise(way):
                busy[line] += size / parts * each_ps[line]
    return max(busy.values())


@pytest.mark.parametrize("seed", range(12))
def test_no_routes_are_faster_than_the_floor(seed: int) -> None:
    """By shortest ways that are looked for without any cut; on rings, tori and meshes, with any messages."""
    draw = random.Random(seed)
    kind = ("ring", "torus", "mesh")[seed % 3]
    shape = [draw.randint(2, 5), draw.randint(2, 3)]
    npus = shape[0] * shape[1]
    size = {"npus": npus} if kind == "ring" else {"shape": shape}
    plan = packets({"kind": kind, **size, "link": LINK, "switch": SWITCH})
    messages = [(a, b, draw.randrange(1, 10**6)) for a, b, _ in all_to_all(npus) if draw.random() < 0.5]
    assert plan.of_packets is not None
    ratio = routed_ps(plan.of_packets.graph, messages) / found(plan, *messages)[0]
    assert 1 - 1e-9 <= ratio < 1.5


FRAME = 1538
"""Bytes of TCP's largest frame on the line, which a link sends to its end when its rate falls."""


def approx_ps(time_ps: float) -> Any:
    return pytest.approx(time_ps, rel=0, abs=1)


def rate(time_ps: int, link: int, gbps: float) -> Change:
    return Change(time_ps, LinkTarget(link), State(rate_bps=round(gbps * 10**9)))


def test_a_link_at_half_its_rate_carries_the_rest_for_twice_as_long() -> None:
    """1 MB: 625,000 bytes in 50 us and FRAME bytes more at 12.5 bytes/ns, then the rest at 6.25."""
    plan = packets(star(), [rate(50_000_000, 0, 50)])
    least_ns = 50_000 + FRAME / 12.5 + (375_000 - FRAME) / 6.25
    assert found(plan, (0, 1, 1_000_000)) == (approx_ps(least_ns * 1000), "the lines out of NPU 0")
    assert found(plan, (2, 1, 1_000_000)) == (80_000_000, "the lines out of NPU 2")
    floor = floor_of(plan, carried((0, 1, 1_000_000)), NO_CHAIN)
    assert floor is not None
    # At twice the rates 25 bytes/ns carry the whole before the link changes.
    assert floor.twice_ps == 40_000_000
    assert floor.bytes_per_ns == pytest.approx(1_000_000 / least_ns)


def test_a_link_that_fails_carries_nothing_until_it_is_back() -> None:
    """For 40 us of 80 us that 1 MB needs, but for a frame."""
    link = LinkTarget(1)
    plan = packets(star(), [Change(30_000_000, link, State(up=False)), Change(70_000_000, link, State(up=True))])
    assert found(plan, (0, 1, 1_000_000)) == (approx_ps(120_000_000 - FRAME * 80), "the lines into NPU 1")
    assert found(plan, (0, 1, 375_000))[0] == 30_000_000


def test_hosts_whose_line_is_down_send_over_a_third_host() -> None:
    down = [Change(0, LinkTarget(0), State(up=False)), Change(70_000_000, LinkTarget(0), State(up=True))]
    plan = packets({"kind": "full-mesh", "npus": 3, "link": LINK}, down)
    assert found(plan, (0, 1, 12_500))[0] == 1_000_000
    assert found(plan, (0, 1, 12_500), (0, 2, 12_500))[0] == 2_000_000
    # A switch of a server passes nothing on to another NPU's line.
    assert found(packets(star(3), down), (0, 1, 12_500))[0] == 71_000_000


def test_a_link_that_is_down_stops_lines_of_its_switch_or_npu_too() -> None:
    for target in (SwitchTarget(0), NpuTarget(0)):
        plan = packets(star(), [Change(0, target, State(up=False)), Change(70_000_000, target, State(up=True))])
        assert found(plan, (0, 1, 1250))[0] == 70_100_000


def test_a_job_that_begins_after_a_change_has_the_lines_from_then_on() -> None:
    plan, messages = packets(star(), [rate(50_000_000, 0, 50)]), carried((0, 1, 1_000_000))
    assert (late := floor_of(plan, messages, NO_CHAIN, 60_000_000, 60_000_000)) is not None
    assert (late.time_ps, late.twice_ps, late.bytes_per_ns) == (160_000_000, 80_000_000, 6.25)
    assert (of_run := floor_of(plan, messages, NO_CHAIN, 60_000_000)) is not None
    assert (of_run.time_ps, of_run.twice_ps, of_run.bytes_per_ns) == (220_000_000, 140_000_000, 6.25)
    assert (amid := floor_of(plan, messages, NO_CHAIN, 40_000_000, 40_000_000)) is not None
    assert amid.time_ps == approx_ps((10_000 + FRAME / 12.5 + (875_000 - FRAME) / 6.25) * 1000)


def test_uplinks_carry_what_is_left_of_them_while_one_is_down() -> None:
    """2 x 12.5 bytes/ns above leaf 0, one of them down from 40 us on: 1 MB and FRAME bytes, then 12.5."""
    plan = packets({**SPINES, "oversubscription": 2})
    assert isinstance(plan, NetworkPlan)
    uplink = next(number for number, link in enumerate(plan.graph.links) if min(link.a, link.b) >= 8)
    failing = packets({**SPINES, "oversubscription": 2}, [Change(40_000_000, LinkTarget(uplink), State(up=False))])
    messages = [(npu, npu + 4, 500_000) for npu in range(4)]
    assert found(plan, *messages) == (80_000_000, "the lines out of the leaf of NPU 0")
    assert found(failing, *messages) == (approx_ps(120_000_000 - FRAME * 80), "the lines out of the leaf of NPU 0")


@pytest.mark.parametrize("kind", ["ring", "torus"])
def test_halves_of_a_dimension_share_the_lines_that_are_up(kind: str) -> None:
    """An all-to-all of 8 NPUs in a row closed by 2 lines, one of which is down from the first microsecond on."""
    keys = {"kind": "ring", "npus": 8} if kind == "ring" else {"kind": "torus", "shape": [8]}
    graph = packets({**keys, "link": LINK, "switch": SWITCH}).graph
    beside = [number for number, link in enumerate(graph.links) if min(link.a, link.b) >= graph.hosts]
    plan = packets({**keys, "link": LINK, "switch": SWITCH}, [Change(10**6, LinkTarget(beside[0]), State(up=False))])
    time_ps, where = found(plan, *all_to_all(8, 100_000))
    assert time_ps == approx_ps(10**6 + (16 * 100_000 - 25 * 1000 - FRAME) * 80)
    assert "half of dimension" in where


@pytest.mark.parametrize("seed", range(8))
def test_floors_of_lines_that_change_are_integrals_of_their_rates(seed: int) -> None:
    """Of each cut that is known here, in steps of 10 ns; each fall of a rate lets no more than a frame pass."""
    draw, step_ns = random.Random(seed), 10
    built = packets(SPINES).of_packets
    assert built is not None
    ends = built.graph.ends
    times_ns = np.arange(0, 4_000_000, step_ns)
    rates, falls, changes = np.full((len(ends), len(times_ns)), 12.5), np.zeros(len(ends)), list[Change]()
    for link in draw.sample(range(len(ends)), 6):
        up = True
        for time_ns in sorted(draw.sample(range(step_ns, 100_000, step_ns), draw.randint(1, 5))):
            gbps, up = draw.choice((25, 50, 100, 200)), not up or draw.random() < 0.5
            changes.append(Change(time_ns * 1000, LinkTarget(link), State(rate_bps=gbps * 10**9, up=up)))
            rates[link, times_ns >= time_ns] = gbps / 8 * up
            falls[link] += 1
        changes.append(Change(100_000_000, LinkTarget(link), State(up=True)))
        rates[link, times_ns >= 100_000] = gbps / 8
    messages = [(a, b, draw.randrange(1, 400_000)) for a, b, _ in all_to_all(8) if draw.random() < 0.5]
    cuts = [{npu} for npu in range(8)] + [{0, 1, 2, 3, 8}]  # NPUs, and a leaf with its own
    least_ns = [0.0, 0.0]
    for inside in cuts:
        lines = np.array([(a in inside) != (b in inside) for a, b in ends.tolist()])
        carried_bytes = np.cumsum(rates[lines].sum(axis=0) * step_ns)
        for at in (0, 1):
            size = sum(row[2] for row in messages if row[at] in inside and row[1 - at] not in inside)
            for index, slack in enumerate((falls[lines].sum() * FRAME, 0)):
                least_ns[index] = max(least_ns[index], step_ns * np.searchsorted(carried_bytes, size - slack))
    floor_ns = found(packets(SPINES, changes), *messages)[0] / 1000
    assert least_ns[0] - step_ns <= floor_ns <= least_ns[1] + step_ns


@pytest.mark.parametrize("first_gbps", [1, 2])
def test_a_change_within_a_frame_of_another_leaves_the_higher_of_their_rates(first_gbps: int) -> None:
    """400 Gb/s for 1 ns before 1 Gb/s: no frame that begins then is cut short, nor does a second begin.

    A frame that begins before, at 2 Gb/s, ends at this rate.
    """
    plan = packets(star(), [rate(0, 0, first_gbps), rate(5000, 0, 400), rate(6000, 0, 1)])
    first = first_gbps / 8
    high_ns, low_ns = 1 + FRAME / 50, 5 + FRAME / first
    between_ns = (low_ns - 5 - high_ns) * (first_gbps > 1)
    least_ns = 5 + high_ns + between_ns + (10**6 - (5 + between_ns) * first - 50 * high_ns) / 0.125
    assert found(plan, (0, 1, 10**6))[0] == approx_ps(least_ns * 1000)


@pytest.mark.parametrize("seed", range(8))
def test_a_link_carries_the_highest_rate_of_which_a_frame_is_on_its_way(seed: int) -> None:
    """At each time the highest of the rate then and of earlier ones that ended less than a frame ago."""
    draw = random.Random(seed)
    changes = [rate(1000 * time_ns, draw.randrange(3), draw.choice((1, 2, 50, 400))) for time_ns in range(1, 500, 40)]
    plan = packets(star(), changes).of_packets
    assert plan is not None
    found = line_rates(plan)
    for link in range(4):
        of_link = [change for change in changes if change.target == LinkTarget(link)]
        own = [(change.time_ps / 1000, (change.state.rate_bps or 0) / 8e9) for change in of_link]
        rates = [(0.0, 12.5), *own]
        ends = [*(end for end, _ in own), math.inf]
        for at_ns in draw.sample(range(20_000), 500):
            holding = [
                each for (start, each), end in zip(rates, ends, strict=True) if start <= at_ns < end + FRAME / each
            ]
            column = np.searchsorted(found.starts_ns, at_ns, "right") - 1
            assert found.bytes_per_ns[link, column] == max(holding)


def test_of_more_changes_than_are_told_apart_the_highest_rates_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stretches of 1 us by turns at 100 and 50 Gb/s, of which two count as one."""
    changes = [rate(number * 10**6, 0, 50 if number % 2 else 100) for number in range(1, 100)]
    monkeypatch.setattr("astra_ns3.network.floor.line_rates._MOST_NUMBERS", 50 * 4)
    assert found(packets(star(), changes), (0, 1, 1_000_000))[0] == 80_000_000


def grid(*dimensions: tuple[int, float]) -> AnyPlan:
    made = tuple(AnalyticalDimension(topology="switch", npus=npus, bytes_per_ns=rate) for npus, rate in dimensions)
    return plan_network(AnalyticalNetwork(grid=made))


def test_in_an_analytical_file_a_dimensions_bandwidth_is_the_npus_port() -> None:
    plan = grid((2, 100.0), (4, 10.0))
    assert found(plan, (0, 1, 1000), (0, 2, 200)) == (20_000, "the lines out of NPU 0 in dimension 1")
    assert found(plan, (0, 1, 3000), (0, 2, 200)) == (30_000, "the lines out of NPU 0 in dimension 0")
    assert found(plan, (1, 7, 50), (3, 7, 50)) == (10_000, "the lines into NPU 7 in dimension 1")


def dimension(topology: str, npus: int, rate: float = 10.0) -> AnalyticalDimension:
    return AnalyticalDimension.model_validate({"topology": topology, "npus": npus, "bytes_per_ns": rate})


def test_fully_connected_npus_have_a_line_to_each_peer() -> None:
    plan = plan_network(AnalyticalNetwork(grid=(dimension("fully-connected", 8),)))
    spread = [(0, peer, 1000) for peer in range(1, 8)]
    assert found(plan, *spread)[0] == 100_000
    assert found(plan, *spread, (0, 3, 500)) == (150_000, "the busiest line out of NPU 0 in dimension 0")


def test_a_ring_has_a_line_each_way_round() -> None:
    plan = plan_network(AnalyticalNetwork(grid=(dimension("ring", 4),)))
    assert found(plan, (0, 1, 1000), (0, 3, 1000))[0] == 100_000
    assert found(plan, (0, 1, 1000), (0, 1, 1000)) == (200_000, "the busiest line out of NPU 0 in dimension 0")
    # Half way round either line may carry it.
    assert found(plan, (0, 2, 1000)) == (50_000, "the lines out of NPU 0 in dimension 0")
    pair = plan_network(AnalyticalNetwork(grid=(dimension("ring", 2),)))
    assert found(pair, (0, 1, 1000)) == (100_000, "the lines out of NPU 0 in dimension 0")


def test_a_message_over_two_dimensions_may_leave_by_either_port() -> None:
    """4 x 2: queues take dimension 0 first, so four ports of a block share what one of its NPUs sends out of it."""
    plan = grid((4, 30.0), (2, 10.0))
    assert found(plan, *((0, 4 + place, 1000) for place in range(1, 4)))[0] == 75_000
    assert found(plan, *((i, 4 + (i + 1) % 4, 1000) for i in range(4))) == (
        100_000,
        "the lines out of the 4 NPUs from 0 on in dimension 1",
    )


@pytest.mark.parametrize("topology", ["switch", "ring", "fully-connected"])
def test_queues_at_links_are_never_faster_than_the_floor(topology: str) -> None:
    """Random flows on two dimensions: no link sends two messages at a time, so none can be below."""
    draw = np.random.default_rng(5)
    grid = (dimension(topology, 3, 20.0), dimension(["switch", "ring", "fully-connected"][len(topology) % 3], 4))
    for _ in range(20):
        ends = draw.integers(12, size=(int(draw.integers(1, 30)), 2))
        rows = [(int(a), int(b), int(draw.integers(1, 10**6))) for a, b in ends if a != b] or [(0, 1, 5)]
        floor = floor_of(plan_network(AnalyticalNetwork(grid=grid)), carried(*rows), NO_CHAIN)
        assert floor is not None
        assert floor.time_ps <= queued_ps(grid, rows)


def queued_ps(grid: Sequence[AnalyticalDimension], rows: Sequence[tuple[int, int, int]]) -> int:
    """The busiest link's time if each message crosses the dimensions one after the other, the innermost first."""
    busy: dict[tuple[object, ...], float] = {}
    for source, receiver, size in rows:
        at, stride = source, 1
        for number, each in enumerate(grid):
            here, there = at // stride % each.npus, receiver // stride % each.npus
            peer = at + (there - here) * stride
            links: list[tuple[object, ...]] = []
            if here != there and each.topology == "switch":
                links = [("up", at, number), ("down", peer, number)]
            elif here != there and each.topology == "fully-connected":
                links = [(at, peer)]
            elif here != there:
                way = 1 if 2 * ((there - here) % each.npus) <= each.npus else -1
                while here != there:
                    links.append((at - at // stride % each.npus * stride + here * stride, way, number))
                    here = (here + way) % each.npus
            for link in links:
                busy[link] = busy.get(link, 0) + size / each.bytes_per_ns
            at, stride = peer, stride * each.npus
    return round(max(busy.values()) * 1000)


@pytest.mark.parametrize("ranks", [2, 5, 16])
def test_launches_of_a_ring_carry_two_n_minus_1_over_n_of_the_data_from_each_npu(ranks: int) -> None:
    launches, npus = Launches(), [10 + 3 * rank for rank in range(ranks)]
    launches.schedule(7, lookup(CollectiveKind.ALL_REDUCE, "ring", ranks))
    launches.group(2, npus)
    for npu in npus:
        launches.all_launched([(npu, 7, 2, 5, 1000 * ranks), (npu, 7, 2, 6, 1000 * ranks)])
    found = launches.carried()
    for npu in npus:
        assert int(found.bytes[found.sender == npu].sum()) == 2 * 2 * (ranks - 1) * 1000
        assert int(found.bytes[found.receiver == npu].sum()) == 2 * 2 * (ranks - 1) * 1000


def test_a_switch_that_reduces_takes_the_data_of_each_member_and_gives_it_back() -> None:
    """It plays rank 2, and is launched by nobody."""
    launches, size = Launches(), 8 * 4096
    trees = Trees((0,), ((2, 2, NOBODY),), 4096, size)
    launches.schedule(7, in_network_schedule(CollectiveKind.ALL_REDUCE, "sharp", trees, size))
    launches.group(2, (0, 1, 9))
    launches.all_launched([(npu, 7, 2, 5, size) for npu in (0, 1)])
    carried = launches.carried()
    for npu in (0, 1):
        assert int(carried.bytes[(carried.sender == npu) & (carried.receiver == 9)].sum()) == size
        assert int(carried.bytes[(carried.sender == 9) & (carried.receiver == npu)].sum()) == size


def test_messages_of_many_sizes_between_many_pairs_are_all_counted() -> None:
    """As in a list of flows: one schedule of one message, a group for each pair."""
    launches = Launches()
    launches.schedule(0, lookup(CollectiveKind.ALL_REDUCE, "ring", 2).sent_by(0)._rows(np.array([0])))
    pairs = [(0, 1), (3, 2), (1, 3)]
    for number, pair in enumerate(pairs):
        launches.group(number, pair)
    sizes = [100, 7, 100, 5001]
    for place, size in enumerate(sizes):
        for _ in pairs[place % 3]:
            launches.launched(0, place % 3, 2 * size)
    found = launches.carried()
    sums = {pair: int(found.bytes[(found.sender == pair[0]) & (found.receiver == pair[1])].sum()) for pair in pairs}
    assert sums == {(0, 1): 100 + 5001, (3, 2): 7, (1, 3): 100}


def test_only_what_lies_below_its_floor_is_warned_of() -> None:
    floor = Floor(1_000_000, "the lines out of NPU 3", 12_500, 12.5, 500_000)
    assert floor_warnings(floor, 1_000_000) == ()
    assert floor_warnings(None, 5) == ()
    (words,) = floor_warnings(floor, 250_000)
    assert words == (
        "the result lies below the floor: 12.5 KB over the lines out of NPU 3 need 1 us, the result is 0.25 of that; "
        "no network with these lines is so fast"
    )
    assert floor.document(250_000)["share"] == 0.25


def test_a_result_that_lies_below_its_floor_by_rounding_is_not_warned_of() -> None:
    floor = Floor(10**12, "the lines out of NPU 3", 12_500, 12.5, 10**12 // 2)
    assert floor_warnings(floor, 10**12 - 1) == ()
    assert len(floor_warnings(floor, 10**12 - 10**7)) == 1


def test_the_longer_one_of_lines_and_chain_is_the_floor() -> None:
    """The lines need 200 ns for 2,500 bytes."""
    plan, messages = packets(star()), carried((0, 1, 1000), (0, 2, 1500))
    lines = floor_of(plan, messages, Chain(200_000, 3))
    chain = floor_of(plan, messages, Chain(250_000, 3))
    alone = floor_of(plan, carried((0, 0, 1)), Chain(7, 2, "what NPU {} computes"))
    assert lines is not None
    assert chain is not None
    assert alone is not None
    told = {"bytes": 2500, "bytes_per_ns": 12.5, "lines_ps": 200_000, "twice_ps": 100_000}
    of_lines = {"kind": "lines", "where": "the lines out of NPU 0", "time_ps": 200_000, "share": 2.5}
    assert lines.document(500_000) == told | of_lines | {"chain_ps": 200_000}
    of_chain = {
        "kind": "chain",
        "where": "the longest chain of computations, which ends on NPU 3",
        "time_ps": 250_000,
        "share": 2.0,
    }
    assert chain.document(500_000) == told | of_chain | {"chain_ps": 250_000}
    assert (alone.time_ps, alone.where, alone.document(7)["lines_ps"]) == (7, "what NPU 2 computes", 0)


def test_lines_of_a_host_with_more_parts_than_are_told_apart_all_count() -> None:
    """Two lines between hosts 0 and 1, the second behind those to 70 others: 1250 bytes to host 1 may take both."""
    plan = packets(star())
    assert isinstance(plan, NetworkPlan)
    pairs = [(0, 1), *((0, host) for host in range(2, 72)), (0, 1)]
    links = tuple(Link(a, b, 100 * 10**9, 0) for a, b in pairs)
    graph = Graph(hosts=72, switches=0, links=links, npu_host=tuple(range(72)))
    groups = host_groups(graph)
    tables = tables_by_groups(graph, groups, distances_to_groups(graph, groups))
    assert found(replace(plan, graph=graph, tables=tables), (0, 1, 1250))[0] == 50_000


def test_flows_of_many_sizes_are_one_sum_for_each_pair() -> None:
    launches = Launches()
    launches.schedule(0, message_schedule())
    for number, pair in enumerate([(4, 1), (2, 0)]):
        launches.group(number, pair)
        launches.all_launched([(npu, 0, number, size, size) for size in range(1, 101 + number) for npu in pair])
    found = launches.carried()
    columns = (found.sender.tolist(), found.receiver.tolist(), found.bytes.tolist())
    assert columns == ([4, 2], [1, 0], [5050, 5151])


def test_groups_carry_what_they_launched_before_and_after_they_were_asked() -> None:
    launches = Launches()
    launches.schedule(0, message_schedule())
    launches.schedule(1, lookup(CollectiveKind.ALL_REDUCE, "ring", 2))
    for number, pair in enumerate([(4, 1), (2, 0), (3, 5)]):
        launches.group(number, pair)
    for times in (1, 2):
        for group, pair in ((2, (3, 5)), (times - 1, (4, 1) if times == 1 else (2, 0))):
            launches.all_launched([(npu, schedule, group, times, 100) for schedule in (0, 1) for npu in pair])
        sums = [launches.carried([group]).bytes.sum() for group in range(3)]
        assert sums == [300, 300 * (times - 1), 300 * times]  # of a ring of two, each sends two halves
        assert launches.carried([2, 0]).bytes.sum() == sums[0] + sums[2]


def test_pairs_of_a_schedule_stand_once_whatever_the_sizes() -> None:
    launches, ranks = Launches(), 8
    launches.schedule(3, lookup(CollectiveKind.ALL_TO_ALL, "direct", ranks))
    launches.group(0, range(ranks))
    sizes = [ranks * size for size in range(100, 150)]
    launches.all_launched([(npu, 3, 0, 0, size) for npu in range(ranks) for size in sizes])
    found = launches.carried()
    assert len(found.bytes) == ranks * (ranks - 1)
    assert set(found.bytes.tolist()) == {sum(sizes) // ranks}


def test_a_schedule_too_long_to_lay_out_carries_what_one_laid_out_does(monkeypatch: pytest.MonkeyPatch) -> None:
    def found() -> dict[tuple[int, int], int]:
        launches, npus = Launches(), [5, 0, 3, 8, 1, 9]
        launches.schedule(3, lookup(CollectiveKind.ALL_REDUCE, "direct", len(npus)))
        launches.group(0, npus)
        launches.all_launched([(npu, 3, 0, 0, 600) for npu in npus])
        columns = launches.carried()
        return {
            (a, b): size
            for a, b, size in zip(
                columns.sender.tolist(), columns.receiver.tolist(), columns.bytes.tolist(), strict=True
            )
        }

    laid_out = found()
    assert len(laid_out) == 30
    monkeypatch.setattr("astra_ns3.network.floor.carried._ROWS_AT_ONCE", 0)
    assert found() == laid_out


@pytest.mark.parametrize("fits", [True, False])
def test_a_schedule_is_laid_out_as_long_as_its_rows_fit(monkeypatch: pytest.MonkeyPatch, fits: bool) -> None:
    """6 ranks share 7 bytes: laid out, each message has its own bytes; turned, each rank sends what rank 0 does."""
    ranks = 6
    schedule = lookup(CollectiveKind.ALL_REDUCE, "direct", ranks)
    monkeypatch.setattr("astra_ns3.network.floor.carried._ROWS_AT_ONCE", schedule.messages - (not fits))
    launches = Launches()
    launches.schedule(3, schedule)
    launches.group(0, range(ranks))
    launches.all_launched([(npu, 3, 0, 0, 7) for npu in range(ranks)])
    found = launches.carried()
    sent = np.bincount(found.sender, weights=found.bytes)
    assert (len(set(sent.tolist())) > 1) == fits
    assert (sent.sum() == schedule.message_bytes(7).sum()) == fits


@pytest.mark.parametrize(("servers", "wire"), [((0, 1), 2 * 3000), ((4, 4), 2 * 1500)])
def test_data_of_a_channel_are_more_bytes_on_the_wire_and_its_signals_are_not(
    servers: tuple[int, int], wire: int
) -> None:
    """Rank 0 sends 1,000 bytes, and rank 1 two signals of a byte each; all of it twice."""
    schedule = assemble(
        "by hand",
        2,
        1,
        (3,),
        sender=np.array([0, 1, 1]),
        receiver=np.array([1, 0, 0]),
        step=np.arange(3),
        first_block=0,
        block_count=np.array([1, 0, 0]),
        wait_step=-1,
        wait_count=0,
    )
    launches = Launches()
    launches.schedule(3, schedule)
    launches.group(0, (5, 2), ChannelCosts(servers, near_wire_per_mille=1500, far_wire_per_mille=3000))
    launches.all_launched([(npu, 3, 0, 0, 1000) for npu in (5, 2)] * 2)
    found = launches.carried()
    pairs = zip(found.sender.tolist(), found.receiver.tolist(), strict=True)
    assert dict(zip(pairs, found.bytes.tolist(), strict=True)) == {(5, 2): wire, (2, 5): 2 * 2}


def test_hosts_that_are_joined_directly_use_the_line_between_them(tmp_path: Path) -> None:
    """Hosts 0 and 1 on a leaf each, with 1 Gb/s between the leaves and 100 Gb/s straight from one host to the other."""
    file = tmp_path / "beside.txt"
    ends = ["0 2 100Gbps 500ns 0", "1 3 100Gbps 500ns 0", "2 3 1Gbps 500ns 0", "0 1 100Gbps 500ns 0"]
    file.write_text("\n".join(["4 2 4", "2 3", *ends]) + "\n", encoding="utf-8")
    plan = packets({"kind": "file", "path": str(file), "switch": SWITCH})
    # Straight on is the shortest way: the 1 Gb/s of the leaves don't help.
    assert found(plan, (0, 1, 12_625))[0] == 1_010_000


def test_ends_that_meet_in_two_parts_of_a_network_have_the_uplinks_of_both(tmp_path: Path) -> None:
    """Each of 4 hosts has a port in two planes of two leaves (4, 5 and 7, 8) and a spine: 3.125 bytes/ns up a leaf."""
    ends = [f"{host} {leaf + host // 2} 100Gbps 500ns 0" for leaf in (4, 7) for host in range(4)]
    ends += [f"{leaf} {spine} 25Gbps 500ns 0" for spine in (6, 9) for leaf in (spine - 2, spine - 1)]
    file = tmp_path / "planes.txt"
    file.write_text("\n".join([f"10 6 {len(ends)}", "4 5 6 7 8 9", *ends]) + "\n", encoding="utf-8")
    plan = packets({"kind": "file", "path": str(file), "switch": SWITCH})
    assert found(plan, (0, 2, 1250)) == (200_000, "the lines out of the leaf of NPU 0")
