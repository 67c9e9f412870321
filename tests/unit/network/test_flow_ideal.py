"""What a message takes alone: sums by hand over the lines of its path."""

from __future__ import annotations

import numpy as np
import pytest
from support.small_run import small_network
from support.transports import transport_of

from astra_ns3.config.core.compatibility import Compatibility
from astra_ns3.config.formats.analytical import AnalyticalDimension
from astra_ns3.config.network.analytical_network import AnalyticalNetwork
from astra_ns3.config.network.packet_network import NetworkConfig, parse_network
from astra_ns3.config.transports.tcp import TcpTransport
from astra_ns3.network.api import EndpointModel
from astra_ns3.network.ideal.choice import ideal_of
from astra_ns3.network.plan import plan_network

DELAY_PS = 500_000
PS_PER_BYTE_100G = 80


def times(network: NetworkConfig | AnalyticalNetwork, backend: str, flows: list[tuple[int, int, int]]) -> list[int]:
    ideal = ideal_of(plan_network(network, EndpointModel(delay_ps=10_000)), backend)
    assert ideal is not None
    sources, destinations, sizes = (np.array(column) for column in zip(*flows, strict=True))
    found = ideal(sources.astype(np.int32), destinations.astype(np.int32), sizes.astype(np.int64))
    return [int(each) - 2 * 10_000 for each in found]  # without the two ends


def dumbbell(**transport: object) -> NetworkConfig:
    """Two hosts at 100 Gb/s, 80 ps a byte, on each of two switches with 25 Gb/s, 320 ps a byte, between."""
    return parse_network(
        {
            "topology": {
                "kind": "dumbbell",
                "left": 2,
                "right": 2,
                "link": {"rate": "100Gbps", "delay": "500ns"},
                "bottleneck": {"rate": "25Gbps", "delay": "2us"},
                "switch": {"buffer": "1GB"},
            },
            "transport": {"kind": "roce", **transport},
        }
    )


def test_of_roce_over_one_switch() -> None:
    network = parse_network(
        {
            "topology": {
                "kind": "single-switch",
                "npus": 4,
                "link": {"rate": "100Gbps", "delay": "500ns"},
                "switch": {"buffer": "1GB"},
            },
            "transport": {
                "kind": "roce",
                "payload": 1000,
                "header_bytes": 48,
                "minimum_frame_bytes": 64,
                "line_gap_bytes": 20,
                "completion": "arrival",
            },
        }
    )
    # 2,500 bytes are packets of 1,068, 1,068 and 568 on the line: at the second line the last one waits for the second.
    waits = 3 * 1068 * PS_PER_BYTE_100G + 568 * PS_PER_BYTE_100G
    # One of 100 is 168: both lines, one after the other.
    alone = 2 * 168 * PS_PER_BYTE_100G
    assert times(network, "ns3", [(0, 1, 2_500), (2, 3, 100)]) == [2 * DELAY_PS + waits, 2 * DELAY_PS + alone]


def test_the_slowest_line_sets_the_pace() -> None:
    network = dumbbell(payload=1000, header_bytes=48, minimum_frame_bytes=64, line_gap_bytes=20, completion="arrival")
    size = 1068
    # Ten equal packets: the first line, ten times the slow one, the last line.
    slow = size * 80 + 10 * size * 320 + size * 80
    delays = 2 * DELAY_PS + 2_000_000
    near = 11 * size * 80 + 2 * DELAY_PS
    assert times(network, "ns3", [(0, 2, 10_000), (0, 1, 10_000)]) == [delays + slow, near]


def test_the_acknowledgement_counts_if_it_completes_the_message() -> None:
    keys = {"payload": 1000, "header_bytes": 48, "minimum_frame_bytes": 64, "line_gap_bytes": 20, "ack_bytes": 64}
    (delivered,) = times(dumbbell(**keys, completion="arrival"), "ns3", [(0, 1, 500)])
    (acknowledged,) = times(dumbbell(**keys, completion="acknowledged"), "ns3", [(0, 1, 500)])
    assert acknowledged - delivered == 2 * DELAY_PS + 2 * 84 * 80


def test_kept_times_are_of_their_size_and_their_way() -> None:
    """One packet each: 82 bytes around its data, over two lines of 100 Gb/s and, from side to side, one of 25."""
    ideal = ideal_of(plan_network(dumbbell(payload=1000), EndpointModel()), "ns3")
    assert ideal is not None
    for sizes in ([100, 200], [200, 300], [100, 300], [*range(100, 130)], [100]):
        for destination, byte_ps, delay_ps in ((1, 160, 2 * DELAY_PS), (2, 480, 2 * DELAY_PS + 2_000_000)):
            here, there = (np.full(len(sizes), npu, dtype=np.int32) for npu in (0, destination))
            expected = [(size + 82) * byte_ps + delay_ps for size in sizes]
            assert ideal(here, there, np.array(sizes, dtype=np.int64)).tolist() == expected


def test_of_tcp_segments_at_full_rate() -> None:
    # 100 Gb/s, MTU 1500 by default: what is on the line is data, 20 of IP, 20 of TCP, 12 of time stamps, 18 and 20.
    network = small_network()
    tcp = transport_of(network, TcpTransport)
    assert tcp is not None
    (one,) = times(network, "ns3", [(0, 1, 1000)])
    options = 12 if tcp.timestamps else 0
    assert one == 2 * DELAY_PS + 2 * (1000 + 40 + options + 38) * PS_PER_BYTE_100G


def test_inside_a_host() -> None:
    network = small_network(npus_per_host=2)
    local = plan_network(network).graph.local
    (found,) = times(network, "ns3", [(0, 1, 10**6)])
    assert found == local.delay_ps + 8 * 10**6 * 10**12 // local.rate_bps


def ring(npus: int = 4) -> AnalyticalNetwork:
    return AnalyticalNetwork(
        grid=(AnalyticalDimension(topology="ring", npus=npus, bytes_per_ns=50.0, link_latency_ns=500.0),)
    )


@pytest.mark.parametrize(("destination", "hops"), [(1, 1), (2, 2), (3, 1)])
def test_by_the_formula_latency_of_each_hop_and_the_data_once(destination: int, hops: int) -> None:
    assert times(ring(), "analytical", [(0, destination, 1_000)]) == [1000 * (500 * hops + 20)]


@pytest.mark.parametrize(
    ("rules", "charged"),
    [({}, (520, 1010)), ({"charge_lowest_dimension": True}, (520,)), ({"charge_highest_dimension": True}, (1010,))],
)
def test_by_the_formula_rules_charge_one_of_the_dimensions_that_ends_differ_in(
    rules: dict[str, bool], charged: tuple[int, ...]
) -> None:
    inner = AnalyticalDimension(topology="ring", npus=4, bytes_per_ns=50.0, link_latency_ns=500.0)
    outer = AnalyticalDimension(topology="ring", npus=2, bytes_per_ns=100.0, link_latency_ns=1000.0)
    ideal = ideal_of(plan_network(AnalyticalNetwork(grid=(inner, outer))), "analytical", Compatibility(**rules))
    assert ideal is not None
    sources, destinations = np.array([[0, 0, 0], [1, 4, 5]], dtype=np.int32)
    assert ideal(sources, destinations, np.full(3, 1000)).tolist() == [520_000, 1_010_000, 1000 * sum(charged)]


@pytest.mark.parametrize(("destination", "hops"), [(1, 1), (2, 2), (3, 1)])
def test_with_queues_every_hop_takes_the_data(destination: int, hops: int) -> None:
    assert times(ring(), "analytical-queues", [(0, destination, 1_000)]) == [1000 * hops * (500 + 20)]


def test_what_no_time_holds_is_no_overflow() -> None:
    most = 2**63 - 1 - 2 * 10_000
    assert times(ring(), "analytical", [(0, 1, 2**62)]) == [most]
    assert times(ring(), "analytical-queues", [(0, 1, 2**62), (0, 2, 2**62), (0, 2, 2**58)]) == [most] * 3
    one_ns, two_ns = 6_900_000 * 2**30, 4_000_000 * 2**30  # at 50 bytes a nanosecond: 86 days in a hop, 99 in two
    assert times(ring(), "analytical-queues", [(0, 1, 50 * one_ns)]) == [1000 * (one_ns + 500)]
    assert times(ring(), "analytical-queues", [(0, 2, 50 * two_ns)]) == [2 * 1000 * (two_ns + 500)]


def test_of_a_backend_of_ones_own_nothing_is_known() -> None:
    assert ideal_of(plan_network(ring()), "mine") is None
