"""The key cut_through, and what frames take alone over switches that have it."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from oracles.cut_through_times import LINE_GAP, Line, arrival_ps, equal_lines_ps, line_ps
from support.transports import checked

from astra_ns3.config.network.packet_network import NetworkConfig, parse_network
from astra_ns3.config.topology.idle_lines import idle_lines_ps
from astra_ns3.config.topology.switch import SwitchConfig
from astra_ns3.errors import InputError
from astra_ns3.network.api import EndpointModel
from astra_ns3.network.ideal.choice import ideal_of
from astra_ns3.network.ideal.cut_through import Lines, send_equal, send_few
from astra_ns3.network.ideal.ways import single_ways, widest_ways
from astra_ns3.network.plan import plan_network
from astra_ns3.topology.graph import Graph, Link
from astra_ns3.topology.paths import base_round_trip_ps
from astra_ns3.topology.routes import shortest_paths

GBPS = 10**9
FRAME = 1000 + 62 + 20
"""RoCE's packet of 1,000 bytes on the line; its ACK is a frame of 66 bytes."""
ACK = 66 + 20


def test_a_line_that_ends_with_the_last_bit_that_comes_is_not_too_fast() -> None:
    """A head of 10 bytes has come at 100, all 100 bytes at 1,000: at 9 a byte the second line ends just then."""
    lines = Lines(lambda sizes, line: sizes * (10, 9)[line], (10, 0))
    assert send_equal(lines, np.array([1]), 100)[-1].tolist() == [1000]
    faster = Lines(lambda sizes, line: sizes * (10, 8)[line], (10, 0))
    assert send_equal(faster, np.array([1]), 100)[-1].tolist() == [1800]


def test_a_bound_on_ways_knows_whether_their_switches_cut_through_alike() -> None:
    def alike(first: dict[str, Any], second: dict[str, Any]) -> bool:
        """Two switches between those of the two hosts."""
        configs = tuple(SwitchConfig.model_validate({"buffer": "1MB", **keys}) for keys in ({}, first, second, {}))
        ends = ((0, 2), (2, 3), (2, 4), (3, 5), (4, 5), (5, 1))
        links = tuple(Link(a, b, 100 * GBPS, 0) for a, b in ends)
        graph = Graph(hosts=2, switches=4, links=links, npu_host=(0, 1), switch_configs=configs)
        (way,) = widest_ways(graph, shortest_paths(graph), 0, 1, all_ports=False)
        return way.alike

    assert alike({}, {})
    assert alike({"cut_through": "64B"}, {"cut_through": "64B"})
    assert not alike({"cut_through": "64B"}, {"cut_through": "128B"})
    assert not alike({"cut_through": "64B"}, {})


def test_each_of_the_equal_ways_has_the_heads_of_its_own_switches() -> None:
    """Two switches that wait for 64 and 128 bytes stand between those of the hosts, which wait for 32 and 256."""
    heads = (32, 64, 128, 256)
    configs = tuple(SwitchConfig.model_validate({"buffer": "1MB", "cut_through": f"{head}B"}) for head in heads)
    links = tuple(Link(a, b, GBPS, 0) for a, b in ((0, 2), (2, 3), (2, 4), (3, 5), (4, 5), (5, 1)))
    graph = Graph(hosts=2, switches=4, links=links, npu_host=(0, 1), switch_configs=configs)
    ways = single_ways(graph, shortest_paths(graph), 0, 1)
    assert sorted(way.cut_through for way in ways) == [(32, 64, 256), (32, 128, 256)]


def test_a_bound_on_ways_has_the_least_delay_of_a_whole_way() -> None:
    """Two ways between two switches: 1 + 9 + 3 + 1 ps, and 1 + 2 + 9 + 1."""
    ends = ((0, 2, 1), (2, 3, 9), (2, 4, 2), (3, 5, 3), (4, 5, 9), (5, 1, 1))
    links = tuple(Link(a, b, GBPS, delay_ps) for a, b, delay_ps in ends)
    configs = (SwitchConfig.model_validate({"buffer": "1MB"}),) * 4
    graph = Graph(hosts=2, switches=4, links=links, npu_host=(0, 1), switch_configs=configs)
    (way,) = widest_ways(graph, shortest_paths(graph), 0, 1, all_ports=False)
    assert (way.delay_ps, way.widths) == (1 + 2 + 9 + 1, (1, 2, 2, 1))
    assert sorted(each.delay_ps for each in way.singles) == [13, 14]


def dumbbell(link: int, bottleneck: int, transport: dict[str, Any] | None = None, **switch: Any) -> NetworkConfig:
    """Two hosts on each of two switches: link, bottleneck, link."""
    topology = {
        "kind": "dumbbell",
        "left": 2,
        "right": 2,
        "link": {"rate": f"{link}Gbps", "delay": "500ns"},
        "bottleneck": {"rate": f"{bottleneck}Gbps", "delay": "2us"},
        "switch": {"buffer": "64MB", **switch},
    }
    roce = {"kind": "roce", "payload": 1000, "completion": "arrival"}
    return parse_network({"topology": topology, "transport": transport or roce})


def dumbbell_lines(link: int, bottleneck: int, cut: int) -> list[Line]:
    return [
        Line(link * GBPS, 500_000, cut),
        Line(bottleneck * GBPS, 2_000_000, cut),
        Line(link * GBPS, 500_000),
    ]


def test_cut_through_is_a_number_of_bytes_and_absent_unless_given() -> None:
    assert SwitchConfig.model_validate({"buffer": "1MB"}).cut_through_bytes is None
    assert SwitchConfig.model_validate({"buffer": "1MB", "cut_through": "64B"}).cut_through_bytes == 64
    assert SwitchConfig.model_validate({"buffer": "1MB", "cut_through": 128}).cut_through_bytes == 128


@pytest.mark.parametrize("wrong", [0, 13, 65_537, -1, "yes", True])
def test_fewer_bytes_than_an_ethernet_header_and_more_than_a_packet_has_are_refused(wrong: object) -> None:
    with pytest.raises(InputError, match="cut_through"):
        dumbbell(100, 100, cut_through=wrong)


def test_a_head_that_is_no_shorter_than_any_frame_is_told_of() -> None:
    def warnings(cut: int) -> list[str]:
        network = dumbbell(100, 100, cut_through=cut)
        return [line for line in checked(network, plan_network(network).outline) if "cut_through" in line]

    assert warnings(1061) == []  # of 1,062
    (told,) = warnings(1062)
    assert "1062" in told


@pytest.mark.parametrize("lines", [1, 2, 3, 7])
@pytest.mark.parametrize("frames", [1, 2, 1000])
def test_the_oracle_agrees_with_the_closed_form_over_equal_lines(lines: int, frames: int) -> None:
    path = [Line(100 * GBPS, 300_000, 64)] * (lines - 1) + [Line(100 * GBPS, 300_000)]
    assert arrival_ps(path, [FRAME] * frames) == equal_lines_ps(lines, 100 * GBPS, 300_000, 64, frames, FRAME)


def test_over_a_slower_line_the_first_frame_alone_is_cut_through() -> None:
    # 100 to 40 Gb/s: the head of 84 bytes, then all frames without a break at the slower rate.
    path = [Line(100 * GBPS, 0, 64), Line(40 * GBPS, 0)]
    assert arrival_ps(path, [FRAME] * 10) == 84 * 80 + 10 * FRAME * 200
    # And to a faster one every frame is stored, since that would run out of bits.
    path = [Line(40 * GBPS, 0, 64), Line(100 * GBPS, 0)]
    assert arrival_ps(path, [FRAME] * 10) == 10 * FRAME * 200 + FRAME * 80


@pytest.mark.parametrize(("link", "bottleneck"), [(100, 100), (100, 25), (25, 100), (100, 90), (90, 100), (7, 9)])
@pytest.mark.parametrize("cut", [14, 64, 500, 1100])
def test_messages_alone_take_what_their_frames_take_one_by_one(link: int, bottleneck: int, cut: int) -> None:
    ideal = ideal_of(plan_network(dumbbell(link, bottleneck, cut_through=cut), EndpointModel()), "ns3")
    assert ideal is not None
    sizes = np.array([1, 17, 999, 1000, 1001, 2000, 2017, 25_000, 25_500, 2_000_100])
    ends = np.zeros(len(sizes), dtype=np.int32)
    wanted = []
    for size in sizes.tolist():
        full, rest = divmod(size, 1000)
        frames = [FRAME] * full + [max(64, rest + 62) + LINE_GAP] * (rest > 0)
        wanted.append(arrival_ps(dumbbell_lines(link, bottleneck, cut), frames))
    assert ideal(ends, ends + 2, sizes).tolist() == wanted


@pytest.mark.parametrize("completion", ["arrival", "acknowledged"])
@pytest.mark.parametrize("cut", [14, 64])
def test_of_tcp_the_segments_and_the_acknowledgement_on_its_way_back(completion: str, cut: int) -> None:
    tcp = {"kind": "tcp", "mtu": 1500, "completion": completion}
    ideal = ideal_of(plan_network(dumbbell(100, 40, transport=tcp, cut_through=cut), EndpointModel()), "ns3")
    assert ideal is not None
    one = np.zeros(1, dtype=np.int32)
    path = dumbbell_lines(100, 40, cut)  # the same both ways
    there, back = arrival_ps(path, [1538] * 10), arrival_ps(path, [84])
    assert ideal(one, one + 2, np.array([14_600])).tolist() == [there + back * (completion == "acknowledged")]


def test_any_number_of_frames_over_any_lines_is_what_they_take_one_by_one() -> None:
    draw = random.Random(7)
    for _ in range(300):
        count = draw.randint(1, 6)
        some = [draw.randint(10, 400) * GBPS for _ in range(draw.choice((1, 2, 6)))]
        rates = [draw.choice(some) + draw.choice((0, 0, GBPS // 10)) for _ in range(count)]
        cuts = [draw.choice((0, 64, 64, draw.randint(14, 3000))) for _ in range(count - 1)] + [0]
        size, sent = draw.randint(84, 2000), draw.randint(0, 400)
        others = [draw.randint(84, 2000) for _ in range(draw.randint(0, 3))]
        heads = [cut + LINE_GAP if cut else 0 for cut in cuts]

        def busy_ps(sizes: Any, line: int, rates: list[int] = rates) -> Any:
            return np.array([line_ps(each, rates[line]) for each in sizes.tolist()])

        lines = Lines(busy_ps, heads)
        free_ps = send_equal(lines, np.array([sent, 0]), size)
        for other in others:
            free_ps = send_few(lines, free_ps, np.array([1, 1]), np.array([other, other]))
        path = [Line(rate, 0, cut) for rate, cut in zip(rates, cuts, strict=True)]
        frames = [size] * sent + others
        assert free_ps[-1].tolist() == [arrival_ps(path, frames), arrival_ps(path, others)], (rates, cuts, size, sent)


def test_a_terabyte_is_worked_out_at_once() -> None:
    rates = [100 * GBPS, 100 * GBPS + 1, 90 * GBPS, 300 * GBPS]
    path = [Line(rate, 0, 64) for rate in rates[:-1]] + [Line(rates[-1], 0)]
    lines = Lines(
        lambda sizes, line: np.array([line_ps(each, rates[line]) for each in sizes.tolist()]), [84, 84, 84, 0]
    )
    many = 10**9
    found = send_equal(lines, np.array([many]), FRAME)[-1, 0]
    # The slowest line is never idle once it has begun: all but a few hundred frames are its own.
    some = 500
    assert found == arrival_ps(path, [FRAME] * some) + (many - some) * line_ps(FRAME, 90 * GBPS)


@pytest.mark.parametrize("cut", [14, 64, 2000])
def test_the_base_round_trip_is_that_of_a_full_packet_and_its_answer(cut: int) -> None:
    plan = plan_network(dumbbell(100, 25, cut_through=cut))
    there, back = (arrival_ps(dumbbell_lines(100, 25, cut), [size]) for size in (FRAME, ACK))
    assert base_round_trip_ps(plan.graph, FRAME, ACK) == there + back
    assert plan.outline.idle_round_trip_ps(FRAME, ACK) == there + back


def test_the_answer_finds_fast_and_slow_lines_the_other_way_round() -> None:
    # 100 Gb/s into 25 Gb/s is cut through, 25 into 100 is stored.
    assert idle_lines_ps(1000, (100 * GBPS, 25 * GBPS), (64,)) == 84 * 80 + 1000 * 320
    assert idle_lines_ps(1000, (25 * GBPS, 100 * GBPS), (64,)) == 1000 * 320 + 1000 * 80
    assert idle_lines_ps(1000, (100 * GBPS, 25 * GBPS)) == 1000 * 80 + 1000 * 320
