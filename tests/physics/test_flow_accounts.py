"""Where flows wait: solved by hand, beside packets, and never for longer than a line was busy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from support.accounts import problems_of, read_accounts
from support.roce_network import CONTROLS, LOSSLESS, Flow, play_flows, roce_network, roce_star

from astra_ns3.config.network.packet_network import NetworkConfig
from astra_ns3.topology.changes import Change, LinkTarget, State

MB = 1_000_000
US = 1_000_000
MB_PS = 1_000 * 1_082 * 80
"""A megabyte on a line of 100 Gb/s: packets of 1,000 bytes with headers, preambles and gaps."""
LINK = {"rate": "100Gbps", "delay": "500ns"}
SIDES = {"kind": "dumbbell", "left": 4, "right": 4, "link": LINK, "bottleneck": LINK, "switch": {"buffer": "1GB"}}
"""Hosts 0 to 3 on switch 0, hosts 4 to 7 on switch 1."""
TRUNK, INTO_4 = "switch0:4", "switch1:0"
OF_ALL_WAITS = 0.02
"""What one port's share of all waits may be off by: acknowledgements and mixtures are coarser than packets."""
MORE = 1.05
"""A line also carries acknowledgements, and HPCC's headers are longer."""


def of_flows(network: NetworkConfig, flows: list[Flow], folder: Path, **keys: Any) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The accounts, which add up port by port, and what messages waited at ports: message, port, ps."""
    folder.mkdir(exist_ok=True)
    play_flows(network, flows, folder, accounts=True, **keys)
    accounts, hops = read_accounts(folder)
    assert problems_of(accounts, hops) == []
    hops["waited_ps"] = hops.queue_ps + hops.paused_ps
    hops.loc[hops.hop == 0, "waited_ps"] = accounts.nic_queue_ps[hops.message[hops.hop == 0]].to_numpy()
    return accounts, hops[hops.waited_ps > 0]


def waits_of(accounts: pd.DataFrame, hops: pd.DataFrame, source: int, destination: int) -> dict[str, int]:
    """What the only message from ``source`` to ``destination`` waited at each port."""
    (message,) = accounts.index[(accounts.source == source) & (accounts.destination == destination)]
    own = hops[hops.message == message]
    return dict(zip(own.port.astype(str), own.waited_ps, strict=True))


def everyone(npus: int, bytes: int) -> list[Flow]:
    return [Flow(a, b, bytes) for a in range(npus) for b in range(npus) if a != b]


@pytest.mark.parametrize("later_ps", [0, 40 * US])
def test_a_flow_waits_at_one_port_while_it_shares_that_and_at_the_next_while_it_shares_that(
    tmp_path: Path, later_ps: int
) -> None:
    """A (0 to 4) shares the trunk with B (1 to 5), then the line into host 4 with C (6 to 4).

    With half the line each, B's megabyte takes twice its time alone, and A waits as long as B's bytes take. If C
    begins when B ends, nothing changes A's rate; later, A has the line alone in between.
    """
    network = roce_network(SIDES, congestion_control="dcqcn")
    flows = [Flow(0, 4, 2 * MB + later_ps * MB // MB_PS), Flow(1, 5, MB), Flow(6, 4, MB, start_ps=2 * MB_PS + later_ps)]
    accounts, hops = of_flows(network, flows, tmp_path, backend="flow")
    expected = {(0, 4): {TRUNK: MB_PS, INTO_4: MB_PS}, (1, 5): {TRUNK: MB_PS}, (6, 4): {INTO_4: MB_PS}}
    for pair, waits in expected.items():
        assert waits_of(accounts, hops, *pair) == pytest.approx(waits, rel=1e-4)


@pytest.mark.parametrize("control", ["dcqcn", "swift"])
def test_the_first_of_two_full_ports_slows_a_flow_as_long_as_it_is_full(tmp_path: Path, control: str) -> None:
    """Two flows of host 0 fill its line and the trunk; when one has ended, host 1 fills the trunk instead."""
    flows = [Flow(0, 4, 2 * MB), Flow(0, 5, MB), Flow(1, 5, MB, start_ps=2 * MB_PS)]
    network = roce_network(SIDES, congestion_control=control)
    accounts, hops = of_flows(network, flows, tmp_path, backend="flow")
    assert waits_of(accounts, hops, 0, 4) == pytest.approx({"host0": MB_PS, TRUNK: MB_PS}, rel=0.01)
    assert waits_of(accounts, hops, 0, 5) == pytest.approx({"host0": MB_PS}, rel=0.01)


@pytest.mark.parametrize(
    ("topology", "control", "flows"),
    [
        ("dumbbell", "none", [Flow(0, 4, 4 * MB), Flow(0, 5, MB), Flow(1, 4, 4 * MB, start_ps=200 * US)]),
        ("dumbbell", "none", [Flow(sender, 4, MB) for sender in (0, 1, 2, 5, 6, 7)]),
        ("leaf-spine", "none", everyone(8, MB // 8)),
        ("star", "none", everyone(8, MB // 8)),
        ("star", "dcqcn", everyone(8, MB // 8)),
        ("star", "swift", everyone(8, MB // 8)),
    ],
)
def test_ports_have_the_same_shares_of_all_waits_as_with_packets(
    topology: str, control: str, flows: list[Flow], tmp_path: Path
) -> None:
    sizes = {"leaf-spine": {"leaves": 2, "spines": 2, "hosts_per_leaf": 4}, "star": {"npus": 8}}
    keys = {"kind": "single-switch" if topology == "star" else topology, "link": LINK, "switch": {"buffer": "1GB"}}
    network = roce_network(
        SIDES if topology == "dumbbell" else {**keys, **sizes[topology]},
        congestion_control=control,
        reliability={"kind": "selective-repeat"},
        queue_pairs="per-message",
    )
    shares = {}
    for backend in ("flow", "ns3"):
        _, hops = of_flows(network, flows, tmp_path / backend, backend=backend)
        waited = hops.groupby("port", observed=True).waited_ps.sum()
        shares[backend] = (waited / waited.sum()).to_dict()
    ports = {*shares["flow"], *shares["ns3"]}
    for port in ports:
        assert shares["flow"].get(port, 0) == pytest.approx(shares["ns3"].get(port, 0), abs=OF_ALL_WAITS), port


@pytest.mark.parametrize("control", ["none", "dcqcn", "hpcc"])
def test_a_nic_is_busy_no_longer_than_it_sends_other_messages(control: str, tmp_path: Path) -> None:
    network = roce_network(SIDES, congestion_control=control, queue_pairs="per-message")
    flows = [Flow(0, 4, 4 * MB), Flow(0, 5, MB), Flow(1, 4, 4 * MB, start_ps=200 * US)]
    accounts, _ = of_flows(network, flows, tmp_path, backend="flow")
    large = accounts[(accounts.source == 0) & (accounts.bytes == 4 * MB)]
    assert MB_PS / MORE < large.nic_queue_ps.item() < MORE * MB_PS


@pytest.mark.parametrize("routing", ["ecmp", "spray"])
@pytest.mark.parametrize("control", CONTROLS)
def test_accounts_add_up_port_by_port_and_change_nothing(control: str, routing: str, tmp_path: Path) -> None:
    topology = {
        "kind": "leaf-spine", "leaves": 2, "spines": 2, "hosts_per_leaf": 4, "link": LINK, "routing": {"kind": routing},
        "uplink": {"rate": "75Gbps"}, "switch": {"buffer": "1GB", "pfc": LOSSLESS},
    }  # fmt: skip
    network = roce_network(topology, congestion_control=control)
    flows = [*everyone(8, MB // 4), *(Flow(sender, 7, MB, 2, 30 * US) for sender in range(4))]
    accounts, _ = of_flows(network, flows, tmp_path / "with", backend="flow")
    (tmp_path / "without").mkdir()
    without = play_flows(network, flows, tmp_path / "without", backend="flow").table("flows")
    assert accounts.end_ps.tolist() == without.end_ps.tolist()


def test_what_a_control_keeps_free_is_no_wait_at_a_port(tmp_path: Path) -> None:
    """HPCC alone on the network leaves a part of the line free."""
    network = roce_star(2, congestion_control="hpcc")
    accounts, hops = of_flows(network, [Flow(0, 1, 4 * MB)], tmp_path, backend="flow")
    assert hops.empty
    assert accounts.pacing_ps.item() > 0.05 * 4 * MB_PS


def test_a_flow_without_a_way_has_lost_the_time_until_there_is_one(tmp_path: Path) -> None:
    """As packets would be lost; what the flow waited for before and afterwards stays at its ports."""
    network = roce_network(SIDES, congestion_control="dcqcn")
    down, up = 40 * US, 90 * US
    changes = [Change(down, LinkTarget(8), State(up=False)), Change(up, LinkTarget(8), State(up=True))]
    flows = [Flow(0, 4, MB), Flow(1, 5, MB)]
    accounts, hops = of_flows(network, flows, tmp_path, backend="flow", changes=changes)
    assert accounts.lost_ps.tolist() == pytest.approx([up - down] * 2, rel=1e-3)
    assert waits_of(accounts, hops, 0, 4) == pytest.approx({TRUNK: MB_PS}, rel=1e-3)


@pytest.mark.parametrize(("begin", "end"), [(0, 500 * US), (40 * US, 400 * US)])
def test_a_flow_waits_at_the_line_that_was_slow(begin: int, end: int, tmp_path: Path) -> None:
    """A trunk at a tenth of its rate carries a tenth of the bytes: the message waits there for the rest of the time."""
    network = roce_network(SIDES, congestion_control="dcqcn")
    rates = {begin: 10**10, end: 10**11}
    changes = [Change(time_ps, LinkTarget(8), State(rate_bps=rate)) for time_ps, rate in rates.items()]
    accounts, hops = of_flows(network, [Flow(0, 4, MB)], tmp_path, backend="flow", changes=changes)
    assert waits_of(accounts, hops, 0, 4) == pytest.approx({TRUNK: (end - begin) * 9 // 10}, rel=1e-6)


def test_sprayed_flows_wait_as_long_as_others_where_each_port_leads_to_one_switch(tmp_path: Path) -> None:
    """A queue pair has one of its host's ports, so spraying in a server of four planes changes nothing."""
    waits = {}
    for routing in ("ecmp", "spray"):
        planes = {"link": LINK, "planes": 4, "switch": {"buffer": "1GB"}}
        scale_out = {"kind": "single-switch", "link": LINK, "switch": {"buffer": "1GB"}}
        sizes = {"kind": "hierarchical", "nodes": 1, "npus_per_node": 4}
        topology = {**sizes, "scale_up": planes, "scale_out": scale_out, "routing": {"kind": routing}}
        network = roce_network(topology, congestion_control="dcqcn", queue_pairs="per-message")
        accounts, hops = of_flows(network, everyone(4, MB), tmp_path / routing, backend="flow")
        assert accounts.serialisation_ps.tolist() == pytest.approx([MB_PS] * 12, rel=0.02)
        where = hops.join(accounts[["source", "destination"]], on="message")
        waits[routing] = where.set_index(["source", "destination", "port"]).waited_ps.to_dict()
    assert waits["spray"] == waits["ecmp"]


def test_a_short_message_that_arrives_right_behind_a_long_one_has_not_waited_at_its_nic(tmp_path: Path) -> None:
    network = roce_network(SIDES, congestion_control="dcqcn")
    _, hops = of_flows(network, [Flow(0, 4, MB), Flow(0, 4, 1)], tmp_path, backend="flow")
    assert hops.empty


def test_sprayed_flows_wait_at_all_equal_lines_alike(tmp_path: Path) -> None:
    """Four hosts of a leaf send over two uplinks."""
    sizes = {"leaves": 2, "spines": 2, "hosts_per_leaf": 4, "switch": {"buffer": "1GB"}}
    topology = {"kind": "leaf-spine", **sizes, "link": LINK, "routing": {"kind": "spray"}}
    flows = [Flow(sender, 4 + receiver, MB) for sender in range(4) for receiver in range(4)]
    _, hops = of_flows(roce_network(topology, congestion_control="dcqcn"), flows, tmp_path, backend="flow")
    waited = hops.groupby("port", observed=True).waited_ps.sum()
    assert waited.to_dict() == pytest.approx({"switch0:4": waited.sum() / 2, "switch0:5": waited.sum() / 2}, rel=0.1)
