"""A message whose packets take different ways is never faster than its ideal."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from support.small_run import small_system

import astra_ns3
from astra_ns3.config.flow_list import FlowList
from astra_ns3.config.network.packet_network import NetworkConfig, parse_network
from astra_ns3.report.explanation.explain import explain

ROUTINGS = ({"kind": "spray"}, {"kind": "spray", "spray": "random"}, {"kind": "flowlet"}, {"kind": "adaptive"})


def network(draw: random.Random) -> NetworkConfig:
    """Hosts with fast lines below leaves, whose lines to several spines are slower."""
    fast, slow = f"{draw.choice((100, 200, 400))}Gbps", f"{draw.choice((25, 40, 100))}Gbps"
    delays = [f"{draw.choice((0, 100, 500, 2000))}ns" for _ in range(2)]
    switch: dict[str, Any] = {"buffer": "64MB", "pfc": {}}
    if draw.random() < 0.4:
        switch["cut_through"] = "128B"
    topology = {
        "kind": "leaf-spine",
        "leaves": 2,
        "spines": draw.choice((2, 3, 4)),
        "hosts_per_leaf": 2,
        "link": {"rate": fast, "delay": delays[0]},
        "uplink": {"rate": slow, "delay": delays[1]},
        "switch": switch,
        "routing": draw.choice(ROUTINGS),
    }
    transport = {
        "kind": "roce",
        "congestion_control": "none",
        "payload": draw.choice((200, 1000, 4096)),
        "reliability": "selective-repeat",
        "completion": draw.choice(("arrival", "acknowledged")),
    }
    return parse_network({"topology": topology, "transport": transport})


@pytest.mark.parametrize("seed", range(30))
def test_a_message_alone_on_several_ways_takes_its_ideal_at_least(seed: int) -> None:
    draw = random.Random(seed)
    config = network(draw)
    sizes = [draw.choice((1, 999, 5000, 40_000, 1_000_000)) for _ in range(4)]
    starts = [place * 10**10 for place in range(len(sizes))]
    flows = FlowList.of([0] * len(sizes), [draw.choice((1, 2, 3)) for _ in sizes], sizes, starts)
    result = astra_ns3.run(workload=flows, system=small_system(), network=config, record=["flows"])
    rows = result.flows.sort_values("start_ps")
    took = (rows["end_ps"] - rows["start_ps"]).to_numpy()
    ideal = rows["ideal_ps"].to_numpy()
    assert (took >= ideal).all(), (took, ideal)


def unequal_ways(folder: Path, routing: dict[str, Any]) -> NetworkConfig:
    """Two ways of one cost between the hosts' switches: a slow line, and two fast ones over a third switch."""

    def line(source: str, target: str, rate: str, cost: int = 1) -> dict[str, Any]:
        return {"source": source, "target": target, "rate": rate, "delay": "100ns", "cost": cost}

    kinds = {"s0": "switch", "s1": "switch", "s2": "switch", "h0": "host", "h1": "host"}
    fast = "100Gbps"
    links = [line("h0", "s0", "400Gbps"), line("h1", "s1", "400Gbps"), line("s0", "s1", "10Gbps", cost=2)]
    graph = {
        "directed": False,
        "multigraph": False,
        "graph": {},
        "nodes": [{"id": name, "kind": kind} for name, kind in kinds.items()],
        "links": [*links, line("s0", "s2", fast), line("s2", "s1", fast)],
    }
    file = folder / "graph.json"
    file.write_text(json.dumps(graph), encoding="utf-8")
    switch = {"buffer": "64MB", "pfc": {}}
    topology = {"kind": "file", "path": str(file), "switch": switch, "routing": routing}
    reliability = {"kind": "selective-repeat", "reordering_packets": 64}
    transport = {"kind": "roce", "congestion_control": "none", "payload": 1000, "reliability": reliability}
    return parse_network({"topology": topology, "transport": transport})


@pytest.mark.parametrize("routing", ROUTINGS, ids=lambda routing: "-".join(routing.values()))
def test_a_message_on_ways_of_different_lengths_takes_its_ideal_at_least(
    tmp_path: Path, routing: dict[str, Any]
) -> None:
    """1 MB in packets of 1,000 bytes and some headers: 110 Gb/s out of the first switch need 73 us, 10 Gb/s 800."""
    config = unequal_ways(tmp_path, routing)
    flows = FlowList.of([0, 1], [1, 0], [1_000_000, 1_000_000], [0, 10**10])
    result = astra_ns3.run(workload=flows, system=small_system(), network=config, record=["flows"])
    took = (result.flows["end_ps"] - result.flows["start_ps"]).to_numpy()
    ideal = result.flows["ideal_ps"].to_numpy()
    assert (took >= ideal).all(), (took, ideal)
    assert ((ideal > 73 * 10**6) & (ideal < 90 * 10**6)).all(), ideal


@pytest.mark.parametrize("routing", ["ecmp", "spray"])
@pytest.mark.parametrize(("lines", "queue_pairs"), [(2, 2), (2, 4), (3, 4)])
def test_a_split_message_may_take_all_lines_of_its_host(lines: int, queue_pairs: int, routing: str) -> None:
    link = {"rate": "400Gbps", "delay": "100ns"}
    level = {"children": 4, "link": link, "links": lines, "switch": {"buffer": "32MiB", "pfc": {}}}
    transport = {"kind": "roce", "payload": 4096, "congestion_control": "none", "queue_pairs_per_pair": queue_pairs}
    config = parse_network(
        {
            "topology": {"kind": "clos", "levels": [level], "routing": {"kind": routing}},
            "transport": {**transport, "queue_pair_use": "split"},
        }
    )
    pairs = [(source, destination) for source in range(4) for destination in range(4) if source != destination]
    starts = [place * 10**9 for place in range(len(pairs))]
    senders, receivers = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    flows = FlowList.of(senders, receivers, [4_000_000] * len(pairs), starts)
    rows = astra_ns3.run(workload=flows, system=small_system(), network=config, record=["flows"]).flows
    took = (rows["end_ps"] - rows["start_ps"]).to_numpy()
    ideal = rows["ideal_ps"].to_numpy()
    assert (took >= ideal).all(), (took, ideal)
    assert (ideal < 1.1 * 4_000_000 * 8 / 0.4 / lines).all()


def unlike_spines(draw: random.Random, folder: Path) -> NetworkConfig:
    """Two leaves of two hosts each, joined by several spines or lines whose rates and delays are all drawn."""

    def line(source: str, target: str, number: int = 0) -> dict[str, Any]:
        rate, delay = draw.choice((25, 40, 100, 200, 400)), draw.choice((0, 100, 700, 5000))
        return {"source": source, "target": target, "key": number, "rate": f"{rate}Gbps", "delay": f"{delay}ns"}

    spines = [f"s{number}" for number in range(draw.choice((2, 3, 4)))]
    hosts = [f"h{number}" for number in range(4)]
    links = [line(host, f"l{place // 2}", number) for place, host in enumerate(hosts) for number in (0, 1)]
    links += [line(leaf, spine) for leaf in ("l0", "l1") for spine in spines]
    links += [line("l0", spines[0], 1)]
    kinds = dict.fromkeys(hosts, "host") | dict.fromkeys((*spines, "l0", "l1"), "switch")
    graph = {
        "directed": False,
        "multigraph": True,
        "graph": {},
        "nodes": [{"id": name, "kind": kind} for name, kind in kinds.items()],
        "links": links,
    }
    file = folder / "graph.json"
    file.write_text(json.dumps(graph), encoding="utf-8")
    switch: dict[str, Any] = {"buffer": "64MB", "pfc": {}}
    if draw.random() < 0.5:
        switch["cut_through"] = draw.choice(("64B", "128B", "1000B"))
    routing = draw.choice(({"kind": "ecmp"}, {"kind": "ecmp"}, *ROUTINGS))
    transport = {
        "kind": "roce",
        "congestion_control": "none",
        "payload": draw.choice((200, 1000, 4096)),
        "reliability": {"kind": "selective-repeat", "reordering_packets": 64},
        "completion": draw.choice(("arrival", "acknowledged")),
        "queue_pairs": draw.choice(("per-pair", "per-message")),
    }
    return parse_network(
        {"topology": {"kind": "file", "path": str(file), "switch": switch, "routing": routing}, "transport": transport}
    )


def alone(config: NetworkConfig, flows: list[tuple[int, int, int]]) -> tuple[list[int], list[int]]:
    """What each flow takes, one after the other, and its ideal."""
    sources, destinations, sizes = (list(column) for column in zip(*flows, strict=True))
    list_of_flows = FlowList.of(sources, destinations, sizes, [place * 10**10 for place in range(len(flows))])
    result = astra_ns3.run(workload=list_of_flows, system=small_system(), network=config, record=["flows"])
    rows = result.flows.sort_values("start_ps")
    return (rows["end_ps"] - rows["start_ps"]).tolist(), rows["ideal_ps"].tolist()


@pytest.mark.parametrize("seed", range(40))
def test_a_message_on_one_of_several_unlike_ways_takes_its_ideal_at_least(tmp_path: Path, seed: int) -> None:
    draw = random.Random(seed)
    config = unlike_spines(draw, tmp_path)
    pairs = [(source, destination) for source in range(4) for destination in range(4) if source != destination]
    flows = [(*pair, draw.choice((1, 999, 5000, 300_000))) for pair in pairs]
    took, ideal = alone(config, flows)
    assert all(time >= least for time, least in zip(took, ideal, strict=True)), (took, ideal)


@pytest.mark.parametrize("cut_through", [None, "128B"])
def test_of_messages_on_unlike_ways_the_fastest_take_their_ideal(tmp_path: Path, cut_through: str | None) -> None:
    """Each message has a way of its own, over 100 Gb/s or, with the same hops, over 40 Gb/s and 2 us more."""

    def line(source: str, target: str, rate: str, delay: str = "100ns") -> dict[str, Any]:
        return {"source": source, "target": target, "rate": rate, "delay": delay}

    fast, slow = "100Gbps", "40Gbps"
    kinds = {"h0": "host", "h1": "host"} | dict.fromkeys(("l0", "l1", "s0", "s1"), "switch")
    links = [line("h0", "l0", fast), line("h1", "l1", fast), line("l0", "s0", fast), line("s0", "l1", fast)]
    links += [line("l0", "s1", slow, "1100ns"), line("s1", "l1", slow, "1100ns")]
    nodes = [{"id": name, "kind": kind} for name, kind in kinds.items()]
    file = tmp_path / "graph.json"
    file.write_text(
        json.dumps({"directed": False, "multigraph": False, "graph": {}, "nodes": nodes, "links": links}),
        encoding="utf-8",
    )
    switch = {"buffer": "64MB", **({"cut_through": cut_through} if cut_through else {})}
    transport = {"kind": "roce", "congestion_control": "none", "queue_pairs": "per-message"}
    config = parse_network({"topology": {"kind": "file", "path": str(file), "switch": switch}, "transport": transport})
    took, ideal = alone(config, [(0, 1, 100_000)] * 16)
    assert len(set(ideal)) == 1
    assert min(took) == ideal[0] < max(took)


def flowlets(uplink: str, gap: str = "50us", hosts_per_leaf: int = 4, leaves: int = 4) -> NetworkConfig:
    shape = {"kind": "leaf-spine", "leaves": leaves, "spines": 2, "hosts_per_leaf": hosts_per_leaf}
    topology = {
        **shape,
        "link": {"rate": "100Gbps", "delay": "500ns"},
        "uplink": {"rate": uplink},
        "switch": {"buffer": "32MB", "pfc": {}},
        "routing": {"kind": "flowlet", "flowlet_gap": gap},
    }
    reliability = {"kind": "selective-repeat", "reordering_packets": 64}
    transport = {"kind": "roce", "payload": 4096, "congestion_control": "none", "reliability": reliability}
    return parse_network({"topology": topology, "transport": transport, "observe": {"utilisation": "all"}})


def played(config: NetworkConfig, flows: FlowList, backend: str) -> astra_ns3.Result:
    record = ["flows", "accounts"]
    return astra_ns3.run(workload=flows, system=small_system(), network=config, backend=backend, record=record)


@pytest.mark.parametrize("backend", ["ns3", "flow"])
def test_a_flowlet_without_a_pause_has_one_way_and_its_ideal(backend: str) -> None:
    """Ten megabytes over one of two lines of 50 Gb/s; frames have 82 bytes around 4,096."""
    result = played(flowlets("50Gbps", hosts_per_leaf=1, leaves=2), FlowList.of([0], [1], [10_000_000], [0]), backend)
    (took,), (ideal,) = result.flows["end_ps"] - result.flows["start_ps"], result.flows["ideal_ps"]
    assert took == pytest.approx(10_000_000 * 4178 / 4096 * 160, rel=0.005)
    assert took == ideal
    (message,) = explain(result).slowest
    assert message.excess_ps == 0


@pytest.mark.parametrize("backend", ["ns3", "flow"])
def test_a_flowlet_whose_frames_are_a_gap_apart_takes_all_ways(backend: str) -> None:
    """A frame takes 668 ns at 50 Gb/s, and 334 ns before that."""
    config = flowlets("50Gbps", "100ns", hosts_per_leaf=1, leaves=2)
    result = played(config, FlowList.of([0], [1], [10_000_000], [0]), backend)
    (took,) = result.flows["end_ps"] - result.flows["start_ps"]
    assert took == pytest.approx(10_000_000 * 4178 / 4096 * 80, rel=0.005)


@pytest.mark.parametrize("backend", ["ns3", "flow"])
@pytest.mark.parametrize(("pause_us", "ways"), [(20, 1), (90, 2)])
def test_a_queue_pair_takes_another_way_after_a_gap_alone(backend: str, pause_us: int, ways: int) -> None:
    """Each message is on its way for some 85 us; both spines are free."""
    config = flowlets("100Gbps", hosts_per_leaf=1, leaves=2)
    flows = FlowList.of([0, 0], [1, 1], [1_000_000] * 2, [0, (86 + pause_us) * 10**6])
    lines = played(config, flows, backend).utilisation
    ports = lines[(lines["port"].isin(["switch0:1", "switch0:2"])) & (lines["wire_bytes"] > 10_000)]["port"]
    assert ports.nunique() == ways


def test_flowlets_of_a_permutation_end_when_packets_do() -> None:
    """Of sixteen NPUs on four leaves with two uplinks each."""
    flows = FlowList.of([*range(16)], [(npu + 5) % 16 for npu in range(16)], [2_000_000] * 16, [0] * 16)
    ends = [played(flowlets("100Gbps"), flows, backend).finish_ps for backend in ("flow", "ns3")]
    assert ends[0] == pytest.approx(ends[1], rel=0.03)


@pytest.mark.parametrize("backend", ["ns3", "flow"])
@pytest.mark.parametrize("routing", ["spray", "adaptive"])
@pytest.mark.parametrize("planes", [2, 3])
def test_a_message_on_one_of_its_host_s_planes_takes_its_ideal(backend: str, routing: str, planes: int) -> None:
    """A queue pair keeps to one port of its host, by a hash: 24 frames of 4,178 B at 400 Gb/s, over two lines."""
    link = {"rate": "400Gbps", "delay": "500ns"}
    switch = {"buffer": "32MiB", "pfc": {}}
    inside = {"planes": planes, "link": link, "switch": switch}
    outside = {"kind": "single-switch", "link": link, "switch": switch}
    nodes = {"kind": "hierarchical", "nodes": 2, "npus_per_node": 4, "scale_up": inside, "scale_out": outside}
    transport = {"kind": "roce", "payload": 4096, "congestion_control": "none", "reliability": "selective-repeat"}
    config = parse_network({"topology": {**nodes, "routing": {"kind": routing}}, "transport": transport})
    flows = FlowList.of([0, 1], [1, 2], [24 * 4096] * 2, [0, 10**9])
    result = astra_ns3.run(workload=flows, system=small_system(), network=config, backend=backend, record=["flows"])
    took = (result.flows["end_ps"] - result.flows["start_ps"]).to_numpy()
    assert took == pytest.approx(result.flows["ideal_ps"].to_numpy(), rel=1e-3)
    assert took == pytest.approx((24 + 1) * 4178 * 8 / 0.4 + 2 * 500_000, rel=0.005)


def test_a_bound_is_a_whole_way_s() -> None:
    """Between a dragonfly's groups each way has a line of 5 us, some at the second step and some at the first."""
    line, far = {"rate": "100Gbps", "delay": "100ns"}, {"rate": "100Gbps", "delay": "5us"}
    switch = {"buffer": "64MB", "pfc": {}}
    groups = {"kind": "dragonfly", "a": 4, "p": 2, "h": 1, "link": line, "global_link": far, "switch": switch}
    repeat = {"kind": "selective-repeat", "reordering_packets": 1000, "timeout": "20ms"}
    transport = {"kind": "roce", "payload": 4096, "congestion_control": "none", "reliability": repeat}
    config = parse_network({"topology": {**groups, "routing": {"kind": "spray"}}, "transport": transport})
    took: dict[str, int] = {}
    for backend in ("ns3", "flow"):
        result = astra_ns3.run(
            workload=FlowList.of([0], [22], [1000], [0]),
            system=small_system(),
            network=config,
            backend=backend,
            record=["flows"],
        )
        took[backend] = int((result.flows["end_ps"] - result.flows["start_ps"]).iloc[0])
        ideal_ps = int(result.flows["ideal_ps"].iloc[0])
    least_ps = 5_000_000 + 4 * 100_000
    assert least_ps < ideal_ps < least_ps + 5 * 1100 * 80
    assert took["flow"] == pytest.approx(ideal_ps, abs=20)
    assert took["ns3"] >= ideal_ps
