"""Topologies under load: cuts, hierarchical collectives, how evenly paths are used, what spraying costs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml
from oracles.collective_times import ring_all_gather, ring_all_reduce, ring_reduce_scatter
from oracles.roce_times import HEADERS, LINE_GAP, Star, wire
from support.many_networks import LINK, NETWORKS, SWITCH, fat_tree, leaf_spine, system_for
from support.star_network import Played, Row, by_hand, play

import astra_ns3
from astra_ns3.collectives.lookup import lookup
from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.config.network.packet_network import parse_network
from astra_ns3.workload.files.astra_sim import parse_workload

G = 10**9
PAYLOAD = 1000
LOSSLESS = {"buffer": "1MB", "pfc": {"priorities": [3]}}
"""Small, so that pauses come soon."""
QUIET = {"kind": "roce", "ack_every": 1000}
"""RoCE with few ACKs, so that they take no visible part of a line."""
WIDE_TCP = {"kind": "tcp", "window": "16MB", "initial_window_segments": 20_000, "min_rto": "1s"}
"""Windows that no message here fills."""
CHI_SQUARE_OF_1_IN_1000 = {1: 10.8, 3: 16.3, 7: 24.3, 8: 26.1, 15: 37.7}
"""By degrees of freedom; one path choice by a fair hash exceeds it once in a thousand times. Seeds are fixed."""


def roce(topology: dict[str, Any], **transport: Any) -> Any:
    return parse_network({"topology": topology, "transport": {"kind": "roce", **transport}})


def across(npus: int) -> list[Row]:
    """Every NPU of the first half sends to its counterpart in the second, and the other way round."""
    return [Row(npu, (npu + npus // 2) % npus) for npu in range(npus)]


# Cuts

RATIOS = [1, 2, 4, 8]
CUT_TOLERANCE = 0.01
"""The first packet's way to the uplink, and the last one's from it, against a thousand packets of eight senders."""


@pytest.mark.parametrize("pauses", [True, False], ids=["pfc", "large buffer"])
@pytest.mark.parametrize("ratio", RATIOS)
def test_a_permutation_through_a_cut_takes_what_its_bytes_take_there(ratio: int, pauses: bool) -> None:
    size = 1_000_000
    topology = leaf_spine(spines=1, uplink={}, oversubscription=ratio, switch=LOSSLESS if pauses else SWITCH)
    network = parse_network({"topology": topology, "transport": QUIET})
    played = play(network, by_hand(16, across(16)), size)
    on_the_line = 8 * size // PAYLOAD * wire(PAYLOAD + HEADERS)
    expected_ps = on_the_line * 8 * 1000 * ratio // 800
    assert expected_ps < played.finish_ps < expected_ps * (1 + CUT_TOLERANCE) + 4 * 500_000
    assert (played.statistics["pauses"] > 0) == (pauses and ratio > 1)
    assert played.statistics["dropped_frames"] == 0


def test_a_cut_of_several_uplinks_takes_as_long_if_pinned_paths_use_them_alike() -> None:
    size = 1_000_000
    pins = [{"sender": npu, "receiver": (npu + 8) % 16, "path": npu % 4} for npu in range(16)]
    routing = {"kind": "pinned", "pins": pins}
    one, four = (
        play(
            parse_network({"topology": leaf_spine(uplink={}, oversubscription=2, **keys), "transport": QUIET}),
            by_hand(16, across(16)),
            size,
        )
        for keys in ({"spines": 1}, {"spines": 4, "routing": routing})
    )
    assert four.finish_ps == pytest.approx(one.finish_ps, rel=CUT_TOLERANCE)
    uplinks = [four.ports[f"switch0:{port}"]["sent_bytes"] for port in range(8, 12)]
    assert max(uplinks) == min(uplinks) >= 2 * size * (PAYLOAD + HEADERS) // PAYLOAD


def slower_by(ratio: int, transport: dict[str, Any], message: int) -> float:
    """How much longer a ring all-reduce takes than on a full cut when each of its messages crosses the cut."""
    members = [npu for pair in zip(range(4), range(4, 8), strict=True) for npu in pair]
    schedule = lookup(CollectiveKind.ALL_REDUCE, "ring", 8)
    times = []
    for each in (1, ratio):
        wires = {"spines": 1, "hosts_per_leaf": 4, "link": {**LINK, "delay": 0}, "uplink": {}}
        topology = leaf_spine(**wires, oversubscription=each)
        network = parse_network({"topology": topology, "transport": transport})
        played = play(network, schedule, 8 * message, ranks=members)
        assert played.statistics["retransmissions"] == 0
        times.append(played.finish_ps)
    return times[1] / times[0]


@pytest.mark.parametrize("ratio", RATIOS[1:])
@pytest.mark.parametrize("transport", [QUIET, WIDE_TCP], ids=["roce", "tcp"])
def test_an_all_reduce_is_slower_by_the_factor_of_the_cut(ratio: int, transport: dict[str, Any]) -> None:
    """The four NPUs of each leaf send at once in each step, all to the other leaf; links have no delay.

    A step ends when the last of the four is through, and on a full cut the last packet has two more hops than bytes
    say: at most one packet of each sender.
    """
    message = 400_000
    assert slower_by(ratio, transport, message) == pytest.approx(ratio, rel=0.02)


# Hierarchical collectives


@pytest.mark.parametrize("nodes", [2, 4, 16])
@pytest.mark.parametrize("size", [8 * 16 * 1000, 8 * 16 * 2500])
def test_hierarchical_all_reduce_on_hier_takes_its_closed_form(nodes: int, size: int) -> None:
    """Reduce-scatter among the 8 of a node, all-reduce of an eighth among the nodes, all-gather: rings in sequence.

    An ACK has left before the endpoint delay is over, and it goes the other way: to the picosecond.
    """
    hier = parse_network(_hier(nodes))
    inside, outside = Star(2400 * G, 25_000), Star(100 * G, 500_000)
    result = astra_ns3.run(
        workload=parse_workload(f"MICRO\n1\nx -1 0 NONE 0 0 NONE 0 0 ALLREDUCE {size} 0\n", "w.txt"),
        system=system_for(2, **{"collective-optimization": "localBWAware", "preferred-dataset-splits": 1}),
        network=hier,
    )
    endpoint, eighth = 10_000, size // 8
    expected_ps = (
        ring_reduce_scatter(8, size, lambda each: inside.message_ps(each, PAYLOAD), endpoint)
        + ring_all_reduce(nodes, eighth, lambda each: outside.message_ps(each, PAYLOAD), endpoint)
        + ring_all_gather(8, eighth, lambda each: inside.message_ps(each, PAYLOAD), endpoint)
    )
    assert result.finish_ps == expected_ps


def _hier(nodes: int) -> dict[str, Any]:
    topology = yaml.safe_load((NETWORKS / "hier.yaml").read_text(encoding="utf-8"))["topology"]
    return {"topology": {**topology, "nodes": nodes}, "transport": QUIET}


# Order


@pytest.mark.parametrize("topology", [fat_tree(switch=LOSSLESS), leaf_spine(switch=LOSSLESS, uplink={})])
@pytest.mark.parametrize("seed", [0, 1])
def test_ecmp_never_reorders_a_flow(topology: dict[str, Any], seed: int, tmp_path: Path) -> None:
    """All send to all at once, over lines that fill up: no receiver sees a gap, messages arrive as they were sent."""
    rows = [Row(a, b, step) for step in range(3) for a in range(16) for b in range(16) if a != b]
    played = play(roce({**topology, "routing": {"seed": seed}}), by_hand(16, rows), 20_000, directory=tmp_path)
    assert (played.statistics["nacks"], played.statistics["retransmissions"]) == (0, 0)
    assert played.statistics["dropped_frames"] == 0
    assert played.statistics["pauses"] > 0
    flows = played.table("flows")
    for _, pair in flows.groupby(["source", "destination"]):
        assert pair["row"].is_monotonic_increasing
    uplinks = [int(row["sent_frames"]) for row in played.ports.values() if row["port"].startswith("switch0:")]
    assert min(uplinks) > 0


# Evenness


def chi_square(counts: Sequence[float], shares: Sequence[float] | None = None) -> float:
    """Of counts against what is expected: equal, or by shares."""
    parts = shares or [1] * len(counts)
    total = sum(counts)
    expected = [total * part / sum(parts) for part in parts]
    return sum((count - mean) ** 2 / mean for count, mean in zip(counts, expected, strict=True))


def flows_over(played: Played, ports: Sequence[str], flows: int) -> list[float]:
    """How many flows took each port, if all sent the same number of frames."""
    frames = [int(played.ports[port]["sent_frames"]) for port in ports]
    each, rest = divmod(sum(frames), flows)
    assert rest == 0
    assert all(count % each == 0 for count in frames)
    return [count // each for count in frames]


def one_way(senders: Sequence[int], receivers: Sequence[int], npus: int) -> Any:
    return by_hand(npus, [Row(sender, receiver) for sender in senders for receiver in receivers])


@pytest.mark.parametrize("transport", ["tcp", "roce"])
@pytest.mark.parametrize("seed", [0, 1, 2, 2**32 - 1])
def test_ecmp_spreads_many_flows_evenly_over_uplinks(seed: int, transport: str) -> None:
    """1,024 flows of one packet over eight uplinks, and as many answers over those of the other leaf."""
    topology = leaf_spine(spines=8, hosts_per_leaf=32, uplink={"rate": "800Gbps"}, routing={"seed": seed})
    network = parse_network({"topology": topology, "transport": transport})
    played = play(network, one_way(range(32), range(32, 64), 64), 100, stop_when_done=False)
    for leaf in range(2):
        taken = flows_over(played, [f"switch{leaf}:{32 + uplink}" for uplink in range(8)], 32 * 32)
        assert chi_square(taken) < CHI_SQUARE_OF_1_IN_1000[7]


@pytest.mark.parametrize("transport", ["tcp", "roce"])
def test_the_runs_seed_draws_the_paths_unless_the_file_fixes_them(transport: str) -> None:
    """64 flows over eight uplinks: that two draws agree on all of them has a chance of 8**-64."""

    def uplinks(run_seed: int, **routing: int) -> list[int]:
        topology = leaf_spine(spines=8, hosts_per_leaf=8, uplink={"rate": "800Gbps"}, routing=routing)
        network = parse_network({"topology": topology, "transport": transport})
        rows = one_way(range(8), range(8, 16), 16)
        played = play(network, rows, 100, seed=run_seed, stop_when_done=False)
        return [int(played.ports[f"switch0:{8 + uplink}"]["sent_frames"]) for uplink in range(8)]

    drawn = [uplinks(seed) for seed in (1, 2, 3)]
    assert len(set(map(tuple, drawn))) == 3
    assert drawn[0] == uplinks(1, seed=0)
    assert uplinks(2, seed=5) == uplinks(3, seed=5)


def test_the_seed_draws_the_port_of_a_host_too() -> None:
    """NPU 0 has two lines, and sends messages to seven others: two draws agree on all with a chance of 2**-7."""

    def first_port(run_seed: int, **routing: int) -> tuple[int, ...]:
        level = {
            "children": 8,
            "parents": 2,
            "link": {"rate": "200Gbps", "delay": "500ns"},
            "switch": {"buffer": "1GB"},
        }
        topology = {"kind": "clos", "levels": [level], "routing": routing}
        network = parse_network({"topology": topology, "transport": {"kind": "roce", "congestion_control": "none"}})
        found = []
        for other in range(1, 8):
            played = play(network, one_way([0], [other], 8), 100, seed=run_seed, stop_when_done=False)
            found.append(int(played.ports["host0"]["sent_frames"] > 0))
        return tuple(found)

    drawn = [first_port(seed) for seed in range(1, 6)]
    assert len(set(drawn)) >= 3
    assert drawn[0] == first_port(1, seed=0)
    assert first_port(2, seed=5) == first_port(3, seed=5)


@pytest.mark.parametrize("k", [4, 6, 8])
@pytest.mark.parametrize("seed", [0, 1, 12345])
def test_three_levels_choose_independently_so_that_all_core_links_are_used(k: int, seed: int) -> None:
    """From one pod to all others, one packet a flow: with one hash on all levels, aggregation switch j would use its
    j-th core link alone (polarisation)."""
    half, pod = k // 2, k * k // 4
    npus = k * pod
    network = roce(fat_tree(k=k, routing={"seed": seed}))
    played = play(network, one_way(range(pod), range(pod, npus), npus), 100, stop_when_done=False)
    first_core = 2 * k * half  # edge switches come first, then aggregation
    aggregation = [f"switch{k * half + switch}" for switch in range(half)]
    up = [
        name
        for name, row in played.ports.items()
        if name.split(":")[0] in aggregation and int(row["link_to"].removeprefix("switch")) >= first_core
    ]
    assert len(up) == pod
    taken = flows_over(played, up, pod * (npus - pod))
    assert min(taken) > 0
    assert chi_square(taken) < CHI_SQUARE_OF_1_IN_1000[pod - 1]


# 32 hosts on each of two leaves, and spines of 300 and 100 Gb/s between them.
UNEQUAL = "68 4 68\n64 65 66 67\n" + "".join(
    f"{a} {b} {rate} 500ns 0\n"
    for a, b, rate in (
        *((host, 64 + host // 32, "100Gbps") for host in range(64)),
        *((leaf, spine, "300Gbps" if spine == 66 else "100Gbps") for leaf in (64, 65) for spine in (66, 67)),
    )
)


def unequal(folder: Path, transport: str, **routing: Any) -> Played:
    (folder / "graph.txt").write_text(UNEQUAL, encoding="utf-8")
    topology = {"kind": "file", "path": str(folder / "graph.txt"), "switch": SWITCH, "routing": routing}
    network = parse_network({"topology": topology, "transport": transport})
    return play(network, one_way(range(32), range(32, 64), 64), 100, stop_when_done=False)


@pytest.mark.parametrize("transport", ["tcp", "roce"])
def test_weighted_ecmp_splits_flows_in_proportion_to_rates(transport: str, tmp_path: Path) -> None:
    uplinks = ["switch0:32", "switch0:33"]
    weighted = flows_over(unequal(tmp_path, transport, weighted=True), uplinks, 1024)
    assert chi_square(weighted, (3, 1)) < CHI_SQUARE_OF_1_IN_1000[1]
    plain = flows_over(unequal(tmp_path, transport), uplinks, 1024)
    assert chi_square(plain) < CHI_SQUARE_OF_1_IN_1000[1]


def test_weighted_spraying_in_turn_splits_packets_exactly(tmp_path: Path) -> None:
    played = unequal(tmp_path, "roce", kind="spray", weighted=True)
    frames = [played.ports[f"switch0:{port}"]["sent_frames"] for port in (32, 33)]
    assert frames == [768, 256]


@pytest.mark.parametrize("transport", ["tcp", "roce"])
@pytest.mark.parametrize("path", range(4))
def test_a_pinned_pair_takes_the_path_it_is_given(path: int, transport: str) -> None:
    routing = {"kind": "pinned", "pins": [{"sender": 1, "receiver": 9, "path": path}]}
    network = parse_network({"topology": leaf_spine(routing=routing), "transport": transport})
    played = play(network, by_hand(16, [Row(1, 9)]), 100_000, stop_when_done=False)
    taken = [played.ports[f"switch0:{8 + uplink}"]["sent_bytes"] for uplink in range(4)]
    assert taken[path] > 100_000
    assert sum(taken) == taken[path]


# Spraying

BUSY = {"kind": "fat-tree", "k": 4, "link": LINK, "switch": LOSSLESS}


def sprayed(reliability: object, spray: str, size: int = 100_000) -> Played:
    network = roce({**BUSY, "routing": {"kind": "spray", "spray": spray}}, reliability=reliability)
    return play(network, by_hand(16, across(16)), size)


def test_spraying_at_random_costs_little_where_the_receiver_waits_and_much_where_it_does_not() -> None:
    size = 100_000
    alone_ps = size // PAYLOAD * (PAYLOAD + HEADERS + LINE_GAP) * 80  # its packets on a line of 100 Gb/s
    waiting = sprayed({"kind": "selective-repeat", "reordering_packets": 64}, "random")
    selective = sprayed("selective-repeat", "random")
    go_back_n = sprayed("go-back-n", "random")
    assert waiting.statistics["retransmissions"] == 0
    assert alone_ps < waiting.finish_ps < 2.5 * alone_ps
    assert 0 < selective.statistics["retransmissions"] < go_back_n.statistics["retransmissions"]
    assert go_back_n.finish_ps > 5 * alone_ps


def test_spraying_in_turn_uses_every_path_alike() -> None:
    """A permutation over a full fat tree ends when a line has sent a message, its ACKs and some round trips."""
    size = 1_000_000
    played = sprayed({"kind": "selective-repeat", "reordering_packets": 64}, "round-robin", size)
    packet, ack = PAYLOAD + HEADERS + LINE_GAP, HEADERS + 4 + LINE_GAP
    expected_ps = size // PAYLOAD * (packet + ack) * 80
    assert size // PAYLOAD * packet * 80 < played.finish_ps < 1.15 * expected_ps
    assert played.statistics["retransmissions"] == 0
