"""Windows of the flow backend: each way has its own, acknowledgements for several packets, and ways that change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from support.roce_network import LOSSLESS, Flow, play_flows, roce_network, roce_star

from astra_ns3.config.network.packet_network import NetworkConfig
from astra_ns3.topology.builders import build_graph
from astra_ns3.topology.changes import Change, LinkTarget, State

US, MB = 10**6, 1_000_000
BACKENDS = ("flow", "ns3")
CONTROLS = ("static-window", "hpcc", "hpcc-pint", "dctcp", "swift")
SWITCH = {"buffer": "64MB", "pfc": LOSSLESS}


def _link(rate: str, delay: str = "500ns") -> Mapping[str, str]:
    return {"rate": rate, "delay": delay}


SERVERS: Mapping[str, object] = {
    "kind": "hierarchical",
    "nodes": 2,
    "npus_per_node": 4,
    "scale_up": {"kind": "switch", "link": _link("2400Gbps", "100ns"), "switch": SWITCH},
    "scale_out": {"kind": "single-switch", "link": _link("100Gbps"), "switch": SWITCH},
}
NARROW: Mapping[str, object] = {
    "kind": "dumbbell",
    "left": 2,
    "right": 2,
    "link": _link("400Gbps"),
    "bottleneck": _link("50Gbps"),
    "switch": SWITCH,
}


def _ends(network: NetworkConfig, bytes: int, folder: Path, changes: Sequence[Change] = ()) -> Mapping[str, int]:
    """Return when a message of NPU 0 to NPU 1 has arrived, by backend."""
    found = {}
    for backend in BACKENDS:
        (own := folder / backend).mkdir()
        played = play_flows(network, [Flow(0, 1, bytes, start_ps=2 * US)], own, backend=backend, changes=changes)
        found[backend] = int(played.table("flows").end_ps.max()) - 2 * US
    return found


@pytest.mark.parametrize("control", CONTROLS)
@pytest.mark.parametrize(("topology", "gbps"), [(SERVERS, 2400), (NARROW, 400)])
def test_each_way_has_a_window_of_its_own(
    topology: Mapping[str, object], gbps: int, control: str, tmp_path: Path
) -> None:
    """The ways between servers, or over the narrow line, have another bandwidth-delay product."""
    network = roce_network(topology, congestion_control=control, payload=4096)
    ends = _ends(network, 8 * MB, tmp_path)
    assert ends["flow"] == pytest.approx(ends["ns3"], rel=0.03)
    assert ends["flow"] == pytest.approx(8 * MB * 8 * 1000 / gbps, rel=0.12)


@pytest.mark.parametrize("control", CONTROLS)
@pytest.mark.parametrize("every", [1, 4, 8])
def test_a_window_waits_for_acknowledgements_of_several_packets(control: str, every: int, tmp_path: Path) -> None:
    """Swift takes what they wait for a queue, and flows don't."""
    network = roce_star(2, congestion_control=control, payload=4096, ack_every=every, switch=SWITCH)
    ends = _ends(network, 4 * MB, tmp_path)
    assert ends["flow"] == pytest.approx(ends["ns3"], rel=0.13 if control == "swift" else 0.03)


@pytest.mark.parametrize("window", [26_000, 60_000])
def test_a_given_window_waits_for_them_too(window: int, tmp_path: Path) -> None:
    """By hand: n packets leave at 4178 bytes each, and the last of them is acknowledged a round trip later."""
    network = roce_star(2, congestion_control="none", window=window, payload=4096, ack_every=8, switch=SWITCH)
    ends = _ends(network, 4 * MB, tmp_path)
    packets, packet_ps = -(-window // 4096), 4178 * 80
    trip_ps = 2 * packet_ps + 2 * 86 * 80 + 4 * 500_000 + (min(packets, 8) - 1) * packet_ps
    by_hand_ps = 4 * MB / 4096 * max(packet_ps, trip_ps / packets)
    assert ends["flow"] == pytest.approx(by_hand_ps, rel=0.02)
    assert ends["flow"] == pytest.approx(ends["ns3"], rel=0.02)


@pytest.mark.parametrize("control", ["none", "static-window", "dctcp"])
@pytest.mark.parametrize(("at_us", "until_us"), [(1, 4), (10, 60), (5, None)])
def test_a_window_follows_delays_that_change(control: str, at_us: int, until_us: int | None, tmp_path: Path) -> None:
    """A line of 400 Gb/s and 100 ns has 5 us for a while; the message takes 84 us otherwise."""
    network = roce_star(2, rate="400Gbps", delay="100ns", congestion_control=control, payload=4096, switch=SWITCH)
    changes = [Change(at_us * US, LinkTarget(0), State(delay_ps=5 * US))]
    if until_us is not None:
        changes.append(Change(until_us * US, LinkTarget(0), State(delay_ps=100_000)))
    ends = _ends(network, 4 * MB, tmp_path, changes)
    assert ends["flow"] == pytest.approx(ends["ns3"], rel=0.1)


@pytest.mark.parametrize("times_us", [(100,), tuple(range(1, 301))])
@pytest.mark.parametrize("control", ["static-window", "dctcp", "swift"])
def test_a_window_goes_on_where_it_is_when_its_way_changes_a_little(
    control: str, times_us: tuple[int, ...], tmp_path: Path
) -> None:
    """A delay of 5.1 us for 5 costs a message no more than 2% of the round trips that it has."""
    network = roce_star(4, delay="5us", congestion_control=control, window="80KB", payload=4096, switch=SWITCH)
    delays = (State(delay_ps=(5_100_000, 5_000_000)[number % 2]) for number in range(len(times_us)))
    changes = [Change(at * US, LinkTarget(0), each) for at, each in zip(times_us, delays, strict=True)]
    (before := tmp_path / "before").mkdir()
    (after := tmp_path / "after").mkdir()
    plain, changed = _ends(network, 2 * MB, before), _ends(network, 2 * MB, after, changes)
    assert changed["flow"] == pytest.approx(changed["ns3"], rel=0.025)
    assert plain["flow"] * 0.99 <= changed["flow"] <= plain["flow"] * 1.03


@pytest.mark.parametrize(("delay_us", "at_us"), [(5, 100), (10, 100), (10, 10), (10, 200)])
@pytest.mark.parametrize("control", ["static-window", "dctcp"])
def test_a_window_that_fills_the_line_has_not_grown_for_a_longer_way(
    control: str, delay_us: int, at_us: int, tmp_path: Path
) -> None:
    """A way of 1 us becomes longer; until then the line held the message back, and no window."""
    network = roce_star(4, delay="1us", congestion_control=control, window="80KB", payload=4096, switch=SWITCH)
    ends = _ends(network, 4 * MB, tmp_path, [Change(at_us * US, LinkTarget(0), State(delay_ps=delay_us * US))])
    assert ends["flow"] == pytest.approx(ends["ns3"], rel=0.03)


def test_messages_that_leave_a_window_unused_do_not_open_it(tmp_path: Path) -> None:
    """Sixty messages of a quarter of the window, then a large one."""
    network = roce_star(4, delay="10us", congestion_control="dctcp", window="80KB", payload=4096, switch=SWITCH)
    flows = [
        *(Flow(0, 1, 20_000, start_ps=30 * US * place) for place in range(60)),
        Flow(0, 1, 4 * MB, start_ps=1800 * US),
    ]
    ends = []
    for backend in BACKENDS:
        (own := tmp_path / backend).mkdir()
        ends.append(int(play_flows(network, flows, own, backend=backend).table("flows").end_ps.max()))
    assert ends[0] == pytest.approx(ends[1], rel=0.02)


@pytest.mark.parametrize("control", ["static-window", "dctcp", "swift"])
def test_what_changes_elsewhere_changes_no_window(control: str, tmp_path: Path) -> None:
    """The line of a host that sends nothing has another delay every other microsecond."""
    network = roce_star(4, delay="5us", congestion_control=control, window="80KB", payload=4096, switch=SWITCH)
    delays = (State(delay_ps=each * US) for each in (6, 5) * 100)
    changes = [Change(number * US, LinkTarget(3), each) for number, each in enumerate(delays, 1)]
    for name in ("plain", "changed"):
        (tmp_path / name).mkdir()
    plain, changed = _ends(network, MB, tmp_path / "plain"), _ends(network, MB, tmp_path / "changed", changes)
    assert changed["flow"] == pytest.approx(plain["flow"], rel=1e-6)
    assert changed["ns3"] == pytest.approx(plain["ns3"], rel=1e-6)


def _two_leaves(hosts: int, routing: str, **transport: Any) -> tuple[NetworkConfig, int]:
    """Return a network in which two uplinks of 100 Gb/s leave each leaf, and the number of the first of them."""
    topology = {
        "kind": "leaf-spine",
        "leaves": 2,
        "spines": 2,
        "hosts_per_leaf": hosts,
        "link": _link("100Gbps"),
        "uplink": {"rate": "100Gbps"},
        "switch": SWITCH,
        "routing": {"kind": routing},
    }
    network = roce_network(topology, congestion_control="none", payload=4096, **transport)
    links = enumerate(build_graph(network.topology).links)
    return network, next(number for number, link in links if link.kind != "link")


def test_adaptive_routing_sends_over_ports_in_proportion_to_their_rates(tmp_path: Path) -> None:
    """A quarter of 100 Gb/s on one of two uplinks leaves 125 Gb/s for what the NIC sends at 100."""
    reliability = {"kind": "selective-repeat", "reordering_packets": 64, "timeout": "20ms"}
    network, uplink = _two_leaves(1, "adaptive", reliability=reliability)
    ends = _ends(network, 8 * MB, tmp_path, [Change(0, LinkTarget(uplink), State(rate_bps=25 * 10**9))])
    assert ends["ns3"] == pytest.approx(8 * MB * 80 * 4178 / 4096, rel=0.02)
    assert ends["flow"] == pytest.approx(ends["ns3"], rel=0.02)


def test_flowlets_of_flows_choose_ports_by_how_many_go_there_over_their_rates(tmp_path: Path) -> None:
    """Of five flows, one takes the uplink of 25 Gb/s, and four that of 100; all have 25 Gb/s."""
    network, uplink = _two_leaves(5, "flowlet")
    flows = [Flow(host, host + 5, MB, start_ps=US) for host in range(5)]
    changes = [Change(0, LinkTarget(uplink), State(rate_bps=25 * 10**9))]
    ends = play_flows(network, flows, tmp_path, backend="flow", changes=changes).table("flows").end_ps
    assert ((ends - US) / (MB * 8 * 40 * 4178 / 4096)).tolist() == pytest.approx([1] * 5, rel=0.02)
