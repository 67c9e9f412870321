"""TCP numbers that follow from the configuration, and combinations that are warned of or refused."""

from __future__ import annotations

from typing import Any

import pytest
from support.transports import checked as checked_on

from astra_ns3.config.network.packet_network import NetworkConfig, TcpTransport, parse_network
from astra_ns3.errors import InputError
from astra_ns3.network.graph_outline import network_outline_of
from astra_ns3.topology.builders import build_graph
from astra_ns3.transport.network_outline import NetworkOutline
from astra_ns3.transport.tcp import TcpParameters, base_round_trip_ps, longest_drain_ps, tcp_parameters


def network(
    transport: dict[str, Any] | None = None,
    switch: dict[str, Any] | None = None,
    **topology: Any,
) -> NetworkConfig:
    return parse_network(
        {
            "topology": {
                "npus": 16,
                "link": {"rate": "100Gbps", "delay": "500ns"},
                "switch": {"buffer": "1GB", **(switch or {})},
                **topology,
            },
            "transport": transport or {},
        }
    )


def shape(config: NetworkConfig) -> NetworkOutline:
    return network_outline_of(build_graph(config.topology))


def parameters(config: NetworkConfig) -> TcpParameters:
    assert isinstance(config.transport, TcpTransport)
    return tcp_parameters(config.transport)


def checked(config: NetworkConfig) -> list[str]:
    return checked_on(config, shape(config))


def drain_ps(config: NetworkConfig) -> int:
    return longest_drain_ps(parameters(config), shape(config))


def test_the_segment_is_what_the_mtu_leaves() -> None:
    assert parameters(network()).segment_bytes == 1460
    assert parameters(network({"timestamps": True})).segment_bytes == 1448
    assert parameters(network({"mtu": 9000})).segment_bytes == 8960
    assert parameters(network({"segment": 1000})).segment_bytes == 1000


def test_ecn_is_on_for_dctcp_unless_told_otherwise() -> None:
    assert not parameters(network()).ecn
    assert parameters(network({"ecn": True})).ecn
    assert parameters(network({"congestion_control": "dctcp"})).ecn
    with pytest.raises(InputError, match=r"transport\.ecn.*DCTCP cannot work without"):
        parameters(network({"congestion_control": "dctcp", "ecn": False}))


def test_the_type_id_is_that_of_ns3() -> None:
    assert parameters(network({"congestion_control": "westwoodplus"})).type_id == "ns3::TcpWestwoodPlus"


def test_the_defaults_give_no_warning() -> None:
    assert checked(network()) == []


@pytest.mark.parametrize(
    ("transport", "message"),
    [
        ({"segment": 1461}, r"transport\.segment': 1461 bytes and 40 .* the MTU, 1500; the largest segment is 1460"),
        ({"segment": 1460, "timestamps": True}, r"1460 bytes and 52 .*the largest segment is 1448"),
        ({"window": 1459}, r"transport\.window': 1459 bytes do not hold one segment of 1460"),
    ],
)
def test_segments_that_ip_would_cut_and_windows_without_a_segment_are_refused(
    transport: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        checked(network(transport))


def test_a_buffer_must_hold_a_frame() -> None:
    assert checked(network({"min_rto": "60ms"}, {"buffer": 1518})) == []
    with pytest.raises(InputError, match=r"topology\.switch\.buffer': 1517 bytes do not hold one frame of 1518"):
        checked(network({}, {"buffer": 1517}))
    with pytest.raises(InputError, match=r"topology\.nic\.buffer'"):
        checked(network({}, nic={"buffer": 1000}))


def test_the_longest_queue_is_every_other_window_or_the_buffer() -> None:
    # 343 segments of 1460 bytes hold 500,000; 1538 bytes take 123.04 ns at 100 Gb/s.
    assert drain_ps(network()) == 15 * 343 * 123_040
    # A buffer of 64 KB holds 42 frames of 1518 bytes; the NIC's must be limited too, or it queues as much.
    assert drain_ps(network({}, {"buffer": "64KB"}, nic={"buffer": "64KB"})) == 42 * 123_040
    # 4 NPUs a host: 12 others send to each of the 4.
    assert drain_ps(network(npus_per_host=4)) == 48 * 343 * 123_040


def test_a_nic_drains_at_the_rate_of_its_own_line() -> None:
    link, bottleneck = {"rate": "100Gbps", "delay": "500ns"}, {"rate": "40Gbps", "delay": "500ns"}
    topology = {"kind": "dumbbell", "left": 3, "right": 3, "link": link, "bottleneck": bottleneck}
    config = parse_network({"topology": {**topology, "switch": {"buffer": "20KB"}}, "transport": {"kind": "tcp"}})
    # The switch holds 13 frames; a NIC five windows of 343 segments.
    assert drain_ps(config) == 5 * 343 * 123_040


def test_the_round_trip_is_two_hops_each_way() -> None:
    # Data 123.04 ns twice, an ACK of 84 bytes 6.72 ns twice, four delays of 500 ns.
    assert base_round_trip_ps(parameters(network()), shape(network())) == 2 * 123_040 + 2 * 6_720 + 4 * 500_000


@pytest.mark.parametrize(
    ("transport", "switch", "message"),
    [
        ({"min_rto": "5us", "delayed_ack_count": 1}, {}, "min_rto 5 us is below clock_granularity 10 us"),
        ({"min_rto": "600us"}, {}, "min_rto 600 us is shorter than the 633 us that a full queue"),
        # A round trip behind a full queue is 633 and 2.3 us.
        ({"min_rto": "64ms"}, {}, "min_rto 64 ms is 100 times the 635.3 us of a round trip behind a full queue"),
        ({"delayed_ack_timeout": "10ms"}, {}, "delayed_ack_timeout 10 ms is not below min_rto 10 ms"),
        ({"window": "20KB"}, {}, "window 20 KB cannot fill the link"),
        ({"timestamps": True}, {}, "timestamps tick in milliseconds"),
        ({"congestion_control": "Dctcp"}, {}, "the switch marks nothing"),
        ({"ecn": True}, {}, "the switch marks nothing"),
        ({}, {"ecn": {"kmin": "1KB", "kmax": "2KB"}}, "transport has ECN off"),
        ({"ecn": True}, {"buffer": "3KB", "ecn": {"kmin": "3KB", "kmax": "4KB"}}, "dropped before any is marked"),
    ],
)
def test_each_trap_is_warned_of(transport: dict[str, Any], switch: dict[str, Any], message: str) -> None:
    assert any(message in warning for warning in checked(network(transport, switch)))


@pytest.mark.parametrize(
    ("window", "told"),
    [
        # Of 2.26 us; a byte of data takes 84 bytes of the line (6.72 ns), 80 bytes 158 (12.64 ns).
        (1461, "sent in 129.8 ns and acknowledged after 2.26 us, so one connection reaches at most 5.7% of the rate"),
        (2920, "sent in 246.1 ns and acknowledged after 2.26 us, so one connection reaches at most 11% of the rate"),
        (3000, "sent in 258.7 ns and acknowledged after 2.26 us, so one connection reaches at most 11% of the rate"),
        # One segment is acknowledged when the timer of 40 us has run out.
        (1460, "sent in 123 ns and acknowledged after 42.26 us, so one connection reaches at most 0.29% of the rate"),
    ],
)
def test_a_window_counts_with_its_bytes_and_no_whole_segments(window: int, told: str) -> None:
    (warning,) = checked(network({"window": window}))
    assert told in warning


@pytest.mark.parametrize(
    "transport",
    [
        {"min_rto": "634us"},
        {"min_rto": "63ms"},
        {"delayed_ack_count": 1},
        {"window": "30KB"},
    ],
)
def test_numbers_on_the_right_side_of_a_trap_are_not_warned_of(transport: dict[str, Any]) -> None:
    assert checked(network(transport)) == []


@pytest.mark.parametrize(
    ("rate", "delay", "mtu", "told"),
    [("400Gbps", "5us", 9000, True), ("100Gbps", "1us", 1500, True), ("100Gbps", "500ns", 1500, False)],
)
def test_vegas_is_warned_of_where_a_round_trip_holds_many_segments(rate: str, delay: str, mtu: int, told: bool) -> None:
    keys = {"mtu": mtu, "window": "4MB", "min_rto": "20ms"}
    for control in ("Vegas", "NewReno"):
        config = network({**keys, "congestion_control": control}, link={"rate": rate, "delay": delay})
        assert any("Vegas" in each for each in checked(config)) == (told and control == "Vegas")


@pytest.mark.parametrize(
    ("delay", "window", "told"),
    [
        # 4 * 20 us and two lines for each packet are 80.26 us; a window that grows by 1/20 a round trip needs
        # 20 * ln(687 / 20) round trips from 20 segments to 687.
        ("20us", "4MB", "holds 687 segments, but below 2 ms ns-3's Cubic leaves slow start at about 20, so a "
         "connection takes about 5.677 ms to fill its line"),
        ("20us", "292KB", "takes about 3.696 ms"),  # 200 segments
        ("20us", "50KB", None),
        ("500ns", "4MB", None),
        ("1ms", "4MB", None),
    ],
)  # fmt: skip
def test_cubic_is_warned_of_where_it_leaves_slow_start_long_before_the_line_is_full(
    delay: str, window: str, told: str | None
) -> None:
    keys = {"window": window, "min_rto": "20ms"}
    for control in ("Cubic", "NewReno"):
        config = network({**keys, "congestion_control": control}, link={"rate": "100Gbps", "delay": delay})
        (*found,) = [each for each in checked(config) if "Cubic" in each]
        assert len(found) == (told is not None and control == "Cubic")
        assert all(told is not None and told in each for each in found)


def test_a_timeout_of_delayed_acknowledgements_without_these_is_warned_of() -> None:
    told = "delayed_ack_timeout has no effect with a delayed_ack_count of 1: leave it out"
    for timeout in ("20us", "10ms"):
        assert checked(network({"delayed_ack_count": 1, "delayed_ack_timeout": timeout})) == [told]
    assert told not in checked(network({"delayed_ack_count": 2, "delayed_ack_timeout": "20us"}))
    assert told not in checked(network({"delayed_ack_count": 1}))


def test_pfc_for_a_priority_that_tcp_has_not_is_warned_of() -> None:
    (told,) = checked(network(switch={"buffer": "32MiB", "pfc": {}}))
    assert told.startswith("switch.pfc pauses priority 3, and data have 0: nothing is paused")
    assert checked(network(switch={"buffer": "32MiB", "pfc": {"priorities": [0]}})) == []


@pytest.mark.parametrize(("keys", "told"), [({"mtu": 9000}, True), ({"mtu": 1500}, False), ({"mtu": 1040}, False)])
def test_an_mtu_that_a_given_segment_leaves_unused_is_warned_of(keys: dict[str, Any], told: bool) -> None:
    warnings = checked(network({**keys, "segment": 1000}))
    words = (
        "segment 1000 makes packets of 1040 bytes, and mtu 9000 makes them no larger: leave segment out, and it fills "
        "the mtu"
    )
    assert warnings == ([words] if told else [])
