"""Failures by rates: how many there are, of which devices, for how long, and that each device's are its own."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import pairwise
from math import sqrt
from typing import Any
from unittest.mock import Mock

import pytest
from support.leaf_spine import leaf_spine
from support.shared_nics import shared_nics

from astra_ns3.config.scenario.file import EventConfig, read_scenario
from astra_ns3.errors import InputError
from astra_ns3.scenario.failures import NAMED, PUBLISHED, drawn
from astra_ns3.topology.graph import Graph, Link

MS = 10**9
DAY_PS = 24 * 3600 * 10**12
SIGMAS = 4
"""So far from its mean a count may be: less than one test in ten thousand fails by chance, and seeds are fixed."""


def failures(graph: Graph | None = None, run_seed: int = 1, **keys: Any) -> list[EventConfig]:
    config = read_scenario({"failures": {"until": "100ms", **keys}}).config.failures
    assert config is not None
    return drawn(config, graph or leaf_spine(), run_seed)


def test_devices_fail_as_often_as_their_rate_says() -> None:
    # 8 links for 100 ms, each up for 1 ms and down for 1 us in the mean
    found = failures(link={"mtbf": "1ms", "repair": "1us"})
    expected = 8 * 100 / 1.001
    assert abs(len(found) - expected) < SIGMAS * sqrt(expected)
    per_day = failures(link={"rate": 86_400_000, "repair": "1us"})
    assert [event.at_ps for event in per_day] == [event.at_ps for event in found]


def test_scale_makes_rates_higher() -> None:
    found = failures(scale=1000, switch={"mtbf": "1s", "repair": "1us"})
    assert abs(len(found) - 400) < SIGMAS * sqrt(400)
    assert {event.switch for event in found} == {0, 1, 2, 3}


def test_a_repair_takes_its_time_or_is_drawn_around_its_mean() -> None:
    fixed = failures(npu={"mtbf": "1ms", "repair": "7us"})
    assert {event.for_ps for event in fixed} == {7_000_000}
    lengths = [event.for_ps or 0 for event in failures(npu={"mtbf": "1ms", "repair": {"mean": "7us"}})]
    assert abs(sum(lengths) / len(lengths) - 7e6) < SIGMAS * 7e6 / sqrt(len(lengths))
    for_ever = failures(npu={"mtbf": "1ms"})
    assert len(for_ever) == 4
    assert {event.for_ps for event in for_ever} == {None}


@pytest.mark.parametrize("keys", [{"link": {"mtbf": "1ms", "repair": 0}}, {"rates": "llama-3", "repair": "0s"}])
def test_a_repair_that_takes_no_time_is_refused(keys: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=r"key 'failures\.(link\.)?repair': found .*, expected greater than 0"):
        failures(**keys)


def test_a_device_does_not_fail_while_it_is_down() -> None:
    for npu in range(4):
        own = [event for event in failures(npu={"mtbf": "100us", "repair": "50us"}) if event.npu == npu]
        assert all(one.at_ps + 50_000_000 <= then.at_ps for one, then in pairwise(own))


def test_failures_begin_within_their_time() -> None:
    keys: dict[str, Any] = {"link": {"mtbf": "1ms", "repair": "1ms"}, "from": "20ms", "until": "30ms"}
    found = failures(**keys)
    assert found
    assert all(20 * MS <= event.at_ps < 30 * MS for event in found)
    assert [event.at_ps for event in found] == sorted(event.at_ps for event in found)


def test_draws_depend_on_the_seed_and_the_device_alone() -> None:
    link = {"mtbf": "1ms", "repair": "1us"}
    first = failures(link=link)
    assert failures(link=link) == first
    assert failures(link=link, run_seed=2) != first
    assert failures(link=link, seed=2) == failures(link=link, run_seed=2)
    beside = failures(link=link, npu={"mtbf": "1ms", "repair": "1us"})
    assert [event for event in beside if event.npu is None] == first


def test_a_nic_is_each_port_of_a_host_that_leads_out_of_its_server() -> None:
    links = (Link(0, 2, 1, 1), Link(0, 3, 1, 1), Link(0, 3, 1, 1), Link(1, 2, 1, 1), Link(1, 3, 1, 1))
    graph = Graph(2, 2, links, (0, 0, 1), (10**9,) * 2, switch_levels=(-1, 1))
    found = failures(graph, nic={"mtbf": "100us", "repair": "1us"})
    assert {event.nic for event in found} == {"host0:1", "host0:2", "host1:1"}
    assert {event.link for event in failures(graph, link={"mtbf": "100us", "repair": "1us"})} == {1, 2, 4}


@pytest.mark.parametrize(
    ("keys", "nics"),
    [
        ({}, {f"switch{switch}:{port}" for switch in range(4, 8) for port in (0, 1)}),
        ({"scale_up": {"planes": 2}}, {f"switch{switch}:0" for switch in range(4, 12)}),
        ({"scale_up": {"kind": "ring"}}, {f"switch{switch}:0" for switch in range(4, 20, 2)}),
        ({"shared_nics": "pcie"}, {f"switch{switch}:0" for switch in range(4, 12)}),
    ],
)
def test_switches_and_links_inside_servers_with_shared_nics_do_not_fail(keys: dict[str, Any], nics: set[str]) -> None:
    often = {"mtbf": "100us", "repair": "1us"}
    graph = shared_nics(**keys)
    assert {event.switch for event in failures(graph, switch=often, until="10ms")} == {0, 1, 2, 3}
    lines = {number for number, link in enumerate(graph.links) if link.rate_bps == 10**11 and link.delay_ps == 500_000}
    assert len(lines) == 8 + 4
    assert {event.link for event in failures(graph, link=often, until="10ms")} == lines
    assert {event.nic for event in failures(graph, nic=often, until="10ms")} == nics


def test_nics_are_found_by_a_look_at_each_port_inside_servers(monkeypatch: pytest.MonkeyPatch) -> None:
    """4 servers of 4 NPUs and 2 planes have 8 ports of NICs, and 32 lines inside, each with two ports."""
    looks = Mock(side_effect=Graph.leads_out)
    monkeypatch.setattr(Graph, "leads_out", lambda graph, link: looks(graph, link))
    graph = shared_nics(scale_up={"planes": 2})
    assert len(NAMED["nic"](graph)) == 8
    assert looks.call_count == 8 + 2 * 32


def test_lines_between_servers_fail_where_no_switch_is_between() -> None:
    graph = shared_nics(scale_out={"kind": "full-mesh"}, scale_up={"planes": 2})
    found = failures(graph, link={"mtbf": "100us", "repair": "1us"}, until="10ms")
    assert {event.link for event in found} == set(range(8 * 6 // 2))


def test_the_published_set_has_its_42_events_in_54_days_on_16384_npus() -> None:
    """35 of switches and cables and 7 of NICs, on a network of 4 NPUs with 4 NICs, 4 switches and 8 links."""
    published = PUBLISHED["llama-3"]
    per_npu_day = (published.network + published.nic) / published.days / published.npus
    assert per_npu_day == pytest.approx(4.7e-5, rel=0.02)
    scale = 1e9
    days = 0.1 / 86_400
    found = failures(rates="llama-3", scale=scale * 200, repair="1ns")
    expected = {"network": 4 * 35, "nic": 4 * 7}
    counts = Counter("nic" if event.nic is not None else "network" for event in found)
    for kind, number in expected.items():
        mean = number / 54 / 16_384 * days * scale * 200
        assert abs(counts[kind] - mean) < SIGMAS * sqrt(mean), (kind, counts, mean)
    of_switches = sum(event.switch is not None for event in found)
    share = counts["network"] * 4 / 12  # of twelve devices that fail alike
    assert abs(of_switches - share) < SIGMAS * sqrt(share)


def test_what_a_file_says_of_a_kind_goes_before_the_published_set() -> None:
    found = failures(rates="llama-3", scale=1e9, nic={"mtbf": "1000days", "repair": "1us"})
    assert sum(event.nic is not None for event in found) < 10


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        (
            {"link": {"mtbf": "1ns", "repair": "1ps"}},
            "about 800,000,000 failures are to come, expected at most 100,000",
        ),
        ({}, "nothing fails, expected rates or one of link, switch, nic, npu"),
        ({"link": {"repair": "1us"}}, "expected one of rate (failures a day) and mtbf"),
        ({"link": {"rate": 1, "mtbf": "1s"}}, "expected one of rate (failures a day) and mtbf"),
        ({"rates": "lama-3"}, "llama-3"),
        ({"link": {"mtbf": "1ms"}, "repair": "1us"}, "is of the failures of rates, which is not there"),
        ({"link": {"mtbf": "1ms"}, "from": "200ms"}, "found 100ms, expected after from, which is 200ms"),
        ({"link": {"mtbf": "-1h"}}, "failures.link.mtbf"),
        ({"lnk": {"mtbf": "1h"}}, "did you mean 'failures.link'?"),
        ({"link": {"rate": 0}}, "failures.link.rate"),
    ],
)
def test_failures_that_can_not_be_are_refused_in_one_line(keys: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as error:
        failures(**keys)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_a_kind_that_the_network_lacks_is_refused() -> None:
    graph = replace(leaf_spine(), links=(), switches=0, switch_configs=(), switch_buffer_bytes=())
    with pytest.raises(InputError, match="the network has no switch that could fail, expected one"):
        failures(graph, switch={"mtbf": "1ms"})
