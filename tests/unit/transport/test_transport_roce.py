"""RoCE numbers that follow from the configuration, and combinations that are warned of or refused."""

from __future__ import annotations

from math import ceil
from typing import Any

import numpy as np
import pytest
from support.studies import INPUTS
from support.transports import checked

from astra_ns3.config.network.packet_network import NetworkConfig, RoceTransport, parse_network
from astra_ns3.config.topology.switch import PfcConfig, SwitchConfig
from astra_ns3.errors import InputError
from astra_ns3.frozen import replace
from astra_ns3.network.graph_outline import network_outline_of
from astra_ns3.topology.builders import build_graph
from astra_ns3.topology.graph import Graph, Link
from astra_ns3.transport.lossless import headroom_bytes, largest_wire_bytes, lossless_bytes, port_headroom_bytes
from astra_ns3.transport.marking import queue_before_pause, with_marking
from astra_ns3.transport.network_outline import NetworkOutline, PortOutline, SwitchOutline
from astra_ns3.transport.roce.check import longest_drain_ps
from astra_ns3.transport.roce.parameters import (
    RoceParameters,
    base_round_trip_ps,
    roce_lines,
    roce_parameters,
    window_bytes,
)
from astra_ns3.transport.transports import transports_on

GBPS = 10**9
NS = 1000
OWN = f"{INPUTS / 'congestion-control' / 'additive.py'}:AdditiveControl"
LOSSLESS: dict[str, Any] = {"buffer": "32MiB", "pfc": {}}
LINK = {"rate": "100Gbps", "delay": "500ns"}
HOSTS = 16


def config(transport: dict[str, Any] | None = None, switch: dict[str, Any] | None = None) -> NetworkConfig:
    return parse_network(
        {
            "topology": {"npus": HOSTS, "link": LINK, "switch": LOSSLESS if switch is None else switch},
            "transport": {"kind": "roce", "reliability": {"timeout": "4ms"}, **(transport or {})},
        }
    )


def star(network: NetworkConfig) -> NetworkOutline:
    """The shape of the network above, written down by hand."""
    port = PortOutline(100 * GBPS, 500 * NS)
    switch = SwitchOutline(network.topology.switch, (port,) * HOSTS)  # type: ignore[union-attr,arg-type]
    return NetworkOutline(HOSTS, 1, (switch,), (port,), (port, port))


def parameters(transport: dict[str, Any] | None = None) -> RoceParameters:
    network = config(transport)
    assert isinstance(network.transport, RoceTransport)
    return roce_parameters(network.transport, *roce_lines(network.transport, star(network)))


def warnings(transport: dict[str, Any] | None = None, switch: dict[str, Any] | None = None) -> list[str]:
    network = config(transport, switch)
    return checked(network, star(network))


def node_network(control: object) -> NetworkConfig:
    """Two nodes of four NPUs with lines of 900 Gb/s inside and NICs of 100 Gb/s."""
    scale_up = {"kind": "switch", "link": {**LINK, "rate": "900Gbps"}, "switch": LOSSLESS}
    nodes = {"kind": "hierarchical", "nodes": 2, "npus_per_node": 4, "scale_up": scale_up}
    topology = {**nodes, "scale_out": {"link": LINK, "switch": LOSSLESS}}
    return parse_network({"topology": topology, "transport": {"kind": "roce", "congestion_control": control}})


def on_nodes(control: object) -> RoceParameters:
    network = node_network(control)
    assert isinstance(network.transport, RoceTransport)
    outline = network_outline_of(build_graph(network.topology))
    return roce_parameters(network.transport, *roce_lines(network.transport, outline))


@pytest.mark.parametrize("control", ["dcqcn", "timely", "hpcc"])
def test_lines_inside_a_node_have_steps_in_proportion_to_their_own_rate(control: str) -> None:
    found = on_nodes(control)
    slow, fast = found.control_parameters, found.faster_lines[900 * GBPS]
    assert fast["rate_ai"] == pytest.approx(9 * slow["rate_ai"], rel=1e-6)
    assert fast["minimum_rate"] == 9 * slow["minimum_rate"]
    assert "g" not in fast


def test_numbers_that_are_given_hold_on_all_lines() -> None:
    given = {"kind": "dcqcn", "parameters": "paper", "rate_ai": "1Gbps"}
    assert on_nodes(given).faster_lines == {}
    assert "rate_ai" not in on_nodes({"kind": "dcqcn", "rate_ai": "1Gbps"}).faster_lines[900 * GBPS]
    assert on_nodes("none").faster_lines == on_nodes("mine.py:Mine").faster_lines == {}


@pytest.mark.parametrize(
    ("numbers", "told"),
    [({}, []), ({"rate_ai": "12Mbps", "rate_hai": "60Mbps"}, ["900 Gb/s"]), ({"parameters": "paper"}, ["100 Gb/s"])],
)
def test_the_slowest_line_that_steps_are_too_small_for_is_warned_of(
    numbers: dict[str, object], told: list[str]
) -> None:
    network = node_network({"kind": "dcqcn", **numbers})
    found = checked(network, network_outline_of(build_graph(network.topology)))
    assert [each.split("from half of ")[1].split(" back")[0] for each in found if "from half of" in each] == told


def test_the_defaults_on_a_lossless_switch_give_no_warning() -> None:
    assert warnings() == []


@pytest.mark.parametrize(
    ("control", "of_path", "telemetry", "on_ack"),
    [
        ("none", False, 0, 0),
        ("dcqcn", False, 0, 0),
        ("timely", False, 0, 0),
        ("static-window", True, 0, 0),
        ("dctcp", True, 0, 0),
        ("swift", True, 0, 0),
        ("hpcc", True, 42, 42),
        ("hpcc-pint", True, 2, 2),
        ("mine.py:Mine", False, 0, 0),
    ],
)
def test_window_and_telemetry_are_what_the_control_needs(
    control: str, of_path: bool, telemetry: int, on_ack: int
) -> None:
    found = parameters({"congestion_control": control})
    assert (found.window_of_path, found.window_bytes) == (of_path, 0)
    assert (found.telemetry_bytes, found.ack_telemetry_bytes) == (telemetry, on_ack)


def test_what_the_file_says_comes_before_what_the_control_needs() -> None:
    found = parameters(
        {
            "congestion_control": "hpcc",
            "window": "80KB",
            "telemetry_bytes": 8,
            "ack_telemetry_bytes": 0,
            "ack_priority": 5,
        }
    )
    assert (found.window_of_path, found.window_bytes) == (False, 80_000)
    assert (found.telemetry_bytes, found.ack_telemetry_bytes, found.ack_priority) == (8, 0, 5)
    assert parameters({"priority": 4}).ack_priority == 4
    assert not parameters({"congestion_control": "hpcc", "window": "none"}).window_of_path
    for given, scales in ((None, True), (True, True), (False, False)):
        assert parameters({"congestion_control": "hpcc", "window_scales_with_rate": given}).window_scales == scales


def test_the_control_is_told_the_least_rate_and_its_own_numbers() -> None:
    found = parameters({"minimum_rate": "2Gbps", "congestion_control": {"kind": "dctcp", "g": 0.5}})
    assert found.control_parameters["minimum_rate"] == 2e9
    assert found.control_parameters["g"] == 0.5
    own = parameters({"congestion_control": {"kind": "a/mine.py:Mine", "parameters": {"gain": 3}}})
    assert (own.own_file, own.own_class, own.control_parameters["gain"]) == ("a/mine.py", "Mine", 3.0)
    assert (found.own_file, found.congestion_control) == ("", "dctcp")


def test_pints_numbers_go_to_the_fabric() -> None:
    found = parameters({"congestion_control": {"kind": "hpcc-pint", "log_base": 1.01, "sampling": 0.5}})
    assert (found.utilisation_log_base, found.utilisation_probability) == (1.01, 0.5)


def test_headroom_is_two_delays_three_frames_and_a_pause() -> None:
    # 100 Gb/s x 1 us = 12,500 bytes there and back; 3 x 1082; 84 of the pause frame.
    assert headroom_bytes(100 * GBPS, 500 * NS, 1082) == 12_500 + 3 * 1082 + 84
    # 2 x 1 ps at 1 Gb/s is a 4000th of a byte: one.
    assert headroom_bytes(GBPS, 1, 0) == 1 + 84
    assert headroom_bytes(800 * GBPS, 0, 0) == 84


def test_headroom_may_be_given_or_be_a_multiple_of_rate_and_delay() -> None:
    port = PortOutline(400 * GBPS, 500 * NS)
    assert port_headroom_bytes(PfcConfig.model_validate({"headroom": "10KB"}), port, 1082) == 10_000
    # The known code: 400 Gb/s x 500 ns / 8 x 3.
    assert port_headroom_bytes(PfcConfig.model_validate({"headroom_factor": 3}), port, 1082) == 75_000
    assert port_headroom_bytes(PfcConfig(), port, 1082) == 50_000 + 3246 + 84
    # Half of 8 Gb/s x 3 ns, which is 3 bytes, is two whole bytes.
    short = PortOutline(8 * GBPS, 3 * NS)
    assert port_headroom_bytes(PfcConfig.model_validate({"headroom_factor": 0.5}), short, 1082) == 2


def test_the_round_trip_is_a_packet_there_and_an_ack_back() -> None:
    # 1000 + 62 + 20 bytes and 66 + 20 bytes at 100 Gb/s: 86.56 and 6.88 ns, on two links each; four delays of 500 ns.
    assert base_round_trip_ps(parameters(), star(config())) == 2 * 86_560 + 2 * 6_880 + 4 * 500_000
    # HPCC's telemetry: 42 bytes more on both.
    with_telemetry = 2 * 89_920 + 2 * 10_240 + 4 * 500_000
    assert base_round_trip_ps(parameters({"congestion_control": "hpcc"}), star(config())) == with_telemetry
    # As the known code reckons: payload alone, one way.
    assert base_round_trip_ps(parameters({"base_rtt": "payload"}), star(config())) == 2 * 80_000 + 4 * 500_000


def test_the_window_is_the_bandwidth_delay_product_of_the_longest_path() -> None:
    # 2,186.88 ns at 100 Gb/s, and as the known code has it for one switch at 400 Gb/s: 2,040 ns, 102,000 bytes.
    assert window_bytes(parameters({"window": "bdp"}), star(config())) == int(2186.88 * 100 / 8)
    port = PortOutline(400 * GBPS, 500 * NS)
    fast = NetworkOutline(HOSTS, 1, (), (port,), (port, port))
    assert window_bytes(parameters({"window": "bdp", "base_rtt": "payload"}), fast) == 102_000
    assert window_bytes(parameters({"window": "7KB"}), fast) == 7000
    assert window_bytes(parameters(), fast) == 0


def test_the_longest_queue_is_every_other_window_or_the_buffer() -> None:
    shape = star(config())
    assert longest_drain_ps(parameters({"window": "100KB"}), shape) == 15 * 100_000 * 80
    assert longest_drain_ps(parameters(), shape) == 32 * 2**20 * 80
    # 4 NPUs a host: 12 others send to each of the 4, and that is more than the buffer if they have 2 queue pairs each.
    shared = replace(shape, npus_per_host=4)
    assert longest_drain_ps(parameters({"window": "500KB"}), shared) == 12 * 4 * 500_000 * 80
    assert longest_drain_ps(parameters({"window": "500KB", "queue_pairs_per_pair": 2}), shared) == 32 * 2**20 * 80


def test_pfc_must_let_a_frame_into_an_empty_switch() -> None:
    """Where reserve, share and headroom are each too small for it, every packet would be lost for ever."""
    pfc = {"headroom": 0, "reserve": 0, "alpha": 0.01}
    shut = rf"a frame of 1062 bytes is never let in by .* alpha 0\.01 of {106_100} shared 1061, headroom 0"
    with pytest.raises(InputError, match=shut):
        warnings({}, {"buffer": 106_100, "pfc": pfc})
    for open_ in ({"headroom": 1062}, {"reserve": 1062}, {"alpha": 0.0101}):
        warnings({}, {"buffer": 106_100 + 16 * 1062, "pfc": {**pfc, **open_}})


def test_a_share_must_let_a_frame_into_an_empty_switch() -> None:
    """Without PFC nothing is kept: alpha of the whole buffer."""
    with pytest.raises(InputError, match=r"switch\.alpha': a frame of 1062 bytes is never let in: alpha 0\.5 of 2123"):
        warnings({}, {"buffer": 2123, "alpha": 0.5})
    warnings({}, {"buffer": 2124, "alpha": 0.5})


def test_a_buffer_must_hold_headroom_reserve_and_a_frame() -> None:
    needed = HOSTS * (headroom_bytes(100 * GBPS, 500 * NS, 1082) + 4096)
    exact: dict[str, Any] = {"buffer": needed + 1062, "pfc": {}}
    network = config({}, exact)
    assert (
        lossless_bytes(star(network).switches[0], largest_wire_bytes(transports_on(network, star(network)).values()))
        == needed
    )
    assert warnings({}, exact) == []
    with pytest.raises(InputError, match=rf"{needed + 1061} bytes are less than the {needed} that .* 16 ports take"):
        warnings({}, {"buffer": needed + 1061, "pfc": {}})
    twice = {"buffer": needed + 1062, "pfc": {"priorities": [3, 4]}}
    with pytest.raises(InputError, match=rf"less than the {2 * needed} that"):
        warnings({}, twice)
    with pytest.raises(InputError, match="1061 bytes do not hold one frame of 1062"):
        warnings({}, {"buffer": 1061})


def test_what_contradicts_itself_is_refused() -> None:
    with pytest.raises(InputError, match="static-window is that window"):
        warnings({"congestion_control": "static-window", "window": "none"})
    with pytest.raises(InputError, match=r"minimum_rate': 200 Gb/s is above the 100 Gb/s of a host's link"):
        warnings({"minimum_rate": "200Gbps"})
    with pytest.raises(InputError, match="no entry for ports of 100 Gb/s; it has 40 Gb/s"):
        warnings({}, {**LOSSLESS, "ecn": [{"rate": "40Gbps", "kmin": 1, "kmax": 2}]})


@pytest.mark.parametrize(
    ("transport", "switch", "message"),
    [
        (
            {},
            {"buffer": "32MiB"},
            "a switch has no pfc and no credits, so packets can be lost, and go-back-n sends all",
        ),
        ({"priority": 4}, LOSSLESS, "pfc of a switch holds for priority 3, data have 4"),
        ({"congestion_control": "dcqcn"}, {**LOSSLESS, "ecn": "off"}, "dcqcn waits for ECN marks, but no switch marks"),
        ({"congestion_control": "dctcp"}, {**LOSSLESS, "ecn": False}, "dctcp waits for ECN marks"),
        ({"congestion_control": OWN}, LOSSLESS, "gets neither marks nor CNPs: no switch marks; ecn: scaled lets them"),
        ({}, {"buffer": "32MiB", "ecn": {"kmin": "40MB", "kmax": "50MB"}}, "no packet is ever marked"),
        ({}, {"buffer": "9MB", "alpha": 0.125, "ecn": {"kmin": "1MB", "kmax": "2MB"}}, "below the 1 MB that a queue"),
        # A ninth of the 33,235,616 bytes that headroom and reserve leave, and the reserve: 3.697 MB.
        ({}, {**LOSSLESS, "ecn": {"kmin": "3.7MB", "kmax": "4MB"}}, "PFC acts before ECN, for a sender is paused when"),
        ({"congestion_control": {"kind": "timely", "t_low": "2us"}}, LOSSLESS, "t_low 2 us is below the 2.187 us"),
        (
            {"congestion_control": {"kind": "swift", "base_target": "2us", "per_hop": "100ns"}},
            LOSSLESS,
            "base_target and per_hop make 2.1 us is below the 2.187 us",
        ),
        # Until both counters have counted five, 5.333 ms; 19.12 steps of 40, then 200 Mb/s in each ms from then on.
        (
            {"congestion_control": {"kind": "dcqcn", "parameters": "paper"}},
            LOSSLESS,
            "dcqcn needs 17.34 ms to get from half of 100 Gb/s back",
        ),
        # 50 Gb/s in steps of 10 Mb/s, one a round trip of 2.187 us.
        (
            {"congestion_control": {"kind": "timely", "rate_ai": "10Mbps", "rate_hai": "10Mbps"}},
            LOSSLESS,
            "timely needs 10.93 ms",
        ),
        # The faster of the two rates counts.
        (
            {"congestion_control": {"kind": "timely", "rate_ai": "5Mbps", "rate_hai": "10Mbps"}},
            LOSSLESS,
            "timely needs 10.93 ms",
        ),
        # DCTCP with rates: the same steps.
        (
            {"congestion_control": {"kind": "dctcp", "window": False, "rate_ai": "10Mbps"}},
            LOSSLESS,
            "dctcp needs 10.93 ms to get from half of 100 Gb/s back",
        ),
        ({"congestion_control": "hpcc", "window": "none"}, LOSSLESS, "set window: bdp"),
        # 20 packets of 1082 bytes are sent in 1731.2 ns, acknowledged after 2186.88 ns: 79%.
        ({"window": "20KB"}, LOSSLESS, "cannot fill the link: it is sent in 1.731 us and acknowledged after 2.187 us"),
        # Two of 10 packets together the same.
        (
            {"window": "10KB", "queue_pairs_per_pair": 2},
            LOSSLESS,
            "sent in 865.6 ns and acknowledged after 2.187 us, so the 2 queue pairs of two NPUs reach 79% of the rate",
        ),
        ({"window": "20KB"}, LOSSLESS, "reaches 79% of the rate"),
        # The first packet waits for seven more of 86.56 ns: 20 x 86.56 of 2186.88 + 7 x 86.56 ns.
        (
            {"window": "20KB", "ack_every": 8},
            LOSSLESS,
            "after 2.793 us with ack_every 8, so one queue pair reaches 61%",
        ),
        # The path's own window: 26 packets of 86.56 ns; 25 others.
        ({"congestion_control": "static-window", "ack_every": 64}, LOSSLESS, "with ack_every 64, so one queue pair"),
        # 32 MiB at 100 Gb/s: 2.684 ms.
        ({"reliability": {"timeout": "2ms"}}, LOSSLESS, "timeout 2 ms is shorter than the 2.687 ms"),
    ],
)
def test_each_trap_is_warned_of(transport: dict[str, Any], switch: dict[str, Any], message: str) -> None:
    assert any(message in warning for warning in warnings(transport, switch))


def test_a_control_may_wait_for_marks_beside_an_nvswitch_that_never_marks() -> None:
    network = config({"congestion_control": "dcqcn"}, {**LOSSLESS, "ecn": {"kmin": "100KB", "kmax": "400KB"}})
    shape = star(network)
    (marks,) = shape.switches
    never = replace(marks, config=marks.config.model_copy(update={"ecn": None}))
    assert checked(network, replace(shape, switches=(marks, never))) == []
    assert "no switch marks" in checked(network, replace(shape, switches=(never,)))[0]


def test_a_timeout_is_above_the_round_trip_of_an_idle_network() -> None:
    # 1082 and 86 bytes over two lines at 80 ps a byte, and four delays: 2186.88 ns.
    with pytest.raises(InputError, match=r"timeout': 2\.187 us is not above the 2\.187 us in which a packet"):
        warnings({"reliability": {"timeout": "2186880ps"}})
    assert warnings({"reliability": {"timeout": "2186881ps"}, "window": "1000B"})


@pytest.mark.parametrize(
    ("transport", "switch"),
    [
        ({"reliability": {"kind": "selective-repeat", "timeout": "4ms"}}, {"buffer": "32MiB"}),
        ({"priority": 4}, {"buffer": "32MiB", "pfc": {"priorities": [4]}}),
        ({"congestion_control": "dcqcn"}, {**LOSSLESS, "ecn": {"kmin": "400KB", "kmax": "1600KB"}}),
        ({}, {**LOSSLESS, "ecn": {"kmin": "3.69MB", "kmax": "4MB"}}),
        ({"congestion_control": {"kind": "timely", "t_low": "2.2us"}}, LOSSLESS),
        ({"congestion_control": {"kind": "swift", "base_target": "2.1us", "per_hop": "100ns"}}, LOSSLESS),
        ({"congestion_control": {"kind": "timely", "rate_ai": "11Mbps", "rate_hai": "11Mbps"}}, LOSSLESS),
        ({"congestion_control": "hpcc"}, LOSSLESS),
        ({"window": "26KB"}, LOSSLESS),
        ({"reliability": {"timeout": "2ms"}, "window": "100KB"}, LOSSLESS),
    ],
)
def test_numbers_on_the_right_side_of_a_trap_are_not_warned_of(
    transport: dict[str, Any], switch: dict[str, Any]
) -> None:
    assert warnings(transport, switch) == []


def test_a_tolerance_that_no_window_can_show_is_warned_of_and_the_advice_fits_the_window() -> None:
    """A packet counts as lost when one sent so many behind it has arrived: 64 packets show 63 of tolerance."""

    def of(tolerance: int, window: str) -> list[str]:
        reliability = {"kind": "selective-repeat", "timeout": "4ms", "reordering_packets": tolerance}
        return warnings({"reliability": reliability, "window": window})

    assert of(63, "64KB") == of(63, "63001B") == of(10_000, "none") == []
    (warning,) = of(64, "64KB")
    assert "reordering_packets 64 is not below the 64 packets of a window" in warning
    assert warning.endswith("set reordering_packets: 32")
    assert len(of(63, "63KB")) == 1
    for window, advised in (("none", 64), ("1MB", 64), ("64KB", 32)):
        topology = {"npus": HOSTS, "link": LINK, "switch": LOSSLESS, "routing": {"kind": "spray"}}
        transport = {"kind": "roce", "reliability": {"timeout": "4ms"}, "window": window}
        network = parse_network({"topology": topology, "transport": transport})
        (warning,) = checked(network, star(network))
        assert warning.endswith(f"reliability {{kind: selective-repeat, reordering_packets: {advised}}}")


@pytest.mark.parametrize(
    ("routing", "control", "told"),
    [("spray", "hpcc", 1), ("adaptive", "hpcc", 1), ("flowlet", "hpcc", 0), ("ecmp", "hpcc", 0), ("spray", "none", 0)],
)
def test_hops_of_several_paths_that_hpcc_takes_for_those_of_one_are_warned_of(
    routing: str, control: str, told: int
) -> None:
    topology = {"npus": HOSTS, "link": LINK, "switch": LOSSLESS, "routing": {"kind": routing}}
    transport = {"kind": "roce", "congestion_control": control}
    network = parse_network({"topology": topology, "transport": transport})
    found = checked(network, star(network))
    assert sum("hpcc takes hops of several paths for those of one: use ecmp, flow" in each for each in found) == told


def test_a_warning_that_holds_for_all_switches_stands_once() -> None:
    network = config({}, {"buffer": "32MiB"})
    shape = star(network)
    other = SwitchOutline(shape.switches[0].config, shape.switches[0].ports[:4])
    found = checked(network, NetworkOutline(HOSTS, 1, (*shape.switches, other), shape.host_ports, shape.path))
    assert len(found) == 1


def test_the_frames_of_a_message_in_parts_are_those_of_each_part() -> None:
    split = {"payload": 1000, "queue_pairs_per_pair": 4, "queue_pair_use": "split"}
    network = config(split)
    roce = transports_on(network, star(network))["roce"]
    sizes = [1, 3, 4, 3999, 4000, 4001, 4002, 7999, 123_457]
    for place, size in enumerate(sizes):
        parts = [each for number in range(4) if (each := size // 4 + (number < size % 4))]
        data = [min(1000, part - begin) for part in parts for begin in range(0, part, 1000)]
        frames = [(int(count[place]), int(on_line[place])) for count, on_line in roce.frames(np.array(sizes))]
        found = sorted(bytes for count, bytes in frames for _ in range(count))
        assert found == sorted(max(each + 62, 64) + 20 for each in data)


@pytest.mark.parametrize(
    ("keys", "shared"),
    [
        ({}, True),
        ({"queue_pairs_per_pair": 4}, False),
        ({"queue_pairs_per_pair": 4, "queue_pair_use": "split"}, True),
        ({"queue_pairs": "per-message"}, False),
    ],
)
def test_flows_of_a_pair_share_what_all_of_them_go_over(keys: dict[str, Any], shared: bool) -> None:
    network = config(keys)
    assert (transports_on(network, star(network))["roce"].shared_by_flows() is not None) is shared


def test_a_step_of_marks_is_at_most_at_half_of_what_a_queue_can_hold() -> None:
    network = config({"congestion_control": "dctcp"}, {"buffer": "100KB"})
    shape = star(network)
    roce = transports_on(network, shape)["roce"]
    most = queue_before_pause(shape.switches[0], 100 * GBPS, roce.largest_wire_bytes, roce.priority)
    ecn = with_marking(shape.switches[0], roce, roce.largest_wire_bytes).ecn_of(100 * GBPS)
    assert ecn is not None
    assert ecn.kmin_bytes == ecn.kmax_bytes == most // 2 < 300_000


def test_an_answer_crosses_the_switches_that_cut_through_in_the_other_order() -> None:
    port = PortOutline(8 * GBPS, 0)  # a byte in a nanosecond
    line = NetworkOutline(2, 1, (), (port,), (port,) * 3, cut_through=(80, 0))
    # The first switch sends on after 100 bytes on the line, the other stores 1000: 100 + 1000 + 1000, and so back.
    assert line.idle_round_trip_ps(1000, 1000) == 2 * 2100 * NS
    fast = PortOutline(80 * GBPS, 0)
    lines = NetworkOutline(2, 1, (), (port,), (port, port, fast), cut_through=(80, 0))
    # Back the first switch stores after 100 ns, and the second sends on after 100 bytes.
    assert lines.idle_round_trip_ps(1000, 1000) == (1200 + 100 + 1100) * NS


def test_a_graph_in_outline() -> None:
    # Hosts 0-1 on switch 4, hosts 2-3 on switch 6, switch 5 between; NPUs 0 to 4, two of them on host 1.
    slow, fast = (10 * GBPS, 7 * NS), (40 * GBPS, 9 * NS)
    ends = ((0, 4, slow), (1, 4, slow), (2, 6, fast), (3, 6, fast), (4, 5, fast), (5, 6, slow))
    edge = SwitchConfig.model_validate({"buffer": "1MB"})
    core = SwitchConfig.model_validate({"buffer": "2MB"})
    graph = Graph(
        hosts=4,
        switches=3,
        links=tuple(Link(a, b, rate, delay) for a, b, (rate, delay) in ends),
        npu_host=(0, 1, 1, 2, 3),
        switch_configs=(edge, core, edge),
    )
    shape = network_outline_of(graph)
    assert (shape.npus, shape.npus_per_host, shape.slowest_bps) == (5, 2, 10 * GBPS)
    assert shape.path == (PortOutline(*slow), PortOutline(*fast), PortOutline(*slow), PortOutline(*fast))
    assert shape.host_ports == (PortOutline(*slow), PortOutline(*fast))
    assert [(switch.config.buffer_bytes, len(switch.ports)) for switch in shape.switches] == [
        (10**6, 3),
        (2 * 10**6, 2),
        (10**6, 3),
    ]
    assert shape.largest_buffer_bytes == 2 * 10**6


def test_a_forecast_counts_packets_of_the_payload() -> None:
    from astra_ns3.experiments.validate import validate
    from astra_ns3.system.file import parse_system
    from astra_ns3.workload.files.astra_sim import parse_workload

    keys: dict[str, object] = {"scheduling-policy": "LIFO", "preferred-dataset-splits": 2}
    keys |= {f"{name}-implementation": "ring" for name in ("all-reduce", "reduce-scatter", "all-gather", "all-to-all")}
    workload = parse_workload("MICRO\n1\nlayer -1 0 NONE 0 0 NONE 0 0 ALLREDUCE 1048576 0\n", "micro")
    several = {"payload": "4KiB", "queue_pairs_per_pair": 3}
    turns, split = (
        validate(workload, parse_system(keys), config({**several, "queue_pair_use": use})).forecast
        for use in ("turns", "split")
    )
    found = validate(workload, parse_system(keys), config({"payload": "4KiB"})).forecast
    # A ring: 2 chunks, 15 steps twice, from each of 16: messages of 1 MiB / 2 / 16 = 32 KiB, 8 packets each.
    assert found.messages == 2 * 2 * 15 * 16
    assert found.packets == found.messages * ceil(2**20 / 2 / 16 / 4096)
    assert (found.queue_pairs, found.connections) == (16, 0)
    # In turns the same packets. Thirds of 32 KiB, 10,923 and twice 10,922 bytes, have 3 packets each.
    assert (turns.queue_pairs, split.queue_pairs) == (3 * 16, 3 * 16)
    assert (turns.packets, split.packets) == (found.packets, found.messages * 9)
    assert turns.messages == split.messages == found.messages


_BY_RATE = {"kind": "dctcp", "window": False}
_IDLE: list[tuple[dict[str, Any], str]] = [
    ({"congestion_control": {"kind": "dctcp", "rate_ai": "1Gbps"}}, "congestion_control.rate_ai"),
    ({"congestion_control": {**_BY_RATE, "minimum_window": "4KB"}}, "congestion_control.minimum_window"),
    ({"congestion_control": {"kind": "swift", "fs_range": 0, "fs_min_cwnd": 0.2}}, "congestion_control.fs_min_cwnd"),
    ({"congestion_control": {"kind": "swift", "fs_range": 0, "fs_max_cwnd": 50}}, "congestion_control.fs_max_cwnd"),
    ({"congestion_control": "dcqcn", "window_scales_with_rate": True}, "window_scales_with_rate"),
    ({"congestion_control": "dctcp", "window_scales_with_rate": True}, "window_scales_with_rate"),
    ({"window": "bdp", "window_scales_with_rate": True}, "window_scales_with_rate"),
    ({"congestion_control": "dctcp", "minimum_rate": "1Gbps"}, "minimum_rate"),
    ({"minimum_rate": "1Gbps"}, "minimum_rate"),
    ({"base_rtt": "payload"}, "base_rtt"),
    ({"base_rtt_of": "longest"}, "base_rtt_of"),
    ({"congestion_control": "dcqcn", "base_rtt_of": "longest"}, "base_rtt_of"),
    ({"congestion_control": "timely", "base_rtt_of": "longest"}, "base_rtt_of"),
    ({"congestion_control": "dctcp", "rate_limited": False}, "rate_limited"),
    ({"rate_limited": False}, "rate_limited"),
    ({"cnp_interval": "5us"}, "cnp_interval"),
    ({"congestion_control": "swift", "cnp": "on-ack"}, "cnp"),
    (
        {"reliability": {"kind": "selective-repeat", "timeout": "4ms", "nack_interval": "1us"}},
        "reliability.nack_interval",
    ),
    ({"reliability": {"timeout": "4ms", "go_back_0_chunk": 8000}}, "reliability.go_back_0_chunk"),
    ({"queue_pair_use": "split"}, "queue_pair_use"),
    ({"congestion_control": "dcqcn", "cnp": "on-ack", "cnp_interval": "5us"}, "cnp_interval"),
    ({"congestion_control": "dcqcn", "cnp": "on-ack", "cnp_priority": 5}, "cnp_priority"),
    ({"congestion_control": "dcqcn", "cnp": "on-ack", "cnp_bytes": 100}, "cnp_bytes"),
]


@pytest.mark.parametrize(("keys", "told"), _IDLE, ids=[f"{told}-{at}" for at, (_, told) in enumerate(_IDLE)])
def test_a_key_that_nothing_reads_is_warned_of(keys: dict[str, Any], told: str) -> None:
    found = [each for each in warnings(keys) if "has no effect" in each]
    assert len(found) == 1
    assert found[0].startswith(f"transport.{told} has no effect ")


@pytest.mark.parametrize(
    "keys",
    [
        {"congestion_control": {**_BY_RATE, "rate_ai": "1Gbps"}, "minimum_rate": "1Gbps"},
        {"congestion_control": {"kind": "dctcp", "minimum_window": "4KB"}},
        {"congestion_control": "dcqcn", "window": "bdp", "window_scales_with_rate": True, "minimum_rate": "1Gbps"},
        {"congestion_control": "swift", "window_scales_with_rate": True, "minimum_rate": "1Gbps"},
        {"window": "bdp", "base_rtt": "payload", "base_rtt_of": "longest"},
        {"reliability": {"kind": "go-back-0", "timeout": "4ms", "nack_interval": "1us", "go_back_0_chunk": 8000}},
        {"congestion_control": "hpcc", "base_rtt_of": "longest", "rate_limited": False},
        {"congestion_control": {"kind": "timely", "minimum_rtt": 0}, "base_rtt_of": "longest"},
        {"congestion_control": "swift", "base_rtt_of": "longest", "rate_limited": False},
        {"queue_pairs_per_pair": 2, "queue_pair_use": "split"},
        {"congestion_control": "dcqcn", "cnp_interval": "5us", "cnp_priority": 5, "cnp_bytes": 100},
        {"queue_pair_use": "turns", "base_rtt": "packet-and-ack", "window_scales_with_rate": False},
    ],
)
def test_a_key_that_something_reads_or_that_has_its_default_is_not(keys: dict[str, Any]) -> None:
    assert not [each for each in warnings(keys) if "has no effect" in each]


def test_keys_of_cnps_have_an_effect_where_a_switch_marks() -> None:
    marking = {**LOSSLESS, "ecn": {"kmin": "50KB", "kmax": "100KB", "pmax": 0.2}}
    assert not [each for each in warnings({"cnp_interval": "5us"}, marking) if "has no effect" in each]
