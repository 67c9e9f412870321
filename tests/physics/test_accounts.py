"""Accounts of messages: they add up whatever the network is, captures agree with them, and they change nothing."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from oracles.captures import completions, first_ns, roce_packets, tcp_packets
from oracles.roce_times import Star
from oracles.tcp_times import HEADERS
from oracles.tcp_times import Star as TcpStar
from support.accounts import NAMES, problems_of, read_accounts
from support.roce_network import CONTROLS, LOSSLESS, RELIABILITIES, Flow, play_flows, roce_network, roce_star
from support.star_network import Played, star

from astra_ns3.config.network.packet_network import NetworkConfig, parse_network
from astra_ns3.errors import InputError
from astra_ns3.network.api import EndpointModel
from astra_ns3.network.backend_makers import create_backend
from astra_ns3.network.plan import plan_network
from astra_ns3.network.records import RecorderOptions

DELAY_PS = 500_000
LINE = Star(100 * 10**9, DELAY_PS)
SENDERS = (1, 2, 3)
SIZES = (40_000, 1_001, 25_500)
"""Of the three messages that each host sends to host 0, one behind the other."""
ROCE_HEADERS = 62
TIME_STEP_PS = 1
"""ns-3's sockets send what they are given one time step later."""
PCAP = {"pcap": ["host1", "host2", "host3", "switch0:0"]}
FLOWS = [Flow(sender, 0, size) for size in SIZES for sender in SENDERS]
ROUTINGS: tuple[dict[str, Any], ...] = (
    {"kind": "ecmp"},
    {"kind": "spray"},
    {"kind": "adaptive"},
    {"kind": "flowlet", "flowlet_gap": "1us"},
)


def audited(played: Played) -> pd.DataFrame:
    """The accounts, which add up, of all messages, in the order and with the times of the flows."""
    assert played.directory is not None
    accounts, hops = read_accounts(played.directory)
    assert problems_of(accounts, hops) == []
    flows = played.table("flows")
    pd.testing.assert_frame_equal(accounts[list(flows.columns[:-1])], flows.iloc[:, :-1])
    return accounts


def drawn_flows(seed: int, npus: int) -> list[Flow]:
    draw = random.Random(seed)
    flows = []
    for _ in range(40):
        sender, receiver = draw.sample(range(npus), 2)
        size = draw.choice([1, 500, 1_000, 10_001, 60_000])
        flows.append(Flow(sender, receiver, size, draw.randint(1, 3), draw.randrange(20_000_000)))
    return flows


def two_tiers(routing: dict[str, Any], *, lossy: bool) -> dict[str, Any]:
    return {
        "kind": "leaf-spine",
        "leaves": 2,
        "spines": 3,
        "hosts_per_leaf": 4,
        "link": {"rate": "100Gbps", "delay": "500ns", "error_rate": 0.01 if lossy else 0.0},
        "switch": {"buffer": "1MB", **({} if lossy else {"pfc": LOSSLESS})},
        "routing": routing,
    }


REPAIRS = [
    pytest.param(reliability, routing, id=f"{reliability}-{routing['kind']}")
    for reliability in RELIABILITIES
    for routing in ROUTINGS
    if reliability != "go-back-0" or routing["kind"] == "ecmp"
]
"""go-back-0 starts a message over at every packet that is overtaken, so that none would ever arrive."""


@pytest.mark.parametrize(("reliability", "routing"), REPAIRS)
@pytest.mark.parametrize("completion", ["arrival", "acknowledged"])
def test_parts_add_up_with_losses(reliability: str, routing: dict[str, Any], completion: str, tmp_path: Path) -> None:
    transport: dict[str, Any] = {"reliability": {"kind": reliability, "retries": 0}, "completion": completion}
    network = roce_network(two_tiers(routing, lossy=True), **transport)
    accounts = audited(play_flows(network, drawn_flows(1, 8), tmp_path, accounts=True))
    assert accounts.lost_ps.sum() > 0
    assert (accounts.acknowledgement_ps > 0).all() == (completion == "acknowledged")
    assert not accounts.transport_ps.any()


@pytest.mark.parametrize("control", CONTROLS)
def test_parts_add_up_with_pauses_under_every_control(control: str, tmp_path: Path) -> None:
    network = roce_network(two_tiers({"kind": "ecmp"}, lossy=False), congestion_control=control)
    flows = [*drawn_flows(2, 8), *(Flow(sender, 0, 300_000) for sender in range(1, 8))]
    accounts = audited(play_flows(network, flows, tmp_path, accounts=True))
    assert accounts.switch_queue_ps.sum() > 0
    assert not accounts.lost_ps.any()


def test_an_incast_under_pfc_is_held_by_pauses(tmp_path: Path) -> None:
    network = roce_network(two_tiers({"kind": "ecmp"}, lossy=False), congestion_control="none")
    flows = [Flow(sender, 0, 1_000_000) for sender in range(1, 8)]
    accounts = audited(play_flows(network, flows, tmp_path, accounts=True))
    assert accounts.nic_paused_ps.sum() > 0
    assert accounts.switch_paused_ps.sum() > 0


@pytest.mark.parametrize("control", ["dcqcn", "timely"])
def test_a_nic_that_sends_nothing_else_is_never_busy_though_rates_rise(control: str, tmp_path: Path) -> None:
    """A rate that rises between two packets lets the second go at once: until then the old rate held it."""
    switch = {"buffer": "16MB", "pfc": {}, "ecn": {"kmin": "100KB", "kmax": "400KB", "pmax": 0.2}}
    network = roce_network({**two_tiers({"kind": "ecmp"}, lossy=False), "switch": switch}, congestion_control=control)
    flows = [Flow(sender, 0, 1_000_000) for sender in range(1, 8)]
    accounts = audited(play_flows(network, flows, tmp_path, accounts=True))
    assert accounts.pacing_ps.sum() > 0
    assert accounts.nic_queue_ps.sum() == 0


@pytest.mark.parametrize("completion", ["arrival", "acknowledged"])
def test_parts_of_tcp_add_up_with_losses(completion: str, tmp_path: Path) -> None:
    network = parse_network(
        {
            "topology": two_tiers({"kind": "spray"}, lossy=True),
            "transport": {"kind": "tcp", "completion": completion},
        }
    )
    accounts = audited(play_flows(network, drawn_flows(3, 8), tmp_path, accounts=True))
    assert accounts.lost_ps.sum() > 0
    assert accounts.transport_ps.sum() > 0
    assert (accounts.acknowledgement_ps > 0).all() == (completion == "acknowledged")


@pytest.mark.parametrize("transport", ["roce", "tcp"])
def test_accounts_change_nothing(transport: str, tmp_path: Path) -> None:
    network = parse_network(
        {
            "topology": two_tiers({"kind": "ecmp"}, lossy=True),
            "transport": {"kind": transport},
        }
    )
    outcomes = []
    for accounts in (False, True):
        folder = tmp_path / str(accounts)
        folder.mkdir()
        played = play_flows(network, drawn_flows(4, 8), folder, accounts=accounts)
        counted = {
            key: value for key, value in played.statistics.items() if isinstance(value, int) and "memory" not in key
        }
        outcomes.append((played.table("flows").to_dict("list"), played.ports, counted, played.listener.done))
    assert outcomes[0] == outcomes[1]


def test_one_host_sends_in_turn(tmp_path: Path) -> None:
    """Two messages inside a host at 100 Gb/s and 100 ns: the second waits for the first."""
    local = {"rate": "100Gbps", "delay": "100ns"}
    network = star(2, npus_per_host=2, local=local)
    accounts = audited(play_flows(network, [Flow(0, 1, 1_000, messages=2)], tmp_path, accounts=True))
    assert accounts.turn_ps.tolist() == [0, 80_000]
    assert accounts.serialisation_ps.tolist() == [80_000, 80_000]
    assert accounts.propagation_ps.tolist() == [100_000, 100_000]


def test_an_analytical_network_has_no_accounts(tmp_path: Path) -> None:
    plan = plan_network(star(2), EndpointModel())
    with pytest.raises(InputError, match="record 'accounts'"):
        create_backend("analytical", plan, seed=1, recorder=RecorderOptions(tmp_path, accounts=True))


def captured(network: NetworkConfig, folder: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Accounts and hops of nine messages to host 0 through a small buffer, which loses some packets."""
    accounts = audited(play_flows(network, FLOWS, folder, accounts=True))
    _, hops = read_accounts(folder)
    assert accounts.lost_ps.sum() > 0
    return accounts, hops


def ends_of(accounts: pd.DataFrame) -> list[int]:
    """Where the messages of a stream end, in the order in which they were sent."""
    return [int(end) for end in accounts.bytes.cumsum()]


def left_ns(hops: pd.DataFrame, message: int, hop: int) -> int:
    row = hops[(hops.message == message) & (hops.hop == hop)].iloc[0]
    return int(row.arrival_ps + row.queue_ps + row.paused_ps) // 1000


@pytest.mark.parametrize("reliability", ["go-back-n", "selective-repeat"])
def test_captures_of_roce_agree(reliability: str, tmp_path: Path) -> None:
    network = roce_star(
        4, observe=PCAP, switch={"buffer": "25KB"}, congestion_control="none", reliability={"kind": reliability}
    )
    accounts, hops = captured(network, tmp_path)
    arriving = roce_packets(tmp_path / "switch0-0.pcap", ROCE_HEADERS)
    for sender in SENDERS:
        own = accounts[accounts.source == sender]
        sent = roce_packets(tmp_path / f"host{sender}.pcap", ROCE_HEADERS)
        came = [packet for packet in arriving if packet.source == sender]
        found = completions(came, ends_of(own), keeps_early=reliability == "selective-repeat")
        for number, end, done in zip(own.index, ends_of(own), found, strict=True):
            account, begin = own.loc[number], end - int(own.bytes[number])
            packet_ps = LINE.data_ps(done.packet.end - done.packet.begin)
            assert left_ns(hops, number, 1) == done.packet.time_ns
            assert (account.end_ps - packet_ps - DELAY_PS) // 1000 == done.packet.time_ns
            tries = [packet.time_ns for packet in sent if packet.begin == done.packet.begin]
            assert left_ns(hops, number, 0) in tries
            # All between the first try and the one that arrived is loss, and there may have been more before.
            on_way_ps = left_ns(hops, number, 0) - first_ns(sent, done.packet.begin)
            assert account.lost_ps >= (on_way_ps - 1) * 1000
            # Of its own packets each before the deciding one counts, once; that one counts on both lines.
            own_packets = {packet.begin: packet.end for packet in sent if begin <= packet.begin < done.packet.begin}
            before_ps = sum(LINE.data_ps(last - first) for first, last in own_packets.items())
            assert account.serialisation_ps == before_ps + 2 * packet_ps


def test_captures_of_tcp_agree(tmp_path: Path) -> None:
    network = star(4, observe=PCAP, buffer="25KB")
    accounts, hops = captured(network, tmp_path)
    arriving = tcp_packets(tmp_path / "switch0-0.pcap")
    for sender in SENDERS:
        own = accounts[accounts.source == sender]
        sent = tcp_packets(tmp_path / f"host{sender}.pcap")
        came = [packet for packet in arriving if packet.source == sender]
        found = completions(came, ends_of(own), keeps_early=True)
        again = [packet for place, packet in enumerate(sent) if any(packet.end <= each.end for each in sent[:place])]
        for number, done in zip(own.index, found, strict=True):
            account = own.loc[number]
            assert left_ns(hops, number, 1) == done.packet.time_ns
            last = hops[(hops.message == number) & (hops.hop == 1)].iloc[0]
            line_ps = int(last.serialisation_ps)
            assert (account.end_ps - line_ps - DELAY_PS) // 1000 == done.packet.time_ns
            tries = [packet.time_ns for packet in sent if packet.begin <= done.missing < packet.end]
            assert left_ns(hops, number, 0) in tries
            if left_ns(hops, number, 0) == min(tries):
                # All messages were handed over at 0, so what was sent again before has held this one, too.
                assert (account.lost_ps > 0) == any(packet.time_ns < min(tries) for packet in again)
            else:
                # Handed to the NIC for the first time before its line took it, and the same once more.
                assert account.lost_ps > 0


def test_a_new_and_an_open_connection_of_tcp(tmp_path: Path) -> None:
    """The handshake is the transport's, its last acknowledgement stands before the first segment in the NIC's queue.

    Later three messages are handed over at once; the first takes several round trips, and the others wait for that.
    """
    line, size, later_ps = TcpStar(100 * 10**9, DELAY_PS), 1_000, 100_000_000_000
    flows = [Flow(0, 1, size), *(Flow(0, 1, each, start_ps=later_ps) for each in (400_000, size, size))]
    accounts = audited(play_flows(star(2), flows, tmp_path, accounts=True))
    _, hops = read_accounts(tmp_path)
    segment_ps = line.line_ps(HEADERS + size)
    first = accounts.iloc[0]
    assert first[first[NAMES].ne(0).loc[lambda part: part].index].to_dict() == {
        "transport_ps": line.handshake_ps() + TIME_STEP_PS,
        "nic_queue_ps": line.line_ps(HEADERS) - TIME_STEP_PS,
        "serialisation_ps": 2 * segment_ps,
        "propagation_ps": 2 * DELAY_PS,
    }
    handed_ps = hops[hops.hop == 0].arrival_ps.tolist()
    assert handed_ps[1] > later_ps + line.round_trip_ps(size)
    assert accounts.turn_ps.tolist()[1:] == [0, handed_ps[1] - later_ps, handed_ps[2] - later_ps]
    assert accounts.transport_ps.tolist()[1:] == [
        handed - later_ps - turn for handed, turn in zip(handed_ps[1:], accounts.turn_ps[1:], strict=True)
    ]


def test_what_is_left_to_tcp_is_named_and_the_rest_is_zero(tmp_path: Path) -> None:
    accounts = audited(play_flows(star(3), [Flow(1, 0, 50_000), Flow(2, 0, 50_000)], tmp_path, accounts=True))
    zero = {"window_ps", "pacing_ps", "nic_paused_ps", "lost_ps", "switch_paused_ps", "acknowledgement_ps"}
    assert not accounts[sorted(zero)].any(axis=None)
    assert set(NAMES) - zero == {
        "turn_ps",
        "nic_queue_ps",
        "transport_ps",
        "switch_queue_ps",
        "serialisation_ps",
        "propagation_ps",
    }
