"""Links by credit in whole runs: their rate over a long line, no loss, lanes against deadlock, links that come back."""

from __future__ import annotations

from contextlib import nullcontext
from itertools import permutations
from pathlib import Path
from random import Random
from typing import Any

import pandas as pd
import pytest
from oracles.credit_times import Line, arrivals
from support.any_load import busy_machine
from support.roce_network import Flow, play_flows, roce_network

from astra_ns3.config.network.packet_network import parse_network
from astra_ns3.errors import BackendError, InputError
from astra_ns3.network.plan import plan_network
from astra_ns3.topology.changes import Change, LinkTarget, State
from astra_ns3.transport.credits import check_credits

PAYLOAD = 1000
FRAME = PAYLOAD + 62
WIRE = FRAME + 20
PACKETS = 400
US = 1_000_000
LINK = {"rate": "100Gbps", "delay": "500ns"}


def dumbbell(delay: str, given: dict[str, Any]) -> dict[str, Any]:
    return {
        "kind": "dumbbell",
        "left": 1,
        "right": 1,
        "link": LINK,
        "bottleneck": {"rate": "40Gbps", "delay": delay},
        "switch": {"buffer": "64MB", "credits": given},
    }


@pytest.mark.parametrize("frames", [1, 3, 16, 61, 200])
@pytest.mark.parametrize(("delay", "delay_ps"), [("0ns", 0), ("5us", 5 * US), ("50us", 50 * US)])
@pytest.mark.parametrize(("update", "update_ps"), [("0ns", 0), ("130ns", 130_000)])
def test_a_flow_over_a_long_line_has_the_rate_of_the_line_or_credits_over_the_loop(
    frames: int, delay: str, delay_ps: int, update: str, update_ps: int, tmp_path: Path
) -> None:
    given = {"bytes": frames * FRAME + FRAME // 2, "update": update}
    network = roce_network(
        dumbbell(delay, given), payload=PAYLOAD, congestion_control="none", reliability={"timeout": "100ms"}
    )
    played = play_flows(network, [Flow(0, 1, PACKETS * PAYLOAD)], tmp_path)
    lines = [Line(100, 500_000), Line(40, delay_ps), Line(100, 500_000)]
    expected = arrivals(lines, [WIRE] * PACKETS, frames, update_ps)
    assert played.table("flows")["end_ps"].tolist() == [expected[-1]]
    # Far from both ends of the message the slowest line sends a lane's worth of frames in each loop.
    loop_ps = max(
        max(frames * near.line_ps(WIRE), near.line_ps(WIRE) + 2 * near.delay_ps + update_ps + far.line_ps(WIRE))
        for near, far in ((lines[0], lines[1]), (lines[1], lines[2]))
    )
    last = PACKETS - 1
    behind = last - frames * (last // frames - 1)
    if frames < 100:
        assert expected[last] - expected[behind] == pytest.approx((last - behind) // frames * loop_ps, rel=0.05)
    assert played.statistics["dropped_frames"] == played.statistics["retransmissions"] == 0


def test_credit_for_a_last_frame_is_used_although_more_is_on_its_way(tmp_path: Path) -> None:
    """The credit of a first frame is back when three more come: these leave one behind the other."""
    given = {"bytes": 3 * FRAME, "update": "0ns"}
    network = roce_network(dumbbell("5us", given), payload=PAYLOAD, congestion_control="none")
    flows = [Flow(0, 1, PAYLOAD), Flow(0, 1, 3 * PAYLOAD, start_ps=50 * US)]
    played = play_flows(network, flows, tmp_path)
    lines = [Line(100, 500_000), Line(40, 5 * US), Line(100, 500_000)]
    expected = [arrivals(lines, [WIRE], 3, 0)[-1], 50 * US + arrivals(lines, [WIRE] * 3, 3, 0)[-1]]
    assert played.table("flows")["end_ps"].tolist() == expected


RING = {"kind": "ring", "npus": 6, "link": LINK}


def ring(**more: Any) -> dict[str, Any]:
    given = {"bytes": "8KB", "watchdog": "100us", **more}
    return {**RING, "switch": {"buffer": "64MB", "credits": given}}


def played_ring(topology: dict[str, Any], folder: Path) -> Any:
    network = roce_network(topology, payload=PAYLOAD, congestion_control="none", reliability={"timeout": "20ms"})
    return play_flows(network, [Flow(npu, (npu + 2) % 6, 600_000) for npu in range(6)], folder)


def test_a_circle_of_lanes_without_credit_is_reported_with_its_ports_and_lanes(tmp_path: Path) -> None:
    with pytest.raises(BackendError, match=r"credit deadlock: .* lane 3 waits for ") as caught:
        played_ring(ring(), tmp_path)
    assert all(f"switch{router}:" in str(caught.value) for router in range(6))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("lanes", [{"lanes": 3}, {"lanes": 2}, {"lanes": 2, "change": "date-line"}])
def test_with_lanes_the_same_ring_does_not_deadlock(lanes: dict[str, Any], tmp_path: Path) -> None:
    played = played_ring(ring(**lanes), tmp_path)
    assert len(played.table("flows")) == 6
    assert played.statistics["dropped_frames"] == played.statistics["retransmissions"] == 0
    assert played.statistics["pauses"] > 0  # lanes were without credit


def plainly_and_looked_at(observe: dict[str, Any], table: str, folder: Path) -> list[pd.DataFrame]:
    """A table of a run that nobody looks at, and of the same one with heartbeats all the time.

    A port tells of what has happened when something looks at it, and a heartbeat does.
    """
    topology = {"kind": "fat-tree", "k": 4, "link": LINK, "switch": {"buffer": "64MB", "credits": {"bytes": 5000}}}
    network = roce_network(topology, payload=PAYLOAD, congestion_control="none", observe=observe)
    flows = [Flow(npu, (npu + 3) % 16, 20_000 + 3_000 * npu, start_ps=70_000 * (npu // 4)) for npu in range(16)]
    folders = [folder / "plain", folder / "looked at"]
    for each in folders:
        each.mkdir()
    rows = [play_flows(network, flows, folders[0]).table(table)]
    with busy_machine(1, beats=0.5):
        rows.append(play_flows(network, flows, folders[1]).table(table))
    return rows


@pytest.mark.parametrize(
    ("observe", "table"),
    [
        ({"pauses": True}, "pauses"),
        ({"queues": ["all"]}, "queues"),
        ({"queues": ["all"], "queue_interval": "500ns"}, "queues"),
    ],
    ids=str,
)
def test_rows_of_ports_are_in_order_of_time_and_port_whenever_somebody_looks(
    observe: dict[str, Any], table: str, tmp_path: Path
) -> None:
    plain, looked_at = plainly_and_looked_at(observe, table, tmp_path)
    assert len(plain) > 50
    assert plain.equals(looked_at)
    assert plain["time_ps"].is_monotonic_increasing
    assert plain["time_ps"].duplicated().any()


@pytest.mark.parametrize("routing", ["ecmp", "spray", "adaptive"])
def test_an_all_to_all_on_a_torus_loses_nothing(routing: str, tmp_path: Path) -> None:
    switch = {"buffer": "64MB", "credits": {"bytes": "6KB", "lanes": 4}}
    topology = {"kind": "torus", "shape": [4, 4], "link": LINK, "switch": switch, "routing": {"kind": routing}}
    reliability = {"kind": "selective-repeat", "timeout": "20ms", "reordering_packets": 10_000}
    network = roce_network(topology, payload=PAYLOAD, congestion_control="none", reliability=reliability)
    flows = [Flow(npu, (npu + by) % 16, 30_000) for npu in range(16) for by in range(1, 16)]
    played = play_flows(network, flows, tmp_path)
    assert len(played.table("flows")) == len(flows)
    assert played.statistics["dropped_frames"] == played.statistics["timeouts"] == 0


VALIANT = [
    {"kind": "ring", "npus": 6},
    {"kind": "torus", "shape": [3, 3]},
    {"kind": "dragonfly", "a": 2, "p": 2, "h": 1},
]


def valiant(topology: dict[str, Any], **given: Any) -> dict[str, Any]:
    switch = {"buffer": "64MB", "credits": {"bytes": "6KB", "lanes": 6, **given}}
    return {**topology, "link": LINK, "switch": switch, "routing": {"kind": "valiant"}}


@pytest.mark.parametrize("control", ["dcqcn", "dctcp"])
def test_controls_whose_acknowledgements_carry_cnps_leave_lanes_free(control: str) -> None:
    """CNPs start in lane 6, of 0 to 7; data and ACKs start low enough for four."""
    switch = {
        "buffer": "64MB",
        "credits": {"bytes": "6KB", "lanes": 4},
        "ecn": {"kmin": "50KB", "kmax": "50KB", "pmax": 1.0},
    }
    topology = {"kind": "single-switch", "npus": 2, "link": {"rate": "100Gbps", "delay": "1us"}, "switch": switch}
    for cnp, lanes in (("on-ack", True), ("packet", False)):
        transport = {"kind": "roce", "congestion_control": control, "cnp": cnp}
        network = plan_network(parse_network({"topology": topology, "transport": transport})).of_packets
        assert network is not None
        with nullcontext() if lanes else pytest.raises(InputError, match="4 lanes from priority 6"):
            list(check_credits(network.transports.values(), network.outline))


def of_lanes(topology: dict[str, Any]) -> Any:
    """A network whose frames begin in the first of all lanes."""
    return roce_network(
        topology,
        payload=PAYLOAD,
        congestion_control="none",
        reliability={"timeout": "20ms"},
        priority=0,
        ack_priority=0,
    )


@pytest.mark.parametrize("backend", ["ns3", "flow"])
def test_valiant_routes_load_links_twice_as_much_as_shortest_ones(backend: str, tmp_path: Path) -> None:
    """Each of a torus' routers is drawn alike: two legs of the mean way from a router to any, itself counted."""
    hosts, size = 16, 8 * PAYLOAD
    flows = [Flow(one, other, size) for one in range(hosts) for other in range(hosts) if one != other]
    shortest = {"kind": "torus", "shape": [4, 4], "link": LINK, "switch": {"buffer": "64MB", "credits": {}}}
    topology = valiant({"kind": "torus", "shape": [4, 4]}, lanes=8)
    sums = []
    for number, each in enumerate((shortest, topology)):
        (folder := tmp_path / str(number)).mkdir()
        network = of_lanes(each)
        ports = play_flows(network, flows, folder, backend=backend).ports
        sent = {name: int(row["sent_bytes"]) for name, row in ports.items()}
        of_hosts = sum(sent[name] for name in sent if name.startswith("host"))
        sums.append(sum(sent.values()) - 2 * of_hosts)  # nothing is lost, so routers send hosts as much
    # A router is 2 links from another on average, so the way to any of 16 is 2 and to any of 15 others 32 / 15.
    assert sums[1] / sums[0] == pytest.approx(2 * 2 / (32 / 15), rel=0.06)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("topology", VALIANT, ids=lambda topology: topology["kind"])
def test_valiant_routes_with_lanes_enough_never_deadlock(topology: dict[str, Any], seed: int, tmp_path: Path) -> None:
    random = Random(seed)
    network = of_lanes(valiant(topology, bytes=random.choice(["1200", "3KB", "8KB"])))
    pairs = list(permutations(range(network.npus), 2))
    flows = [Flow(*random.choice(pairs), random.randrange(1, 60) * PAYLOAD) for _ in range(40)]
    played = play_flows(network, flows, tmp_path)
    assert len(played.table("flows")) == len(flows)
    assert played.statistics["dropped_frames"] == played.statistics["retransmissions"] == 0


def test_a_link_that_comes_back_sends_as_fast_as_before(tmp_path: Path) -> None:
    """The message after the outage takes what it takes on a network where nothing happened."""
    network = roce_network(
        dumbbell("5us", {"bytes": 16 * FRAME}),
        payload=PAYLOAD,
        congestion_control="none",
        reliability={"kind": "go-back-n", "timeout": "400us"},
    )
    flows = [Flow(0, 1, 300 * PAYLOAD), Flow(0, 1, 300 * PAYLOAD, start_ps=4000 * US)]
    (tmp_path / "whole").mkdir()
    (tmp_path / "cut").mkdir()
    changes = [Change(50 * US, LinkTarget(2), State(up=False)), Change(90 * US, LinkTarget(2), State(up=True))]
    whole = play_flows(network, flows, tmp_path / "whole")
    cut = play_flows(network, flows, tmp_path / "cut", changes=changes)
    ends = [pd.Series(played.table("flows").sort_values("start_ps")["end_ps"].tolist()) for played in (whole, cut)]
    assert cut.statistics["cut_frames"] + cut.statistics["down_frames"] > 0
    assert ends[0][0] < ends[1][0]
    assert ends[0][1] == ends[1][1]


def test_flows_lose_nothing_where_packets_wait_for_credit(tmp_path: Path) -> None:
    network = roce_network(dumbbell("5us", {}), payload=PAYLOAD, congestion_control="none")
    played = play_flows(network, [Flow(0, 1, PACKETS * PAYLOAD)], tmp_path, backend="flow")
    line_ps = PACKETS * Line(40, 0).line_ps(WIRE)
    assert played.table("flows")["end_ps"].tolist() == pytest.approx([line_ps], rel=0.1)
