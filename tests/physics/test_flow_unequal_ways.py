"""Flows over equally short ways of unequal rates, where queues choose ports: what packets do, and closed forms."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.roce_network import Flow, play_flows, roce_network
from support.star_network import Played

from astra_ns3.config.network.packet_network import NetworkConfig
from astra_ns3.network.api import EndpointModel
from astra_ns3.network.backend_makers import create_backend
from astra_ns3.network.plan import plan_network
from astra_ns3.network.records import RecorderOptions
from astra_ns3.topology.changes import Change, LinkTarget, State

FRAME_NS = 1_082 / 12.5
"""A full packet of RoCE on a line of 100 Gb/s."""
DELAY_NS = 500
PACKETS, BYTES = 4_000, 4_000_000
GBPS = 10**9
NEAR = 1e-3
"""Of the finish: packets of several hosts wait for one another's last ones, and turns begin somewhere."""
PATIENT = {"kind": "selective-repeat", "reordering_packets": 4_000, "timeout": "200ms"}


def _two_leaves(folder: Path, kind: str, hosts: int, first: int, later: int) -> NetworkConfig:
    """Two leaves of ``hosts`` and two spines; leaf 0's lines have ``first`` and 100 Gb/s, the others ``later``."""
    leaf, spine = 2 * hosts, 2 * hosts + 2
    lines = [f"{host} {leaf + host // hosts} 100Gbps 500ns 0" for host in range(2 * hosts)]
    rates = {(0, 0): first, (0, 1): 100, (1, 0): later, (1, 1): later}
    lines += [f"{leaf + one} {spine + other} {rate}Gbps 500ns 0" for (one, other), rate in rates.items()]
    switches = " ".join(str(leaf + number) for number in range(4))
    text = "\n".join([f"{2 * hosts + 4} 4 {len(lines)}", switches, *lines]) + "\n"
    (folder / "graph.txt").write_text(text, encoding="utf-8")
    graph = {"kind": "file", "path": str(folder / "graph.txt")}
    topology = {**graph, "routing": {"kind": kind}, "switch": {"buffer": "1GB"}}
    return roce_network(topology, congestion_control="none", reliability=PATIENT)


def _played(network: NetworkConfig, flows: list[Flow], folder: Path, backend: str, **options: Any) -> Played:
    (folder / backend).mkdir()
    return play_flows(network, flows, folder / backend, backend=backend, **options)


@pytest.mark.parametrize("backend", ["ns3", "flow"])
@pytest.mark.parametrize("kind", ["adaptive", "flowlet"])
@pytest.mark.parametrize("first", [100, 200, 400])
def test_a_faster_line_makes_no_run_longer(backend: str, kind: str, first: int, tmp_path: Path) -> None:
    """No port has a queue: each uplink has a half, as the spines' lines to leaf 1 need."""
    network = _two_leaves(tmp_path, kind, 2, first, 100)
    played = _played(network, [Flow(0, 2, BYTES), Flow(1, 3, BYTES)], tmp_path, backend)
    assert played.end_ps == pytest.approx(1_000 * ((PACKETS + 3) * FRAME_NS + 4 * DELAY_NS), rel=NEAR)
    assert played.ports["switch0:2"]["sent_frames"] == pytest.approx(PACKETS, rel=0.01)


@pytest.mark.parametrize("backend", ["ns3", "flow"])
@pytest.mark.parametrize(
    ("hosts", "first", "share"), [(3, 400, 2 / 3), (4, 150, 3 / 5), (4, 100, 1 / 2), (3, 200, 2 / 3)]
)
def test_a_full_port_leaves_the_rest_to_a_faster_one(
    backend: str, hosts: int, first: int, share: float, tmp_path: Path
) -> None:
    """Hosts of 100 Gb/s: the line of 100 has that, and the other the rest; if both are full, they share by rates."""
    network = _two_leaves(tmp_path, "adaptive", hosts, first, 400)
    flows = [Flow(host, hosts + host, BYTES) for host in range(hosts)]
    played = _played(network, flows, tmp_path, backend)
    over = max(hosts * 100 / (first + 100), 1.0)
    assert played.end_ps == pytest.approx(1_000 * (over * PACKETS * FRAME_NS + 4 * DELAY_NS), rel=2e-3)
    sent = [int(played.ports[f"switch0:{port}"]["sent_frames"]) for port in (hosts, hosts + 1)]
    assert sent[0] / sum(sent) == pytest.approx(share, abs=0.005)


@pytest.mark.parametrize(
    ("kind", "rate", "at_ps", "warned"),
    [
        ("adaptive", 200, 0, True),
        ("adaptive", 50, 10**6, True),
        ("adaptive", 100, 10**6, False),
        ("flowlet", 200, 10**6, True),
        ("spray", 200, 10**6, False),
    ],
)
@pytest.mark.parametrize("static", [True, False])
def test_flows_warn_of_unequal_ways_among_which_queues_choose(
    kind: str, rate: int, at_ps: int, warned: bool, static: bool, tmp_path: Path
) -> None:
    network = _two_leaves(tmp_path, kind, 2, rate if static else 100, 100)
    changes = () if static else (Change(at_ps, LinkTarget(4), State(rate_bps=rate * GBPS)),)
    backend = create_backend(
        "flow", plan_network(network, EndpointModel(), changes), seed=1, recorder=RecorderOptions()
    )
    said = backend.warnings()
    backend.close()
    assert any("among equally short ways of unequal rates" in words for words in said) is warned


@pytest.mark.parametrize("kind", ["adaptive", "flowlet"])
def test_a_line_that_an_event_makes_faster_makes_no_run_longer(kind: str, tmp_path: Path) -> None:
    shape = {"leaves": 2, "spines": 2, "hosts_per_leaf": 4, "links_per_spine": 2}
    link = {"rate": "100Gbps", "delay": "500ns"}
    topology = {"kind": "leaf-spine", **shape, "link": link, "switch": {"buffer": "1GB"}, "routing": {"kind": kind}}
    network = roce_network(topology, congestion_control="none", reliability=PATIENT)
    faster = [Change(1_000, LinkTarget(8), State(rate_bps=200 * GBPS))]
    flows = [Flow(host, 4 + host, BYTES, start_ps=2_000) for host in range(4)]
    played = _played(network, flows, tmp_path, "flow", changes=faster)
    assert played.end_ps == pytest.approx(1_000 * ((PACKETS + 3) * FRAME_NS + 4 * DELAY_NS), rel=NEAR)


@pytest.mark.parametrize("backend", ["ns3", "flow"])
def test_flowlets_take_a_line_that_comes_back_as_often_as_others(backend: str, tmp_path: Path) -> None:
    """Two of three uplinks have carried 300 messages; 120 later ones of 120 frames spread over all three."""
    link = {"rate": "100Gbps", "delay": "500ns"}
    shape = {"leaves": 2, "spines": 3, "hosts_per_leaf": 3}
    topology = {
        "kind": "leaf-spine",
        **shape,
        "link": link,
        "switch": {"buffer": "1GB"},
        "routing": {"kind": "flowlet"},
    }
    network = roce_network(topology, congestion_control="none", reliability=PATIENT)
    ends = ((1_000, False), (2_000_000_000, True))
    changes = [Change(at_ps, LinkTarget(6), State(up=up)) for at_ps, up in ends]
    every_ps = 20_000_000
    flows = [
        Flow(host, 3 + host, size, start_ps=begin_ps + turn * every_ps)
        for size, turns, begin_ps in ((20_000, 100, 5_000_000), (120_000, 40, 2_005_000_000))
        for turn in range(turns)
        for host in range(3)
    ]
    played = _played(network, flows, tmp_path, backend, changes=changes)
    assert played.ports["switch0:3"]["sent_frames"] == pytest.approx(40 * 120, rel=0.05)
