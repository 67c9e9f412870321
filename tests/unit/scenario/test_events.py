"""Events of a scenario: which parts of a network they are of, and the changes that they come to."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.shared_nics import shared_nics

from astra_ns3.config.network.packet_network import parse_network
from astra_ns3.config.scenario.file import EventConfig, read_scenario
from astra_ns3.errors import InputError
from astra_ns3.network.backends import ABILITIES
from astra_ns3.network.plan import plan_network
from astra_ns3.scenario.controls import control_changes
from astra_ns3.scenario.events import Event, changes_of, check_heeded, check_not_cut, event_at, node_of
from astra_ns3.topology.changes import Change, LinkTarget, NpuTarget, State, SwitchTarget, Target, states_in_time
from astra_ns3.topology.graph import Graph, Link

RATE = 10**11
US = 1_000_000


def graph() -> Graph:
    """Hosts 0 and 1 on leaf 0, hosts 2 and 3 on leaf 1, two spines; links 0 to 3 go to hosts, 8 and 9 are twins."""
    pairs = [(0, 4), (1, 4), (2, 5), (3, 5), (4, 6), (4, 7), (5, 6), (5, 7), (6, 7), (7, 6)]
    names = ("leaf 0", "leaf 1", "spine 0", "spine 1")
    links = tuple(Link(a, b, RATE, 500_000) for a, b in pairs)
    return Graph(4, 4, links, (0, 1, 2, 3), (10**9,) * 4, switch_names=names, switch_levels=(1, 1, 2, 2))


def events(*keys: dict[str, Any]) -> list[Event]:
    config = read_scenario({"events": list(keys)}).config
    return [Event(each, f"f.yaml:{number}: key 'events.{number}'") for number, each in enumerate(config.events)]


def changes(*keys: dict[str, Any]) -> list[tuple[int, str, dict[str, object]]]:
    return [(each.time_ps // US, str(each.target), each.state.named()) for each in changes_of(events(*keys), graph())]


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ({"link": ["leaf 0", "spine 1"]}, [LinkTarget(5)]),
        ({"link": ["SPINE 1", " leaf  0"]}, [LinkTarget(5)]),
        ({"link": ["host 3", "switch 1"]}, [LinkTarget(3)]),
        ({"link": ["host3", "switch1"]}, [LinkTarget(3)]),
        ({"link": ["npu 3", 5]}, [LinkTarget(3)]),
        ({"link": ["host 0", "leaf 0"]}, [LinkTarget(0)]),
        ({"link": ["npu 0", "leaf 0"]}, [LinkTarget(0)]),
        ({"link": ["spine 0", "spine 1"]}, [LinkTarget(8), LinkTarget(9)]),
        ({"link": 9}, [LinkTarget(9)]),
        ({"switch": "spine 1"}, [SwitchTarget(3)]),
        ({"switch": 3}, [SwitchTarget(3)]),
        ({"npu": 2}, [NpuTarget(2)]),
        ({"nic": 2}, [LinkTarget(2)]),
        ({"nic": "host2"}, [LinkTarget(2)]),
    ],
)
def test_parts_are_named_as_the_topology_names_them_or_by_number(
    target: dict[str, Any], expected: list[Target]
) -> None:
    found = changes_of(events({"at": "3us", **target, "up": False}), graph())
    assert found == tuple(Change(3 * US, each, State(up=False)) for each in expected)


def test_a_nic_is_what_leads_out_of_the_server() -> None:
    links = (Link(0, 2, RATE, 1), Link(0, 3, RATE, 1), Link(1, 2, RATE, 1), Link(1, 3, RATE, 1))
    inside = Graph(2, 2, links, (0, 1), (10**9,) * 2, switch_levels=(-1, 1), host_boxes=(0, 0))
    (found,) = changes_of(events({"at": 0, "nic": 1, "up": False}), inside)
    assert found.target == LinkTarget(3)


@pytest.mark.parametrize(
    ("keys", "nic", "expected"),
    [
        ({}, 5, [2, 3]),
        ({"scale_up": {"planes": 2}}, 5, [2, 3]),
        ({"scale_up": {"kind": "ring"}}, 5, [2, 3]),
        ({"shared_nics": "pcie"}, 5, [6]),  # two PCIe links follow each NIC's line
        ({"shared_nics": "pcie"}, 6, [9]),
        ({}, "switch5:1", [3]),
    ],
)
def test_nics_that_an_npu_shares_are_the_lines_out_of_its_server(
    keys: dict[str, Any], nic: int | str, expected: list[int]
) -> None:
    found = changes_of(events({"at": 0, "nic": nic, "up": False}), shared_nics(**keys))
    assert sorted(change.target.link for change in found if isinstance(change.target, LinkTarget)) == expected


@pytest.mark.parametrize("nic", ["switch5:2", "switch0:0"])
def test_a_port_inside_a_server_or_of_a_leaf_is_no_nic(nic: str) -> None:
    with pytest.raises(InputError, match=f"port '{nic}' is of a switch, expected that of a host"):
        changes_of(events({"at": 0, "nic": nic, "up": False}), shared_nics())


def test_a_storm_of_a_shared_nic_stops_the_leaf() -> None:
    lossy_inside = shared_nics(switch={"buffer": "64MiB"})
    found = changes_of(events({"at": 0, "nic": "switch4:0", "storm": True}), lossy_inside)
    ((_, present),) = states_in_time(lossy_inside, found)
    assert [link.storm > 0 for link in present.links[:2]] == [True, False]


@pytest.mark.parametrize(
    ("target", "message"),
    [
        (
            {"link": ["leaf 0", "spine 7"]},
            "there is no 'spine 7' in the network, expected names as host 0, leaf 0, spine 0; did you mean 'spine 1'?",
        ),
        ({"link": ["lef 1", "spine 1"]}, "there is no 'lef 1' in the network, expected names as host 0, leaf 0, spine 0"
         "; did you mean 'leaf 1'?"),
        (
            {"link": ["leaf 0", "leaf 1"]},
            "no link joins leaf 0 and leaf 1, expected one of host 0, host 1, spine 0, spine 1",
        ),
        ({"link": ["host 4", "leaf 1"]}, "there is no 'host 4' in the network, expected names as host 0"),
        ({"link": 10}, "there is no link 10, expected 0 to 9"),
        ({"link": [8, 1]}, "there is no node 8, expected 0 to 7"),
        ({"switch": "host 1"}, "'host 1' is a host, expected a switch; nic or npu is of a host"),
        ({"switch": 4}, "there is no switch 4, expected 0 to 3"),
        ({"npu": 4}, "npu is 4, expected one of 4 NPUs, 0 to 3"),
        ({"nic": 4}, "nic is 4, expected one of 4 NPUs, 0 to 3"),
        ({"nic": "host9"}, "port 'host9': there is no host 9, expected 0 to 3"),
        ({"nic": "switch0:1"}, "port 'switch0:1' is of a switch, expected that of a host, as host3 or host3:1"),
    ],
)  # fmt: skip
def test_a_part_that_is_not_there_is_named_with_its_line_and_the_nearest(target: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        changes({"at": 0, "link": 0, "up": False}, {"at": "3us", **target, "up": False})
    assert str(caught.value).startswith(f"f.yaml:1: key 'events.1': {message}")


def test_an_npu_is_at_its_host_where_a_host_has_several() -> None:
    links = (Link(0, 2, RATE, 1), Link(1, 2, RATE, 1))
    pairs = Graph(2, 1, links, (0, 0, 1, 1), (10**9,))
    assert [node_of(f"npu {npu}", pairs) for npu in range(4)] == [0, 0, 1, 1]
    assert [node_of(name, pairs) for name in ("host 1", "switch 0")] == [1, 2]


def test_a_name_of_two_switches_is_refused() -> None:
    twins = Graph(1, 2, (Link(0, 1, 1, 1), Link(0, 2, 1, 1)), (0,), (1, 1), switch_names=("a", "a"))
    with pytest.raises(InputError, match="'a' is the name of 2 switches, expected one of them, as 'switch 0'"):
        node_of("a", twins)


def test_the_names_that_an_error_offers_are_there() -> None:
    links = (Link(0, 1, 1, 1), Link(0, 2, 1, 1))
    graph = Graph(1, 2, links, (0,), (1, 1), switch_names=("switch A", "switch B"))
    words = "expected names as host 0, switch A, switch B; did you mean 'switch A'?"
    with pytest.raises(InputError, match=re.escape(words)):
        node_of("switch A 0", graph)


def test_spaces_and_capitals_in_a_name_do_not_matter() -> None:
    graph = Graph(1, 1, (Link(0, 1, 1, 1),), (0,), (1,), switch_names=("Top  of rack",))
    assert node_of(" top of  RACK", graph) == node_of("Top  of rack", graph) == 1


def test_a_flap_is_one_event() -> None:
    flap = {"at": "10us", "link": 4, "up": False, "for": "2us", "every": "5us", "times": 3}
    down, up = {"up": False}, {"up": True}
    times = [(10, down), (12, up), (15, down), (17, up), (20, down), (22, up)]
    assert changes(flap) == [(time, "link 4", state) for time, state in times]


def test_what_began_last_holds_and_its_end_puts_back_what_held_before() -> None:
    slow = {"at": "10us", "link": 4, "rate": "50%", "for": "30us"}
    slower = {"at": "20us", "link": 4, "rate": "10Gbps", "for": "5us"}
    over = {"at": "30us", "link": 4, "rate": "20Gbps", "for": "20us"}
    rates = [(10, RATE // 2), (20, 10**10), (25, RATE // 2), (30, 2 * 10**10), (50, RATE)]
    assert changes(slow, slower, over) == [(time, "link 4", {"rate_bps": rate}) for time, rate in rates]


def test_each_quantity_goes_its_own_way() -> None:
    found = changes(
        {"at": "1us", "link": 4, "rate": "50%", "delay": "2us", "for": "4us"},
        {"at": "2us", "link": 4, "delay": "9us", "error-rate": 0.25},
    )
    assert found == [
        (1, "link 4", {"rate_bps": RATE // 2}),
        (1, "link 4", {"delay_ps": 2 * US}),
        (2, "link 4", {"delay_ps": 9 * US}),
        (2, "link 4", {"error_rate": 0.25}),
        (5, "link 4", {"rate_bps": RATE}),
    ]


def test_what_changes_nothing_is_no_change() -> None:
    assert changes({"at": "1us", "link": 4, "up": True}, {"at": "2us", "link": 4, "rate": "100%", "for": "1us"}) == []


def test_a_threshold_of_pauses_may_become_nothing() -> None:
    nothing = {"headroom": 0, "reserve": 0, "resume_offset": 0}
    assert changes({"at": "1us", "switch": 3, "pfc": nothing}) == [
        (1, "switch 3", {f"pfc_{name}_bytes": 0}) for name in nothing
    ]


def test_two_values_at_one_time_are_refused() -> None:
    with pytest.raises(InputError) as caught:
        changes({"at": "1us", "link": 4, "rate": "50%"}, {"at": "1us", "link": ["leaf 0", "spine 0"], "rate": "25%"})
    assert str(caught.value) == (
        "f.yaml:1: key 'events.1': rate_bps of link 4 becomes 25000000000 at 1us, and 50000000000 by key 'events.0'; "
        "expected one of them"
    )
    assert len(changes({"at": "1us", "link": 4, "rate": "50%"}, {"at": "1us", "link": 4, "rate": "50Gbps"})) == 1


_SPANS = st.lists(st.tuples(st.integers(0, 20), st.integers(1, 9) | st.none(), st.integers(1, 5)), max_size=6)


@given(_SPANS)
def test_at_any_time_a_quantity_is_what_the_last_that_began_says(spans: list[tuple[int, int | None, int]]) -> None:
    spans = list({start: (start, length, value) for start, length, value in spans}.values())
    keys: list[dict[str, Any]] = [
        {"at": f"{start}us", "link": 0, "delay": f"{value}us", **({} if length is None else {"for": f"{length}us"})}
        for start, length, value in spans
    ]
    found = changes_of(events(*keys), graph())
    for time in range(32):
        holding = [each for each in spans if each[0] <= time and (each[1] is None or time < each[0] + each[1])]
        expected = max(holding)[2] * US if holding else 500_000
        done = [change.state.delay_ps for change in found if change.time_ps <= time * US]
        assert (done[-1] if done else 500_000) == expected
    assert len(found) == len({change.time_ps for change in found})


def _cut(*keys: dict[str, Any], npus: tuple[int, ...] = (0, 3)) -> None:
    asked = events(*keys)
    check_not_cut(asked, graph(), changes_of(asked, graph()), {"other": (1,), "job": npus})


def test_a_job_that_is_cut_in_two_for_ever_is_named() -> None:
    with pytest.raises(InputError) as caught:
        _cut(
            {"at": "1us", "switch": "spine 0", "up": False},
            {"at": "4us", "link": ["leaf 1", "spine 1"], "up": False},
            {"at": "5us", "link": ["leaf 0", "spine 0"], "up": False, "for": "1us"},
        )
    assert str(caught.value) == (
        "f.yaml:1: key 'events.1': from 4us on and for ever no way leads from NPU 0 to NPU 3, both of job 'job'; "
        "expected for: TIME, or another event that ends it"
    )


@pytest.mark.parametrize(
    "keys",
    [
        [{"at": "1us", "switch": "spine 0", "up": False}],
        [{"at": "1us", "link": ["leaf 0", "spine 0"], "up": False, "for": "9us"}, {"at": 0, "switch": 3, "up": False}],
        [{"at": "1us", "switch": "leaf 0", "up": False}, {"at": "9us", "switch": "leaf 0", "up": True}],
        [{"at": "1us", "npu": 1, "up": False}],
        [{"at": "1us", "nic": 2, "up": False}],
    ],
)
def test_what_leaves_each_job_whole_is_none_of_it(keys: list[dict[str, Any]]) -> None:
    _cut(*keys)


def test_a_dead_npu_of_a_job_cuts_it() -> None:
    with pytest.raises(InputError, match=r"no way leads from NPU \d to NPU \d, both of job 'job'"):
        _cut({"at": "1us", "npu": 3, "up": False})


@pytest.mark.parametrize(
    ("backend", "state", "expected"),
    [
        ("flow", {"error-rate": 0.1}, "'error-rate' changes nothing on the backend flow, expected ns3"),
        ("analytical", {"up": False}, "'up' changes nothing on the backend analytical, expected ns3 or flow"),
        ("analytical-queues", {"rate": "50%"}, "'rate' changes nothing on the backend analytical-queues, expected ns3"),
    ],
)
def test_what_a_backend_knows_nothing_of_is_refused_by_name(backend: str, state: dict[str, Any], expected: str) -> None:
    with pytest.raises(InputError) as caught:
        check_heeded(events({"at": 0, "link": 0, **state}), backend, ABILITIES[backend].heeds)
    assert str(caught.value).startswith(f"f.yaml:0: key 'events.0': {expected}")
    check_heeded(events({"at": 0, "link": 0, **state}), "ns3", ABILITIES["ns3"].heeds)


def test_an_event_of_a_memory_is_found_when_it_begins_and_when_it_ends() -> None:
    given = events(
        {"at": "10us", "for": "2us", "switch": "leaf 1", "buffer": "1MB"},
        {"at": "8us", "switch": "leaf 1", "up": False},
        {"at": "12us", "switch": "leaf 0", "buffer": "1MB"},
    )
    found = {time: event_at(given, graph(), 1, time * US) for time in (8, 10, 11, 12, 14)}
    assert found == {8: None, 10: given[0], 11: None, 12: given[0], 14: None}


def test_an_event_is_of_one_part_by_its_key() -> None:
    event = EventConfig.model_validate({"at": 0, "nic": 3, "up": True})
    assert (event.target, event.states["up"], list(event.starts_ps)) == ("nic", True, [0])


@pytest.mark.parametrize("named", [[], [0], [3], [0, 2], [1, 2], [0, 3], [0, 1, 2, 3]])
def test_what_changes_controls_of_all_npus_reaches_each_of_them_whichever_others_are_named(named: list[int]) -> None:
    """At 1 us all get one number, and at 2 us those named another; each hears of every change once."""
    transport = {"kind": "roce", "congestion_control": {"kind": "hpcc", "eta": 0.9}}
    link = {"rate": "100Gbps", "delay": "500ns"}
    topology = {"kind": "single-switch", "npus": 4, "link": link, "switch": {"buffer": "1MB"}}
    plan = plan_network(parse_network({"topology": topology, "transport": transport}))
    everybody = {"at": "1us", "npu": "all", "control": {"eta": 0.5}}
    some = [{"at": "2us", "npu": npu, "control": {"eta": 0.7}} for npu in named]
    heard: list[list[tuple[int, float]]] = [[] for _ in range(4)]
    for change in control_changes(events(everybody, *some), plan):
        for npu in range(change.first_npu, change.last_npu + 1):
            heard[npu].append((change.time_ps // US, change.numbers["eta"]))
    assert heard == [[(1, 0.5), *([(2, 0.7)] if npu in named else [])] for npu in range(4)]
